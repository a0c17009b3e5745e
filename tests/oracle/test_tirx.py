"""Held against TIRx, the other reader of this notation; and its defects, each shown.

`make oracle` runs this. TIRx evaluates D(x) + O alone, so copies are added by hand from its replicas.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from itertools import product

import pytest

from tilewise import LayoutError, Swizzle, parse
from tilewise import S as OUR_S
from tilewise.core.axes import Axis as OurAxis
from tilewise.core.layout import Iter, Layout, Replicas
from tilewise.core.vectors import Vector

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

AXES = ["m", "laneid", "warpid", "wgid", "TLane", "TCol"]


@pytest.fixture(scope="module")
def tirx():
    return pytest.importorskip("tvm.tirx.layout", reason="apache-tvm is not installed")


def _vector(steps: int, axis: str) -> Vector:
    return Vector(((OurAxis(axis), steps),))


def _random_terms(rng: random.Random) -> tuple[list, list, list]:
    """(shard, replica, offset) as (extent, steps, axis) and (steps, axis)."""
    shard = [
        (rng.choice([1, 2, 3, 4, 5, 8]), rng.randrange(-4, 40), rng.choice(AXES))
        for _ in range(rng.randrange(1, 5))
    ]
    replica = [
        (rng.choice([2, 3, 4]), rng.randrange(1, 64), rng.choice(AXES)) for _ in range(rng.randrange(3))
    ]
    offset = [(rng.randrange(-9, 99), axis) for axis in rng.sample(AXES, rng.randrange(3))]
    return shard, replica, offset


def _ours(shard: list, replica: list, offset: list) -> Layout:
    layout = Layout(tuple(e for e, _, _ in shard), tuple(_vector(s, a) for _, s, a in shard))
    layout = layout + Replicas(tuple(Iter(e, _vector(s, a)) for e, s, a in replica))
    for steps, axis in offset:
        layout = layout + _vector(steps, axis)
    return layout


def _theirs(tirx, shard: list, replica: list, offset: list):
    spelled = tirx.S[tuple(e for e, _, _ in shard) : tuple((s, a) for _, s, a in shard)]
    if replica:
        spelled = spelled + tirx.R[tuple(e for e, _, _ in replica) : tuple((s, a) for _, s, a in replica)]
    for steps, axis in offset:
        spelled = spelled + steps @ tirx.Axis.get(axis)
    return tirx.TileLayout(spelled)


def _places(theirs, flat: int) -> set:
    base = {name: int(value) for name, value in theirs.apply(flat).items()}
    places = set()
    for digits in product(*(range(int(it.extent)) for it in theirs.replica)):
        place = dict(base)
        for digit, it in zip(digits, theirs.replica, strict=True):
            place[it.axis.name] = place.get(it.axis.name, 0) + digit * int(it.stride)
        places.add(frozenset((name, steps) for name, steps in place.items() if steps))
    return places


def test_evaluation_of_generated_layouts(tirx):
    rng = random.Random(7)
    for _ in range(400):
        terms = _random_terms(rng)
        ours, theirs = _ours(*terms), _theirs(tirx, *terms)
        assert ours.size == int(theirs.size())
        for flat in {0, ours.size - 1, *(rng.randrange(ours.size) for _ in range(6))}:
            expected = _places(theirs, flat)
            got = {frozenset(place.nonzero.as_dict().items()) for place in ours.places(flat)}
            assert got == expected, (str(ours), flat)


def test_swizzled_evaluation(tirx):
    """TIRx writes (M, B, S) where the notation writes Swizzle<B, M, S>."""
    for bits, base, shift in product((0, 1, 2, 3), (0, 2, 3, 4), (3, 4)):
        theirs = tirx.ComposeLayout(base, bits, shift, tirx.TileLayout(tirx.S[(8, 64) : (64, 1)]))
        ours = Swizzle(bits, base, shift) @ OUR_S[(8, 64) : (64, 1)]
        for flat in range(0, 512, 7):
            assert ours.place(flat)["m"] == int(theirs.apply(flat)["m"])


def test_their_text_without_its_prefixes_is_ours(tirx):
    rng = random.Random(11)
    for _ in range(100):
        shard, replica, offset = _random_terms(rng)
        shard = [(e, abs(s), a) for e, s, a in shard]
        theirs = _theirs(tirx, shard, replica, [(abs(s), a) for s, a in offset])
        text = str(theirs).removeprefix("T.TileLayout(").removesuffix(")")
        read = parse(text.replace("T.", "").replace("Axis.", ""))
        for flat in range(min(read.size, 16)):
            got = {frozenset(place.nonzero.as_dict().items()) for place in read.places(flat)}
            assert got == _places(theirs, flat), text


# -- the allow-list: where TIRx differs, shown, and what is said here ---------------------------------


def test_defect_span_counts_the_offset_and_not_the_sign(tirx):
    assert int(tirx.TileLayout(tirx.S[8:1] + 5).span()) == 13
    assert (OUR_S[8:1] + 5).span() == 8
    assert int(tirx.TileLayout(tirx.S[8:-1]).span()) == -6
    assert OUR_S[8:-1].span() == 8


def test_defect_an_index_outside_is_evaluated(tirx):
    theirs = tirx.TileLayout(tirx.S[(8, 8) : (10, 1)])
    assert (int(theirs.apply(100)["m"]), int(theirs.apply(-1)["m"])) == (124, -3)
    for flat in (100, -1):
        with pytest.raises(LayoutError, match="outside"):
            OUR_S[(8, 8) : (10, 1)].place(flat)


def test_defect_lists_of_unequal_length_are_cut(tirx):
    assert str(tirx.TileLayout(tirx.S[(8, 4) : (1,)])) == "T.TileLayout(T.S[8:1])"
    with pytest.raises(LayoutError, match="2 extents and 1 stride"):
        OUR_S[(8, 4) : (1,)]


def test_defect_the_first_of_two_replicas_is_dropped(tirx):
    from tilewise import R

    theirs = tirx.TileLayout(tirx.S[8:1] + tirx.R[2:8] + tirx.R[2:16])
    assert len(theirs.replica) == 1
    assert (OUR_S[8:1] + R[2:8] + R[2:16]).copies == 4


def test_defect_the_second_of_two_shards_is_dropped(tirx):
    assert str(tirx.TileLayout(tirx.S[8:1] + tirx.S[4:1])) == "T.TileLayout(T.S[8:1])"
    with pytest.raises(LayoutError, match="two layouts"):
        OUR_S[8:1] + OUR_S[4:1]


def test_defect_extents_that_are_none(tirx):
    assert "S[0:1]" in str(tirx.TileLayout(tirx.S[0:1]))
    assert "S[-3:1]" in str(tirx.TileLayout(tirx.S[-3:1]))
    assert "1.5" in str(tirx.TileLayout(tirx.S[4:1.5]))
    for shape, stride in ((0, 1), (-3, 1), (4, 1.5)):
        with pytest.raises(LayoutError):
            OUR_S[shape:stride]


def test_defect_two_equal_layouts_are_not_equal(tirx):
    assert tirx.TileLayout(tirx.S[8:1]) != tirx.TileLayout(tirx.S[8:1])
    assert OUR_S[8:1] == OUR_S[8:1]


IN_A_PROCESS = {
    "a grid axis with a thread axis hangs": (
        "import tvm; from tvm.tirx.layout import *\n"
        "from tvm.tirx.layout import TileLayout, S\n"
        "with tvm.target.Target('cuda'): TileLayout(S[(4, 32) : ((1, 'bx'), (1, 'tx'))]).canonicalize()"
    ),
    "a layout cannot be saved": (
        "import tvm; from tvm.tirx.layout import TileLayout, S; tvm.ir.save_json(TileLayout(S[8:1]))"
    ),
}


@pytest.mark.parametrize("defect", IN_A_PROCESS)
def test_defects_that_end_the_process(tirx, defect):
    try:
        done = subprocess.run(
            [sys.executable, "-c", IN_A_PROCESS[defect]], capture_output=True, timeout=20, check=False
        )
        assert done.returncode != 0
    except subprocess.TimeoutExpired:
        pass
    from tilewise.notation import from_json, to_json

    ours = OUR_S[(4, 32) : (_vector(1, "bx"), _vector(1, "tx"))]
    assert ours.canonical() == ours
    assert from_json(json.loads(json.dumps(to_json(ours)))) == ours


def test_defect_fused_offsets_overwrite_each_other(tirx):
    tvm = pytest.importorskip("tvm")
    lane, warp = tirx.Axis.get("laneid"), tirx.Axis.get("warpid")
    with tvm.target.Target("cuda"):
        spelled = tirx.S[(4, 32) : (1 @ warp, 1 @ lane)] + 2 @ warp + 3 @ lane
        fused = tirx.TileLayout(spelled).canonicalize()
    assert int(fused.apply(0)["tx"]) == 3  # 2 warps of 32 and 3 lanes are 67
    ours = (
        OUR_S[(4, 32) : (_vector(1, "warpid"), _vector(1, "laneid"))]
        + _vector(2, "warpid")
        + _vector(3, "laneid")
    )
    assert ours.canonical().place(0) == {"warpid": 2, "laneid": 3}
