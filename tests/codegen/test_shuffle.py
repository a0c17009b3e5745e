"""Moves inside a warp as CUDA: compiled for every architecture, and run on the host, line by line."""

from __future__ import annotations

import ctypes
import re
import struct
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.check.shuffle_cases import CASES, Case, random_cases
from tests.codegen import nvrtc
from tests.codegen.shuffle_kernels import Data, host_program, kernels, source_of
from tests.codegen.test_c import tool

from tilewise import LayoutError, S, laneid
from tilewise.check.registers.rounds import LaneMap
from tilewise.check.shuffle import shuffle
from tilewise.codegen.shuffle import condition, cuda_source, lane_text, number
from tilewise.hardware.matrices.moves import NEEDS

UNDEFINED = "-fsanitize=shift,bounds,signed-integer-overflow,integer-divide-by-zero,return,bool"
"""The undefined acts of such texts; watching every pointer takes a compiler three times as long."""
TIMES = 3
MOST_STEPS = 80


@cache
def small() -> tuple[Case, ...]:
    """The cases whose texts are short; finding their plans is for tests, not for their collection."""
    return tuple(case for case in CASES if len(case.plan.program.steps) < MOST_STEPS)


@cache
def drawn() -> tuple[Case, ...]:
    """More of them, drawn."""
    return tuple(case for case in random_cases(40, seed=21) if len(case.plan.program.steps) < MOST_STEPS)


def run_on_host(source: str, cases: tuple[Case, ...], path: Path) -> list[int]:
    """Return how many elements are wrong in each case."""
    (path / "program.cpp").write_text(source)
    strict = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-fno-sanitize-recover"]
    command = [tool("c++", "g++", "clang++"), *strict, UNDEFINED, "-o", "program", "program.cpp"]
    built = subprocess.run(command, cwd=path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4_000]
    draw = np.random.default_rng(4)
    data = [Data(case, TIMES, draw) for case in cases]
    given = b"".join(struct.pack("<i", own.threads // 32) + own.inputs.tobytes() for own in data)
    ran = subprocess.run([path / "program"], input=given, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr[:1_000]
    counts = [own.threads * own.registers[1] for own in data]
    assert len(ran.stdout) == 4 * sum(counts)
    found = np.split(np.frombuffer(ran.stdout, "<u4"), np.cumsum(counts)[:-1])
    return [own.wrong(out.reshape(own.threads, -1)) for own, out in zip(data, found, strict=True)]


@pytest.mark.slow
def test_the_text_does_what_it_should_in_every_lane(tmp_path: Path) -> None:
    cases = small() + drawn()
    wrong = run_on_host(host_program(cases, TIMES), cases, tmp_path)
    assert wrong == [0] * len(cases)


def test_a_wrong_text_is_noticed(tmp_path: Path) -> None:
    """One lane's number, one selector, one condition."""
    cases = tuple(case for case in small() if "e4m3" in case.name)[:1]
    right = host_program(cases, TIMES)
    for old, new in ((" ^ 1)", " ^ 2)"), ("0x1054u", "0x1055u"), ("lane & 1 ? a1", "lane & 2 ? a1")):
        assert old in right
        assert run_on_host(right.replace(old, new, 1), cases, tmp_path)[0] > 0


# -- NVRTC -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    found = nvrtc.load()
    if found is None:
        pytest.skip("there is no NVRTC on this machine; make .venv/ready-for-cuda")
    return found


@pytest.mark.slow
def test_every_function_is_assembled_for_every_architecture(library: ctypes.CDLL) -> None:
    source = kernels(small())
    architectures = [arch for arch in nvrtc.architectures(library) if arch >= NEEDS.since]
    assert {75, 80, 90} <= set(architectures)
    for arch in architectures:
        code, said = nvrtc.compile_to_cubin(library, source, f"--gpu-architecture=sm_{arch}")
        assert code.startswith(b"\x7fELF")
        assert said == "", said


@pytest.mark.slow
def test_the_compiler_makes_the_exchanges_of_the_plan_and_no_more(library: ctypes.CDLL) -> None:
    ptx = nvrtc.compile_to_ptx(library, kernels(small()), "--gpu-architecture=compute_80")
    bodies = re.split(r"\.entry kernel_(\d+)", ptx)
    found = {int(at): body for at, body in zip(bodies[1::2], bodies[2::2], strict=True)}
    for at, case in enumerate(small()):
        for operation, word in (
            ("shfl", "shfl.sync"),
            ("movmatrix", "movmatrix.sync"),
            ("ballot", "vote.sync"),
        ):
            assert found[at].count(word) == case.plan.cost.get(operation, 0), (case.name, operation)
        assert "ld.local" not in found[at]


# -- the text --------------------------------------------------------------------------------------


def test_numbers_that_differ_between_lanes() -> None:
    for numbers in (
        [lane ^ 3 for lane in range(32)],
        [lane >> 3 | (lane & 7) << 2 for lane in range(32)],
        [(3 * lane + 5) % 32 for lane in range(32)],
        [lane * lane % 32 for lane in range(32)],
        [7 if lane > 20 else 3 for lane in range(32)],
        [(lane & 1) ^ lane >> 4 for lane in range(32)],
    ):
        text = number(numbers)
        assert [eval(_in_python(text), {"lane": lane}) for lane in range(32)] == numbers, text
    for chosen in (
        [lane in (3, 4) for lane in range(32)],
        [(lane & 5).bit_count() % 2 for lane in range(32)],
    ):
        text = condition(chosen)
        popc = {"__popc": int.bit_count}
        assert [bool(eval(_in_python(text), popc | {"lane": lane})) for lane in range(32)] == [
            bool(own) for own in chosen
        ]
    assert lane_text(LaneMap("up", 3)) == "lane - 3"
    assert lane_text(LaneMap("idx", 3)) == "3"


def _in_python(text: str) -> str:
    """An expression of C: unsigned literals, and one question at most."""
    text = re.sub(r"\b(0x[0-9a-f]+|\d+)u\b", r"\1", text)
    asked = re.fullmatch(r"([^?]*) \? ([^?:]*) : ([^?:]*)", text)
    return f"({asked[2]}) if ({asked[1]}) else ({asked[3]})" if asked else text


def test_names_are_checked_and_both_may_be_one_array() -> None:
    plan = shuffle(S[32 : 1 @ laneid], S[32 : -1 @ laneid] + 31 @ laneid, "f32")
    with pytest.raises(LayoutError, match="cannot name a function"):
        cuda_source(plan, "2d")
    for case in small():
        body = source_of(case, 0)
        last_read = max((found.start() for found in re.finditer(r"from\[\d+\];", body)), default=0)
        assert last_read < body.index("to[0] =")
