"""CuTe's source by CuTe itself: its headers come with nvidia-cutlass, nvcc compiles; no GPU is needed."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest
from tests.codegen.compiled import check_compiled
from tests.codegen.definition import Calls, calls_of
from tests.codegen.test_cute import sayable

from tilewise import Refused

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

LAYOUTS = 40

FORMS = [{"inverse": False, "flat": False}, {"inverse": False, "flat": True}, {"inverse": True, "flat": True}]

_HEAD = """\
#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <cute/tensor.hpp>

template <int I, class Place> int64_t steps(Place const &place)
{
    if constexpr (std::is_convertible_v<Place, int64_t>) {
        return int64_t(place);
    } else {
        auto const all = cute::as_arithmetic_tuple(place);
        if constexpr (I < cute::tuple_size<decltype(all)>::value) return int64_t(cute::get<I>(all));
        return 0;
    }
}
"""


@pytest.fixture(scope="module")
def headers() -> Path:
    package = find_spec("cutlass_library")
    folders = [] if package is None else list(package.submodule_search_locations or [])
    found = [Path(folder) / "source/include" for folder in folders]
    if not found or not (found[0] / "cute/tensor.hpp").exists():
        pytest.skip("nvidia-cutlass is not installed")
    if shutil.which("nvcc") is None:
        pytest.skip("there is no nvcc on this machine")
    return found[0]


@pytest.mark.parametrize("form", FORMS, ids=["places", "flat", "inverse"])
def test_cute_gives_every_place(headers: Path, tmp_path: Path, form: dict[str, bool]) -> None:
    rng = Random(9)
    all_calls: list[Calls] = []
    while len(all_calls) < LAYOUTS:
        try:
            calls = calls_of(sayable(rng), "cute", f"f{len(all_calls)}", form, rng)
        except Refused:
            continue
        all_calls.append(calls)
    command = ["nvcc", "-std=c++17", "-arch=sm_90", f"-I{headers}", "-o", "program", "program.cu"]
    check_compiled(all_calls, _program(all_calls), command, tmp_path)


def _program(all_calls: list[Calls]) -> str:
    runs = "".join(f"    run_{calls.source.name}();\n" for calls in all_calls)
    parts = [_HEAD, *(f"{calls.source.code}\n{_loop(calls)}" for calls in all_calls)]
    return "\n".join([*parts, f"int main()\n{{\n{runs}    return 0;\n}}\n"])


def _loop(calls: Calls) -> str:
    name = calls.source.name
    given = len(calls.source.arguments)
    read = f"int64_t in[{given}]; if (fread(in, 8, {given}, stdin) != {given}) return;" if given else ""
    arguments = ", ".join(f"in[{i}]" for i in range(given)) or "0"
    names = [result.name for result in calls.source.results]
    values = [f"steps<{name[1:] if name[1:].isdigit() else 0}>(v)" for name in names]
    return (
        f"static void run_{name}()\n{{\n    for (int row = 0; row < {len(calls.rows)}; row++) {{\n"
        f"        {read}\n        const auto v = {name}({arguments});\n"
        f"        const int64_t out[] = {{{', '.join(values)}}};\n"
        f"        fwrite(out, sizeof out, 1, stdout);\n    }}\n}}"
    )
