"""D out of registers as C++: straight to global memory, or through shared memory."""

from __future__ import annotations

from tilewise.check.feeding.forms import Part, Vector
from tilewise.emit.mma.fragments import LOOPS_OF_BLOCKS, MATRICES, name_of
from tilewise.emit.mma.moves import Move
from tilewise.emit.mma.plan import Plan
from tilewise.emit.mma.results import Result
from tilewise.emit.parts.copies import WIDTHS, chunks, place_of
from tilewise.emit.parts.template import filled
from tilewise.emit.parts.words import ELEMENT, PAIR, call, made, wrapped
from tilewise.emit.source import Source, source_of
from tilewise.hardware.limits import REGISTER_BITS
from tilewise.hardware.matrices.forms import Form

DIRECT = """\
// A lane holds pairs of neighbours of a row.
#pragma unroll
for (unsigned i = 0; i < $down; ++i)
    #pragma unroll
    for (unsigned j = 0; j < $along; ++j)
        #pragma unroll
        for (unsigned pair = 0; pair < $pairs; ++pair) {
            const auto place = $d_index;
            const unsigned x = row + $block_down * $m + place.i;
            const unsigned y = column + $block_along * $n + 2 * place.j;
            *($pair_type *)(D + (size_t)x * N + y) = $pair;
        }"""

THROUGH = """\
__syncthreads(); // every warp has read the last tile
// D: $form.
$first
$stores
__syncthreads(); // D is there
// D, $width bytes a thread: row i, then $width bytes along it.
#pragma unroll 4
for (unsigned x = thread; x < $count; x += $threads) {
    const unsigned i = x / $across, j = x % $across;
    (($type *)(D + (size_t)(row + i) * N + column))[j] = (($type *)shared)[$place];
}"""

STORE = """\
// $many of $what; each lane gives the address of a row.
__device__ __forceinline__ void $name(unsigned at, $registers)
{
    asm volatile("$form [%0], {$slots};" :: "r"(at), $inputs : "memory");
}
"""

ROUND = """\
// Two sums, rounded.
__device__ __forceinline__ unsigned rounded(float x, float y)
{
    unsigned both;
    $asm
    return both;
}
"""

AT_ONCE = 'asm("cvt.rn.${out}x2.f32 %0, %2, %1;" : "=r"(both) : "f"(x), "f"(y));'
ONE_BY_ONE = """\
asm("{ .reg .b16 lo, hi; cvt.rn.f16.f32 lo, %1; cvt.rn.f16.f32 hi, %2; mov.b32 %0, {lo, hi}; }"
    : "=r"(both) : "f"(x), "f"(y));"""
TWO_AT_ONCE_SINCE = 80
_WIDTH, _BREAK = 100, "\n    "


def places(plan: Plan) -> list[str]:
    """Functions of D's layouts."""
    own = plan.result
    if own is None:
        return [_d_index(plan).code]
    return [_d_at(own).code, place_of(own, own.width).code]


def heads(plan: Plan) -> list[str]:
    """How sums are rounded, where they are, and stmatrix as a function, where it stores."""
    found = [] if plan.out == plan.accumulator else [_rounding(plan)]
    if plan.result is not None and isinstance(plan.result.fill.form, Form):
        found.append(_storing(plan.result.fill.form))
    return found


def element(plan: Plan) -> str:
    """D's elements in C++."""
    return ELEMENT[plan.out.name]


def store(plan: Plan) -> str:
    """The stores of all fragments of a warp."""
    return _direct(plan) if plan.result is None else _through(plan, plan.result)


def _rounding(plan: Plan) -> str:
    one_by_one = plan.arch.number < TWO_AT_ONCE_SINCE
    return filled(ROUND, {"asm": ONE_BY_ONE if one_by_one else filled(AT_ONCE, {"out": plan.out})})


# -- straight to global memory -----------------------------------------------------------------------


def _d_index(plan: Plan) -> Source:
    """Which pair of D's columns a register holds, and of which row."""
    return source_of(plan.fragment.pack(2, "reg"), inverse=True, flat=False, name="d_index")


def _direct(plan: Plan) -> str:
    two = [f"d[i][j][2 * pair{' + 1' if n else ''}]" for n in range(2)]
    slots = {
        "down": plan.a.blocks,
        "along": plan.b.blocks,
        "block_down": f"(down * {plan.a.blocks} + i)" if plan.warps[0] > 1 else "i",
        "block_along": f"(along * {plan.b.blocks} + j)" if plan.warps[1] > 1 else "j",
        "pairs": plan.fragment.span("reg") // 2,
        "d_index": call(_d_index(plan), laneid="lane", reg="pair"),
        "m": plan.shape.m,
        "n": plan.shape.n,
        "pair_type": PAIR[plan.out.name],
        "pair": _word(plan, "[i][j]", "pair") if plan.out.bits == 16 else made(PAIR[plan.out.name], two),
    }
    return filled(DIRECT, slots)


def _register(plan: Plan, block: str, number: str) -> str:
    """A register of a block as it is stored: one sum, or two of 16 bits."""
    return _word(plan, block, number) if plan.out.bits == 16 else f"d{block}[{number}]"


def _word(plan: Plan, block: str, number: str) -> str:
    """32 bits of D, number so many of a block, of two neighbours of 16 bits."""
    if plan.out == plan.accumulator:
        return f"d{block}[{number}]"
    first, second = (str(2 * int(number) + n) for n in range(2)) if number.isdigit() else _doubled(number)
    return f"rounded(d{block}[{first}], d{block}[{second}])"


def _doubled(number: str) -> tuple[str, str]:
    inner = f"({number})" if " " in number else number
    return f"2 * {inner}", f"2 * {inner} + 1"


# -- through shared memory ---------------------------------------------------------------------------


def _d_at(own: Result) -> Source:
    """Where a lane stores."""
    return own.moves.source("d_at")


def _through(plan: Plan, own: Result) -> str:
    moves = own.moves
    vector = moves.vector
    if vector is None:
        lines = "\n".join(_by_matrices(plan, own, move) for move in moves.all())
    elif moves.in_order:
        lines = _looped(plan, own, vector)
    else:
        lines = "\n".join(_by_vector(plan, own, vector, move) for move in moves.all())
    slots = {
        "form": moves.form,
        "first": f"const unsigned d_first = {moves.first('d_at')};" if moves.first("d_at") else "",
        "stores": lines,
        "width": own.width,
        "type": WIDTHS[own.width],
        "count": chunks(own, own.width).size,
        "threads": plan.threads,
        "across": chunks(own, own.width).size // own.rows,
        "place": call(place_of(own, own.width), i="i", j="j"),
    }
    return filled(THROUGH, slots)


def _storing(form: Form) -> str:
    count = form.registers
    slots = {
        "many": MATRICES[form.count],
        "what": f"{form.rows} x {form.columns} elements of {form.bits} bits{', transposed' * form.trans}",
        "name": name_of(form),
        "registers": ", ".join(f"unsigned r{i}" for i in range(count)),
        "form": form,
        "slots": ", ".join(f"%{1 + i}" for i in range(count)),
        "inputs": ", ".join(f'"r"(r{i})' for i in range(count)),
    }
    return filled(STORE, slots)


def _address(own: Result, **numbers: str) -> str:
    return own.moves.address("d_at", "d_first", numbers)


def _numbers(move: Move) -> dict[str, str]:
    return {name: str(number) for name, number in move.at}


def _by_matrices(plan: Plan, own: Result, move: Move) -> str:
    form = own.moves.form
    assert isinstance(form, Form)
    words = [_part(plan, part) for part in move.parts]
    call_of = f"{name_of(form)}(base + {_address(own, **_numbers(move))},"
    line = f"{call_of} {', '.join(words)});"
    return line if len(line) <= _WIDTH else f"{call_of}\n    {wrapped(words, _BREAK)});"


def _by_vector(plan: Plan, own: Result, vector: Vector, move: Move) -> str:
    kind = _kind(plan, vector, move.parts[0].bytes)
    words = [_part(plan, part) for part in move.parts]
    return f"*({kind} *)(shared + {_address(own, **_numbers(move))}) = {made(kind, words)};"


def _part(plan: Plan, part: Part) -> str:
    """The part of D that one register is, or a half of one."""
    block = f"[{part.row}][{part.column}]"
    width = max(REGISTER_BITS, plan.out.bits)
    number, inside = divmod(part.byte * 8, width)
    word = _register(plan, block, str(number))
    if part.bytes * 8 == width:
        return word
    return f"(unsigned short)({word}{f' >> {inside}' if inside else ''})"


def _kind(plan: Plan, vector: Vector, each: int) -> str:
    """The type that C++ stores a vector by."""
    if each * 8 < max(REGISTER_BITS, plan.out.bits):
        return "unsigned short"
    own = "unsigned" if plan.out.bits == 16 else ELEMENT[plan.out.name]
    many = vector.registers
    return own if many == 1 else f"{own.replace('unsigned', 'uint')}{many}"


def _looped(plan: Plan, own: Result, vector: Vector) -> str:
    moves = own.moves
    first = next(moves.all()).parts
    kind, each = _kind(plan, vector, first[0].bytes), len(first)
    halves = REGISTER_BITS // 16 if first[0].bytes * 8 < REGISTER_BITS else 1
    if halves > 1:
        line = "(unsigned short)(word >> p % 2 * 16)"
    else:
        numbers = [f"{each} * p + {n}" if n else f"{each} * p" if each > 1 else "p" for n in range(each)]
        line = made(kind, [_register(plan, "[i][j]", number) for number in numbers])
    store = f"*({kind} *)(shared + {_address(own, i='i', c='j', p='p')}) = {line};"
    halved = f"const unsigned word = {_word(plan, '[i][j]', 'p / 2')};"
    slots = {
        "down": plan.a.blocks,
        "along": plan.b.blocks,
        "parts": moves.extents.get("p", 1),
        "line": f"{halved}\n{store}" if halves > 1 else store,
    }
    return filled(LOOPS_OF_BLOCKS, slots)
