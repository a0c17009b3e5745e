"""Tiles of elements of 4 bits that are a byte each in shared memory: vectors are spread, and packed again.

A vector of 8 bytes of a storage has 16 elements. What is counted in bytes elsewhere is counted in elements
here, so that a place of a storage is twice its byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewise.moves.kernels.reading import Reading
from tilewise.moves.kernels.spelling import added
from tilewise.moves.kernels.writing import Writing, in_word
from tilewise.moves.tiles.tile import VECTOR

_FUNCTIONS = """\
// 8 bytes of a storage, in the first half of a vector.
__device__ __forceinline__ V16 eight(const u8* at)
{
    const u64 x = *(const u64*)at;
    return V16{{(u32)x, (u32)(x >> 32)}};
}

// The 16 elements of 8 bytes, a byte each.
__device__ __forceinline__ V16 spread(u32 low, u32 high)
{
    const u32 a = low & 0x0f0f0f0fu, b = low >> 4 & 0x0f0f0f0fu;
    const u32 c = high & 0x0f0f0f0fu, d = high >> 4 & 0x0f0f0f0fu;
    return V16{{__byte_perm(a, b, 0x5140), __byte_perm(a, b, 0x7362),
                __byte_perm(c, d, 0x5140), __byte_perm(c, d, 0x7362)}};
}

// And back.
__device__ __forceinline__ u64 packed(V16 v)
{
    const u32 low = __byte_perm(v.x[0] | v.x[0] >> 4, v.x[1] | v.x[1] >> 4, 0x6420);
    const u32 high = __byte_perm(v.x[2] | v.x[2] >> 4, v.x[3] | v.x[3] >> 4, 0x6420);
    return (u64)high << 32 | low;
}

// Some bits of 8 bytes; what else is in their words is other threads'.
__device__ __forceinline__ void put(u32* words, u64 x, u64 mask)
{
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        const u32 own = (u32)(mask >> 32 * i), bits = (u32)(x >> 32 * i);
        if (own == 0xffffffffu) words[i] = bits;
        else if (own) {
            atomicAnd(words + i, bits | ~own);
            atomicOr(words + i, bits & own);
        }
    }
}
"""


class SpreadReading(Reading):
    """What reads a tile, and spreads its vectors.

    A vector has 16 elements, or 32 where rows begin anywhere: those lie apart in shared memory.
    """

    def functions(self) -> Iterator[str]:
        """What spreads, packs, and writes some elements of a word."""
        yield from super().functions()
        yield _FUNCTIONS

    def _beyond(self) -> Iterator[str]:
        """Rows that are none of the tensor are read as well: no byte may have more than the 4 bits of one."""
        yield from ()

    def _taken(self, value: str, place: str, guarded: bool) -> Iterator[str]:
        taken = self.tile.taken
        yield f"    const {self.wide} at = {place};"
        whole = f"{'fetched' if taken > VECTOR else 'eight'}(source + (at >> 1))"
        if not guarded:
            yield f"    {value} = {whole};"
            return
        within = f"at >= 0 && at + {taken} <= {self.stored}"
        yield f"    const V16 own = {within} ? {whole} : part(source + (at >> 1), source);"
        yield self._spread("own")

    def _spread(self, value: str) -> str:
        """A vector of the storage as one, or two, of shared memory."""
        parts = [f"spread({value}.x[{i}], {value}.x[{i + 1}])" for i in (0, 2)[: self.tile.taken // VECTOR]]
        return f"    V16 one[{len(parts)}] = {{{', '.join(parts)}}};"

    def _store(self, value: str, part: tuple[int, int]) -> Iterator[str]:
        if value != "one":
            yield self._spread(value)
        yield from super()._store("one", part)

    def _stored(self, value: str, address: str) -> Iterator[str]:
        yield f"    const int to = {address};"
        for part in range(self.tile.taken // VECTOR):
            yield from super()._stored(f"{value}[{part}]", added("to", part * VECTOR))


class SpreadWriting(Writing):
    """What writes a tile, and packs its vectors."""

    bits = 4

    def functions(self) -> Iterator[str]:
        """None beside what spreads and packs."""
        yield from ()

    def _together(self) -> Iterator[str]:
        """Two elements are a byte before four bytes are a word."""
        for word in range(2):
            pairs = [f"(e{8 * word + 2 * i} | e{8 * word + 2 * i + 1} << 4)" for i in range(4)]
            yield f"    const u32 half{word} = {in_word(pairs)};"
        yield f"    {'const ' * (not self.tile.stagger)}u64 out = (u64)half1 << 32 | half0;"
        if self.tile.stagger:
            yield "    out = out << 16 * first | out >> (64 - 16 * first & 63);"

    def _put_whole(self, value: str, place: str) -> Iterator[str]:
        yield f"    const {self.wide} to = {place};"
        yield f"    *(u64*)(target + (to >> 1)) = {_packed(value)};"

    def _put_parts(self, value: str, place: str, whole: str, own: Sequence[str]) -> Iterator[str]:
        yield f"    const {self.wide} to = {place};"
        yield f"    if ({whole}) *(u64*)(target + (to >> 1)) = {_packed(value)};"
        yield "    else {"
        yield from (f"        {line}" for line in own)
        yield f"        put((u32*)(target + (to >> 1)), {_packed(value)}, own);"
        yield "    }"


def _packed(value: str) -> str:
    """Gathered elements are packed as they are gathered, turned ones are not."""
    return value if value == "out" else f"packed({value})"
