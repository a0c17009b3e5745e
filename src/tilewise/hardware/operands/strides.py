"""What all descriptors hold: a start, two distances and a base offset, in fields that count 16 bytes.

bits     field          holds
13-0     start          bits 17-4 of the address
29-16    lbo            leading dimension byte offset / 16
45-32    sbo            stride dimension byte offset / 16
51-49    base_offset    (start of the pattern >> 7) & 7, where that is not aligned to its period
"""

from __future__ import annotations

from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int, number_text
from tilewise.hardware.fields import WORD_BITS, Field
from tilewise.hardware.modes import CHUNK, Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, TypeVar

    T = TypeVar("T")

    class Described(Protocol):
        """The fields that all descriptors have, in bytes."""

        @property
        def start(self) -> int: ...
        @property
        def lbo(self) -> int: ...
        @property
        def sbo(self) -> int: ...
        @property
        def mode(self) -> Mode: ...
        @property
        def base_offset(self) -> int: ...


FIELD_BITS = 14
LIMIT = CHUNK << FIELD_BITS
"""Byte offsets and addresses are below 2^18."""

BASE_UNIT = 128
"""Bytes that one unit of the base offset moves the pattern by."""

BASE_OFFSETS = 8
"""So many base offsets there are."""

START = Field("start", 0, FIELD_BITS, CHUNK, "matrix start address")
LBO = Field("lbo", 16, FIELD_BITS, CHUNK, "leading dimension byte offset")
SBO = Field("sbo", 32, FIELD_BITS, CHUNK, "stride dimension byte offset")
BASE_OFFSET = Field("base_offset", 49, 3, 1, "matrix base offset")

SWIZZLED_K_MAJOR_LBO = CHUNK
"""What is written where LBO is not read: the document assumes 1 of 16 bytes, and CUTLASS writes it."""


def leading_and_stride(mode: Mode, major: str, down: T, across: T) -> tuple[T | None, T]:
    """(LBO, SBO) of patterns `down` apart along the rows and `across` along K; None where LBO is not read.

    The manual's two definitions. What it calls the pattern is the atom, or a core matrix without a swizzle.

    >>> [leading_and_stride(Mode.of(mode), "mn", "rows", "K") for mode in ("none", "64B")]
    [('K', 'rows'), ('rows', 'K')]
    >>> [leading_and_stride(Mode.of(mode), "k", "rows", "K") for mode in ("none", "64B")]
    [('K', 'rows'), (None, 'rows')]
    """
    if not mode.bits:
        return across, down
    return (None, down) if major == "k" else (down, across)


def alignment(mode: Mode | str) -> int:
    """Bytes to which a pattern is aligned where its base offset is 0; 16 where there is no pattern.

    >>> [alignment(mode) for mode in ("none", "32B", "64B", "128B")]
    [16, 256, 512, 1024]
    """
    return Mode.of(mode).period


def base_offset_of(pattern: int, mode: Mode | str) -> int:
    """The base offset for a swizzle pattern that starts at a byte address, by the document's formula.

        requires       the pattern starts at a multiple of 128, or of 16 where nothing is swizzled
        postcondition  0 where the pattern is aligned, else (pattern >> 7) & 7

    It is the pattern's start that counts. A descriptor that starts inside a tile, because it steps along
    K or begins at a later row, still reads the tile's pattern, and has the tile's base offset.

    >>> base_offset_of(1024, "128B"), base_offset_of(1280, "128B"), base_offset_of(512, "64B")
    (0, 2, 0)
    """
    mode, pattern = Mode.of(mode), as_int(pattern, "the start of the pattern")
    unit = BASE_UNIT if mode.bits else CHUNK
    if pattern % unit:
        raise Refused(
            "TW605",
            f"a {mode} pattern that starts at {pattern:#x} has no base offset: it counts {unit} bytes",
            witness={"address": pattern, "rest": pattern % unit},
            hint=f"align the buffer to {mode.period} bytes, and the base offset is 0",
        )
    return 0 if pattern % mode.period == 0 else pattern // BASE_UNIT % BASE_OFFSETS


# -- what the fields hold --------------------------------------------------------------------------


def check_word(value: int) -> int:
    """A number of 64 bits."""
    value = as_int(value, "a descriptor")
    if not 0 <= value < 1 << WORD_BITS:
        spelled = f"{value:#x}" if abs(value) < 1 << 2 * WORD_BITS else number_text(value)
        raise LayoutError("TW604", f"{spelled} is no number of 64 bits", hint="a descriptor has 64")
    return value


def check_base_offset(count: int) -> int:
    """A base offset that its 3 bits hold."""
    if not 0 <= count < BASE_OFFSETS:
        raise LayoutError(
            "TW604",
            f"a base offset of {count} does not fit 3 bits",
            hint="it is (address of the pattern >> 7) & 7",
        )
    return count


def check_bytes(name: str, count: int) -> int:
    """Bytes that a field of 14 bits holds: a multiple of 16 below 2^18."""
    if 0 <= count < LIMIT and count % CHUNK == 0:
        return count
    if 0 <= count < LIMIT:
        below = count // CHUNK * CHUNK
        raise LayoutError(
            "TW604",
            f"the descriptor's {name} of {count} bytes is no multiple of 16",
            hint=f"the field counts 16 bytes; the nearest are {below} and {below + CHUNK}; "
            f"{count} as the field counts is {count * CHUNK} bytes",
        )
    hint = f"it lies in 0..{LIMIT - CHUNK}"
    if name == "start" and count >= LIMIT:
        hint = f"the field keeps bits 17-4, which say {count % LIMIT:#x}: give the shared-memory address"
    raise LayoutError(
        "TW604", f"the descriptor's {name} of {count} bytes does not fit its 14 bits of 16 bytes", hint=hint
    )
