"""The first index at which two chains of swizzles part, over one and the same map.

Both chains are linear over GF(2), and so is their difference: it reads the bits [low, high) of an
address, and where those are 0 the chains agree. The search walks the digits, slowest first, with
addresses modulo 2^high; it passes over all that provably stays below 2^low, and never enters the same
remainder of the same digit twice. Ending without a difference, it has proven that there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import gcd

from tilewise.core.solve import DEFAULT_BUDGET, BudgetSpent
from tilewise.core.swizzles import Swizzle, apply_chain, period_of

Digit = tuple[int, int]


def first_parting(
    digits: Sequence[Digit], base: int, one: Sequence[Swizzle], other: Sequence[Swizzle]
) -> int | None:
    """The smallest index whose address the chains send to different places, or None.

    `digits` are (extent, stride), slowest first, of the address base + sum of digit * stride.

    >>> first_parting([(99, 97), (97, 1)], 0, [Swizzle(3, 9, 3)], [])
    4096
    >>> first_parting([(3, 128), (2, 96)], 0, [Swizzle(1, 0, 5)], [Swizzle(1, 0, 6)]) is None
    True
    """

    def differ(address: int) -> bool:
        return apply_chain(one, address) != apply_chain(other, address)

    bits = max(period_of(one), period_of(other)).bit_length() - 1
    read = [bit for bit in range(bits) if differ(1 << bit)]
    return _Walk(digits, 1 << read[0], 1 << read[-1] + 1, differ).first(base) if read else None


def first_where(digits: Sequence[Digit], base: int, modulus: int, told: Callable[[int], bool]) -> int | None:
    """The smallest index whose address, modulo `modulus`, is one that `told` names, or None.

    >>> first_where([(5, 3), (3, 1)], 2, 16, lambda address: address == 13)
    11
    """
    return _Walk(digits, 0, modulus, told).first(base)


class _Walk:
    """Digits with signed remainders of their strides, and what those after each can still add."""

    def __init__(
        self, digits: Sequence[Digit], below: int, modulus: int, differ: Callable[[int], bool]
    ) -> None:
        self.below, self.modulus, self.differ = below, modulus, differ
        self.extents = [extent for extent, _ in digits]
        half = modulus // 2
        self.steps = [(stride + half) % modulus - half for _, stride in digits]
        reach = [(extent - 1) * step for extent, step in zip(self.extents, self.steps, strict=True)]
        self.least = _suffix_sums([min(0, r) for r in reach])
        self.most = _suffix_sums([max(0, r) for r in reach])
        self.budget = DEFAULT_BUDGET

    def first(self, base: int) -> int | None:
        """The smallest index whose address differs, from the address of index 0."""
        seen: set[tuple[int, int]] = set()
        path: list[tuple[int, int]] = []  # (address before the digit, the digit to try next)
        address, descending = base % self.modulus, True
        while True:
            level = len(path)
            if descending and not self._agrees(level, address) and (level, address) not in seen:
                seen.add((level, address))
                if level < len(self.steps):
                    path.append((address, 1))
                    continue
                if self.differ(address):
                    return self._index([digit - 1 for _, digit in path])
            if not path:
                return None
            before, digit = path.pop()
            address, descending = before, False
            if digit < self._distinct(len(path)):
                digit = self._next(len(path), before, digit)
                address, descending = (before + digit * self.steps[len(path)]) % self.modulus, True
                path.append((before, digit + 1))

    def _next(self, level: int, before: int, digit: int) -> int:
        """The next digit worth a look: those that surely stay below are passed over."""
        self.budget -= 1
        if self.budget < 0:
            raise BudgetSpent
        step = self.steps[level]
        address = (before + digit * step) % self.modulus
        if self._agrees(level + 1, address) and step:
            room = (
                self.below - 1 - self.most[level + 1] - address
                if step > 0
                else address + self.least[level + 1]
            )
            digit += room // abs(step) + 1
        return min(digit, self._distinct(level) - 1)

    def _distinct(self, level: int) -> int:
        """How many digits there are before the remainders repeat."""
        step = self.steps[level]
        cycle = self.modulus // gcd(step, self.modulus)
        return min(self.extents[level], cycle)

    def _agrees(self, level: int, address: int) -> bool:
        """Whether every address from here on stays below the bits that are read."""
        return address + self.least[level] >= 0 and address + self.most[level] < self.below

    def _index(self, digits: Sequence[int]) -> int:
        flat = 0
        for extent, digit in zip(self.extents, digits, strict=True):
            flat = flat * extent + digit
        return flat


def _suffix_sums(values: Sequence[int]) -> list[int]:
    return [*accumulate(reversed(values), initial=0)][::-1]
