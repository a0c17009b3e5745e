"""`tilewise.plan`, one word for memory and for registers: which plan it gives, and what both say."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from typing import NoReturn, get_type_hints

import numpy as np
import pytest
from tests.moves.exchange_machine import wrong

from tilewise import LayoutError, R, Refused, S, laneid, move, parse, plan, reg, tx
from tilewise.hardware.limits import shared_bytes
from tilewise.moves import Exchange, Plan, tune
from tilewise.moves.exchange import exchange
from tilewise.moves.ways import Gather

MEMORY = S[64, 96], S[(64, 96) : (1, 64)]
FRAGMENTS = parse("wgmma.D(f32, n=64)"), S[(64, 64) : (1 @ reg, 1 @ tx)]
ROWS = S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)]
COLUMNS = S[(4, 2, 8) : (1 @ laneid, 1 @ reg, 4 @ laneid)]


def test_layouts_say_which_plan_it_is():
    assert isinstance(plan(*MEMORY, "bf16"), Plan)
    found = plan(*FRAGMENTS, "bf16")
    assert isinstance(found, Exchange)
    assert found.code("turn") == exchange(*FRAGMENTS, "bf16").code("turn")


@pytest.mark.parametrize("asked", [MEMORY, FRAGMENTS], ids=["memory", "registers"])
def test_both_say_what_they_have_in_common(asked):
    found = plan(*asked, "bf16")
    data = found.data()
    assert (found.source, found.target, str(found.dtype)) == (*asked, "bf16")
    assert (data["source"], data["target"], data["dtype"]) == (*map(str, asked), "bf16")
    for key, value in {
        "class": found.kind,
        "steps": found.steps,
        "vector": found.vector,
        "swizzle": found.swizzle,
        "shared_bytes": found.shared_bytes,
    }.items():
        assert data[key] == value
    assert str(found).startswith(f"{found.kind}: ")
    assert all(step in str(found) for step in found.steps)
    assert repr(found) == f"<{type(found).__name__} {found.kind}: bf16 from {asked[0]} to {asked[1]}>"
    assert re.sub(r"\b(move|exchange)\(", "turn(", found.kernel) == found.code("turn")


@pytest.mark.parametrize(
    ("asked", "dtype", "needs"),
    [
        ((ROWS, COLUMNS), "f16", "shuffles, for sm_75 and later"),
        ((ROWS, COLUMNS), "f32", "shuffles, for sm_70 and later"),
        (FRAGMENTS, "f16", "through shared memory, for sm_90 and later"),
    ],
)
def test_a_function_says_what_it_needs_and_who_calls_it(asked, dtype, needs):
    text = plan(*asked, dtype).code("turn")
    assert text.splitlines()[2] == f"// of   {dtype}: {needs}."
    assert text.count(" call it.") == 1
    assert all(step in text for step in plan(*asked, dtype).steps)


def test_the_tile_of_layouts_of_cute_has_their_modes():
    rows = plan(S[64, 32], S[(64, 32) : (1, 67)], "f32")
    cute = plan(parse("(64,32):(32,1)"), parse("(64,32):(1,67)"), "f32")
    assert rows.source == cute.source
    assert rows.code("turn") == cute.code("turn")


def test_of_a_source_s_copies_one_is_counted():
    assert plan(S[15] + R[2:15], S[15] + R[3:15], "u16").bytes == 2 * (15 + 45)


def test_storage_of_2_to_the_63_bytes_is_just_too_large():
    assert plan(S[1 << 40, 1 << 22], S[(1 << 40, 1 << 22) : (1, 1 << 40)], "u8").kind == "tile"
    assert plan(S[(1 << 63) - 1], S[(1 << 63) - 1], "u8").kind == "view"


def test_registers_are_in_no_array_that_a_call_could_take():
    """`plan(...).bind()` has a type, whatever the layouts are."""
    with pytest.raises(LayoutError, match="registers are in no array") as refused:
        plan(*FRAGMENTS, "bf16").bind()
    assert (refused.value.code, refused.value.hint) == ("TW701", "code() is the function that a kernel calls")
    assert get_type_hints(Exchange.bind)["return"] is NoReturn


def test_a_bit_and_a_cycle_are_said_as_one():
    swizzled = plan(*FRAGMENTS, "f16", arch="sm_70")
    assert len(swizzled.swizzle) == 1
    assert f", address bit {swizzled.swizzle[0]} swizzled," in str(swizzled)
    assert "about 1 cycle for a warp, for sm_75 and later\n" in str(plan(ROWS, COLUMNS, "f16"))
    swapped = S[(32, 2) : (1 @ laneid, 1 @ reg)], S[(32, 2) : (1 @ laneid, -1 @ reg)] + 1 @ reg
    assert "about 1 cycle for a warp\n" in str(plan(*swapped, "f16"))
    assert plan(S[1] + 1, S[1], "u8").steps == ["copy 1 byte from byte 1 to byte 0, all together"]


def test_a_plan_in_memory_imports_no_numpy():
    program = (
        "import sys; from tilewise import S, plan; plan(S[64, 96], S[(64, 96) : (1, 64)], 'bf16').kernel;"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# -- architectures ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "taken"),
    [
        (FRAGMENTS, {"sm_90": "stmatrix", "sm_80": "ldmatrix", "sm_75": "ldmatrix", "sm_70": ""}),
        ((ROWS, COLUMNS), {"sm_90": "movmatrix", "sm_75": "movmatrix", "sm_70": ""}),
    ],
)
def test_what_an_architecture_has_not_is_not_taken(asked, taken):
    for arch, name in taken.items():
        found = plan(*asked, "f16", arch=arch)
        code = found.code()
        assert {own for own in ("stmatrix", "ldmatrix", "movmatrix") if own in code} == {name} - {""}
        assert found.needs.met(arch)
        assert found.needs.first.number == {"stmatrix": 90, "": 70}.get(name, 75)
        assert (f"for {found.needs}" in str(found)) == bool(name)
        assert wrong(found) == 0


def test_sm_90_is_meant_where_no_architecture_is_said():
    assert plan(*FRAGMENTS, "f16").data() == plan(*FRAGMENTS, "f16", arch="sm_90").data()


def test_a_block_has_as_much_shared_memory_as_its_architecture():
    asked = S[(256, 128) : (1 @ tx, 1 @ reg)], S[(2, 128, 128) : (128 @ tx, 1 @ reg, 1 @ tx)]
    needed = plan(*asked, "f32").shared_bytes
    assert shared_bytes("sm_86") < needed < shared_bytes("sm_80")
    assert plan(*asked, "f32", arch="sm_80").shared_bytes == needed
    with pytest.raises(Refused, match=f"a block of sm_86 has {shared_bytes('sm_86')}"):
        plan(*asked, "f32", arch="sm_86")


@pytest.mark.parametrize(
    ("dtype", "fill", "said"),
    [
        ("u8", b"\x7f", "0x7f"),
        ("b8", 0, "0"),
        ("u32", 255, "0x000000ff"),
        ("s16", -2, "-2"),
        ("f32", -1.5, "-1.5"),
        ("f16", float("inf"), "inf"),
        ("f64", -0.0, "-0.0"),
        ("f32", b"\1\0\x80\x7f", "0x7f800001"),
        ("bf16", 1, "0x3f80"),
        ("u4", 3, "0x3"),
        ("e2m1", -6, "0xf"),
    ],
)
def test_steps_say_what_fills_which_elements(dtype, fill, said):
    holes = plan(S[512], S[512] + 64, dtype, fill=fill)
    assert holes.data()["steps"][0].startswith(f"fill 576 elements of the target with {said}: ")
    padded = plan(S[300, 64], S[(384, 64) : (64, 1)], dtype, shape=(300, 64), fill=fill)
    assert padded.kind == "tile"
    assert padded.steps[-1] == f"fill the {84 * 64} elements beyond the box with {said}, in the same runs"
    whole = plan(*MEMORY, dtype, fill=fill)
    assert not any("fill" in step for step in whole.steps)
    assert [found.data()["fill"] for found in (holes, padded)] == [said, said]
    assert whole.data()["fill"] is None


def test_the_fill_is_told_where_elements_are_beyond_the_box():
    shapes = S[((2, 3),) : ((4, 1),)], S[((3, 4),) : ((1, 3),)]
    assert plan(*shapes, "u8", shape=(6,), fill=7).data()["fill"] == "0x07"
    assert plan(*shapes[:1], S[6], "u8", fill=7).data()["fill"] is None


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "said", "hint"),
    [
        ({"shape": (4, 4)}, "has no box", "leave out shape="),
        ({"fill": 1}, "has no fill", "leave out fill="),
        ({"fill": b"\1\1"}, "has no fill", "leave out fill="),
        ({"fill": np.array([0, 0])}, "has no fill", "leave out fill="),
        ({"aligned": 4}, "has no storages", "leave out aligned="),
        ({"checked": True}, "has no accesses", "leave out checked="),
        ({"device": "b200"}, "has no device", "arch= says which GPUs it is for"),
    ],
)
def test_what_memory_alone_is_asked(asked, said, hint):
    with pytest.raises(LayoutError, match=f"a move between registers {said}") as refused:
        plan(*FRAGMENTS, "f16", **asked)
    assert (refused.value.code, refused.value.hint) == ("TW401", hint)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (S[32 : 1 @ laneid], S[32 : 0 @ laneid]),
        (S[(32, 4) : (1 @ laneid, 1 @ reg)], S[(32, 4) : (1 @ laneid, 1 @ reg)] + R[2 : 1 @ reg]),
        (S[(2, 2) : (1 @ reg, 0 @ reg)], S[(2, 2) : (0 @ reg, 1 @ reg)]),
        (S[(2, 32) : (1 @ reg, 1 @ laneid)], S[(2, 32) : (0 @ reg, 1 @ laneid)]),
    ],
)
def test_elements_that_meet_are_named_with_their_place(source, target):
    with pytest.raises(Refused, match="two elements have one place in the target") as no:
        plan(source, target, "f32")
    one, other, place = no.value.witness
    both = [target.coordinates(index) for index in (one, other)]
    assert all(place in target.places(*index) for index in both)
    assert source.places(*both[0]) != source.places(*both[1])
    assert str(place) in no.value.reason


@pytest.mark.parametrize(
    ("kind", "name"), [(np.float32, "f32"), (np.dtype("f4"), "f32"), (np.uint8, "u8"), (np.int16, "s16")]
)
def test_types_of_numpy_are_types(kind, name):
    assert plan(*MEMORY, kind) == plan(*MEMORY, name)
    with pytest.raises(LayoutError, match="unknown dtype <class 'float'>"):
        plan(*MEMORY, float)  # 64 bits in NumPy, and 32 where "float" is C's


def test_types_of_torch_are_types():
    class Type:
        """As torch.bfloat16 is."""

        itemsize = 2

        def __str__(self):
            return "torch.bfloat16"

    assert plan(*MEMORY, Type()) == plan(*MEMORY, "torch.bfloat16") == plan(*MEMORY, "bf16")


def test_what_is_the_same_as_nothing_may_be_said():
    usual = {"shape": None, "fill": 0, "aligned": 256, "checked": False, "device": "h200", "arch": None}
    assert plan(*FRAGMENTS, "f16", **usual).data() == plan(*FRAGMENTS, "f16").data()


@pytest.mark.parametrize(
    ("ask", "code", "said"),
    [
        (lambda: plan(*MEMORY, "f16", arch="sm_80"), "TW401", "for no architecture"),
        (
            lambda: plan(*MEMORY, "f16", checked="yes"),
            "TW107",
            "True or False belongs here, not the str 'yes'",
        ),
        (lambda: plan(S[4], S[4:2], "u8", fill=np.array([1, 2])), "TW705", "is no u8"),
        (lambda: plan(S[4], S[4:2], "u8", fill=10**310), "TW705", "the fill 10* is no u8"),
        (lambda: plan(S[4], S[4:2], "f32", fill=10**5000), "TW705", "the fill about 2.16609 is no f32"),
        (lambda: plan(S[1 << 63], S[1 << 63], "u8"), "TW302", "the source reaches .* 64-bit integers"),
        (lambda: plan(S[4], S[4 : 1 << 60], "f64"), "TW302", "the target reaches .* 64-bit integers"),
        (lambda: plan(*MEMORY, "f16", device=["h200"]), "TW601", r"no rates of a device \['h200'\]"),
        (lambda: plan(*MEMORY, "f16").code("1x"), "TW401", "'1x' cannot name a kernel"),
        (lambda: plan(*MEMORY, "f16").code(3), "TW107", "a name belongs here, not the int 3"),
        (lambda: plan(*FRAGMENTS, "f16").code(3), "TW107", "a name belongs here, not the int 3"),
        (lambda: plan(*FRAGMENTS, "f16", arch="h200"), "TW601", "'h200' is no architecture"),
        (lambda: plan(*FRAGMENTS), "TW401", "the type of an element is not given"),
        (lambda: plan(FRAGMENTS[0], S[64, 64], "f16"), "TW701", "the source is no layout of one memory"),
        (lambda: plan(S[64, 64], FRAGMENTS[1], "f16"), "TW701", "the target is no layout of one memory"),
        (lambda: move(np.zeros(4096), *FRAGMENTS), "TW701", "both layouts are of registers"),
        (lambda: tune(*FRAGMENTS, "f16"), "TW701", "both layouts are of registers"),
    ],
)
def test_what_does_not_fit(ask, code, said):
    with pytest.raises(LayoutError, match=said) as refused:
        ask()
    assert refused.value.code == code
    assert refused.value.hint


def test_copies_in_one_place_are_one():
    same = S[64, 96] + R[2:0]
    assert plan(S[64, 96], same, "bf16").kind == "view"
    assert plan(MEMORY[0], MEMORY[1] + R[3:0], "bf16").kernel == plan(*MEMORY, "bf16").kernel
    apart = S[(6, 4) : (9, 2)], S[(4, 6) : (1, 5)]
    assert plan(apart[0], apart[1] + R[2:0], "f32").kernel == plan(*apart, "f32").kernel
    assert move(np.arange(4), S[2, 2], S[(2, 2) : (1, 2)] + R[2:0] + R[2:4]).tolist() == [0, 2, 1, 3] * 2


def test_a_way_that_is_chosen_is_taken_by_storages_of_that_alignment():
    found = plan(*MEMORY, "f32")
    chosen = replace(found, chosen=Gather(found.pair))
    assert isinstance(chosen.way, Gather)
    assert chosen.for_alignment(chosen.aligned) == chosen != found
    assert chosen.for_alignment(4) == found.for_alignment(4) != found


@pytest.mark.parametrize(("aligned", "code"), [(3, "TW401"), (2, "TW401"), (0, "TW401"), ("a", "TW101")])
def test_storages_are_aligned_to_a_power_of_two_that_holds_elements(aligned, code):
    for asked in (plan(*MEMORY, "f32").for_alignment, lambda own: plan(*MEMORY, "f32", aligned=own)):
        with pytest.raises(LayoutError) as refused:
            asked(aligned)
        assert refused.value.code == code
