"""`Journey`: what a block does with its tiles, leg after leg, run in the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewise.check.feeding.forms import named
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.limits import LANES, REGISTER_BITS, SHARED_BYTES
from tilewise.hardware.modes import Mode
from tilewise.simulate.journey.copies import (
    address_of,
    copies_of,
    corners,
    inside,
    issues_of,
    map_of,
    part_of,
    rows_of,
)
from tilewise.simulate.journey.products import Product, by_mma, by_wgmma, expected
from tilewise.simulate.journey.rooms import boxes, room, row_major
from tilewise.simulate.journey.stops import GLOBAL, REGISTERS, SHARED, Issue, Leg, Stop, Wrong, standing
from tilewise.simulate.journey.warps import gather, held, parts, scatter
from tilewise.simulate.memory import Memory
from tilewise.simulate.numbers import decode, encode, is_float
from tilewise.simulate.registers import Registers
from tilewise.simulate.tma import load, store

Array = np.ndarray[Any, Any]

PATTERN = 1024
"""What tiles of shared memory are aligned to: the longest pattern of a swizzle."""
TENSOR = 256
"""What tensors are aligned to, as allocators of device memory do."""
NARROW_BITS = 8
"""Bits of the floats that `cvt` makes by .satfinite alone, as PTX has it."""
COPY = "cp.async.bulk.tensor.2d"

Pair = tuple[int, int]


class Journey:
    """What one block does with its tiles, leg after leg.

    Each call is a leg: it moves real bytes by the instructions that a kernel would take, keeps the addresses
    that they were given, and holds what arrived to what was sent. A leg on which other numbers arrive says so
    (`Leg.wrong`) and is no error; what a device would fault on, or leave undefined, is refused (TW612).

    >>> way = Journey()
    >>> a = way.tensor("A", np.arange(64 * 64).reshape(64, 64) % 5, "bf16")
    >>> tile = way.tma_load(a, (64, 64), mode="128B")
    >>> c = way.tma_store(tile, way.empty("C", (64, 64), "bf16"))
    >>> print(way)
    1. TMA load: A -> A tile; 1 x cp.async.bulk.tensor.2d; 64 wavefronts, ideal 64
    2. TMA store: A tile -> C stored; 1 x cp.async.bulk.tensor.2d
    >>> for line in way.follow(c, (1, 2)):
    ...     print(line)
    C stored (1, 2): global byte 8324
    A tile (1, 2): shared byte 148, bank 5
    A (1, 2): global byte 132
    """

    def __init__(self, *, shared: int = SHARED_BYTES, tensors: int = 1 << 20) -> None:
        self.shared = Memory(shared)
        self.memory = Memory(tensors, name=GLOBAL)
        self.stops: list[Stop] = []
        self.legs: list[Leg] = []

    def __str__(self) -> str:
        return "\n".join(map(str, self.legs))

    @property
    def wrong(self) -> Leg | None:
        """The first leg on which other numbers arrived than were sent."""
        return next((leg for leg in self.legs if leg.wrong is not None), None)

    def read(self, stop: Stop) -> Array:
        """The numbers that stand at a stop's places now; refused where nothing was written."""
        if stop.registers is not None:
            return stop.registers.numbers(stop.layout, stop.dtype)
        memory = self.shared if stop.space == SHARED else self.memory
        return memory.take(stop.dtype, stop.layout)

    def follow(self, stop: Stop, index: Pair) -> list[str]:
        """Where an element is, and where it was before, back to where it was given or computed."""
        said, at = [], stop
        while True:
            said.append(f"{at.name} {index}: {at.where(*index)}")
            if at.source is None:
                return said
            index = (index[0] + at.shift[0], index[1] + at.shift[1])
            at = at.source

    def as_dict(self, *, elements: bool = True) -> dict[str, Any]:
        """Plain data: every stop, every leg; with `elements` the place and the bits of every element."""
        return {
            "schema": 1,
            "stops": [stop.as_dict(elements=elements) for stop in self.stops],
            "legs": [leg.as_dict() for leg in self.legs],
        }

    # -- tensors -------------------------------------------------------------------------------------

    def tensor(self, name: str, numbers: Any, dtype: DType | str, *, pitch: int | None = None) -> Stop:
        """A tensor [rows, columns] of global memory, rounded to its type; rows are `pitch` elements apart."""
        given = np.asarray(numbers)
        own = self._fresh(name)
        layout, element = self._tensor(own, given.shape, dtype, pitch)
        self.memory.put(given, element, layout)
        return self._stop(Stop(own, GLOBAL, element, layout, self.memory.take(element, layout)))

    def empty(self, name: str, shape: Pair, dtype: DType | str, *, pitch: int | None = None) -> Stop:
        """Room for a tensor, to which nothing was written."""
        own = self._fresh(name)
        layout, element = self._tensor(own, shape, dtype, pitch)
        return self._stop(Stop(own, GLOBAL, element, layout, np.full(shape, np.nan), written=False))

    # -- TMA -----------------------------------------------------------------------------------------

    def tma_load(
        self,
        tensor: Stop,
        shape: Pair,
        *,
        corner: Pair = (0, 0),
        mode: Mode | str = "128B",
        at: int | None = None,
        name: str = "",
    ) -> Stop:
        """A tile of a tensor in shared memory, in as many boxes as its columns need; zeros outside of it.

        `at` is an address, or one inside another tile, whose bytes are overwritten.
        """
        standing(tensor, GLOBAL)
        own, mode = self._fresh(name or f"{tensor.name} tile"), Mode.of(mode)
        layout, start, step = self._boxes(own, shape, tensor.dtype, mode, at)
        tensor_map, issues = map_of(tensor, shape, mode), list[Issue]()
        every = list(corners(tensor_map, shape, corner, start, step))
        for first, to in every:
            copy = load(tensor_map, self.memory, self.shared, address=address_of(tensor), corner=first, to=to)
            issues += issues_of(copy)
        numbers = self.shared.take(tensor.dtype, layout)
        stop = Stop(own, SHARED, tensor.dtype, layout, numbers, tensor, corner, mode=mode.name, start=start)
        sent = part_of(tensor.numbers, corner, shape)
        return self._leg("TMA load", COPY, (tensor,), stop, sent, issues, copies_of(tensor_map, every))

    def tma_store(
        self, tile: Stop, tensor: Stop, *, corner: Pair = (0, 0), mode: Mode | str | None = None
    ) -> Stop:
        """A tile of shared memory in a tensor; nothing outside the tensor is written, with one exception.

        Where a row of the tensor is no multiple of 16 bytes, and a box reaches its end, the bytes behind it
        up to the next multiple are overwritten (`Leg.behind`). A corner before the tensor is refused, for
        the instruction is illegal (TW607). The boxes are read in the mode that the tile was made with, or
        in another one.
        """
        standing(tile, SHARED)
        standing(tensor, GLOBAL)
        mode = Mode.of(tile.mode or "none") if mode is None else Mode.of(mode)
        tensor_map = map_of(tensor, tile.shape, mode)
        _, step = boxes(tile.shape, tile.dtype, mode, tile.start)
        every = list(corners(tensor_map, tile.shape, corner, tile.start, step))
        whole = {"address": address_of(tensor)}
        done = [
            store(tensor_map, self.shared, self.memory, **whole, corner=first, start=start)
            for first, start in every
        ]
        behind = sum(int(copy.behind.sum()) for copy in done) * tensor.dtype.bits // 8
        ends = inside(tensor.shape, corner, tile.shape)
        layout = rows_of(tensor, ends)
        numbers = self.memory.take(tensor.dtype, layout)
        shift = (ends[0][0] - corner[0], ends[1][0] - corner[1])
        stop = Stop(self._fresh(f"{tensor.name} stored"), GLOBAL, tensor.dtype, layout, numbers, tile, shift)
        sent = part_of(tile.numbers, shift, stop.shape)
        steps = copies_of(tensor_map, every)
        return self._leg("TMA store", COPY, (tile,), stop, sent, steps=steps, behind=behind)

    # -- registers -----------------------------------------------------------------------------------

    def to_registers(
        self,
        tile: Stop,
        operand: str,
        *,
        warps: int = 1,
        mode: Mode | str | None = None,
        layout: Layout | None = None,
        name: str = "",
    ) -> Stop:
        """The fragments of A [M, K] or B [N, K] in registers, by ldmatrix or by plain loads.

        A of wgmma is in four warps, B of mma.sync in one. The tile is read where it lies; or as it would lie
        in boxes of another mode, or by another layout in elements, by one who is wrong about it.
        """
        standing(tile, SHARED)
        if operand not in ("A", "B") or (operand == "B" and warps != 1):
            raise LayoutError("TW601", f"no {operand} is loaded by {warps} warps", hint="A, or B by one warp")
        read = tile.layout
        if layout is not None:
            read = _in_bytes(layout, tile.dtype) + tile.start
        elif mode is not None:
            read, _ = boxes(tile.shape, tile.dtype, Mode.of(mode), tile.start)
        fragments = held(tile.shape, operand, tile.dtype, warps)
        every = parts(read, operand, tile.dtype, warps)
        registers, issues = gather(every, tile.bytes * 8 // (REGISTER_BITS * LANES * warps), self.shared)
        stop = Stop(
            self._fresh(name or f"{operand} fragments"),
            REGISTERS,
            tile.dtype,
            fragments,
            registers.numbers(fragments, tile.dtype),
            tile,
            registers=registers,
            operand=operand,
        )
        return self._leg("load", named(every[0].feed.form), (tile,), stop, tile.numbers, issues)

    def convert(self, fragments: Stop, dtype: DType | str, *, name: str = "") -> Stop:
        """The same fragments in another type, each number rounded to the nearest.

        Floats of 8 bits and less are made by .satfinite alone: what is too large is their largest number.
        """
        element = DType.of(dtype)
        narrow = is_float(element) and element.bits <= NARROW_BITS
        sent = decode(encode(fragments.numbers, element, saturate=narrow), element)
        registers = Registers.holding(sent, fragments.layout, element)
        stop = Stop(
            self._fresh(name or f"{fragments.name} in {element}"),
            REGISTERS,
            element,
            fragments.layout,
            registers.numbers(fragments.layout, element),
            fragments,
            registers=registers,
            operand=fragments.operand,
        )
        rounding = "rn.satfinite" if narrow else "rn"
        words, count = f"cvt.{rounding}.{element}.{fragments.dtype}", fragments.layout.size // LANES
        return self._leg("convert", words, (fragments,), stop, sent, count=count)

    def to_shared(
        self,
        fragments: Stop,
        *,
        mode: Mode | str = "128B",
        layout: Layout | None = None,
        at: int | None = None,
        name: str = "",
    ) -> Stop:
        """The fragments of D in a tile of shared memory, by stmatrix or by plain stores.

        The tile lies as boxes of TMA do in a mode, or by a layout of its own in elements, counted from its
        start.
        """
        if fragments.operand != "D" or fragments.registers is None:
            raise LayoutError("TW601", f"{fragments.name} is no D in registers", hint="wgmma and mma make it")
        if layout is not None and extents_of(layout.shape) != fragments.shape:
            rows, columns = fragments.shape
            raise LayoutError(
                "TW203",
                f"{layout} is no layout of {fragments.name}, which is {rows} x {columns}",
                hint="it takes [row, column] to a place",
            )
        own, element = self._fresh(name or f"{fragments.root} tile"), fragments.dtype
        if layout is None:
            mode = Mode.of(mode)
            placed, start, _ = self._boxes(own, fragments.shape, element, mode, at)
        else:
            mode = Mode.of("none")
            placed, start = self._by(own, layout, element, at)
        every = parts(placed, "D", element, fragments.registers.warps)
        issues = scatter(every, fragments.registers, self.shared)
        numbers = self.shared.take(element, placed)
        stop = Stop(own, SHARED, element, placed, numbers, fragments, mode=mode.name, start=start)
        return self._leg("store", named(every[0].feed.form), (fragments,), stop, fragments.numbers, issues)

    # -- products ------------------------------------------------------------------------------------

    def mma(
        self, a: Stop, b: Stop, *, dtype: DType | str = "f32", c: Stop | None = None, name: str = "D"
    ) -> Stop:
        """D [M, N] of one warp, from the fragments of A and B in its registers; C is added if given."""
        element = DType.of(dtype)
        return self._computed("mma", by_mma(a, b, c, element), (a, b), c, element, name)

    def wgmma(
        self, a: Stop, b: Stop, *, dtype: DType | str = "f32", c: Stop | None = None, name: str = "D"
    ) -> Stop:
        """D [M, N] of a warpgroup, from tiles of shared memory that descriptors read; A may be in registers.

        Refused where no descriptor reads a tile (TW605).
        """
        for tile in (a, b):
            standing(tile, SHARED, REGISTERS)
        element = DType.of(dtype)
        return self._computed("wgmma", by_wgmma(a, b, c, element, self.shared), (a, b), c, element, name)

    # -- how legs are kept ---------------------------------------------------------------------------

    def _computed(
        self, verb: str, made: Product, of: tuple[Stop, Stop], c: Stop | None, dtype: DType, name: str
    ) -> Stop:
        numbers = made.registers.numbers(made.layout, dtype)
        stop = Stop(
            self._fresh(name), REGISTERS, dtype, made.layout, numbers, registers=made.registers, operand="D"
        )
        sources = of if c is None else (*of, c)
        return self._leg(verb, made.instruction, sources, stop, expected(*of, c, dtype), steps=made.steps)

    def _leg(
        self,
        verb: str,
        instruction: str,
        sources: tuple[Stop, ...],
        target: Stop,
        sent: Array,
        issues: Sequence[Issue] = (),
        steps: Sequence[dict[str, Any]] = (),
        count: int = 0,
        behind: int = 0,
    ) -> Stop:
        """Keep a leg, and hold what arrived to what was sent."""
        stop, number = self._stop(target), len(self.legs) + 1
        many = count or len(steps) or len(issues)
        wrong = Wrong.of(sent, stop.numbers)
        leg = Leg(number, verb, instruction, many, sources, stop, tuple(issues), tuple(steps), wrong, behind)
        self.legs.append(leg)
        return stop

    def _stop(self, stop: Stop) -> Stop:
        self.stops.append(stop)
        return stop

    def _fresh(self, name: str) -> str:
        """A name that no stop has, and no room that a refused leg has left."""
        names = {stop.name for stop in self.stops}
        names |= {room.name for memory in (self.shared, self.memory) for room in memory.regions}
        own, number = name, 2
        while own in names:
            own, number = f"{name} ({number})", number + 1
        return own

    def _tensor(
        self, name: str, shape: tuple[int, ...], dtype: DType | str, pitch: int | None
    ) -> tuple[Layout, DType]:
        if len(shape) != 2:
            raise LayoutError("TW202", f"a tensor of shape {shape}", hint="a journey has rows and columns")
        element = DType.of(dtype)
        if element.bits % 8:
            raise LayoutError("TW106", f"elements of {element} are no whole bytes", hint="give them as u8")
        step = (pitch or shape[1]) * element.bits // 8
        at = room(self.memory, name, shape[0] * step, TENSOR, None)
        return row_major((shape[0], shape[1]), element, at, step), element

    def _boxes(
        self, name: str, shape: Pair, dtype: DType, mode: Mode, at: int | None
    ) -> tuple[Layout, int, int]:
        """The layout of a tile of boxes, its first byte, and the bytes from box to box."""
        layout, step = boxes(shape, dtype, mode, 0)
        _, last = layout.extremes("m")
        start = room(self.shared, name, last + dtype.bits // 8, PATTERN, at)
        return boxes(shape, dtype, mode, start)[0], start, step

    def _by(self, name: str, layout: Layout, dtype: DType, at: int | None) -> tuple[Layout, int]:
        """A layout of the user's, in bytes from the start of its own room."""
        own = _in_bytes(layout, dtype)
        _, last = own.extremes("m")
        start = room(self.shared, name, last + dtype.bits // 8, PATTERN, at)
        return own + start, start


def _in_bytes(layout: Layout, dtype: DType) -> Layout:
    return layout if layout.unit == "byte" else layout.in_bytes(dtype)
