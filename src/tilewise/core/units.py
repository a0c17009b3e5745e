"""Counting the same places in elements, bytes or bits: storage is rescaled, owners never."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Iter, Layout
from tilewise.core.vectors import Vector


def converted(layout: Layout, unit: str, dtype: DType | str) -> Layout:
    """The layout counted in another unit.

        requires       every storage step is a whole number of the new unit
        postcondition  storage places are multiplied by the units' ratio, owners unchanged

    >>> from tilewise import parse
    >>> str(converted(parse("Swizzle<3,4,3> o S[(8, 64) : (128, 2)]", unit="byte"), "element", "f16"))
    'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]'
    """
    element = DType.of(dtype)
    ratio = Fraction(unit_bits(layout.unit, element), unit_bits(unit, element))
    if ratio == 1:
        return replace(layout, unit=unit)
    return replace(
        layout,
        strides=tuple(_scaled(stride, ratio, unit, element) for stride in layout.strides),
        replica=tuple(Iter(i.extent, _scaled(i.stride, ratio, unit, element)) for i in layout.replica),
        offset=_scaled(layout.offset, ratio, unit, element),
        swizzles=tuple(s.scaled(ratio.numerator, ratio.denominator) for s in layout.swizzles),
        outer=_scaled(layout.outer, ratio, unit, element),
        unit=unit,
    )


def unit_bits(unit: str, dtype: DType) -> int:
    """How many bits one unit has.

    >>> unit_bits("byte", DType.of("bf16")), unit_bits("element", DType.of("e2m1"))
    (8, 4)
    """
    return {"element": dtype.bits, "byte": 8, "bit": 1}[unit]


def _scaled(vector: Vector, ratio: Fraction, unit: str, dtype: DType) -> Vector:
    terms = []
    for axis, steps in vector.terms:
        if axis.kind == "storage":
            moved = steps * ratio
            if moved.denominator != 1:
                raise LayoutError(
                    "TW106",
                    f"{steps}@{axis} is {moved} {unit}s of {dtype}, not a whole number",
                    hint="a layout with such a step has no place for whole units; keep the finer unit",
                )
            steps = moved.numerator
        terms.append((axis, steps))
    return Vector(tuple(terms))
