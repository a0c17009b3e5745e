"""A tensor map: the arguments of cuTensorMapEncodeTiled, legal or not.

Here dimensions are in logical order, the slowest first. `arguments` has them in the driver's order, the
reverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int, counted
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.tma.landing import landing, row_pitch
from tilewise.hardware.tma.types import (
    FILLS,
    INTERLEAVES,
    L2_PROMOTIONS,
    SWIZZLE_VALUES,
    ElementType,
    one_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tilewise.core.dtypes import DType
    from tilewise.core.layout import Layout

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor, a box of it, and the box's layout in shared memory.

    `global_strides_bytes` has no number for the innermost dimension, which is contiguous. Values that the
    driver refuses are kept: `rules.violations` names them.

        requires  as many extents in the box as in the tensor, one stride fewer; names that exist

    >>> m = TensorMap.of("bf16", (4096, 4096), (128, 64), mode="128B")
    >>> m.bytes, m.global_strides_bytes
    (16384, (8192,))
    >>> m.arguments["globalDim"], m.arguments["boxDim"], m.arguments["swizzle"]
    ([4096, 4096], [64, 128], 'CU_TENSOR_MAP_SWIZZLE_128B')
    """

    dtype: ElementType
    global_shape: Ints
    global_strides_bytes: Ints
    box: Ints
    element_strides: Ints = ()
    interleave: str = "none"
    mode: Mode = MODES["none"]
    l2: str = "128B"
    fill: str = "zero"

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "dtype", ElementType.of(self.dtype))
        put(self, "mode", Mode.of(self.mode))
        put(self, "interleave", one_of(INTERLEAVES, self.interleave, "an interleave of a tensor map"))
        put(self, "l2", one_of(L2_PROMOTIONS, self.l2, "an L2 promotion"))
        put(self, "fill", one_of(FILLS, self.fill, "a fill of a tensor map"))
        for name, what in (
            ("global_shape", "an extent of the tensor"),
            ("global_strides_bytes", "a stride of the tensor"),
            ("box", "an extent of the box"),
            ("element_strides", "an element stride"),
        ):
            put(self, name, tuple(as_int(number, what) for number in getattr(self, name)))
        put(self, "element_strides", self.element_strides or (1,) * self.rank)
        inner = "; the innermost dimension is contiguous and has no stride"
        for numbers, noun, of, wanted, why in (
            (self.box, "extent", " of the box", self.rank, ""),
            (self.element_strides, "element stride", "", self.rank, ""),
            (self.global_strides_bytes, "stride", " in bytes", max(0, self.rank - 1), inner),
        ):
            if len(numbers) != wanted:
                raise LayoutError(
                    "TW003",
                    f"a tensor of {counted(self.rank, 'dimension')} and {counted(len(numbers), noun)}{of}",
                    hint=f"it takes {wanted}{why}",
                )

    @classmethod
    def of(
        cls,
        dtype: ElementType | DType | str,
        shape: Sequence[int],
        box: Sequence[int],
        strides: Sequence[int] | None = None,
        **more: Any,
    ) -> TensorMap:
        """Return the map of a tensor whose strides count elements; by default row-major and dense.

        >>> TensorMap.of("f32", (8, 100), (8, 32), (128, 1)).global_strides_bytes
        (512,)
        """
        row = ElementType.of(dtype)
        steps = [prod(shape[i + 1 :]) for i in range(len(shape))] if strides is None else list(strides)
        if len(steps) != len(shape) or (steps and steps[-1] != 1):
            raise LayoutError(
                "TW003",
                f"strides {tuple(steps)} for a tensor of {counted(len(shape), 'dimension')}",
                hint="one a dimension, slowest first, the last of them 1",
            )
        in_bytes = tuple(as_int(step, "a stride of the tensor") * row.bits // 8 for step in steps[:-1])
        return cls(row, tuple(shape), in_bytes, tuple(box), **more)

    @property
    def rank(self) -> int:
        """Return the number of dimensions."""
        return len(self.global_shape)

    @property
    def loaded(self) -> Ints:
        """Return the elements that land, a dimension: ceil(box / element stride); the innermost stride is
        ignored.

        >>> TensorMap.of("u8", (64, 64), (16, 32), element_strides=(3, 1)).loaded
        (6, 32)
        """
        steps = self.element_strides
        if self.interleave == "none":
            steps = (*steps[:-1], 1)[: self.rank]
        return tuple(-(-extent // max(1, step)) for extent, step in zip(self.box, steps, strict=True))

    @property
    def inner_bytes(self) -> int:
        """Return the bytes of a row of the box, rounded down."""
        return self.box[-1] * self.dtype.bits // 8 if self.box else 0

    @property
    def bytes(self) -> int:
        """Return the bytes that the mbarrier counts for one copy: the whole box, even out of bounds.

        >>> TensorMap.of("f16", (100, 64), (128, 64)).bytes
        16384
        """
        return prod(self.loaded) * self.dtype.bits // 8

    @property
    def shared_bytes(self) -> int:
        """Return the bytes of shared memory from the first row's start to the last row's end, with padding.

        >>> TensorMap.of("bf16", (64, 64), (8, 16), mode="128B").shared_bytes
        1024
        """
        *outer, inner = self.loaded or (0,)
        return prod(outer) * row_pitch(self.mode, inner * self.dtype.bits // 8)

    def landing(self, start: int = 0) -> Layout:
        """Return the byte of shared memory of every element that lands, slowest dimension first.

        >>> print(TensorMap.of("bf16", (4096, 4096), (128, 64), mode="128B").landing())
        Swizzle<3,4,3> o S[(128, 64) : (128, 2)]
        """
        if self.interleave != "none":
            raise Refused(
                "TW607",
                f"where a box of interleaved channels ({self.interleave}) lands is not in the tables",
                witness={"interleave": self.interleave},
                hint="interleave none has its place for every element",
            )
        return landing(self.loaded, f"b{self.dtype.bits}", self.mode, start)

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments of cuTensorMapEncodeTiled, by name: the innermost dimension first.

        The map itself and the address of the tensor are the caller's.
        """
        return self._arguments(0)

    @property
    def numbers(self) -> dict[str, Any]:
        """Return `arguments` with the values of the enumerators."""
        return self._arguments(1)

    def _arguments(self, part: int) -> dict[str, Any]:
        return {
            "tensorDataType": (self.dtype.name, self.dtype.value)[part],
            "tensorRank": self.rank,
            "globalDim": list(self.global_shape[::-1]),
            "globalStrides": list(self.global_strides_bytes[::-1]),
            "boxDim": list(self.box[::-1]),
            "elementStrides": list(self.element_strides[::-1]),
            "interleave": INTERLEAVES[self.interleave][part],
            "swizzle": (self.mode.tma_name, SWIZZLE_VALUES[self.mode.name])[part],
            "l2Promotion": L2_PROMOTIONS[self.l2][part],
            "oobFill": FILLS[self.fill][part],
        }
