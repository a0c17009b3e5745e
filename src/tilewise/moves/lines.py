"""A plan in lines of text, as the command line prints it and `str` gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tilewise.core.integers import counted
from tilewise.moves.pairs.fills import spelled
from tilewise.moves.tiles.tile import Tile
from tilewise.moves.tiles.turned import Turned
from tilewise.moves.ways import Bulk, Gather, Way

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.moves.exchange import Exchange
    from tilewise.moves.memory import Plan

_IN_MEMORY = {
    "copy": "one copy of memory",
    "tile": "by way of shared memory",
    "gather": "element by element",
}
_IN_REGISTERS = {
    "registers": "inside each thread",
    "shuffles": "inside each warp, from lane to lane",
    "shared": "through shared memory",
}


def lines_of_memory(plan: Plan) -> Iterator[str]:
    """Yield the bytes that move, the time, and the steps."""
    if plan.kind == "view":
        yield f"view: {plan.steps[0]}"
        return
    yield f"{plan.kind}: {_IN_MEMORY[plan.kind]}{_rate(plan)}"
    copied = f"a copy of as much {_time(plan.copy_seconds)}"
    launch = "; most of it is the launch" if plan.is_mostly_launch else ""
    expected = "" if plan.seconds is None else f"{_time(plan.seconds)} expected on an {plan.device.upper()}, "
    yield f"  bytes  {plan.bytes} read and written"
    yield f"  time   {expected}{copied}{launch}"
    yield from _numbered(plan.steps)
    if plan.together > 1:
        yield f"  {plan.together} {plan.dtype} that stay neighbours are one element there"


def steps_of_memory(plan: Plan) -> Iterator[str]:
    """Yield the steps of a plan in memory, in sentences."""
    value = spelled(plan.fill, plan.dtype)
    if plan.fill_from:
        yield f"fill the last byte of the target with {value}: half of it is no element"
    elif plan.fills:
        count = counted(plan.pair.target.size, "element")
        yield f"fill {count} of the target with {value}: it has places that no element takes"
    yield from STEPS[type(plan.way)](plan, plan.way)
    if plan.pair.beyond and not plan.fills:
        yield f"fill the {counted(plan.pair.beyond, 'element')} beyond the box with {value}, in the same runs"


def _bulk_steps(plan: Plan, way: Bulk) -> Iterator[str]:
    if plan.kind == "view":
        yield "nothing moves, the source is the target; a new storage is one copy of memory"
    else:
        yield f"copy {counted(way.bytes, 'byte')} from byte {way.read} to byte {way.write}, all together"


def _gather_steps(plan: Plan, way: Gather) -> Iterator[str]:
    count = way.vector * way.pair.bits // plan.dtype.bits
    many = f"{count} elements and writes them at once"
    yield f"{_threads(way)}, each of which reads {'an element and writes it' if count == 1 else many}"


def _tile_steps(plan: Plan, way: Tile) -> Iterator[str]:
    (read, write), (reads, writes) = way.vectors, plan.sectors or (1.0, 1.0)
    extents = " x ".join(map(str, way.extents))
    element = "4 bits" if way.pair.spread else f"{way.unit} B"
    yield f"{_threads(way)}, each with a tile of {extents} elements of {element}"
    yield (
        f"read rows of {way.stored(way.run_bytes // way.unit)} B in vectors of {read} B"
        + (", taken where sectors begin" if way.read_shift else "")
        + _of_sectors(reads)
    )
    spread = ", a byte for each element" if way.pair.spread else ""
    yield f"keep {way.shared_bytes} B in shared memory{spread}, {way.swizzle or _rows(way)}"
    yield (
        f"write runs of {way.stored(way.run_elements)} B in vectors of {write} B"
        + (f", {way.words} columns to a thread" if way.words > 1 else "")
        + (", by whole sectors wherever rows begin" if way.write_shift else "")
        + _of_sectors(writes)
    )


def _rows(way: Tile) -> str:
    """Return the place of rows in shared memory where no swizzle parts them, in words."""
    if not way.rows:
        return "one row"
    return f"rows {'padded, ' if way.padding else ''}{max(way.pitches)} B apart"


def _turned_steps(plan: Plan, way: Turned) -> Iterator[str]:
    (read, write), (reads, _) = way.vectors, plan.sectors or (1.0, 1.0)
    yield f"{_threads(way)}, each with a tile of {way.tall} x {way.wide} elements of 4 bits"
    yield (
        f"read {way.rows} rows of {way.wide // 2} B in words of {read} B, wherever they begin"
        + _of_sectors(reads)
    )
    yield "turn 8 words of 8 elements in registers"
    yield f"keep {way.shared_bytes} B in shared memory, runs {4 * way.run_pitch} B apart"
    yield f"write runs of {way.tall // 2} B in vectors of {write} B, by whole vectors wherever they begin"


def _threads(way: Way) -> str:
    return f"{counted(way.blocks, 'block')} of {way.threads} threads"


def _of_sectors(times: float) -> str:
    """Return how many times their elements' bytes the sectors are, or an empty text.

    >>> _of_sectors(1.0), _of_sectors(1.392)
    ('', ": sectors of 1.39 times the elements' bytes")
    """
    return f": sectors of {times:.2f} times the elements' bytes" if times >= 1.005 else ""


STEPS: dict[type[Way], Callable[[Plan, Any], Iterator[str]]] = {
    Bulk: _bulk_steps,
    Tile: _tile_steps,
    Turned: _turned_steps,
    Gather: _gather_steps,
}
"""The writer of each way's steps."""


def lines_of_registers(plan: Exchange) -> Iterator[str]:
    """Yield the steps of a warp, and their cost."""
    from tilewise.moves.exchange.plan import FIRST

    if plan.kind == "view":
        yield f"view: {plan.steps[0]}"
        return
    cycles = counted(max(1, round(plan.cycles)), "cycle")
    needs = f", for {plan.needs}" if plan.needs != FIRST else ""
    yield f"{plan.kind}: {_IN_REGISTERS[plan.kind]}, about {cycles} for a warp{needs}"
    if plan.shared_bytes:
        own = " for each warp" if plan.asked.scope == "warp" else ""
        swizzle = _swizzled(plan.swizzle) if plan.swizzle else ""
        waits = counted(plan.barriers, "barrier") if plan.barriers else "no barrier"
        yield f"  shared memory  {plan.shared_bytes} bytes{own}{swizzle}, {waits}"
    yield from _numbered(plan.steps)


def _swizzled(bits: Sequence[int]) -> str:
    """Return the bits of addresses that are XORs, in words.

    >>> _swizzled([5, 6])
    ', address bits 5, 6 swizzled'
    """
    return f", address bit{'s' * (len(bits) > 1)} {', '.join(map(str, bits))} swizzled"


def _numbered(steps: Sequence[str]) -> Iterator[str]:
    for number, step in enumerate(steps, 1):
        yield f"  {number}  {step}" if len(steps) > 1 else f"  {step}"


def _rate(plan: Plan) -> str:
    if plan.kind == "copy":
        return ""
    if plan.copy_fraction is None:
        return "; no rate of such moves was measured"
    digits = ".2f" if plan.copy_fraction > 0.1 else ".2g"
    return f", about {plan.copy_fraction:{digits}} of a copy's rate"


def _time(seconds: float) -> str:
    """Return a time in the unit that people use for it.

    >>> _time(7.118e-05), _time(0.0123), _time(12.3)
    ('71.2 us', '12.3 ms', '12.3 s')
    """
    for unit, name in ((1e-6, "us"), (1e-3, "ms")):
        if seconds < 1000 * unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.1f} s"
