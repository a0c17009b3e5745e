"""Forms of ldmatrix, stmatrix and movmatrix, put to the assembler: it takes them and no others."""

import re
from itertools import product

import pytest
from tests.codegen import nvrtc

from tilewise.hardware.architectures import KNOWN
from tilewise.hardware.matrices import moves
from tilewise.hardware.matrices.forms import forms

LIBRARY = nvrtc.load()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(LIBRARY is None, reason="NVRTC is not installed")]
FAULT = re.compile(r"ptx input, line (\d+); error")
ARCHITECTURES = [
    this for this in KNOWN if LIBRARY is not None and this.number in nvrtc.architectures(LIBRARY)
]


def statement(opcode, registers):
    """One instruction on registers of its own."""
    words = "{" + ", ".join(f"r{i}" for i in range(registers)) + "}"
    operands = {"ldmatrix": f"{words}, [%0]", "stmatrix": f"[%0], {words}", "movmatrix": "r0, r1"}
    return f"{{ .reg .b32 r<{max(registers, 2)}>; {opcode} {operands[opcode.split('.')[0]]}; }}"


def faults(statements, architecture):
    """The lines of the assembler's input that it refuses, and all that it said."""
    body = "\n".join(f'asm volatile("{each}" :: "r"(a));' for each in statements)
    source = f'extern "C" __global__ void kernel(unsigned a) {{\n{body}\n}}'
    try:
        _, said = nvrtc.compile_to_cubin(LIBRARY, source, f"--gpu-architecture={architecture}")
    except AssertionError as error:
        said = str(error)
        assert FAULT.search(said), said
    return {int(line) for line in FAULT.findall(said)}, said


EVERY = [(str(form), form.registers, form.kind.needs) for form in forms()]
EVERY.append((moves.OPCODE, 1, moves.NEEDS))


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=str)
def test_an_architecture_has_the_forms_that_it_is_said_to_have(architecture):
    had = [statement(opcode, count) for opcode, count, needs in EVERY if needs.met(architecture)]
    others = [statement(opcode, count) for opcode, count, needs in EVERY if not needs.met(architecture)]
    assert faults(had, architecture)[0] == set()
    assert len(faults(others, architecture)[0]) == len(others) if others else True


SHAPES, TYPES = ("m8n8", "m16n16", "m8n16", "m16n8"), ("b16", "b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64")


def others():
    """Every other combination of the words of a form, with as many registers as it would fill.

    But for x8, which the manual does not have, and which the assembler of CUDA 13 takes.
    """
    known = {str(form) for form in forms()}
    for instruction, shape, count, trans, type in product(
        ("ldmatrix", "stmatrix"), SHAPES, (1, 2, 4), ("", ".trans"), TYPES
    ):
        opcode = f"{instruction}.sync.aligned.{shape}.x{count}{trans}.shared.{type}"
        if opcode not in known:
            yield opcode, min(count * (2 if shape == "m16n16" else 1), 4)
    yield "movmatrix.sync.aligned.m8n8.b16", 1
    yield "movmatrix.sync.aligned.m8n8.trans.b8", 1


@pytest.mark.parametrize("architecture", ["sm_90a", "sm_100a", "sm_120a"])
def test_there_is_no_other_form(architecture):
    tried = [statement(opcode, count) for opcode, count in others()]
    assert len(tried) > 100
    lines, said = faults(tried, architecture)
    assert len(lines) == len(tried), said
