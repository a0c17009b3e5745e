"""A tile in the text of its kernel: its begin, its digits, its reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import prod

from tilewise.core.polynomials import is_named
from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves.kernels.spelling import NUMBERS, added, bracketed, cast, counting, farthest
from tilewise.moves.pairs.pair import Side
from tilewise.moves.tiles.tile import VECTOR, Tile


class Terms:
    """Terms of addresses, counts and tests.

    Spread elements of 4 bits are counted where other elements are counted in bytes.
    """

    def __init__(self, tile: Tile, storage: int, fill: bytes) -> None:
        self.tile, self.pair, self.digits, self.unit = tile, tile.pair, tile.digits, tile.unit
        self.spread, self.storage = tile.pair.spread, storage
        self.stored = 2 * storage if self.spread else storage
        """The source's bytes are `storage`; `stored` are its bytes in the unit of tiles."""
        self.fill = fill[0] & 15 if self.spread else int.from_bytes((fill * VECTOR)[: self.unit], "little")
        self.bytes = f"(u64){storage}" if is_named(storage) else f"{storage}ull"
        """The source's bytes as a text."""
        self.wide, self.far = "long long", "int"
        """The type of a number of bytes; `far` is that of a number along a run, or of elements in a limit."""
        if not self.pair.has_names:
            self.wide, self.far = self._types()

    def _types(self) -> tuple[str, str]:
        """Return the types that hold all numbers of bytes, and all of elements along a run or in a limit."""
        tile = self.tile
        counts = [digit.extent for digit in self.digits]
        for run in filter(None, (tile.read_run, tile.write_run)):
            counts.append(counts[run[-1]] * prod(tile.held[i] for i in run[:-1]) * self.unit)
        for place, limit in enumerate(self.pair.limits):
            counts += [limit.bound, sum(digit.extent * abs(digit.counts[place]) for digit in self.digits)]
        return counting(farthest(self.pair) * self.unit), counting(max(counts, default=0))

    # -- addresses ---------------------------------------------------------------------------------

    def term(self, name: str, step: int, within: bool = False) -> str:
        """Return a digit times its step; `within` a tile, where sizes are names, both count in 32 bits."""
        digit = name if within and self.pair.has_names else f"{cast(self.wide)}{name}"
        if is_named(step):
            return f"{digit} * ({step})"
        return digit if step == 1 else f"{digit} * {step}"

    @property
    def run(self) -> str:
        """Return the begin of a run of the target: where sizes are names, `run` counts from the tile's."""
        return "into + run" if self.pair.has_names else "run"

    def begin(self, name: str, side: Side, before: int = 0) -> str:
        """Return the byte of a side, less some elements, where the tile begins."""
        steps = {i: getattr(self.digits[i], name) * self.unit for i in self.tile.block_order}
        terms = [self.term(f"o{i}", step) for i, step in steps.items()]
        return added(*terms, (side.start - before) * self.unit)

    def at(self, side: Side, name: str, address: str) -> str:
        return f"{name}_at({address})" if side.swizzles else address

    def in_sector(self, name: str, place: str) -> str:
        """Return the bytes of a tile from the begin of a place's sector to the place."""
        address = f"2 * (u64){name} + {place}" if self.spread else f"(u64)({name} + {place})"
        return f"(int)({address} & {SECTOR - 1})"

    def kept(self, names: Mapping[int, str]) -> list[str]:
        """Return the bytes in shared memory of in-tile digits, to be added."""
        pitches = self.tile.pitches
        return [f"{name} * {pitches[i]}" for i, name in names.items() if pitches[i]]

    # -- digits ------------------------------------------------------------------------------------

    def origin(self, digit: int) -> str:
        return f"o{digit}" if digit in self.tile.block_order else "0"

    def left(self, digit: int, more: int = 0) -> str:
        return f"({self.digits[digit].extent + more} - {self.origin(digit)})"

    def origins(self) -> Iterator[str]:
        """Yield the begin of the block's tile in each digit."""
        order, inner = self.tile.block_order, 1
        for i in order:
            text = f"blockIdx.x / {self.divisor(inner)}" if i != order[0] else "blockIdx.x"
            last = "" if i == order[-1] else f" % {self.divisor(self.tile.counts[i])}"
            step = f" * {self.tile.extents[i]}" if self.tile.extents[i] > 1 else ""
            yield f"const {self.far} o{i} = ({self.far})({text}{last}){step};"
            inner *= self.tile.counts[i]

    def divisor(self, count: int) -> str:
        """Return a number of tiles as text: one with names is computed as it stands, rounded up."""
        if not is_named(count):
            return f"{count}u"
        return f"(unsigned)({NUMBERS.sum(count)})"

    def run_digits(
        self, run: Sequence[int], extents: Sequence[int] | dict[int, int], position: str
    ) -> dict[int, str]:
        """Return the digits of a run, as text, of a position in it."""
        names, inner = {}, 1
        for i in run:
            text = position if inner == 1 else f"{position} / {inner}"
            names[i] = f"({text})" if i == run[-1] else f"({text} % {extents[i]})"
            inner *= extents[i]
        return names

    def count(self, place: int, digits: Sequence[str]) -> str:
        """Return the count of digits, given as text, in a limit."""
        counts = [digit.counts[place] for digit in self.digits]
        return added(
            *(
                text if count == 1 else f"{cast(self.far)}{bracketed(text)} * {count}"
                for count, text in zip(counts, digits, strict=True)
                if count and text != "0"
            )
        )

    # -- rows that are there -----------------------------------------------------------------------

    @cached_property
    def cut(self) -> list[int]:
        """Return the digits of rows that are missing in some tiles."""
        return [i for i in self.tile.rows if i in self.tile.ragged or self.tile.halo_of(i)]

    def rows_there(self) -> Iterator[str]:
        """Yield the first, and the last, value of digits whose rows are missing where the tensor ends."""
        far, near = cast(self.far), "" if self.far == "int" else "(int)"
        for i in self.cut:
            halo = self.tile.halo_of(i)
            if halo:
                yield f"const int first{i} = {near}max({halo} - {self.origin(i)}, {far}0);"
            yield f"const int last{i} = {near}min({far}{self.tile.held[i] - 1}, {self.left(i, halo - 1)});"

    def there(self, digit: int) -> str:
        """Return a row's digit, or that of the nearest row that the tensor has."""
        own = f"q{digit}"
        if digit not in self.cut:
            return own
        return f"min({f'max({own}, first{digit})' if self.tile.halo_of(digit) else own}, last{digit})"

    # -- tests -------------------------------------------------------------------------------------

    @cached_property
    def run_ragged(self) -> bool:
        """Return True if the last tile along a row is not whole."""
        return any(i in self.tile.ragged for i in self.tile.read_run[-1:])

    @cached_property
    def whole(self) -> str:
        """Return the test that no digit of the tile goes beyond the tensor, nor one of its halo."""
        tile = self.tile
        tests = [f"{self.origin(i)} + {tile.extents[i]} <= {self.digits[i].extent}" for i in tile.ragged]
        tests += [f"{self.origin(tile.write_run[-1])} >= {tile.halo}"] if tile.halo else []
        return " && ".join([*tests, *self._within(fills=False)])

    @cached_property
    def inside(self) -> str:
        """Return the test that the tile reads inside the storage, and nothing beyond a limit that fills.

        The text is empty where no tile needs a test. In a swizzled source a row without elements may be
        swizzled to anywhere: there the tile has to be whole.
        """
        tile, source = self.tile, self.pair.source
        tests = [self.whole] if self.whole and source.swizzles else []
        tests += self._within(fills=True)
        # past: a vector may be read that has bytes of no element
        past = tile.read_shift or tile.run_bytes % VECTOR != 0 or self.run_ragged
        if past or tile.halo or tile.ragged or self.pair.limits:
            ends: dict[bool, list[str | int]] = {True: ["from"], False: ["from"]}
            for i in tile.rows:
                step = self.digits[i].read * self.unit
                halo = i in self.cut and tile.halo_of(i)
                ends[step >= 0].append(self.term(f"first{i}", step) if halo else 0)
                last = self.term(f"last{i}", step) if i in self.cut else (tile.held[i] - 1) * step
                ends[step < 0].append(last)
            # a swizzle may put a vector this much further
            further = (sum(own.target for own in source.swizzles) + source.outer) * self.unit if past else 0
            low, high = added(*ends[True], -SECTOR), added(*ends[False], tile.run_bytes + SECTOR, further)
            tests.append(f"{low} >= 0 && {high} <= {self.stored}")
        return " && ".join(tests)

    def _within(self, *, fills: bool) -> list[str]:
        """Return tests that the last element of the tile is within the limits that fill, or that do not."""
        last = [added(self.origin(i), extent - 1) for i, extent in enumerate(self.tile.extents)]
        limits = enumerate(self.pair.limits)
        return [f"{self.count(i, last)} < {limit.bound}" for i, limit in limits if limit.fills == fills]
