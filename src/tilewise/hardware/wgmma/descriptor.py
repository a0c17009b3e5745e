"""The 64-bit matrix descriptor of wgmma: five fields, all of them bytes here.

bits     field          holds
13-0     start          bits 17-4 of the address
29-16    lbo            leading dimension byte offset / 16
45-32    sbo            stride dimension byte offset / 16
51-49    base offset    (start of the pattern >> 7) & 7, where that is not aligned to its period
63-62    mode           0 none, 1 128B, 2 64B, 3 32B
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.hardware.modes import CHUNK, MODES, Mode

FIELD_BITS = 14
LIMIT = CHUNK << FIELD_BITS
"""Byte offsets and addresses are below 2^18."""

FIELDS = {
    "start": (0, FIELD_BITS),
    "lbo": (16, FIELD_BITS),
    "sbo": (32, FIELD_BITS),
    "base_offset": (49, 3),
    "mode": (62, 2),
}
"""Every field: its lowest bit, and how many bits it has."""

RESERVED = (1 << 64) - 1 - sum(((1 << size) - 1) << low for low, size in FIELDS.values())
"""The bits that no field has."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A matrix descriptor; start, lbo and sbo count bytes.

        requires       start, lbo, sbo are multiples of 16 in [0, 2^18); base_offset in [0, 8)
        postcondition  Descriptor.decode(d.value) == d

    >>> d = Descriptor(start=1024, lbo=16, sbo=1024, mode=Mode.of("128B"))
    >>> hex(d.value), Descriptor.decode(d.value) == d
    ('0x4000004000010040', True)
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

    @property
    def value(self) -> int:
        """The 64 bits."""
        fields = {
            "start": self.start // CHUNK,
            "lbo": self.lbo // CHUNK,
            "sbo": self.sbo // CHUNK,
            "base_offset": self.base_offset,
            "mode": self.mode.wgmma_code,
        }
        return sum(fields[name] << low for name, (low, _) in FIELDS.items())

    @classmethod
    def decode(cls, value: int) -> Descriptor:
        """The descriptor of 64 bits; bits that no field has are passed over."""
        value = as_int(value, "a descriptor")
        if not 0 <= value < 1 << 64:
            raise LayoutError("TW604", f"{value:#x} is no number of 64 bits", hint="a descriptor has 64")
        raw = {name: value >> low & ((1 << size) - 1) for name, (low, size) in FIELDS.items()}
        mode = next(mode for mode in MODES.values() if mode.wgmma_code == raw["mode"])
        start, lbo, sbo = (raw[name] * CHUNK for name in ("start", "lbo", "sbo"))
        return cls(start, lbo, sbo, mode, raw["base_offset"])


def _check_bytes(name: str, count: int) -> None:
    if count % CHUNK:
        raise LayoutError(
            "TW604",
            f"the descriptor's {name} of {count} bytes is no multiple of 16",
            hint=f"the field counts 16 bytes; {count // CHUNK * CHUNK} is the multiple below",
        )
    if not 0 <= count < LIMIT:
        raise LayoutError(
            "TW604",
            f"the descriptor's {name} of {count} bytes does not fit its 14 bits of 16 bytes",
            hint=f"it lies in 0..{LIMIT - CHUNK}",
        )
