"""How warps share the tile of a block: as a grid, each with whole instructions."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.emit.parts.room import SPARE_REGISTERS, most_registers
from tilewise.hardware.limits import REGISTER_BITS, THREAD_REGISTERS, THREADS
from tilewise.hardware.mma.instructions import Shape

WARP = 32
WARPS = 4
"""Warps that a block has where its tile has so many instructions: a multiprocessor has four tensor cores."""

WARP_ACCUMULATORS = 128
"""32-bit registers of D that a warp has in a lane, at most, where no grid of warps is asked."""


class Unshared(Refused):
    """A refusal that another grid of warps may lift."""


def grids(shape: Shape, bits: int, m: int, n: int) -> Iterator[tuple[int, int]]:
    """Grids of warps that hold a tile [m, n] of D in registers, the best first.

    Every warp has whole instructions of `shape`. The best has four warps or more, where there are so many
    instructions, and D of 128 registers in a lane at most; of those the fewest warps; and of those whose
    warps read the fewest rows of A and B.

    >>> list(grids(Shape.of("m16n8k16"), 32, 128, 96))[:3]
    [(2, 2), (4, 1), (1, 4)]
    """
    found = []
    for rows in _divisors(m // shape.m):
        for columns in _divisors(n // shape.n):
            many, part = rows * columns, (m // rows, n // columns)
            registers = part[0] * part[1] * bits // REGISTER_BITS // WARP
            if registers + SPARE_REGISTERS <= most_registers(many * WARP):
                crowded = registers > WARP_ACCUMULATORS
                cost = crowded, max(0, WARPS - many), many, sum(part), max(rows, columns)
                found.append((cost, (rows, columns)))
    yield from (grid for _, grid in sorted(found))


def known_grids(shape: Shape, bits: int, m: int, n: int) -> tuple[tuple[int, int], ...]:
    """The same; there is one, or a refusal.

    refused  TW602 where D alone is too much for any number of warps
    """
    found = tuple(grids(shape, bits, m, n))
    if found:
        return found
    held = m * n * bits // REGISTER_BITS
    raise Refused(
        "TW602",
        f"D [{m}, {n}] takes {held} registers, with what is loaded more than a multiprocessor holds",
        witness={"D": [m, n], "registers": held},
        hint="take a smaller tile",
    )


def checked_grid(shape: Shape, m: int, n: int, warps: tuple[int, int]) -> tuple[int, int]:
    """The grid that was asked for.

    refused  TW602 where a warp would have parts of instructions
    """
    rows, columns = (as_int(count, "a number of warps") for count in warps)
    if rows < 1 or columns < 1:
        raise LayoutError("TW401", f"{rows}x{columns} warps are none", hint="such as 2x2")
    for name, extent, each, count in (("M", m, shape.m, rows), ("N", n, shape.n, columns)):
        if extent % (each * count):
            raise Refused(
                "TW602",
                f"{count} warps do not share {name} = {extent}: each has a multiple of {each}",
                witness={name: extent, "warps": [rows, columns]},
                hint=f"{extent // each} blocks of {each} are to be shared",
            )
    return rows, columns


def check_registers(threads: int, held: int) -> None:
    """Refuse fragments that the threads of a block cannot hold."""
    most = most_registers(threads)
    if held + SPARE_REGISTERS <= most:
        return
    few = most == THREAD_REGISTERS
    than = f"a thread has: {most}" if few else "a multiprocessor holds"
    raise Unshared(
        "TW602",
        f"{threads} threads with fragments of {held} registers, and {SPARE_REGISTERS} beside, are more than "
        + than,
        witness={"threads": threads, "registers": held},
        hint="take more warps, or a smaller tile" if few else "take a smaller tile, or other warps",
    )


def _divisors(number: int) -> list[int]:
    return [count for count in range(1, min(number, THREADS // WARP) + 1) if number % count == 0]
