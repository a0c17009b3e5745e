"""Every mma kernel of the cases through NVRTC, each instruction for each architecture that has it."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace
from functools import cache
from itertools import product

import pytest
from tests.codegen import nvrtc
from tests.codegen.mma_cases import CASES, LATER, Case, drawn

from tilewise import Refused
from tilewise.codegen.mma import Plan, kernel_source, planned
from tilewise.hardware.architectures import NUMBERS
from tilewise.hardware.mma.instructions import Instruction, instructions

pytestmark = pytest.mark.slow
MODERN = tuple(number for number in NUMBERS if number >= 75)


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    found = nvrtc.load()
    if found is None:
        pytest.skip("there is no NVRTC on this machine; make .venv/ready-for-cuda")
    return found


def compiled(library: ctypes.CDLL, source: str, arch: object) -> str:
    """Compile a program to machine code, and return what the compiler says."""
    if int(str(arch).strip("sm_af")) not in nvrtc.architectures(library):
        pytest.skip(f"this NVRTC does not know {arch}")
    code, said = nvrtc.compile_to_cubin(library, source, f"--gpu-architecture={arch}")
    assert code.startswith(b"\x7fELF")
    return said


@cache
def alone(one: Instruction) -> Plan:
    """An instruction alone: a tile of its size, one warp, one stage."""
    tile = one.shape.m, one.shape.n, one.shape.k
    asked = {"shape": one.shape, "accumulator": one.d, "op": one.op or None}
    plan = planned(tile, one.a, one.b, stages=1, **asked)
    assert plan.instruction == one
    return plan


@cache
def text_of(one: Instruction) -> str:
    """The kernel of an instruction alone, under a name of its own."""
    return kernel_source(replace(alone(one), name=re.sub(r"\W", "_", str(one))))


def in_one(texts: list[str]) -> str:
    """Several kernels as one program."""
    return "\n".join(f"namespace space_{i} {{\n{text}\n}}" for i, text in enumerate(texts))


@pytest.mark.parts(4)
@pytest.mark.parametrize("number", MODERN)
def test_every_instruction_compiles_for_every_architecture_that_has_it(
    library: ctypes.CDLL, number: int
) -> None:
    having = [one for one in instructions(arch=f"sm_{number}") if one.products == 1]
    assert len(having) == {75: 11, 89: 55}.get(number, 39 if number < 89 else 58)
    assert compiled(library, in_one([text_of(one) for one in having]), f"sm_{number}") == ""


@pytest.mark.parts(4)
@pytest.mark.parametrize("number", MODERN)
def test_every_kernel_compiles_without_a_note(library: ctypes.CDLL, number: int) -> None:
    """For one of the architectures that have it, a case as the next."""
    plans = {f"kernel_{turn}": plan for turn, plan in enumerate(all_plans()) if turned(plan, turn) == number}
    assert plans
    texts = [kernel_source(replace(plan, name=name)) for name, plan in plans.items()]
    assert compiled(library, in_one(texts), f"sm_{number}") == ""


@cache
def all_plans() -> list[Plan]:
    """Those of the cases, and some that are drawn."""
    return [case.plan for case in (*CASES, *drawn(12, seed=5))]


def turned(plan: Plan, turn: int) -> int:
    """An architecture that has a kernel, another one every turn."""
    having = [number for number in MODERN if number >= plan.since]
    return having[turn % len(having)]


@pytest.mark.parametrize("case", LATER, ids=str)
def test_what_later_architectures_alone_have_compiles_for_them(library: ctypes.CDLL, case: Case) -> None:
    source = kernel_source(case.plan)
    assert "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8" in source
    assert compiled(library, source, case.plan.arch) == ""


def test_registers_of_a_large_tile_are_not_spilled(library: ctypes.CDLL) -> None:
    for asked in ({"stages": 3}, {"stages": 3, "out": "bf16", "store": "stmatrix"}):
        source = kernel_source(planned((128, 128, 32), "bf16", **asked))
        options = "--gpu-architecture=sm_90", "--ptxas-options=--warn-on-spills"
        assert nvrtc.compile_to_cubin(library, source, *options)[1] == ""


def test_what_an_architecture_lacks_is_no_machine_code(library: ctypes.CDLL) -> None:
    source = kernel_source(planned((32, 32, 32), "bf16", load="copy"))
    with pytest.raises(AssertionError, match="sm_80"):
        compiled(library, source, "sm_75")
    with pytest.raises(Refused, match=r"sm_75 has no mma\.sync that multiplies bf16"):
        planned((32, 32, 32), "bf16", arch="sm_75")
    stored = kernel_source(planned((32, 32, 32), "f16", accumulator="f16", store="stmatrix"))
    with pytest.raises(AssertionError, match="sm_90"):
        compiled(library, stored, "sm_80")


def test_voltas_instructions_compile_for_volta() -> None:
    library = nvrtc.load(12)
    if library is None:
        pytest.skip("there is no NVRTC 12 on this machine, the last that knows sm_70")
    plans = [
        planned((16, 16, 4), "f16", arch="sm_70", accumulator=into, majors=majors)
        for into in ("f16", "f32")
        for majors in product(("k", "mn"), repeat=2)
    ]
    assert len({str(plan.instruction) for plan in plans}) == 8
    cases = [case.plan for case in CASES if case.plan.instruction.products > 1]
    plans += [plan for plan in cases if plan.since == 70]
    texts = [kernel_source(replace(plan, name=f"kernel_{turn}")) for turn, plan in enumerate(plans)]
    said = compiled(library, in_one(texts), "sm_70")
    assert [line for line in said.splitlines() if line.strip() and "deprecated" not in line] == []
