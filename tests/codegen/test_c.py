"""C and CUDA, compiled, and run on the indices of random layouts, against the definition."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.codegen.compiled import HOST, check_compiled, constants, program
from tests.codegen.definition import random_calls
from tests.codegen.instructions import TYPICAL, rows

LAYOUTS = 120
STRICT = ["-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
"""A warning ends the build; overflow of a signed integer, or a bad shift, ends the program."""


SLACK = 1
"""Compilers differ by an instruction from version to version."""


def tool(*names: str) -> str:
    """The first of some compilers that there is."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip(f"there is no {' or '.join(names)} on this machine")
    return found


def test_c(tmp_path: Path, times) -> None:
    all_calls = list(random_calls("c", times(LAYOUTS), seed=1))
    assert len(all_calls) > 3 * times(LAYOUTS)  # most have an inverse too
    assert sum("int64_t" in calls.source.code for calls in all_calls) > times(LAYOUTS) / 6
    command = [tool("cc", "gcc", "clang"), "-std=c11", *STRICT, "-o", "program", "program.c"]
    check_compiled(all_calls, program(all_calls), command, tmp_path)


def test_cuda_by_a_compiler_for_the_host(tmp_path: Path, times) -> None:
    all_calls = list(random_calls("cuda", times(LAYOUTS), seed=2))
    assert len(all_calls) > 3 * times(LAYOUTS)
    source = HOST + program(all_calls) + constants(all_calls)
    command = [tool("c++", "g++", "clang++"), "-std=c++17", *STRICT, "-o", "program", "program.cpp"]
    check_compiled(all_calls, source, command, tmp_path)


def test_a_wrong_function_is_noticed(tmp_path: Path) -> None:
    """The judge sees one wrong result."""
    all_calls = list(random_calls("c", 20, seed=1))
    right = program(all_calls)
    source = re.sub(r"(static inline uint32_t f\d+\([^}]*return )", r"\1 1 + ", right, count=1)
    assert source != right
    command = [tool("cc", "gcc", "clang"), "-std=c11", "-o", "program", "program.c"]
    with pytest.raises(AssertionError, match=r"f\d+\("):
        check_compiled(all_calls, source, command, tmp_path)


def test_compilers_need_no_more_instructions_than_for_the_plain_loop_over_digits() -> None:
    tool("gcc")
    counted = list(rows())
    assert len(counted) == len(TYPICAL)
    for name, by_digit, by_bit, ours in counted:
        assert 0 < ours <= min(by_digit, by_bit or by_digit) + SLACK, name
    assert sum(ours for _, _, _, ours in counted) < 0.9 * sum(by_digit for _, by_digit, _, _ in counted)
