"""The planner of tensor memory, held to the formulas of the manual, element by element."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.hardware.tcgen05_formulas import MOST, halves

from tilewise import Axis, Layout, LayoutError, parse
from tilewise.check.shuffle import shuffle
from tilewise.check.tensor_memory import plan
from tilewise.check.tensor_memory.wanted import Wanted
from tilewise.check.tensor_memory.ways import splits_of, ways_of
from tilewise.check.tensor_memory.words import Words
from tilewise.core.errors import Refused
from tilewise.hardware.catalog import entries, find
from tilewise.hardware.tcgen05.datapaths import DATA_PATHS
from tilewise.hardware.tcgen05.loads import FORMS
from tilewise.tables import table

D, A = find("tcgen05.D"), find("tcgen05.A")


def columns_of(layout, *axes):
    """The places of every element and copy on some axes, [element, copy], 0 where there is no axis."""
    found = table(layout)
    shape = (layout.size, found.copies)
    return [
        found.columns[axis].reshape(shape) if axis in found.columns else np.zeros(shape, int) for axis in axes
    ]


def held_by(way, warp):
    """{(lane of the warp, register of the fragment, half): (lane, column) of tensor memory}, as told."""
    found = {}
    for move in way.moves:
        assert move.repeat <= MOST[move.form.name]
        address = int(move.address(warp))
        for t in range(32):
            for r in range(move.registers):
                parts = halves(move.form.name, t, r, move.way.packed, move.way.split)
                for half, (lane, column, bits) in enumerate(parts):
                    place = (address >> 16) + lane, (address & 0xFFFF) + column, bits
                    assert found.setdefault((t, move.register + r, half), place) == place
    return found


def check(way):
    """After the instructions of all warps, every element is where the fragment has it."""
    words = way.words
    warps = [4 * number + warp for number in words.groups.numbers for warp in words.warps]
    held = {warp: held_by(way, warp) for warp in warps}
    lane, column, cta = columns_of(words.layout, "TLane", "TCol", "cbx")
    warp, own, reg, other, group = columns_of(way.fragment, "wid_in_wg", "laneid", "reg", "cbx", "wgid")
    warp = warp + 4 * group
    order = np.argsort(lane // 32, axis=1), np.argsort(warp % 4, axis=1)
    lane, column, cta = (np.take_along_axis(each, order[0], 1) for each in (lane, column, cta))
    warp, own, reg, other = (np.take_along_axis(each, order[1], 1) for each in (warp, own, reg, other))
    assert (cta == other).all()
    for at in np.ndindex(lane.shape):
        bit, taken = int(reg[at]) * words.taken, words.taken
        half = bit % 32 // 16 if way.packed else 0
        place = held[int(warp[at])][int(own[at]), bit // 32, half]
        first = int(column[at]) * taken
        assert place[:2] == (lane[at], first // 32)
        assert bit % (16 if way.packed else 32) == first % 32
        assert first % 32 + taken <= place[2]
    assert way.registers == 1 + max(register for one in held.values() for _, register, _ in one)
    rounds = [sum(move.registers for move in way.moves if move.round == one) for one in range(way.rounds)]
    assert sum(rounds) == way.registers
    assert max(rounds) <= 255


ACCUMULATORS = [
    (path, slab, n, dtype)
    for path in DATA_PATHS.values()
    for slab in path.slabs
    for n, dtype in ((64, "f32"), (64, "f16"))
] + [(DATA_PATHS["D"], 0, 24, "f32"), (DATA_PATHS["F"], 1, 48, "f16"), (DATA_PATHS["D"], 0, 256, "f32")]


@pytest.mark.parametrize(("path", "slab", "n", "dtype"), ACCUMULATORS)
def test_every_data_path_by_every_form(path, slab, n, dtype):
    layout = path.accumulator(n, 1 if dtype == "f32" else 2, slab)
    found = plan(layout, dtype)
    assert [way.form.name for way in found.ways if not way.packed] == [*FORMS]
    assert sum(way.packed for way in found.ways) == (len(FORMS) if dtype == "f16" else 0)
    for one in found.ways:
        check(one)


@pytest.mark.parametrize("values", [*A.listed()][::7], ids=lambda values: "-".join(map(str, values.values())))
def test_a_of_every_kind(values):
    for way in plan(A(**values)).ways:
        check(way)


def test_further_columns_and_stages():
    for text in (
        "S[(128, 32) : (1@TLane, 1@TCol)] + 256@TCol",
        "S[(4, 32, 2, 8) : (32@TLane, 1@TLane, 16, 1)]",
    ):
        for way in plan(parse(text.replace("16, 1)", "16@TCol, 1@TCol)")), "f32").ways:
            check(way)


def test_every_split():
    """Of 16x32bx2 the columns of the second half may be any power of two away."""
    for way in plan(DATA_PATHS["F"].accumulator(64, 2), "f16", form="16x32bx2").ways:
        several = [*splits_of(way)]
        assert len(several) == (5 if way.packed else 6)
        assert {one.split for one in several} == {32, 16, 8, 4, 2, 1} - ({1} if way.packed else set())
        for one in several:
            assert not one.problem
            check(one)
            assert len(one.moves) == 32 // one.split


def test_digits_that_the_two_halves_of_a_form_cut():
    """Three times 8 columns are no two halves as digits; a split of 4 is, and the other forms need none."""
    three = parse("S[(128, 3, 8) : (1@TLane, 8@TCol, 1@TCol)]")
    found = plan(three, "f32")
    assert [way.form.name for way in found.ways] == [*FORMS]
    assert found.ways[-1].split == 4
    for way in found.ways:
        check(way)
    assert plan(three, "f32", to=parse("S[(128, 3, 8) : (1@tx, 8@reg, 1@reg)]")).fit.way.name == "32x32b"
    odd = plan(parse("S[(128, 2, 7, 2) : (1@TLane, 14@TCol, 1@TCol, 7@TCol)]"), "f32")
    for way in odd.ways:
        check(way)
    digits = plan(parse("S[(128, 3, 2) : (1@TLane, 1@TCol, 3@TCol)]"), "f32").left_out
    assert [way.problem for way in digits if way.form.name == "16x64b"] == [
        "what it makes of the digits of S[(128, 3, 2) : (1@TLane, 1@TCol, 3@TCol)] is no layout"
    ]


# -- what is wanted --------------------------------------------------------------------------------


def test_an_epilogue_of_hopper_goes_on():
    """The accumulator of wgmma is what 16x256b loads of data path F, and 16x128b.pack of f16."""
    for n in (8, 64, 256):
        for dtype, form, packed in (("f32", "16x256b", False), ("f16", "16x128b", True)):
            found = plan(D(dtype, m=64, n=n), to=find("wgmma.D")(dtype, n=n).layout)
            assert (found.fit.way.form.name, found.fit.way.packed) == (form, packed)
            assert found.fit.registers == tuple(range(len(found.fit.registers)))
            assert len(found.fit.way.moves) == 1
            check(found.fit.way)


@pytest.mark.parametrize(
    ("dtype", "to", "name", "first"),
    [
        ("f32", "S[(128, 64) : (1@tid_in_wg, 1@reg)]", "32x32b", (0, 1, 2)),
        ("f32", "S[(128, 64) : (1@tx, 1@reg)] + 4@reg", "32x32b", (4, 5, 6)),
        ("f16", "S[(128, 64) : (1@tx, 1@reg)]", "32x32b pack::16b", (0, 1, 2)),
        ("f16", "S[(128, 64) : (1@tx, 2@reg)]", "32x32b", (0, 1, 2)),
        ("f32", "S[((4, 32), (2, 32)) : ((1@warpid, 1@laneid), (1@reg, 2@reg))]", "32x32b", (0, 2, 4)),
        (
            "f32",
            "S[((4, 2, 2, 8), (8, 4, 2)) : ((1@warpid, 2@reg, 1@reg, 4@laneid), (8@reg, 1@laneid, 4@reg))]",
            "16x256b",
            (0, 4, 1, 5, 8),
        ),
        (
            "f32",
            "S[((4, 2, 16), (4, 2, 8)) : ((1@wid_in_wg, 32@reg, 1@laneid), (8@reg, 16@laneid, 1@reg))]",
            "16x32bx2",
            (0, 1, 2),
        ),
    ],
)
def test_fragments(dtype, to, name, first):
    found = plan(D(dtype, m=128, n=64), to=parse(to))
    assert found.answer
    assert found.fit.way.name == name
    assert found.fit.registers[: len(first)] == first
    check(found.fit.way)
    fills(found, parse(to))


def fills(found, to):
    """The registers that are named are those where the wanted fragment has the elements."""
    words, registers = found.words, np.array(found.fit.registers)
    *ours, reg = columns_of(found.fit.way.fragment, "wgid", "wid_in_wg", "laneid", "reg")
    *wanted, named = columns_of(Wanted.of(to, words).threads, "wgid", "wid_in_wg", "laneid", "reg")
    each = words.parts
    assert all((one == other).all() for one, other in zip(ours, wanted, strict=True))
    assert (registers[reg // each] * each + reg % each == named).all()


def drawn(rng):
    """A layout of tensor memory, one of its ways, and that way's fragment with its registers in any order."""
    path = rng.choice([*DATA_PATHS.values()])
    dtype = rng.choice(["f32", "f16"])
    n = rng.choice([16, 32, 64]) if path.folds < 4 else 64
    layout = path.accumulator(n, 1 if dtype == "f32" else 2, rng.choice(path.slabs))
    layout = layout + rng.choice([0, 8, 64]) * (1 if dtype == "f32" else 2) @ Axis("TCol")
    way = rng.choice([one for each in plan(layout, dtype).ways for one in splits_of(each)])
    stepping = [it for it in way.placed.shard if it.stride["register"] and it.extent > 1]
    rng.shuffle(stepping)
    steps, at = {}, 1
    for it in stepping:
        steps[it.stride["register"]] = at
        at *= it.extent
    per = way.words.parts

    def moved(vector):
        of = {str(axis): count for axis, count in vector.terms}
        reg = steps.get(of.pop("register", 0), 0) * per + of.pop("part", 0)
        return sum((count @ Axis(name) for name, count in of.items()), start=reg @ Axis("reg"))

    it = way.placed
    return layout, dtype, way, Layout(it.shape, tuple(map(moved, it.strides)), offset=it.offset)


@pytest.mark.parametrize("seed", range(60))
def test_a_fragment_of_any_way_is_found_whatever_its_registers_are_called(seed):
    layout, dtype, way, to = drawn(random.Random(seed))
    found = plan(layout, dtype, to=to)
    assert len(found.fit.way.moves) <= len(way.moves)
    check(found.fit.way)
    fills(found, to)


def test_what_no_load_does_the_nearest_and_a_shuffle_do():
    to = parse("S[((4, 8, 2), (4, 4)) : ((1@wid_in_wg, 1@laneid, 1@reg), (8@laneid, 2@reg))]")
    found = plan(D("f32", m=64, n=16), to=to)
    assert not found.answer
    assert {misfit.stage for _, misfit in found.misfits} == {"lane"}
    for way, misfit in found.misfits:
        asked, got = (one.place(*misfit.element) for one in (to, way.fragment))
        assert asked["laneid"] != got["laneid"]
        assert f"gets to lane {got['laneid']}, and lane {asked['laneid']} shall" in misfit.message
    near = found.near
    whole = shuffle(near.way.fragment, to, "f32")
    assert 0 < whole.exchanges <= near.exchanges
    every = [shuffle(way.fragment, to, "f32").exchanges for way in found.ways]
    assert whole.exchanges == min(every)


@pytest.mark.parametrize(
    ("dtype", "m", "to"),
    [
        ("f32", 128, "S[((4, 4, 8), (8, 8)) : ((1@warpid, 1@laneid, 1@reg), (4@laneid, 8@reg))]"),
        ("f16", 128, "S[((4, 8, 4), (4, 16)) : ((1@warpid, 1@laneid, 1@reg), (8@laneid, 4@reg))]"),
    ],
)
def test_the_nearest_is_told_without_a_plan_of_its_steps(monkeypatch, dtype, m, to):
    """Steps take seconds to plan; the bound of the exchanges is that of the plan, and comes at once."""
    layout, wanted = D(dtype, m=m, n=64), parse(to)
    with monkeypatch.context() as patched:
        patched.setattr("tilewise.check.shuffle.programs", None)
        near = plan(layout, to=wanted).near
    source, target, times = Wanted.of(wanted, near.way.words).nearing(near.way)
    steps = shuffle(source, target, f"b{near.way.words.taken}")
    assert 0 < near.bound.count <= steps.exchanges
    assert near.times == times
    assert near.exchanges == times * near.bound.count


def test_a_part_of_a_register_is_not_another():
    """Columns n and n + 32 in a register: the lanes agree, and nothing has to leave them."""
    found = plan(D("f16", m=128, n=64), to=parse("S[(128, (32, 2)) : (1@tx, (1@reg, 32@reg))]"))
    assert {misfit.stage for way, misfit in found.misfits if way.form.name == "32x32b"} == {
        "part of a register"
    }
    assert found.near.way.form.name == "32x32b"
    assert found.near.exchanges == 0


def test_warps_reach_their_own_lanes_alone():
    found = plan(D("f32", m=64, n=64), to=parse("S[(64, 64) : (1@tx, 1@reg)]"))
    assert {misfit.stage for _, misfit in found.misfits} == {"warp"}
    assert found.near is None
    assert found.misfits[0][1].message.startswith("element (16, 0) gets to warp 1, and warp 0 shall")


def test_a_register_that_depends_on_its_lane():
    to = parse("S[((4, 2, 16), 4) : ((1@wid_in_wg, 16@laneid + 4@reg, 1@laneid), 1@reg)]")
    found = plan(parse("S[(128, 4) : (1@TLane, 1@TCol)]"), "f32", to=to, form="32x32b")
    assert found.misfits[0][1].stage == "register"
    assert found.misfits[0][1].message == (
        "elements (0, 0) and (16, 0) are in register 0 of the instructions, and in registers 0 and 4 of the "
        "fragment"
    )


def test_of_copies_one_is_enough_to_load_and_all_are_stored():
    """A of path E is in lanes 0 to 63 and again in 64 to 127."""
    built, one = A(dtype="bf16", m=64, k=32, ws=1), parse("S[(64, 32) : (1@tid_in_wg, 1@reg)]")
    both = parse("S[(64, 32) : (1@tid_in_wg, 1@reg)] + R[2 : 64@tid_in_wg]")
    assert plan(built, to=one).fit.way.name == plan(built, to=both).fit.way.name == "32x32b"
    assert plan(built, to=both, store=True).answer
    found = plan(built, to=one, store=True)
    assert not found.answer
    assert found.misfits[0][1].message == ("element (0, 0) gets to warps 0 and 2, and warp 0 shall have it")
    second = parse("S[(64, 32) : (1@tid_in_wg, 1@reg)] + 64@tid_in_wg")
    assert plan(built, to=second).fit.way.name == "32x32b"


# -- several warpgroups ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_warpgroups_share_what_there_is(seed):
    """Any digit of the columns counts them: each has its own elements, by any form."""
    rng = random.Random(seed)
    path = rng.choice([path for path in DATA_PATHS.values() if path.cta_group == 1])
    dtype = rng.choice(["f32", "f16"])
    layout = path.accumulator(128, 1 if dtype == "f32" else 2, rng.choice(path.slabs))
    inner, many = rng.choice([8, 16, 32]), rng.choice([2, 4])
    turns = Layout(
        (
            layout.shape[0] if isinstance(layout.shape[0], int) else layout.size // 128,
            128 // inner // many,
            many,
            inner,
        ),
        (0, 0, 1 @ Axis("wgid"), 0),
        offset=rng.choice([0, 0, 1]) @ Axis("wgid"),
    )
    words = Words.of(layout, dtype)
    ways = [way for way in ways_of(words, among=turns) if not way.problem]
    assert ways
    way = rng.choice(ways)
    found = plan(layout, dtype, to=way.fragment)
    numbers = found.fit.way.words.groups.numbers
    assert numbers == tuple(range(numbers[0], numbers[0] + many))
    check(found.fit.way)
    fills(found, way.fragment)


@pytest.mark.parametrize(
    "to",
    [
        "S[(128, (2, 128)) : (1@tid_in_wg, (1@wgid, 1@reg))]",
        "S[(128, (2, 128)) : (1@tx, (128@tx, 1@reg))]",
        "S[((4, 32), (2, 128)) : ((1@warpid, 1@laneid), (4@warpid, 1@reg))]",
    ],
)
def test_eight_warps_each_of_which_has_half_of_the_columns(to):
    found = plan(D("f32", m=128, n=256), to=parse(to))
    (move,) = found.fit.way.moves
    assert move.words == "tcgen05.ld.sync.aligned.32x32b.x128.b32"
    assert [str(move.address(warp)) for warp in range(8)] == [
        f"0x{32 * (warp % 4):04x}{128 * (warp // 4):04x}" for warp in range(8)
    ]
    check(found.fit.way)
    fills(found, parse(to))


def test_warpgroups_that_share_the_lanes_of_each_warp():
    """A form of 16 lanes begins at either half of them; one of 32 has no such address."""
    to = parse(
        "S[((4, 2, 2, 8), (8, 4, 2)) : ((1@warpid, 4@warpid, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]"
    )
    found = plan(D("f32", m=128, n=64), to=to)
    (move,) = found.fit.way.moves
    assert [str(move.address(warp)) for warp in (0, 3, 4, 7)] == [
        "0x00000000", "0x00600000", "0x00100000", "0x00700000",
    ]  # fmt: skip
    check(found.fit.way)
    wide = plan(
        D("f32", m=128, n=64), to=parse("S[((4, 2, 16), 64) : ((1@warpid, 4@warpid, 1@laneid), 1@reg)]")
    )
    assert wide.misfits[0][1].message == "element (16, 0) gets to lane 16, and lane 0 shall have it"


def test_stores_of_several_warpgroups():
    a, to = A("bf16", m=128, k=64), parse("S[(128, (2, 32)) : (1@tid_in_wg, (1@wgid, 1@reg))]")
    (move,) = plan(a, to=to, store=True).fit.way.moves
    assert [str(move.address(warp)) for warp in (1, 6)] == ["0x00200000", "0x00400010"]
    rows = parse("S[((2, 2, 32), 64) : ((1@wgid + 2@wid_in_wg, 1@wid_in_wg, 1@laneid), 1@reg)]")
    assert plan(a, to=rows).answer
    no = plan(a, to=rows, store=True)
    assert "it would write 4096 words of 4 warps, of which 2048 have elements" in no.left_out[0].problem


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("S[(128, (2, 64)) : (1@tid_in_wg, (-1@wgid, 1@reg))] + 1@wgid", "they count down"),
        (
            "S[(128, (2, 2, 32)) : (1@tid_in_wg, (1@wgid, 1@wgid, 1@reg))]",
            "one has elements of several parts",
        ),
        (
            "S[(128, (2, 64)) : (1@tid_in_wg, (8@wgid, 1@reg))]",
            "reaches wgid 8, and a CTA has warpgroups 0 to 7",
        ),
        (
            "S[(128, 128) : (1@tx, 1@reg)] + 32@tx",
            "goes on past a multiple of 128 on tx, from one wgid to the",
        ),
        (
            "S[(128, 128) : (1@tid_in_wg, 1@reg)] + R[2 : 16@laneid]",
            "says threads by tid_in_wg and by parts of it, wid_in_wg or laneid",
        ),
    ],
)
def test_warpgroups_that_share_nothing(to, message):
    with pytest.raises(LayoutError, match=message):
        plan(D("f32", m=128, n=128), to=parse(to))


def test_the_warp_that_is_named_is_the_one_of_the_block():
    to = parse("S[((2, 2, 32), (2, 8)) : ((1@warpid, 2@warpid, 1@laneid), (4@warpid, 1@reg))]")
    assert plan(D("f32", m=128, n=16), to=to).misfits[0][1].message == (
        "element (32, 0) gets to warp 1, and warp 2 shall have it"
    )
    one = parse("S[((2, 2, 32), 16) : ((1@warpid, 2@warpid, 1@laneid), 1@reg)] + 4@warpid")
    assert plan(D("f32", m=128, n=16), to=one).misfits[0][1].message == (
        "element (32, 0) gets to warp 5, and warp 6 shall have it"
    )


PAIR = "S[((2, 128), 16) : ((1@cbx, 1@TLane), 1@TCol)]"
A_OF_E = "S[(64, 16) : (1@TLane, 1@TCol)] + R[2 : 64@TLane]"


@pytest.mark.parametrize(
    ("held", "to", "store", "stage", "message"),
    [
        (
            PAIR,
            "S[((128, 2), 16) : ((1@tid_in_wg, 1@cbx), 1@reg)]",
            False,
            "CTA",
            "element (1, 0) gets to CTA 0, and CTA 1 shall have it",
        ),
        (
            A_OF_E,
            "S[(2, 32, 16) : (1@wid_in_wg, 1@laneid, 1@reg)] + R[3 : 1@wid_in_wg]",
            False,
            "warp",
            "element (0, 0) gets to warps 0 and 2, and warps 0, 1 and 2 shall have it",
        ),
        (
            A_OF_E,
            "S[(64, 16) : (1@tid_in_wg, 1@reg)] + R[2 : 64@tid_in_wg + 16@reg]",
            False,
            "register",
            "copies of element (0, 0) are in register 0 of the instructions, and in registers 0 and 16 of "
            "the fragment",
        ),
        (
            A_OF_E,
            "S[(64, 16) : (1@tid_in_wg, 1@reg)] + R[2 : 64@tid_in_wg + 16@reg]",
            True,
            "register",
            "copies of element (0, 0) are in register 0 of the instructions, and in registers 0 and 16 of "
            "the fragment",
        ),
        (
            "S[(128, 16) : (1@TLane, 1@TCol)]",
            "S[(128, 16) : (1@tid_in_wg, 1@reg)] + R[2 : 16@reg]",
            False,
            "register",
            "element (0, 0) is in register 0 of the instructions, and in registers 0 and 16 of the fragment",
        ),
        (
            "S[(4, 16, 8) : (32@TLane, 1@TLane, 1@TCol)]",
            "S[(4, 16, 8) : (1@wid_in_wg, 1@laneid, 1@reg)] + R[2 : 16@laneid]",
            False,
            "lane",
            "element (0, 0, 0) gets to lane 0, and lanes 0 and 16 shall have it",
        ),
    ],
)
def test_copies_are_compared_by_who_has_them(held, to, store, stage, message):
    """At the warp by the warp, at the CTA by the CTA; and their registers too."""
    layout = parse(held)
    found = plan(layout, "f32", to=parse(to), store=store)
    assert not found.answer
    misfit = next(misfit for way, misfit in found.misfits if way.form.name == "32x32b")
    assert (misfit.stage, misfit.message) == (stage, message)
    assert found.near is None or stage not in ("CTA", "warp")


def test_copies_beside_digits_of_which_neither_fits_the_other():
    """Columns in threes against columns in eights: a copy more is no difference, and the lanes are."""
    held = parse("S[(32, 24) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]")
    to = parse("S[((2, 2, 8), (4, 2, 3)) : ((48@reg, 24@reg, 4@laneid), (1@laneid, 3@reg, 1@reg))]")
    found = plan(held, "f32", to=to, form="16x256b")
    assert found.misfits[0][1].message == "element (0, 2) gets to lane 1, and lane 0 shall have it"
    again = parse("S[((2, 2, 8), (3, 4, 2)) : ((48@reg, 24@reg, 4@laneid), (8@reg, 1@laneid, 1@reg))]")
    assert plan(held, "f32", to=again, form="16x256b").answer


# -- stores ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "slab", "n", "dtype"), ACCUMULATORS)
def test_stores_write_no_word_that_nothing_has(path, slab, n, dtype):
    layout = path.accumulator(n, 1 if dtype == "f32" else 2, slab)
    found = plan(layout, dtype, store=True)
    lane, column = columns_of(layout, "TLane", "TCol")
    own = {*zip(lane.ravel().tolist(), (column.ravel() // found.words.parts).tolist(), strict=True)}
    for way in found.ways:
        written = {place[:2] for warp in way.words.warps for place in held_by(way, warp).values()}
        assert written == own
    assert [way.form.name for way in found.left_out if not way.packed] == (["32x32b"] if path.half else [])


def test_a_store_past_a_hole_is_left_out():
    found = plan(parse("S[(128, 2, 8) : (1@TLane, 16@TCol, 1@TCol)]"), "f32", store=True)
    assert not found.ways
    assert not found.answer
    assert "write 3072 words of 4 warps, of which 2048 have elements" in found.left_out[0].problem
    assert plan(parse("S[(128, 2, 8) : (1@TLane, 16@TCol, 1@TCol)]"), "f32").answer


def test_columns_that_a_form_does_not_divide():
    found = plan(parse("S[(128, 12) : (1@TLane, 1@TCol)]"), "f32")
    assert [way.form.name for way in found.left_out] == ["16x256b"]
    assert found.left_out[0].problem == "it moves 8 columns at a time, of which 12 is no multiple"
    odd = plan(parse("S[(128, 3) : (1@TLane, 1@TCol)]"), "f32")
    assert [way.form.name for way in odd.ways] == ["32x32b"]


@pytest.mark.parametrize(
    ("text", "dtype", "kind", "message"),
    [
        ("S[(128, 8) : (1@laneid, 1@TCol)]", "f32", LayoutError, "the axis laneid"),
        ("S[(128, 600) : (1@TLane, 1@TCol)]", "f32", LayoutError, "reaches column 599"),
        ("S[(256, 8) : (1@TLane, 1@TCol)]", "f32", LayoutError, "reaches lane 255"),
        ("S[(128, 8) : (1@TLane, 1@TCol)]", "f64", Refused, "no parts of columns"),
        ("S[(128, 8) : (1@TLane, 1@TCol)]", "e3m2", Refused, "no parts of columns"),
        ("S[(8, 5, 2) : (3@TLane, 24@TLane, 1@TCol)]", "f32", Refused, "a warp's 32 lanes"),
        ("S[(128, 8) : (1@TLane, 1@TCol)]", None, LayoutError, "type of an element is not given"),
    ],
)
def test_what_is_refused(text, dtype, kind, message):
    with pytest.raises(kind) as no:
        plan(parse(text), dtype)
    assert message in no.value.message


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("S[(64, 64) : (1@laneid, 1@reg)]", "they are not layouts of one tensor"),
        ("S[(128, 64) : (1@TLane, 1@reg)]", "the axis TLane"),
        ("S[(128, 64) : (1@laneid, 1@reg)]", "reaches laneid 127"),
        (
            "S[(128, 64) : (1@tid_in_wg, 1@reg)] + 32@tid_in_wg",
            "reaches wid_in_wg 4, and a warpgroup has warps 0",
        ),
        ("S[(128, 64) : (1@tx, 1@reg)] + 1@cbx", "reaches cbx 1"),
        ("Swizzle<3,0,3> o S[(128, 64) : (1@tx, 1@reg)]", "is swizzled"),
    ],
)
def test_fragments_that_are_none(to, message):
    with pytest.raises(LayoutError) as no:
        plan(D("f32", m=128, n=64), to=parse(to))
    assert message in no.value.message


def test_a_table_of_the_catalogue_lies_nowhere():
    tables = [entry for entry in entries().values() if entry(**entry.example).layout is None]
    with pytest.raises(LayoutError, match="nothing of it lies in tensor memory"):
        plan(tables[0](**tables[0].example))
