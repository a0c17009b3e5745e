"""C and CUDA, compiled, and run on the indices of random layouts, against the definition."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.emit import nvrtc
from tests.emit.compiled import HOST, check_compiled, constants, kernel, program
from tests.emit.definition import Calls, random_calls

LAYOUTS = 120
STRICT = ["-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
"""A warning ends the build; overflow of a signed integer, or a bad shift, ends the program."""


def tool(*names: str) -> str:
    """The first of some compilers that there is."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip(f"there is no {' or '.join(names)} on this machine")
    return found


def calls_for(lang: str, seed: int, wide: str) -> list[Calls]:
    """Every form of random layouts, some of them with 64-bit integers."""
    all_calls = list(random_calls(lang, LAYOUTS, seed))
    assert len(all_calls) > 3 * LAYOUTS  # most have an inverse too
    assert sum(wide in calls.source.code for calls in all_calls) > LAYOUTS / 6
    return all_calls


def test_c(tmp_path: Path) -> None:
    all_calls = calls_for("c", 1, "int64_t")
    command = [tool("cc", "gcc", "clang"), "-std=c11", *STRICT, "-o", "program", "program.c"]
    check_compiled(all_calls, program(all_calls), command, tmp_path)


def test_cuda_by_a_compiler_for_the_host(tmp_path: Path) -> None:
    all_calls = calls_for("cuda", 2, "long long")
    source = HOST + program(all_calls) + constants(all_calls)
    command = [tool("c++", "g++", "clang++"), "-std=c++17", *STRICT, "-o", "program", "program.cpp"]
    check_compiled(all_calls, source, command, tmp_path)


def test_cuda_by_nvrtc() -> None:
    library = nvrtc.load()
    if library is None:
        pytest.skip("there is no NVRTC on this machine; pip install nvidia-cuda-nvrtc")
    all_calls = calls_for("cuda", 3, "long long")
    functions = "\n".join(calls.source.code for calls in all_calls)
    source = functions + constants(all_calls) + kernel(all_calls)
    ptx = nvrtc.compile_to_ptx(library, source, "--gpu-architecture=sm_90")
    assert ptx.count("st.global") >= len(all_calls)


def test_that_nvrtc_refuses_what_is_wrong() -> None:
    library = nvrtc.load()
    if library is None:
        pytest.skip("there is no NVRTC on this machine; pip install nvidia-cuda-nvrtc")
    with pytest.raises(AssertionError, match="undefined"):
        nvrtc.compile_to_ptx(library, "int f() { return nothing; }")


def test_a_wrong_function_is_noticed(tmp_path: Path) -> None:
    """The judge sees one wrong result."""
    all_calls = list(random_calls("c", 20, seed=1))
    source = program(all_calls).replace("return (i << ", "return 1 + (i << ", 1)
    command = [tool("cc", "gcc", "clang"), "-std=c11", "-o", "program", "program.c"]
    with pytest.raises(AssertionError):
        check_compiled(all_calls, source, command, tmp_path)
