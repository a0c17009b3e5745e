"""TMA's copies that fill a tile as steps: one a box, with the elements that it brings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tilewise.check.tma import Box, Plan, plan_copy
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.core.vectors import along
from tilewise.pictures.scene.cells import Numbers
from tilewise.pictures.scene.model import Asked, Note, Step
from tilewise.tables import table

ACCESS = "boxes"


def boxes_asked(layout: Layout, dtype: DType, base: int = 0) -> Asked:
    """Return how TMA fills a tile from a row-major tensor of the tile's own shape; no steps where it cannot.

        postcondition  every element is in one step, and lands where the layout has it

    >>> from tilewise import S, Swizzle
    >>> tile = Swizzle(3, 3, 3) @ S[(128, (2, 64)) : (64, (8192, 1))]
    >>> found = boxes_asked(tile, DType.of("bf16"))
    >>> print(*(note.text for note in found.notes), sep="\\n")
    boxes: 64 x 128 x 2 elements, SWIZZLE_128B, 1 box of 32768 bytes
    the tile's address is a multiple of 1024 bytes
    >>> boxes_asked(S[(8, 64) : (64, 1)], DType.of("bf16")).steps[0].note
    'coordinates {0, 0}: 512 elements land at bytes 0..1023'
    >>> boxes_asked(S[(64, 8) : (1, 64)], DType.of("bf16")).notes[0].text
    'boxes: the tile is contiguous along dimension 0, the tensor along dimension 1'
    """
    shape = extents_of(layout.shape)

    def planned(tile: Layout) -> Plan:
        return plan_copy(shape, tile, dtype=dtype, at=(0,) * len(shape))

    def refused(why: str, hint: str = "") -> Asked:
        return Asked.refused(ACCESS, why, hint, "tilewise tma says why")

    try:
        plan = planned(layout)
        if base % plan.alignment:
            return refused(f"the tile begins at byte {base}, which is no multiple of {plan.alignment}")
        plan = planned(_moved(layout, base, dtype)) if base else plan
    except NotDecided:
        raise
    except LayoutError as error:
        return refused(error.message, error.hint)
    notes = (
        Note("yes", f"{ACCESS}: {_words(plan)}"),
        Note("hint", f"the tile's address is a multiple of {plan.alignment} bytes"),
    )
    return Asked.of(ACCESS, _steps(plan, shape, dtype), plan.count, ACCESS, notes)


def _moved(layout: Layout, base: int, dtype: DType) -> Layout:
    """Return the layout so many bytes further, in its own unit: its swizzle begins there, too."""
    steps = base if layout.unit == "byte" else base * 8 // dtype.bits
    (axis,) = layout.axes
    return (
        replace(layout, outer=layout.outer + along(axis, steps))
        if layout.swizzles
        else layout + along(axis, steps)
    )


def _steps(plan: Plan, shape: Sequence[int], dtype: DType) -> Iterator[Step]:
    starts = table(plan.elementwise).array.reshape(-1)
    size = -(-dtype.bits // 8)
    for number, box in enumerate(plan.boxes):
        flats = _elements(plan, box, shape)
        own = starts[flats]
        where = ", ".join(map(str, box.coordinates))
        land = f"{len(flats)} elements land at bytes {own.min()}..{own.max() + size - 1}"
        yield Step(
            title=f"box {number + 1} of {plan.count}",
            elements=tuple(flats.tolist()),
            note=f"coordinates {{{where}}}: {land}",
        )


def _elements(plan: Plan, box: Box, shape: Sequence[int]) -> Numbers:
    """Return the flat indices of a box's elements, in order."""
    flats = np.zeros(1, np.int64)
    for dim, (extent, first) in enumerate(zip(shape, box.index, strict=True)):
        inside = np.zeros(1, np.int64)
        for digit in plan.fold.box:
            if digit.dim == dim:
                inside = np.add.outer(inside, np.arange(digit.extent) * digit.step).reshape(-1)
        if dim == len(shape) - 1 and plan.elements > 1:
            inside = np.add.outer(inside * plan.elements, np.arange(plan.elements)).reshape(-1)
        flats = np.add.outer(flats * extent, first + np.sort(inside)).reshape(-1)
    return flats


def _words(plan: Plan) -> str:
    tensor_map = plan.tensor_map
    extents = " x ".join(map(str, tensor_map.box[::-1]))
    unit = "elements" if plan.elements == 1 else "bytes"
    mode = tensor_map.mode.tma_name.removeprefix("CU_TENSOR_MAP_")
    many = "1 box" if plan.count == 1 else f"{plan.count} boxes"
    return f"{extents} {unit}, {mode}, {many} of {tensor_map.bytes} bytes"
