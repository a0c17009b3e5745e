"""Words out of the bytes of other words, inside one thread: renamed, or permuted by prmt.

Words that are made of the same two words share the permutations that they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BYTES = 4
"""Of a word."""

Byte = tuple[int, int] | None
"""(word, which of its bytes); None where it does not matter."""

Word = tuple[Byte, Byte, Byte, Byte]


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
        self.steps: list[Permute] = []
        self._made: dict[Permute, int] = {}
        self._halves: list[tuple[int, tuple[tuple[int, int], ...], set[tuple[int, int]]]] = []

    def all(self, words: Sequence[Word]) -> list[int | None]:
        """The numbers of words with these bytes; None for those of which nothing matters.

        >>> packer = Packer(2)
        >>> packer.all([((0, 0), (0, 1), (0, 2), (0, 3)), ((0, 0), (0, 1), (1, 0), (1, 1))])
        [0, 2]
        >>> packer.steps
        [Permute(of=(0, 1), order=21520)]
        """
        shared = self._shared(words)
        return [self._word(word, shared) for word in words]

    def _word(self, word: Word, shared: dict[tuple[tuple[int, int], ...], tuple[int, int]]) -> int | None:
        sources = list(dict.fromkeys(byte[0] for byte in word if byte is not None))
        if not sources:
            return None
        if len(sources) <= 2:
            return self._permuted(word, sources[0], sources[-1])
        parts: dict[int, tuple[int, int]] = {}
        for pair in (sources[:2], sources[2:]):
            bytes_ = tuple(sorted({byte for byte in word if byte is not None and byte[0] in pair}))
            number, first = shared[bytes_]
            for at, byte in enumerate(bytes_):
                if first >= 0:
                    parts[_key(byte)] = (number, first + at)
                else:
                    parts[_key(byte)] = (number, byte[1])
        again = tuple(None if byte is None else parts[_key(byte)] for byte in word)
        numbers = list(dict.fromkeys(byte[0] for byte in again if byte is not None))
        return self._permuted(again, numbers[0], numbers[-1])

    def _shared(self, words: Sequence[Word]) -> dict[tuple[tuple[int, int], ...], tuple[int, int]]:
        """{bytes: (a word that has them, where they begin in it; -1 where they stand as they did)}."""
        found: dict[tuple[tuple[int, int], ...], tuple[int, int]] = {}
        waiting: dict[tuple[int, ...], list[tuple[tuple[int, int], ...]]] = {}
        for word in words:
            sources = list(dict.fromkeys(byte[0] for byte in word if byte is not None))
            if len(sources) <= 2:
                continue
            for pair in (sources[:2], sources[2:]):
                bytes_ = tuple(sorted({byte for byte in word if byte is not None and byte[0] in pair}))
                if len(pair) == 1:
                    found[bytes_] = pair[0], -1
                elif bytes_ not in waiting.setdefault(tuple(sorted(pair)), []):
                    waiting[tuple(sorted(pair))].append(bytes_)
        for (a, b), needs in waiting.items():
            for first, second in zip(needs[::2], [*needs[1::2], ()], strict=False):
                both = (*first, *second)
                if len(both) > BYTES:
                    found[first] = self._listed(first, a, b), 0
                    found[second] = self._listed(second, a, b), 0
                    continue
                number = self._listed(both, a, b)
                found[first] = number, 0
                if second:
                    found[second] = number, len(first)
        return found

    def _listed(self, bytes_: tuple[tuple[int, int], ...], a: int, b: int) -> int:
        word = (*bytes_, *(None,) * (BYTES - len(bytes_)))
        return self._permuted(word, a, b)

    def _permuted(self, word: Sequence[Byte], a: int, b: int) -> int:
        taken = not (self.picked and a < self.given)
        if taken and a == b and all(byte is None or byte[1] == at for at, byte in enumerate(word)):
            return a
        a, b = min(a, b), max(a, b)
        order = 0
        for at, byte in enumerate(word):
            digit = at if byte is None else byte[1] + (BYTES if byte[0] == b and a != b else 0)
            order |= digit << 4 * at
        step = Permute((a, b), order)
        if step not in self._made:
            self._made[step] = self.given + len(self.steps)
            self.steps.append(step)
        return self._made[step]

    def of_given(self, step: Permute) -> int:
        """The digits of a step's order that name bytes of given words, as a mask.

        >>> packer = Packer(2)
        >>> hex(packer.of_given(Permute((1, 2), 0x5410)))
        '0xff'
        """
        from_ = [step.of[step.order >> 4 * at & 4 > 0] for at in range(BYTES)]
        return sum(0xF << 4 * at for at, own in enumerate(from_) if own < self.given)


def _key(byte: tuple[int, int]) -> int:
    return byte[0] * BYTES + byte[1]
