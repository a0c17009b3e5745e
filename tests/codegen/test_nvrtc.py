"""CUDA by CUDA's own compiler, NVRTC, for a GPU that need not be there."""

from __future__ import annotations

import ctypes

import pytest
from tests.codegen import nvrtc
from tests.codegen.compiled import constants, kernel
from tests.codegen.definition import random_calls
from tests.codegen.named_calls import named_calls

pytestmark = pytest.mark.slow
LAYOUTS = 120


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    found = nvrtc.load()
    if found is None:
        pytest.skip("there is no NVRTC on this machine; make .venv/ready-for-cuda")
    return found


def test_every_function_is_compiled_without_a_warning(library: ctypes.CDLL) -> None:
    all_calls = list(random_calls("cuda", LAYOUTS, seed=3))
    assert len(all_calls) > 3 * LAYOUTS
    functions = "\n".join(calls.source.code for calls in all_calls)
    source = functions + constants(all_calls) + kernel(all_calls)
    ptx = nvrtc.compile_to_ptx(library, source, "--gpu-architecture=sm_90")
    assert ptx.count("st.global") >= len(all_calls)


def test_every_function_with_names_is_compiled_without_a_warning(library: ctypes.CDLL) -> None:
    all_calls = list(named_calls("cuda", 60, 2, seed=5))
    assert any("assert(" in calls.source.code for calls in all_calls)
    functions = "\n".join(calls.source.code for calls in all_calls)
    ptx = nvrtc.compile_to_ptx(library, functions + kernel(all_calls), "--gpu-architecture=sm_90")
    assert ptx.count("st.global") >= len(all_calls)


def test_what_is_wrong_is_not_compiled(library: ctypes.CDLL) -> None:
    with pytest.raises(AssertionError, match="undefined"):
        nvrtc.compile_to_ptx(library, "int f() { return nothing; }")
    with pytest.raises(AssertionError, match="warning"):
        nvrtc.compile_to_ptx(library, "__device__ unsigned f(unsigned x) { return x * -3; }")
