"""A move inside a warp as CUDA C++: a device function on 32-bit registers, without headers.

Values that differ between lanes are computed from the lane's number: a few operations, and never a table in
memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from tilewise.check.registers.rounds import LaneMap
from tilewise.check.registers.steps import parities
from tilewise.codegen.names import checked
from tilewise.core.bits import combined
from tilewise.hardware.limits import LANE_BITS, LANES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewise.check.registers.steps import WarpStep
    from tilewise.check.shuffle import WarpPlan

EVERY_LANE = "0xffffffffu"

_SHUFFLES = {"bfly": "__shfl_xor_sync", "up": "__shfl_up_sync", "down": "__shfl_down_sync"}


@dataclass(frozen=True, slots=True)
class Line:
    """One register of the program: its name, and its value, for people and for CUDA."""

    name: str
    told: str
    cuda: str


def cuda_source(plan: WarpPlan, name: str = "shuffle") -> str:
    """Return the plan as a function: `from` are the 32-bit registers of FROM, `to` those of TO.

    Element e of n bits is in bits n e and up, counted through the registers. All 32 lanes call it together.
    Both may be one array if they have as many registers.

    >>> from tilewise import S, laneid, reg
    >>> from tilewise.check.shuffle import shuffle
    >>> print(cuda_source(shuffle(S[32 : 1@laneid], S[32 : -1@laneid] + 31@laneid, "f32"), "reverse"))
    // From S[32 : 1@laneid]
    // to   S[32 : -1@laneid] + 31@laneid
    // of f32: 1 shfl. All 32 lanes of a warp call it.
    __device__ __forceinline__ void reverse(const unsigned (&from)[1], unsigned (&to)[1])
    {
        const unsigned a0 = from[0];
        const unsigned t0 = __shfl_xor_sync(0xffffffffu, a0, 31);
        to[0] = t0;
    }
    """
    return "\n".join(
        [
            f"// From {plan.source}",
            f"// to   {plan.target}",
            f"// of {plan.dtype}: {plan}. All 32 lanes of a warp call it.",
            *(f"// {note}" for note in (plan.repeated, plan.convert) if note),
            device_function(plan, name),
        ]
    )


def device_function(plan: WarpPlan, name: str) -> str:
    """Return the function without comments."""
    called = checked(name, "a function")
    lines = [line.cuda for line in lines_of(plan)]
    head = []
    if any("lane" in line for line in lines):
        head = ["unsigned lane;", 'asm("mov.u32 %0, %%laneid;" : "=r"(lane));']
    used = _used(plan)
    given = [f"const unsigned a{own} = from[{own}];" for own in range(plan.program.inputs) if own in used]
    before, after = plan.registers
    results = [
        f"to[{at}] = {register_name(plan, own)};"
        for at, own in enumerate(plan.program.results)
        if own is not None
    ]
    return "\n".join(
        [
            f"__device__ __forceinline__ void {called}"
            f"(const unsigned (&from)[{before}], unsigned (&to)[{after}])",
            "{",
            *(f"    {line}" for line in (*head, *given, *lines, *results)),
            "}",
        ]
    )


def lines_of(plan: WarpPlan) -> list[Line]:
    """Return every step as a line."""
    found = []
    for at, step in enumerate(plan.program.steps):
        name = f"t{at}"
        operands = [register_name(plan, own) for own in step.of]
        told, cuda = _spelled(step, operands)
        if step.operation == "movmatrix":
            form = '"movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"'
            cuda = f'unsigned {name};\n    asm volatile({form} : "=r"({name}) : "r"({operands[0]}));'
        else:
            cuda = f"const unsigned {name} = {cuda};"
        found.append(Line(name, told, cuda))
    return found


def register_name(plan: WarpPlan, register: int) -> str:
    """Return a0, a1, ... for the registers of the source, t0, t1, ... for the results of steps."""
    inputs = plan.program.inputs
    return f"a{register}" if register < inputs else f"t{register - inputs}"


def _used(plan: WarpPlan) -> set[int]:
    used = {own for step in plan.program.steps for own in step.of}
    return used | {own for own in plan.program.results if own is not None}


def _spelled(step: WarpStep, operands: Sequence[str]) -> tuple[str, str]:
    """Return the result of a step, (for people, for CUDA)."""
    a = operands[0]
    if step.operation == "movmatrix":
        return f"movmatrix({a})", ""
    if step.operation == "shfl":
        return _shuffled(LaneMap.of(step.by), a)
    if step.operation == "select":
        said = f"{condition(step.by)} ? {operands[1]} : {a}"
        return said, said
    by = number(step.by, hexadecimal=step.operation in ("prmt", "merge"))
    if step.operation == "prmt":
        words = ", ".join((*operands, by))
        return f"prmt({words})", f"__byte_perm({words})"
    if step.operation == "rotate":
        return f"rotate({a}, {by})", f"__funnelshift_l({a}, {a}, {by})"
    if step.operation == "merge":
        b = operands[1]
        mask = by if step.uniform else f"({by})"
        said = f"({a} & {mask}) | ({b} & ~{mask})"
        return said, said
    bit = f"{a} & {1 << step.by[0]:#x}u" if step.uniform else f"{a} >> ({by}) & 1u"
    return f"ballot({bit})", f"__ballot_sync({EVERY_LANE}, ({bit}) != 0)"


def _shuffled(lanes: LaneMap, a: str) -> tuple[str, str]:
    if lanes.mode in _SHUFFLES:
        said = f"{a}, {lanes.amount}"
        return f"shfl.{lanes.mode}({said})", f"{_SHUFFLES[lanes.mode]}({EVERY_LANE}, {said})"
    read = lane_text(lanes)
    return f"shfl.idx({a}, {read})", f"__shfl_sync({EVERY_LANE}, {a}, {read})"


# -- numbers from the lane's number ---------------------------------------------------------------


def lane_text(lanes: LaneMap) -> str:
    """Return the lane that every lane reads, as an expression of `lane`.

    >>> lane_text(LaneMap.of([lane // 4 for lane in range(32)]))
    'lane >> 2'
    >>> lane_text(LaneMap.of([(lane + 5) % 32 for lane in range(32)]))
    '(lane + 5) & 31'
    >>> lane_text(LaneMap("bfly", 4))
    'lane ^ 4'
    """
    if lanes.amount is not None:
        sign = {"bfly": "lane ^ ", "up": "lane - ", "down": "lane + ", "idx": ""}[lanes.mode]
        return f"{sign}{lanes.amount}"
    return number(lanes.lanes)


def number(by: Sequence[int], hexadecimal: bool = False) -> str:
    """Return a number that differs between lanes, as an expression of `lane`."""
    if len(set(by)) == 1:
        return _literal(by[0], hexadecimal)
    if hexadecimal or max(by) >= LANES:
        return _asked(by, lambda value: _literal(value, hexadecimal))
    return _affine(by) or _turning(by) or _asked_or_masked(by)


def condition(by: Sequence[int]) -> str:
    """Return the test that by[lane] is 1, as an expression of `lane`.

    >>> condition([lane >> 2 & 1 for lane in range(32)]), condition([lane < 5 for lane in range(32)])
    ('lane & 4', 'lane < 5')
    """
    mask = sum(1 << lane for lane, one in enumerate(by) if one)
    for bit in range(LANE_BITS):
        if mask == parities()[bit]:
            return f"lane & {1 << bit}"
    for bits in range(1, LANES):
        if mask == sum(1 << lane for lane in range(LANES) if (lane & bits).bit_count() % 2):
            return f"__popc(lane & {bits}) & 1"
    first = mask.bit_length()
    if mask == (1 << first) - 1:
        return f"lane < {first}"
    if mask ^ (1 << LANES) - 1 == (mask & -mask) - 1:
        return f"lane >= {(mask & -mask).bit_length() - 1}"
    if mask & mask - 1 == 0:
        return f"lane == {first - 1}"
    return f"{mask:#010x}u >> lane & 1"


def _literal(value: int, hexadecimal: bool) -> str:
    return f"{value:#x}u" if hexadecimal else str(value)


def _affine(by: Sequence[int]) -> str:
    """Return fields of the lane's bits, each moved, XORed; an empty text for numbers of another form."""
    columns = [by[1 << bit] ^ by[0] for bit in range(LANE_BITS)]
    if any(by[0] ^ combined(columns, lane) != own for lane, own in enumerate(by)):
        return ""
    fields: dict[int, int] = {}
    for bit, column in enumerate(columns):
        for target in range(column.bit_length()):
            if column >> target & 1:
                fields[target - bit] = fields.get(target - bit, 0) | 1 << bit
    parts = [_field(mask, distance) for distance, mask in sorted(fields.items())]
    apart = all(not one & other for one, other in combinations(columns, 2))
    text = parts[0] if len(parts) == 1 else (" | " if apart else " ^ ").join(map(_bracketed, parts))
    return f"{_bracketed(text)} ^ {by[0]}" if by[0] else text


def _bracketed(text: str) -> str:
    return text if text.isalnum() else f"({text})"


def _field(mask: int, distance: int) -> str:
    """Return bits of the lane's number, moved up by a distance."""
    if distance >= 0:
        bits = "lane" if mask == LANES - 1 else f"lane & {mask}"
        return bits if not distance else f"({bits}) << {distance}" if "&" in bits else f"{bits} << {distance}"
    whole = mask >> -distance == LANES - 1 >> -distance
    return f"lane >> {-distance}" if whole else f"(lane & {mask}) >> {-distance}"


def _turning(by: Sequence[int]) -> str:
    """Return (factor lane + start) mod 32; an empty text for numbers of another form."""
    factor, start = (by[1] - by[0]) % LANES, by[0]
    if any(own != (factor * lane + start) % LANES for lane, own in enumerate(by)):
        return ""
    product = "lane" if factor == 1 else f"lane * {factor}"
    return f"({product} + {start}) & {LANES - 1}" if start else f"({product}) & {LANES - 1}"


def _asked_or_masked(by: Sequence[int]) -> str:
    """Return few numbers by tests of the lane; many bit by bit, each bit from a mask of its lanes."""
    if len(set(by)) <= 4:
        return _asked(by, str)
    masks = [sum((own >> bit & 1) << lane for lane, own in enumerate(by)) for bit in range(LANE_BITS)]
    parts = [f"({mask:#010x}u >> lane & 1) << {bit}" for bit, mask in enumerate(masks) if mask]
    return " | ".join(f"({part})" for part in parts).replace(" << 0)", ")")


def _asked(by: Sequence[int], spelled: Callable[[int], str]) -> str:
    """Return one of several numbers by tests of the lane: the bits of its number first."""
    return _by_questions(list(enumerate(by)), spelled)


def _by_questions(by: list[tuple[int, int]], spelled: Callable[[int], str]) -> str:
    values = sorted({value for _, value in by})
    if len(values) == 1:
        return spelled(values[0])
    mask = _question(by, values)
    sides = [_by_questions([own for own in by if mask >> own[0] & 1 == side], spelled) for side in (1, 0)]
    asked = condition([mask >> lane & 1 for lane in range(LANES)])
    yes, no = (f"({side})" if "?" in side else side for side in sides)
    return f"{asked} ? {yes} : {no}"


def _question(by: list[tuple[int, int]], values: list[int]) -> int:
    """Return lanes that part the numbers, nearly in halves; no number is on both sides."""
    for mask in parities():
        inside = {value for lane, value in by if mask >> lane & 1}
        outside = {value for lane, value in by if not mask >> lane & 1}
        if inside and outside and not inside & outside:
            return mask
    upper = values[len(values) // 2 :]
    return sum(1 << lane for lane, value in by if value in upper)
