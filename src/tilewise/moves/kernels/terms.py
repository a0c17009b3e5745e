"""What a tile is in the text of its kernel: where it begins, what its digits count, how far it reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves.kernels.spelling import added, bracketed, cast, counting
from tilewise.moves.pairs.pair import Side
from tilewise.moves.tiles.tile import VECTOR, Tile


class Terms:
    """Terms of addresses, counts and tests."""

    def __init__(self, tile: Tile, storage: int, fill: bytes) -> None:
        self.tile, self.storage = tile, storage
        self.stored = storage * (2 if tile.pair.spread else 1)
        """The source's bytes, and those that all of it were in tiles."""
        repeats = VECTOR // len(fill)
        self.fill = int.from_bytes((fill * repeats)[: tile.unit], "little")
        sizes = [side.size * tile.unit for side in (tile.pair.source, tile.pair.target)]
        reach = [
            sum(abs(getattr(digit, name)) * digit.extent for digit in tile.digits) * tile.unit
            for name in ("read", "write")
        ]
        self.wide = counting(max(*sizes, *reach))
        """The type of a number of bytes, and below that of one along a run, or of elements in a limit."""
        self.far = counting(max(self._counts, default=0))

    @property
    def _counts(self) -> Iterator[int]:
        """How far the text counts along digits and runs, and in limits."""
        tile = self.tile
        yield from (digit.extent for digit in tile.digits)
        for run in filter(None, (tile.read_run, tile.write_run)):
            inner = prod(tile.held[i] for i in run[:-1]) * tile.unit
            yield tile.digits[run[-1]].extent * inner
        for place, limit in enumerate(tile.pair.limits):
            yield limit.bound
            yield sum(digit.extent * abs(digit.counts[place]) for digit in tile.digits)

    def at(self, side: Side, name: str, address: str) -> str:
        return f"{name}_at({address})" if side.swizzles else address

    def in_sector(self, name: str, place: str) -> str:
        """How many bytes of a tile a place lies behind the begin of its sector."""
        address = f"2 * (u64){name} + {place}" if self.tile.pair.spread else f"(u64)({name} + {place})"
        return f"(int)({address} & {SECTOR - 1})"

    def sum(self, way: str, digits: Sequence[int], prefix: str, start: int = 0) -> str:
        """The bytes to which digits add up."""
        terms = [
            self.term(f"{prefix}{i}", getattr(self.tile.digits[i], way) * self.tile.unit) for i in digits
        ]
        return added(*terms, start * self.tile.unit)

    def term(self, name: str, step: int) -> str:
        wide = f"{cast(self.wide)}{name}"
        return wide if step == 1 else f"{wide} * {step}"

    def kept(self, names: dict[int, str]) -> list[str]:
        """Bytes in shared memory of in-tile digits, to be added."""
        tile = self.tile
        return [f"{name} * {tile.pitches[i]}" for i, name in names.items() if tile.pitches[i]]

    def origin(self, digit: int) -> str:
        return f"o{digit}" if digit in self.tile.block_order else "0"

    def origins(self) -> Iterator[str]:
        """Where in each digit the block's tile begins."""
        order, inner = self.tile.block_order, 1
        for i in order:
            text = "blockIdx.x" if inner == 1 else f"blockIdx.x / {inner}u"
            last = "" if i == order[-1] else f" % {self.tile.counts[i]}u"
            extent = self.tile.extents[i]
            yield f"const {self.far} o{i} = ({self.far})({text}{last})" + (
                f" * {extent};" if extent > 1 else ";"
            )
            inner *= self.tile.counts[i]

    def rows_there(self) -> Iterator[str]:
        """The first, and the last, value of digits of which rows are missing where the tensor ends."""
        far, near = cast(self.far), "" if self.far == "int" else "(int)"
        for i in self.cut:
            halo, last = self.tile.halo_of(i), self.tile.held[i] - 1
            if halo:
                yield f"const int first{i} = {near}max({halo} - {self.origin(i)}, {far}0);"
            yield f"const int last{i} = {near}min({far}{last}, {self.left(i, halo - 1)});"

    @property
    def cut(self) -> list[int]:
        """Digits of rows that are not there in some tiles."""
        return [i for i in self.tile.rows if i in self.tile.ragged or self.tile.halo_of(i)]

    def there(self, digit: int) -> str:
        """A row's digit, or that of a row that is there, where it is not."""
        if digit not in self.cut:
            return f"q{digit}"
        own = f"max(q{digit}, first{digit})" if self.tile.halo_of(digit) else f"q{digit}"
        return f"min({own}, last{digit})"

    def reach(self) -> tuple[str, str]:
        """The least and the greatest byte of a tile that are there."""
        ends: dict[bool, list[str | int]] = {True: ["from"], False: ["from"]}
        for i in self.tile.rows:
            step = self.tile.digits[i].read * self.tile.unit
            cut = i in self.cut
            first: str | int = self.term(f"first{i}", step) if cut and self.tile.halo_of(i) else 0
            last = self.term(f"last{i}", step) if cut else (self.tile.held[i] - 1) * step
            ends[step >= 0].append(first)
            ends[step < 0].append(last)
        return added(*ends[True], -SECTOR), added(*ends[False], self.tile.run_bytes + SECTOR, self._further)

    @property
    def _further(self) -> int:
        """How many bytes further a swizzle may put a vector, whose last bytes may be no element's."""
        source = self.tile.pair.source
        most = sum(swizzle.target for swizzle in source.swizzles) + source.outer
        return most * self.tile.unit if self.reads_past else 0

    def count(self, place: int, digits: Sequence[str]) -> str:
        """What digits, as text, count in a limit."""
        counts = [digit.counts[place] for digit in self.tile.digits]
        terms = [
            text if count == 1 else f"{cast(self.far)}{bracketed(text)} * {count}"
            for count, text in zip(counts, digits, strict=True)
            if count and text != "0"
        ]
        return added(*terms)

    def left(self, digit: int, more: int = 0) -> str:
        return f"({self.tile.digits[digit].extent + more} - {self.origin(digit)})"

    def run_digits(
        self, run: Sequence[int], extents: Sequence[int] | dict[int, int], position: str
    ) -> dict[int, str]:
        """The digits of a run, as text, of a position in it."""
        names, inner = {}, 1
        for i in run:
            text = position if inner == 1 else f"{position} / {inner}"
            names[i] = f"({text})" if i == run[-1] else f"({text} % {extents[i]})"
            inner *= extents[i]
        return names

    def loop(self, items: int, times: int | None = None) -> Iterator[str]:
        """A loop of the threads over items, unrolled so many times, or wholly."""
        count = -(-items // self.tile.threads)
        yield f"#pragma unroll {times or ''}".rstrip()
        yield f"for (int i = 0; i < {count}; ++i) {{"
        yield f"    const int item = threadIdx.x + i * {self.tile.threads};"
        if items % self.tile.threads:
            yield f"    if (item >= {items}) break;"

    def whole(self) -> str:
        """Whether no digit of the tile goes beyond the tensor, nor one of its halo."""
        tile = self.tile
        tests = [f"{self.origin(i)} + {tile.extents[i]} <= {tile.digits[i].extent}" for i in tile.ragged]
        tests += [f"{self.origin(tile.write_run[-1])} >= {tile.halo}"] if tile.halo else []
        for place, limit in enumerate(tile.pair.limits):
            tests += [] if limit.fills else [f"{self.count(place, self.last)} < {limit.bound}"]
        return " && ".join(tests)

    def inside(self) -> str:
        """Whether all that the tile reads is in the storage, and nothing of it beyond a limit that fills.

        Where the source is swizzled, a row that is no element's may be swizzled to anywhere: then the tile is
        to be whole.
        """
        tile = self.tile
        tests = [self.whole()] if self.whole() and tile.pair.source.swizzles else []
        for place, limit in enumerate(tile.pair.limits):
            tests += [f"{self.count(place, self.last)} < {limit.bound}"] if limit.fills else []
        if self.reads_past or tile.halo or tile.ragged or tile.pair.limits:
            low, high = self.reach()
            tests.append(f"{low} >= 0 && {high} <= {self.stored}")
        return " && ".join(tests)

    @property
    def reads_past(self) -> bool:
        """Whether a vector may be read of which some bytes are no element's."""
        return self.tile.read_shift or self.tile.run_bytes % VECTOR != 0 or self.run_ragged

    @property
    def run_ragged(self) -> bool:
        run = self.tile.read_run
        return bool(run) and run[-1] in self.tile.ragged

    @property
    def last(self) -> list[str]:
        """The last value of each digit in the tile."""
        return [added(self.origin(i), extent - 1) for i, extent in enumerate(self.tile.extents)]

    @property
    def tested(self) -> bool:
        """Whether there are tiles that test what they read."""
        return bool(self.inside())
