"""Types as Triton 3.0 to 3.7 wrote them, in the words of 3.8: a rule a key, and no rule for meanings.

The newer compiler then tells what the older one, which has no binding for it, meant. The words changed so:

    #triton_gpu -> #ttg                            3.3    TritonGPUDialect.td
    !tt.memdesc, !triton_gpu.memdesc -> !ttg       3.3
    #shared -> #swizzled_shared, #nvmma_shared     3.3    SharedEncodingAttr had hasLeadingOffset
    unpacked -> colStride                          3.6    TensorMemoryEncodingAttr
    instrShape of two -> of three, for mfma        3.6    AMDMfmaEncodingAttr
    CTASplitM, CTASplitN -> CGALayout              3.8    of tensor memory
    warpsPerCTA -> ctaLayout, for wmma             3.7    AMDWmmaEncodingAttr
    CTAsPerCGA, CTASplitNum, CTAOrder -> CGALayout 3.6    CGAEncodingAttr::fromSplitParams
"""

from __future__ import annotations

import re

BITS = re.compile(r"x[a-z]+(\d+)\w*, #")


def respelled(text: str) -> str:
    """Return a type in the words of Triton 3.8.

    >>> respelled("tensor<8x16xf32, #triton_gpu.amd_wmma<{warpsPerCTA = [1, 2]}>>")
    'tensor<8x16xf32, #ttg.amd_wmma<{version = 1, ctaLayout = {warp = [[0, 1]]}}>>'
    """
    text = (
        text.replace("#triton_gpu.", "#ttg.").replace("!triton_gpu.", "!ttg.").replace("!tt.mem", "!ttg.mem")
    )
    if text.startswith("!ttg.memdesc") and "_memory" not in text:
        text = re.sub(r"(, mutable)?>$", r", #ttg.shared_memory\1>", text)
    found = BITS.search(text)
    bits = int(found[1]) if found else 0
    text = re.sub(r"#ttg\.shared<{(.*?)}>", lambda keys: _shared(keys[1], bits), text)
    apart = 32 // max(bits, 1)
    text = text.replace("unpacked = true", f"colStride = {apart}").replace(
        "unpacked = false", "colStride = 1"
    )
    text = re.sub(r"(amd_mfma<{version)Major = (\d), versionMinor = \d", r"\1 = \2", text)
    text = re.sub(r"(amd_mfma<.*?instrShape = \[\d+, \d+)\]", r"\1, 8]", text)
    text = text.replace("amd_wmma<{warps", "amd_wmma<{version = 1, warps")
    text = text.replace("CTASplitM = 2", "CGALayout = [[1, 0]]").replace(
        "CTASplitN = 2", "CGALayout = [[0, 1]]"
    )
    text = re.sub(r"(amd_wmma<{.*?)warpsPerCTA = \[([\d, ]*)\]", lambda keys: keys[1] + _tiles(keys[2]), text)
    if "dot_op" in text:  # A of wgmma: pairs of neighbours where an element has two bytes
        text = re.sub(r"(versionMajor = 3[^}]*}>)}>", rf"\1, kWidth = {apart}}}>", text)
    return re.sub(r"CTAsPerCGA = (\[.*?\]), CTASplitNum = (\[.*?\]), CTAOrder = (\[.*?\])", _blocks, text)


def _shared(keys: str, bits: int) -> str:
    told = dict(key.split(" = ") for key in re.split(r", (?=[a-zA-Z])", keys))
    leading = told.pop("hasLeadingOffset", "false") == "true"
    if not leading:
        return "#ttg.swizzled_shared<{" + ", ".join(f"{key} = {value}" for key, value in told.items()) + "}>"
    blocks = "".join(f", {key} = {value}" for key, value in told.items() if key.startswith("CTA"))
    rows = told["order"] == "[0, 1]"
    swizzle = 16 * int(told["maxPhase"])
    return (
        f"#ttg.nvmma_shared<{{swizzlingByteWidth = {swizzle}, transposed = {str(rows).lower()}, "
        f"elementBitWidth = {bits}{blocks}}}>"
    )


def _tiles(warps: str) -> str:
    """The warps of wmma by their bits, those along the last dimension first."""
    counts = [int(count) for count in warps.split(", ")]
    bases = []
    for dim in reversed(range(len(counts))):
        steps = [1 << bit for bit in range(counts[dim].bit_length() - 1)]
        bases += [[step if at == dim else 0 for at in range(len(counts))] for step in steps]
    return f"ctaLayout = {{warp = {bases}}}"


def _blocks(keys: re.Match[str]) -> str:
    ctas, split, order = ([int(of) for of in key[1:-1].split(", ")] for key in keys.groups())
    bases = []
    for dim in order:
        own = [1 << bit for bit in range(split[dim].bit_length() - 1)]
        copies = [0] * ((ctas[dim] // split[dim]).bit_length() - 1)
        bases += [[step if at == dim else 0 for at in range(len(ctas))] for step in own + copies]
    return f"CGALayout = {bases}"
