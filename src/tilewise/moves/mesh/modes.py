"""Modes that two layouts share: how many elements two devices have in common, and how those lie on both.

Where the digits of both sides have a common refinement, a mode is that list of digits. Elsewhere, as for 16
rows in 2 and in 3 shards, it is a list of stretches, on each of which both sides step evenly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm, prod

import numpy as np

from tilewise.core.digits import merged, refined
from tilewise.core.errors import NotDecided
from tilewise.moves.mesh.held import EachInt, MeshDigit, MeshStep

MAX_STRETCHES = 1 << 20

DigitValues = Sequence[EachInt | int | None]
"""A value for each digit on devices, for one device or for many; None for all values of the digit."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Elements that go together: digits (extent, step in the source, step in the target), and both begins."""

    digits: tuple[tuple[int, int, int], ...] = ()
    read: int = 0
    write: int = 0

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return prod(extent for extent, _, _ in self.digits)

    def between(self, begin: int, end: int) -> Iterator[Piece]:
        """Yield the elements from one number to another, in the order of the digits.

        >>> [piece.digits for piece in Piece(((3, 4, 1), (4, 1, 3))).between(2, 8)]
        [((2, 1, 3),), ((1, 4, 1), (4, 1, 3))]
        """
        begin, end = max(begin, 0), min(end, self.size)
        if begin >= end:
            return
        if begin == 0 and end == self.size:
            yield self
            return
        (_, read, write), *rest = self.digits
        inner = Piece(tuple(rest), self.read, self.write)
        first, last = -(-begin // inner.size), end // inner.size

        def moved(count: int) -> Piece:
            return Piece(inner.digits, inner.read + count * read, inner.write + count * write)

        if first > last:
            yield from moved(last).between(begin - last * inner.size, end - last * inner.size)
            return
        yield from moved(first - 1).between(begin - (first - 1) * inner.size, inner.size)
        if first < last:
            whole = moved(first)
            yield Piece(((last - first, read, write), *whole.digits), whole.read, whole.write)
        yield from moved(last).between(0, end - last * inner.size)

    def share(self, at: int, of: int) -> Iterator[Piece]:
        """Yield the elements with one of even shares of the slowest digit's values, if it has any.

        >>> for at in range(2):
        ...     print(*Piece(((5, 4, 1), (4, 1, 5))).share(at, 2))
        Piece(digits=((2, 4, 1), (4, 1, 5)), read=0, write=0)
        Piece(digits=((3, 4, 1), (4, 1, 5)), read=8, write=2)
        """
        values = self.digits[0][0] if self.digits else 1
        begin, end = (values * share // of * (self.size // values) for share in (at, at + 1))
        yield from self.between(begin, end)

    def at(self, value: int, source: MeshStep, target: MeshStep) -> Piece:
        """Return the piece at a value of one more digit."""
        return Piece(self.digits, self.read + value * source.memory, self.write + value * target.memory)

    def times(self, extent: int, source: MeshStep, target: MeshStep) -> Piece:
        """Return the piece with one more digit, the slowest."""
        return Piece(((extent, source.memory, target.memory), *self.digits), self.read, self.write)


@dataclass(frozen=True)
class DigitMode:
    """A mode over common digits, the slowest first, whose index is below `extent`."""

    extent: int
    digits: tuple[tuple[int, MeshStep, MeshStep], ...]

    @cached_property
    def is_whole(self) -> bool:
        """Return True if each value of the digits is an index."""
        return prod(extent for extent, _, _ in self.digits) == self.extent

    def _given(
        self, sources: DigitValues, targets: DigitValues
    ) -> Iterator[tuple[int, int, list[EachInt | int]]]:
        """Yield the extent of each digit, its value in the last index, and its values by the devices."""
        ours, theirs = iter(sources), iter(targets)
        place = prod(extent for extent, _, _ in self.digits)
        for extent, source, target in self.digits:
            place //= extent
            given = [next(values) for step, values in ((source, ours), (target, theirs)) if step.on_devices]
            yield extent, (self.extent - 1) // place % extent, [one for one in given if one is not None]

    def count(self, sources: DigitValues, targets: DigitValues) -> EachInt:
        """Return the number of elements with these values, for many devices at once."""
        below: EachInt | int = 0
        at_last: EachInt | int = 1
        agree: EachInt | int = 1
        for extent, last, values in self._given(sources, targets):
            if values:
                below = below + at_last * np.less(values[0], last)
                at_last = at_last * np.equal(values[0], last)
                agree = agree * np.equal(values[0], values[-1])
            else:
                below = below * extent + at_last * last
        return np.asarray((below + at_last) * agree)

    def pieces(self, sources: Sequence[int], targets: Sequence[int]) -> Iterator[Piece]:
        """Yield the elements with these values: several pieces where the last index ends within a digit."""
        given = [(extent, last, values) for extent, last, values in self._given(sources, targets)]
        if any(values and values[0] != values[-1] for _, _, values in given):
            return

        def below(at: int, at_last: bool) -> Iterator[Piece]:
            if at == len(given):
                yield Piece()
                return
            (extent, last, values), steps = given[at], self.digits[at][1:]
            if values:
                value = int(values[0])
                if not at_last or value <= last:
                    for piece in below(at + 1, at_last and value == last):
                        yield piece.at(value, *steps)
                return
            free = last if at_last else extent
            for piece in below(at + 1, False) if free else ():
                yield piece.times(free, *steps)
            for piece in below(at + 1, True) if at_last else ():
                yield piece.at(last, *steps)

        yield from below(0, not self.is_whole)


@dataclass(frozen=True)
class StretchMode:
    """A mode whose sides have no common digits: their digits, each side's own."""

    extent: int
    sources: tuple[MeshDigit, ...]
    targets: tuple[MeshDigit, ...]

    @cached_property
    def _begins(self) -> EachInt:
        """Return the begins of stretches within which only the fastest digit of each side moves."""
        cuts = [np.array([0, self.extent])]
        for digits in (self.sources, self.targets):
            extent, step = digits[-1] if digits else (self.extent, None)
            length = 1 if step and step.on_devices else extent
            if self.extent // length > MAX_STRETCHES:
                raise NotDecided(
                    f"the sides cut {self.extent} elements into more than {MAX_STRETCHES} stretches: no plan"
                    " is made for that"
                )
            cuts.append(np.arange(0, self.extent, length))
        return np.unique(np.concatenate(cuts))

    @cached_property
    def _sides(self) -> tuple[tuple[EachInt, EachInt], ...]:
        """Return for each side the values of its digits on devices, and its places in memory, by stretch."""
        found = []
        for digits in (self.sources, self.targets):
            place, values = prod(extent for extent, _ in digits), []
            memory = np.zeros(len(self._begins) - 1, np.int64)
            for extent, step in digits:
                place //= extent
                value = self._begins[:-1] // place % extent
                memory += value * step.memory
                values += [value] if step.on_devices else []
            found.append((np.array(values, np.int64).reshape(len(values), len(memory)), memory))
        return tuple(found)

    @cached_property
    def _counts(self) -> EachInt:
        """Return the number of elements for all values of both sides' digits on devices."""
        extents = [
            extent for digits in (self.sources, self.targets) for extent, step in digits if step.on_devices
        ]
        keys = np.concatenate([values for values, _ in self._sides])
        flat = np.ravel_multi_index(tuple(keys), extents) if extents else np.zeros(keys.shape[1], np.intp)
        counts = np.bincount(flat, np.diff(self._begins), prod(extents))
        return counts.astype(np.int64).reshape(extents)

    def count(self, sources: DigitValues, targets: DigitValues) -> EachInt:
        """Return the number of elements with these values, for many devices at once."""
        values = [*sources, *targets]
        free = tuple(at for at, value in enumerate(values) if value is None)
        return np.asarray(self._counts.sum(axis=free)[tuple(value for value in values if value is not None)])

    def pieces(self, sources: Sequence[int], targets: Sequence[int]) -> Iterator[Piece]:
        """Yield the elements with these values, stretch by stretch."""
        (ours, read), (theirs, write) = self._sides
        holds = np.ones(len(read), bool)
        for row, value in zip([*ours, *theirs], [*sources, *targets], strict=True):
            holds &= row == value
        lengths = np.diff(self._begins)
        steps = [digits[-1][1].memory if digits else 0 for digits in (self.sources, self.targets)]
        for at in np.flatnonzero(holds).tolist():
            yield Piece(((int(lengths[at]), steps[0], steps[1]),), int(read[at]), int(write[at]))


SharedMode = DigitMode | StretchMode


def mode_of(extent: int, source: Sequence[MeshDigit], target: Sequence[MeshDigit]) -> SharedMode:
    """Return the mode of an index below `extent`.

        requires  the digits of each side reach it

    >>> mesh, memory = MeshStep((1,), 0), MeshStep((0,), 1)
    >>> [extent for extent, _, _ in mode_of(15, [(2, mesh), (8, memory)], [(16, memory)]).digits]
    [2, 8]
    """
    device = next((step.device for digits in (source, target) for _, step in digits), ())
    nothing = (1, MeshStep((0,) * len(device), 0))
    sides = [merged(digits) or [nothing] for digits in (source, target)]
    inner = [prod(size for size, _ in digits[1:]) for digits in sides]
    reach = -(-extent // lcm(*inner)) * lcm(*inner)
    whole, own = [], []
    for ((_, step), *rest), size in zip(sides, inner, strict=True):
        least = -(-extent // size)
        own.append([(least, step), *rest])
        whole.append([(least if step.on_devices else reach // size, step), *rest])
    is_even = all(prod(size for size, _ in digits) == reach for digits in whole)
    common = refined(whole[0], whole[1]) if is_even else None
    if common is None:
        return StretchMode(extent, tuple(own[0]), tuple(own[1]))
    digits = [(size, ours, theirs) for (size, ours), (_, theirs) in zip(*common, strict=True)]
    return DigitMode(extent, tuple(digits))
