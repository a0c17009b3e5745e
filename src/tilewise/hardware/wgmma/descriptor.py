"""The 64-bit matrix descriptor of wgmma: five fields, all of them bytes here.

bits     field          holds
13-0     start          bits 17-4 of the address
29-16    lbo            leading dimension byte offset / 16
45-32    sbo            stride dimension byte offset / 16
51-49    base_offset    (start of the pattern >> 7) & 7, where that is not aligned to its period
63-62    mode           0 none, 1 128B, 2 64B, 3 32B
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int, number_text
from tilewise.hardware.fields import WORD_BITS, Field, packed, reserved, unpacked
from tilewise.hardware.modes import CHUNK, MODES, Mode
from tilewise.hardware.sources import PTX_DESCRIPTOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

FIELD_BITS = 14
LIMIT = CHUNK << FIELD_BITS
"""Byte offsets and addresses are below 2^18."""

BASE_UNIT = 128
"""Bytes that one unit of the base offset moves the pattern by."""

FIELDS = (
    Field("start", 0, FIELD_BITS, CHUNK, "matrix start address"),
    Field("lbo", 16, FIELD_BITS, CHUNK, "leading dimension byte offset"),
    Field("sbo", 32, FIELD_BITS, CHUNK, "stride dimension byte offset"),
    Field("base_offset", 49, 3, 1, "matrix base offset"),
    Field("mode", 62, 2, 1, "swizzling mode"),
)
"""Every field, the lowest first."""

SOURCE = PTX_DESCRIPTOR

SWIZZLED_K_MAJOR_LBO = CHUNK
"""What is written where LBO is not read: the document assumes 1 of 16 bytes, and CUTLASS writes it."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A matrix descriptor; start, lbo and sbo count bytes.

        requires       start, lbo, sbo are multiples of 16 in [0, 2^18); base_offset in [0, 8)
        postcondition  Descriptor.decode(d.value) == d

    >>> d = Descriptor(start=1024, lbo=16, sbo=1024, mode=Mode.of("128B"))
    >>> hex(d.value), Descriptor.decode(d.value) == d
    ('0x4000004000010040', True)
    >>> d, str(d)
    (Descriptor(start=1024, lbo=16, sbo=1024, mode=Mode.of('128B'), base_offset=0), '0x4000004000010040')
    """

    start: int = 0
    lbo: int = 0
    sbo: int = 0
    mode: Mode = MODES["none"]
    base_offset: int = 0

    def __post_init__(self) -> None:
        for name in ("start", "lbo", "sbo", "base_offset"):
            object.__setattr__(self, name, as_int(getattr(self, name), f"the descriptor's {name}"))
        object.__setattr__(self, "mode", Mode.of(self.mode))
        for name in ("start", "lbo", "sbo"):
            _check_bytes(name, getattr(self, name))
        if not 0 <= self.base_offset < 8:
            raise LayoutError(
                "TW604",
                f"a base offset of {self.base_offset} does not fit 3 bits",
                hint="it is (address of the pattern >> 7) & 7",
            )

    def __str__(self) -> str:
        return f"{self.value:#018x}"

    @property
    def encoded(self) -> dict[str, int]:
        """What every field holds, in its own unit: start, lbo and sbo count 16 bytes.

        >>> Descriptor(lbo=1024, sbo=128).encoded
        {'start': 0, 'lbo': 64, 'sbo': 8, 'base_offset': 0, 'mode': 0}
        """
        return {
            "start": self.start // CHUNK,
            "lbo": self.lbo // CHUNK,
            "sbo": self.sbo // CHUNK,
            "base_offset": self.base_offset,
            "mode": self.mode.wgmma_code,
        }

    @property
    def named(self) -> dict[str, int | str]:
        """Every field as a reader has it: in bytes, the mode by its name.

        >>> Descriptor(lbo=16, sbo=1024, mode="64B").named
        {'start': 0, 'lbo': 16, 'sbo': 1024, 'base_offset': 0, 'mode': '64B'}
        """
        return {
            "start": self.start,
            "lbo": self.lbo,
            "sbo": self.sbo,
            "base_offset": self.base_offset,
            "mode": self.mode.name,
        }

    @property
    def value(self) -> int:
        """The 64 bits."""
        return packed(FIELDS, self.encoded)

    @classmethod
    def decode(cls, value: int) -> Descriptor:
        """The descriptor of 64 bits; bits that no field has are passed over: see `reserved_bits`."""
        held = unpacked(FIELDS, _word(value))
        mode = next(mode for mode in MODES.values() if mode.wgmma_code == held["mode"])
        start, lbo, sbo = (held[name] * CHUNK for name in ("start", "lbo", "sbo"))
        return cls(start, lbo, sbo, mode, held["base_offset"])


def reserved_bits(value: int) -> list[int]:
    """The bits of a value that are set though no field has them.

    Hopper passes them over, as the hardware says and no document does; Blackwell's descriptors set bit 46.

    >>> reserved_bits(0x4000004000010000), reserved_bits(0x4000404000010000)
    ([], [46])
    """
    return reserved(FIELDS, _word(value))


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
    return 0 if pattern % mode.period == 0 else pattern // BASE_UNIT % 8


def _word(value: int) -> int:
    value = as_int(value, "a descriptor")
    if not 0 <= value < 1 << WORD_BITS:
        spelled = f"{value:#x}" if abs(value) < 1 << 2 * WORD_BITS else number_text(value)
        raise LayoutError("TW604", f"{spelled} is no number of 64 bits", hint="a descriptor has 64")
    return value


def _check_bytes(name: str, count: int) -> None:
    if 0 <= count < LIMIT and count % CHUNK == 0:
        return
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
