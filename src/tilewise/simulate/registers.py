"""The 32-bit registers of warps, with a mark for each written bit, and tiles in them by layout.

A layout gives the holder of an element: its lane, its warp if there are several, and `reg`, which counts
elements of one thread from the lowest bits of its first register on. An element may be `Padded`: types of
4 and 6 bits take more bits of a register than they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.limits import LANES, REGISTER_BITS
from tilewise.simulate.faults import HOST, Step, fault
from tilewise.simulate.numbers import decode, encode, fitted
from tilewise.tables import table

Array = np.ndarray[Any, Any]

THREADS = {"laneid": 1, "wid_in_wg": LANES, "warpid": LANES, "tid_in_wg": 1, "tx": 1}
"""{axis: threads from one of its places to the next}."""

EVERY = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Padded:
    """Elements of a type that take more bits than they have.

    >>> Padded(DType.of("e2m1"), taken=8, lowest=2).dtype.bits
    4
    """

    dtype: DType
    taken: int
    """Bits of a register that an element takes."""
    lowest: int
    """The lowest of them that belongs to the element."""

    @classmethod
    def of(cls, dtype: DType | str | Padded) -> Padded:
        """Return a type with its padding, or with none if it has none."""
        if isinstance(dtype, Padded):
            return dtype
        element = DType.of(dtype)
        return cls(element, element.bits, 0)


HeldType = DType | str | Padded
"""The type of the elements of a tile, padded or not."""


@dataclass(frozen=True, eq=False)
class Registers:
    """The content of registers: a value, from which an instruction makes the next one.

    >>> from tilewise.hardware.mma.fragments import d_fragment
    >>> d = Registers.holding(np.arange(128).reshape(16, 8), d_fragment("m16n8k16", "f32"), "f32")
    >>> d.count, d.numbers(d_fragment("m16n8k16", "f32"), "f32")[9, 3]
    (4, np.float64(75.0))
    """

    words: Array
    """[warp, lane, register], 32 bits each."""
    known: Array
    """The bits of each that were written, as ones."""

    @classmethod
    def of(cls, words: Any) -> Registers:
        """Return registers that were all written, [warp, lane, register], or [lane, register] of one warp."""
        given = np.asarray(words)
        if given.ndim == 2:
            given = given[None]
        if given.ndim != 3 or given.shape[1] != LANES:
            raise LayoutError(
                "TW203", f"registers are [warp, lane, register], not of the shape {given.shape}"
            )
        if given.dtype.kind not in "iub" and not np.array_equal(given, np.trunc(given)):
            raise LayoutError(
                "TW101", "registers hold words, whole numbers", hint="holding(...) puts numbers of a type"
            )
        held = given.astype(np.uint32)
        return cls(held, np.full_like(held, EVERY))

    @classmethod
    def empty(cls, count: int, warps: int = 1) -> Registers:
        """Return `count` registers a lane in which nothing was written."""
        nothing = np.zeros((warps, LANES, count), np.uint32)
        return cls(nothing, nothing.copy())

    @classmethod
    def holding(cls, numbers: Any, layout: Layout, dtype: HeldType) -> Registers:
        """Return the registers that a layout needs, with numbers at its places; the bits between are 0."""
        place = Placed.of(layout, Padded.of(dtype))
        return cls.empty(place.registers, place.warps).put(numbers, layout, dtype)

    @property
    def count(self) -> int:
        """Return the number of registers of a lane."""
        return int(self.words.shape[2])

    @property
    def warps(self) -> int:
        """Return the number of warps."""
        return len(self.words)

    def __repr__(self) -> str:
        held = "" if (self.known == EVERY).all() else ", not all written"
        return f"Registers({self.warps} x {LANES} x {self.count}{held})"

    def __getitem__(self, some: slice) -> Registers:
        """Return some of the registers of every lane."""
        return Registers(self.words[:, :, some], self.known[:, :, some])

    def warp(self, number: int) -> Registers:
        """Return the registers of one warp."""
        if not 0 <= number < self.warps:
            raise LayoutError("TW201", f"there is no warp {number}", hint=f"these are of {self.warps}")
        return Registers(self.words[number : number + 1], self.known[number : number + 1])

    def beside(self, other: Registers) -> Registers:
        """Return these registers, and behind them those of another, lane by lane."""
        both = [(self.words, other.words), (self.known, other.known)]
        return Registers(*(np.concatenate(pair, axis=2) for pair in both))

    def over(self, old: Registers) -> Registers:
        """Return these registers where they were written, else the old ones: lanes that were not active."""
        return Registers(self.words & self.known | old.words & ~self.known, self.known | old.known)

    def held(self, step: Step) -> Array:
        """Return the words, which an instruction needs whole; refuse a register that nothing wrote."""
        missing = self.known != EVERY
        if missing.any():
            warp, lane, register = map(int, np.argwhere(missing)[0])
            raise _unwritten(step, warp, lane, register)
        return self.words

    # -- tiles ---------------------------------------------------------------------------------------

    def put(self, numbers: Any, layout: Layout, dtype: HeldType, *, each: bool = False) -> Registers:
        """Return the registers with numbers at a layout's places, rounded once to the type; other bits stay.

        With `each` the layout covers one warp, and there is a tile a warp, [warp, ...].

            requires       equal elements if they share a place
            postcondition  numbers(layout, dtype) gives them back

        >>> from tilewise import S, laneid
        >>> lanes = S[32 : 1@laneid]
        >>> two = Registers.empty(1, warps=2).put([range(32), range(32, 64)], lanes, "u32", each=True)
        >>> two.words[1, 5].tolist(), two.numbers(lanes, "u32", each=True)[1, 5].item()
        ([37], 37)
        """
        element = Padded.of(dtype)
        place = Placed.of(layout, element)
        codes = encode(fitted(numbers, self._extents(layout, each)), element.dtype)
        tiles = self._tiles(place, layout, each)
        codes, shape = codes.reshape(tiles, -1), self.words.shape
        words, known = self.words.reshape(tiles, -1), self.known.reshape(tiles, -1)
        for part, (at, shift, mask) in enumerate(place.parts(self.count)):
            bits = (codes >> np.uint64(REGISTER_BITS * part) & np.uint64(mask)).astype(np.uint32)
            placed = np.broadcast_to(bits[..., None] << shift, (tiles, *at.shape))
            own = np.uint32(mask) << shift
            fresh, covered = np.zeros_like(words), np.zeros_like(words[0])
            to = np.arange(tiles)[:, None, None] * words.shape[1] + at
            np.bitwise_or.at(fresh.reshape(-1), to, placed)
            np.bitwise_or.at(covered, at, place.whole(own))
            lost = (fresh[:, at] & own) != placed
            if lost.any():
                index = layout.coordinates(int(np.argwhere(lost)[0][1]))
                raise LayoutError("TW203", f"{layout} has two numbers at the place of element {index}")
            words, known = words & ~covered | fresh, known | covered
        return Registers(words.reshape(shape), known.reshape(shape))

    def numbers(self, layout: Layout, dtype: HeldType, *, step: Step = HOST, each: bool = False) -> Array:
        """Return the numbers of a tile, or of a tile a warp, at a layout's places, in the layout's extents.

        requires  every bit of them was written, and copies of an element are the same
        """
        element = Padded.of(dtype)
        return decode(self.codes(layout, element, step=step, each=each), element.dtype)

    def codes(self, layout: Layout, dtype: HeldType, *, step: Step = HOST, each: bool = False) -> Array:
        """Return the bits of a tile's elements as whole numbers, whatever they mean: `numbers`, not decoded.

        >>> from tilewise import S, laneid, reg
        >>> held = Registers.of(np.full((32, 1), 0xE4))
        >>> held.codes(S[(1, 4) : (1@laneid, 1@reg)], DType("index", 2)).tolist()
        [[0, 1, 2, 3]]
        """
        place = Placed.of(layout, Padded.of(dtype))
        tiles = self._tiles(place, layout, each)
        words, known = self.words.reshape(tiles, -1), self.known.reshape(tiles, -1)
        codes = np.zeros((tiles, *place.thread.shape), np.uint64)
        for part, (at, shift, mask) in enumerate(place.parts(self.count)):
            own = np.uint32(mask) << shift
            missing = (known[:, at] & own) != own
            if missing.any():
                tile, element, copy = np.argwhere(missing)[0]
                word = int(tile) * words.shape[1] + int(at[element, copy])
                raise _unwritten(step, *map(int, np.unravel_index(word, self.words.shape)))
            codes |= ((words[:, at] & own) >> shift).astype(np.uint64) << np.uint64(REGISTER_BITS * part)
        apart = codes != codes[:, :, :1]
        if apart.any():
            _, element, copy = map(int, np.argwhere(apart)[0])
            raise _apart(step, layout, element, place, copy)
        return codes[:, :, 0].reshape(self._extents(layout, each))

    def _extents(self, layout: Layout, each: bool) -> tuple[int, ...]:
        """Return the extents of a tile, or of a tile a warp."""
        tile = extents_of(layout.shape)
        return (self.warps, *tile) if each else tile

    def _tiles(self, place: Placed, layout: Layout, each: bool) -> int:
        """Return the number of tiles; refuse tiles that need more registers than there are."""
        tiles = self.warps if each else 1
        warps = self.warps // tiles
        if place.warps > warps or place.registers > self.count:
            raise LayoutError(
                "TW203",
                f"{layout} needs {place.warps} x {LANES} x {place.registers} registers, and there are "
                f"{warps} x {LANES} x {self.count}",
            )
        return tiles


@dataclass(frozen=True, eq=False)
class Placed:
    """The thread and the first bit of every element of a layout of registers, [element, copy]."""

    thread: Array
    bit: Array
    element: Padded

    @classmethod
    @lru_cache(maxsize=512)  # a program uses its few fragments again and again
    def of(cls, layout: Layout, element: Padded) -> Placed:
        """Return the places of a layout on lanes, warps and `reg`."""
        places = table(layout)
        strange = [name for name in places.axes if name not in (*THREADS, "reg")]
        if strange:
            raise LayoutError(
                "TW203",
                f"{layout} has the axis {strange[0]}, and registers have {' '.join([*THREADS, 'reg'])}",
            )
        if "laneid" in places.axes and (last := int(places.columns["laneid"].max())) >= LANES:
            raise LayoutError(
                "TW203",
                f"{layout} has lane {last}, and a warp has lanes 0 to {LANES - 1}",
                hint="what is simulated are NVIDIA's engines; a further warp is warpid, or wid_in_wg",
            )
        shape = (layout.size, places.copies)
        columns = {name: places.columns[name].reshape(shape) for name in places.axes}
        thread = sum(
            (columns[name] * step for name, step in THREADS.items() if name in columns), np.zeros(shape, int)
        )
        bit = columns.get("reg", np.zeros(shape, int)) * element.taken + element.lowest
        if thread.min() < 0 or bit.min() < 0:
            raise LayoutError("TW203", f"{layout} has places below 0, and registers count from there")
        return cls(thread, bit, element)

    @property
    def warps(self) -> int:
        """Return the warps that hold elements, and those before them."""
        return int(self.thread.max()) // LANES + 1

    @property
    def registers(self) -> int:
        """Return the registers of a lane, up to the last one needed."""
        taken = self.element.taken
        return (int(self.bit.max()) // taken * taken + taken - 1) // REGISTER_BITS + 1

    def parts(self, count: int) -> list[tuple[Array, Array, int]]:
        """Return (word, of `count` a thread; lowest bit in it; mask) for every 32 bits of an element."""
        first = self.thread * count + self.bit // REGISTER_BITS
        shift = (self.bit % REGISTER_BITS).astype(np.uint32)
        bits = self.element.dtype.bits
        mask = (1 << min(bits, REGISTER_BITS)) - 1
        return [(first + part, shift, mask) for part in range(max(1, bits // REGISTER_BITS))]

    def whole(self, own: Array) -> Array:
        """Return the bits that an element's write covers: those of the element, and its padding."""
        taken = self.element.taken
        if taken == self.element.dtype.bits:
            return own
        first = (self.bit % REGISTER_BITS // taken * taken).astype(np.uint32)
        return np.uint32((1 << taken) - 1) << first


def _unwritten(step: Step, warp: int, lane: int, register: int) -> Refused:
    culprit = {"instruction": step.instruction, "warp": warp, "lane": lane, "register": register}
    return fault(
        "unwritten",
        f"{step.instruction} reads register {register} of lane {lane} of warp {warp}, which nothing wrote",
        culprit,
        "write it first: Registers.holding(...) puts a whole tile",
    )


def _apart(step: Step, layout: Layout, element: int, place: Placed, copy: int) -> Refused:
    one, other = (divmod(int(place.thread[element, which]), LANES) for which in (0, copy))
    index = list(layout.coordinates(element))
    return fault(
        "apart",
        f"{step.instruction} reads element {index}, of which warp {one[0]}, lane {one[1]} and "
        f"warp {other[0]}, lane {other[1]} hold different numbers",
        {"instruction": step.instruction, "element": index, "threads": [list(one), list(other)]},
        "copies of an element are one element",
    )
