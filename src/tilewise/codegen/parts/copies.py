"""Tiles between global and shared memory, by threads: copies of as many bytes as both sides keep together."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.codegen.parts.template import call, filled
from tilewise.codegen.source import Source, source_of
from tilewise.core.axes import m
from tilewise.core.dtypes import DType
from tilewise.core.errors import NotDecided, Refused
from tilewise.core.layout import Layout

BYTE = 8
WIDTHS = {16: "uint4", 8: "uint2", 4: "unsigned", 2: "unsigned short", 1: "unsigned char"}
"""Bytes that one thread copies at once, and the type by which C++ moves them."""


@dataclass(frozen=True)
class Staged:
    """The part [rows, k] of a matrix that a block of threads has in shared memory."""

    name: str
    """A, B or D."""
    dtype: DType
    rows: int
    """Rows of M or of N."""
    k: int
    """Elements along K; of D along N."""
    major: str
    """The contiguous direction in global memory: k or mn."""
    tile: Layout
    """The place of each element [row, k] in shared memory, in elements."""

    @property
    def letter(self) -> str:
        """Return its name in C++."""
        return self.name.lower()

    @property
    def along(self) -> str:
        """Return the extent of the problem along which it is contiguous in global memory."""
        return "K" if self.major == "k" else "M" if self.name == "A" else "N"

    @property
    def first_row(self) -> str:
        """Return the first row of the block's tile, in C++."""
        return "row" if self.name == "A" else "column"

    @property
    def room(self) -> int:
        """Return the bytes of shared memory from the start of the tile to its end, gaps included."""
        return -(-(self.tile.max(m) + 1) * self.dtype.bits // BYTE)

    @property
    def pitch(self) -> str:
        """Return the bytes from line to line in global memory, in C++."""
        line = in_bytes(self.along, self.dtype)
        return f"({line})" if " " in line else line

    @property
    def heading(self) -> str:
        """Return its extents, its type and its contiguous direction in global memory, in words."""
        return (
            f"{self.name} [{self.rows}, {self.k}] {self.dtype}, {self.major.upper()}-major in global memory"
        )


def chunks(own: Staged, width: int = 16) -> Layout:
    """Return the tile in 16 bytes, or another width: (i, j) is line i in global memory, its chunk j.

        refused  TW508 if shared memory does not keep that many bytes together

    >>> from tilewise.codegen.wgmma import planned
    >>> chunks(planned((64, 64, 64), "bf16").a)
    Swizzle(3, 0, 3) @ S[((8, 8), 8) : ((64, 8), 1)]
    """
    lines = own.tile if own.major == "k" else own.tile.permute(1, 0)
    return lines.pack(width * BYTE // own.dtype.bits)


def widest(own: Staged) -> int | None:
    """Return the most bytes that a line of global memory and the tile both keep together, or None.

    >>> from tilewise.codegen.wgmma import planned
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
    $moved
}"""

COPY_LINES = """\
// $name, $width bytes a thread: $line, then $width bytes along it, $step lines at once.
const unsigned char *const ${letter}_line =
    $name + (size_t)($outer + thread / $across) * $pitch + $inner + thread % $across * $width;
#pragma unroll$unrolled
for (unsigned round = 0; round < $rounds; ++round) {
    const unsigned i = thread / $across + round * $step, j = thread % $across;
    $moved
}"""

FROM = "const $type *from = (const $type *)($name + (size_t)($outer + i) * $pitch + $inner) + j;"
FROM_LINE = "const $type *from = (const $type *)(${letter}_line + (size_t)$pitch * (round * $step));"

STORE = """\
$from
(($type *)$there)[$place] = *from;"""


def copies(
    own: Staged,
    threads: int,
    to: str,
    *,
    width: int = 16,
    move: str = STORE,
    unrolled: str = " 4",
    by_lines: bool = False,
) -> str:
    """Return the loop that brings tile `t` of an operand to the address `to`, `width` bytes at once.

    With `by_lines` all threads step over the same number of lines together, if their number allows it: no
    copy is then a branch, and its address is a sum.
    """
    count = chunks(own, width).size
    across = count // (own.rows if own.major == "k" else own.k)
    by_lines = by_lines and threads % across == count % threads == 0
    depth = own.k * own.dtype.bits // BYTE
    is_row = own.major == "k"
    slots: dict[str, object] = {
        "name": own.name,
        "letter": own.letter,
        "width": width,
        "type": WIDTHS[width],
        "line": "row i" if is_row else "column i of K",
        "count": count,
        "threads": threads,
        "across": across,
        "step": threads // across,
        "rounds": count // threads,
        "outer": own.first_row if is_row else f"t * {own.k}",
        "pitch": own.pitch,
        "inner": f"t * {depth}" if is_row else in_bytes(own.first_row, own.dtype),
        "to": to,
        "there": f"({to})" if " " in to else to,
        "place": call(place_of(own, width), i="i", j="j"),
        "unrolled": unrolled,
    }
    slots["from"] = filled(FROM_LINE if by_lines else FROM, slots)
    return filled(COPY_LINES if by_lines else COPY, slots | {"moved": filled(move, slots)})


def place_of(own: Staged, width: int = 16) -> Source:
    """Return the function from a chunk (i, j) of a tile to its place."""
    return source_of(chunks(own, width), name=f"{own.letter}_place")


def in_bytes(elements: str, dtype: DType) -> str:
    """Return a number of elements as C++ that counts bytes."""
    bits = dtype.bits
    if bits == BYTE:
        return elements
    return f"{elements} * {bits // BYTE}" if bits > BYTE else f"{elements} / {BYTE // bits}"
