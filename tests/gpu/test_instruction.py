"""The probe's source: every instruction assembles, and says what it should."""

import random

import pytest
from tests.emit import nvrtc
from tools.questions.descriptors import drawn, instructions

from tilewise import Refused
from tilewise.gpu.verify.kernels import ONE
from tilewise.gpu.verify.wgmma import Bench, WgmmaProbe, source
from tilewise.hardware.wgmma.instructions import INPUTS

ARCH = "--gpu-architecture=sm_90a"


@pytest.fixture(scope="module")
def library():
    found = nvrtc.load()
    if found is None:
        pytest.skip("NVRTC is not installed")
    return found


def sampled():
    """The smallest and another instruction of every kind: types, accumulator, majors."""
    kinds = {}
    for this in [*instructions(), *(case.instruction for case in drawn())]:
        kinds.setdefault((this.a, this.b, this.d, this.a_major, this.b_major), []).append(this)
    dice = random.Random(4)
    every = [this for kind in kinds.values() for this in (kind[0], dice.choice(kind))]
    return [
        group
        for group in Bench.programs(every)
        if sum(this.n for this in group) < 100 or dice.randrange(4) == 0
    ]


@pytest.mark.slow
def test_every_kind_of_instruction_assembles(library):
    for group in sampled():
        code, said = nvrtc.compile_to_cubin(library, source(group), ARCH, nvrtc.MINIMAL)
        assert code.startswith(b"\x7fELF"), group
        assert "error" not in said
        assert all(this.kernel.encode() in code for this in group)


@pytest.mark.slow
def test_the_longest_instruction_keeps_d_in_registers(library):
    _, said = nvrtc.compile_to_cubin(
        library, source((WgmmaProbe("f16", "f16", "f32", 256),)), ARCH, "--ptxas-options=-v"
    )
    assert "0 bytes stack frame, 0 bytes spill stores" in said


@pytest.mark.slow
def test_what_wgmma_does_not_have_does_not_assemble(library):
    text = source((WgmmaProbe("s8", "s8", "s32", 32),))
    with pytest.raises(AssertionError, match="n40"):
        nvrtc.compile_to_cubin(library, text.replace("m64n32k32", "m64n40k32"), ARCH)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("s8", "s8", "s32", 40), "TW602"),
        (("tf32", "tf32", "f32", 8, "mn"), "TW602"),
        (("e4m3", "e4m3", "f32", 8, "k", "mn"), "TW602"),
        (("f16", "bf16", "f32", 8), "TW602"),
        (("bf16", "bf16", "f16", 8), "TW602"),
    ],
)
def test_an_instruction_that_does_not_exist_is_refused(arguments, code):
    with pytest.raises(Refused) as caught:
        WgmmaProbe(*arguments)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("this", "text"),
    [
        (
            WgmmaProbe("f16", "f16", "f16", 8, "mn", "k"),
            "m64n8k16.f16.f16.f16 {%0, %1}, %2, %3, p, 1, 1, 1, 0;",
        ),
        (WgmmaProbe("f16", "f16", "f16", 8, "k", "mn"), "{%0, %1}, {%2, %3, %4, %5}, %6, p, 1, 1, 1;"),
        (WgmmaProbe("e4m3", "e5m2", "f16", 8), "m64n8k32.f16.e4m3.e5m2 {%0, %1}, %2, %3, p, 1, 1;"),
        (WgmmaProbe("u8", "s8", "s32", 8), "m64n8k32.s32.u8.s8 {%0, %1, %2, %3}, %4, %5, p;"),
        (WgmmaProbe("b1", "b1", "s32", 8), "m64n8k256.s32.b1.b1.and.popc {%0, %1, %2, %3}, %4, %5, p;"),
    ],
)
def test_the_instruction_as_it_is_written(this, text):
    assert text in source((this,))


def test_only_instructions_of_the_same_types_share_a_program():
    with pytest.raises(ValueError, match="same types"):
        source((WgmmaProbe("s8", "s8", "s32", 8), WgmmaProbe("s8", "u8", "s32", 8)))
    groups = Bench.programs(instructions())
    assert sorted((this for group in groups for this in group), key=str) == sorted(instructions(), key=str)
    assert max(map(len, groups)) == Bench.together
    for group in groups:
        source(group)


def test_one_is_one():
    """The bits of the number one in every type, by the type's own exponent."""
    exponents = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 23), "e4m3": (4, 3), "e5m2": (5, 2)}
    for name, (exponent, mantissa) in exponents.items():
        assert ONE[name] == ((1 << exponent - 1) - 1) << mantissa
    assert all(ONE[name] == 1 for name in set(INPUTS) - set(exponents))
