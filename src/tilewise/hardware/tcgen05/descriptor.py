"""The 64-bit shared-memory descriptor of tcgen05: start and distances are bytes here.

bits     field          holds
13-0     start          bits 17-4 of the address
29-16    lbo            leading dimension byte offset / 16; in absolute mode the second chunk's address / 16
45-32    sbo            stride dimension byte offset / 16
48-46    version        the constant 0b001, which no descriptor of Hopper has
51-49    base_offset    (start of the pattern >> 7) & 7, where that is not aligned to its period
52       lbo_mode       0 lbo is an offset, 1 lbo is an address
60-53    -              the constant 0
63-61    mode           0 none, 1 128B in atoms of 32 bytes, 2 128B, 4 64B, 6 32B

A K of 48 bytes does not fit between the last steps of a row of 128 bytes and its end. In absolute mode the
bytes past the end are read from a second chunk, and LBO is that chunk's address. It requires three things:
mode 128B in atoms of 16 bytes, K-major, base offset 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.errors import LayoutError, Refused
from tilewise.hardware import engines
from tilewise.hardware.engines import VERSION as VERSION_BITS
from tilewise.hardware.fields import Field
from tilewise.hardware.modes import BLACKWELL, CHUNK, Mode, mode_of
from tilewise.hardware.operands.template import BASE_OFFSET, LBO, SBO, START, check_major_word
from tilewise.hardware.sources import ptx

VERSION = 1
"""The value of bits 48-46 in every descriptor of Blackwell."""

RELATIVE, ABSOLUTE = LBO_MODES = ("relative", "absolute")
"""The meanings of LBO: an offset, or an address."""

_CODES = {"none": 0, "128B_ATOM_32B": 1, "128B": 2, "64B": 4, "32B": 6}
_CHOICES = {"lbo_mode": LBO_MODES}

SOURCE = ptx("Shared memory descriptor (tcgen05)", "tcgen05-shared-memory-descriptor")


@dataclass(frozen=True)
class Descriptor(engines.MatrixDescriptor):
    """A shared-memory descriptor of Blackwell.

    >>> d = Descriptor(start=1024, lbo=16, sbo=1024, mode="128B")
    >>> hex(d.value), Descriptor.decode(d.value) == d
    ('0x4000404000010040', True)
    >>> hex(Descriptor(sbo=2048, mode=mode_of("128B", 32)).value)
    '0x2000408000000000'
    >>> Descriptor.reserved_bits(0x4000404000010000), Descriptor.reserved_bits(1 << 15 | 1 << 53)
    ([], [15, 53])
    >>> Descriptor.decode(3 << 61)
    Traceback (most recent call last):
    tilewise.Refused: TW604: 3 is no swizzling mode
      hint: bits 63-61 are 0 for none, 1 for 128B_ATOM_32B, 2 for 128B, 4 for 64B, 6 for 32B
    """

    lbo_mode: str = RELATIVE
    version: int = VERSION

    MODES = BLACKWELL
    CODES = _CODES
    CHOICES = _CHOICES
    FIELDS = (
        START,
        LBO,
        SBO,
        VERSION_BITS,
        BASE_OFFSET,
        Field("lbo_mode", 52, 1, 1, "leading dimension stride mode"),
        Field("mode", 61, 3, 1, "swizzling mode"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lbo_mode not in LBO_MODES:
            raise LayoutError(
                "TW601", f"{self.lbo_mode!r} is no mode of LBO", hint="known: " + " ".join(LBO_MODES)
            )
        if not 0 <= self.version < 8:
            raise LayoutError(
                "TW604", f"a version of {self.version} does not fit 3 bits", hint="Blackwell's is 1"
            )

    @property
    def absolute(self) -> bool:
        """Return True if LBO is the address of the second chunk of K."""
        return self.lbo_mode == ABSOLUTE

    @property
    def named(self) -> dict[str, int | str]:
        """Return every field for a reader, and the bytes that the mode keeps together."""
        return super().named | {"atomicity": self.mode.keeps}


def check_absolute(descriptor: Descriptor, major: str = "k") -> Descriptor:
    """Return the descriptor, or refuse and name the broken restriction of absolute mode.

    >>> check_absolute(Descriptor(lbo=1024, sbo=1024, mode="64B", lbo_mode="absolute"))
    Traceback (most recent call last):
    tilewise.Refused: TW604: absolute LBO mode is of 128B in 16-byte atoms alone, and the mode is 64B
      hint: take mode 128B, or LBO mode relative
    """
    check_major_word(major)
    if not descriptor.absolute:
        return descriptor
    mode, base_offset = descriptor.mode, descriptor.base_offset
    if mode.name != "128B":
        _refuse(
            f"absolute LBO mode is of 128B in 16-byte atoms alone, and the mode is {mode}",
            {"mode": mode.name, "atomicity": mode.keeps},
            "take mode 128B" + (" with 16-byte atoms" if mode.keeps != CHUNK else ""),
        )
    if major != "k":
        _refuse(
            "absolute LBO mode is K-major alone, and the operand is MN-major",
            {"major": major},
            "lay K contiguous, with transpose bit 0 in the instruction descriptor",
        )
    if base_offset:
        _refuse(
            f"absolute LBO mode asks for base offset 0, and it is {base_offset}",
            {"base_offset": base_offset},
            f"let both chunks begin at multiples of {mode.period} bytes",
        )
    return descriptor


def _refuse(reason: str, witness: dict[str, int | str], instead: str) -> None:
    raise Refused("TW604", reason, witness=witness, hint=f"{instead}, or LBO mode relative")


def made(
    start: int = 0,
    lbo: int = 0,
    sbo: int = 0,
    mode: Mode | str = "none",
    base_offset: int = 0,
    lbo_mode: str = RELATIVE,
    atomicity: int | None = None,
    major: str = "k",
) -> Descriptor:
    """Return a descriptor that breaks no restriction.

    >>> print(made(sbo=1024, mode="128B", lbo=0x8000, lbo_mode="absolute"))
    0x4010404008000000
    """
    descriptor = Descriptor(start, lbo, sbo, mode_of(mode, atomicity), base_offset, lbo_mode)
    return check_absolute(descriptor, major)
