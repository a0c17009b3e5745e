"""wgmma as an engine of matrix descriptors: its fields, and the functions that its commands call."""

from __future__ import annotations

from tilewise.hardware.engines import Engine
from tilewise.hardware.modes import Mode
from tilewise.hardware.sources import PTX_DESCRIPTOR
from tilewise.hardware.wgmma import reads, words
from tilewise.hardware.wgmma.descriptor import FIELDS, SWIZZLED_K_MAJOR_LBO, Descriptor, reserved_bits
from tilewise.hardware.wgmma.instructions import MAJORS, OPERANDS, Input
from tilewise.hardware.wgmma.stepping import Stages, feeding, placements


def default_lbo(mode: str, major: str) -> int | None:
    """The LBO of a descriptor for which none was given, where there is a custom; None where it is read."""
    return SWIZZLED_K_MAJOR_LBO if major == "k" and Mode.of(mode).bits else None


ENGINE = Engine(
    name="wgmma",
    fields=FIELDS,
    source=PTX_DESCRIPTOR,
    majors=MAJORS,
    operands=OPERANDS,
    shared_end=reads.SHARED_END,
    descriptor=Descriptor,
    decode=Descriptor.decode,
    reserved=reserved_bits,
    default_lbo=default_lbo,
    operand=words.Operand,
    words=words.words,
    ignored=words.ignored,
    remarks=words.remarks,
    pieces=reads.pieces,
    addresses=reads.addresses,
    extremes=reads.extremes,
    feeding=feeding,
    stages=Stages,
    placements=placements,
    instruction=lambda dtype, n: f"m64n{n or 'N'}k{Input.of(dtype).k}",
)
"""What `tilewise descriptor --engine wgmma` calls."""
