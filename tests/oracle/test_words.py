"""Instruction descriptors and shared-memory descriptors of tcgen05, by TIRx's encoders."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from tilewise import Refused
from tilewise.hardware.modes import BLACKWELL
from tilewise.hardware.tcgen05.descriptor import Descriptor
from tilewise.hardware.tcgen05.instruction import InstructionWord
from tilewise.hardware.tcgen05.kinds import KINDS

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "tf32": "tf32",
    "f32": "float32",
    "s32": "int32",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e2m3": "float6_e2m3fn",
    "e3m2": "float6_e3m2fn",
    "e2m1": "float4_e2m1fn",
    "s8": "int8",
    "u8": "uint8",
    "ue8m0": "float8_e8m0fnu",
    "ue4m3": "float8_e4m3fn",
}
PRODUCTS = ((64, 96, 1), (128, 256, 1), (128, 16, 1), (256, 96, 2), (128, 64, 2))
"""(M, N, CTAs)."""


@pytest.fixture(scope="module")
def theirs():
    return pytest.importorskip("tvm.backend.cuda.cpp.descriptors", reason="apache-tvm is not installed")


def products(scaled: bool) -> Iterator[InstructionWord]:
    """Every kind, types that go together, majors, signs, sparse A, and some shapes."""
    for kind in (kind for kind in KINDS.values() if kind.scaled == scaled):
        for a, b, d in product(kind.types, kind.types, kind.results):
            for (m, n, ctas), a_major, b_major, sparse, negated in product(
                PRODUCTS, ("k", "mn"), ("k", "mn"), (False, True), (False, True)
            ):
                majors = {"a_major": a_major, "b_major": b_major}
                such = {
                    "cta_group": ctas,
                    "sparse": sparse,
                    "negate_a": negated,
                    "saturate": kind.name == "i8",
                }
                scales = [(s.word, s.dtype) for s in kind.scalings] or [("", "")]
                for word, dtype in scales:
                    try:
                        yield InstructionWord(
                            kind.name, m, n, a=a, b=b, d=d, scale=word, scale_dtype=dtype, **majors, **such
                        )
                    except Refused:
                        continue


def test_instruction_descriptors_without_scales(theirs) -> None:
    same = 0
    for one in products(scaled=False):
        types = (DTYPES[one.d], DTYPES[one.a], DTYPES[one.b])
        majors = (one.a_major == "mn", one.b_major == "mn")
        signs = (one.negate_a, one.negate_b, one.saturate, one.sparse)
        encode = theirs.encode_instr_descriptor_dense_uint32
        assert one.value == encode(one.m, one.n, one.k, *types, *majors, one.cta_group, *signs), one
        same += 1
    assert same > 500


def test_instruction_descriptors_with_scales(theirs) -> None:
    same = 0
    for one in products(scaled=True):
        if (one.kind, one.a, one.b) == ("mxf8f6f4", "e2m1", "e2m1"):
            continue  # it takes the kind from the types: these are mxf4's
        types = (DTYPES[one.d], DTYPES[one.a], DTYPES[one.b], DTYPES[one.scale_dtype])
        majors = (one.a_major == "mn", one.b_major == "mn")
        signs = (one.negate_a, one.negate_b, one.sparse)
        encode = theirs.encode_instr_descriptor_block_scaled_uint32
        assert one.value == encode(one.m, one.n, one.k, *types, *majors, one.cta_group, *signs), one
        same += 1
    assert same > 200


@pytest.mark.parametrize(("number", "mode"), [*enumerate(("none", "32B", "64B", "128B", "128B_ATOM_32B"))])
def test_shared_memory_descriptors(theirs, number: int, mode: str) -> None:
    for lbo, sbo in product((0, 1, 64, 0x3FFF), (1, 64, 0x3FFF)):
        ours = Descriptor(0, 16 * lbo, 16 * sbo, BLACKWELL[mode])
        assert ours.value == theirs.encode_smem_descriptor_base_uint64(lbo, sbo, number)
