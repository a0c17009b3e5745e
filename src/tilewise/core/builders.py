"""`S`, `R` and `O`: the notation as Python expressions.

    S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)] + R[2 : 4@warpid] + 5@warpid

is plain Python: `4@laneid` is an operator of Axis, and `S[a : b]` is a slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewise.core.errors import LayoutError
from tilewise.core.integers import counted
from tilewise.core.layout import Iter, Layout, Replicas
from tilewise.core.shapes import Mode, Shape, as_shape, leaves, spell
from tilewise.core.vectors import Vector, as_vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Shard:
    """`S[shape : strides]`, or `S[shape]` with row-major strides on `m`."""

    def __getitem__(self, spelled: Any) -> Layout:
        shape, strides = _split(spelled, "S")
        if strides is None:
            return Layout(shape, row_major(shape))
        return Layout(shape, paired(shape, strides))

    def __repr__(self) -> str:
        return "S"


class _Replica:
    """`R[shape : strides]`: copies along the strides."""

    def __getitem__(self, spelled: Any) -> Replicas:
        shape, strides = _split(spelled, "R")
        if strides is None:
            raise LayoutError(
                "TW003",
                "R needs strides: where would the copies go?",
                hint=f"write R[{spell(shape)} : ...]",
            )
        return Replicas(tuple(map(Iter, leaves(shape), paired(shape, strides))))

    def __repr__(self) -> str:
        return "R"


class _Offset:
    """`O[5@m]`: an offset, also one that stands outside a swizzle."""

    def __getitem__(self, spelled: Any) -> Vector:
        parts = spelled if isinstance(spelled, tuple) else (spelled,)
        total = Vector()
        for part in parts:
            total = total + as_vector(part, "an offset")
        return total

    def __repr__(self) -> str:
        return "O"


S = _Shard()
R = _Replica()
O = _Offset()


def row_major(shape: Shape) -> tuple[Vector, ...]:
    """Return the strides of a dense row-major buffer on `m`.

    >>> row_major((8, 4, 2))
    (8@m, 2@m, 1@m)
    """
    strides, step = [], 1
    for extent in reversed(tuple(leaves(shape))):
        strides.append(as_vector(step))
        step *= extent
    return tuple(reversed(strides))


def dense(shape: Shape, ranks: Sequence[int] = (), order: str = "row") -> Layout:
    """Return the layout without holes: the digit of the lowest rank is the fastest, of several the leftmost.

    >>> dense((4, (2, 8))), dense((4, (2, 8)), ranks=(2, 1, 0))
    (S[(4, (2, 8)) : (1, (4, 8))], S[(4, (2, 8)) : (16, (8, 1))])
    """
    extents = tuple(leaves(shape))
    strides, step = [Vector()] * len(extents), 1
    for digit in sorted(range(len(extents)), key=lambda digit: ranks[digit] if ranks else digit):
        strides[digit] = as_vector(step)
        step *= extents[digit]
    return Layout(shape, tuple(strides), order=order)


def paired(shape: Shape, strides: Any) -> tuple[Vector, ...]:
    """Return the strides of a shape in the order of its extents; their nesting must be the shape's.

    >>> paired(((4, 2), 8), ((16, 4), 1))
    (16@m, 4@m, 1@m)
    """
    spelled = strides if isinstance(strides, tuple | list) else (strides,)
    return tuple(_paired(shape, tuple(spelled), "the shape"))


def _paired(mode: Mode, stride: Any, where: str) -> Iterator[Vector]:
    if not isinstance(mode, tuple):
        if isinstance(stride, tuple | list):
            raise _mismatch(where, mode, stride)
        yield as_vector(stride)
        return
    if not isinstance(stride, tuple | list) or len(stride) != len(mode):
        raise _mismatch(where, mode, stride)
    for position, (inner, step) in enumerate(zip(mode, stride, strict=True)):
        if type(step) is int and not isinstance(inner, tuple):
            yield as_vector(step)
            continue
        while isinstance(step, tuple | list) and len(step) == 1:
            step = step[0]  # as in shapes, a lone entry in parentheses is the entry
        yield from _paired(inner, step, f"mode {position} of {where}")


def _mismatch(where: str, mode: Mode, stride: Any) -> LayoutError:
    wanted = len(mode) if isinstance(mode, tuple) else 1
    given = len(stride) if isinstance(stride, tuple | list) else 1
    return LayoutError(
        "TW003",
        f"{where} is {spell(mode)}: {counted(wanted, 'extent')} and {counted(given, 'stride')}",
        hint="write one stride for every extent, in the same nesting; 0 for a digit that does not move",
    )


def _split(spelled: Any, letter: str) -> tuple[Shape, Any]:
    """Return (shape, strides or None) of the contents of the brackets."""
    if isinstance(spelled, slice):
        if spelled.step is not None:
            raise LayoutError("TW004", f"{letter}[shape : strides] has one colon", hint="remove the second")
        if spelled.start is None or spelled.stop is None:
            raise LayoutError("TW004", f"{letter}[shape : strides] lacks a side of its colon")
        return as_shape(spelled.start), spelled.stop
    if isinstance(spelled, tuple) and any(isinstance(part, slice) for part in spelled):
        parts = [f"{part.start} : {part.stop}" if isinstance(part, slice) else str(part) for part in spelled]
        shape, _, strides = ", ".join(parts).partition(" : ")
        raise in_pieces(letter, shape, strides)
    return as_shape(spelled), None


def in_pieces(letter: str, shape: str, strides: str) -> LayoutError:
    """Return the refusal of a shape and strides with commas but no parentheses: for Python a tuple."""
    within = f"({strides})" if _has_outer_comma(strides) else strides or "(4, 1)"
    return LayoutError(
        "TW003",
        f"{letter}[{shape} : {strides}] is several things to Python, not a shape and its strides",
        hint=f"put both sides in parentheses: {letter}[({shape}) : {within}]",
    )


def _has_outer_comma(text: str) -> bool:
    """Return True if a comma stands outside all parentheses."""
    before = (text[:at] for at, sign in enumerate(text) if sign == ",")
    return any(part.count("(") == part.count(")") for part in before)
