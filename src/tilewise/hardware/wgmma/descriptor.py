"""The 64-bit matrix descriptor of wgmma: five fields, all of them bytes here.

bits     field          holds
13-0     start          bits 17-4 of the address
29-16    lbo            leading dimension byte offset / 16
45-32    sbo            stride dimension byte offset / 16
51-49    base_offset    (start of the pattern >> 7) & 7, where that is not aligned to its period
63-62    mode           0 none, 1 128B, 2 64B, 3 32B
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewise.core.errors import Refused
from tilewise.core.integers import as_int
from tilewise.hardware.fields import Field, packed, reserved, unpacked
from tilewise.hardware.modes import CHUNK, MODES, Mode
from tilewise.hardware.operands.strides import (
    BASE_OFFSET,
    BASE_UNIT,
    LBO,
    LIMIT,
    SBO,
    START,
    SWIZZLED_K_MAJOR_LBO,
    alignment,
    base_offset_of,
    check_base_offset,
    check_bytes,
    check_word,
    leading_and_stride,
)
from tilewise.hardware.sources import PTX_DESCRIPTOR

__all__ = [
    "BASE_UNIT",
    "FIELDS",
    "LIMIT",
    "SOURCE",
    "SWIZZLED_K_MAJOR_LBO",
    "Descriptor",
    "alignment",
    "base_offset_of",
    "leading_and_stride",
    "reserved_bits",
]

FIELDS = (START, LBO, SBO, BASE_OFFSET, Field("mode", 62, 2, 1, "swizzling mode"))
"""Every field, the lowest first."""

SOURCE = PTX_DESCRIPTOR


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
            check_bytes(name, getattr(self, name))
        check_base_offset(self.base_offset)
        _code(self.mode)

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
            "mode": _code(self.mode),
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

    def at(self, start: int, base_offset: int) -> Descriptor:
        """The same elsewhere."""
        return replace(self, start=start, base_offset=base_offset)

    @classmethod
    def decode(cls, value: int) -> Descriptor:
        """The descriptor of 64 bits; bits that no field has are passed over: see `reserved_bits`."""
        held = unpacked(FIELDS, check_word(value))
        mode = next(mode for mode in MODES.values() if mode.wgmma_code == held["mode"])
        start, lbo, sbo = (held[name] * CHUNK for name in ("start", "lbo", "sbo"))
        return cls(start, lbo, sbo, mode, held["base_offset"])


def reserved_bits(value: int) -> list[int]:
    """The bits of a value that are set though no field has them.

    Hopper passes them over, as the hardware says and no document does; Blackwell's descriptors set bit 46.

    >>> reserved_bits(0x4000004000010000), reserved_bits(0x4000404000010000)
    ([], [46])
    """
    return reserved(FIELDS, check_word(value))


def _code(mode: Mode) -> int:
    """What the mode's field holds."""
    if mode.wgmma_code is None:
        raise Refused(
            "TW602",
            f"wgmma has no mode {mode}",
            witness={"mode": mode.name},
            hint="Hopper's are " + " ".join(MODES) + "; Blackwell's tcgen05 has this one",
        )
    return mode.wgmma_code
