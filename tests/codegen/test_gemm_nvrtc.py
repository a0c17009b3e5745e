"""Kernels around wgmma through NVRTC and the assembler, for sm_90a, without a word from either."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest
from tests.codegen import nvrtc
from tests.codegen.test_gemm import CASES as PRODUCTS
from tests.codegen.test_gemm import plan_of
from tests.codegen.wgmma_cases import CASES

from tilewise.codegen import attention
from tilewise.codegen.gemm import Finish, kernel_source, planned
from tilewise.codegen.wgmma.styles import constants_source

pytestmark = pytest.mark.slow
ARCH = "--gpu-architecture=sm_90a"


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    found = nvrtc.load()
    if found is None:
        pytest.skip("there is no NVRTC on this machine; make .venv/ready-for-cuda")
    return found


def kernels() -> Iterator[tuple[str, str]]:
    """Yield names and texts: each case plain, with all that may be done to its sums, and in batches."""
    every = Finish(alpha=True, scales="row", addend=True, bias=True)
    for name in PRODUCTS:
        yield name, kernel_source(plan_of(name))
        if plan_of(name).accumulator.name == "f32":
            yield f"{name}, finished", kernel_source(plan_of(name, finish=every, batched=True))
            for word, way in (("groups", "grouped"), ("parts", "splits")):
                if plan_of(name).widened is None:
                    yield f"{name}, {word}", kernel_source(plan_of(name, finish=every, **{way: True}))
            yield f"{name}, scaled", kernel_source(plan_of(name, finish=Finish(scales="tensor"), out="f16"))
    for workers, tile in ((1, (64, 256)), (1, (128, 128)), (2, (128, 192))):
        plan = planned(tile, "bf16", workers=workers, cluster=(1, 1), out="bf16")
        yield f"{workers} warpgroups", kernel_source(plan)
    for head, causal, dtype in (
        (64, False, "f16"),
        (64, True, "bf16"),
        (128, False, "bf16"),
        (128, True, "f16"),
    ):
        yield (
            f"attention {head}, {dtype}",
            attention.kernel_source(attention.planned(head, dtype, causal=causal)),
        )


@pytest.mark.parts(3)
@pytest.mark.parametrize(("name", "source"), list(kernels()), ids=lambda word: word[:30])
def test_each_kernel_is_assembled_without_a_note(library: ctypes.CDLL, name: str, source: str) -> None:
    """Notes are how the assembler says that it had to serialise a chain, or that registers were spilled."""
    code, said = nvrtc.compile_to_cubin(library, source, ARCH, "--ptxas-options=--warn-on-spills")
    assert code.startswith(b"\x7fELF")
    assert said == ""


def test_the_assembler_notes_registers_that_are_touched_between_two_instructions(
    library: ctypes.CDLL,
) -> None:
    source = kernel_source(plan_of("bf16"))
    touched = source.replace("    multiply(d[0], a + ", "    d[0][3] += 1;\n        multiply(d[0], a + ", 1)
    assert touched != source
    _, said = nvrtc.compile_to_cubin(library, touched, ARCH)
    assert "C75" in said


def test_an_instruction_that_does_not_exist_is_no_machine_code(library: ctypes.CDLL) -> None:
    source = kernel_source(plan_of("bf16")).replace(".m64n256k16.", ".m64n256k32.")
    with pytest.raises(AssertionError, match="wgmma"):
        nvrtc.compile_to_cubin(library, source, ARCH)


def test_bare_constants_compile(library: ctypes.CDLL) -> None:
    parts = [
        f"namespace of_{i} {{\n{constants_source(case.plan)}\n"
        "__global__ void kernel(float *out) { out[0] = "
        + " + ".join(f"{own.name}_STEP[1 % {case.plan.k_steps}]" for own in case.plan.in_shared)
        + "; }\n}"
        for i, case in enumerate(CASES)
    ]
    _, said = nvrtc.compile_to_cubin(library, "\n".join(parts), ARCH)
    assert "error" not in said
