"""The work that turns one layout into another: classes, counts and ways against plain listing."""

from __future__ import annotations

from collections import Counter
from math import gcd
from random import Random

import pytest
from tests.core.owners import (
    class_of,
    constant_step,
    counts,
    extents_of,
    in_one_spelling,
    lanes_of,
    on_threads,
    random_owners,
    renamings,
    reordered,
)
from tests.core.test_closed_form import FEW, LARGE, halved, large, lines_run

from tilewise import (
    Axis,
    Layout,
    LayoutError,
    NotDecided,
    R,
    Refused,
    S,
    Swizzle,
    TCol,
    TLane,
    bx,
    cbx,
    gpuid_x,
    gpuid_y,
    laneid,
    m,
    reg,
    tid_in_wg,
    tx,
    warpid,
    wgid,
    wid_in_wg,
)
from tilewise.core.algebra.relations import OUTERMOST_FIRST, kind_of
from tilewise.core.layout import Iter
from tilewise.core.vectors import Vector
from tilewise.testing import naive_map
from tilewise.testing.generate import perturbed, random_layout, rewritten

# -- generated pairs -------------------------------------------------------------------------------

AXES = (m, reg, laneid, warpid, tx, gpuid_x, TLane, Axis("own"), Axis("buf", storage=True))


def random_pair(rng):
    """Two layouts of one size, near enough to be related."""
    a = random_layout(rng, max_size=48)
    if rng.random() < 0.5:
        a = on_axes(a, rng)
    how = rng.randrange(9)
    if how == 0:
        b = rewritten(rng, a)
    elif how == 1:
        order = list(range(len(a.shape)))
        rng.shuffle(order)
        b = a.permute(*order)
    elif how == 2:
        b = a + rng.choice((-1, 1, 4, 32)) * Vector(((rng.choice(a.axes), 1),))
    elif how == 3:
        b = fewer_copies(a, rng)
    elif how == 4:
        b = on_axes(a, rng)
    elif how == 5:
        b = Layout(a.shape, rng.sample(a.strides, len(a.strides)), a.replica, a.offset, a.swizzles, a.outer)
    elif how == 6:
        b = a + R[rng.randint(2, 3) : Vector(((rng.choice(AXES[:6]), rng.choice((1, 2, 4))),))]
    elif how == 7:
        b = random_layout(rng, max_size=48)
    else:
        b = perturbed(rng, a)
    if rng.random() < 0.2:
        b, a = a, b
    return (a, b) if a.unit == b.unit else (a.counted("element"), b.counted("element"))


def fewer_copies(a, rng):
    """One copy of every element, now and then another one for every element."""
    copied = a + R[2 : 4 @ warpid] + R[2 : 1 @ gpuid_x] if rng.random() < 0.5 else a
    kept = Layout(a.shape, a.strides, copied.replica[1:], a.offset, a.swizzles, a.outer, a.unit)
    for it in copied.replica[:1]:
        kept = kept + it.stride * rng.randrange(it.extent)
    return kept


def on_axes(layout, rng):
    """The layout with its owners renamed."""
    names = {
        axis: rng.choice((laneid, warpid, tx, gpuid_x)) for axis in layout.axes if axis.kind != "storage"
    }

    def called(vector):
        return sum((Vector(((names.get(axis, axis), s),)) for axis, s in vector.terms), Vector())

    return Layout(
        layout.shape,
        tuple(map(called, layout.strides)),
        tuple(Iter(it.extent, called(it.stride)) for it in layout.replica),
        called(layout.offset),
        layout.swizzles,
        called(layout.outer),
        layout.unit,
    )


def check_relation(rng):
    """One random pair, its relation held against the listing."""
    kind = checked_kind(*random_pair(rng))
    return kind if kind in ("refused", "undecided") else "answered"


def checked_kind(a, b):
    """The class of two layouts, all of the answer held against the listing."""
    if a.size != b.size:
        with pytest.raises(LayoutError):
            a.relation(b)
        return "refused"
    found = a.relation(b)
    if found.kind is None:
        return "undecided"
    assert found.kind == class_of(a, b), (a, b, found)
    check_via(a, b, found)
    if found.kind in OUTERMOST_FIRST:
        check_moves(naive_map(a), naive_map(b), found)
        copies = [len(naive_map(x)[0]) for x in (a, b)]
        assert (found.added, found.dropped) == (max(0, copies[1] - copies[0]), max(0, copies[0] - copies[1]))
    assert found.elements == a.size
    return found.kind


def check_owners(rng):
    """One random pair on owners, its class and its counts held against sets."""
    a, b, order = random_owners(rng)
    found = a.relation(b, permute=order)
    if found.kind is None:
        return "undecided"
    assert found.kind == class_of(a, b, order), (a, b, order, found)
    if found.kind in OUTERMOST_FIRST:
        held = naive_map(a) if order is None else reordered(naive_map(a), extents_of(a), order)[0]
        check_moves(held, naive_map(b), found)
    return "answered"


def check_moves(old, new, found):
    """Check the number of elements that move along each axis, threads as the answer names them."""
    split, one, other = in_one_spelling(old, new)
    if split and "tx" in found.moves:
        one, other = (on_threads(x, lanes_of(old, new)) for x in (old, new))
    moves = counts(one, other)
    assert all(count in (None, moves.get(name)) for name, count in found.moves.items()), (found, moves)
    counted = {name for name, count in found.moves.items() if count is not None}
    assert counted <= moves.keys() <= found.moves.keys(), (found, moves)


def check_via(a, b, found):
    """Check the promises of `via` and `reading`."""
    split, one, other = in_one_spelling(naive_map(a), naive_map(b))
    for way in (found.via if found.kind == "view" else {}, found.reading or {}):
        read = a
        if "reshape" in way:
            read = read.reshape(*way["reshape"])
        if "permute" in way:
            read = read.permute(*way["permute"])
        if way:
            _, old, new = in_one_spelling(naive_map(read), naive_map(b))
            assert old == new, (a, b, found)
    if found.kind == "shift":
        assert constant_step(one, other) == found.via["shift"], (a, b, found)
        assert found.moves == dict.fromkeys(found.via["shift"], a.size)
    if found.kind == "drop":
        assert found.dropped == len(naive_map(a)[0]) - len(naive_map(b)[0])
    if found.kind == "relabel":
        names = found.via["relabel"]
        if isinstance(next(iter(names.values())), list):
            assert split
            return
        ways = renamings(a, b, naive_map(a), naive_map(b)) + renamings(a, b, one, other)
        assert any(names.items() <= way.items() for way in ways), (a, b, found)


def test_generated_pairs(times):
    rng, tally = Random(41), Counter()
    for _ in range(times(1_500)):
        tally[checked_kind(*random_pair(rng))] += 1
    assert tally["undecided"] <= 5, tally
    assert set(tally) >= {"same", "view", "drop", "shift", "relabel", "memory", "lane", "warp", "device"}, (
        tally
    )


def test_owners_of_generated_pairs_match_sets():
    tally = Counter(check_owners(Random(seed)) for seed in range(600))
    assert tally["undecided"] == 0, tally


# -- classes by hand -------------------------------------------------------------------------------

FRAGMENT = S[(8, (4, 2)) : (4 @ laneid, (1 @ laneid, 1 @ reg))]
THREE_MODES = S[(8, 4, 2) : (4 @ laneid, 1 @ laneid, 1 @ reg)]

CLASSES = [
    # the chapter's views: permute and reshape move nothing
    (S[(3, 4) : (4, 1)], S[(4, 3) : (1, 4)], "view", {"permute": [1, 0]}, {}),
    (S[(8, 8) : (8, 1)], S[(4, 16) : (16, 1)], "view", {"reshape": [4, 16]}, {}),
    (THREE_MODES, S[(8, 8) : (8, 1)], "memory", {}, {"laneid": 62, "reg": 32, "m": 63}),
    (S[(8, 8) : (8, 1)], S[((4, 2), 8) : ((16, 8), 1)], "same", {}, {}),
    # another swizzle, and tiles instead of rows, are real moves
    (S[(8, 64) : (64, 1)], Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)], "memory", {}, {"m": 448}),
    (S[((4, 2), (2, 4)) : ((16, 4), (8, 1))], S[(8, 8) : (8, 1)], "memory", {}, {"m": 32}),
    # who holds the element
    (FRAGMENT, S[(8, (2, 4)) : (4 @ laneid, (1 @ reg, 1 @ laneid))], "lane", {}, {"laneid": 48, "reg": 32}),
    (S[(8, 4) : (4 @ laneid, 1 @ reg)], S[(8, 4) : (4 @ laneid, 2 @ reg)], "register", {}, {"reg": 24}),
    (S[(4, 8) : (1 @ warpid, 1 @ laneid)], S[(4, 8) : (2 @ warpid, 1 @ laneid)], "warp", {}, {"warpid": 24}),
    (S[(2, 8) : (1 @ cbx, 1)], S[(2, 8) : (3 @ cbx, 2)], "cta", {}, {"cbx": 8, "m": 14}),
    (S[(2, 8) : (1 @ gpuid_x, 1)], S[(2, 8) : (0, 1)] + R[2 : 2 @ gpuid_x], "device", {}, {"gpuid_x": 16}),
    # thread // 32 is the warp
    (S[(2, 32) : (32 @ tx, 1 @ tx)], S[(2, 32) : (32 @ tx, -1 @ tx)] + 31 @ tx, "lane", {}, {"tx": 64}),
    (S[64 : 1 @ tx], S[(32, 2) : (1 @ tx, 32 @ tx)], "warp", {}, {"tx": 62}),
    (S[(2, 32) : (1 @ tid_in_wg, 2 @ tid_in_wg)], S[64 : 1 @ tid_in_wg], "warp", {}, {"tid_in_wg": 62}),
    (S[2 : 2 @ tid_in_wg] + R[2 : (32 @ tid_in_wg - 1 @ wgid)] + 1 @ wgid,
     S[2 : 3 @ tid_in_wg] + 1 @ tid_in_wg, "warp", {}, {"tid_in_wg": 2}),
    (S[4 : -3 @ tx] + R[2 : (12 @ tx - 1 @ warpid)], S[4 : 0 @ tx], "warp", {}, {"tx": 3}),
    # another storage, and another device or block as well
    (S[(4, 4) : (1 @ gpuid_x, 1 @ m)], S[16 : 1 @ reg], "device", {}, {"gpuid_x": 12, "m": 12, "reg": 15}),
    (S[(4, 4) : (1 @ gpuid_x, 1 @ m)], S[16 : 1 @ reg] + 0 @ gpuid_x, "device", {},
     {"gpuid_x": 12, "m": 12, "reg": 15}),
    (S[(4, 4) : (1 @ bx, 1 @ m)], S[16 : 1 @ reg], "cta", {}, {"bx": 12, "m": 12, "reg": 15}),
    (S[(4, 4) : (1 @ m, 1 @ Axis("own"))], S[16 : 1 @ reg], "device", {}, {"own": 12, "m": 12, "reg": 15}),
    (S[(4, 4) : (1 @ warpid, 1 @ m)], S[16 : 1 @ reg], "memory", {}, {"warpid": 12, "m": 12, "reg": 15}),
    # storage on which every element is at 0 decides nothing
    (S[8 : 1 @ laneid] + 0 @ m, S[8 : 2 @ laneid] + 0 @ reg, "lane", {}, {"laneid": 7}),
    (S[8 : 1 @ laneid] + 0 @ m, S[8 : 2 @ tx] + 0 @ reg, "lane", {"relabel": {"tx": ["warpid", "laneid"]}},
     {"laneid": 7}),
    (S[8 : 1 @ laneid] + 0 @ m, S[8 : 2 @ laneid] + 1 @ reg, "lane", {}, {"laneid": 7, "reg": 8}),
    # tensor memory is addresses
    (S[(32, 4) : (1 @ TLane, 1 @ TCol)], S[(32, 4) : (2 @ TLane, 1 @ TCol)], "memory", {}, {"TLane": 124}),
    (S[(32, 4) : (1 @ TLane, 1 @ TCol)], S[(32, 4) : (1 @ laneid, 1 @ reg)], "memory", {},
     {"TLane": 124, "TCol": 96, "laneid": 124, "reg": 96}),
    # copies
    (S[(32, 4) : (1 @ TLane, 1 @ TCol)] + R[4 : 32 @ TLane], S[(32, 4) : (1 @ TLane, 1 @ TCol)] + 64 @ TLane,
     "drop", {}, {}),
    (S[8 : 1] + R[2 : 4 @ warpid], S[(4, 2) : (2, 1 @ m + 4 @ warpid)], "drop", {}, {}),
    (S[8 : 1], S[8 : 1] + R[2 : 1 @ laneid], "lane", {}, {"laneid": 8}),
    (S[8 : 1] + R[2 : 1 @ laneid], S[8 : 1] + R[3 : 1 @ gpuid_y], "device", {}, {"gpuid_y": 8}),
    # by one constant
    (S[8 : 1], S[8 : 1] + 5, "shift", {"shift": {"m": 5}}, {"m": 8}),
    (Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)], Swizzle(3, 3, 3) @ (S[(8, 64) : (64, 1)] + 512), "shift",
     {"shift": {"m": 512}}, {"m": 512}),
    (Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)], Swizzle(3, 3, 3) @ (S[(8, 64) : (64, 1)] + 64), "memory",
     {}, {"m": 512}),
    (S[8 : 1 @ laneid] + R[2 : 8 @ laneid], S[8 : 1 @ laneid] + R[2 : 8 @ laneid] + 2 @ warpid - 1 @ laneid,
     "shift", {"shift": {"laneid": -1, "warpid": 2}}, {"laneid": 8, "warpid": 8}),
    # other names
    (S[8 : 1 @ laneid], S[8 : 1 @ tx], "relabel", {"relabel": {"laneid": "tx"}}, {}),
    (S[128 : 1 @ tx], S[128 : 1 @ tid_in_wg], "relabel", {"relabel": {"tx": "tid_in_wg"}}, {}),
    (S[129 : 1 @ tx], S[129 : 1 @ tid_in_wg], "relabel", {"relabel": {"tx": "tid_in_wg"}},
     {"tx": 128, "tid_in_wg": 128}),
    (S[8 : 1 @ Axis("row")], S[8 : 1 @ Axis("core")], "relabel", {"relabel": {"row": "core"}}, {}),
    (S[(2, 4) : (1 @ gpuid_x, 1 @ gpuid_y)], S[(2, 4) : (1 @ gpuid_y, 1 @ gpuid_x)], "relabel",
     {"relabel": {"gpuid_x": "gpuid_y", "gpuid_y": "gpuid_x"}}, {"gpuid_x": 6, "gpuid_y": 6}),
    (S[8 : 1], S[8 : 1 @ reg], "memory", {}, {"m": 7, "reg": 7}),
    (S[8 : 1], S[8 : 1 @ Axis("buf", storage=True)], "relabel", {"relabel": {"m": "buf"}}, {}),
    (S[8 : 1 @ laneid], S[8 : 1 @ warpid], "relabel", {"relabel": {"laneid": "warpid"}},
     {"laneid": 7, "warpid": 7}),
    # one axis in two spellings
    (S[128 : 1 @ tx], S[(4, 32) : (1 @ warpid, 1 @ laneid)], "relabel",
     {"relabel": {"tx": ["warpid", "laneid"]}}, {}),
    (S[(2, 4, 32) : (1 @ wgid, 1 @ wid_in_wg, 1 @ laneid)], S[256 : 1 @ tx], "relabel",
     {"relabel": {"tx": ["warpid", "laneid"], "warpid": ["wgid", "wid_in_wg"]}}, {}),
    (S[256 : 1 @ tx], S[(2, 128) : (1 @ wgid, 1 @ tid_in_wg)], "relabel",
     {"relabel": {"tx": ["wgid", "tid_in_wg"]}}, {}),
    (S[32 : 1 @ laneid] + R[4 : 1 @ warpid], S[32 : 1 @ tx] + 64 @ tx, "drop",
     {"relabel": {"tx": ["warpid", "laneid"]}}, {}),
    (S[(4, 32) : (1 @ warpid, 1 @ laneid)], S[128 : 1 @ tx] + 32 @ tx, "shift",
     {"relabel": {"tx": ["warpid", "laneid"]}, "shift": {"warpid": 1}}, {"warpid": 128}),
    (S[(32, 4) : (1 @ laneid, 1 @ warpid)], S[128 : 1 @ tx], "view",
     {"relabel": {"tx": ["warpid", "laneid"]}, "permute": [1, 0]}, {}),
    (S[(32, 4) : (1 @ laneid, 1 @ warpid)], S[(32, 4) : (4 @ tx, 1 @ tx)], "warp",
     {"relabel": {"tx": ["warpid", "laneid"]}}, {"laneid": 124, "warpid": 96}),
    (S[4 : 1 @ warpid], S[4 : 32 @ tid_in_wg], "relabel",
     {"relabel": {"warpid": ["wgid", "wid_in_wg"], "tid_in_wg": ["wid_in_wg", "laneid"]}}, {}),
    # rows of 24 threads make no layout of warps and lanes
    (S[(4, 24) : (24 @ tx, 1 @ tx)], S[(3, 32) : (1 @ warpid, 1 @ laneid)], "relabel",
     {"relabel": {"tx": ["warpid", "laneid"]}}, {}),
    (S[8 : 1 @ laneid], S[(2, 4) : (4 @ tx, 1 @ tx)] + 28 @ tx, "shift",
     {"relabel": {"tx": ["warpid", "laneid"]}, "shift": {"tx": 28}}, {"tx": 8}),
    # a lane beside its thread, or lane 64, names no thread: the axes are taken as they are written
    (S[8 : 1 @ laneid + 1 @ tx], S[8 : 1 @ laneid], "lane", {}, {"tx": 7}),
    (S[3 : 40 @ laneid], S[3 : 40 @ tx], "relabel", {"relabel": {"laneid": "tx"}}, {"laneid": 2, "tx": 2}),
    # copies along two axes at once: no axis alone shows that the place is new
    (S[1 : 0] + R[2 : 1 @ warpid + 1 @ m], S[1 : 0] + 1 @ warpid, "memory", {}, {}),
    (S[1 : 0] + R[2 : 1 @ warpid + 1 @ gpuid_x], S[1 : 0] + 1 @ gpuid_x, "warp", {}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "kind", "via", "moves"), CLASSES)
def test_classes(a, b, kind, via, moves):
    found = a.relation(b)
    assert (found.kind, found.via) == (kind, via)
    assert found.moves == moves
    assert found.free is (not moves and kind in ("same", "view", "drop", "relabel"))
    if kind not in ("same", "view") and "relabel" not in via:
        assert class_of(a, b) == kind


def test_a_copy_is_counted_where_it_comes_and_where_it_goes():
    copied = S[8:1] + R[4 : 1 @ gpuid_x]
    assert copied.relation(S[8:1]).copies == {"added": 0, "dropped": 3}
    assert S[8:1].relation(copied).copies == {"added": 3, "dropped": 0}
    other = copied.relation(S[8:2] + R[2 : 1 @ gpuid_x])
    assert (other.kind, other.copies) == ("memory", {"added": 0, "dropped": 2})
    aliasing = S[4:1] + R[(2, 2) : (8, 8)]
    assert aliasing.relation(S[4:1]).dropped == 2


def test_the_kinds_of_axes():
    kinds = {kind_of(axis): axis for axis in (gpuid_x, bx, cbx, wgid, laneid, reg, m, TCol, TLane)}
    assert set(kinds) == set(OUTERMOST_FIRST)
    assert [kind_of(axis) for axis in (warpid, wid_in_wg, tx, tid_in_wg)] == ["warp"] * 4
    assert kind_of(Axis("buf", storage=True)) == "memory"
    assert kind_of(Axis("core")) == "device"


# -- what is given ---------------------------------------------------------------------------------


def test_a_permutation_that_is_given_is_the_only_one():
    rows, columns = S[(8, 8) : (8, 1)], S[(8, 8) : (1, 8)]
    assert rows.relation(columns).via == {"permute": [1, 0]}
    assert rows.relation(columns, permute=(1, 0)).via == {"permute": [1, 0]}
    by_index = rows.relation(columns, permute=(0, 1))
    assert (by_index.kind, by_index.moves, by_index.via) == ("memory", {"m": 56}, {})
    assert by_index.reading is None
    turned = rows.relation(rows, permute=(1, 0))
    assert (turned.kind, turned.moves, turned.via) == ("memory", {"m": 56}, {"permute": [1, 0]})


def test_a_shape_that_is_given_is_read_first():
    line, columns = S[64:1], S[(8, 8) : (1, 8)]
    plain = line.relation(columns)
    assert (plain.kind, plain.moves) == ("memory", {"m": 56})
    assert plain.reading == {"reshape": [8, 8], "permute": [1, 0]}
    read = line.relation(columns, reshape=(8, 8))
    assert (read.kind, read.via) == ("view", {"reshape": [8, 8], "permute": [1, 0]})
    assert line.relation(columns, reshape=(8, 8), permute=(1, 0)) == read
    assert line.relation(columns, reshape=(8, 8), permute=(0, 1)).kind == "memory"
    assert line.relation(line, reshape=64).kind == "same"


def test_a_reading_can_be_given_back():
    tiles, rows = S[((4, 2), (2, 4)) : ((16, 4), (8, 1))], S[(8, 8) : (8, 1)]
    reading = tiles.relation(rows).reading
    assert reading == {"reshape": [4, 2, 2, 4], "permute": [0, 2, 1, 3]}
    assert tiles.relation(rows, **reading).kind == "view"


def test_a_shape_without_digits_is_still_an_index():
    odd = S[(2, 3) : (1, 10)]
    assert odd.relation(odd, reshape=(3, 2)).via == {"reshape": [3, 2]}
    with pytest.raises(Refused):
        odd.relation(odd, reshape=(3, 2), permute=(1, 0))


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda: S[8:1].relation(S[4:1]), "TW202"),
        (lambda: S[8:1].relation("S[8 : 1]"), "TW107"),
        (lambda: S[8:1].relation(S[8:1].counted("byte")), "TW106"),
        (lambda: S[8:1].relation(S[8:1], permute=(1, 0)), "TW201"),
        (lambda: S[(2, 4) : (4, 1)].relation(S[8:1], permute=(0.5, 1)), "TW101"),
        (lambda: S[8:1].relation(S[8:1], reshape=(3, 3)), "TW202"),
        (lambda: S[8:1].relation(S[12:1], dtype_a="f32", dtype_b="bf16"), "TW202"),
        (lambda: S[8:1].relation(S[8:1], dtype_a="f33", dtype_b="f32"), "TW105"),
        (lambda: S[8:1].relation(S[8:1], dtype_a="f32"), "TW401"),
        (lambda: S[8:1].relation(S[8:1], dtype_b="f32"), "TW401"),
    ],
)
def test_what_is_no_question(ask, code):
    with pytest.raises(LayoutError) as refused:
        ask()
    assert refused.value.code == code


def test_a_relation_is_its_sentence_and_neither_true_nor_false():
    found = S[(8, 4) : (4, 1)].relation(S[(8, 4) : (1, 8)])
    assert str(found) == found.sentence
    with pytest.raises(LayoutError, match="neither true nor false") as refused:
        bool(found)
    assert ".free" in refused.value.hint
    assert ".kind" in refused.value.hint


# -- dtypes ----------------------------------------------------------------------------------------


def test_elements_that_are_converted_in_their_thread():
    """The accumulator of a warpgroup in f32, as the bf16 operand of the next product."""
    tile = S[(4, 2, 8, 2, 4, 2) : (1 @ wid_in_wg, 2 @ reg, 4 @ laneid, 4 @ reg, 1 @ laneid, 1 @ reg)]
    found = tile.relation(tile, dtype_a="f32", dtype_b="bf16")
    assert (found.kind, found.via, found.moves) == (
        "register",
        {"convert": ["f32", "bf16"]},
        {"reg": tile.size * 7 // 8},
    )
    assert not found.free
    assert tile.relation(tile, dtype_a="f16", dtype_b="bf16").kind == "same"
    assert not tile.relation(tile, dtype_a="f16", dtype_b="bf16").free
    assert tile.relation(tile, dtype_a="f16", dtype_b="f16").free


def test_the_same_bytes_as_other_elements():
    words = S[(8, 8) : (8, 1)]
    assert words.relation(S[(8, 16) : (16, 1)], dtype_a="f32", dtype_b="bf16").via == {
        "recast": ["f32", "bf16"]
    }
    assert S[(8, 16) : (16, 1)].relation(words, dtype_a="bf16", dtype_b="f32").kind == "view"
    assert words.relation(S[(8, 16) : (1, 8)], dtype_a="f32", dtype_b="bf16").kind == "memory"
    assert S[8:2].relation(S[(8, 2) : (4, 1)], dtype_a="f32", dtype_b="bf16").free


def test_units_are_converted_where_types_say_how():
    in_bytes = S[(8, 64) : (128, 2)].counted("byte")
    assert in_bytes.relation(S[(8, 64) : (64, 1)], dtype_a="bf16", dtype_b="bf16").kind == "same"
    shifted = S[(8, 64) : (64, 1)] + 8
    assert in_bytes.relation(shifted, dtype_a="bf16", dtype_b="bf16").via == {"shift": {"m": 16}}
    nibbles = S[8:1].relation(S[8:2], dtype_a="e2m1", dtype_b="e4m3")
    assert nibbles.moves == {"m": 7}


# -- counts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "columns"), [(2**25, 2**25), (2**3, 2**40), (48, 80), (7, 9)])
def test_a_large_transposition_is_counted(rows, columns):
    """Element (i, j) stays where i columns + j == i + j rows."""
    found = S[(rows, columns) : (columns, 1)].relation(S[(rows, columns) : (1, rows)], permute=(0, 1))
    assert found.kind == "memory"
    stay = 1 + gcd(rows - 1, columns - 1)
    assert found.moves == {"m": rows * columns - stay}


def test_a_count_of_many_elements_that_are_no_bits_is_left_open():
    """The answer names the axis of the move, and leaves its count open."""
    found = S[(10**7, 300) : (300, 1)].relation(S[(10**7, 300) : (1, 10**7)], permute=(0, 1))
    assert (found.kind, found.moves) == ("memory", {"m": None})
    strides = [3**i for i in range(30)]
    others = Random(1).sample(strides, 30)
    found = S[(3,) * 30 : tuple(strides)].relation(S[(3,) * 30 : tuple(others)], permute=tuple(range(30)))
    assert (found.kind, found.moves) == ("memory", {"m": None})
    assert found.sentence == "elements move to other addresses: m changes"


# -- large -----------------------------------------------------------------------------------------


def turned(layout):
    """The layout with the strides of its extents of 16 moved on by one."""
    places = [i for i, extent in enumerate(layout.shape) if extent == 16]
    strides = list(layout.strides)
    for i, j in zip(places, [*places[1:], places[0]], strict=True):
        strides[i] = layout.strides[j]
    return Layout(layout.shape, tuple(strides), layout.replica, layout.offset, layout.swizzles, layout.outer)


OTHERS = [large(), large((laneid, m)), large((warpid, reg, laneid)), large((tx, reg))]


@pytest.mark.parametrize("layout", LARGE, ids=range(len(LARGE)))
def test_pairs_of_2_to_the_50_elements(layout):
    """Closed form: a pair of 2^50 elements and 12 iters takes a few milliseconds."""
    orders = layout.permute(*reversed(range(12)))
    swizzled = Swizzle(3, 4, 3) @ turned(layout) if not layout.swizzles else turned(layout)
    near = [halved(layout), layout + 1, turned(layout), orders, swizzled, layout + R[4 : 1 @ gpuid_x]]
    kinds = [layout.relation(other).kind for other in near]
    assert kinds[:4] == ["view", "memory" if layout.swizzles else "shift", "view", "view"]
    assert kinds[5] == "device"
    for other in (*near, *OTHERS):
        assert lines_run(lambda other=other: layout.relation(other)) < FEW


def test_large_copies_are_dropped_and_kept():
    many = S[8:1] + R[2**40 : 8]
    assert many.relation(S[8:1] + 8 * (2**39)).kind == "drop"
    assert many.relation(S[8:1] + 4).kind != "drop"
    assert many.relation(S[(2, 4) : (8, 1)] + 16).kind == "memory"
    assert many.relation(S[8:1] + R[2**38 : 16]).dropped == 2**40 - 2**38


@pytest.mark.parametrize(("step", "kind"), [(1, "same"), (2, "warp"), (0, "lane")])
def test_rows_of_threads_are_listed_without_what_each_holds(step, kind):
    """Rows of 24 threads make no layout of warps, so warps are listed, and 2^40 registers are not."""
    held = S[(2, 24, 2**40) : (24 @ tx, 1 @ tx, 1 @ reg)]
    moved = S[(2, 24, 2**40) : (24 @ tx, step @ tx, 1 @ reg)]
    if kind == "lane":  # within the first warp alone
        held, moved = (x.slice(0, (0, 8)).layout + 20 @ tx + R[2 : 24 @ tx] for x in (held, moved))
    assert held.relation(moved).kind == kind


def test_undecided_is_said():
    big = S[(99991, 2) : (4, 2)]
    found = (Swizzle(1, 0, 1) @ big).relation(S[(99991, 2) : (4, 3)])
    assert found.kind is None
    assert found.sentence.startswith("not decided within the bound")
    with pytest.raises(NotDecided):
        _ = found.free


def test_a_wave_of_64_lanes_is_no_two_warps():
    """A layout that has lane 32 is of CDNA's waves, in which thread tx is lane tx % 64 of wave tx // 64."""
    found = S[64 : 1 @ laneid].relation(S[64 : 1 @ tx])
    assert (found.kind, found.free) == ("relabel", True)
    waves, threads = S[(4, 64) : (1 @ warpid, 1 @ laneid)], S[256 : 1 @ tx]
    assert waves.relation(threads.reshape(4, 64)).free
    assert S[(8, 32) : (1 @ warpid, 1 @ laneid)].relation(threads.reshape(8, 32)).free
    for owner, columns in (("wave", 32), ("warp", 8)):
        rows, by_columns = S[(2, columns) : (columns @ laneid, 1 @ laneid)], (1 @ laneid, 2 @ laneid)
        found = rows.relation(S[(2, columns) : by_columns])
        assert found.sentence.startswith(f"elements move to other lanes of their {owner}: ")
