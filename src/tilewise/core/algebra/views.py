"""Views: a permutation of modes, or of digits split further, that makes two layouts one map.

It reorders the shard alone, so what stands beside it must make no difference, which is asked once.

Modes are matched as maps of their own: by their merged digits, which are unique. Digits are matched by
their steps. A digit (e, s) takes the steps from s up to e s, so a digit of B that starts with the same
step shares with it the steps up to a common multiple; what is left of both is matched further up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import gcd, prod

from tilewise.core.algebra.modes import modes_of
from tilewise.core.canonical import canonical, merged_shard
from tilewise.core.compare import agree
from tilewise.core.vectors import Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.layout import Iter, Layout

Piece = tuple[int, int, int]
"""A part of a digit: (digit, place among its parts, fastest 0; extent)."""


def find_modes(a: Layout, b: Layout) -> list[int] | None:
    """The permutation of a's modes that makes its shard b's, or None.

    >>> from tilewise import S
    >>> find_modes(S[(8, 4) : (4, 1)], S[(4, 8) : (1, 4)])
    [1, 0]
    """
    modes: dict[Any, list[int]] = {}
    for position, mode in enumerate(modes_of(a)):
        modes.setdefault(_map_of(mode[1]), []).append(position)
    order = []
    for mode in modes_of(b):
        alike = modes.get(_map_of(mode[1]))
        if not alike:
            return None
        order.append(alike.pop(0))
    return order if len(order) == len(a.shape) else None


def _map_of(digits: Sequence[Iter]) -> tuple[tuple[int, Vector], ...]:
    """The map of some digits, which their merged form is."""
    return tuple([(it.extent, it.stride) for it in merged_shard(tuple(digits))])


def find_digits(a: Layout, b: Layout) -> dict[str, list[int]] | None:
    """The shape, and the permutation of its modes, that make a's shard b's, where one was found.

    >>> from tilewise import S
    >>> find_digits(S[(4, 2, 2, 4) : (16, 4, 8, 1)], S[(8, 8) : (8, 1)])
    {'reshape': [4, 2, 2, 4], 'permute': [0, 2, 1, 3]}
    """
    pairs = _pieces_matched(merged_shard(a.shard), merged_shard(b.shard))
    if pairs is None:
        return None
    old, new = sorted(pairs, key=_index_order), sorted(pairs.values(), key=_index_order)
    position = {piece: i for i, piece in enumerate(old)}
    back = {new_piece: old_piece for old_piece, new_piece in pairs.items()}
    order = [position[back[piece]] for piece in new]
    shape, order = _joined([extent for _, _, extent in old], order)
    return {"reshape": shape, "permute": order}


def dressed_alike(a: Layout, b: Layout) -> bool | None:
    """Whether two canonical layouts would be one map, were their shards alike; None: not decided.

    >>> from tilewise import S, Swizzle
    >>> dressed_alike(S[4 : 1] + 5, S[8 : 1]), dressed_alike(Swizzle(3, 3, 3) @ S[512 : 1], S[512 : 1])
    (False, False)
    """
    if not a.swizzles and not b.swizzles and (a.offset - b.offset).nonzero.terms:
        return False
    return agree(canonical(replace(a, shape=b.shape, strides=b.strides)), b)


# -- digits ----------------------------------------------------------------------------------------


def _index_order(piece: Piece) -> tuple[int, int]:
    """Slowest first: the digits as they are, the upper parts of a digit before the lower ones."""
    digit, part, _ = piece
    return digit, -part


def _pieces_matched(a: Sequence[Iter], b: Sequence[Iter]) -> dict[Piece, Piece] | None:
    """Which part of which digit of b each part of each digit of a is."""
    open_a, open_b = _by_step(a), _by_step(b)
    pairs: dict[Piece, Piece] = {}
    while open_a:
        common = open_a.keys() & open_b.keys()
        if not common:
            return None
        step = min(common, key=_size_of)
        old, new = _closest(open_a[step], open_b[step])
        shared = gcd(old[2], new[2])
        if shared == 1:
            return None
        pairs[old[0], old[1], shared] = new[0], new[1], shared
        for opened, piece in ((open_a, old), (open_b, new)):
            _advance(opened, step, piece, shared)
    return None if open_b else pairs


def _by_step(digits: Sequence[Iter]) -> dict[Vector, list[Piece]]:
    opened: dict[Vector, list[Piece]] = {}
    for position, it in enumerate(digits):
        opened.setdefault(it.stride, []).append((position, 0, it.extent))
    return opened


def _size_of(step: Vector) -> int:
    """Along one direction, smaller steps are matched first: what is left of them starts further up."""
    return max((abs(steps) for _, steps in step.terms), default=0)


def _closest(old: Sequence[Piece], new: Sequence[Piece]) -> tuple[Piece, Piece]:
    """Two parts with one step: of one extent where there are such, else with the most in common."""
    return max(
        ((p, q) for p in old for q in new),
        key=lambda pair: (pair[0][2] == pair[1][2], gcd(pair[0][2], pair[1][2])),
    )


def _advance(opened: dict[Vector, list[Piece]], step: Vector, piece: Piece, shared: int) -> None:
    """What is left of a digit after its part of that extent, further up the steps."""
    opened[step].remove(piece)
    if not opened[step]:
        del opened[step]
    digit, part, extent = piece
    if extent > shared:
        opened.setdefault(step * shared, []).append((digit, part + 1, extent // shared))


def _joined(extents: list[int], order: list[int]) -> tuple[list[int], list[int]]:
    """The same permutation with neighbours that stay neighbours as one mode."""
    follows = {before for before, after in pairwise(order) if after == before + 1}
    starts = [i for i in range(len(extents)) if i - 1 not in follows]
    mode_of = {start: i for i, start in enumerate(starts)}
    ends = [*starts[1:], len(extents)]
    shape = [prod(extents[start:end]) for start, end in zip(starts, ends, strict=True)]
    return shape, [mode_of[i] for i in order if i in mode_of]
