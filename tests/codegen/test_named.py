"""The functions of layouts with names, in each language, against the layouts for values of the names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.codegen.compiled import HOST, check_compiled, program
from tests.codegen.definition import run_python
from tests.codegen.named_calls import named_calls
from tests.codegen.scalars import run_triton, stand_in
from tests.codegen.test_c import STRICT, tool

from tilewise import NotDecided, S, name, parse
from tilewise.codegen import source_of
from tilewise.questions.code import code

LAYOUTS, VALUES = 60, 6


def test_python(times) -> None:
    all_calls = list(named_calls("python", times(120), VALUES, seed=1))
    assert len(all_calls) > 2 * times(120)
    for calls in all_calls:
        run_python(calls)


def test_triton_with_the_widths_of_a_gpu(times, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    for calls in named_calls("triton", times(LAYOUTS), VALUES, seed=2):
        run_triton(calls)


def test_c(tmp_path: Path, times) -> None:
    all_calls = list(named_calls("c", times(LAYOUTS), VALUES, seed=3))
    command = [tool("cc", "gcc", "clang"), "-std=c11", *STRICT, "-o", "program", "program.c"]
    check_compiled(all_calls, program(all_calls), command, tmp_path)


def test_cuda_by_a_compiler_for_the_host(tmp_path: Path, times) -> None:
    all_calls = list(named_calls("cuda", times(LAYOUTS), VALUES, seed=4))
    command = [tool("c++", "g++", "clang++"), "-std=c++17", *STRICT, "-o", "program", "program.cpp"]
    check_compiled(all_calls, HOST + program(all_calls), command, tmp_path)


def test_a_wrong_function_is_noticed(tmp_path: Path) -> None:
    all_calls = list(named_calls("c", 8, VALUES, seed=3))
    right = program(all_calls)
    source = re.sub(r"(static inline \w+ f\d+_\d+\([^}]*return )", r"\1 1 + ", right, count=1)
    assert source != right
    command = [tool("cc", "gcc", "clang"), "-std=c11", "-o", "program", "program.c"]
    with pytest.raises(AssertionError, match=r"return"):
        check_compiled(all_calls, source, command, tmp_path)


def test_facts_are_asserted_and_make_integers_narrow() -> None:
    report = code("S[(M, 64) : (lda, 1)]", where="M % 64 == 0, lda >= 64", lang="python")
    names: dict[str, object] = {}
    exec(report.code, names)
    place_of = names["place_of"]
    assert place_of(3, 5, 128, 72) == 221  # type: ignore[operator]
    for m, lda in ((100, 72), (64, 63), (0, 64)):
        with pytest.raises(AssertionError):
            place_of(0, 0, m, lda)  # type: ignore[operator]
    assert "long long" in code("S[(M, 64) : (lda, 1)]", where="M, lda").code
    assert "long long" not in code("S[(M, 64) : (lda, 1)]", where="M <= 4096, lda <= 4096").code


def test_a_place_needs_no_case_and_an_index_may() -> None:
    forward = code("Swizzle<3,3,3> o S[(M, 64) : (64, 1)] + 64*K", where="M, K", dtype="bf16", bytes=True)
    assert "cases" not in forward.contents
    back = code("S[(M, 64) : (lda, 1)]", where="M, lda >= 64", inverse=True)
    assert [case["if"] for case in back.cases] == ["M >= 2 and lda == 64", "M >= 2 and lda != 64", "M == 1"]
    assert all("long long lda" in case["code"] or "int lda" in case["code"] for case in back.cases)


def test_a_quotient_that_may_be_below_0_is_refused_where_it_rounds_up() -> None:
    layout = parse("S[8 : 1]") + (name("M", least=-20) + 3) // 8
    assert "// 8" in source_of(layout, "python").code
    with pytest.raises(NotDecided, match="may be below 0"):
        source_of(layout, "c")


def test_cute_takes_names_as_arguments() -> None:
    tile = S[(name("M"), 64) : (name("lda"), 1)]
    text = source_of(tile, "cute").code
    assert "CUTE_HOST_DEVICE constexpr auto place_of(int64_t M, int64_t lda)" in text
    assert "make_shape(M, Int<64>{})" in text
    assert "make_stride(lda, Int<1>{})" in text
