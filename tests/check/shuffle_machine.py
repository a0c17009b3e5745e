"""A warp on paper: steps of a plan, as JSON tells them, on 32 lanes of 32-bit numbers, as PTX defines them.

Nothing here is shared with what made the plan. Values belong to elements; layouts are evaluated by their
definition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

from tilewise import Layout
from tilewise.testing import naive_map

LANES, WORD = 32, 0xFFFFFFFF

Warp = tuple[tuple[str, int], ...]
Places = dict[tuple[Warp, int, int], int]
"""{(warp, lane, position): element}."""

_SPLIT = {"tx": ("warpid", 32, "laneid"), "tid_in_wg": ("wid_in_wg", 32, "laneid")}


def run(data: Mapping[str, Any], inputs: Mapping[str, list[int]]) -> list[list[int] | None]:
    """Return the content of every register of TO after the steps, lane by lane."""
    registers = dict(inputs)
    for step in data["steps"]:
        registers[step["name"]] = _made(step, [registers[name] for name in step["of"]])
    return [None if name is None else registers[name] for name in data["result"]]


def _made(step: Mapping[str, Any], operands: Sequence[list[int]]) -> list[int]:
    a, by = operands[0], step["by"]
    match step["operation"]:
        case "shfl":
            return [a[_source(step, lane)] for lane in range(LANES)]
        case "select":
            return [operands[1][lane] if by[lane] else a[lane] for lane in range(LANES)]
        case "prmt":
            return [_prmt(a[lane], operands[1][lane], by[lane]) for lane in range(LANES)]
        case "rotate":
            return [(a[lane] << by[lane] | a[lane] >> (32 - by[lane])) & WORD for lane in range(LANES)]
        case "merge":
            return [a[lane] & by[lane] | operands[1][lane] & ~by[lane] & WORD for lane in range(LANES)]
        case "ballot":
            vote = sum((a[lane] >> by[lane] & 1) << lane for lane in range(LANES))
            return [vote] * LANES
        case "movmatrix":
            return _movmatrix(a)
    raise AssertionError(step)


def _source(step: Mapping[str, Any], lane: int) -> int:
    """The lane that is read, by the mode; where the mode goes beyond the warp, the own lane."""
    amount = step["amount"]
    if step["mode"] == "bfly":
        return lane ^ amount
    if step["mode"] == "idx":
        return step["by"][lane] if amount is None else amount
    source = lane - amount if step["mode"] == "up" else lane + amount
    return source if 0 <= source < LANES else lane


def _prmt(a: int, b: int, selector: int) -> int:
    both = a | b << 32
    return sum((both >> 8 * (selector >> 4 * i & 7) & 0xFF) << 8 * i for i in range(4))


def _movmatrix(a: list[int]) -> list[int]:
    """Row i of the matrix is in lanes 4 i to 4 i + 3, two elements each."""
    matrix = [[a[4 * i + j // 2] >> 16 * (j % 2) & 0xFFFF for j in range(8)] for i in range(8)]
    return [
        matrix[2 * (lane % 4)][lane // 4] | matrix[2 * (lane % 4) + 1][lane // 4] << 16
        for lane in range(LANES)
    ]


# -- layouts ---------------------------------------------------------------------------------------


@cache
def places(layout: Layout) -> list[set[tuple[Warp, int, int]]]:
    """(warp, lane, position) of every copy of every element."""
    return [{_split(dict(place)) for place in held} for held in naive_map(layout)]


def _split(place: dict[str, int]) -> tuple[Warp, int, int]:
    for name, (high, count, low) in _SPLIT.items():
        if name in place:
            steps = place.pop(name)
            place[high] = place.get(high, 0) + steps // count
            place[low] = place.get(low, 0) + steps % count
    lane, position = place.pop("laneid", 0), place.pop("reg", 0)
    return tuple(sorted((name, steps) for name, steps in place.items() if steps)), lane, position


@cache
def kinds(source: Layout) -> list[int]:
    """A number an element, one and the same for elements that share a place in any of their copies."""
    found = list(range(source.size))
    owner: dict[tuple[Warp, int, int], int] = {}
    for element, own in enumerate(places(source)):
        for place in own:
            first = owner.setdefault(place, element)
            one, other = _root(found, first), _root(found, element)
            found[max(one, other)] = min(one, other)
    return [_root(found, element) for element in range(source.size)]


def values(source: Layout, bits: int, rng: Random) -> list[int]:
    """A random value an element, one and the same where they are one."""
    numbers = [rng.getrandbits(bits) for _ in range(source.size)]
    return [numbers[kind] for kind in kinds(source)]


def _root(found: list[int], element: int) -> int:
    while found[element] != element:
        element = found[element]
    return element


def differences(data: Mapping[str, Any], source: Layout, target: Layout, bits: int, seed: int) -> int:
    """Places of TO that do not hold what FROM has of their element, on random numbers."""
    rng = Random(seed)
    numbers = values(source, bits, rng)
    before, after = places(source), places(target)
    wrong = 0
    for warp in {warp for own in after for warp, _, _ in own}:
        filled = [[rng.getrandbits(32) for _ in range(LANES)] for _ in range(data["registers"]["from"])]
        for element, own in enumerate(before):
            for its, lane, position in own:
                if its == warp:
                    write(filled, lane, position, numbers[element], bits)
        result = run(data, {f"a{i}": register for i, register in enumerate(filled)})
        for element, own in enumerate(after):
            for its, lane, position in own:
                wrong += its == warp and read(result, lane, position, bits) != numbers[element]
    return wrong


def write(registers: list[list[int]], lane: int, position: int, number: int, bits: int) -> None:
    """Put an element where it belongs: element e in bits e n and up, counted through the registers."""
    for bit in range(bits):
        register, at = divmod(position * bits + bit, 32)
        one = 1 << at
        registers[register][lane] = registers[register][lane] & ~one | (one if number >> bit & 1 else 0)


def read(registers: Sequence[list[int] | None], lane: int, position: int, bits: int) -> int:
    """An element out of registers."""
    number = 0
    for bit in range(bits):
        register, at = divmod(position * bits + bit, 32)
        held = registers[register]
        assert held is not None
        number |= (held[lane] >> at & 1) << bit
    return number
