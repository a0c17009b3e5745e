"""The kernel of a tile in CUDA C++: read vectors, keep them in shared memory, gather and write vectors.

Only tiles that have an edge of the tensor, a fill, or an end of the storage, test what they move.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tilewise.emit.parts.template import filled
from tilewise.hardware.memory.sectors import SECTOR
from tilewise.moves.pair import Side
from tilewise.moves.tile import LINE, VECTOR, Tile

NAME = "move"
INT = 1 << 31
STATIC = 48 * 1024
"""Bytes of shared memory that a kernel has without asking for them."""

MANY = 8
"""Elements of a vector above which loops at edges are not unrolled."""

TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "V16"}

PRELUDE = """\
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32; typedef unsigned long long u64;
struct alignas(16) V16 { u32 x[4]; };
"""
"""The names that kernels have for integers, and for a vector."""

_TEMPLATE = """\
$prelude

$functions

extern "C" __global__ void __launch_bounds__($threads)
$name(const u8* __restrict__ source, u8* __restrict__ target)
{
    $shared
    $origins
    const $wide from = $from, into = $into;
    $read
    __syncthreads();
    $write
}
"""

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


def tile_kernel(tile: Tile, storage: int, fill: bytes, name: str = NAME) -> str:
    """The source of the kernel: $blocks blocks of $threads threads, on a source of `storage` bytes.

        requires  pointers aligned as the tile was chosen for; `fill` is an element

    >>> from tilewise import DType, S
    >>> from tilewise.moves.digits import simplest
    >>> from tilewise.moves.pair import pair_of
    >>> from tilewise.moves.tiling import tile_of
    >>> tile = tile_of(simplest(pair_of(S[512, 512], S[(512, 512) : (1, 512)], DType.of("f32"))))
    >>> "held0[i] = *(const V16*)at;" in tile_kernel(tile, 1 << 20, bytes(4))
    True
    """
    return TileText(tile, storage, fill).source(name)


_HALVES = ("{0} & 0x0f0f0f0fu | ({1} & 0x0f0f0f0fu) << 4", "{0} >> 4 & 0x0f0f0f0fu | {1} & 0xf0f0f0f0u")
"""The low, and the high, halves of the bytes of two words, side by side in bytes."""

Spelled = tuple[list[str], str]
"""Lines that are written first, and the address in shared memory."""


class TileText:
    """The parts of the kernel's text."""

    def __init__(self, tile: Tile, storage: int, fill: bytes) -> None:
        self.tile, self.storage = tile, storage
        repeats = VECTOR // len(fill)
        self.fill = int.from_bytes((fill * repeats)[: tile.unit], "little")
        sizes = [side.size * tile.unit for side in (tile.pair.source, tile.pair.target)]
        reach = [
            sum(abs(getattr(digit, name)) * digit.extent for digit in tile.digits) * tile.unit
            for name in ("read", "write")
        ]
        counts = [
            *(digit.extent for digit in tile.digits),
            *(limit.bound for limit in tile.pair.limits),
        ]
        self.wide = _counting(max(*sizes, *reach))
        """The type of a number of bytes, and below that of one of elements along a digit, or in a limit."""
        self.far = _counting(max(counts, default=0))

    def source(self, name: str) -> str:
        tile = self.tile
        slots = {
            "prelude": PRELUDE,
            "functions": "\n".join(self._functions()),
            "threads": tile.threads,
            "name": name,
            "shared": self._shared(),
            "origins": "\n".join(self._origins()),
            "wide": self.wide,
            "from": self._from(),
            "into": self._sum("write", tile.block_order, "o", tile.pair.target.start),
            "read": "\n".join(self._reads()),
            "write": "\n".join(self._writes()),
        }
        return filled(_TEMPLATE, slots) + "\n"

    # -- addresses ---------------------------------------------------------------------------------

    def _functions(self) -> Iterator[str]:
        shift = self.tile.swizzle_shift
        if shift is not None:
            yield f"__device__ __forceinline__ int kept(int x) {{ return x ^ (x >> {shift} & 0x70); }}"
        sides = (("source_at", self.tile.pair.source), ("target_at", self.tile.pair.target))
        for name, side in sides:
            if side.swizzles or side.outer:
                yield f"__device__ __forceinline__ {self.wide} {name}({self.wide} x)"
                yield "{"
                for swizzle in reversed(side.swizzles):
                    yield f"    {swizzled(swizzle.bits, swizzle.base, swizzle.shift, self.tile.unit)}"
                yield f"    return {added('x', side.outer * self.tile.unit)};"
                yield "}"
        if self._tested:
            yield filled(_PART, {"bytes": self.storage})

    def _at(self, side: Side, name: str, address: str) -> str:
        return f"{name}_at({address})" if side.swizzles or side.outer else address

    def _sum(self, way: str, digits: Sequence[int], prefix: str, start: int = 0) -> str:
        """The bytes to which digits add up."""
        terms = [
            self._term(f"{prefix}{i}", getattr(self.tile.digits[i], way) * self.tile.unit) for i in digits
        ]
        return added(*terms, start * self.tile.unit)

    def _term(self, name: str, step: int) -> str:
        wide = f"{_as(self.wide)}{name}"
        return wide if step == 1 else f"{wide} * {step}"

    def _kept(self, names: dict[int, str]) -> list[str]:
        """Bytes in shared memory of in-tile digits, to be added."""
        tile = self.tile
        terms = [f"{name} * {tile.pitches[i]}" for i, name in names.items() if tile.pitches[i]]
        folded = names.get(tile.write_run[0]) if tile.fold else None
        return [*terms, f"{folded} / {tile.vector} * {tile.fold}"] if folded else terms

    # -- the block ---------------------------------------------------------------------------------

    def _shared(self) -> str:
        if self.tile.shared_bytes > STATIC:
            return "extern __shared__ __align__(128) u8 tile[];"
        return f"__shared__ __align__(128) u8 tile[{self.tile.shared_bytes}];"

    def _origins(self) -> Iterator[str]:
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

    def _from(self) -> str:
        start = self.tile.pair.source.start
        if self.tile.halo:
            start -= self.tile.halo * self.tile.digits[self.tile.write_run[-1]].read
        return self._sum("read", self.tile.block_order, "o", start)

    def _origin(self, digit: int) -> str:
        return f"o{digit}" if digit in self.tile.block_order else "0"

    def _inside(self) -> str:
        """Whether all that the tile reads is in the storage, and nothing of it beyond a limit that fills."""
        tile, tests = self.tile, []
        for place, limit in enumerate(tile.pair.limits):
            tests += [f"{self._count(place, self._last)} < {limit.bound}"] if limit.fills else []
        if self._reads_past or tile.halo or tile.ragged or tile.pair.limits:
            low, high = self._reach()
            tests.append(
                f"{added('from', low - SECTOR)} >= 0 && {added('from', high + SECTOR)} <= {self.storage}"
            )
        return " && ".join(tests)

    @property
    def _reads_past(self) -> bool:
        """Whether a vector may be read of which some bytes are no element's."""
        return self.tile.read_shift or self.tile.run_bytes % VECTOR != 0 or self._run_ragged

    @property
    def _run_ragged(self) -> bool:
        run = self.tile.read_run
        return bool(run) and run[-1] in self.tile.ragged

    def _reach(self) -> tuple[int, int]:
        """The least and the greatest byte of a tile, from where it begins."""
        steps = [(self.tile.held[i] - 1) * self.tile.digits[i].read * self.tile.unit for i in self.tile.rows]
        return sum(min(0, step) for step in steps), sum(max(0, step) for step in steps) + self.tile.run_bytes

    def _count(self, place: int, digits: Sequence[str]) -> str:
        """What digits, as text, count in a limit."""
        counts = [digit.counts[place] for digit in self.tile.digits]
        terms = [
            text if count == 1 else f"{_as(self.far)}{bracketed(text)} * {count}"
            for count, text in zip(counts, digits, strict=True)
            if count and text != "0"
        ]
        return added(*terms)

    # -- reading -----------------------------------------------------------------------------------

    @property
    def _tested(self) -> bool:
        """Whether there are tiles that test what they read."""
        return bool(self._whole() or self._inside())

    def _reads(self) -> Iterator[str]:
        """What reads the tile; one that has an edge of the tensor, or of the storage, tests every vector."""
        if self.tile.read_shift:
            yield "const int shift = (int)((u64)(source + from) & 31);"
        if not self._tested:
            yield from self._plain_read()
            return
        whole, inside = self._whole(), self._inside()
        if whole:
            yield f"const bool whole = {whole};"
        yield f"if ({' && '.join((['whole'] if whole else []) + ([inside] if inside else []))}) {{"
        yield from (f"    {line}" for line in self._plain_read())
        yield "} else {"
        yield from (f"    {line}" for line in self._guarded_read())
        yield "}"

    def _plain_read(self) -> Iterator[str]:
        """All vectors to registers first, so that many are under way at once; then to shared memory."""
        for number, (_, vectors) in enumerate(self._parts):
            count = -(-self.tile.row_count * vectors // self.tile.threads)
            yield f"V16 held{number}[{count}];"
        yield from self._read("held", load=True)
        yield from self._read("held", store=True)

    def _guarded_read(self) -> Iterator[str]:
        """Vectors one after another, of which the storage may have a part."""
        yield from self._read("one", load=True, store=True)

    @property
    def _parts(self) -> list[tuple[int, int]]:
        """(the first vector, how many) of rows: those that a row has wherever it begins, and the rest."""
        tile = self.tile
        whole = tile.run_bytes // VECTOR
        if not tile.read_shift or not whole:
            return [(0, tile.run_vectors)]
        return [(0, whole), (whole, tile.run_vectors - whole)]

    def _read(self, name: str, *, load: bool = False, store: bool = False) -> Iterator[str]:
        """Loops over the vectors of the rows: from the source to registers, from there to shared memory."""
        tile, guarded = self.tile, name == "one"
        for number, (first, vectors) in enumerate(self._parts):
            yield from self._loop(tile.row_count * vectors, "4" if guarded else "", guarded)
            if tile.rows:
                place = added(first, f"item % {vectors}")
                yield f"    const int c = {place}, row = item / {vectors};"
            else:
                yield f"    const int c = {added(first, 'item')};"
            yield from _split("row", tile.rows, tile.held)
            value = name if guarded else f"{name}{number}[i]"
            if load:
                yield from self._load(value, guarded)
            if store:
                yield from self._store(value)
            yield "}"

    def _loop(self, items: int, times: str = "", at_edges: bool = False) -> Iterator[str]:
        """A loop of the threads over items, unrolled so many times, or wholly.

        At edges loops over bytes stay loops: what they do for 16 elements a vector takes the compiler long.
        """
        if at_edges and self.tile.vector > MANY:
            times = "1"
        count = -(-items // self.tile.threads)
        yield f"#pragma unroll {times}".rstrip()
        yield f"for (int i = 0; i < {count}; ++i) {{"
        yield f"    const int item = threadIdx.x + i * {self.tile.threads};"
        if items % self.tile.threads:
            yield f"    if (item >= {items}) break;"

    def _load(self, value: str, guarded: bool) -> Iterator[str]:
        tile = self.tile
        names = {i: self._clamped(i) if guarded else f"q{i}" for i in tile.rows}
        terms = [self._term(names[i], tile.digits[i].read * tile.unit) for i in tile.rows]
        if tile.read_shift:
            yield f"    {self.wide} place = {' + '.join(['from', *terms])};"
            yield "    const int lead = (int)((u64)(source + place) & 31);"
            yield f"    if (c * 16 >= lead + {tile.run_bytes} || c * 16 + 16 <= lead) continue;"
            yield "    const u8* at = source + place - lead + c * 16;"
        else:
            place = " + ".join(["from", *terms, "c * 16"])
            if self._run_ragged and guarded:
                left = self._left(tile.read_run[-1])
                yield f"    if (c * 16 >= {left} * {self._read_inner * tile.unit}) continue;"
            yield f"    const u8* at = source + {self._at(tile.pair.source, 'source', place)};"
        if not guarded:
            yield f"    {value} = *(const V16*)at;"
            return
        within = f"at >= source && at + 16 <= source + {self.storage}ull"
        yield f"    V16 {value} = {within} ? *(const V16*)at : part(at, source);"
        yield from self._fill()

    @property
    def _read_inner(self) -> int:
        return prod(self.tile.held[i] for i in self.tile.read_run[:-1])

    def _left(self, digit: int) -> str:
        return f"({self.tile.digits[digit].extent} - {self._origin(digit)})"

    def _clamped(self, digit: int) -> str:
        """A digit of a row, kept within the tensor: what is read beyond is not written."""
        tile, name = self.tile, f"q{digit}"
        halo = tile.halo if tile.halo and digit == tile.write_run[-1] else 0
        if digit not in tile.ragged and not halo:
            return name
        last = tile.digits[digit].extent - 1 + halo
        name = f"{_as(self.far)}{name}"
        low = f"max({name}, {halo} - {self._origin(digit)})" if halo else name
        return f"min({low}, {last} - {self._origin(digit)})"

    def _fill(self) -> Iterator[str]:
        """Elements beyond a limit that fills are the fill."""
        tile = self.tile
        places = [place for place, limit in enumerate(tile.pair.limits) if limit.fills]
        if not places:
            return
        lead = f" - lead / {tile.unit}" if tile.read_shift else ""
        yield f"    for (int v = 0; v < {tile.vector}; ++v) {{"
        yield f"        const int position = c * {tile.vector} + v{lead};"
        names = self._run_digits(tile.read_run, tile.held, "position")
        texts = [
            added(
                self._origin(i),
                names.get(i, f"q{i}" if i in tile.rows else 0),
                -tile.halo if tile.halo and i == tile.write_run[-1] else 0,
            )
            for i in range(len(tile.digits))
        ]
        beyond = " || ".join(
            f"{self._count(place, texts)} >= {tile.pair.limits[place].bound}" for place in places
        )
        value = _constant(self.fill, tile.unit)
        yield f"        if ({beyond}) (({TYPES[tile.unit]}*)&one)[v] = {value};"
        yield "    }"

    def _run_digits(self, run: Sequence[int], extents: Sequence[int], position: str) -> dict[int, str]:
        """The digits of a run, as text, of a position in it."""
        names, inner = {}, 1
        for i in run:
            text = position if inner == 1 else f"{position} / {inner}"
            names[i] = f"({text})" if i == run[-1] else f"({text} % {extents[i]})"
            inner *= extents[i]
        return names

    def _store(self, value: str) -> Iterator[str]:
        tile = self.tile
        rows, start = self._kept({i: f"q{i}" for i in tile.rows}), []
        if tile.read_shift:
            leads = [(f"q{i}", tile.digits[i].read * tile.unit % 32) for i in tile.rows]
            behind = added("shift", *(f"{name} * {step}" for name, step in leads if step))
            yield (
                f"    const int back = {behind};"
                if behind == "shift"
                else f"    const int back = ({behind}) & 31;"
            )
            yield f"    if (c * 16 >= back + {tile.run_bytes} || c * 16 + 16 <= back) continue;"
            start = ["shift - back"]
        address = added(*start, *rows, "c * 16")
        if tile.swizzle_shift is not None:
            address = f"kept({address})"
        if tile.word_stores:
            yield f"    for (int w = 0; w < 4; ++w) ((u32*)(tile + {address}))[w] = {value}.x[w];"
        else:
            yield f"    *(V16*)(tile + {address}) = {value};"

    # -- writing -----------------------------------------------------------------------------------

    def _whole(self) -> str:
        """Whether no digit of the tile goes beyond the tensor, nor one of its halo."""
        tile = self.tile
        tests = [f"{self._origin(i)} + {tile.extents[i]} <= {tile.digits[i].extent}" for i in tile.ragged]
        tests += [f"{self._origin(tile.write_run[-1])} >= {tile.halo}"] if tile.halo else []
        for place, limit in enumerate(tile.pair.limits):
            tests += [] if limit.fills else [f"{self._count(place, self._last)} < {limit.bound}"]
        return " && ".join(tests)

    def _writes(self) -> Iterator[str]:
        """What writes the tile; one that has an edge of the tensor tests every vector."""
        if not self._whole():
            yield from self._write(tested=False)
            return
        yield "if (whole) {"
        yield from (f"    {line}" for line in self._write(tested=False))
        yield "} else {"
        yield from (f"    {line}" for line in self._write(tested=True))
        yield "}"

    @property
    def _last(self) -> list[str]:
        """The last value of each digit in the tile."""
        return [added(self._origin(i), extent - 1) for i, extent in enumerate(self.tile.extents)]

    def _write(self, *, tested: bool) -> Iterator[str]:
        """A loop over the vectors of the target: gathered from shared memory, and written."""
        tile = self.tile
        vectors, extents = tile.write_vectors, tile.write_row_extents
        rows, columns = prod(extents.values()), min(vectors, tile.columns)
        groups = -(-vectors // columns)
        yield from self._loop(groups * columns * rows, at_edges=tested)
        column, row = f"item % {columns}", f"item / {columns}"
        if groups > 1:
            column, row = f"{column} + item / {columns * rows} * {columns}", f"{row} % {rows}"
        yield f"    const int c = {column}, row = {row};" if extents else "    const int c = item;"
        if groups * columns > vectors:
            yield f"    if (c >= {vectors}) continue;"
        yield from _split("row", tuple(extents), extents)
        if tile.words > 1:
            inner = tile.read_run[0]
            yield f"    const int j = q{inner} * {tile.words};"
        names = self._row_names()
        beyond = [f"{names[i]} >= {self._left(i)}" for i in extents if i in tile.ragged and tested]
        if beyond:
            yield f"    if ({' || '.join(beyond)}) continue;"
        terms = [self._term(names[i], tile.digits[i].write * tile.unit) for i in extents]
        yield f"    const {self.wide} run = {' + '.join(['into', *terms])};"
        yield from self._position()
        yield from (self._turned(tested) if tile.words > 1 else self._gathered(tested))
        yield "}"

    def _row_names(self) -> dict[int, str]:
        names = {i: f"q{i}" for i in self.tile.write_rows}
        if self.tile.words > 1:
            names[self.tile.read_run[0]] = "j"
        return names

    def _position(self) -> Iterator[str]:
        """Where in its run a vector begins: at a sector's, or a vector's, multiple."""
        tile = self.tile
        if tile.write_shift:
            yield f"    const int k = c * {tile.vector} - {self._in_sector('target + run')};"
            if tile.uneven:
                end = self._in_sector(f"target + run + {tile.run_elements * tile.unit}")
                yield f"    if (k >= {tile.run_elements} - {end}) continue;"
        else:
            yield f"    const int k = c * {tile.vector};"

    def _in_sector(self, address: str) -> str:
        """How many elements an address lies behind the begin of its sector."""
        unit = f" / {self.tile.unit}" if self.tile.unit > 1 else ""
        return f"(int)((u64)({address}) & {SECTOR - 1}){unit}"

    def _gathered(self, tested: bool) -> Iterator[str]:
        tile, unit = self.tile, self.tile.unit
        addresses = list(self._addresses())
        for text, _ in addresses:
            yield from (f"    {line}" for line in text)
        for place, (_, address) in enumerate(addresses):
            wide = TYPES[max(unit, 4)]
            yield f"    const {wide} e{place} = *(const {TYPES[unit]}*)(tile + {address});"
        yield "    V16 out;"
        yield from _packed(unit)
        yield from self._put("out", self._at(tile.pair.target, "target", f"run + k * {unit}"), tested)

    def _addresses(self) -> Iterator[Spelled]:
        """Of each element of a vector."""
        tile = self.tile
        if self._partial:
            yield from self._within()
        elif tile.fold:
            yield from self._folded()
        elif tile.nested:
            ahead = tile.halo * tile.pitches[tile.write_run[-1]] if len(tile.write_run) == 1 else 0
            yield from self._steps(added(*self._rows, *self._kept_run("k"), ahead))
        elif tile.extents[tile.write_run[0]] >= tile.vector:
            yield from self._past()
        else:
            yield from self._carried()

    @property
    def _rows(self) -> list[str]:
        """Where a write run begins in shared memory, to be added up."""
        return [*(["shift"] if self.tile.read_shift else []), *self._kept(self._row_names())]

    @property
    def _partial(self) -> bool:
        """Whether some vector has elements that are not of its run."""
        tile = self.tile
        return not tile.halo and bool(tile.run_elements % tile.vector or tile.write_shift)

    def _within(self) -> Iterator[Spelled]:
        """Elements of a vector that the run may not fill: those beyond it are read within it."""
        for place in range(self.tile.vector):
            line = f"const int p{place} = min(max(k + {place}, 0), {self.tile.run_elements - 1});"
            yield [line], self._swizzled(added(*self._rows, *self._kept_run(f"p{place}")))

    def _kept_run(self, position: str) -> list[str]:
        """Bytes in shared memory of a position in the write run, to be added."""
        return self._kept(self._run_digits(self.tile.write_run, self.tile.extents, position))

    def _steps(self, base: str, at: str = "at") -> Iterator[Spelled]:
        """Elements that are always as far apart: the first address, and constants."""
        tile = self.tile
        steps = [self._offset(place) for place in range(tile.vector)]
        if tile.swizzle_shift is None:
            named, texts = base, [added(at, step) for step in steps]
        elif self._kept_together(steps):
            named, texts = f"kept({base})", [added(at, step) for step in steps]
        else:
            named, texts = base, [f"kept({added(at, step)})" for step in steps]
        for place, text in enumerate(texts):
            yield [] if place else [f"const int {at} = {named};"], text

    def _kept_together(self, steps: Sequence[int]) -> bool:
        """Whether the swizzle moves all elements of a vector by the same.

        Steps between them that are whole lines, and a power of two, touch no bit that it reads or changes.
        """
        step = steps[1] if len(steps) > 1 else 0
        regular = all(own == place * step for place, own in enumerate(steps))
        return step == 0 or (regular and step >= LINE and step.bit_count() == 1)

    def _offset(self, place: int) -> int:
        """Bytes in shared memory from a vector's first element to another, where no digit ends between."""
        tile, offset = self.tile, 0
        for i in tile.write_run:
            whole = i == tile.write_run[-1]
            offset += (place if whole else place % tile.extents[i]) * tile.pitches[i]
            place //= tile.extents[i]
        return offset

    def _folded(self) -> Iterator[Spelled]:
        """Elements in rows of which some lie behind a fold."""
        tile = self.tile
        step = tile.pitches[tile.write_run[0]]
        lines = [
            f"const u32 p = {added('k', tile.halo)}, digit = p % {tile.vector}u;",
            f"const int at = {added(*self._rows, *self._kept_run('p'))}, past = at + {tile.fold};",
        ]
        for place in range(tile.vector):
            part = f"(digit < {tile.vector - place}u ? at : past) + {place * step}" if place else "at"
            yield [] if place else lines, part

    def _past(self) -> Iterator[Spelled]:
        """Elements along several digits of which the fastest ends once at most: from there they go on.

        Both parts of a vector have an address, of which each of its elements takes one.
        """
        tile = self.tile
        extent, step = tile.extents[tile.write_run[0]], tile.pitches[tile.write_run[0]]
        lines = [
            f"const u32 p = {added('k', tile.halo * tile.write_inner)}, digit = p % {extent}u;",
            f"const u32 next = p - digit + {extent}u;",
            f"const int at = {added(*self._rows, *self._kept_run('p'))};",
            f"const int past = {added(*self._rows, *self._kept_run('next'), f'(int)(p - next) * {step}')};",
        ]
        for place in range(tile.vector):
            part = f"(digit < {extent - place}u ? at : past) + {place * step}" if place else "at"
            yield [] if place else lines, self._swizzled(part)

    def _carried(self) -> Iterator[Spelled]:
        """Elements along several digits: one address from the other, with a carry where a digit ends."""
        tile = self.tile
        run = tile.write_run
        ahead = tile.halo * tile.write_inner
        for place in range(tile.vector):
            position = added("k", place + ahead)
            if len(run) == 2 and tile.extents[run[0]].bit_count() > 1:
                yield self._carry(place, position), self._swizzled(f"at{place}")
            else:
                address = added(*self._rows, *self._kept_run(f"p{place}"))
                yield [f"const u32 p{place} = {position};"], self._swizzled(address)

    def _carry(self, place: int, position: str) -> list[str]:
        tile = self.tile
        inner, outer = tile.write_run
        extent, step, jump = tile.extents[inner], tile.pitches[inner], tile.pitches[outer]
        if not place:
            return [
                f"int digit = ({position}) % {extent};",
                f"const int at0 = {added(*self._rows, *self._kept_run(f'({position})'))};",
            ]
        back = jump - (extent - 1) * step
        return [
            f"const int at{place} = at{place - 1} + (digit == {extent - 1} ? {back} : {step});",
            f"digit = digit == {extent - 1} ? 0 : digit + 1;",
        ]

    def _swizzled(self, address: str) -> str:
        return address if self.tile.swizzle_shift is None else f"kept({address})"

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
        addresses = list(self._steps(added(*self._rows, *self._kept_run("k"), further), at))
        for text, _ in addresses:
            yield from (f"    {line}" for line in text)
        if [self._offset(place) for place in range(4)] != [0, 4, 8, 12]:
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
            yield from _turn(tile.words, word)
        step = tile.digits[tile.read_run[0]].write
        for j in range(tile.words):
            further = (ahead + j * step) * tile.unit
            address = added("run", f"k * {tile.unit}", further)
            yield "    {"
            for line in self._put(f"out{j}", self._at(tile.pair.target, "target", address), tested):
                yield f"    {line}"
            yield "    }"

    def _put(self, value: str, address: str, tested: bool) -> Iterator[str]:
        """A vector to the target; where it is not all the run's, or beyond a limit, element by element."""
        tile, unit = self.tile, TYPES[self.tile.unit]
        yield f"    u8* to = target + {address};"
        tests = list(self._tests(tested))
        if not tests:
            yield f"    *(V16*)to = {value};"
            return
        whole, each = (" && ".join(parts) for parts in zip(*tests, strict=True))
        yield f"    if ({whole}) *(V16*)to = {value};"
        yield "    else"
        yield "        #pragma unroll"
        yield f"        for (int v = 0; v < {tile.vector}; ++v)"
        yield f"            if ({each}) (({unit}*)to)[v] = (({unit}*)&{value})[v];"

    def _tests(self, tested: bool) -> Iterator[tuple[str, str]]:
        """What has to hold of a whole vector at k, and of its element v, to be written."""
        tile = self.tile
        last = tile.write_run[-1] if tile.write_run else None
        ragged = tested and last is not None and last in tile.ragged
        if self._partial or ragged:
            low = f"-{self._origin(last)} * {tile.write_inner}" if tile.halo and last is not None else "0"
            high = str(tile.run_elements)
            if ragged and last is not None:
                high = f"{self._left(last)} * {tile.write_inner}"
            yield (
                f"k >= {low} && k + {tile.vector} <= {high}",
                f"k + v >= {low} && k + v < {high}",
            )
        for place, limit in enumerate(tile.pair.limits):
            if tested and not limit.fills:
                yield tuple(  # type: ignore[misc]
                    f"{self._count_at(place, position)} < {limit.bound}"
                    for position in (f"(k + {tile.vector - 1})", "(k + v)")
                )

    def _count_at(self, place: int, position: str) -> str:
        """What an element at a position of the write run counts in a limit."""
        tile = self.tile
        names = self._row_names() | self._run_digits(tile.write_run, tile.extents, position)
        return self._count(place, [added(self._origin(i), names.get(i, 0)) for i in range(len(tile.digits))])


def _counting(most: int) -> str:
    """The type that counts so far, and a tile further."""
    return "long long" if most >= INT // 2 else "int"


def _as(kind: str) -> str:
    """A cast of an int to that type."""
    return "" if kind == "int" else f"({kind})"


def added(*terms: str | int) -> str:
    """Terms and numbers as a sum.

    >>> added("a", "b * 4", -31), added("a", 0), added(0)
    ('a + b * 4 - 31', 'a', '0')
    """
    kept = [str(term) for term in terms if term not in (0, "0")]
    return " + ".join(kept).replace("+ -", "- ") or "0"


def bracketed(text: str) -> str:
    """A sum as a factor."""
    return f"({text})" if " " in text else text


def _split(name: str, digits: Sequence[int], extents: Sequence[int] | dict[int, int]) -> Iterator[str]:
    """The digits of an index, the fastest first."""
    inner = 1
    for i in digits:
        text = name if inner == 1 else f"{name} / {inner}"
        yield (
            f"    const int q{i} = {text};"
            if i == digits[-1]
            else f"    const int q{i} = {text} % {extents[i]};"
        )
        inner *= extents[i]


def _packed(unit: int) -> Iterator[str]:
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
            low, high = (f"__byte_perm(e{4 * word + i}, e{4 * word + i + 1}, 0x0040)" for i in (0, 2))
            yield f"    out.x[{word}] = __byte_perm({low}, {high}, 0x5410);"


def _turn(words: int, word: int) -> Iterator[str]:
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


def swizzled(bits: int, base: int, shift: int, unit: int) -> str:
    """A statement that swizzles a byte address x, by a swizzle over elements of some bytes."""
    base += unit.bit_length() - 1
    source = (1 << bits) - 1 << base + max(shift, 0)
    way = f">> {shift}" if shift >= 0 else f"<< {-shift}"
    return f"x ^= (x & {source}ll) {way};"


def _constant(value: int, unit: int) -> str:
    if unit < 16:
        return f"({TYPES[unit]}){value}ull"
    words = ", ".join(f"{value >> 32 * word & 0xFFFFFFFF}u" for word in range(4))
    return f"V16{{{{{words}}}}}"
