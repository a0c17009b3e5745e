"""D on its way out: straight from registers, or through a tile of shared memory that the warps share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tilewise.check.feeding.forms import Fill
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.emit.mma.instruction import CONVERTED
from tilewise.emit.mma.moves import Moves, fed
from tilewise.emit.mma.operands import in_elements
from tilewise.emit.mma.tiles import usual_result
from tilewise.emit.parts.copies import widest
from tilewise.emit.parts.room import room_of
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.mma.instructions import Shape

STORES = ("direct", "shared", "stmatrix")
STMATRIX_SINCE = 90
STMATRIX_BITS = 16


@dataclass(frozen=True)
class Result:
    """The tile [rows, k] of D in shared memory: M rows, N columns."""

    dtype: DType
    shape: Shape
    rows: int
    k: int
    warps: tuple[int, int]
    tile: Layout
    """Where each element [row, column] lies in shared memory, in elements."""
    arch: Architecture
    form: str | None = None
    """matrices, where nothing but stmatrix is wanted."""

    name = "D"
    major = "k"

    @property
    def room(self) -> int:
        """Bytes of shared memory from the start of the tile to its end."""
        return room_of(self.tile, self.dtype)

    @cached_property
    def width(self) -> int:
        """Bytes that a thread brings to global memory at once."""
        return widest(self) or 0

    @cached_property
    def fill(self) -> Fill:
        """How the warps store it."""
        found = fed("D", self.tile, self.shape, self.dtype, self.warps, self.arch, self.form).fill
        assert found is not None
        return found

    @cached_property
    def moves(self) -> Moves:
        """The stores of a warp."""
        return Moves(self.fill, self.k)


def _check_bits(dtype: DType) -> None:
    """Refuse what matrices of D do not hold."""
    if dtype.bits != STMATRIX_BITS:
        rounded = " or ".join(f"--out {word}" for word in CONVERTED.get(dtype.name, ()))
        raise Refused(
            "TW605",
            f"stmatrix stores elements of {STMATRIX_BITS} bits, and D is {dtype}",
            witness={"dtype": dtype.name, "bits": dtype.bits},
            hint=f"{rounded} rounds it; --store shared does without"
            if rounded
            else "--store shared does without",
        )


def result(
    store: str,
    dtype: DType,
    shape: Shape,
    extents: tuple[int, int],
    warps: tuple[int, int],
    arch: Architecture,
    is_asked: bool,
    layout: Layout | None = None,
) -> Result | None:
    """The tile through which D leaves; None where it leaves directly.

    refused  TW602 an architecture without stmatrix; TW605 a layout that no warp can store so
    """
    if store not in STORES:
        raise LayoutError("TW601", f"{store!r} is no way to store D", hint="known: " + " ".join(STORES))
    if store == "direct":
        if layout is not None:
            raise LayoutError(
                "TW401", "D has a layout and is stored directly", hint="--store shared takes it there"
            )
        return None
    form = None
    if store == "stmatrix":
        form = "matrices"
        if is_asked and arch.number < STMATRIX_SINCE:
            raise Refused(
                "TW602",
                f"{arch} has no stmatrix",
                witness={"arch": str(arch), "since": f"sm_{STMATRIX_SINCE}"},
                hint="--store shared does without",
            )
        _check_bits(dtype)
        arch = arch if arch.number >= STMATRIX_SINCE else Architecture.of(STMATRIX_SINCE)
    tile = usual_result(dtype, *extents) if layout is None else in_elements("D", dtype, *extents, layout)
    return Result(dtype, shape, *extents, warps, tile, arch, form)
