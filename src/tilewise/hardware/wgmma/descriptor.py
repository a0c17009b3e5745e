"""The 64-bit matrix descriptor of wgmma: five fields, all of them bytes here.

bits     field          holds
13-0     start          bits 17-4 of the address
29-16    lbo            leading dimension byte offset / 16
45-32    sbo            stride dimension byte offset / 16
51-49    base_offset    (start of the pattern >> 7) & 7, where that is not aligned to its period
63-62    mode           0 none, 1 128B, 2 64B, 3 32B

Hopper ignores bits that no field has; a device showed it, and no document has it. Blackwell's descriptors set
bit 46.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.hardware import engines
from tilewise.hardware.fields import Field
from tilewise.hardware.modes import MODES
from tilewise.hardware.operands.template import BASE_OFFSET, LBO, SBO, START

_CODES = {mode.name: mode.wgmma_code for mode in MODES.values() if mode.wgmma_code is not None}
_CHOICES: dict[str, tuple[str, ...]] = {}


@dataclass(frozen=True)
class Descriptor(engines.MatrixDescriptor):
    """A matrix descriptor of Hopper.

    >>> from tilewise.hardware.modes import Mode
    >>> d = Descriptor(start=1024, lbo=16, sbo=1024, mode=Mode.of("128B"))
    >>> hex(d.value), Descriptor.decode(d.value) == d
    ('0x4000004000010040', True)
    >>> d, str(d)
    (Descriptor(start=1024, lbo=16, sbo=1024, mode=Mode.of('128B'), base_offset=0), '0x4000004000010040')
    >>> d.encoded
    {'start': 64, 'lbo': 1, 'sbo': 64, 'base_offset': 0, 'mode': 1}
    >>> d.named
    {'start': 1024, 'lbo': 16, 'sbo': 1024, 'base_offset': 0, 'mode': '128B'}
    >>> Descriptor.reserved_bits(0x4000004000010000), Descriptor.reserved_bits(0x4000404000010000)
    ([], [46])
    """

    FIELDS = (START, LBO, SBO, BASE_OFFSET, Field("mode", 62, 2, 1, "swizzling mode"))
    MODES = MODES
    CODES = _CODES
    CHOICES = _CHOICES
