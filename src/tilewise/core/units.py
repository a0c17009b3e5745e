"""Counting the same places in elements, bytes or bits: storage is rescaled, owners never."""

from __future__ import annotations

from dataclasses import replace

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
    ratio = unit_bits(layout.unit, element), unit_bits(unit, element)
    return replace(
        layout,
        strides=tuple(_scaled(stride, ratio, unit, element) for stride in layout.strides),
        replica=tuple(Iter(i.extent, _scaled(i.stride, ratio, unit, element)) for i in layout.replica),
        offset=_scaled(layout.offset, ratio, unit, element),
        swizzles=tuple(swizzle.scaled(*ratio) for swizzle in layout.swizzles),
        outer=_scaled(layout.outer, ratio, unit, element),
        unit=unit,
    )


def unit_bits(unit: str, dtype: DType) -> int:
    """How many bits one unit has.

    >>> unit_bits("byte", DType.of("bf16")), unit_bits("element", DType.of("e2m1"))
    (8, 4)
    """
    return {"element": dtype.bits, "byte": 8, "bit": 1}[unit]


def _spelled(unit: str, dtype: DType) -> str:
    return f"an element of {dtype}" if unit == "element" else f"a {unit}"


def _scaled(vector: Vector, ratio: tuple[int, int], unit: str, dtype: DType) -> Vector:
    terms = []
    for axis, steps in vector.terms:
        if axis.kind == "storage":
            moved, rest = divmod(steps * ratio[0], ratio[1])
            if rest:
                raise LayoutError(
                    "TW106",
                    f"{steps}@{axis} is {steps * ratio[0]} bits, "
                    f"no multiple of the {ratio[1]} of {_spelled(unit, dtype)}",
                    hint="a layout with such a step has no place for whole units; keep the finer unit",
                )
            steps = moved
        terms.append((axis, steps))
    return Vector(tuple(terms))
