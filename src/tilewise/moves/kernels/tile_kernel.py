"""The kernel of a tile in CUDA C++: read vectors, keep them in shared memory, gather and write vectors.

From the source to shared memory all vectors are under way at once. Only tiles with an end of the storage, a
fill, or an edge of a swizzled tensor test what they read. Other tiles replace rows that the tensor lacks by
the nearest rows that it has. Only tiles with an edge of the tensor test what they write. Elements of 4 bits
that take a byte each in shared memory are spread when a vector is read, and packed again: 8 bytes of a
storage hold 16 of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod

from tilewise.codegen.parts.template import filled
from tilewise.core.polynomials import is_named, is_same
from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves.kernels import texts
from tilewise.moves.kernels.elements import Elements
from tilewise.moves.kernels.spelling import (
    NAME,
    TYPES,
    added,
    cast,
    constant,
    split,
    swizzled,
)
from tilewise.moves.tiles.tile import VECTOR, Tile

STATIC = 48 * 1024
"""Bytes of shared memory that a kernel has without a request."""

AT_ONCE = 1536
"""Threads that the registers of a multiprocessor must serve at once, if they gather elements of one or two
bytes, or turn words of 4 bits."""

HELD = 6.5
"""Vectors of the source that a thread may hold at most for `AT_ONCE`, beside what it gathers."""

TIMES = 2
"""Times that the loop over vectors is unrolled: more is not faster, and compiles more slowly."""

Moved = Callable[[str, tuple[int, int]], Iterator[str]]
"""A function of a register's name and (first vector, count) of a row: it yields lines that move a vector."""


def tile_kernel(
    tile: Tile, storage: int, fill: bytes, name: str = NAME, sizes: Sequence[str] = (), head: str = ""
) -> str:
    """Return the source of the kernel: $blocks blocks of $threads threads, on a source of `storage` bytes.

    Where sizes are names, `sizes` are more arguments, and `head` is what the tile's names are in these.

        requires  pointers aligned as the tile was chosen for; `fill` is an element

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.digits import simplest
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> from tilewise.moves.tiles.tiling import tile_of
    >>> tile = tile_of(simplest(pair_of(S[512, 512], S[(512, 512) : (1, 512)], DType.of("f32"))))
    >>> "held0[i] = fetched(at);" in tile_kernel(tile, 1 << 20, bytes(4))
    True
    """
    return TileKernel(tile, storage, fill).source(name, sizes, head)


class TileKernel(Elements):
    """The text of a tile's kernel."""

    def source(self, name: str, sizes: Sequence[str] = (), head: str = "") -> str:
        """Return the kernel under a name, with more arguments and what is computed of these first."""
        tile, pair = self.tile, self.pair
        size = tile.shared_bytes
        shared = "extern __shared__ __align__(128) u8 tile[];"
        before = tile.halo * self.digits[tile.write_run[-1]].read if tile.halo else 0
        slots = {
            "prelude": texts.PRELUDE,
            "functions": "\n".join(self._functions()),
            "bounds": self._bounds(),
            "name": name,
            "shared": shared if size > STATIC else f"__shared__ __align__(128) u8 tile[{size}];",
            "sizes": "".join(f", {own}" for own in sizes),
            "head": head,
            "origins": "\n".join(self.origins()),
            "wide": self.wide,
            "from": self.begin("read", pair.source, before),
            "into": self.begin("write", pair.target),
            "read": "\n".join(self._reading()),
            "write": "\n".join(self._writing()),
        }
        return filled(texts.TILE, slots) + "\n"

    def _functions(self) -> Iterator[str]:
        """Yield functions of addresses, and functions that read, and write, a part of a vector."""
        tile, shift, stagger = self.tile, self.tile.swizzle_shift, self.tile.stagger
        if tile.few_registers:
            yield texts.AT_ONCE
        if shift is not None:
            yield f"__device__ __forceinline__ int kept(int x) {{ return x ^ (x >> {shift} & 0x70); }}"
        for name, side in (("source_at", self.pair.source), ("target_at", self.pair.target)):
            if side.swizzles:
                yield f"__device__ __forceinline__ {self.wide} {name}({self.wide} x)"
                yield "{"
                for swizzle in reversed(side.swizzles):
                    yield f"    {swizzled(swizzle, self.unit)}"
                yield f"    return {added('x', side.outer * self.unit)};"
                yield "}"
        yield texts.FETCHED["V16"]
        if self.inside:
            yield texts.PART
        if self.spread:
            yield texts.SPREAD
        elif stagger is not None:
            of_elements = filled(texts.ELEMENTS_IN_ORDER, {"bits": 8 * self.unit})
            yield texts.WORDS_IN_ORDER if stagger.of_words else of_elements

    def _bounds(self) -> str:
        """Return the threads of a block, and the blocks that a multiprocessor's registers must serve."""
        tile = self.tile
        gathered = tile.words == 1 and tile.unit <= 2 and not tile.partial
        if tile.few_registers:
            return f"{tile.threads}, MOVE_AT_ONCE / {tile.threads}"
        if gathered and tile.row_count * tile.run_vectors <= HELD * tile.threads:
            return f"{tile.threads}, {AT_ONCE // tile.threads}"
        return f"{tile.threads}"

    def _loop(self, items: int, times: int | None) -> Iterator[str]:
        """Yield the head of a loop of the threads over items, unrolled `times` times, or wholly."""
        threads = self.tile.threads
        yield f"#pragma unroll {times or ''}".rstrip()
        yield f"for (int i = 0; i < {-(-items // threads)}; ++i) {{"
        yield f"    const int item = threadIdx.x + i * {threads};"
        if items % threads:
            yield f"    if (item >= {items}) break;"

    # -- reading -----------------------------------------------------------------------------------

    def _reading(self) -> Iterator[str]:
        """Yield the lines that read the tile. Where the tensor may lack a part, every vector is tested.

        Elsewhere all vectors go to registers first, so that many are under way at once, and then to shared
        memory. The warp's wait keeps the assembler from moving stores before the last loads.
        """
        tile, parts = self.tile, self._parts
        if tile.read_shift:
            yield f"const int shift = {self.in_sector('source', 'from')};"
        held = [-(-tile.row_count * vectors // tile.threads) for _, vectors in parts]
        plain = [
            *(f"V16 held{number}[{count}];" for number, count in enumerate(held)),
            *(line for number, part in enumerate(parts) for line in self._read(part, self._load, number)),
            "__syncwarp();",
            *(line for number, part in enumerate(parts) for line in self._read(part, self._store, number)),
        ]
        if not self.inside:
            yield from plain
            return
        yield from self.rows_there()
        yield f"if ({self.inside}) {{"
        yield from indented(plain)
        yield "} else {"
        yield from indented(self._read((0, tile.run_vectors), self._guarded))
        yield "}"

    @property
    def _parts(self) -> list[tuple[int, int]]:
        """Return (first vector, count) of a row's parts: vectors present wherever it begins, and the rest."""
        tile = self.tile
        whole = tile.run_bytes // tile.taken
        if not tile.read_shift or not whole:
            return [(0, tile.run_vectors)]
        return [(0, whole), (whole, tile.run_vectors - whole)]

    def _read(self, part: tuple[int, int], moved: Moved, number: int | None = None) -> Iterator[str]:
        """Yield a loop over vectors of the rows: to numbered registers, or to one register in turn."""
        tile, (first, vectors) = self.tile, part
        yield from self._loop(tile.row_count * vectors, 1 if number is None else None)
        if tile.rows:
            row = added(f"item / {vectors}", tile.unread)
            yield f"    const int c = {added(first, f'item % {vectors}')}, row = {row};"
        else:
            yield f"    const int c = {added(first, 'item')};"
        yield from split("row", tile.rows, tile.held)
        yield from moved("one" if number is None else f"held{number}[i]", part)
        yield "}"

    def _guarded(self, value: str, part: tuple[int, int]) -> Iterator[str]:
        """Yield lines that move a vector to shared memory; the storage may have only a part of it.

        A row that the tensor lacks is left out. Spread elements are read even there: no byte may
        have more than the 4 bits of one element.
        """
        beyond = []
        for i in [] if self.spread else self.cut:
            halo = self.tile.halo_of(i)
            beyond.append(f"q{i} >= {self.left(i, halo)}")
            beyond += [f"q{i} < {halo} - {self.origin(i)}"] if halo else []
        if beyond:
            yield f"    if ({' || '.join(beyond)}) continue;"
        yield from self._load(value, part)
        yield from self._fill()
        yield from self._store(value, part)

    def _load(self, value: str, part: tuple[int, int]) -> Iterator[str]:
        """Yield lines that read a vector of the source to registers."""
        tile, unit, guarded = self.tile, self.unit, value == "one"
        names = {i: f"q{i}" if guarded else self.there(i) for i in tile.rows}
        terms = ["from", *(self.term(name, self.digits[i].read * unit, True) for i, name in names.items())]
        if tile.read_shift:
            yield f"    {self.wide} place = {' + '.join(terms)};"
            yield f"    const int lead = {self.in_sector('source', 'place')};"
            yield from self._beside("lead", part)
            place = f"place - lead + c * {tile.taken}"
        else:
            if self.run_ragged and guarded:
                last = tile.read_run[-1]
                inner = prod(tile.held[i] for i in tile.read_run[:-1]) * unit
                yield f"    if (c * 16 >= {self.left(last, tile.halo_of(last))} * {inner}) continue;"
            place = self.at(self.pair.source, "source", " + ".join([*terms, "c * 16"]))
        if self.spread:
            yield f"    const {self.wide} at = {place};"
            whole = f"{'fetched' if tile.taken > VECTOR else 'eight'}(source + (at >> 1))"
            if guarded:
                within = f"at >= 0 && at + {tile.taken} <= {self.stored}"
                cut = f"part(source + (at >> 1), source, source + {self.bytes})"
                yield f"    const V16 own = {within} ? {whole} : {cut};"
                yield self._as_bytes("own")
                return
        else:
            yield f"    const u8* at = source + {place};"
            whole = "fetched(at)"
            if guarded:
                end = f"source + {self.bytes}"
                within = f"at >= source && at + 16 <= {end}"
                yield f"    V16 {value} = {within} ? *(const V16*)at : part(at, source, {end});"
                return
        yield f"    {value} = {whole};"

    def _as_bytes(self, value: str) -> str:
        """Return the line that makes a vector of elements of 4 bits one, or two, vectors of shared memory."""
        halves = (0, 2)[: self.tile.taken // VECTOR]
        parts = [f"spread({value}.x[{i}], {value}.x[{i + 1}])" for i in halves]
        return f"    V16 one[{len(parts)}] = {{{', '.join(parts)}}};"

    def _fill(self) -> Iterator[str]:
        """Yield lines that set elements beyond a limit that fills to the fill."""
        tile, limits = self.tile, self.pair.limits
        if not any(limit.fills for limit in limits):
            return
        lead = f" - lead / {self.unit}" if tile.read_shift else ""
        elements = tile.taken // self.unit
        yield f"    for (int v = 0; v < {elements}; ++v) {{"
        yield f"        const int position = c * {elements} + v{lead};"
        names = {i: f"q{i}" for i in tile.rows} | self.run_digits(tile.read_run, tile.held, "position")
        every = range(len(self.digits))
        texts = [added(self.origin(i), names.get(i, 0), -tile.halo_of(i)) for i in every]
        beyond = " || ".join(
            f"{self.count(place, texts)} >= {limit.bound}"
            for place, limit in enumerate(limits)
            if limit.fills
        )
        value = constant(self.fill, self.unit)
        yield f"        if ({beyond}) (({TYPES[self.unit]}*)&one)[v] = {value};"
        yield "    }"

    def _beside(self, begin: str, part: tuple[int, int]) -> Iterator[str]:
        """Yield a line that skips vectors without a byte of their row; it is `begin` bytes into a sector."""
        (first, vectors), taken, run = part, self.tile.taken, self.tile.run_bytes
        tests = [f"c * {taken} >= {begin} + {run}"] if (first + vectors) * taken > run else []
        tests += [f"c * {taken} + {taken} <= {begin}"] if (first + 1) * taken < SECTOR else []
        if tests:
            yield f"    if ({' || '.join(tests)}) continue;"

    def _store(self, value: str, part: tuple[int, int]) -> Iterator[str]:
        """Yield lines that store a vector in shared memory."""
        tile = self.tile
        if self.spread and value != "one":
            yield self._as_bytes(value)
        start = []
        if tile.read_shift:
            steps = [(f"q{i}", self.digits[i].read * self.unit) for i in tile.rows]
            leads = [(name, step if is_named(step) else step % SECTOR) for name, step in steps]
            behind = added("shift", *(f"{name} * {step}" for name, step in leads if not is_same(step, 0)))
            yield f"    const int back = {behind if behind == 'shift' else f'({behind}) & 31'};"
            yield from self._beside("back", part)
            start = ["shift - back"]
        rows = self.kept({i: f"q{i}" for i in tile.rows})
        address = self._swizzled(added(*start, *rows, f"c * {tile.taken}"))
        stores = [(value, address)]
        if self.spread:
            yield f"    const int to = {address};"
            parts = range(tile.taken // VECTOR)
            stores = [(f"one[{number}]", added("to", number * VECTOR)) for number in parts]
        for own, to in stores:
            if tile.word_stores:
                yield f"    for (int w = 0; w < 4; ++w) ((u32*)(tile + {to}))[w] = {own}.x[w];"
            else:
                yield f"    *(V16*)(tile + {to}) = {own};"

    # -- writing -----------------------------------------------------------------------------------

    def _writing(self) -> Iterator[str]:
        """Yield the lines that write the tile; a tile with an edge of the tensor tests every vector."""
        plain = self._write(tested=False)
        if not self.whole:
            yield from plain
            return
        yield f"if ({self.whole}) {{"
        yield from indented(plain)
        yield "} else {"
        yield from indented(self._write(tested=True))
        yield "}"

    def _write(self, *, tested: bool) -> Iterator[str]:
        """Yield a loop over the vectors of the target: each is gathered from shared memory, and written."""
        tile, unit = self.tile, self.unit
        vectors, extents = tile.write_vectors, tile.write_row_extents
        rows, columns = prod(extents.values()), min(vectors, tile.columns)
        groups = -(-vectors // columns)
        yield from self._loop(groups * columns * rows, 1 if tested else TIMES)
        column, row = f"item % {columns}", f"item / {columns}"
        if groups > 1:
            column, row = f"{column} + item / {columns * rows} * {columns}", f"{row} % {rows}"
        yield f"    const int c = {column}, row = {row};" if extents else "    const int c = item;"
        if groups * columns > vectors:
            yield f"    if (c >= {vectors}) continue;"
        yield from split("row", tuple(extents), extents)
        if tile.words > 1:
            yield f"    const int j = q{tile.read_run[0]} * {tile.words};"
        names = self.row_names()
        beyond = [f"{names[i]} >= {self.left(i)}" for i in extents if i in tile.ragged and tested]
        if beyond:
            yield f"    if ({' || '.join(beyond)}) continue;"
        terms = [self.term(names[i], self.digits[i].write * unit, True) for i in extents]
        if self.pair.has_names:
            yield f"    const int run = {added(*terms)};"
        else:
            yield f"    const {self.wide} run = {added('into', *terms)};"
        back = f" - {self._elements_in_sector(self.run)}" if tile.write_shift else ""
        yield f"    const int k = c * {tile.vector}{back};"
        if tile.uneven:
            end = self._elements_in_sector(f"{self.run} + {tile.run_elements * unit}")
            yield f"    if (k >= {tile.run_elements} - {end}) continue;"
        if tile.words > 1:
            yield from self._turned(tested)
        else:
            yield from self._gathered(tested)
        yield "}"

    def _elements_in_sector(self, place: str) -> str:
        """Return the elements from the begin of a sector of the target to a place in it."""
        return self.in_sector("target", place) + (f" / {self.unit}" if self.unit > 1 else "")

    def _gathered(self, tested: bool) -> Iterator[str]:
        unit, addresses = self.unit, list(self.addresses())
        for text, _ in addresses:
            yield from indented(text)
        for place, (_, address) in enumerate(addresses):
            wide = TYPES[max(unit, 4)]
            yield f"    const {wide} e{place} = *(const {TYPES[unit]}*)(tile + {address});"
        if self.spread:
            yield from self._packed_halves()
        else:
            yield from texts.PACKED[unit].splitlines()
            yield from ["    out = in_order(out, first);"] if self.tile.stagger else []
        yield from self._put("out", f"{self.run} + k * {unit}", tested)

    def _packed_halves(self) -> Iterator[str]:
        """Yield lines that join elements of 4 bits: two in a byte, four bytes in a word, and two words."""
        for word in range(2):
            pairs = [f"(e{8 * word + 2 * i} | e{8 * word + 2 * i + 1} << 4)" for i in range(4)]
            yield f"    const u32 half{word} = {in_word(pairs)};"
        yield f"    {'const ' * (not self.tile.stagger)}u64 out = (u64)half1 << 32 | half0;"
        if self.tile.stagger:
            yield "    out = out << 16 * first | out >> (64 - 16 * first & 63);"

    def _turned(self, tested: bool) -> Iterator[str]:
        """Yield lines that turn words of neighbours in the source into vectors of as many target runs.

        They read four words at once that are neighbours in shared memory.
        """
        words, inner = self.tile.words, self.tile.read_run[0]
        addresses = list(self.steps(self._kept_at("k")))
        yield from indented(addresses[0][0])
        together = [self.offset(place) for place in range(4)] == [0, 4, 8, 12]
        for place, (_, address) in enumerate(addresses):
            first = place // 4 * 4
            if together and place == first:
                yield f"    const V16 w_{first} = *(const V16*)(tile + {address});"
            value = f"w_{first}.x[{place % 4}]" if together else f"*(const u32*)(tile + {address})"
            yield f"    const u32 w{place} = {value};"
        yield from texts.TURNED[words].splitlines()
        for j in range(words):
            to = added(self.run, f"k * {self.unit}", j * self.digits[inner].write * self.unit)
            yield "    {"
            yield from indented(self._put(f"out{j}", to, tested, {inner: f"(j + {j})"}))
            yield "    }"

    def _put(
        self, value: str, place: str, tested: bool, column: dict[int, str] | None = None
    ) -> Iterator[str]:
        """Yield lines that write a vector to the target: by elements if it is partly beyond a run or a limit.

        Words have a column each. Gathered elements of 4 bits are packed already; turned ones are packed here.
        """
        vector, ends = self.tile.vector, self._run_ends(tested)
        whole = [f"k >= {ends[0]} && k + {vector} <= {ends[1]}"] if ends else []
        limits = []
        for number, limit in enumerate(self.pair.limits):
            if tested and not limit.fills:
                known = self._resets(number) | (column or {})
                whole.append(f"{self._count_at(number, f'k + {vector - 1}', known)} < {limit.bound}")
                limits.append(f"{self._count_at(number, 'k + v', column or {})} < {limit.bound}")
        place, to, kind = self.at(self.pair.target, "target", place), "to", "V16"
        if self.spread:
            value, to, kind = value if value == "out" else f"packed({value})", "(target + (to >> 1))", "u64"
        yield f"    const {self.wide} to = {place};" if self.spread else f"    u8* to = target + {place};"
        if not whole:
            yield f"    *({kind}*){to} = {value};"
            return
        yield f"    if ({' && '.join(whole)}) *({kind}*){to} = {value};"
        yield "    else {"
        yield from indented(indented(self._own(ends, limits)))
        if self.spread:
            yield f"        put((u32*){to}, {value}, own);"
        else:
            unit = TYPES[self.unit]
            yield "        #pragma unroll"
            yield f"        for (int v = 0; v < {vector}; ++v)"
            yield f"            if (own >> v & 1) (({unit}*)to)[v] = (({unit}*)&{value})[v];"
        yield "    }"

    def _own(self, ends: tuple[str, str] | None, limits: Sequence[str]) -> Iterator[str]:
        """Yield lines that make a mask of the elements of a vector to write, a bit or 4 bits for each."""
        vector, each = self.tile.vector, 4 if self.spread else 1
        bits = each * vector
        kind, letters = ("u32", "u") if bits <= 32 else ("u64", "ull")
        every, one = (f"{(1 << count) - 1:#x}{letters}" for count in (bits, each))
        if ends:
            zero, most = f"{cast(self.far)}0", f"{cast(self.far)}{vector}"
            cut = f"{every} >> {bits} - {each} * min(high, {most}) & {every} << {each} * max(low, {zero})"
            yield f"const {self.far} low = {ends[0]} - k, high = {ends[1]} - k;"
            yield f"{kind} own = low < high && low < {vector} && high > 0 ? {cut} : 0;"
        else:
            yield f"{kind} own = {every};"
        if limits:
            yield "#pragma unroll"
            yield f"for (int v = 0; v < {vector}; ++v)"
            yield f"    if (!({' && '.join(limits)})) own &= ~({one} << {each} * v);"

    def _run_ends(self, tested: bool) -> tuple[str, str] | None:
        """Return the first position of the tensor in a run, and its end; None if no vector crosses them."""
        tile, inner = self.tile, self.tile.write_inner
        last = tile.write_run[-1] if tile.write_run else 0
        ragged = tested and bool(tile.write_run) and last in tile.ragged
        if not (tile.partial or ragged):
            return None
        low = f"-{self.origin(last)} * {inner}" if tile.halo else "0"
        return low, f"{self.left(last)} * {inner}" if ragged else str(tile.run_elements)

    def _resets(self, place: int) -> dict[int, str]:
        """Return digits of the write run that begin anew as a limit counts less, at their last values."""
        run, most, resets = self.tile.write_run, 0, 0
        for number, i in enumerate(run):
            count = self.digits[i].counts[place]
            resets = number if count < most else resets
            most += (self.tile.extents[i] - 1) * count
        return {i: str(self.tile.extents[i] - 1) for i in run[:resets]}

    def _count_at(self, place: int, position: str, known: dict[int, str]) -> str:
        """Return the count in a limit of an element at a position of the write run; some digits are known.

        A position before the tile lies in its halo. It is counted from the halo's begin, as divisions round
        to zero.
        """
        tile, run = self.tile, self.tile.write_run
        halo = tile.halo if len(run) > 1 else 0
        position = f"({added(position, halo * tile.write_inner)})"
        names = self.row_names() | self.run_digits(run, tile.extents, position) | known
        before = {run[-1]: -halo} if halo else {}
        every = range(len(self.digits))
        return self.count(place, [added(self.origin(i), names.get(i, 0), before.get(i, 0)) for i in every])


def indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)


def in_word(bytes_: Sequence[str]) -> str:
    """Return four bytes as one word."""
    low, high = (f"__byte_perm({bytes_[i]}, {bytes_[i + 1]}, 0x0040)" for i in (0, 2))
    return f"__byte_perm({low}, {high}, 0x5410)"
