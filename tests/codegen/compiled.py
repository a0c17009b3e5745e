"""Many C or CUDA functions in one program: built once, run on all their rows, judged in Python."""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.codegen.definition import Calls

from tilewise.codegen.names import FreeNames

HOST = """\
#define __host__
#define __device__
#define __forceinline__ inline
"""
"""CUDA's qualifiers for a compiler that does not know them."""

_WRAP = 1 << 64

_HEAD = """\
#include <stdint.h>
#include <stdio.h>
"""


def program(all_calls: Sequence[Calls]) -> str:
    """The functions, and a main that reads rows of int64 and writes rows of int64."""
    parts = [_HEAD]
    for calls in all_calls:
        parts += [calls.source.code, _loop(calls)]
    names = "".join(f"    run_{calls.source.name}();\n" for calls in all_calls)
    return "\n".join([*parts, f"int main(void)\n{{\n{names}    return 0;\n}}\n"])


def _loop(calls: Calls) -> str:
    name = calls.source.name
    given = len(calls.source.arguments)
    arguments = ", ".join(f"in[{i}]" for i in range(given))
    values = ", ".join(f"(int64_t)v{field}" for field in fields_of(calls))
    read = f"int64_t in[{given}]; if (fread(in, 8, {given}, stdin) != {given}) return;" if given else ""
    return (
        f"static void run_{name}(void)\n{{\n    for (int row = 0; row < {len(calls.rows)}; row++) {{\n"
        f"        {read}\n        const {_returned(calls)} v = {name}({arguments});\n"
        f"        const int64_t out[] = {{{values}}};\n"
        f"        fwrite(out, sizeof out, 1, stdout);\n    }}\n}}"
    )


def _returned(calls: Calls) -> str:
    """The type that a function returns, read off its first line."""
    lines = [line for line in calls.source.code.splitlines() if not line.startswith("//")]
    line = next(line for line in lines if f" {calls.source.name}(" in line)
    before = line.partition(f" {calls.source.name}(")[0]
    return re.sub(r"static inline |__host__ __device__ __forceinline__ constexpr ", "", before)


def fields_of(calls: Calls) -> list[str]:
    """Return the words that take each result out of what a function returns."""
    if len(calls.source.results) == 1:
        return [""]
    names = FreeNames()
    return [f".{names.free(result.name)}" for result in calls.source.results]


def constants(all_calls: Sequence[Calls]) -> str:
    """Every function called by the compiler itself."""
    lines = [
        f"constexpr auto constant{i} = {calls.source.name}({', '.join(map(_literal, calls.rows[-1]))});\n"
        f'static_assert(sizeof constant{i} > 0, "");'
        for i, calls in enumerate(all_calls)
    ]
    return "\n".join(["", *lines, ""])


def _literal(number: int) -> str:
    return f"{number}ull" if number >= _WRAP // 2 else f"({number + 1}ll - 1)"


def kernel(all_calls: Sequence[Calls]) -> str:
    """A kernel that calls every function on numbers of its own and keeps all results."""
    lines, at = [], 0
    for i, calls in enumerate(all_calls):
        arguments = ", ".join(f"in[{j}]" for j in range(len(calls.source.arguments)))
        lines.append(f"    const auto v{i} = {calls.source.name}({arguments});")
        for field in fields_of(calls):
            lines.append(f"    out[{at}] = v{i}{field};")
            at += 1
    head = 'extern "C" __global__ void all_of_them(const int *in, long long *out)'
    return "\n".join([head, "{", *lines, "}", ""])


def check_compiled(all_calls: Sequence[Calls], source: str, command: Sequence[str], path: Path) -> None:
    """Build a program with `command`, which names its source and its output, run it, judge every row."""
    (path / f"program.{command[-1].rsplit('.', 1)[1]}").write_text(source)
    built = subprocess.run(command, cwd=path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4_000]
    numbers = [number for calls in all_calls for row in calls.rows for number in row]
    rows = struct.pack(f"<{len(numbers)}Q", *(number % _WRAP for number in numbers))
    ran = subprocess.run([path / "program"], input=rows, capture_output=True, check=False)
    assert ran.returncode == 0, f"ended with {ran.returncode}"
    found = iter(struct.unpack(f"<{len(ran.stdout) // 8}q", ran.stdout))
    for calls in all_calls:
        unsigned = [result.low is not None and result.low >= 0 for result in calls.source.results]
        calls.judge([tuple(next(found) % _WRAP if u else next(found) for u in unsigned) for _ in calls.rows])
    assert next(found, None) is None
