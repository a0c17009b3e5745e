"""Sizes of products in words."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(legal: Iterable[int], n: int) -> str:
    """The two legal N nearest to `n`, in words.

    >>> nearest((8, 16, 24, 32, 48, 64), 40)
    'the nearest N are 32 and 48'
    """
    near = sorted(legal, key=lambda one: (abs(one - n), one))[:2]
    return f"the nearest N are {' and '.join(map(str, sorted(near)))}"
