"""Where a tile stands on its way, and what one leg of the way did: plain values, to be looked at.

A stop is a tile in one place: in global or shared memory, or in the registers of some warps. Its layout takes
[row, column] to bytes of that memory, counted from address 0, or to (warp, lane, element). A leg takes tiles
from their stops to the next one, by instructions whose addresses it keeps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from tilewise.check.banks import Request, counted
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, of_kind
from tilewise.core.integers import counted as in_words
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.limits import LANES, REGISTER_BITS
from tilewise.hardware.memory.banks import bank
from tilewise.simulate.numbers import encode
from tilewise.simulate.registers import THREADS, Registers
from tilewise.tables import table

Array = np.ndarray[Any, Any]

GLOBAL, SHARED, REGISTERS = "global", "shared", "registers"


@dataclass(frozen=True, eq=False)
class Stop:
    """A tile [rows, columns] where it stands.

    postcondition  its numbers are those that stood at its places when it got there
    """

    name: str
    space: str
    dtype: DType
    layout: Layout = field(repr=False)
    numbers: Array = field(repr=False)
    source: Stop | None = field(default=None, repr=False)
    """The tile that it was moved from, element by element; None where it was computed or given."""
    shift: tuple[int, int] = (0, 0)
    """Element (i, j) of this is element (i, j) + shift of the source."""
    registers: Registers | None = field(default=None, repr=False)
    operand: str = ""
    """Whose fragments registers hold: A, B or D."""
    mode: str = ""
    """The swizzle mode of boxes of TMA that lie as this tile does."""
    start: int = 0
    """The first byte of a tile of shared memory, from which its layout counts."""
    written: bool = True
    """Whether it holds anything: a tensor that is to be written does not."""

    @property
    def root(self) -> str:
        """The name of the tile that it was at first."""
        return self.name if self.source is None else self.source.root

    @property
    def transposed(self) -> Stop:
        """The same tile with rows and columns exchanged; nothing moves.

        >>> from tilewise import S
        >>> tile = Stop("a", "shared", DType.of("f16"), S[(4, 8) : (16, 2)], np.zeros((4, 8)))
        >>> tile.transposed.shape, tile.transposed.where(1, 3) == tile.where(3, 1)
        ((8, 4), True)
        """
        if self.space == REGISTERS:
            raise LayoutError("TW601", f"{self.name} is in registers", hint="transpose a tile of memory")
        turned = self.layout.permute(1, 0)
        return replace(self, layout=turned, numbers=self.numbers.T, source=None, mode="")

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        rows, columns = extents_of(self.layout.shape)
        return rows, columns

    @property
    def bytes(self) -> int:
        """Bytes of its elements."""
        return self.layout.size * self.dtype.bits // 8

    @cached_property
    def codes(self) -> Array:
        """The bits of every element, as whole numbers."""
        return encode(self.numbers, self.dtype)

    @cached_property
    def places(self) -> Array:
        """Where every element is: [row, column] bytes of memory, or [row, column, (warp, lane, element)]."""
        found = table(self.layout)
        columns = {name: found.columns[name].reshape(self.shape) for name in found.axes}
        if self.space != REGISTERS:
            return columns.get("m", np.zeros(self.shape, np.int64))
        thread = sum(
            (column * THREADS[name] for name, column in columns.items() if name in THREADS),
            np.zeros(self.shape, np.int64),
        )
        element = columns.get("reg", np.zeros(self.shape, np.int64))
        return np.stack([*np.divmod(thread, LANES), element], axis=-1)

    def where(self, row: int, column: int) -> str:
        """Where one element is, in words.

        >>> from tilewise import S
        >>> tile = Stop("a", "shared", DType.of("f16"), S[(4, 8) : (16, 2)], np.zeros((4, 8)))
        >>> tile.where(3, 1)
        'shared byte 50, bank 12'
        """
        if not (0 <= row < self.shape[0] and 0 <= column < self.shape[1]):
            raise LayoutError(
                "TW201", f"({row}, {column}) is no element of {self.name}, {self.shape[0]} x {self.shape[1]}"
            )
        place = self.places[row, column]
        if self.space == GLOBAL:
            return f"global byte {place}"
        if self.space == SHARED:
            return f"shared byte {place}, bank {bank(int(place))}"
        warp, lane, element = place
        register = element * self.dtype.bits // REGISTER_BITS
        return f"warp {warp}, lane {lane}, element {element}: register {register}"

    def as_dict(self, *, elements: bool = True) -> dict[str, Any]:
        """Plain data; with `elements` the place and the bits of every one, row by row."""
        said: dict[str, Any] = {
            "name": self.name,
            "space": self.space,
            "dtype": self.dtype.name,
            "shape": list(self.shape),
            "layout": str(self.layout),
        }
        if self.source is not None:
            said |= {"source": self.source.name, "shift": list(self.shift)}
        if elements:
            said |= {"places": self.places.tolist(), "bits": self.codes.tolist() if self.written else None}
        return said


def standing(stop: Stop, *spaces: str) -> None:
    """Refuse what is no stop, and one that stands elsewhere than where a leg begins or ends.

    >>> from tilewise import S
    >>> standing(Stop("a", SHARED, DType.of("f16"), S[(4, 8) : (16, 2)], np.zeros((4, 8))), GLOBAL)
    Traceback (most recent call last):
    tilewise.LayoutError: TW601: a is in shared memory, and a stop in global memory belongs here
      hint: tensor(name, numbers, dtype) or empty(name, shape, dtype) makes one
    """
    hint = "tma_load, or to_shared, makes a tile of shared memory"
    if spaces == (GLOBAL,):
        hint = "tensor(name, numbers, dtype) or empty(name, shape, dtype) makes one"
    of_kind(stop, Stop, "a stop", hint)
    if stop.space not in spaces:
        there = "registers" if stop.space == REGISTERS else f"{stop.space} memory"
        raise LayoutError(
            "TW601", f"{stop.name} is in {there}, and a stop in {spaces[0]} memory belongs here", hint=hint
        )


@dataclass(frozen=True)
class Issue:
    """One instruction of one warp that meets shared memory, or one copy: an address for each lane, or row."""

    operation: str
    warp: int
    bytes: int
    addresses: tuple[int, ...]

    @cached_property
    def request(self) -> Request:
        """Its phases and wavefronts, as the model counts them."""
        return counted(self.operation, self.bytes, self.addresses)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        request = self.request
        return {
            "warp": self.warp,
            "bytes": self.bytes,
            "addresses": list(self.addresses),
            "wavefronts": request.wavefronts,
            "ideal": request.ideal,
        }


@dataclass(frozen=True)
class Wrong:
    """The first element that is not what it should be, and how many there are."""

    index: tuple[int, int]
    expected: float
    found: float
    count: int

    @classmethod
    def of(cls, expected: Array, found: Array) -> Wrong | None:
        """Where two tiles part; None where they are the same.

        >>> Wrong.of(np.array([[1.0, 2.0]]), np.array([[1.0, 3.0]]))
        Wrong(index=(0, 1), expected=2.0, found=3.0, count=1)
        """
        differs = ~((expected == found) | (np.isnan(expected) & np.isnan(found)))
        if not differs.any():
            return None
        row, column = map(int, np.argwhere(differs)[0])
        return cls(
            (row, column),
            np.asarray(expected)[row, column].item(),
            np.asarray(found)[row, column].item(),
            int(differs.sum()),
        )

    def __str__(self) -> str:
        more = f", and {self.count - 1} more" if self.count > 1 else ""
        return f"element {self.index} is {self.found}, not {self.expected}{more}"


@dataclass(frozen=True, eq=False)
class Leg:
    """What took a tile to its next stop."""

    number: int
    verb: str
    instruction: str
    """The instruction that did it."""
    count: int
    """How many of them there were, those of all warps."""
    sources: tuple[Stop, ...]
    target: Stop
    issues: tuple[Issue, ...] = field(default=(), repr=False)
    """Those that meet the banks of shared memory in a way that the model counts; none of wgmma."""
    steps: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    """What each copy or product takes: corners and addresses, first elements and descriptors."""
    wrong: Wrong | None = None
    """The first element that is not what came from the sources."""
    behind: int = 0
    """Bytes behind the ends of rows that a TMA store overwrites besides."""

    @property
    def wavefronts(self) -> int | None:
        """Wavefronts of shared memory, counted by the model; None where it counts none."""
        return sum(issue.request.wavefronts for issue in self.issues) if self.issues else None

    @property
    def ideal(self) -> int | None:
        """The fewest."""
        return sum(issue.request.ideal for issue in self.issues) if self.issues else None

    @property
    def excess(self) -> int | None:
        """Wavefronts beyond the ideal: the conflicts."""
        return sum(issue.request.excess for issue in self.issues) if self.issues else None

    @property
    def worst(self) -> Issue | None:
        """The first of its instructions that takes the most wavefronts."""
        return max(self.issues, key=lambda issue: issue.request.wavefronts, default=None)

    def __str__(self) -> str:
        taken = ", ".join(stop.name for stop in self.sources)
        banks = "" if self.wavefronts is None else f"; {self.wavefronts} wavefronts, ideal {self.ideal}"
        wrong = "" if self.wrong is None else f"; WRONG: {self.wrong}"
        behind = f"; {in_words(self.behind, 'byte')} behind ends of rows overwritten" if self.behind else ""
        does = f"{self.count} x {self.instruction}{banks}{behind}{wrong}"
        return f"{self.number}. {self.verb}: {taken} -> {self.target.name}; {does}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data; stops by their names."""
        wrong = self.wrong
        return {
            "number": self.number,
            "verb": self.verb,
            "instruction": self.instruction,
            "count": self.count,
            "from": [stop.name for stop in self.sources],
            "to": self.target.name,
            "wavefronts": self.wavefronts,
            "ideal": self.ideal,
            "behind": self.behind,
            "steps": [dict(step) for step in self.steps],
            "issues": [issue.as_dict() for issue in self.issues],
            "wrong": None
            if wrong is None
            else {
                "index": list(wrong.index),
                "expected": wrong.expected,
                "found": wrong.found,
                "count": wrong.count,
            },
        }
