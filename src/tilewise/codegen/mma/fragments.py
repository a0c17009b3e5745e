"""Fragments between shared memory and registers, as C++: line by line, or in loops where vectors allow it."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.check.feeding.forms import Part
from tilewise.codegen.mma.moves import Moves
from tilewise.codegen.mma.operands import WarpTile
from tilewise.codegen.mma.plan import MmaPlan
from tilewise.codegen.parts.copies import BYTE, WIDTHS, copies
from tilewise.codegen.parts.template import (
    call,
    each,
    element,
    filled,
    listed,
    made,
    pair,
    plus,
    vector,
    wrapped,
)
from tilewise.hardware.matrices.forms import Form

MATRICES = {1: "One matrix", 2: "Two matrices", 4: "Four matrices"}

LDMATRIX = """\
// $many of $what; each lane gives the address of a row.
__device__ __forceinline__ void $name($registers, unsigned at)
{
    asm volatile("$form {$slots}, [%$count];"
                 : $operands : "r"(at) : "memory");
}"""

STMATRIX = """\
// $many of $what; each lane gives the address of a row.
__device__ __forceinline__ void $name(unsigned at, $registers)
{
    asm volatile("$form [%0], {$slots};" :: "r"(at), $operands : "memory");
}"""


def matrices(form: Form) -> str:
    """Return a form of ldmatrix or stmatrix as a function."""
    count, stores = form.registers, form.instruction == "stmatrix"
    slots = {
        "many": MATRICES[form.count],
        "what": f"{form.rows} x {form.columns} elements of {form.bits} bits{', transposed' * form.trans}",
        "name": _name_of(form),
        "registers": listed(f"unsigned {'' if stores else '&'}r#", range(count)),
        "form": form,
        "slots": listed("%#", range(stores, count + stores)),
        "count": count,
        "operands": listed('"r"(r#)' if stores else '"=r"(r#)', range(count)),
    }
    return filled(STMATRIX if stores else LDMATRIX, slots)


def _name_of(form: object) -> str:
    assert isinstance(form, Form)
    shape = f"_{form.shape}" if form.shape != "m8n8" else ""
    return f"{form.instruction}{shape}_x{form.count}{'_trans' * form.trans}"


# -- loads -------------------------------------------------------------------------------------------

FRAGMENTS = """\
// ${own.name}: ${moves.form}.
$declared
$loads"""

TAKEN = """\
{
    const $kind word = $word;
    $lines
}"""

LOOPS = """\
#pragma unroll
for (unsigned i = 0; i < ${own.blocks}; ++i)
    #pragma unroll
    for (unsigned p = 0; p < ${moves.loads_of_bytes}; ++p) {
        $line
    }"""


def fragments(plan: MmaPlan, own: WarpTile) -> str:
    """Return the loads of one turn of the loop along K."""
    moves = plan.moves(own)
    in_loops = plan.span == 1 and moves.in_order and moves.vector
    registers = f"{own.declared} {own.letter}{shape(plan, own)}{'' if moves.whole else ' = {}'};"
    slots = {
        "own": own,
        "moves": moves,
        "declared": "" if plan.ahead else registers,
        "loads": _loop(plan, moves) if in_loops else "\n".join(_loads(plan, moves)),
    }
    return filled(FRAGMENTS, slots)


def shape(plan: MmaPlan, own: WarpTile) -> str:
    """Return the extents of an operand's fragments of one turn, in C++."""
    extents = [own.blocks, *([plan.span] if plan.span > 1 else []), own.registers]
    return "".join(each("[#]", extents))


def _word(plan: MmaPlan, moves: Moves, numbers: dict[str, str]) -> tuple[str, str]:
    """Return the type by which C++ loads a vector, and its value; for matrices "" and their address."""
    numbers = numbers | ({"s": "0"} if plan.turns == 1 else {})
    start = plus("stage" if moves.vector else "at", plan.offsets[moves.own.name])
    at = f"{start} + {moves.address(numbers)}"
    if moves.vector is None:
        return "", at
    registers = moves.vector.bits // moves.own.register_bits
    kind = vector(moves.own.declared, registers) if registers else WIDTHS[moves.vector.bits // BYTE]
    return kind, f"*(const {kind} *)({at})"


def _loads(plan: MmaPlan, moves: Moves) -> Iterator[str]:
    """Yield the lines of every load: one, or several for a vector whose parts go to different registers."""
    own, bits = moves.own, moves.part_bits
    for parts, numbers in moves.all():
        kind, word = _word(plan, moves, numbers)
        targets = []
        for part in parts:
            column = f"[{part.column}]" if plan.span > 1 else ""
            targets.append(f"{own.letter}[{part.row}]{column}[{part.byte * BYTE // own.register_bits}]")
        if moves.vector is None:
            yield f"{_name_of(moves.form)}({', '.join(targets)}, {word});"
            continue
        lines = []
        for number, (part, target) in enumerate(zip(parts, targets, strict=True)):
            register, inside = divmod(number * bits, own.register_bits)
            piece = f"word.{'xyzw'[register]}" if moves.vector.bits > own.register_bits else "word"
            if len(targets) == 1:
                piece = word if moves.whole else f"(unsigned){word}"
            elif not moves.whole:
                piece = f"({_shifted(piece, '>>', inside)} & {(1 << bits) - 1:#x})"
            start = part.byte * BYTE % own.register_bits
            put = f"= {piece}" if moves.whole else f"|= {_shifted(piece, '<<', start)}"
            lines.append(f"{target} {put};")
        yield (
            lines[0]
            if len(lines) == 1
            else filled(TAKEN, {"kind": kind, "word": word, "lines": "\n".join(lines)})
        )


def _shifted(word: str, way: str, by: int) -> str:
    return f"{word} {way} {by}" if by else word


def _loop(plan: MmaPlan, moves: Moves) -> str:
    """Return the loop over vectors that fill the registers of a lane one after another."""
    assert moves.vector is not None
    kind, word = _word(plan, moves, {})
    bits, target = moves.vector.bits, f"{moves.own.letter}[i]"
    many, parts = bits // moves.own.register_bits, moves.own.register_bits // bits
    if many == 1:
        line = f"{target}[p] = {word};"
    elif many:
        fields = [f"{target}[{many} * p + {n}] = word.{'xyzw'[n]};" for n in range(many)]
        line = "\n".join([f"const {kind} word = {word};", *fields])
    else:
        line = f"const unsigned word = {word};\n{target}[p / {parts}] |= word << p % {parts} * {bits};"
    return filled(LOOPS, {"own": moves.own, "moves": moves, "line": line})


# -- D -----------------------------------------------------------------------------------------------

DIRECT = """\
// A lane holds pairs of neighbours of a row.
#pragma unroll
for (unsigned i = 0; i < ${plan.a.blocks}; ++i)
    #pragma unroll
    for (unsigned j = 0; j < ${plan.b.blocks}; ++j)
        #pragma unroll
        for (unsigned pair = 0; pair < $pairs; ++pair) {
            const auto place = $d_index;
            const unsigned x = row + $block_down * ${plan.shape.m} + place.i;
            const unsigned y = column + $block_along * ${plan.shape.n} + 2 * place.j;
            *($pair_type *)(D + (size_t)x * N + y) = $pair;
        }"""

THROUGH = """\
__syncthreads(); // every warp has read the last tile
// D: ${moves.form}.
$first
$stores
__syncthreads(); // D is there
$saved"""

SAVE = "(($type *)(D + (size_t)(row + i) * N + column))[j] = (($type *)shared)[$place];"

LOOPS_OF_BLOCKS = """\
#pragma unroll
for (unsigned i = 0; i < ${plan.a.blocks}; ++i)
    #pragma unroll
    for (unsigned j = 0; j < ${plan.b.blocks}; ++j)
        #pragma unroll
        for (unsigned p = 0; p < ${moves.loads_of_bytes}; ++p) {
            $line
        }"""

_WIDTH, _BREAK = 100, "\n    "


def store(plan: MmaPlan) -> str:
    """Return the stores of all fragments of a warp: straight to global memory, or through shared memory."""
    own = plan.result
    if own is None:
        kind = pair(plan.out)
        numbers = ["pair"] if plan.out.bits == 16 else ["2 * pair", "2 * pair + 1"]
        slots = {
            "plan": plan,
            "block_down": f"(down * {plan.a.blocks} + i)" if plan.warps[0] > 1 else "i",
            "block_along": f"(along * {plan.b.blocks} + j)" if plan.warps[1] > 1 else "j",
            "pairs": plan.fragment.span("reg") // 2,
            "d_index": call(plan.d_index, laneid="lane", reg="pair"),
            "pair_type": kind,
            "pair": made(kind, [_sum(plan, "[i][j]", number) for number in numbers]),
        }
        return filled(DIRECT, slots)
    moves = plan.moves(own)
    slots = {"plan": plan, "moves": moves, "first": f"const unsigned {moves.first};" if moves.first else ""}
    if moves.vector and moves.in_order:
        stores = filled(LOOPS_OF_BLOCKS, slots | {"line": _stored_in_loops(plan, moves)})
    else:
        stores = "\n".join(_stored(plan, moves, *move) for move in moves.all())
    saved = copies(own, plan.threads, "", width=own.width, move=SAVE)
    return filled(THROUGH, slots | {"stores": stores, "saved": saved})


def _sum(plan: MmaPlan, block: str, number: str) -> str:
    """Return a register of a block for a store: a sum, or two neighbours of 16 bits as a word."""
    if plan.out == plan.accumulator:
        return f"d{block}[{number}]"
    if number.isdigit():
        first, second = (str(2 * int(number) + n) for n in range(2))
    else:
        first = f"2 * ({number})" if " " in number else f"2 * {number}"
        second = f"{first} + 1"
    return f"rounded(d{block}[{first}], d{block}[{second}])"


def _stored(plan: MmaPlan, moves: Moves, parts: list[Part], numbers: dict[str, str]) -> str:
    """Return one store: its line, or lines."""
    words, at = [], moves.address(numbers)
    for part in parts:
        number, inside = divmod(part.byte * BYTE, moves.own.register_bits)
        word = _sum(plan, f"[{part.row}][{part.column}]", str(number))
        words.append(word if moves.whole else f"(unsigned short)({_shifted(word, '>>', inside)})")
    if moves.vector:
        kind = _kind(plan, moves)
        return f"*({kind} *)(shared + {at}) = {made(kind, words)};"
    head = f"{_name_of(moves.form)}(base + {at},"
    line = f"{head} {', '.join(words)});"
    return line if len(line) <= _WIDTH else f"{head}\n    {wrapped(words, _BREAK)});"


def _kind(plan: MmaPlan, moves: Moves) -> str:
    """Return the type by which C++ stores a vector."""
    if not moves.whole:
        return "unsigned short"
    assert moves.vector is not None
    return vector("unsigned" if plan.out.bits == 16 else element(plan.out), moves.vector.registers)


def _stored_in_loops(plan: MmaPlan, moves: Moves) -> str:
    kind, many = _kind(plan, moves), len(next(moves.all())[0])
    target = f"*({kind} *)(shared + {moves.address({'c': 'j'})})"
    if not moves.whole:
        word = f"const unsigned word = {_sum(plan, '[i][j]', 'p / 2')};"
        return f"{word}\n{target} = (unsigned short)(word >> p % 2 * 16);"
    start = f"{many} * p" if many > 1 else "p"
    numbers = [start, *each(f"{start} + #", range(1, many))]
    return f"{target} = {made(kind, [_sum(plan, '[i][j]', number) for number in numbers])};"
