"""From the source to shared memory: vectors, all of them under way at once.

Only tiles that have an end of the storage, or a fill, or an edge of a tensor that is swizzled, test what they
read. Where others have rows that the tensor has not, the nearest that it has are read in their place.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tilewise.emit.parts.template import filled
from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves.kernels.spelling import TYPES, added, constant, fetching, split
from tilewise.moves.kernels.terms import Terms

_PART = """\
// The 16 bytes at an address, those of them that are in the storage.
__device__ __forceinline__ V16 part(const u8* at, const u8* source)
{
    V16 v = {};
    for (int i = 0; i < 16; ++i)
        if (at + i >= source && at + i < source + ${bytes}ull) v.x[i / 4] |= (u32)at[i] << i % 4 * 8;
    return v;
}
"""


class Reading(Terms):
    """What reads a tile."""

    def functions(self) -> Iterator[str]:
        """What reads a vector, and one of which the storage has a part."""
        yield fetching("V16")
        if self.tested:
            yield filled(_PART, {"bytes": self.storage})

    def begin(self) -> str:
        """The byte of the source where the tile begins."""
        start = self.tile.pair.source.start
        if self.tile.halo:
            start -= self.tile.halo * self.tile.digits[self.tile.write_run[-1]].read
        return self.sum("read", self.tile.block_order, "o", start)

    def lines(self) -> Iterator[str]:
        """What reads the tile; one of which something may not be there tests every vector."""
        if self.tile.read_shift:
            yield f"const int shift = {self.in_sector('source', 'from')};"
        if not self.tested:
            yield from self._plain_read()
            return
        yield from self.rows_there()
        yield f"if ({self.inside()}) {{"
        yield from (f"    {line}" for line in self._plain_read())
        yield "} else {"
        yield from (f"    {line}" for line in self._guarded_read())
        yield "}"

    def _plain_read(self) -> Iterator[str]:
        """All vectors to registers first, so that many are under way at once; then to shared memory.

        The wait of the warp keeps the assembler from putting stores before the last of the loads.
        """
        for number, (_, vectors) in enumerate(self._parts):
            count = -(-self.tile.row_count * vectors // self.tile.threads)
            yield f"V16 held{number}[{count}];"
        yield from self._read("held", load=True)
        yield "__syncwarp();"
        yield from self._read("held", store=True)

    def _guarded_read(self) -> Iterator[str]:
        """Vectors one after another, of which the storage may have a part."""
        yield from self._read("one", load=True, store=True)

    @property
    def _parts(self) -> list[tuple[int, int]]:
        """(the first vector, how many) of rows: those that a row has wherever it begins, and the rest."""
        tile = self.tile
        whole = tile.run_bytes // tile.taken
        if not tile.read_shift or not whole:
            return [(0, tile.run_vectors)]
        return [(0, whole), (whole, tile.run_vectors - whole)]

    def _read(self, name: str, *, load: bool = False, store: bool = False) -> Iterator[str]:
        """Loops over the vectors of the rows: from the source to registers, from there to shared memory."""
        tile, guarded = self.tile, name == "one"
        parts = [(0, tile.run_vectors)] if guarded else self._parts
        for number, part in enumerate(parts):
            first, vectors = part
            yield from self.loop(tile.row_count * vectors, 1 if guarded else None)
            if tile.rows:
                place = added(first, f"item % {vectors}")
                row = added(f"item / {vectors}", tile.unread)
                yield f"    const int c = {place}, row = {row};"
            else:
                yield f"    const int c = {added(first, 'item')};"
            yield from split("row", tile.rows, tile.held)
            value = name if guarded else f"{name}{number}[i]"
            beyond = list(self._beyond()) if guarded else []
            if beyond:
                yield f"    if ({' || '.join(beyond)}) continue;"
            if load:
                yield from self._load(value, part, guarded)
            if store:
                yield from self._store(value, part)
            yield "}"

    def _load(self, value: str, part: tuple[int, int], guarded: bool) -> Iterator[str]:
        tile = self.tile
        names = {i: f"q{i}" if guarded else self.there(i) for i in tile.rows}
        terms = [self.term(name, tile.digits[i].read * tile.unit) for i, name in names.items()]
        if tile.read_shift:
            yield f"    {self.wide} place = {' + '.join(['from', *terms])};"
            yield f"    const int lead = {self.in_sector('source', 'place')};"
            yield from self._beside("lead", part)
            place = f"place - lead + c * {tile.taken}"
        else:
            place = " + ".join(["from", *terms, "c * 16"])
            if self.run_ragged and guarded:
                yield f"    if (c * 16 >= {self._run_left} * {self._read_inner * tile.unit}) continue;"
            place = self.at(tile.pair.source, "source", place)
        yield from self._taken(value, place, guarded)
        if guarded:
            yield from self._fill()

    def _taken(self, value: str, place: str, guarded: bool) -> Iterator[str]:
        """A vector from a place of the source, of which the storage may have a part."""
        yield f"    const u8* at = source + {place};"
        if not guarded:
            yield f"    {value} = fetched(at);"
            return
        within = f"at >= source && at + 16 <= source + {self.storage}ull"
        yield f"    V16 {value} = {within} ? *(const V16*)at : part(at, source);"

    @property
    def _run_left(self) -> str:
        """How many positions of the last digit of a row the tensor has; a halo is before a tile's own."""
        last = self.tile.read_run[-1]
        return self.left(last, self.tile.halo_of(last))

    @property
    def _read_inner(self) -> int:
        return prod(self.tile.held[i] for i in self.tile.read_run[:-1])

    def _beyond(self) -> Iterator[str]:
        """When a row is none of the tensor: nothing of it is written."""
        for i in self.cut:
            halo = self.tile.halo_of(i)
            yield f"q{i} >= {self.left(i, halo)}"
            if halo:
                yield f"q{i} < {halo} - {self.origin(i)}"

    def _fill(self) -> Iterator[str]:
        """Elements beyond a limit that fills are the fill."""
        tile = self.tile
        places = [place for place, limit in enumerate(tile.pair.limits) if limit.fills]
        if not places:
            return
        lead = f" - lead / {tile.unit}" if tile.read_shift else ""
        elements = tile.taken // tile.unit
        yield f"    for (int v = 0; v < {elements}; ++v) {{"
        yield f"        const int position = c * {elements} + v{lead};"
        names = self.run_digits(tile.read_run, tile.held, "position")
        texts = [
            added(
                self.origin(i),
                names.get(i, f"q{i}" if i in tile.rows else 0),
                -tile.halo_of(i),
            )
            for i in range(len(tile.digits))
        ]
        beyond = " || ".join(
            f"{self.count(place, texts)} >= {tile.pair.limits[place].bound}" for place in places
        )
        value = constant(self.fill, tile.unit)
        yield f"        if ({beyond}) (({TYPES[tile.unit]}*)&one)[v] = {value};"
        yield "    }"

    def _beside(self, begin: str, part: tuple[int, int]) -> Iterator[str]:
        """No vector that has nothing of its row, which begins so many bytes behind a sector's begin."""
        (first, vectors), taken, run = part, self.tile.taken, self.tile.run_bytes
        tests = [f"c * {taken} >= {begin} + {run}"] if (first + vectors) * taken > run else []
        tests += [f"c * {taken} + {taken} <= {begin}"] if (first + 1) * taken < SECTOR else []
        if tests:
            yield f"    if ({' || '.join(tests)}) continue;"

    def _store(self, value: str, part: tuple[int, int]) -> Iterator[str]:
        tile = self.tile
        rows, start = self.kept({i: f"q{i}" for i in tile.rows}), []
        if tile.read_shift:
            leads = [(f"q{i}", tile.digits[i].read * tile.unit % 32) for i in tile.rows]
            behind = added("shift", *(f"{name} * {step}" for name, step in leads if step))
            yield (
                f"    const int back = {behind};"
                if behind == "shift"
                else f"    const int back = ({behind}) & 31;"
            )
            yield from self._beside("back", part)
            start = ["shift - back"]
        address = added(*start, *rows, f"c * {tile.taken}")
        if tile.swizzle_shift is not None:
            address = f"kept({address})"
        yield from self._stored(value, address)

    def _stored(self, value: str, address: str) -> Iterator[str]:
        """A vector, to an address in shared memory."""
        if self.tile.word_stores:
            yield f"    for (int w = 0; w < 4; ++w) ((u32*)(tile + {address}))[w] = {value}.x[w];"
        else:
            yield f"    *(V16*)(tile + {address}) = {value};"
