"""What a descriptor reads: the byte of every element of an operand, as the documents say it.

The walk is that of all descriptors: see `tilewise.hardware.operands.walk`. Its K is 32 bytes, 48 or 64. In
absolute mode it is two: with the first chunk of 16 bytes at byte p of a row of 128,

    chunk c     p + 16 c < 128    start + 16 c
                else              LBO + p + 16 c - 128

and rows go on in both alike, 128 bytes apart within 8 and SBO from 8 to 8.

Nobody who wrote this had a Blackwell to ask. So what no document says is refused, where Hopper's model says
what an H200 did: a K that begins inside a row of the atom and goes on past it. `FINDINGS` names what of the
model is taken over from Hopper.
"""

from __future__ import annotations

from tilewise.core.errors import Refused
from tilewise.hardware.modes import CHUNK
from tilewise.hardware.operands.walk import Finding, Walk, walk
from tilewise.hardware.tcgen05.descriptor import Descriptor, check_absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.hardware.operands.template import Digits

DEEP_BYTES = 48
"""The K for which the document has absolute mode."""

_HOPPER = "taken over from Hopper; no document says it, and no Blackwell was asked"

FINDINGS = (
    Finding(
        "absolute",
        "the swizzle acts on the address in shared memory, the start included, not on the way from the start",
        "no descriptor",
        _HOPPER,
    ),
    Finding(
        "base offset",
        "a base offset b subtracts b from address bits 9-7 before they are XORed into bits 6-4",
        "no descriptor",
        _HOPPER,
    ),
    Finding(
        "part of an atom",
        "MN-major: rows that end inside an atom read a part of the last one, LBO after the one before",
        "no descriptor",
        _HOPPER,
    ),
    Finding(
        "second chunk",
        "in absolute mode K past byte 127 of a row is read from LBO on, in rows 128 bytes apart and SBO from "
        "8 to 8",
        "no descriptor",
        "as CUTLASS sets the field: to the next buffer's start, for K = 96 on sm_103a",
    ),
)
"""All that the model adds to the documents, in one place."""


def walks_of(
    descriptor: Descriptor, major: str, chunk: Digits, rows: int, chunks: int, unit: str = "byte"
) -> list[Walk]:
    """The walks over so many rows and chunks of 16 bytes, whose elements `chunk` has."""
    check_absolute(descriptor, major)
    scale = 1 if unit == "byte" else 8
    if major == "k" and not descriptor.mode.bits and chunks % 2:
        raise Refused(
            "TW605",
            f"K of {chunks * CHUNK} bytes is no whole number of pairs of 16 bytes, which mode none has",
            witness={"k_bytes": chunks * CHUNK},
            hint="take mode 128B",
        )
    if major == "mn" or not descriptor.mode.bits:
        return [walk(descriptor, major, chunk, rows, chunks, scale)]
    here = min(chunks, (descriptor.mode.width - descriptor.start % descriptor.mode.width) // CHUNK)
    if here < chunks:
        _check_two_chunks(descriptor, chunks)
    found = [walk(descriptor, major, chunk, rows, here, scale)]
    if here < chunks:
        _check_second_chunk(descriptor, CHUNK * (chunks - here))
        second = descriptor.at(descriptor.lbo, 0)
        found.append(walk(second, major, chunk, rows, chunks - here, scale))
    return found


def _check_two_chunks(descriptor: Descriptor, chunks: int) -> None:
    """Refuse a K that goes on past a row of the atom, except as absolute mode has it."""
    mode, start = descriptor.mode, descriptor.start
    if descriptor.absolute and chunks * CHUNK == DEEP_BYTES:
        return
    inside, several = start % mode.width, chunks * CHUNK
    deep = several == DEEP_BYTES
    if deep and mode.name == "128B":
        hint = "put the rest of K elsewhere, and its address into LBO: lbo_mode absolute"
    elif deep:
        hint = "take mode 128B, and where K goes on past a row lbo_mode absolute"
    elif several > mode.width:
        hint = "take mode 64B or 128B"
    else:
        hint = f"let K begin at a multiple of {several} bytes"
    raise Refused(
        "TW605",
        f"K of {several} bytes from byte {inside} of a row of {mode.width} goes on past it, and no document "
        "says what is read there",
        witness={"start": start, "inside": inside, "k_bytes": several, "row": mode.width},
        hint=hint,
    )


def _check_second_chunk(descriptor: Descriptor, several: int) -> None:
    """Refuse a second chunk that does not lie within one row either."""
    width, lbo = descriptor.mode.width, descriptor.lbo
    if lbo % width + several <= width:
        return
    raise Refused(
        "TW605",
        f"the second chunk, of {several} bytes from byte {lbo % width} of a row of {width}, goes on past it",
        witness={"lbo": lbo, "inside": lbo % width, "bytes": several, "row": width},
        hint=f"let LBO be a multiple of {width}, where a row of the next atom begins",
    )
