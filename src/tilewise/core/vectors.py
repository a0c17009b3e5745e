"""Vectors on named axes: the one kind of thing that strides, offsets and places are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Number

from tilewise.core.axes import Axis, m
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_extent, as_int
from tilewise.core.polynomials import signed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import SupportsIndex

Term = tuple[Axis, int]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Vector:
    """An integer combination of axes, in the order written. An axis that is absent counts 0.

    `==` between vectors compares the spelling; with a mapping it compares the points.

    >>> v = 5 @ Axis("laneid") + 1 @ Axis("reg")
    >>> v, v["laneid"], v["warpid"]
    (5@laneid + 1@reg, 5, 0)
    >>> v == {"reg": 1, "laneid": 5}
    True
    """

    terms: tuple[Term, ...] = ()

    __array_ufunc__ = None

    def __post_init__(self) -> None:
        for axis, steps in self.terms:
            if not isinstance(axis, Axis) or type(steps) is not int:
                object.__setattr__(self, "terms", _checked(self.terms))
                break
        if len(self.terms) > 1:
            object.__setattr__(self, "terms", _joined(self.terms))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Return the axes that this vector names."""
        return tuple([axis for axis, _ in self.terms])

    def __getitem__(self, axis: Axis | str) -> int:
        name = str(axis)
        for own, steps in self.terms:
            if own.name == name:
                return steps
        return 0

    def as_dict(self) -> dict[str, int]:
        """Return `{axis name: steps}` in the order written."""
        return {axis.name: steps for axis, steps in self.terms}

    @property
    def nonzero(self) -> Vector:
        """Return the same point without the axes on which it does not move."""
        moving = tuple([term for term in self.terms if term[1]])
        return Vector(moving) if len(moving) < len(self.terms) else self

    def __add__(self, other: Vector | SupportsIndex) -> Vector:
        if isinstance(other, Axis | Mapping) or not _is_vector(other):
            return NotImplemented
        return Vector(self.terms + as_vector(other).terms)

    def __radd__(self, other: SupportsIndex) -> Vector:
        return as_vector(other) + self if _is_vector(other) else NotImplemented

    def __sub__(self, other: Vector | SupportsIndex) -> Vector:
        return self + -as_vector(other) if _is_vector(other) else NotImplemented

    def __rsub__(self, other: SupportsIndex) -> Vector:
        return as_vector(other) + -self if _is_vector(other) else NotImplemented

    def __neg__(self) -> Vector:
        return self * -1

    def __mul__(self, factor: SupportsIndex) -> Vector:
        factor = as_int(factor, "a factor")
        return Vector(tuple((axis, steps * factor) for axis, steps in self.terms))

    __rmul__ = __mul__

    def __matmul__(self, other: object) -> object:
        return NotImplemented

    def __bool__(self) -> bool:
        return any(steps for _, steps in self.terms)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Vector):
            return self.terms == other.terms
        if isinstance(other, Mapping):
            point = {str(axis): steps for axis, steps in other.items() if steps}
            return point == self.nonzero.as_dict()
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.terms)

    def __repr__(self) -> str:
        if not self.terms:
            return "0"
        if len(self.terms) == 1 and type(self.terms[0][1]) is int:
            return f"{self.terms[0][1]}@{self.terms[0][0]}"
        addends = [(*part, axis) for axis, steps in self.terms for part in signed(steps)]
        text = "".join(f" {'-' if minus else '+'} {size}@{axis}" for minus, size, axis in addends)
        return "-" + text[3:] if text[1] == "-" else text[3:]


def _steps_along(axis: Axis, steps: int) -> Vector:
    return Vector(((axis, steps),))


Axis.along = _steps_along

ZERO = Vector()
"""The zero vector: it names no axis. A bare `0` is written for it."""


def as_vector(value: object, what: str = "a stride") -> Vector:
    """Return the vector that a value spells: a vector, or an integer on `m`.

    >>> as_vector(16), as_vector(0)
    (16@m, 0)
    """
    if isinstance(value, Vector):
        return value
    if isinstance(value, Axis):
        raise LayoutError("TW101", f"{what} must say how many steps along {value}", hint=f"write 1@{value}")
    steps = as_int(value, what)  # type: ignore[arg-type]  # as_int refuses with a clear error
    return Vector(((m, steps),)) if type(steps) is not int or steps else ZERO


def point(axes: Iterable[Axis], steps: Iterable[int]) -> Vector:
    """Return the vector with the given steps on the given axes, which are distinct."""
    vector = object.__new__(Vector)
    object.__setattr__(vector, "terms", tuple(zip(axes, steps, strict=True)))
    return vector


def along(axis: Axis, steps: int) -> Vector:
    """Return the vector of some steps on one axis; `ZERO` for 0 steps.

    >>> along(m, 16), along(m, 0)
    (16@m, 0)
    """
    if type(steps) is int and not steps:
        return ZERO
    vector = object.__new__(Vector)
    object.__setattr__(vector, "terms", ((axis, steps),))
    return vector


@dataclass(frozen=True, slots=True)
class Iter:
    """A digit of the index and the step that it makes: (extent, stride)."""

    extent: int
    stride: Vector

    def __post_init__(self) -> None:
        object.__setattr__(self, "extent", as_extent(self.extent))
        object.__setattr__(self, "stride", as_vector(self.stride))


Stepped = tuple[int, Vector]
"""(extent, stride): an iter as a plain pair."""


def _is_vector(value: object) -> bool:
    """Return True if `as_vector` is to judge the value: it refuses numbers that are no integers."""
    return isinstance(value, Vector | Number) or hasattr(type(value), "__index__")


def _checked(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    for axis, _ in terms:
        if not isinstance(axis, Axis):
            raise LayoutError("TW103", f"a vector is made of axes, not of {axis!r}", hint="write 4@laneid")
    return tuple((axis, as_int(steps, "a stride")) for axis, steps in terms)


def _joined(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Return one term an axis, at its first appearance; an axis declared storage stays so."""
    total: dict[str, Term] = {}
    for axis, steps in terms:
        first, sum_of_steps = total.get(axis.name, (axis, 0))
        total[axis.name] = (axis if axis.storage else first, sum_of_steps + steps)
    return tuple(total.values())
