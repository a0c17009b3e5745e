"""The kernel of tiles of 4 bits that are turned 8 by 8."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.codegen.parts.template import filled
from tilewise.moves.kernels import texts
from tilewise.moves.kernels.spelling import NAME, added, cast, counting, farthest
from tilewise.moves.kernels.tile_kernel import AT_ONCE, STATIC
from tilewise.moves.tiles.turned import Turned

_TEMPLATE = """\
$prelude
$fetched
// Element j of word i becomes element i of word j: halves of words first, then bytes, then halves of bytes.
__device__ __forceinline__ void turn(u32 (&x)[8])
{
    u32 half[2][4], byte[4][2];
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        half[0][i] = __byte_perm(x[i], x[i + 4], 0x5410);
        half[1][i] = __byte_perm(x[i], x[i + 4], 0x7632);
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        byte[2 * (i / 2)][i % 2] = __byte_perm(half[i / 2][i % 2], half[i / 2][i % 2 + 2], 0x6240);
        byte[2 * (i / 2) + 1][i % 2] = __byte_perm(half[i / 2][i % 2], half[i / 2][i % 2 + 2], 0x7351);
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        const u32 even = byte[j][0], odd = byte[j][1];
        x[2 * j] = even ^ ((even ^ odd << 4) & 0xf0f0f0f0u);
        x[2 * j + 1] = odd ^ ((odd ^ even >> 4) & 0x0f0f0f0fu);
    }
}

// Elements low to high of a word; the others are other threads'.
__device__ __forceinline__ void put(u32* word, u32 x, int low, int high)
{
    if (low >= 8 || high <= 0) return;
    const u32 own = (low > 0 ? ~0u << 4 * low : ~0u) & (high < 8 ? ~(~0u << 4 * high) : ~0u);
    if (own == ~0u) *word = x;
    else {
        atomicAnd(word, x | ~own);
        atomicOr(word, x & own);
    }
}

extern "C" __global__ void __launch_bounds__($threads, $together)
$name(const u8* __restrict__ source, u8* __restrict__ target)
{
    $shared
    $origins
    const int left = (int)min($length - along, ($far)$rows);
    const int amid = (int)(2 * (u64)source + $from & 7), lead = (int)(2 * (u64)target + $into & 31);
    const $wide from = $from - amid, into = $into - lead;
    const u32* words = (const u32*)(source + (from >> 1));
    u8* const vectors = target + (into >> 1);
    const bool whole = $whole;
    #pragma unroll 1
    for (int i = 0; i < $turns; ++i) {
        const u32 item = threadIdx.x + i * $threads;
        const int c = item % $row_words, r = item / $row_words, last = left - 1 - 8 * r;
        if (last < 0) break;
        u32 x[8] = {};
        $near at[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j) at[j] = amid + 8 * c + $row_places;
        bool inside = whole;
        if (!whole) {
            inside = true;
            #pragma unroll
            for (int j = 0; j < 8; ++j) inside &= from + at[j] >= 8 && from + at[j] <= $last;
        }
        if (inside) {
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                const u32* own = words + (at[j] >> 3);
                x[j] = __funnelshift_r(fetched(own), fetched(own + 1), (u32)at[j] * 4);
            }
        } else {
            #pragma unroll 1
            for (int b = 0; b < 5; ++b)
                #pragma unroll
                for (int j = 0; j < 8; ++j) {
                    const $wide place = (from + at[j] >> 1) + b;
                    const u32 byte = place >= 0 && place < $bytes ? source[place] : 0;
                    const int shift = 8 * b - (int)(at[j] & 1) * 4;
                    x[j] |= shift < 0 ? byte >> 4 : (u32)((u64)byte << shift);
                }
        }
        turn(x);
        #pragma unroll
        for (int j = 0; j < 8; ++j) runs[(8 * c + j) * $run_pitch + (c >> 2) * $skew + 4 + r] = x[j];
    }
    __syncthreads();
    #pragma unroll 1
    for (int i = 0; i < $writes; ++i) {
        const u32 item = threadIdx.x + i * $threads;
        const int c = item % $run_vectors, row = item / $run_vectors;
        if (row >= $row_elements || across + row >= $row_length) break;
        const $near run = lead + $run_places;
        const int k = 32 * c - (int)(run & 31);
        if (k >= $tall || k >= left || (k < 0 && along > 0)) continue;
        const int at = row * $run_pitch + (row >> 5) * $skew + 4 + (k >> 3);
        V16 out;
        #pragma unroll
        for (int w = 0; w < 4; ++w) out.x[w] = __funnelshift_r(runs[at + w], runs[at + w + 1], (u32)k * 4);
        u8* to = vectors + (run + k >> 1);
        if (k >= 0 && k + 32 <= left) *(V16*)to = out;
        else
            #pragma unroll
            for (int w = 0; w < 4; ++w) put((u32*)to + w, out.x[w], -k - 8 * w, left - k - 8 * w);
    }
}
"""


def turned_kernel(tile: Turned, storage: int, name: str = NAME) -> str:
    """Return the source of the kernel, on a source of `storage` bytes.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> from tilewise.moves.tiles.turned import turned_of
    >>> pair = pair_of(S[999, 777], S[(999, 777) : (1, 999)], DType.of("u4"))
    >>> "turn(x);" in turned_kernel(turned_of(pair), 388112)
    True
    """
    text = _Text(tile)
    size, row_vectors = tile.shared_bytes, tile.tall // 32 + 1
    dynamic = "extern __shared__ __align__(128) u8 tile[];\n"
    dynamic += "auto const runs = (u32*)tile;"  # no pointer that a checked kernel tests
    slots = {
        "prelude": texts.PRELUDE,
        "fetched": texts.FETCHED["u32"],
        "threads": tile.threads,
        "together": AT_ONCE // tile.threads,
        "name": name,
        "shared": dynamic if size > STATIC else f"__shared__ u32 runs[{size // 4}];",
        "origins": "\n".join(text.origins()),
        "wide": text.wide,
        "near": text.near,
        "far": text.far,
        "from": text.begin("read", tile.pair.source.start, tile.read_run, tile.write_run),
        "into": text.begin("write", tile.pair.target.start, tile.write_run, tile.read_run),
        "whole": text.whole(2 * storage),
        "last": 2 * storage - 16,
        "bytes": storage,
        "row_places": text.places(tile.write_run, "read", "r", 8, "along + 8 * r", "min(j, last)"),
        "run_places": text.places(tile.read_run, "write", "row", 1, "across + row"),
        "length": f"({text.far}){tile.length(tile.write_run)}",
        "row_length": tile.length(tile.read_run),
        "rows": tile.rows,
        "tall": tile.tall,
        "row_elements": tile.wide,
        "row_words": tile.wide // 8,
        "run_vectors": row_vectors,
        "run_pitch": tile.run_pitch,
        "skew": tile.skew,
        "turns": -(-tile.rows * tile.wide // 64 // tile.threads),
        "writes": -(-tile.wide * row_vectors // tile.threads),
    }
    return filled(_TEMPLATE, slots) + "\n"


class _Text:
    """Terms of addresses, counts and tests of a tile.

    Where a run is one digit, the begin of a block is added once, and places count from there.
    """

    def __init__(self, tile: Turned) -> None:
        self.tile, self.digits = tile, tile.digits
        self.names = {run: f"o{run[0]}" for run in tile.counts}
        self.names |= {tile.write_run: "along", tile.read_run: "across"}
        """Names of a tile's begin: in the target's run, across it in the source's run, in other digits."""
        self.wide = counting(farthest(tile.pair) + 8 * tile.wide)
        """The type of a place in a storage; `near` is that of a place in a tile, `far` of one in a run."""
        self.near = counting(max(self._reach(tile.write_run, "read"), self._reach(tile.read_run, "write")))
        self.far = counting(max(map(tile.length, (tile.read_run, tile.write_run))) + tile.wide + tile.tall)

    def _reach(self, run: tuple[int, ...], way: str) -> int:
        """Return a bound of the distance between a run's positions in a tile, on the other side."""
        steps: list[int] = [abs(getattr(self.digits[i], way)) for i in run]
        if len(run) == 1:
            return (self.tile.wide + self.tile.rows) * (steps[0] + 1)
        extents = (self.digits[i].extent for i in run)
        return sum(map(int.__mul__, extents, steps)) + 8 * self.tile.wide

    def origins(self) -> Iterator[str]:
        """Yield the begin of the block's tile."""
        inner, extents = 1, {self.tile.write_run: self.tile.tall, self.tile.read_run: self.tile.wide}
        for run, count in self.tile.counts.items():
            text = f"blockIdx.x / {inner}u" if inner > 1 else "blockIdx.x"
            step = f" * {extents[run]}" if run in extents else ""
            yield f"const {self.far} {self.names[run]} = ({self.far})({text} % {count}u){step};"
            inner *= count

    def begin(self, way: str, start: int, ours: tuple[int, ...], theirs: tuple[int, ...]) -> str:
        """Return the element of a side with the runs `ours` from which places in the tile count."""
        terms = []
        for run, name in self.names.items():
            step = getattr(self.digits[run[0]], way)
            if step and run != ours and (run != theirs or len(run) == 1):
                terms.append(f"{cast(self.wide)}{name} * {step}")
        return added(self.names[ours], *terms, start)

    def places(
        self, run: tuple[int, ...], way: str, row: str, rows: int, position: str, more: str = "0"
    ) -> str:
        """Return the places on the other side from a run's begin to a position in it, and some more."""
        near, steps = cast(self.near), [getattr(self.digits[i], way) for i in run]
        if len(run) == 1:
            further = f" + {more} * {steps[0]}" if rows > 1 else ""
            return f"{near}{row} * {rows * steps[0]}{further}"
        position = f"({position} + {more})" if rows > 1 else f"({position})"
        terms, inner = [], 1
        for i, step in zip(run, steps, strict=True):
            digit = position if inner == 1 else f"{position} / {inner}"
            digit = digit if i == run[-1] else f"{digit} % {self.digits[i].extent}"
            terms.append(f"{near}({digit}) * {step}")
            inner *= self.digits[i].extent
        return added(*terms)

    def whole(self, elements: int) -> str:
        """Return the test that a tile's words are all in the storage; false where rows lie unevenly apart."""
        run = self.tile.write_run
        if len(run) > 1:
            return "false"
        step = self.digits[run[0]].read
        low, high = "from", added("from", f"{cast(self.wide)}(left - 1) * {step}")
        if step < 0:
            low, high = high, low
        return f"{low} >= {0 if step >= 0 else 8} && {high} <= {elements - self.tile.wide - 16}"
