"""Bank conflicts of small made-up machines, and all linear layouts of a few bits: the oracle of the search.

A machine has 2^banks banks of words of 2^inside elements. Nothing here knows of kernels: a layout is a table,
and a phase takes as many wavefronts as its fullest bank has different words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product


def wavefronts(table: Sequence[int], phase: Iterable[int], inside: int, banks: int) -> int:
    """The different words of the fullest bank, for the elements of a phase."""
    words: dict[int, set[int]] = {}
    for element in phase:
        word = table[element] >> inside
        words.setdefault(word % (1 << banks), set()).add(word)
    return max(map(len, words.values()))


def cost(table: Sequence[int], phases: Iterable[tuple[int, Sequence[int]]], inside: int, banks: int) -> int:
    """The sum over (how many, elements)."""
    return sum(count * wavefronts(table, phase, inside, banks) for count, phase in phases)


@cache
def bijections(bits: int) -> tuple[tuple[int, ...], ...]:
    """The columns of every invertible matrix over GF(2)."""
    return tuple(_extended((), (0,), bits))


def _extended(columns: tuple[int, ...], span: tuple[int, ...], bits: int) -> Iterator[tuple[int, ...]]:
    if len(columns) == bits:
        yield columns
        return
    for column in range(1 << bits):
        if column not in span:
            yield from _extended((*columns, column), (*span, *(own ^ column for own in span)), bits)


def tabulated(columns: Sequence[int]) -> list[int]:
    """The whole table of a linear map."""
    table = [0]
    for column in columns:
        table += [place ^ column for place in table]
    return table


def least(
    bits: int,
    phases: Sequence[tuple[int, Sequence[int]]],
    inside: int,
    banks: int,
    kept: Sequence[int] = (),
) -> int:
    """The least cost of all linear bijections that map digit kept[i] to bit i, and no other digit there."""
    found = []
    for columns in bijections(bits):
        low = (1 << len(kept)) - 1
        if all(columns[digit] == 1 << bit for bit, digit in enumerate(kept)) and not any(
            columns[digit] & low for digit in range(bits) if digit not in kept
        ):
            found.append(cost(tabulated(columns), phases, inside, banks))
    return min(found)


def least_of_odd(
    inner: int, extent: int, phases: Sequence[tuple[int, Sequence[int]]], inside: int, banks: int
) -> int:
    """The least cost of a tile of odd * 2^inner elements, whose odd factor counts runs of 2^inner bytes.

    A run keeps its bytes. Each digit of its number flips bits of the places in it, or none.
    """
    runs = extent >> inner
    found = []
    for columns, flips in product(
        bijections(inner), product(range(1 << inner), repeat=(runs - 1).bit_length())
    ):
        places = tabulated(columns)
        moved = tabulated(flips)
        table = [place ^ moved[run] | run << inner for run in range(runs) for place in places]
        found.append(cost(table, phases, inside, banks))
    return min(found)
