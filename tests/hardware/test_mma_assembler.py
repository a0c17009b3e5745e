"""mma.sync's table, put to the assembler: what exists where, and what the machine makes of it."""

import pytest
from tests.codegen import nvrtc
from tests.hardware.mma_assembled import Candidate, candidates, statement, taken, units

from tilewise import Refused
from tilewise.hardware.architectures import GENERATIONS, KNOWN, NUMBERS, Architecture
from tilewise.hardware.instructions import values
from tilewise.hardware.mma.instructions import FAMILIES, instructions
from tilewise.hardware.mma.machine import EXPANSIONS, expansions, runs_as
from tilewise.hardware.mma.words import named

LIBRARIES = [library for library in (nvrtc.load(13), nvrtc.load(12)) if library is not None]
ASKED = {
    number: next((one for one in LIBRARIES if number in nvrtc.architectures(one)), None) for number in NUMBERS
}
OWN = {"f16": "HMMA", "bf16": "HMMA", "tf32": "HMMA", "f64": "DMMA", "b1": "BMMA"}
OWN |= dict.fromkeys(("e4m3", "e5m2"), "QMMA") | dict.fromkeys(("s8", "u8", "s4", "u4"), "IMMA")


def library_for(number):
    """Return a library that knows an architecture; without one the test is skipped."""
    if ASKED[number] is None:
        pytest.skip(f"no NVRTC that is installed knows sm_{number}")
    return ASKED[number]


def candidate(this):
    """An instruction of the table."""
    shape = (this.shape.m, this.shape.n, this.shape.k)
    return Candidate(shape, this.a, this.b, this.d, this.c, this.majors, this.op)


FIRST = sorted({family.since for family in FAMILIES} | {min(numbers) for numbers in GENERATIONS.values()})


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_the_assembler_takes_what_is_listed_and_nothing_else(number):
    """Of all that might be, where a generation or a family begins; else of all that any has."""
    some = candidates() if number in FIRST else map(candidate, instructions())
    found = taken(library_for(number), f"sm_{number}", some)
    assert {str(this) for this in found} == {str(this) for this in instructions(arch=number)}


@pytest.mark.slow
@pytest.mark.parametrize("arch", [arch for arch in KNOWN if arch.suffix], ids=str)
def test_what_is_listed_exists_under_other_names_of_an_architecture(arch):
    every = [candidate(this) for this in instructions(arch=arch)]
    assert taken(library_for(arch.number), str(arch), every) == every


def test_everything_is_among_what_is_asked():
    """So that the table cannot lack what was never tried."""
    every = {str(this) for this in candidates()}
    assert {str(this) for this in instructions()} <= every
    assert len(every) > 10 * len(instructions())
    assert {this.a for this in candidates()} > {*values(FAMILIES, "types")}


def assembled(some):
    """Those of statements that sm_90 takes."""
    return {*taken(library_for(90), "sm_90", some, str)}


@pytest.mark.slow
def test_integers_saturate_and_doubles_round():
    """The assembler takes these modifiers, which move nothing, and `named` reads the same instruction."""
    saturated = {
        this: statement(candidate(this)).replace(".col.s32", ".col.satfinite.s32")
        for this in instructions()
        if this.d == "s32"
    }
    found = assembled(saturated.values())
    for this, text in saturated.items():
        assert "satfinite" in text
        assert (text in found) == (this.a != "b1")
        saturating = str(this).replace(".col.", ".col.satfinite.")
        if this.a != "b1":
            assert named(saturating) == named(f"{this}.satfinite") == this
        else:
            with pytest.raises(Refused):
                named(saturating)
    rounded = {
        (this, rounding): statement(candidate(this)).replace(" {d0", f".{rounding} {{d0")
        for this in instructions(dtype="f64")
        for rounding in ("rn", "rz", "rm", "rp")
    }
    found = assembled(rounded.values())
    for (this, rounding), text in rounded.items():
        assert f".{rounding} " in text
        assert text in found
        assert named(f"{this}.{rounding}") == this


def expected(this, number):
    """Return the number of instructions of each unit, by the catalogue's words."""
    said = runs_as(this, number)
    if not said:
        steps = 1 if this.shape.k > 4 or this.a != "f16" else 2 if this.d == "f16" else 4
        return {OWN[this.a]: steps}
    if said == "products m8n8k4":
        return {"DMMA": this.shape.m * this.shape.k // 32}
    if said == "products of u8, a byte for each bit":
        return {"IMMA": max(4, this.shape.k // 32)}
    return {
        "multiply-adds and shuffles, without tensor cores": {},
        "two products of f16, after conversion": {"HMMA": 2},
        "two products of 8-bit integers, after unpacking": {"IMMA": 2},
        "two products with and.popc": {"BMMA": 2},
        "a product m16n8k16, half of it unused": {"IMMA": 1},
    }[said]


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_tensor_cores_have_what_is_said_to_be_theirs(number):
    every = instructions(arch=number)
    found = units(library_for(number), f"sm_{number}", [candidate(this) for this in every])
    for this, counted in zip(every, found, strict=True):
        assert (str(this), dict(counted)) == (str(this), expected(this, number))


def test_every_expansion_is_of_something():
    for one in EXPANSIONS:
        covered = [this for this in instructions() if one.covers(this)]
        assert covered
        assert all(one in expansions(this) for this in covered)
        assert {one.since, one.last} <= {*NUMBERS}
        for this in covered:
            assert this.needs.first < Architecture(one.since)
