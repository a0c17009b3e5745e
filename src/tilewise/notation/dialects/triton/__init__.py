"""Triton's encodings, read and written.

    #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
    tensor<128x64xf16, #ttg.nvidia_mma<{versionMajor = 2, ...}>>
    !ttg.memdesc<64x64xf16, #ttg.swizzled_shared<{...}>, #ttg.shared_memory, mutable>

An encoding is a linear map over GF(2) from places to elements: bit k of a lane's number moves the element
that the lane holds. `tile` builds such maps as Triton does; `registers` and `memory` have the encodings;
`layouts` turns a map into a layout. Triton 3.0 to 3.5 spelled encodings in other ways, which are read too.
"""

from __future__ import annotations

from tilewise.core.layout import Layout
from tilewise.notation.dialects.given import Given, Reading
from tilewise.notation.dialects.triton.encodings import Context, Typed, chosen
from tilewise.notation.dialects.triton.layouts import layout_of

EXAMPLES = (
    Given(
        "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], "
        "order = [1, 0]}>",
        shape=(64, 32),
    ),
    Given(
        "tensor<64x32xf16, #ttg.dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{versionMajor = 2, "
        "versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>, kWidth = 2}>>"
    ),
    Given(
        "!ttg.memdesc<16x128xf16, #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, "
        "order = [1, 0]}>, #ttg.shared_memory, mutable, 64x128>"
    ),
    Given(
        "#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], "
        "instrShape = [16, 64, 16]}>\ntensor<128x64xf32, #mma>",
        part="tensor<128x64xf32, #mma>",
    ),
    Given(
        "#triton_gpu.shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], hasLeadingOffset = true}>",
        shape=(64, 64),
        triton="3.1",
    ),
    Given(
        "!ttg.memdesc<128x128xf32, #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, "
        "colStride = 1>, #ttng.tensor_memory, mutable>"
    ),
)


def read(given: Given) -> Reading:
    """Return the layout of a type or of an encoding; of a text with several, that of the part."""
    return reading_of(chosen(given), given)


def reading_of(found: Typed, given: Given) -> Reading:
    """Return the layout of an encoding, for the shape that its type has, or that is given."""
    shape = found.shape or given.needs_shape(f"the encoding {found.encoding.name}")
    dtype = found.dtype or given.dtype
    context = Context.of(given.triton, dtype)
    layout = layout_of(found.encoding, shape, found.allocation, context)
    if found.allocation is not None and found.allocation[-len(shape) :] != shape:
        whole = "x".join(map(str, found.allocation))
        context.notes.append(f"a view of an allocation of {whole}, from its beginning")
    return Reading(layout, dtype, notes=tuple(context.notes))


def write(layout: Layout, given: Given) -> str:
    """Return the encoding of a layout: the shortest that reads back as the layout."""
    from tilewise.notation.dialects.triton.writing import written

    return written(layout, given)
