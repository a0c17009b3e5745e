"""Every kernel of the cases through NVRTC and the assembler, for sm_90a, without a word from either."""

from __future__ import annotations

import ctypes

import pytest
from tests.codegen import nvrtc
from tests.codegen.wgmma_cases import CASES, Case, random_cases

from tilewise.codegen.wgmma import kernel_source
from tilewise.codegen.wgmma.styles import constants_source

pytestmark = pytest.mark.slow
ARCH = "--gpu-architecture=sm_90a"


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    found = nvrtc.load()
    if found is None:
        pytest.skip("there is no NVRTC on this machine; make .venv/ready-for-cuda")
    return found


@pytest.mark.parts(3)
@pytest.mark.parametrize("case", [*CASES, *random_cases(12, seed=5)], ids=str)
def test_each_kernel_is_assembled_without_a_note(library: ctypes.CDLL, case: Case) -> None:
    """Notes are how the assembler says that it had to serialise a chain, or that registers were spilled."""
    code, said = nvrtc.compile_to_cubin(
        library, kernel_source(case.plan), ARCH, "--ptxas-options=--warn-on-spills"
    )
    assert code.startswith(b"\x7fELF")
    assert said == ""


def test_the_assembler_notes_registers_that_are_touched_between_two_instructions(
    library: ctypes.CDLL,
) -> None:
    source = kernel_source(CASES[0].plan)
    touched = source.replace("    multiply(d, a + ", "    d[3] += 1;\n        multiply(d, a + ", 1)
    assert touched != source
    _, said = nvrtc.compile_to_cubin(library, touched, ARCH)
    assert "C75" in said


def test_an_instruction_that_does_not_exist_is_no_machine_code(library: ctypes.CDLL) -> None:
    source = kernel_source(CASES[0].plan).replace(".m64n64k16.", ".m64n64k32.")
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
