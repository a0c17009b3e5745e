"""Counting the same places in elements, bytes or bits: storage is rescaled, owners never."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewise.core.axes import Axis
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.vectors import Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.layout import Layout


def converted(layout: Layout, unit: str, dtype: DType | str) -> Layout:
    """Return the layout counted in another unit.

        requires       every storage step is a whole number of the new unit
        postcondition  storage places are multiplied by the units' ratio, owners unchanged

    >>> from tilewise import parse
    >>> str(converted(parse("Swizzle<3,4,3> o S[(8, 64) : (128, 2)]", unit="byte"), "element", "f16"))
    'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]'
    """
    element = DType.of(dtype)
    old, new = unit_bits(layout.unit, element), unit_bits(unit, element)

    def no_multiple(axis: Axis, steps: int) -> LayoutError:
        units = f"an element of {element}" if unit == "element" else f"a {unit}"
        return LayoutError(
            "TW106",
            f"{steps}@{axis} is {steps * old} bits, no multiple of the {new} of {units}",
            hint="a layout with such a step has no place for whole units; keep the finer unit",
        )

    return replace(storage_scaled(layout, old, new, no_multiple), unit=unit)


def storage_scaled(
    layout: Layout, numerator: int, denominator: int, no_multiple: Callable[[Axis, int], LayoutError]
) -> Layout:
    """Return the layout with its storage times a ratio: D, R, O, P and the base of the swizzles.

        refused  with `no_multiple(axis, steps)` where steps are not scaled to a whole number

    >>> from tilewise import S, laneid, m
    >>> storage_scaled(S[(8, 2) : (4@laneid, 6@m)] + 3, 2, 3, LayoutError)
    S[(8, 2) : (4@laneid, 4@m)] + 2@m
    """

    def scaled(vector: Vector) -> Vector:
        terms = []
        for axis, steps in vector.terms:
            if axis.kind == "storage":
                moved, rest = divmod(steps * numerator, denominator)
                if rest:
                    raise no_multiple(axis, steps)
                steps = moved
            terms.append((axis, steps))
        return Vector(tuple(terms))

    swizzles = [swizzle.scaled(numerator, denominator) for swizzle in layout.swizzles]
    return layout.with_vectors(scaled, swizzles)


def unit_bits(unit: str, dtype: DType) -> int:
    """Return the number of bits of one unit.

    >>> unit_bits("byte", DType.of("bf16")), unit_bits("element", DType.of("e2m1"))
    (8, 4)
    """
    return {"element": dtype.bits, "byte": 8, "bit": 1}[unit]
