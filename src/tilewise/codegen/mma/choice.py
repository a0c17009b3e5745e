"""The choices of a kernel around mma.sync that the caller leaves open: the instruction, the grid of warps."""

from __future__ import annotations

from tilewise.codegen.parts.plan import (
    SPARE_REGISTERS,
    check_multiple,
    check_partner,
    most_registers,
    refused,
    sum_type,
)
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.limits import LANES, REGISTER_BITS, THREADS
from tilewise.hardware.mma.instructions import Family, Instruction, Shape, check_input, families_of

CONVERTED = {"f32": ("f16", "bf16")}
"""Types to which D can be rounded when it is stored."""

WARPS = 4
"""Warps of a block whose tile has as many instructions: a multiprocessor has four tensor cores."""

WARP_ACCUMULATORS = 128
"""Most 32-bit registers of D in a lane of a warp, unless the caller gives a grid of warps."""


def instruction_of(
    dtype_a: DType | str,
    dtype_b: DType | str | None,
    shape: Shape | str | None,
    accumulator: DType | str | None,
    op: str | None,
    arch: Architecture | None,
) -> tuple[Family, Instruction]:
    """Return the largest instruction that meets all the given words, and its family.

    refused  TW602 if there is no such instruction

    >>> print(instruction_of("f16", None, None, None, None, Architecture.of("sm_75"))[1])
    mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
    """
    a = DType.of(dtype_a)
    b = a if dtype_b is None else DType.of(dtype_b)
    for own in (a, b):
        known = families_of(None, own)
        check_input(shape if shape is not None else known[0].shape if known else "m16n8k16", own)
    pairs = dict.fromkeys(pair for family in families_of(None, a) for pair in family.inputs)
    check_partner(a.name, b.name, [partner for first, partner in pairs if first == a.name], "mma.sync")
    wanted = op or ("and.popc" if a.name == "b1" else "")
    having = [family for family in families_of(shape, a) if wanted in family.ops]
    if not having:
        raise refused(
            f"no mma.sync does {wanted} on {a}", "and.popc and xor.popc are for b1", dtype=a.name, op=wanted
        )
    met = [family for family in having if arch is None or family.needs.met(arch)]
    if not met:
        first = min(having, key=lambda own: (own.since, -_size(own)))
        raise refused(
            f"{arch} has no mma.sync that multiplies {a} by {b} so",
            f"{first.needs} have {first.shape}",
            arch=str(arch),
            needs=str(first.needs),
        )
    summing = [
        family for family in met if accumulator is None or DType.of(accumulator).name in family.results
    ]
    family = max(summing or met, key=_size)
    into = sum_type(a.name, accumulator, family.results)
    return family, Instruction(family.shape, a.name, b.name, into.name, wanted)


def _size(family: Family) -> int:
    return family.shape.m * family.shape.n * family.shape.k


def stored_as(instruction: Instruction, wanted: DType | str | None) -> DType:
    """Return the type of D in memory: that of its sums, unless they are rounded.

    refused  TW602 a type to which they are not rounded
    """
    out = DType.of(wanted or instruction.d)
    rounded = CONVERTED.get(instruction.d, ()) if instruction.products == 1 else ()
    known = (instruction.d, *rounded)
    if out.name not in known:
        raise refused(
            f"D is summed in {instruction.d}, and is not stored as {out}",
            f"known: {' '.join(known)}",
            accumulator=instruction.d,
            out=out.name,
        )
    return out


# -- warps -------------------------------------------------------------------------------------------


def grids(shape: Shape, bits: int, m: int, n: int) -> list[tuple[int, int]]:
    """Return the grids of warps that hold a tile [m, n] of D in registers, the best first.

    Every warp has whole instructions of `shape`. The best grid has four warps or more, if there are that many
    instructions, and at most 128 registers of D in a lane; of those the fewest warps; and of those the
    grid whose warps read the fewest rows of A and B.

        refused  TW602 where D alone is too much for any number of warps

    >>> grids(Shape.of("m16n8k16"), 32, 128, 96)[:3]
    [(2, 2), (4, 1), (1, 4)]
    """
    costs = []
    for rows in _divisors(m // shape.m):
        for columns in _divisors(n // shape.n):
            many, part = rows * columns, (m // rows, n // columns)
            registers = part[0] * part[1] * bits // REGISTER_BITS // LANES
            if registers + SPARE_REGISTERS <= most_registers(many * LANES):
                crowded = registers > WARP_ACCUMULATORS
                cost = crowded, max(0, WARPS - many), many, sum(part), max(rows, columns)
                costs.append((cost, (rows, columns)))
    if not costs:
        held = m * n * bits // REGISTER_BITS
        raise refused(
            f"D [{m}, {n}] takes {held} registers, with what is loaded more than a multiprocessor holds",
            "take a smaller tile",
            D=[m, n],
            registers=held,
        )
    return [grid for _, grid in sorted(costs)]


def checked_grid(shape: Shape, m: int, n: int, warps: tuple[int, int]) -> tuple[int, int]:
    """Return the given grid.

    refused  TW602 where a warp would have parts of instructions
    """
    rows, columns = (as_int(count, "a number of warps") for count in warps)
    if rows < 1 or columns < 1:
        raise LayoutError("TW401", f"{rows}x{columns} is no grid of warps", hint="such as 2x2")
    for name, extent, each, count in (("M", m, shape.m, rows), ("N", n, shape.n, columns)):
        those = f"{count} warps with whole {shape}"
        check_multiple(name, extent, each * count, those, {name: extent, "warps": [rows, columns]})
    return rows, columns


def _divisors(number: int) -> list[int]:
    return [count for count in range(1, min(number, THREADS // LANES) + 1) if number % count == 0]
