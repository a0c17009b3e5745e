"""The wavefronts that feeding a warp takes, held to loops over the addresses of every lane of every step."""

from __future__ import annotations

import pytest
from tests.check.feeding_cases import MATRICES, VECTORS, cases
from tests.check.test_feeding import words

from tilewise import S, Swizzle, parse
from tilewise.check.feeding import feed
from tilewise.check.feeding.banks import wavefronts_of
from tilewise.check.feeding.forms import Vector

CASES = [*cases(MATRICES), *cases(VECTORS)]


def plainly(found) -> tuple[int, int, int]:
    """(wavefronts, the fewest, the worst phase) of all steps of an answer, merged loads left out."""
    form = found.form
    if isinstance(form, Vector):
        bytes, lanes = form.bits // 8, 32
    else:
        bytes, lanes = 16, form.count * (16 if "m16n16" in str(form) else 8)
    together = min(32, 128 // bytes)
    total = fewest = worst = 0
    for step in found.steps:
        addresses = [step.addresses.place(lane)["m"] for lane in range(lanes)]
        for first in range(0, lanes, together):
            asked = {
                at // 4 for start in addresses[first : first + together] for at in range(start, start + bytes)
            }
            banks = [word % 32 for word in asked]
            here = max(banks.count(bank) for bank in banks)
            total, fewest, worst = total + here, fewest + 1, max(worst, here)
    return total, fewest, worst


@pytest.mark.parametrize("case", CASES, ids=[f"{number}" for number in range(len(CASES))])
def test_wavefronts_are_those_of_every_step(case, tilewise):
    operand, shape, dtype, _, spelled = case
    said = tilewise(*words(operand, shape, dtype, spelled), "--json").json
    banks = said["banks"]
    assert banks["ideal"] <= banks["wavefronts"]
    assert (banks["ways"] == 1) == (banks["wavefronts"] == banks["ideal"])
    if "--" in spelled:
        return
    found = feed(parse(spelled), operand=operand, shape=shape, dtype=dtype)
    assert (banks["wavefronts"], banks["ideal"], banks["ways"]) == plainly(found)


@pytest.mark.parametrize(
    "layout",
    [
        Swizzle(1, 3, 5) @ S[(16, 16) : (24, 1)],
        Swizzle(1, 3, 4) @ S[(16, 16) : (20, 1)],
        Swizzle(1, 3, 5) @ S[(16, 16) : (20, 1)],
    ],
    ids=["matrices", "loads", "one of four"],
)
def test_phases_need_not_be_alike(layout):
    """Sums that carry into the bits of the swizzle: some phases are worse than others."""
    found = feed(layout, operand="A", shape="m16n8k16", dtype="f16")
    total, fewest, worst = plainly(found)
    assert total != fewest * worst
    taken = wavefronts_of(found.fill)
    assert (taken.wavefronts, taken.ideal, taken.ways) == (total, fewest, worst)


@pytest.mark.parametrize(
    ("layout", "wavefronts", "ideal"),
    [
        (S[(64, 64) : (64, 1)], 512, 64),
        (S[(64, 64) : (72, 1)], 64, 64),
        (Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)], 64, 64),
        (Swizzle(2, 3, 3) @ S[(64, 64) : (64, 1)], 128, 64),
        (S[(64, 64) : (80, 1)], 128, 64),
    ],
    ids=["rows", "padded", "swizzled", "half", "little"],
)
def test_the_known_ones(layout, wavefronts, ideal):
    """16 instructions of 4 phases; 8 rows of 128 bytes collide 8 ways, and 144 bytes apart not at all."""
    found = wavefronts_of(feed(layout, operand="A", shape="m16n8k16", dtype="f16").fill)
    assert (found.wavefronts, found.ideal) == (wavefronts, ideal)
    assert found.excess == wavefronts - ideal


def test_the_tiles_address_counts():
    """A swizzle counts from the tile, and banks from address 0: a whole wavefront later all is the same."""
    tile = Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)]
    at = [
        wavefronts_of(feed(tile, operand="A", shape="m16n8k16", dtype="f16", base=base).fill)
        for base in (0, 128, 1024)
    ]
    assert at[0] == at[1] == at[2]


@pytest.mark.parametrize(
    ("layout", "line"),
    [
        ("S[(64, 64) : (64, 1)]", "banks        512 wavefronts, ideal 64: 8 ways"),
        ("S[(64, 64) : (72, 1)]", "banks        64 wavefronts, ideal 64: no conflicts"),
    ],
)
def test_match_says_it_in_a_line(tilewise, layout, line):
    run = tilewise("match", layout, "--operand", "A", "--shape", "m16n8k16", "--dtype", "f16")
    assert f"  {line}" in run.out.splitlines()


def test_suggest_says_it_in_a_line(tilewise):
    asked = ("suggest", "--operand", "A", "--tile", "128x64", "--dtype", "bf16")
    assert "              ldmatrix.x4: 128 wavefronts, ideal 128, no conflicts" in tilewise(*asked).out
    narrow = tilewise(*asked, "--mode", "32B", "--json").json["banks"]
    assert narrow[0] == {"access": "row:16B@st", "wavefronts": 512, "ideal": 128, "ways": 4}
    assert [cost["access"] for cost in tilewise(*asked, "--major", "mn", "--json").json["banks"]] == [
        "ldmatrix.x4"
    ]


def test_emit_says_it_of_layouts_that_have_conflicts(tilewise):
    asked = ("emit", "mma", "--tile", "64x64x64", "--dtype", "f16")
    quiet = tilewise(*asked)
    assert "wavefronts" not in quiet.err
    loud = tilewise(*asked, "--layout-a", "S[(64, 64) : (64, 1)]")
    assert "a warp loads A in 256 wavefronts, ideal 32: 8 ways" in loud.err
    data = tilewise(*asked, "--layout-a", "S[(64, 64) : (64, 1)]", "--json").json
    assert data["A"]["banks"] == {"wavefronts": 256, "ideal": 32, "ways": 8}
    assert data["B"]["banks"]["ways"] == 1


@pytest.mark.parametrize("case", CASES, ids=[f"{number}" for number in range(len(CASES))])
def test_a_better_layout_moves_the_same_tile_with_fewer(case, tilewise):
    operand, shape, dtype, _, spelled = case
    banks = tilewise(*words(operand, shape, dtype, spelled), "--json").json["banks"]
    better = banks["better"]
    if better is None:
        return
    assert better["wavefronts"] < banks["wavefronts"]
    layout = parse(better["layout"])
    assert layout.injective
    if "--" in spelled:
        return
    assert layout.size == parse(spelled).size
    total, _, worst = plainly(feed(layout, operand=operand, shape=shape, dtype=dtype))
    assert (better["wavefronts"], better["ways"]) == (total, worst)


@pytest.mark.parametrize(
    ("layout", "better"),
    [
        ("S[(64, 64) : (64, 1)]", "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]"),
        ("S[(64, 64) : (72, 1)]", None),
        ("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]", None),
    ],
)
def test_where_there_are_conflicts_the_swizzle_is_said(tilewise, layout, better):
    run = ("match", layout, "--shape", "m16n8k16", "--operand", "A", "--dtype", "f16")
    found = tilewise(*run, "--json").json["banks"]["better"]
    assert (found and found["layout"]) == better
    assert (f"as {better}: 64 wavefronts" in tilewise(*run).out) == (better is not None)
