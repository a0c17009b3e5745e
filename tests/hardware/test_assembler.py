"""The shapes of the catalogue, put to the assembler: NVRTC takes exactly the N, types and majors listed."""

import re

import pytest
from tests.codegen import nvrtc

from tilewise.hardware.catalog import find
from tilewise.hardware.wgmma.instructions import INPUTS

NO_SUCH_SHAPE = re.compile(r"[Ss]hape|Unknown modifier '\.m64n")
LIBRARY = nvrtc.load()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(LIBRARY is None, reason="NVRTC is not installed")]


def statement(dtype, n, *, accumulator=None, transposed=False, k=None, partner=None):
    """One wgmma on two descriptors, its registers declared around it."""
    row = INPUTS.get(dtype)
    d = accumulator or row.accumulators[0]
    k = k or row.k
    registers = n // 4 if d == "f16" else n // 2
    held = {"f16": "b32", "f32": "f32", "s32": "b32"}[d]
    scales = "" if d == "s32" else ", 1, 1"
    majors = f", {int(transposed)}, {int(transposed)}" if "mn" in row.majors or transposed else ""
    form = f"m64n{n}k{k}.{d}.{dtype}.{partner or dtype}" + (".and.popc" if dtype == "b1" else "")
    operands = ", ".join(f"d{i}" for i in range(registers))
    return (
        f'asm volatile("{{ .reg .{held} d<{registers}>; .reg .pred p; setp.ne.b32 p, %2, 0; '
        f'wgmma.mma_async.sync.aligned.{form} {{{operands}}}, %0, %1, p{scales}{majors}; }}"'
        ' :: "l"(a), "l"(b), "r"(c));'
    )


def assembled(*statements):
    """Return what the assembler says against a kernel of them; nothing where it takes it."""
    body = "\n".join(statements)
    source = (
        f'extern "C" __global__ void kernel(unsigned long long a, unsigned long long b, int c) {{\n{body}\n}}'
    )
    try:
        nvrtc.compile_to_cubin(LIBRARY, source, "--gpu-architecture=sm_90a")
    except AssertionError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("dtype", INPUTS)
def test_every_listed_n_exists(dtype):
    facts = find("wgmma.shapes")(dtype).facts
    for accumulator in facts["accumulators"]:
        assert assembled(*(statement(dtype, n, accumulator=accumulator) for n in facts["n"])) == ""


@pytest.mark.parametrize("dtype", ["s8", "u8", "b1"])
def test_no_other_n_exists(dtype):
    illegal = find("wgmma.shapes")(dtype).facts["illegal"]
    assert illegal[0] == 40
    for n in illegal:
        assert NO_SUCH_SHAPE.search(assembled(statement(dtype, n)))


@pytest.mark.parametrize("dtype", INPUTS)
def test_neither_odd_nor_large_n_exist(dtype):
    for n in (4, 12, 264):
        assert NO_SUCH_SHAPE.search(assembled(statement(dtype, n)))


@pytest.mark.parametrize("dtype", INPUTS)
def test_k_is_32_bytes(dtype):
    k = find("wgmma.shapes")(dtype).facts["k"]
    assert assembled(statement(dtype, 64)) == ""
    assert assembled(statement(dtype, 64, k=2 * k)) != ""


@pytest.mark.parametrize("dtype", INPUTS)
def test_the_transpose_bits_exist_for_listed_majors_alone(dtype):
    takes = assembled(statement(dtype, 64, transposed=True)) == ""
    assert takes == ("mn" in find("wgmma.shapes")(dtype).facts["majors"])


@pytest.mark.parametrize("dtype", INPUTS)
def test_partners_and_accumulators_are_those_listed(dtype):
    facts = find("wgmma.shapes")(dtype).facts
    for partner in ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "b1"):
        takes = assembled(statement(dtype, 64, partner=partner)) == ""
        assert takes == (partner in facts["partners"]), partner
    for accumulator in ("f16", "f32", "s32"):
        takes = assembled(statement(dtype, 64, accumulator=accumulator)) == ""
        assert takes == (accumulator in facts["accumulators"]), accumulator
