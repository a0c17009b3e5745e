"""Sizes of products in words."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(legal: Iterable[int], n: int) -> str:
    """The two legal N nearest to `n`, in words; past the end the most that there is.

    >>> nearest((8, 16, 24, 32, 48, 64), 40), nearest((8, 16), 512)
    ('the nearest N are 32 and 48', 'the most is N = 16')
    """
    near = sorted(legal, key=lambda one: (abs(one - n), one))
    if n > max(near):
        return f"the most is N = {max(near)}"
    return f"the nearest N are {' and '.join(map(str, sorted(near[:2])))}"
