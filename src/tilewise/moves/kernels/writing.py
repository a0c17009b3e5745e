"""From shared memory to the target: vectors, gathered or turned in registers.

Only tiles that have an edge of the tensor test what they write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tilewise.emit.parts.template import filled
from tilewise.moves.kernels.elements import Elements
from tilewise.moves.kernels.spelling import TYPES, added, cast, split
from tilewise.moves.tiles.tile import VECTOR

TIMES = 2
"""How often the loop over vectors is unrolled: more is not faster, and takes the compiler longer."""

_WORDS_IN_ORDER = """\
// A vector that was gathered from one of its words on.
__device__ __forceinline__ V16 in_order(V16 v, int first)
{
    if (first & 1) v = V16{{v.x[3], v.x[0], v.x[1], v.x[2]}};
    if (first & 2) v = V16{{v.x[2], v.x[3], v.x[0], v.x[1]}};
    return v;
}
"""

_ELEMENTS_IN_ORDER = """\
// A vector each of whose words was gathered from one of its elements on.
__device__ __forceinline__ V16 in_order(V16 v, int first)
{
    for (int i = 0; i < 4; ++i) v.x[i] = __funnelshift_r(v.x[i], v.x[i], -$bits * first);
    return v;
}
"""

_HALVES = ("{0} & 0x0f0f0f0fu | ({1} & 0x0f0f0f0fu) << 4", "{0} >> 4 & 0x0f0f0f0fu | {1} & 0xf0f0f0f0u")
"""The low, and the high, halves of the bytes of two words, side by side in bytes."""


class Writing(Elements):
    """What writes a tile."""

    def functions(self) -> Iterator[str]:
        """What puts a vector in order."""
        stagger = self.tile.stagger
        if stagger is not None:
            of_elements = filled(_ELEMENTS_IN_ORDER, {"bits": 8 * self.tile.unit})
            yield _WORDS_IN_ORDER if stagger.of_words else of_elements

    def begin(self) -> str:
        """The byte of the target where the tile begins."""
        return self.sum("write", self.tile.block_order, "o", self.tile.pair.target.start)

    def lines(self) -> Iterator[str]:
        """What writes the tile; one that has an edge of the tensor tests every vector."""
        whole = self.whole()
        if not whole:
            yield from self._write(tested=False)
            return
        yield f"if ({whole}) {{"
        yield from (f"    {line}" for line in self._write(tested=False))
        yield "} else {"
        yield from (f"    {line}" for line in self._write(tested=True))
        yield "}"

    def _write(self, *, tested: bool) -> Iterator[str]:
        """A loop over the vectors of the target: gathered from shared memory, and written."""
        tile = self.tile
        vectors, extents = tile.write_vectors, tile.write_row_extents
        rows, columns = prod(extents.values()), min(vectors, tile.columns)
        groups = -(-vectors // columns)
        yield from self.loop(groups * columns * rows, 1 if tested else TIMES)
        column, row = f"item % {columns}", f"item / {columns}"
        if groups > 1:
            column, row = f"{column} + item / {columns * rows} * {columns}", f"{row} % {rows}"
        yield f"    const int c = {column}, row = {row};" if extents else "    const int c = item;"
        if groups * columns > vectors:
            yield f"    if (c >= {vectors}) continue;"
        yield from split("row", tuple(extents), extents)
        if tile.words > 1:
            inner = tile.read_run[0]
            yield f"    const int j = q{inner} * {tile.words};"
        names = self.row_names()
        beyond = [f"{names[i]} >= {self.left(i)}" for i in extents if i in tile.ragged and tested]
        if beyond:
            yield f"    if ({' || '.join(beyond)}) continue;"
        terms = [self.term(names[i], tile.digits[i].write * tile.unit) for i in extents]
        yield f"    const {self.wide} run = {added('into', *terms, tile.leader * self._second_run)};"
        yield from self._position()
        yield from self._made(tested)
        yield "}"

    def _made(self, tested: bool) -> Iterator[str]:
        """What a thread makes of one position of a run."""
        if self.tile.words > 1:
            return self._turned(tested)
        return self._parted(tested) if self.tile.parted else self._gathered(tested)

    @property
    def _second_run(self) -> int:
        """Bytes from the first run to the second of those to which halves of bytes go."""
        own = self.tile.pair.exchanged
        return 0 if own is None else self.tile.digits[own].write

    def _position(self) -> Iterator[str]:
        """Where in its run a vector begins: at a sector's, or a vector's, multiple."""
        tile = self.tile
        if tile.write_shift:
            yield f"    const int k = c * {tile.vector} - {self._in_sector('run')};"
            if tile.uneven:
                end = self._in_sector(f"run + {tile.run_elements * tile.unit}")
                yield f"    if (k >= {tile.run_elements} - {end}) continue;"
        else:
            yield f"    const int k = c * {tile.vector};"

    def _in_sector(self, place: str) -> str:
        """How many elements a place of the target lies behind the begin of its sector."""
        unit = f" / {self.tile.unit}" if self.tile.unit > 1 else ""
        return f"{self.in_sector('target', place)}{unit}"

    def _gathered(self, tested: bool) -> Iterator[str]:
        unit = self.tile.unit
        addresses = list(self.addresses())
        for text, _ in addresses:
            yield from (f"    {line}" for line in text)
        for place, (_, address) in enumerate(addresses):
            wide = TYPES[max(unit, 4)]
            yield f"    const {wide} e{place} = *(const {TYPES[unit]}*)(tile + {address});"
        yield from self._together()
        yield from self._put("out", f"run + k * {unit}", tested)

    def _together(self) -> Iterator[str]:
        """The elements e0, e1, ... as a vector of the target."""
        yield "    V16 out;"
        yield from packed(self.tile.unit)
        if self.tile.stagger:
            yield "    out = in_order(out, first);"

    def _parted(self, tested: bool) -> Iterator[str]:
        """Bytes of two rows of the source, each read once; halves of both make vectors of two target runs.

        One vector is at k. The other begins `lag` elements before: words of it lie across those of the first.
        """
        tile = self.tile
        second_row = tile.pitches[tile.pair.exchanged or 0]
        addresses = list(self.addresses())
        for text, _ in addresses:
            yield from (f"    {line}" for line in text)
        for place, (_, address) in enumerate(addresses):
            yield f"    const u32 a{place} = *(const u8*)(tile + {address});"
            yield f"    const u32 b{place} = *(const u8*)(tile + {added(address, second_row)});"
        before = -(-tile.lag // 4)
        for word in range(before + 4):
            first = tile.lag + 4 * (word - before)
            bytes_ = [max(0, place) for place in range(first, first + 4)]
            for name, of in (("even", "a"), ("odd", "b")):
                yield f"    const u32 {name}{word} = {in_word([f'{of}{place}' for place in bytes_])};"
        form, other_form = _HALVES[:: -1 if tile.leader else 1]
        yield "    V16 out, other;"
        for word in range(4):
            yield f"    out.x[{word}] = {form.format(f'even{word + before}', f'odd{word + before}')};"
        across = 4 * before - tile.lag
        for word in range(4 + (across > 0)):
            yield f"    const u32 h{word} = {other_form.format(f'even{word}', f'odd{word}')};"
        order = sum(across + byte << 4 * byte for byte in range(4))
        for word in range(4):
            value = f"__byte_perm(h{word}, h{word + 1}, {order:#06x})" if across else f"h{word}"
            yield f"    other.x[{word}] = {value};"
        yield from self._put("out", "run + k", tested)
        yield "    {"
        behind = "k"
        if tile.lag:
            behind = "before"
            yield f"        const int before = k - {tile.lag};"
        ahead = -self._second_run if tile.leader else self._second_run
        begin = added(f"run + {behind}", ahead)
        yield from (f"    {line}" for line in self._put("other", begin, tested, behind))
        yield "    }"

    def _turned(self, tested: bool) -> Iterator[str]:
        """Words of neighbours in the source, turned into vectors of as many target runs."""
        tile = self.tile
        if tile.pair.exchanged is None:
            yield from self._words("w", "at")
            yield from self._columns(0, tested)
            return
        yield from self._words("even", "at0")
        yield from self._words("odd", "at1", tile.pitches[tile.pair.exchanged])
        for half, form in enumerate(_HALVES):
            yield "    {"
            for place in range(tile.vector):
                yield f"        const u32 w{place} = {form.format(f'even{place}', f'odd{place}')};"
            ahead = half * tile.digits[tile.pair.exchanged].write
            yield from (f"    {line}" for line in self._columns(ahead, tested))
            yield "    }"

    def _words(self, name: str, at: str, further: int = 0) -> Iterator[str]:
        """The words of a vector's elements; four that are neighbours in shared memory are read at once."""
        addresses = list(self.steps(added(*self.rows, *self.kept_run("k"), further), at))
        for text, _ in addresses:
            yield from (f"    {line}" for line in text)
        if [self.offset(place) for place in range(4)] != [0, 4, 8, 12]:
            for place, (_, address) in enumerate(addresses):
                yield f"    const u32 {name}{place} = *(const u32*)(tile + {address});"
            return
        for first in range(0, len(addresses), 4):
            yield f"    const V16 {name}_{first} = *(const V16*)(tile + {addresses[first][1]});"
            for place in range(4):
                yield f"    const u32 {name}{first + place} = {name}_{first}.x[{place}];"

    def _columns(self, ahead: int, tested: bool) -> Iterator[str]:
        """The words w0, w1, ... as vectors of target runs, the first of which begins some elements ahead."""
        tile = self.tile
        yield "    V16 " + ", ".join(f"out{j}" for j in range(tile.words)) + ";"
        for word in range(4):
            yield from turned(tile.words, word)
        step = tile.digits[tile.read_run[0]].write
        for j in range(tile.words):
            further = (ahead + j * step) * tile.unit
            place = added("run", f"k * {tile.unit}", further)
            column = {tile.read_run[0]: f"(j + {j})"}
            yield "    {"
            yield from (f"    {line}" for line in self._put(f"out{j}", place, tested, column=column))
            yield "    }"

    def _put(
        self, value: str, place: str, tested: bool, k: str = "k", column: dict[int, str] | None = None
    ) -> Iterator[str]:
        """A vector to a place of the target; one not all the run's, or beyond a limit, by its elements."""
        place = self.at(self.tile.pair.target, "target", place)
        ends, limits = self._run_ends(tested), list(self._limits(tested, k, column or {}))
        if not ends and not limits:
            yield from self._put_whole(value, place)
            return
        whole = [f"{k} >= {ends[0]} && {k} + {self.tile.vector} <= {ends[1]}"] if ends else []
        whole += [of_all for of_all, _ in limits]
        own = list(self._own(ends, [of_each for _, of_each in limits], k))
        yield from self._put_parts(value, place, " && ".join(whole), own)

    def _put_whole(self, value: str, place: str) -> Iterator[str]:
        yield f"    u8* to = target + {place};"
        yield f"    *(V16*)to = {value};"

    def _put_parts(self, value: str, place: str, whole: str, own: Sequence[str]) -> Iterator[str]:
        """All of a vector, or those elements that are the run's own."""
        unit = TYPES[self.tile.unit]
        yield f"    u8* to = target + {place};"
        yield f"    if ({whole}) *(V16*)to = {value};"
        yield "    else {"
        yield from (f"        {line}" for line in own)
        yield "        #pragma unroll"
        yield f"        for (int v = 0; v < {self.tile.vector}; ++v)"
        yield f"            if (own >> v & 1) (({unit}*)to)[v] = (({unit}*)&{value})[v];"
        yield "    }"

    bits = 1
    """Bits of an element in a mask of those that are to be written."""

    def _own(self, ends: tuple[str, str] | None, limits: Sequence[str], k: str) -> Iterator[str]:
        """A mask of the elements of a vector that are to be written."""
        vector, each = self.tile.vector, self.bits
        bits = each * vector
        kind, letters = ("u32", "u") if bits <= 32 else ("u64", "ull")
        every, one = (f"{(1 << count) - 1:#x}{letters}" for count in (bits, each))
        if ends:
            zero, most = f"{cast(self.far)}0", f"{cast(self.far)}{vector}"
            cut = f"{every} >> {bits} - {each} * min(high, {most}) & {every} << {each} * max(low, {zero})"
            yield f"const {self.far} low = {ends[0]} - {k}, high = {ends[1]} - {k};"
            yield f"{kind} own = low < high && low < {vector} && high > 0 ? {cut} : 0;"
        else:
            yield f"{kind} own = {every};"
        if limits:
            yield "#pragma unroll"
            yield f"for (int v = 0; v < {vector}; ++v)"
            yield f"    if (!({' && '.join(limits)})) own &= ~({one} << {each} * v);"

    def _run_ends(self, tested: bool) -> tuple[str, str] | None:
        """The positions between which a run is the tensor's, where a vector may lie across."""
        tile = self.tile
        last = tile.write_run[-1] if tile.write_run else 0
        ragged = tested and bool(tile.write_run) and last in tile.ragged
        if not (tile.partial or ragged):
            return None
        low = f"-{self.origin(last)} * {tile.write_inner}" if tile.halo else "0"
        return low, f"{self.left(last)} * {tile.write_inner}" if ragged else str(tile.run_elements)

    def _limits(self, tested: bool, k: str, column: dict[int, str]) -> Iterator[tuple[str, str]]:
        """What holds of all of a vector, and of its element v, within limits; words have a column each."""
        for place, limit in enumerate(self.tile.pair.limits):
            if tested and not limit.fills:
                end = f"{k} + {self.tile.vector - 1}"
                furthest = self._count_at(place, end, self._resets(place) | column)
                own = self._count_at(place, f"{k} + v", column)
                yield f"{furthest} < {limit.bound}", f"{own} < {limit.bound}"

    def _resets(self, place: int) -> dict[int, str]:
        """Digits of the write run that begin anew where a limit then counts less, at their last values."""
        tile, most, found = self.tile, 0, 0
        for number, i in enumerate(tile.write_run):
            count = tile.digits[i].counts[place]
            found = number if count < most else found
            most += (tile.extents[i] - 1) * count
        return {i: str(tile.extents[i] - 1) for i in tile.write_run[:found]}

    def _count_at(self, place: int, position: str, known: dict[int, str]) -> str:
        """What an element at a position of the write run counts in a limit, some digits being known.

        A position before the tile's own is one of the halo's: counted from there, as divisions round to zero.
        """
        tile = self.tile
        halo = tile.halo if len(tile.write_run) > 1 else 0
        position = f"({added(position, halo * tile.write_inner)})"
        names = self.row_names() | self.run_digits(tile.write_run, tile.extents, position) | known
        before = {tile.write_run[-1]: -halo} if halo else {}
        digits = range(len(tile.digits))
        return self.count(place, [added(self.origin(i), names.get(i, 0), before.get(i, 0)) for i in digits])


def packed(unit: int) -> Iterator[str]:
    """Elements e0, e1, ... as one vector."""
    if unit == VECTOR:
        yield "    out = e0;"
    elif unit >= 4:
        for place in range(VECTOR // unit):
            yield f"    (({TYPES[unit]}*)&out)[{place}] = e{place};"
    elif unit == 2:
        for word in range(4):
            yield f"    out.x[{word}] = __byte_perm(e{2 * word}, e{2 * word + 1}, 0x5410);"
    else:
        for word in range(4):
            yield f"    out.x[{word}] = {in_word([f'e{4 * word + i}' for i in range(4)])};"


def in_word(bytes_: Sequence[str]) -> str:
    """Four bytes as one word."""
    low, high = (f"__byte_perm({bytes_[i]}, {bytes_[i + 1]}, 0x0040)" for i in (0, 2))
    return f"__byte_perm({low}, {high}, 0x5410)"


def turned(words: int, word: int) -> Iterator[str]:
    """One word of each target run, of the words of as many source runs."""
    if words == 2:
        pair = f"w{2 * word}, w{2 * word + 1}"
        for j, order in enumerate(("0x5410", "0x7632")):
            yield f"    out{j}.x[{word}] = __byte_perm({pair}, {order});"
        return
    a, b, c, d = (f"w{4 * word + row}" for row in range(4))
    yield f"    const u32 a{word} = __byte_perm({a}, {b}, 0x5140), b{word} = __byte_perm({c}, {d}, 0x5140);"
    yield f"    const u32 c{word} = __byte_perm({a}, {b}, 0x7362), d{word} = __byte_perm({c}, {d}, 0x7362);"
    for j, (left, right, order) in enumerate(
        (("a", "b", "0x5410"), ("a", "b", "0x7632"), ("c", "d", "0x5410"), ("c", "d", "0x7632"))
    ):
        yield f"    out{j}.x[{word}] = __byte_perm({left}{word}, {right}{word}, {order});"
