"""The addresses that lanes of a warp ask for: thousands of patterns, the same in every process.

Families are what a person would try: strides, broadcasts, rows and columns of tiles with and without a
swizzle, lanes that ask in pairs, warps of which a part is active; and all of them at random.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from tilewise.hardware.limits import LANES
from tilewise.hardware.memory.banks import WAVEFRONT, WORD
from tools.counters.kernels import WINDOW
from tools.counters.kinds import KINDS, Kind

Addresses = tuple[int | None, ...]
Dice = random.Random

SEED = 6


@dataclass(frozen=True, slots=True)
class Pattern:
    """The addresses that one warp asks for in one instruction."""

    kind: Kind
    family: str
    addresses: Addresses
    """Bytes from a multiple of 1,024, one a lane; None where the lane is not active."""

    def __post_init__(self) -> None:
        assert len(self.addresses) == LANES
        bytes = self.kind.bytes
        for address in self.addresses:
            assert address is None or (address % bytes == 0 and 0 <= address <= WINDOW - bytes), self


@cache
def patterns(group: str) -> tuple[Pattern, ...]:
    """Return all patterns of a group of kinds, each once; what tells most comes first.

    >>> len(patterns("shared")) >= 3000 and len(patterns("global")) >= 500
    True
    """
    found: dict[tuple[Kind, Addresses], Pattern] = {}
    for pattern in _every(group):
        found.setdefault((pattern.kind, pattern.addresses), pattern)
    first = [pattern for pattern in found.values() if pattern.family in TELLING]
    rest = [pattern for pattern in found.values() if pattern.family not in TELLING]
    random.Random(SEED).shuffle(rest)
    return (*first, *rest)[: MOST.get(group)]


MOST = {"shared": 3400, "global": 640}
"""The most patterns of a group: a profiler takes tens of milliseconds for each."""

TELLING = ("one word", "pairs", "pairs in a part", "pairs and idle", "pairs apart")
"""Families that come first, for the rules of merging follow from them."""


def _every(group: str) -> Iterator[Pattern]:
    for kind in KINDS.values():
        if kind.group != group:
            continue
        for family, draw in _families(kind):
            dice = random.Random(f"{SEED} {kind.name} {family}")
            for addresses in draw(kind, dice):
                yield Pattern(kind, family, _fitted(kind, addresses))


def _fitted(kind: Kind, addresses: Iterable[int | None]) -> Addresses:
    """Inside the window, aligned, 32 of them; those that are not read do not stand there."""
    room, found = WINDOW // kind.bytes, []
    for lane, address in enumerate(addresses):
        read = address is not None and lane < kind.supplied
        found.append(address // kind.bytes % room * kind.bytes if read and address is not None else None)
    return tuple(found)


Family = tuple[str, Callable[[Kind, Dice], Iterator[Iterable[int | None]]]]


def _families(kind: Kind) -> tuple[Family, ...]:
    if kind.space == "global":
        return _GLOBAL
    if kind.matrices:
        return _MATRICES
    if kind.group == "other":
        return _OTHERS
    return (*_SHARED, *(_PAIRS if _merges(kind) else _FEW_PAIRS))


def _merges(kind: Kind) -> bool:
    """Return whether phases of a load may go together."""
    return kind.operation == "ld" and kind.bytes > WORD


# -- plain families --------------------------------------------------------------------------------


def one_word(kind: Kind, dice: Dice) -> Iterator[Iterable[int | None]]:
    """Yield one word for all, or for one lane alone."""
    yield [0] * LANES
    for lane in (0, 5, 31):
        yield [64 if other == lane else None for other in range(LANES)]


def strides(kind: Kind, dice: Dice) -> Iterator[list[int]]:
    """Lane n at n times a stride, in bytes of the access."""
    for stride in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 64, 96, 128):
        if kind.bytes * stride * (LANES - 1) < WINDOW:
            yield [kind.bytes * stride * lane for lane in range(LANES)]


def shares(kind: Kind, dice: Dice) -> Iterator[list[int]]:
    """Lanes that share an address: groups of neighbours, or every n-th."""
    for count in (2, 4, 8, 16, 32):
        for stride in (1, 3, 8):
            yield [kind.bytes * stride * (lane // count) for lane in range(LANES)]
            yield [kind.bytes * stride * (lane % (LANES // count)) for lane in range(LANES)]


def runs(kind: Kind, dice: Dice) -> Iterator[list[int]]:
    """Yield a run of neighbours in another order of the lanes."""
    for _ in range(12):
        order = dice.sample(range(LANES), LANES)
        start = kind.bytes * dice.randrange(64)
        yield [start + kind.bytes * place for place in order]
    for flip in (1, 2, 3, 4, 8, 12, 16, 31):
        yield [kind.bytes * (lane ^ flip) for lane in range(LANES)]


def tiles(kind: Kind, dice: Dice) -> Iterator[list[int]]:
    """Columns of vectors of a tile of some pitch, plain, padded and with the swizzles of shared memory."""
    for pitch in (32, 48, 64, 80, 96, 128, 136, 144, 192, 256, 264, 272, 512, 528):
        if pitch % kind.bytes:
            continue
        for rows in (8, 16, 32):
            column = kind.bytes * dice.randrange(max(1, pitch // kind.bytes - 1))
            plain = [pitch * (lane % rows) + column + kind.bytes * (lane // rows) for lane in range(LANES)]
            yield plain
            for bits in (1, 2, 3):
                yield [swizzled(address, bits) for address in plain]


def swizzled(address: int, bits: int) -> int:
    """Swizzle<bits, 4, 3> of a byte's address.

    >>> swizzled(128, 3), swizzled(128, 1)
    (144, 144)
    """
    return address ^ (address >> 3 & (1 << bits) - 1 << 4)


def parts(kind: Kind, dice: Dice) -> Iterator[list[int | None]]:
    """Yield a part of the warp: halves, quarters, every other lane, single ones, any."""
    masks = [0xFFFF, 0xFFFF0000, 0xFF, 0xFF00FF, 0x55555555, 0xAAAAAAAA, 0x33333333, 0x0F0F0F0F, 0x80000001]
    masks += [dice.getrandbits(32) | 1 << dice.randrange(32) for _ in range(20)]
    masks += [dice.getrandbits(32) & dice.getrandbits(32) | 1 << dice.randrange(32) for _ in range(10)]
    for mask in masks:
        whole = next(_drawn(kind, dice))
        yield [address if mask >> lane & 1 else None for lane, address in enumerate(whole)]


def at_random(kind: Kind, dice: Dice) -> Iterator[list[int]]:
    """Anywhere in a few hundred bytes, or in all of the window."""
    for _ in range(60):
        yield next(_drawn(kind, dice))


def _drawn(kind: Kind, dice: Dice) -> Iterator[list[int]]:
    while True:
        span = dice.choice((64, 128, 256, 512, 1024, 4096, WINDOW))
        step = dice.choice((1, 1, 1, 2, 4, 8))
        count = max(1, span // kind.bytes // step)
        yield [kind.bytes * step * dice.randrange(count) for _ in range(LANES)]


def inside_words(kind: Kind, dice: Dice) -> Iterator[list[int]]:
    """Different bytes of few words, for accesses below a word."""
    if kind.bytes >= WORD:
        return
    for _ in range(24):
        words = [WORD * dice.randrange(dice.choice((4, 32, 64, 512))) for _ in range(8)]
        yield [dice.choice(words) + kind.bytes * dice.randrange(WORD // kind.bytes) for _ in range(LANES)]


def busy_banks(kind: Kind, dice: Dice) -> Iterator[list[int]]:
    """Few banks, many words."""
    for banks in (1, 2, 4, 8, 16):
        for rows in (2, 4, 32, 128):
            first = WORD * dice.randrange(32)
            yield [
                first + WORD * dice.randrange(banks) + WAVEFRONT * dice.randrange(rows) for _ in range(LANES)
            ]


# -- lanes in pairs --------------------------------------------------------------------------------


def paired(kind: Kind, dice: Dice, apart: int | Callable[[int], int], spread: int) -> list[int]:
    """Addresses that lanes n and n ^ d share, d one number or that of the lane."""
    whole = [kind.bytes * dice.randrange(spread) for _ in range(LANES)]
    found = []
    for lane in range(LANES):
        d = apart(lane) if callable(apart) else apart
        found.append(whole[min(lane, lane ^ d)] if d else whole[lane])
    return found


SPREADS = (8, 32, 512)
"""Vectors that pairs are drawn from: without conflicts now and then, and with them nearly always."""


def pairs(kind: Kind, dice: Dice) -> Iterator[list[int]]:
    """Yield all lanes in pairs n and n ^ d, or all but one; pairs in order; fours."""
    for d in (1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 31):
        for spread in SPREADS:
            whole = paired(kind, dice, d, spread)
            yield whole
            alone = dice.randrange(LANES)
            yield [whole[lane] ^ kind.bytes if lane == alone else whole[lane] for lane in range(LANES)]
        yield [kind.bytes * min(lane, lane ^ d) for lane in range(LANES)]
    for fours in ((1, 2), (1, 4), (2, 4), (1, 8), (2, 8), (4, 8), (8, 16), (1, 16), (2, 16)):
        mask = fours[0] | fours[1]
        yield [kind.bytes * (lane & ~mask) for lane in range(LANES)]
        yield [WAVEFRONT * (lane & ~mask) for lane in range(LANES)]


def pairs_in_a_part(kind: Kind, dice: Dice) -> Iterator[list[int]]:
    """Pairs in one half or quarter of the warp, others or none in the rest."""
    for size in (4, 8, 16):
        for d, other in ((1, 0), (2, 0), (1, 2), (4, 0), (1, 4), (2, 1), (2, 4), (8, 0), (1, 8)):
            if max(d, other) >= size:
                continue
            for spread in SPREADS:
                for turn in (0, 1):
                    yield paired(
                        kind,
                        dice,
                        lambda lane, d=d, other=other, turn=turn, size=size: (  # type: ignore[misc]
                            d if lane // size % 2 == turn else other
                        ),
                        spread,
                    )
    for d, other in ((1, 0), (2, 0), (1, 2)):
        for part in range(4):
            yield paired(
                kind,
                dice,
                lambda lane, d=d, other=other, part=part: d if lane // 8 == part else other,  # type: ignore[misc]
                dice.choice(SPREADS),
            )


def pairs_and_idle(kind: Kind, dice: Dice) -> Iterator[list[int | None]]:
    """Pairs of which one lane, or both, are not active; and lanes that have no partner of their address."""
    for d in (1, 2, 4):
        for _ in range(10):
            whole = paired(kind, dice, d, dice.choice(SPREADS))
            mask = dice.choice((dice.getrandbits(32), dice.getrandbits(32) | dice.getrandbits(32))) | 1
            yield [address if mask >> lane & 1 else None for lane, address in enumerate(whole)]
        for mask in (0x55555555, 0xAAAAAAAA, 0x33333333, 0x0F0F0F0F, 0xFFFF, 0xFFFF0000, 0xFF00FF, 0xFF):
            for spread in SPREADS:
                every = next(_drawn(kind, dice))
                yield [a if mask >> lane & 1 else None for lane, a in enumerate(every)]
                whole = paired(kind, dice, d, spread)
                yield [a if mask >> lane & 1 else None for lane, a in enumerate(whole)]


def pairs_apart(kind: Kind, dice: Dice) -> Iterator[list[int]]:
    """Pairs that share their words and not their addresses, or their banks alone: none of them is a pair."""
    for d in (1, 2, 4):
        for gap in (kind.bytes, 16, WAVEFRONT, 4 * WAVEFRONT):
            whole = paired(kind, dice, d, 32)
            yield [address ^ (gap if lane & d else 0) for lane, address in enumerate(whole)]


def few_pairs(kind: Kind, dice: Dice) -> Iterator[list[int]]:
    """Pairs where none is expected to matter."""
    for d in (1, 2, 4, 8, 16):
        for spread in SPREADS:
            yield paired(kind, dice, d, spread)


_SHARED: tuple[Family, ...] = (
    ("one word", one_word),
    ("strides", strides),
    ("shares", shares),
    ("runs", runs),
    ("tiles", tiles),
    ("parts", parts),
    ("random", at_random),
    ("inside words", inside_words),
    ("busy banks", busy_banks),
)
_PAIRS: tuple[Family, ...] = (
    ("pairs", pairs),
    ("pairs in a part", pairs_in_a_part),
    ("pairs and idle", pairs_and_idle),
    ("pairs apart", pairs_apart),
)
_FEW_PAIRS: tuple[Family, ...] = (("few pairs", few_pairs),)


# -- matrices, asynchronous copies and atomics, global memory --------------------------------------


def rows(kind: Kind, dice: Dice) -> Iterator[list[int]]:
    """Rows of matrices in tiles of some pitch, plain and swizzled, at any column."""
    for pitch in (16, 32, 48, 64, 80, 96, 128, 144, 160, 192, 256, 272, 512):
        column = kind.bytes * dice.randrange(max(1, pitch // kind.bytes - 1))
        for bits in (0, 1, 2, 3):
            plain = [pitch * (lane % 16) + column + kind.bytes * (lane // 16) for lane in range(LANES)]
            yield [swizzled(address, bits) if bits else address for address in plain]


_MATRICES: tuple[Family, ...] = (
    ("one word", lambda kind, dice: iter([[0] * LANES])),
    ("strides", strides),
    ("shares", shares),
    ("rows", rows),
    ("random", at_random),
    ("busy banks", busy_banks),
    ("few pairs", few_pairs),
)


def a_few(kind: Kind, dice: Dice) -> Iterator[Iterable[int | None]]:
    """Yield some of every plain family."""
    for draw, count in ((strides, 12), (shares, 12), (runs, 4), (parts, 8), (at_random, 16), (busy_banks, 8)):
        every: list[Iterable[int | None]] = list(draw(kind, dice))
        yield from dice.sample(every, min(count, len(every)))


_OTHERS: tuple[Family, ...] = (("one word", one_word), ("a few", a_few))


def misaligned(kind: Kind, dice: Dice) -> Iterator[list[int]]:
    """Runs that begin inside a sector or a line."""
    for start in (0, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64, 96, 112, 120, 124, 1000):
        yield [start + kind.bytes * lane for lane in range(LANES)]


_GLOBAL: tuple[Family, ...] = (
    ("one word", one_word),
    ("strides", strides),
    ("misaligned", misaligned),
    ("shares", lambda kind, dice: iter(dice.sample(list(shares(kind, dice)), 10))),
    ("runs", lambda kind, dice: iter(list(runs(kind, dice))[::4])),
    ("parts", lambda kind, dice: iter(dice.sample(list(parts(kind, dice)), 12))),
    ("random", lambda kind, dice: iter(list(at_random(kind, dice))[:14])),
)


@cache
def for_the_ideal(count: int) -> tuple[Pattern, ...]:
    """Patterns of shared memory of every kind and family, for the profiler's ideal; more where loads merge.

    >>> len(for_the_ideal(200))
    200
    """
    dice = random.Random(f"{SEED} ideal")
    kinds: dict[Kind, list[Pattern]] = {}
    for pattern in patterns("shared"):
        kinds.setdefault(pattern.kind, []).append(pattern)
    for every in kinds.values():
        dice.shuffle(every)
    picked: list[Pattern] = []
    while len(picked) < count:
        for kind, every in kinds.items():
            picked += [every.pop() for _ in range(3 if _merges(kind) else 1) if every]
    return tuple(picked[:count])
