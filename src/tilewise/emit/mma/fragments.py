"""Fragments out of shared memory, as C++: matrices line by line, vectors in loops where they can."""

from __future__ import annotations

from tilewise.check.feeding.forms import Part, Vector
from tilewise.emit.mma.chain import declared
from tilewise.emit.mma.moves import Move, Moves
from tilewise.emit.mma.operands import Operand
from tilewise.emit.mma.plan import Plan
from tilewise.emit.parts.template import filled
from tilewise.emit.parts.words import WORDS
from tilewise.emit.source import Source
from tilewise.hardware.matrices.forms import Form

MATRICES = {1: "One matrix", 2: "Two matrices", 4: "Four matrices"}

LOAD = """\
// $many of $what; each lane gives the address of a row.
__device__ __forceinline__ void $name($registers, unsigned at)
{
    asm volatile("$form {$slots}, [%$count];"
                 : $outputs : "r"(at) : "memory");
}
"""

FRAGMENTS = """\
// $name: $form.
$declared
$loads"""

LOOPS = """\
#pragma unroll
for (unsigned i = 0; i < $blocks; ++i)
    #pragma unroll
    for (unsigned p = 0; p < $parts; ++p) {
        $line
    }"""


LOOPS_OF_BLOCKS = """\
#pragma unroll
for (unsigned i = 0; i < $down; ++i)
    #pragma unroll
    for (unsigned j = 0; j < $along; ++j)
        #pragma unroll
        for (unsigned p = 0; p < $parts; ++p) {
            $line
        }"""


def head(plan: Plan) -> list[str]:
    """The forms of ldmatrix as functions."""
    forms = dict.fromkeys(own.fill.form for own in (plan.a, plan.b))
    return [loading(form) for form in forms if isinstance(form, Form)]


def loading(form: Form) -> str:
    """A form of ldmatrix as a function."""
    count = form.registers
    slots = {
        "many": MATRICES[form.count],
        "what": f"{form.rows} x {form.columns} elements of {form.bits} bits{', transposed' * form.trans}",
        "name": name_of(form),
        "registers": ", ".join(f"unsigned &r{i}" for i in range(count)),
        "form": form,
        "slots": ", ".join(f"%{i}" for i in range(count)),
        "count": count,
        "outputs": ", ".join(f'"=r"(r{i})' for i in range(count)),
    }
    return filled(LOAD, slots)


def name_of(form: Form) -> str:
    """The name of its function."""
    shape = f"_{form.shape}" if form.shape != "m8n8" else ""
    return f"{form.instruction}{shape}_x{form.count}{'_trans' * form.trans}"


def source(plan: Plan, own: Operand) -> Source:
    """Where a lane loads, as a function."""
    return plan.moves(own).source(f"{own.name.lower()}_at")


def fragments(plan: Plan, own: Operand) -> str:
    """The loads of one turn of the loop along K."""
    moves = plan.moves(own)
    whole = all(part.bytes * 8 == own.register_bits for part in next(moves.all()).parts)
    in_loops = plan.span == 1 and moves.in_order and moves.vector
    registers = f"{declared(own)} {own.name.lower()}{shape(plan, own)}{'' if whole else ' = {}'};"
    slots = {
        "name": own.name,
        "form": moves.form,
        "declared": "" if plan.ahead else registers,
        "loads": (_looped if in_loops else _listed)(plan, own, moves),
    }
    return filled(FRAGMENTS, slots)


def shape(plan: Plan, own: Operand) -> str:
    """The extents of an operand's fragments of one turn, in C++."""
    extents = [own.blocks, *([plan.span] if plan.span > 1 else []), own.registers]
    return "".join(f"[{extent}]" for extent in extents)


def first(plan: Plan) -> str:
    """The addresses of the first loads, where the others follow from them."""
    made = [(own.name.lower(), plan.moves(own).first(f"{own.name.lower()}_at")) for own in (plan.a, plan.b)]
    texts = [f"{letter}_first = {text}" for letter, text in made if text]
    return f"const unsigned {', '.join(texts)};" if texts else ""


def _at(plan: Plan, own: Operand, moves: Moves, **numbers: str) -> str:
    """The address of a load, or the byte of its stage for a vector."""
    offset, letter = plan.offsets[own.name], own.name.lower()
    start = "stage" if moves.vector else "at"
    if plan.turns == 1:
        numbers["s"] = "0"
    address = moves.address(f"{letter}_at", f"{letter}_first", numbers)
    return f"{start}{f' + {offset}' if offset else ''} + {address}"


def _listed(plan: Plan, own: Operand, moves: Moves) -> str:
    """Every load a line."""
    return "\n".join(_line(plan, own, moves, move) for move in moves.all())


def _line(plan: Plan, own: Operand, moves: Moves, move: Move) -> str:
    at = _at(plan, own, moves, **{name: str(number) for name, number in move.at})
    if moves.vector is None:
        assert isinstance(moves.form, Form)
        registers = ", ".join(_register(plan, own, part) for part in move.parts)
        return f"{name_of(moves.form)}({registers}, {at});"
    return _taken(plan, own, moves.vector, move.parts, at)


def _register(plan: Plan, own: Operand, part: Part) -> str:
    column = f"[{part.column}]" if plan.span > 1 else ""
    return f"{own.name.lower()}[{part.row}]{column}[{part.byte * 8 // own.register_bits}]"


def _taken(plan: Plan, own: Operand, vector: Vector, parts: tuple[Part, ...], at: str) -> str:
    """A vector, and its parts in their registers."""
    kind = WORDS[declared(own), vector.bits]
    word = f"*(const {kind} *)({at})"
    bits, width = parts[0].bytes * 8, own.register_bits
    if len(parts) == 1:
        target = _register(plan, own, parts[0])
        if bits == width:
            return f"{target} = {word};"
        return f"{target} |= {_shifted(f'(unsigned){word}', parts[0].byte * 8 % width)};"
    lines = [f"const {kind} word = {word};"]
    for number, part in enumerate(parts):
        first = number * bits
        field = f"word.{'xyzw'[first // width]}" if vector.bits > width else "word"
        if bits == width:
            lines.append(f"{_register(plan, own, part)} = {field};")
            continue
        shifted = f"{field} >> {first % width}" if first % width else field
        piece = f"({shifted} & {(1 << bits) - 1:#x})"
        lines.append(f"{_register(plan, own, part)} |= {_shifted(piece, part.byte * 8 % width)};")
    return "{\n" + "\n".join(f"    {line}" for line in lines) + "\n}"


def _shifted(word: str, by: int) -> str:
    return f"{word} << {by}" if by else word


def _looped(plan: Plan, own: Operand, moves: Moves) -> str:
    """Vectors that fill the registers of a lane one after another."""
    vector, letter = moves.vector, own.name.lower()
    assert vector is not None
    width = own.register_bits
    kind = WORDS[declared(own), vector.bits]
    word = f"*(const {kind} *)({_at(plan, own, moves, i='i', p='p')})"
    each = vector.bits // width
    if each == 1:
        line = f"{letter}[i][p] = {word};"
    elif each:
        fields = [f"{letter}[i][{each} * p + {n}] = word.{'xyzw'[n]};" for n in range(each)]
        line = "\n".join([f"const {kind} word = {word};", *fields])
    else:
        count = width // vector.bits
        line = (
            f"const unsigned word = {word};\n{letter}[i][p / {count}] |= word << p % {count} * {vector.bits};"
        )
    parts = moves.extents.get("p", 1)
    return filled(LOOPS, {"blocks": own.blocks, "parts": parts, "line": line})
