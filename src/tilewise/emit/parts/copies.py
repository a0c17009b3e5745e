"""Tiles from global to shared memory, by threads: as many bytes at once as both sides keep together."""

from __future__ import annotations

from typing import Protocol

from tilewise.core.dtypes import DType
from tilewise.core.errors import NotDecided, Refused
from tilewise.core.layout import Layout
from tilewise.emit.parts.template import filled
from tilewise.emit.parts.words import call
from tilewise.emit.source import Source, source_of

BYTE = 8
WIDTHS = {16: "uint4", 8: "uint2", 4: "unsigned", 2: "unsigned short", 1: "unsigned char"}
"""Bytes that one thread copies at once, and the type that C++ moves them by."""


class Copied(Protocol):
    """A tile [rows, k] of an operand that threads copy."""

    @property
    def name(self) -> str:
        """A or B."""

    @property
    def dtype(self) -> DType:
        """The type of its elements."""

    @property
    def rows(self) -> int:
        """Its rows, of M or of N."""

    @property
    def k(self) -> int:
        """Its elements along K."""

    @property
    def major(self) -> str:
        """What is contiguous in global memory: k or mn."""

    @property
    def tile(self) -> Layout:
        """Where each element [row, k] lies in shared memory, in elements."""


def chunks(own: Copied, width: int = 16) -> Layout:
    """The tile in 16 bytes, or another width: (i, j) is line i of the matrix in global memory, its chunk j.

        refused  TW508 where shared memory does not keep so many together

    >>> from tilewise.emit.wgmma.plan import planned
    >>> chunks(planned((64, 64, 64), "bf16").a)
    Swizzle(3, 0, 3) @ S[((8, 8), (1, 8)) : ((64, 8), (0, 1))]
    """
    lines = own.tile if own.major == "k" else own.tile.permute(1, 0)
    return lines.pack(width * BYTE // own.dtype.bits)


def widest(own: Copied) -> int | None:
    """The most bytes that lie together along a line of global memory and in the tile; None for less than one.

    >>> from tilewise.emit.wgmma.plan import planned
    >>> widest(planned((64, 64, 64), "bf16").a)
    16
    """
    for width in WIDTHS:
        if width * BYTE % own.dtype.bits:
            continue
        try:
            chunks(own, width)
        except (Refused, NotDecided):
            continue
        return width
    return None


COPY = """\
// $name, $width bytes a thread: $line, then $width bytes along it.
#pragma unroll$unrolled
for (unsigned x = thread; x < $count; x += $threads) {
    const unsigned i = x / $across, j = x % $across;
    const $type *from = (const $type *)($name + (size_t)($outer + i) * $pitch + $inner) + j;
    $move
}"""

COPY_LINES = """\
// $name, $width bytes a thread: $line, then $width bytes along it, $step lines at once.
const unsigned char *const ${letter}_line =
    $name + (size_t)($outer + thread / $across) * $pitch + $inner + thread % $across * $width;
#pragma unroll$unrolled
for (unsigned round = 0; round < $rounds; ++round) {
    const unsigned i = thread / $across + round * $step, j = thread % $across;
    const $type *from = (const $type *)(${letter}_line + (size_t)$pitch * (round * $step));
    $move
}"""

STORE = "(($type *)$to)[$place] = *from;"


def copies(
    own: Copied,
    threads: int,
    to: str,
    *,
    width: int = 16,
    move: str = STORE,
    unrolled: str = " 4",
    by_lines: bool = False,
) -> str:
    """The loop that brings tile `t` of an operand to the address `to`, `width` bytes at once.

    With `by_lines` all threads go from lines to lines together, where their number allows it: no copy is
    then a branch, and its address is a sum.
    """
    layout = chunks(own, width)
    lines = own.rows if own.major == "k" else own.k
    start, inner = _starts(own)
    slots = {
        "name": own.name,
        "width": width,
        "type": WIDTHS[width],
        "line": "row i" if own.major == "k" else "column i of K",
        "count": layout.size,
        "threads": threads,
        "across": layout.size // lines,
        "outer": start,
        "pitch": pitch(own),
        "inner": inner,
        "to": to,
        "place": call(place_of(own, width), i="i", j="j"),
        "unrolled": unrolled,
    }
    across = layout.size // lines
    if by_lines and threads % across == 0 and layout.size % threads == 0:
        slots |= {"letter": own.name.lower(), "step": threads // across, "rounds": layout.size // threads}
        return filled(COPY_LINES, slots | {"move": filled(move, slots)})
    return filled(COPY, slots | {"move": filled(move, slots)})


def place_of(own: Copied, width: int = 16) -> Source:
    """Where the chunk (i, j) of a tile goes."""
    return source_of(chunks(own, width), name=f"{own.name.lower()}_place")


def pitch(own: Copied) -> str:
    """Bytes from line to line in global memory."""
    along = "K" if own.major == "k" else "M" if own.name == "A" else "N"
    line = in_bytes(along, own.dtype)
    return f"({line})" if " " in line else line


def in_bytes(elements: str, dtype: DType) -> str:
    """A number of elements as C++ that counts bytes."""
    bits = dtype.bits
    if bits == BYTE:
        return elements
    return f"{elements} * {bits // BYTE}" if bits > BYTE else f"{elements} / {BYTE // bits}"


def _starts(own: Copied) -> tuple[str, str]:
    """Where the tile begins in global memory: the line, and the bytes along it."""
    mn = "row" if own.name == "A" else "column"
    if own.major == "k":
        return mn, f"t * {own.k * own.dtype.bits // BYTE}"
    return f"t * {own.k}", in_bytes(mn, own.dtype)
