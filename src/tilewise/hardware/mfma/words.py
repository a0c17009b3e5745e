"""An mfma by its name in assembly, in clang or in LLVM: which it is, and which entries its operands are."""

from __future__ import annotations

import re
from functools import cache

from tilewise.core.errors import Refused
from tilewise.hardware.catalog.entry import texts
from tilewise.hardware.mfma.instructions import AMD_NAMES, INSTRUCTIONS, BlockInstruction, having

LOOKS = r"v_s?mfmac?_|__builtin_amdgcn_s?mfmac?_|llvm\.amdgcn\.s?mfmac?\."
"""How words begin that are an instruction: of the assembler, clang's builtin, or LLVM's intrinsic."""


@cache
def every() -> dict[str, BlockInstruction]:
    """{a spelling without its signs: the instruction}.

    >>> len(every()) > 32
    True
    """
    return {_squeezed(word): this for this in INSTRUCTIONS for word in (str(this), this.builtin)}


def named(words: str) -> BlockInstruction:
    """The instruction that words name; operands may follow.

    >>> print(named("__builtin_amdgcn_mfma_f32_32x32x8f16"))
    v_mfma_f32_32x32x8_f16
    >>> print(named("v_mfma_f32_32x32x4_2b_f16 v[0:31], v[32:33], v[34:35], v[0:31]"))
    v_mfma_f32_32x32x4_2b_f16
    """
    first = re.split(r"[\s({]", words.strip(), maxsplit=1)[0].lower()
    if (found := every().get(_squeezed(first))) is not None:
        return found
    if said := _OTHER.match(first):
        having(said[1], {amd: name for name, amd in AMD_NAMES.items()}.get(said[2], said[2]))
    from difflib import get_close_matches

    scaled = "scale" in first or "f8f6f4" in first
    absent = "mfma.sp" if "smfma" in first else "mfma.scale" if scaled else ""
    reason = texts()["absent"].get(absent, f"gfx942 has no {first}")
    near = get_close_matches(_squeezed(first), every(), n=1)
    hint = f"near is {every()[near[0]]}; {_HINT}" if near else _HINT
    raise Refused("TW602", reason, witness={"instruction": first}, hint=hint)


_OTHER = re.compile(r"v_mfma_[a-z]\d+_(\d+x\d+x\d+)(?:_\d+b)?_?(f16|bf16|i8)(?:_1k)?$")
"""An instruction that may be another generation's."""

_HINT = "tilewise catalog mfma.shapes lists what there is"


def _squeezed(word: str) -> str:
    """A spelling without what the assembler, clang and LLVM do each in its own way."""
    return re.sub(r"^(v_|__builtin_amdgcn_|llvm\.amdgcn\.)", "", word).replace(".", "").replace("_", "")


def operands(this: BlockInstruction) -> dict[str, str]:
    """{operand: the call of its entry}.

    >>> operands(named("v_mfma_f32_16x16x32_fp8_bf8"))["B"]
    'mfma.B(16x16x32, dtype=e5m2fnuz)'
    >>> operands(named("v_mfma_f32_32x32x4_2b_f16"))["D"]
    'mfma.D(32x32x4, dtype=f32, blocks=2)'
    """
    blocks = "" if this.blocks_of_result is None else f", blocks={this.blocks}"
    return {
        operand: f"mfma.{operand}({this.shape}, dtype={this.dtype(operand)}{blocks * (operand in 'CD')})"
        for operand in "ABCD"
    }
