"""The tables of sparse and block-scaled mma, put to the assembler: what exists where, and which selectors."""

from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from tests.codegen import nvrtc
from tests.hardware.mma_assembled import codes, taken, unit_of
from tests.hardware.sparse_assembled import (
    Candidate,
    of_kinds,
    statement,
    takes_words_in_vain,
    whole_kernel,
    without_kind,
)
from tests.hardware.test_mma_assembler import library_for

from tilewise.hardware.architectures import NUMBERS, Architecture
from tilewise.hardware.mma.instructions import kind_instructions, sparse_instructions
from tilewise.hardware.mma.machine import runs_as
from tilewise.hardware.mma.scales import Scales
from tilewise.hardware.mma.sparse import Sparse
from tilewise.hardware.mma.words import takes

PLAIN = [replace(this, ordered=each) for each in (True, False) for this in sparse_instructions()]
OF_EACH = {(str(this.shape), this.a, this.d): this for this in PLAIN if this.a == this.b}
EVERY = [*PLAIN, *kind_instructions()]


def candidate(this, selector=0, selectors=(0, 0, 0, 0)):
    """An instruction of the tables."""
    if this.kind:
        vector, scales = (this.scaling.word, this.scaling.dtype) if this.scaling else ("", "")
        sparse = ".sp::ordered_metadata" if this.sparse else ""
        one = Candidate(this.shape.k, this.a, this.b, this.d, sparse, this.kind.name, vector, scales)
    else:
        sparse = ".sp::ordered_metadata" if this.ordered else ".sp"
        one = Candidate(this.shape.k, this.a, this.b, this.d, sparse)
    assert str(one) == str(this)
    return replace(one, selector=selector, selectors=selectors)


def assembled(arch, some):
    """Those that the assembler takes for an architecture."""
    return taken(library_for(Architecture.of(arch).number), arch, some, statement)


def is_too_new(this, arch):
    """4X of ue8m0 came with PTX 9.1, which the assembler of CUDA 13.0 does not know."""
    version = nvrtc.version(library_for(Architecture.of(arch).number))
    return version < (13, 1) and "scale_vec::4X" in str(this) and str(this).endswith("ue8m0")


def listed(arch):
    """Return the instructions that an architecture has by the tables."""
    return {str(this) for this in EVERY if this.needs.met(arch) and not is_too_new(this, arch)}


@pytest.mark.slow
def test_integers_saturate_with_sparse_a_too_and_nothing_rounds():
    spelled = {}
    for this, modifier in product(OF_EACH.values(), ("satfinite", "rn")):
        other = str(this).replace(".col.", f".col.{modifier}.")
        spelled[this, modifier] = statement(candidate(this)).replace(str(this), other)
    found = {*taken(library_for(90), "sm_90", spelled.values(), str)}
    for (this, modifier), text in spelled.items():
        assert f".{modifier}." in text
        assert (text in found) == takes(this, modifier), text


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_120"])
def test_what_is_listed_without_a_kind_exists_and_nothing_else(arch):
    found = assembled(arch, [*without_kind(), *map(candidate, EVERY)])
    assert {str(this) for this in found} == listed(arch)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_120a", "sm_120f"])
def test_what_is_listed_of_the_kinds_exists_and_nothing_else(arch):
    found = assembled(arch, [*without_kind(), *of_kinds(), *map(candidate, EVERY)])
    beyond = [this for this in found if str(this) not in listed(arch)]
    assert all(map(takes_words_in_vain, beyond)), [*map(str, beyond)]
    assert listed(arch) <= {str(this) for this in found}


@pytest.mark.slow
@pytest.mark.parametrize(
    "arch",
    ["sm_86", "sm_87", "sm_88", "sm_90a", "sm_100", "sm_103a", "sm_110f", "sm_121", "sm_121a", "sm_121f"],
)
def test_what_is_listed_exists_under_other_names(arch):
    found = assembled(arch, map(candidate, EVERY))
    beyond = [this for this in found if str(this) not in listed(arch)]
    assert all(map(takes_words_in_vain, beyond)), [*map(str, beyond)]
    assert listed(arch) <= {str(this) for this in found}


def test_nothing_that_is_listed_is_taken_in_vain():
    assert not [this for this in map(candidate, PLAIN) if takes_words_in_vain(this)]
    found = [this for this in map(candidate, kind_instructions()) if takes_words_in_vain(this)]
    assert {this.kind for this in found} == {"f8f6f4"}


# -- what the machine is told -------------------------------------------------------------------------

OWN = {"f16": "HMMA", "bf16": "HMMA", "tf32": "HMMA"} | dict.fromkeys(("s8", "u8", "s4", "u4"), "IMMA")
NOP = 0x918


def told(arch):
    """[(instruction, {unit of the tensor cores: how many}, how many instructions its kernel has)]."""
    had = [this for this in PLAIN if this.needs.met(arch)]
    number = Architecture.of(arch).number
    found = codes(library_for(number), arch, [candidate(this) for this in had], whole_kernel)
    for this, code in zip(had, found, strict=True):
        opcodes = [int.from_bytes(code[at : at + 2], "little") & 0xFFF for at in range(0, len(code), 16)]
        yield this, dict(Counter(unit_of(code))), sum(opcode != NOP for opcode in opcodes)


@pytest.mark.slow
@pytest.mark.parametrize("number", [number for number in NUMBERS if number >= 80])
def test_tensor_cores_have_what_is_said_to_be_theirs(number):
    lengths = {}
    for this, counted, length in told(f"sm_{number}"):
        said = runs_as(this, number)
        expected = {
            "two products of f16, after conversion": {"HMMA": 2},
            "two products of 8-bit integers, after unpacking": {"IMMA": 2},
        }.get(said, {OWN.get(this.a, "QMMA"): 1})
        assert (str(this), counted) == (str(this), expected)
        lengths[this] = length
    for this in lengths:
        if not this.ordered:
            more = lengths[this] - lengths[replace(this, ordered=True)]
            assert (more > 30) == runs_as(this, number).startswith("without ordered_metadata"), (
                str(this),
                more,
            )


# -- selectors ----------------------------------------------------------------------------------------

ONE_OF_EACH = [
    ("m16n8k16", "f16", "f32"),
    ("m16n8k8", "tf32", "f32"),
    ("m16n8k16", "tf32", "f32"),
    ("m16n8k32", "s8", "s32"),
    ("m16n8k64", "u8", "s32"),
    ("m16n8k64", "s4", "s32"),
    ("m16n8k128", "u4", "s32"),
    ("m16n8k64", "e4m3", "f32"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "dtype", "d"), ONE_OF_EACH, ids=[" ".join(one) for one in ONE_OF_EACH])
def test_the_selectors_are_those_that_exist(shape, dtype, d):
    (this,) = (
        one
        for one in PLAIN
        if one.ordered and (str(one.shape), one.a, one.b, one.d) == (shape, dtype, dtype, d)
    )
    found = assembled("sm_90", [candidate(this, selector=f) for f in range(5)])
    assert tuple(one.selector for one in found) == Sparse.of(shape, dtype).selectors


@pytest.mark.slow
def test_the_selectors_of_m16n8k32_of_f16():
    """The assembler of CUDA 13.0 takes 2 and 3 as well, which the manual calls undefined."""
    (this, *_) = (one for one in PLAIN if str(one.shape) == "m16n8k32" and one.a == "f16")
    found = assembled("sm_90", [candidate(this, selector=f) for f in range(5)])
    assert [one.selector for one in found] == (
        [0, 1, 2, 3] if nvrtc.version(library_for(90)) < (13, 1) else [0, 1]
    )
    assert Sparse.of("m16n8k32", "f16").selectors == (0, 1)


SCALINGS = [
    ("mxf8f6f4", "1X", "ue8m0", False),
    ("mxf4", "2X", "ue8m0", False),
    ("mxf4nvf4", "4X", "ue4m3", False),
    ("mxf4nvf4", "2X", "ue8m0", True),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "scale", "dtype", "sparse"), SCALINGS, ids=[" ".join(map(str, one)) for one in SCALINGS]
)
def test_the_selectors_of_scales_are_those_that_exist(kind, scale, dtype, sparse):
    a, b = (Scales.of(operand, kind, scale, dtype, sparse=sparse) for operand in ("SFA", "SFB"))
    (this, *_) = (one for one in kind_instructions(sparse) if one.kind is a.kind and one.scaling == a.scaling)
    for at, legal in enumerate((a.bytes, a.threads, b.bytes, b.threads)):
        tried = [tuple(value if i == at else 0 for i in range(4)) for value in range(5)]
        found = assembled("sm_120a", [candidate(this, selectors=one) for one in tried])
        assert tuple(one.selectors[at] for one in found) == legal
