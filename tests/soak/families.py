"""Compositions beside CuTe's rule, on four families of inputs: which of them are answered, and rightly.

A is a dense layout of rank 2 or 3 in any order of its digits, B an injective layout of rank 1 or 2 whose
image lies inside A, both in CuTe's order. CuTe's rule is written from its description: strides divide
weakly (a multiple of the extent, or below it), extents divide, digit by digit, without a look at carries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from random import Random

from tests.core.maps import form_of

from tilewise import Layout, NotDecided, Refused, S

FAMILIES = {
    "powers of two everywhere": ((2, 4, 8), (1, 2, 4, 8, 16)),
    "pow2 extents, any strides": ((2, 4, 8), tuple(range(1, 17))),
    "mixed extents, pow2 strides": ((2, 3, 4, 5, 6, 8), (1, 2, 4, 8, 16)),
    "mixed extents, any strides": ((2, 3, 4, 5, 6, 8), tuple(range(1, 17))),
}
"""The extents of both, and the strides of B."""

Modes = list[tuple[int, int]]
"""(extent, stride) a mode, leftmost fastest."""


def random_pair(family: str, rng: Random) -> tuple[Modes, Modes]:
    """A and B of a family."""
    extents, strides = FAMILIES[family]
    while True:
        a = compact(rng, [rng.choice(extents) for _ in range(rng.choice((2, 3)))])
        b = [(rng.choice(extents), rng.choice(strides)) for _ in range(rng.choice((1, 2)))]
        if family == "powers of two everywhere" and not all(
            prod(e for e, _ in a) % (e * s) == 0 for e, s in b
        ):
            continue
        image = values(b)
        if len(set(image)) == len(image) and max(image) < prod(e for e, _ in a):
            return a, b


def compact(rng: Random, extents: list[int]) -> Modes:
    """The digits of a dense layout, in any order."""
    strides, step = [0] * len(extents), 1
    for i in rng.sample(range(len(extents)), len(extents)):
        strides[i], step = step, step * extents[i]
    return list(zip(extents, strides, strict=True))


def values(modes: Modes) -> list[int]:
    """The listed map, leftmost mode fastest."""
    digits = product(*(range(extent) for extent, _ in reversed(modes)))
    return [sum(d * s for d, (_, s) in zip(x, reversed(modes), strict=True)) for x in digits]


def cute_rule(a: Modes, b: Modes) -> list[Modes] | None:
    """The modes that CuTe's rule gives for each mode of B, or None where it refuses."""
    coalesced: Modes = []
    for extent, stride in a:
        if coalesced and stride == coalesced[-1][0] * coalesced[-1][1]:
            coalesced[-1] = (coalesced[-1][0] * extent, coalesced[-1][1])
        else:
            coalesced.append((extent, stride))
    result = []
    for extent, stride in b:
        modes: Modes = []
        rest, step = extent, stride
        for size, move in coalesced[:-1]:
            if step % size and step > size:
                return None
            taken = min(max(1, -(-size // step)), rest)
            if rest % taken:
                return None
            if taken > 1:
                modes.append((taken, step * move))
            rest, step = rest // taken, -(-step // size)
        if rest > 1 or not modes:
            modes.append((rest, step * coalesced[-1][1]))
        result.append(modes)
    return result


def row_major(modes: Modes) -> Layout:
    """The same flat map with the slowest mode first."""
    return S[tuple(e for e, _ in reversed(modes)) : tuple(s for _, s in reversed(modes))]


def compared(family: str, rng: Random) -> Iterator[str]:
    """Yield the facts of one pair: whether it has an answer, ours, and the rule's."""
    a, b = random_pair(family, rng)
    outer, indices = values(a), values(b)
    wanted = [outer[i] for i in indices]
    exists = is_sum_of_layouts(wanted, [extent for extent, _ in b])
    yield "inputs"
    if exists:
        yield "exact exists"
    try:
        found = row_major(a).compose(row_major(b))
        assert [found.place(x)["m"] for x in range(found.size)] == wanted, (a, b, found)
        assert exists, (a, b)
        yield "answered"
    except Refused:
        assert not exists, (a, b)
    except NotDecided:
        yield "not decided"
    rule = cute_rule(a, b)
    if rule is not None:
        yield "rule accepts"
        listed = values([mode for modes in rule for mode in modes])
        yield "rule right" if listed == wanted else "rule wrong"


def is_sum_of_layouts(listed: list[int], extents: list[int]) -> bool:
    """Brute force: a sum of maps of the digits, each of which is a layout. Leftmost digit fastest."""
    places = [prod(extents[:j]) for j in range(len(extents))]
    alone = [[listed[p * x] - listed[0] for x in range(e)] for p, e in zip(places, extents, strict=True)]
    if any(isinstance(form_of(row), tuple) for row in alone):
        return False
    digits = [product(*map(range, reversed(extents)))]
    sums = (sum(row[x] for row, x in zip(reversed(alone), d, strict=True)) for d in digits[0])
    return all(value - listed[0] == total for value, total in zip(listed, sums, strict=True))


def line(family: str, counts: Mapping[str, int]) -> str:
    """A family's shares."""
    inputs = max(1, counts.get("inputs", 0))
    accepted = max(1, counts.get("rule accepts", 0))
    shares = {key: counts.get(key, 0) / inputs for key in ("exact exists", "answered", "rule right")}
    return (
        f"{family:28} {inputs:7} inputs: exact exists {shares['exact exists']:6.1%}, "
        f"answered {shares['answered']:6.1%}, not decided {counts.get('not decided', 0)}, wrong 0; "
        f"CuTe's rule right {shares['rule right']:6.1%}, "
        f"wrong {counts.get('rule wrong', 0) / accepted:5.1%} of what it accepts"
    )
