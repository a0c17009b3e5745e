"""Tiles that were measured: the fastest for a class of shapes, on a device, remembered beside the kernels.

A class has all that the choice of a tile depends on: the digits, their extents rounded to powers of two,
their whole vectors, and the alignment of storages. The file keeps a tile's threads and the
bytes of its runs. These find the tile again among the candidates of another shape of the class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import prod

from tilewise.gpu import remembered as kept
from tilewise.moves.arrays.device import Clock, gpu_of, loaded
from tilewise.moves.memory import Plan
from tilewise.moves.pairs.digits import simplest
from tilewise.moves.pairs.pair import Pair
from tilewise.moves.tiles.tile import VECTOR, Tile
from tilewise.moves.tiles.tiling import candidates
from tilewise.moves.tiles.turned import Turned, turned_candidates

FILE = "moves.json"
ROUND = 256 << 20
"""Bytes of all sources, or all targets, of a round together: too many to stay in a cache."""
MOST = 64
"""Buffers of a round at most, however small they are."""
ROUNDS = 9
GAIN = 0.98
"""Part of the first candidate's time that another may take to be remembered instead: less is chance."""

Traits = tuple[int, ...]
Tiled = Tile | Turned


def tuned(plan: Plan, index: int = 0, told: Callable[[str], None] = lambda line: None) -> Plan:
    """Return the plan with its fastest tile on a device, and remember it; `told` gets a line for each tile.

    A plan without a tile has no choice, and is returned unchanged.
    """
    name = gpu_of(index).name
    tiles = tiles_of(plan)
    if len(tiles) < 2:
        return plan
    plans = [replace(plan, chosen=tile, checked=False) for tile in tiles]
    seconds = _measured(plans, index)
    for own, taken in zip(tiles, seconds, strict=True):
        extents = " x ".join(map(str, own.named_extents["elements"]))
        told(f"{extents}, {own.threads} threads: {taken * 1e6:.1f} us")
    best = min(range(len(tiles)), key=seconds.__getitem__)
    best = best if seconds[best] < GAIN * seconds[0] else 0
    kept.remember(FILE, name, shape_class(plan), traits(tiles[best]))
    from tilewise.moves.arrays.run import forget  # which asks here what is remembered

    forget()
    return replace(plan, chosen=tiles[best])


def remembered(plan: Plan, index: int) -> Plan:
    """Return the plan with the tile remembered for its class, or the plan unchanged."""
    if not isinstance(plan.way, Tiled) or not kept.known(FILE):
        return plan
    wanted = kept.remembered(FILE, gpu_of(index).name, shape_class(plan))
    found = next((tile for tile in tiles_of(plan) if traits(tile) == wanted), None) if wanted else None
    return plan if found is None else replace(plan, chosen=found)


def tiles_of(plan: Plan) -> list[Tiled]:
    """Return the tiles to choose from, no two alike."""
    if not isinstance(plan.way, Tiled):
        return []
    pair = _pair(plan)
    others, turned = candidates(pair, plan.aligned), turned_candidates(pair)
    tiles: list[Tiled] = [*turned, *others] if isinstance(plan.way, Turned) else [*others, *turned]
    return [*{traits(tile): tile for tile in reversed(tiles)}.values()][::-1]


def traits(tile: Tiled) -> Traits:
    """Return the traits that find a tile in other shapes of its class: threads, bytes of its runs and of all.

    Tiles of 4 bits that are turned, or spread, have one number more, which no other tile has.

    >>> from tilewise import S
    >>> from tilewise.moves import plan
    >>> traits(plan(S[8192, 8192], S[(8192, 8192) : (1, 8192)], "bf16").way)
    (512, 256, 256, 32768)
    """
    if isinstance(tile, Turned):
        return tile.threads, tile.wide // 2, tile.tall // 2, tile.wide * tile.tall // 2, 2
    read = prod(tile.extents[i] for i in tile.read_run) * tile.unit
    found = tile.threads, read, tile.run_elements * tile.unit, prod(tile.extents) * tile.unit
    return (*found, 1) if tile.pair.spread else found


def shape_class(plan: Plan) -> str:
    """Return a text that is equal for plans that take the same tile.

    >>> from tilewise import S
    >>> from tilewise.moves import plan
    >>> ours, near, odd = (plan(S[n, 512], S[(n, 512) : (1, n)], "f32") for n in (600, 640, 601))
    >>> shape_class(ours) == shape_class(near), shape_class(ours) == shape_class(odd)
    (True, False)
    """
    pair = _pair(plan)
    unit = max(1, pair.bits // 8)
    sides = [
        f"{side.start * unit % VECTOR},{side.outer * unit % VECTOR},"
        + "/".join(f"{own.bits}.{own.base}.{own.shift}" for own in side.swizzles)
        for side in (pair.source, pair.target)
    ]
    limits = [f"{limit.fills:d}{limit.bound.bit_length()}" for limit in pair.limits]
    words = [str(pair.bits), str(min(plan.aligned, 256)), *sides, *limits, *_digits(pair, unit)]
    return " ".join(words)


def _digits(pair: Pair, unit: int) -> list[str]:
    """Return digits in the order of their steps in the target, with their place in the source's order."""
    digits = sorted(pair.digits or (), key=lambda digit: (abs(digit.write), abs(digit.read)))
    by_read = sorted(digits, key=lambda digit: (abs(digit.read), abs(digit.write)))
    return [
        f"{(digit.extent - 1).bit_length()}{_whole(digit.extent * unit)}@{by_read.index(digit)}"
        f"{_step(digit.read, unit)}{_step(digit.write, unit)}"
        for digit in digits
    ]


def _whole(size: int) -> str:
    """Return the largest power of two in bytes that divides a size, up to a vector's.

    >>> _whole(48), _whole(6)
    (':16', ':2')
    """
    return f":{min(size & -size, VECTOR)}"


def _step(step: int, unit: int) -> str:
    """Return a step as the choice of a tile sees it: 0, 1, or the power of two in bytes that divides it."""
    return {0: ".", 1: "+", -1: "-"}.get(step) or _whole(abs(step) * unit)


def _pair(plan: Plan) -> Pair:
    return simplest(plan.pair, 8 * plan.aligned)


# -- measuring -------------------------------------------------------------------------------------


def _measured(plans: Sequence[Plan], index: int) -> list[float]:
    """Return the seconds of a launch of each plan, in turn, on buffers that no cache holds together."""
    kernels = [loaded(own, index) for own in plans]
    with Clock(index) as clock:
        read, written = plans[0].sizes
        count = max(1, min(MOST, ROUND // max(read, written)))
        buffers = [(clock.memory(read), clock.memory(written)) for _ in range(count)]
        samples: list[list[float]] = [[] for _ in plans]
        for _ in range(ROUNDS + 1):
            for kernel, taken in zip(kernels, samples, strict=True):
                taken.append(clock.seconds([partial(kernel, *own, 0) for own in buffers]))
    return [sorted(taken[1:])[ROUNDS // 2] / len(buffers) for taken in samples]
