"""The kernel of a tile in CUDA C++: read vectors, keep them in shared memory, gather and write vectors."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.emit.parts.template import filled
from tilewise.moves.kernels.reading import Reading
from tilewise.moves.kernels.spelling import NAME, PRELUDE, added, swizzled
from tilewise.moves.kernels.spread import SpreadReading, SpreadWriting
from tilewise.moves.kernels.writing import Writing
from tilewise.moves.tiles.tile import Tile

STATIC = 48 * 1024
"""Bytes of shared memory that a kernel has without asking for them."""

AT_ONCE, PARTED = 1536, 768
"""Threads for which the registers of a multiprocessor are to last: that gather elements of one or two bytes,
or turn words of 4 bits; and that gather halves of bytes."""

HELD = 6.5
"""Vectors of the source that a thread may hold at most for that, beside what it gathers."""

_AT_ONCE = """\
// Threads that a multiprocessor has at once.
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ / 100 == 10
#define MOVE_AT_ONCE 2048
#else
#define MOVE_AT_ONCE 1024
#endif
"""

_TEMPLATE = """\
$prelude

$functions

extern "C" __global__ void __launch_bounds__($bounds)
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


def tile_kernel(tile: Tile, storage: int, fill: bytes, name: str = NAME) -> str:
    """The source of the kernel: $blocks blocks of $threads threads, on a source of `storage` bytes.

        requires  pointers aligned as the tile was chosen for; `fill` is an element

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.digits import simplest
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> from tilewise.moves.tiles.tiling import tile_of
    >>> tile = tile_of(simplest(pair_of(S[512, 512], S[(512, 512) : (1, 512)], DType.of("f32"))))
    >>> "held0[i] = fetched(at);" in tile_kernel(tile, 1 << 20, bytes(4))
    True
    """
    if tile.pair.spread:
        one = bytes([fill[0] & 15])
        return kernel_of(SpreadReading(tile, storage, one), SpreadWriting(tile, storage, one), name)
    return kernel_of(Reading(tile, storage, fill), Writing(tile, storage, fill), name)


def kernel_of(reading: Reading, writing: Writing, name: str) -> str:
    """The kernel whose halves these are."""
    tile = reading.tile
    slots = {
        "prelude": PRELUDE,
        "functions": "\n".join([*_functions(reading), *writing.functions()]),
        "bounds": _bounds(tile),
        "name": name,
        "shared": _shared(tile),
        "origins": "\n".join(reading.origins()),
        "wide": reading.wide,
        "from": reading.begin(),
        "into": writing.begin(),
        "read": "\n".join(reading.lines()),
        "write": "\n".join(writing.lines()),
    }
    return filled(_TEMPLATE, slots) + "\n"


def _functions(reading: Reading) -> Iterator[str]:
    """Functions of addresses, and what reads a part of a vector."""
    if reading.tile.few_registers:
        yield _AT_ONCE
    tile, shift = reading.tile, reading.tile.swizzle_shift
    if shift is not None:
        yield f"__device__ __forceinline__ int kept(int x) {{ return x ^ (x >> {shift} & 0x70); }}"
    sides = (("source_at", tile.pair.source), ("target_at", tile.pair.target))
    for name, side in sides:
        if side.swizzles:
            yield f"__device__ __forceinline__ {reading.wide} {name}({reading.wide} x)"
            yield "{"
            for swizzle in reversed(side.swizzles):
                yield f"    {swizzled(swizzle.bits, swizzle.base, swizzle.shift, tile.unit)}"
            yield f"    return {added('x', side.outer * tile.unit)};"
            yield "}"
    yield from reading.functions()


def _bounds(tile: Tile) -> str:
    """Threads of a block, and the blocks of a multiprocessor for which registers are to last."""
    if tile.few_registers:
        return f"{tile.threads}, MOVE_AT_ONCE / {tile.threads}"
    if tile.parted:
        return f"{tile.threads}, {PARTED // tile.threads}"
    gathered = tile.words == 1 and tile.unit <= 2 and not tile.partial
    few_held = tile.row_count * tile.run_vectors <= HELD * tile.threads
    return f"{tile.threads}, {AT_ONCE // tile.threads}" if gathered and few_held else f"{tile.threads}"


def _shared(tile: Tile) -> str:
    if tile.shared_bytes > STATIC:
        return "extern __shared__ __align__(128) u8 tile[];"
    return f"__shared__ __align__(128) u8 tile[{tile.shared_bytes}];"
