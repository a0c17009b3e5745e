"""Words out of the bytes of other words, inside one thread: renamed, or permuted by prmt.

Words that are made of the same two words share the permutations that they need.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BYTES = 4
"""Bytes of a word."""

Place = tuple[int, int]
"""(word, which of its bytes)."""

Byte = Place | None
"""A byte of a word; None where it does not matter."""

Word = tuple[Byte, Byte, Byte, Byte]

Half = tuple[Place, ...]
"""Bytes of one or two words that a word has."""


@dataclass(frozen=True, slots=True)
class Permute:
    """A word of four bytes of two words, by the hexadecimal digits of `order`, the lowest byte first."""

    of: tuple[int, int]
    order: int


class Packer:
    """Makes words; those that are given have the numbers 0, 1, ..., and every step makes the next.

    Where they are `picked`, each thread has its bytes of them elsewhere, and none is taken as it is.
    """

    def __init__(self, given: int, picked: bool = False) -> None:
        self.given = given
        self.picked = picked
        self._made: dict[Permute, int] = {}

    @property
    def steps(self) -> list[Permute]:
        """The permutations, in their order."""
        return list(self._made)

    def all(self, words: Sequence[Word]) -> list[int | None]:
        """Return the numbers of words with these bytes; None for those of which nothing matters.

        >>> packer = Packer(2)
        >>> packer.all([((0, 0), (0, 1), (0, 2), (0, 3)), ((0, 0), (0, 1), (1, 0), (1, 1))])
        [0, 2]
        >>> packer.steps
        [Permute(of=(0, 1), order=21520)]
        """
        halves = [_halves(word) for word in words]
        where = self._together(dict.fromkeys(half for both in halves for half in both))
        numbers = []
        for word, both in zip(words, halves, strict=True):
            parts = {byte: place for half in both for byte, place in where[half].items()}
            moved = [parts.get(byte, byte) if byte else None for byte in word] if both else word
            sources = _sources(moved)
            numbers.append(self._permuted(moved, sources[0], sources[-1]) if sources else None)
        return numbers

    def _together(self, halves: Iterable[Half]) -> dict[Half, dict[Place, Place]]:
        """Return {bytes of one or two words: where each byte is}, two such halves in one word if they fit."""
        found: dict[Half, dict[Place, Place]] = {}
        of_two: defaultdict[tuple[int, ...], list[Half]] = defaultdict(list)
        for half in halves:
            sources = tuple(sorted(_sources(half)))
            found[half] = {byte: byte for byte in half}
            if len(sources) == 2:
                of_two[sources].append(half)
        for (a, b), needs in of_two.items():
            for first, second in zip(needs[::2], [*needs[1::2], ()], strict=False):
                fits = len(first) + len(second) <= BYTES
                for room in [(*first, *second)] if fits else [first, second]:
                    number = self._permuted((*room, *(None,) * (BYTES - len(room))), a, b)
                    for half in filter(None, (first, second)):
                        found[half] |= {byte: (number, room.index(byte)) for byte in half if byte in room}
        return found

    def _permuted(self, word: Sequence[Byte], a: int, b: int) -> int:
        taken = not (self.picked and a < self.given)
        if taken and a == b and all(byte is None or byte[1] == at for at, byte in enumerate(word)):
            return a
        a, b = min(a, b), max(a, b)
        order = 0
        for at, byte in enumerate(word):
            digit = at if byte is None else byte[1] + (BYTES if byte[0] == b and a != b else 0)
            order |= digit << 4 * at
        return self._made.setdefault(Permute((a, b), order), self.given + len(self._made))

    def of_given(self, step: Permute) -> int:
        """Return the digits of a step's order that name bytes of given words, as a mask.

        >>> packer = Packer(2)
        >>> hex(packer.of_given(Permute((1, 2), 0x5410)))
        '0xff'
        """
        from_ = [step.of[step.order >> 4 * at & 4 > 0] for at in range(BYTES)]
        return sum(0xF << 4 * at for at, own in enumerate(from_) if own < self.given)


def _sources(word: Sequence[Byte]) -> list[int]:
    return list(dict.fromkeys(byte[0] for byte in word if byte is not None))


def _halves(word: Sequence[Byte]) -> list[Half]:
    """Return the bytes of a word of more than two others, in two groups."""
    sources = _sources(word)
    groups = (sources[:2], sources[2:]) if len(sources) > 2 else ()
    return [tuple(sorted({byte for byte in word if byte and byte[0] in group})) for group in groups]
