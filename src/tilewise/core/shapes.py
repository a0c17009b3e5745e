"""Nested shapes and the three forms of an index.

A shape is a tuple of modes; a mode is an extent or a tuple of modes. `8`, `(8)` and `(8,)` are one
shape. An index is a flat integer, one number a top-level mode, or the nested profile itself.

A flat integer counts in one of two orders, the same at every level: "row" has the rightmost digit
fastest, "cute" the leftmost, as CuTe counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tilewise.core.errors import LayoutError
from tilewise.core.integers import MAX_DIGITS, as_extent, as_int

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, SupportsIndex, TypeAlias

Mode: TypeAlias = "int | tuple[Mode, ...]"
Shape: TypeAlias = tuple[Mode, ...]

ORDERS = ("row", "cute")
MAX_NESTING = 64
MAX_ITERS = 1_024
_LARGEST_SIZE = 10**MAX_DIGITS


def as_shape(value: Any) -> Shape:
    """Return the shape that `value` spells.

    >>> as_shape(8), as_shape((8,)), as_shape(((4, 2), (2, 4)))
    ((8,), (8,), ((4, 2), (2, 4)))
    """
    modes = value if isinstance(value, tuple | list) else (value,)
    shape = tuple([_as_mode(mode, 2) for mode in modes])
    extents = all_extents(shape)
    if len(extents) > MAX_ITERS:
        raise LayoutError(
            "TW005", f"a shape of more than {MAX_ITERS} extents", hint="merge modes that are contiguous"
        )
    size = prod(extents)
    if type(size) is int and size >= _LARGEST_SIZE:  # no values of names make one so large
        raise LayoutError("TW005", f"a shape whose size has more than {MAX_DIGITS} digits")
    return shape


def _as_mode(value: Any, depth: int) -> Mode:
    if not isinstance(value, tuple | list):
        return as_extent(value)
    if depth > MAX_NESTING:
        raise LayoutError("TW005", f"a shape nested deeper than {MAX_NESTING}")
    if not value:
        raise LayoutError("TW102", "an empty mode inside a shape", hint="leave it out, or give it extent 1")
    if len(value) == 1:
        return _as_mode(value[0], depth + 1)
    return tuple(_as_mode(mode, depth + 1) for mode in value)


def leaves(mode: Mode) -> Iterator[int]:
    """Yield the extents of a shape or a mode from left to right.

    >>> list(leaves(((4, 2), (2, 4))))
    [4, 2, 2, 4]
    """
    if not isinstance(mode, tuple):
        yield mode
    else:
        for inner in mode:
            if not isinstance(inner, tuple):
                yield inner
            else:
                yield from leaves(inner)


def all_extents(shape: Shape) -> tuple[int, ...]:
    """Return the extents of all digits of a shape: its leaves, at once.

    >>> all_extents((8, 4)), all_extents(((4, 2), 8))
    ((8, 4), (4, 2, 8))
    """
    return tuple(leaves(shape)) if tuple in map(type, shape) else shape  # type: ignore[return-value]


def size_of(mode: Mode) -> int:
    """Return the number of indices of a shape or a mode.

    >>> size_of(((4, 2), (2, 4))), size_of(())
    (64, 1)
    """
    return prod(all_extents(mode)) if isinstance(mode, tuple) else mode


def extents_of(shape: Shape) -> tuple[int, ...]:
    """Return the size of each top-level mode.

    >>> extents_of(((4, 2), (2, 4)))
    (8, 8)
    """
    return tuple([size_of(mode) if isinstance(mode, tuple) else mode for mode in shape])


def mirrored(mode: Any) -> Any:
    """Return a shape, a mode or an index with its parts in reverse at every level: as the other order counts.

    >>> mirrored(((4, 2), 8))
    (8, (2, 4))
    """
    return tuple([mirrored(part) for part in reversed(mode)]) if isinstance(mode, tuple | list) else mode


def flat_index(index: Any, shape: Shape, order: str = "row") -> int:
    """Return the flat integer of an index in any of its three forms.

    >>> [flat_index(i, ((4, 2), (2, 4))) for i in (37, (4, 5), ((2, 0), (1, 1)))]
    [37, 37, 37]
    >>> [flat_index(i, ((2, 4), (4, 2)), "cute") for i in (37, (5, 4), ((1, 2), (0, 1)))]
    [37, 37, 37]
    """
    if not isinstance(index, tuple | list):
        return _checked(index, size_of(shape), "index", shape)
    if len(index) == 1 and (len(shape) != 1 or _fits(index[0], shape)):
        return flat_index(index[0], shape, order)
    if len(index) != len(shape):
        raise LayoutError(
            "TW201",
            f"an index of {len(index)} numbers for a shape of {len(shape)} modes, {spell(shape)}",
            hint="give one flat number, one number a mode, or the nested profile",
        )
    if len(index) == 1:
        return _flat(index[0], shape[0], "index", order)
    return _flat(index, shape, "index", order)


def _fits(index: Any, shape: Shape) -> bool:
    """Return True if a lone tuple is itself an index of the shape, not the coordinate of its one mode."""
    if not isinstance(index, tuple | list):
        return False
    mode = shape[0]
    return not isinstance(mode, tuple) or len(index) != len(mode)


def _flat(coordinate: Any, mode: Mode, where: str, order: str) -> int:
    if not isinstance(coordinate, tuple | list):
        return _checked(coordinate, size_of(mode), where, mode)
    if not isinstance(mode, tuple) or len(coordinate) != len(mode):
        raise LayoutError(
            "TW201",
            f"{where} has {len(coordinate)} parts, and {spell(mode)} has "
            f"{len(mode) if isinstance(mode, tuple) else 1}",
            hint="a nested index follows the shape's own nesting",
        )
    flat = 0
    for position in _slowest_first(len(mode), order):
        part = _flat(coordinate[position], mode[position], f"{where}[{position}]", order)
        flat = flat * size_of(mode[position]) + part
    return flat


def _slowest_first(count: int, order: str) -> range:
    """Return the positions of a mode's parts, the slowest first."""
    return range(count) if order == "row" else range(count - 1, -1, -1)


def _checked(value: SupportsIndex, size: int, where: str, mode: Mode) -> int:
    number = as_int(value, "an index")
    if not 0 <= number < size:
        raise LayoutError(
            "TW201",
            f"{where} {number} is outside 0..{size - 1} of {spell(mode)}",
            hint="indices start at 0; negative ones do not count from the end here",
        )
    return number


def coordinates(flat: int, shape: Shape, order: str = "row") -> tuple[int, ...]:
    """Return one number a top-level mode.

    >>> coordinates(37, ((4, 2), (2, 4))), coordinates(37, (8, 8), "cute")
    ((4, 5), (5, 4))
    """
    extents = extents_of(shape)
    result = [0] * len(extents)
    for position in reversed(_slowest_first(len(extents), order)):
        flat, result[position] = divmod(flat, extents[position])
    return tuple(result)


def one_mode(shape: Shape) -> Mode:
    """Return a shape as one mode.

    >>> one_mode((4,)), one_mode((4, 2)), one_mode(())
    (4, (4, 2), 1)
    """
    return shape[0] if len(shape) == 1 else shape or 1


def refined_mode(mode: Mode, parts: Iterator[Sequence[tuple[int, Any]]]) -> Mode:
    """Return a mode with every extent replaced by those of some digits, one list of them after another.

    >>> refined_mode((4, (6, 2)), iter([[(4, 1)], [(2, 1), (3, 8)], [(2, 2)]]))
    (4, ((2, 3), 2))
    """
    if not isinstance(mode, tuple):
        digits = next(parts)
        return digits[0][0] if len(digits) == 1 else tuple([extent for extent, _ in digits])
    return tuple([refined_mode(part, parts) for part in mode])


def counted(extents: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every index of some extents, row-major, one at a time: nothing is held, however large they are.

    >>> list(counted((2, 2))), next(counted((2**80, 3)))
    ([(0, 0), (0, 1), (1, 0), (1, 1)], (0, 0))
    """
    digits = [0] * len(extents)
    while True:
        yield tuple(digits)
        position = len(extents) - 1
        while position >= 0 and digits[position] == extents[position] - 1:
            digits[position] = 0
            position -= 1
        if position < 0:
            return
        digits[position] += 1


def spell(mode: Mode) -> str:
    """Return a shape as text, without the outer comma where Python needs none.

    >>> spell((8, 4)), spell((8,)), spell(()), spell(((4, 2),))
    ('(8, 4)', '8', '()', '((4, 2),)')
    """
    if isinstance(mode, tuple) and len(mode) == 1 and not isinstance(mode[0], tuple):
        return str(mode[0])
    return str(mode)
