"""Moves of a tensor from one layout to another: the plan, its cost, and its kernel."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tilewise.codegen.names import checked as checked_name
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused, of_kind
from tilewise.core.integers import as_int, counted
from tilewise.core.layout import Layout
from tilewise.hardware.limits import BLOCKS
from tilewise.moves.kernels.gather_kernel import gather_kernel
from tilewise.moves.kernels.spelling import NAME
from tilewise.moves.kernels.tile_kernel import tile_kernel
from tilewise.moves.kernels.turned_kernel import turned_kernel
from tilewise.moves.lines import lines_of_memory, steps_of_memory
from tilewise.moves.pairs.fills import given_fill, spelled
from tilewise.moves.pairs.pair import Pair, pair_of
from tilewise.moves.tiles.tile import Tile
from tilewise.moves.tiles.tiling import ALIGNED
from tilewise.moves.tiles.turned import Turned
from tilewise.moves.types import given_type
from tilewise.moves.ways import Bulk, Gather, Way, way_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from tilewise.moves.arrays.run import Bound

    class OfMemory(TypedDict, total=False):
        """The options of `memory_plan`, for functions that pass them on."""

        shape: Any
        device: str
        fill: bytes | float
        aligned: int
        checked: bool | None


COPY_RATES = {"h200": 4.2e12, "h100": 3.0e12}
"""Bytes a second, read and written, of a copy from device memory to device memory
(docs/reference/move-figures.md)."""

LAUNCH = 2e-6
"""Seconds of a launch that nothing hides."""

KERNELS: dict[type, Callable[[Any, int, bytes, str], str]] = {
    Bulk: lambda way, storage, fill, name: "",
    Tile: tile_kernel,
    Turned: lambda way, storage, fill, name: turned_kernel(way, storage, name),
    Gather: lambda way, storage, fill, name: gather_kernel(way, name),
}
"""The writer of each way's kernel, from the bytes of its source, its fill and its name."""

OFF = ("", "0", "false", "no", "off")
"""Values of TILEWISE_CHECKED, in any case, that turn checks off."""


@dataclass(frozen=True, repr=False)
class Plan:
    """A plan between two layouts of memory.

    >>> from tilewise import S
    >>> print(memory_plan(S[8192, 8192], S[(8192, 8192) : (1, 8192)], "bf16"))
    tile: by way of shared memory, about 0.97 of a copy's rate
      bytes  268435456 read and written
      time   67.9 us expected on an H200, a copy of as much 65.9 us
      1  4096 blocks of 512 threads, each with a tile of 128 x 128 elements of 2 B
      2  read rows of 256 B in vectors of 16 B
      3  keep 32768 B in shared memory, Swizzle<3,4,7>
      4  write runs of 256 B in vectors of 16 B, 2 columns to a thread
    """

    pair: Pair
    dtype: DType
    device: str
    fill: bytes
    aligned: int = ALIGNED
    """Alignment of both storages in bytes."""
    checked: bool = False
    """True if the kernel tests every access of its storages."""
    chosen: Way | None = None
    """The way to take instead of the usual one, or None."""

    names = ()
    """No size is a name; a `ShapesPlan` has some."""

    @cached_property
    def way(self) -> Way:
        """Return how the elements go, found on first use: a move on the CPU never needs it."""
        return self.chosen or way_of(self.pair, self.aligned)

    @cached_property
    def kind(self) -> str:
        """Return `view`: nothing moves; `copy`: all together; `tile`: by shared memory; `gather`: apart."""
        stays = self.way.stays and self.pair.source.size == self.pair.target.size
        return "view" if stays and not self.fills else self.way.kind

    @property
    def source(self) -> Layout:
        """Return the layout from which elements move."""
        return self.pair.layouts[0]

    @property
    def target(self) -> Layout:
        """Return the layout to which elements move."""
        return self.pair.layouts[1]

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the bytes of the source and of the target, from address 0 to the end of the last element."""
        read, written = (-(-side.size * self.pair.bits // 8) for side in (self.pair.source, self.pair.target))
        return read, written

    # -- what is filled ----------------------------------------------------------------------------

    @property
    def fills(self) -> bool:
        """Return True if the target is filled before the kernel writes it."""
        return self._keeps_room or self.ends_amid

    @property
    def fill_from(self) -> int:
        """Return the first byte of the target to fill: the last byte, if all others belong to elements."""
        return self.sizes[1] - 1 if self.ends_amid and not self._keeps_room else 0

    @property
    def fills_apart(self) -> bool:
        """Return True if no kernel of this plan fills the elements beyond the box."""
        return self.pair.beyond > 0 and not self.way.fills_beyond

    @property
    def has_room(self) -> bool:
        """Return True if the target has places that no element takes."""
        return self.pair.holes or self.pair.beyond > 0

    @cached_property
    def _keeps_room(self) -> bool:
        """Return True if the kernel leaves such places unchanged."""
        target = self.target
        is_whole = self.way.fills_beyond and target.holes.count == 0 and target.min(target.axes[0]) == 0
        return self.has_room and not is_whole

    @property
    def ends_amid(self) -> bool:
        """Return True if the last byte of the target belongs to an element only in part."""
        return self.pair.target.size * self.pair.bits % 8 != 0

    # -- its kernel --------------------------------------------------------------------------------

    @property
    def kernel(self) -> str:
        """Return the source of the kernel, CUDA C++; empty if a copy of memory is enough."""
        return self.code()

    def code(self, name: str = NAME) -> str:
        """Return the kernel under that name; refuse more blocks than a grid has."""
        way = self.way
        if way.blocks > BLOCKS:
            raise Refused(
                "TW602",
                f"it takes {way.blocks} blocks of {way.threads} threads, and a grid has at most {BLOCKS}",
                hint="move a part of the tensor at a time",
            )
        text = KERNELS[type(way)](way, self.sizes[0], self.fill, checked_name(name, "a kernel"))
        if not (self.checked and text):
            return text
        from tilewise.moves.kernels.checked import checked_source  # few ask for it

        return checked_source(text, self.sizes, in_words=self.changes_words)

    @property
    def changes_words(self) -> bool:
        """Return True if elements change in words of 4 bytes; the last word may end behind the target."""
        return self.way.changes_words

    @property
    def launch(self) -> tuple[int, int, int]:
        """Return the blocks, the threads of a block, and the bytes of shared memory."""
        return self.way.blocks, self.way.threads, self.way.shared_bytes

    @property
    def shared_bytes(self) -> int:
        """Return the bytes of shared memory of a block."""
        return self.way.shared_bytes

    # -- to run it ---------------------------------------------------------------------------------

    def for_alignment(self, aligned: int) -> Plan:
        """Return the plan for storages aligned to that many bytes."""
        if aligned == self.aligned:
            return self
        return replace(self, aligned=_known_alignment(aligned, self.dtype), chosen=None)

    def bind(self) -> Bound:
        """Return the plan ready for arrays: each call checks them, and launches a kernel compiled once.

        >>> import numpy as np
        >>> from tilewise import S
        >>> turn = memory_plan(S[2, 3], S[(2, 3) : (1, 2)], "u8").bind()
        >>> turn(np.arange(6, dtype=np.uint8)).tolist()
        [0, 3, 1, 4, 2, 5]
        """
        from tilewise.moves.arrays.run import Bound

        return Bound(self)

    def tuned(self, index: int = 0) -> Plan:
        """Return the plan with the fastest of its tiles on a GPU: measured, and remembered.

        Moves of its class take that tile from then on: see `tilewise.moves.arrays.tuned`.
        """
        from tilewise.moves.arrays.tuned import tuned

        return tuned(self, index)

    # -- what it costs -----------------------------------------------------------------------------

    @property
    def bytes(self) -> int:
        """Return the bytes that the layouts touch once, read and written."""
        return self.pair.bytes

    @cached_property
    def copy_fraction(self) -> float | None:
        """Return the expected part of the rate of a copy of as many bytes, to two digits; None: not measured.

        The bytes that are filled before take time, but do not count as moved.
        """
        rate = self._rate
        return None if rate is None else float(f"{rate * self.bytes / (self.bytes + self._filled_bytes):.2g}")

    @property
    def _rate(self) -> float | None:
        """Return the rate of the kernel: that of its way, or less if it has more sectors than a copy."""
        most = self.way.rate
        return most if most is None or self.sectors is None else min(most, 2 / sum(self.sectors))

    @cached_property
    def sectors(self) -> tuple[float, float] | None:
        """Return the sectors that blocks read, and write, divided by those that hold the elements' bytes.

        Return None where threads take elements one by one: then a cache decides which sectors they share.
        """
        return self.way.sectors(self.aligned)

    @property
    def _filled_bytes(self) -> int:
        return self.sizes[1] - self.fill_from if self.fills else 0

    @property
    def seconds(self) -> float | None:
        """Return the expected time, or None if no rate is known."""
        rate = self._rate
        if rate is None:
            return None
        touched = self.bytes + self._filled_bytes
        return LAUNCH * (1 + self.fills) + touched / (rate * COPY_RATES[self.device])

    @property
    def copy_seconds(self) -> float:
        """Return the time of a copy of as many bytes."""
        return LAUNCH + self.bytes / COPY_RATES[self.device]

    @property
    def is_mostly_launch(self) -> bool:
        """Return True if a copy of as many bytes takes less time than its launch."""
        return self.copy_seconds < 2 * LAUNCH

    # -- what it says ------------------------------------------------------------------------------

    @property
    def vector(self) -> dict[str, int]:
        """Return the bytes that a thread reads, and writes, at once."""
        read, write = self.way.vectors
        return {"read": read, "write": write}

    @property
    def swizzle(self) -> str | None:
        """Return the swizzle of the tile in shared memory, over bytes, or None."""
        return self.way.swizzle

    @property
    def together(self) -> int:
        """Return the number of elements, neighbours on both sides, that are one element of the tile."""
        way = self.way
        return way.pair.bits // self.dtype.bits if isinstance(way, Tile) and not way.pair.spread else 1

    @property
    def steps(self) -> list[str]:
        """Return the plan in sentences."""
        return list(steps_of_memory(self))

    def data(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "class": self.kind,
            "kernel": {"view": "none", "copy": "memory copy"}.get(self.kind, self.kind),
            "tile": self.way.named_extents,
            "vector": self.vector,
            "swizzle": self.swizzle,
            "bytes": self.bytes,
            "sectors": self.sectors
            and dict(zip(("read", "write"), (round(own, 3) for own in self.sectors), strict=True)),
            "copy_fraction": self.copy_fraction,
            "seconds": self.seconds,
            "blocks": self.launch[0],
            "threads": self.launch[1],
            "shared_bytes": self.shared_bytes,
            "steps": self.steps,
            "source": str(self.source),
            "target": str(self.target),
            "dtype": str(self.dtype),
            "shape": None if self.pair.box is None else list(self.pair.box),
            "fill": spelled(self.fill, self.dtype) if self.fills or self.pair.beyond else None,
            "device": self.device,
        }

    def __str__(self) -> str:
        return "\n".join(lines_of_memory(self))

    def __repr__(self) -> str:
        return f"<Plan {self.kind}: {self.dtype} from {self.source} to {self.target}>"


def memory_plan(
    source: Layout,
    target: Layout,
    dtype: DType | str | None = None,
    *,
    shape: Any = None,
    device: str = "h200",
    fill: bytes | float = 0,
    aligned: int = ALIGNED,
    checked: bool | None = None,
) -> Plan:
    """Return the plan that moves a tensor of a type from one layout of memory to another.

    `shape` is the box that moves, where the two differ; `fill` is a number, or the bytes of an element;
    `aligned` is the alignment of both storages in bytes, a power of two. The kernel of a `checked` plan tests
    every access. The environment variable TILEWISE_CHECKED=1 checks every plan.

        requires  layouts of one memory each; see `pair_of`

    >>> from tilewise import S
    >>> transposed = memory_plan(S[8192, 8192], S[(8192, 8192) : (1, 8192)], "bf16")
    >>> transposed.kind, transposed.bytes, transposed.vector
    ('tile', 268435456, {'read': 16, 'write': 16})
    >>> memory_plan(S[64, 8], S[512], "f32").kind
    'view'
    """
    if between_registers(source, target):
        raise LayoutError(
            "TW701",
            "both layouts are of registers, where no array is",
            hint="tilewise.plan(source, target, dtype) gives the device function that moves them",
        )
    kind = given_type(dtype)
    if not isinstance(device, str) or device not in COPY_RATES:
        known = " ".join(COPY_RATES)
        hint = f"known: {known}; leave it out, and the kernel is the same"
        raise LayoutError("TW601", f"no rates of a device {device!r}", hint=hint)
    if kind.bits not in (4, 8, 16, 32, 64, 128):
        raise LayoutError(
            "TW602",
            f"{kind} has {counted(kind.bits, 'bit')}: elements of 4, 8, 16, 32, 64 or 128 bits are moved",
            hint="move the bytes or words that hold them: u8, u32, ...",
        )
    aligned = _known_alignment(aligned, kind)
    pair = pair_of(source, target, kind, shape)
    if checked is None:
        tested = os.environ.get("TILEWISE_CHECKED", "").strip().lower() not in OFF
    else:
        tested = of_kind(checked, bool, "True or False", "checked=True tests every access")
    return Plan(pair, kind, device, given_fill(fill, dtype, kind), aligned, tested)


def between_registers(source: Layout, target: Layout) -> bool:
    """Return True if both layouts are of the registers of threads.

    >>> from tilewise import S, laneid, reg
    >>> rows, columns = S[(32, 2) : (1@laneid, 1@reg)], S[(32, 2) : (1@reg, 1@laneid)]
    >>> between_registers(rows, columns), between_registers(rows, S[32, 2])
    (True, False)
    """
    if all(axis.name == "m" for layout in (source, target) for axis in layout.axes):
        return False
    from tilewise.check.registers.question import of_registers  # NumPy comes with it, and memory needs none

    return of_registers(source) and of_registers(target)


def _known_alignment(aligned: int, dtype: DType) -> int:
    """Return the alignment of storages in bytes; refuse one that is no power of two, or no whole elements."""
    number = as_int(aligned, "an alignment")
    if number < 1 or number & (number - 1):
        raise LayoutError("TW401", f"{number} bytes are no alignment", hint="a power of two, such as 16")
    if 8 * number < dtype.bits:
        raise LayoutError(
            "TW401",
            f"storages aligned to {number} bytes have no elements of {dtype}",
            hint=f"at least {dtype.bits // 8} bytes",
        )
    return number
