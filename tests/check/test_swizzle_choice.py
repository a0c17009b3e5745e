"""`choose` on the machine's own banks: what a family leaves out is never better, and the proofs hold."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewise import Layout, LayoutError, S, Swizzle
from tilewise.check.access import Access, access_of, lanes_of
from tilewise.check.access.addresses import indices_of
from tilewise.check.banks import conflicts, counted
from tilewise.check.swizzling import FAMILIES, choose
from tilewise.check.swizzling.points import Asked, affine_space, listed_space, points_of
from tilewise.core.axes import m
from tilewise.core.dtypes import DType
from tilewise.core.errors import NotDecided, Refused
from tilewise.core.vectors import along
from tilewise.hardware.memory.banks import Operation
from tilewise.tables import table

SIZES = {"u8": 1, "f16": 2, "f32": 4, "f64": 8}

Question = tuple[tuple[int, int], str, list[Access]]


@st.composite
def questions(draw: st.DrawFn, extents: Sequence[tuple[int, int]] = ((8, 16), (4, 64), (16, 32))) -> Question:
    """A small tile, its type, and one to three accesses of lanes here and there, some past the end."""
    tile, dtype = draw(st.sampled_from(extents)), draw(st.sampled_from(sorted(SIZES)))
    vector = draw(st.sampled_from([count for count in (1, 2, 4) if count * SIZES[dtype] <= 16]))
    accesses = []
    for _ in range(draw(st.integers(1, 3))):
        own = draw(st.sampled_from([1, vector]))
        lanes = draw(st.lists(st.integers(0, 15), min_size=1, max_size=5))
        steps = [along(m, own * draw(st.sampled_from([step, 1 << step % 8]))) for step in lanes]
        index = Layout((1, (2,) * len(steps), own), (along(m, 0), *steps, along(m, 1)))
        operation = Operation.of(draw(st.sampled_from(["ld", "st"])))
        accesses.append(Access(f"lanes {lanes}", operation, DType.of(dtype), tile, index))
    return tile, dtype, accesses


def wavefronts(places: Sequence[int], access: Access) -> int | None:
    """Lane by lane, by the definition; None where a vector is torn apart."""
    size = access.dtype.bits // 8
    total = 0
    for request in table(access.index).array.reshape(access.requests, access.lanes, access.elements).tolist():
        addresses: list[int | None] = []
        for elements in request:
            if elements[0] >= len(places):
                addresses.append(None)
                continue
            first = places[elements[0]]
            if first % len(elements) or [places[at] for at in elements] != [
                first + step for step in range(len(elements))
            ]:
                return None
            addresses.append(first * size)
        total += counted(access.operation, access.bytes, addresses).wavefronts
    return total


def cost(layout: Layout, accesses: Sequence[Access]) -> int | None:
    places = table(layout).array.reshape(-1).tolist()
    each = [wavefronts(places, access) for access in accesses]
    return None if None in each else sum(own for own in each if own is not None)


def least(layouts: Sequence[Layout], accesses: Sequence[Access]) -> int:
    found = (cost(layout, accesses) for layout in layouts)
    return min(own for own in found if own is not None)


@given(questions())
@settings(max_examples=8, deadline=None)
def test_no_swizzle_that_is_left_out_is_better(question: Question) -> None:
    """All swizzles that act on the tile's addresses, or on some bits above them."""
    tile, dtype, accesses = question
    base = S[tile : (tile[1], 1)]
    bits = (base.size - 1).bit_length() + 1
    every = [
        Swizzle(width, low, sign * shift) @ base
        for width in range(1, bits)
        for low in range(bits - width)
        for shift in range(width, bits - low)
        for sign in (1, -1)
    ]
    found = choose(base, accesses, dtype=dtype, among=("plain", "swizzle"))
    assert found.cost == least([base, *every], accesses)


def test_a_swizzle_may_read_bits_inside_a_word() -> None:
    """With S < 0: one byte of a word chooses between words. No other swizzle does as well here."""
    tile, base = (16, 32), S[(16, 32) : (32, 1)]
    accesses = [
        Access(
            f"lanes {steps}", Operation.of("ld"), DType.of("u8"), tile, S[(1, (2,) * 5, 1) : (0, steps, 1)]
        )
        for steps in ((32, 2, 55, 4, 1), (37, 46, 64, 13, 13), (34, 49, 32, 16, 1))
    ]
    found = choose(base, accesses, dtype="u8", among=("swizzle",))
    assert (found.cost, found.proof) == (3, "ideal")
    shifts = [swizzle.shift for swizzle in found.best.layout.swizzles]
    assert len(shifts) == 1
    assert shifts[0] < 0


@given(questions(((8, 16), (4, 48), (6, 20))))
@settings(max_examples=8, deadline=None)
def test_no_pitch_that_is_left_out_is_better(question: Question) -> None:
    tile, dtype, accesses = question
    base = S[tile : (tile[1], 1)]
    every = [S[tile : (pitch, 1)] for pitch in range(tile[1], tile[1] + 3 * 128 // SIZES[dtype])]
    assert choose(base, accesses, dtype=dtype, among=("plain", "padding")).cost == least(every, accesses)


@given(questions(), st.integers(0, 1 << 32))
@settings(max_examples=60, deadline=None)
def test_no_linear_layout_is_better(question: Question, seed: int) -> None:
    """Random bijections of the digits that keep the widest vectors, plain or with swizzles."""
    tile, dtype, accesses = question
    found = choose(tile, accesses, dtype=dtype, among=("linear",))
    assert found.proof != "open"
    assert found.cost == cost(found.best.layout, accesses)
    together, chance = max(access.elements for access in accesses), random.Random(seed)
    for _ in range(20):
        places = _random_bijection(tile[0] * tile[1], together, chance)
        each = [wavefronts(places, access) for access in accesses]
        assert sum(own for own in each if own is not None) >= found.cost
        assert None not in each


def _random_bijection(size: int, together: int, chance: random.Random) -> list[int]:
    """A linear map of indices to places under which aligned runs of `together` stay as they are."""
    kept, bits = together.bit_length() - 1, (size - 1).bit_length()
    places = list(range(together))
    while len(places) < size:
        column = chance.randrange(size) >> kept << kept
        if column not in places:
            places += [place ^ column for place in places]
    assert len(places) == 1 << bits
    return places


@given(questions(((8, 16), (4, 64), (4, 48), (6, 20))), st.integers(0, 1 << 32))
@settings(max_examples=60, deadline=None)
def test_the_bound_holds_for_any_placing(question: Question, seed: int) -> None:
    """Vectors anywhere, with holes between them."""
    tile, _, accesses = question
    points = points_of([Asked(access) for access in accesses])
    if points is None:
        return
    together, chance = max(access.elements for access in accesses), random.Random(seed)
    for _ in range(20):
        starts = chance.sample(range(2 * tile[0] * tile[1] // together), tile[0] * tile[1] // together)
        places = [start * together + step for start in starts for step in range(together)]
        each = [wavefronts(places, access) for access in accesses]
        assert points.bound <= sum(own for own in each if own is not None)


@given(questions(((8, 16), (4, 48), (6, 20), (16, 32))))
@settings(max_examples=60, deadline=None)
def test_what_is_chosen_is_counted_right(question: Question) -> None:
    tile, dtype, accesses = question
    found = choose(tile, accesses, dtype=dtype)
    assert found.ideal <= (found.bound or found.ideal) <= found.cost or found.bound is None
    for searched in found.searched:
        if searched.best:
            assert searched.best.cost == cost(searched.best.layout, accesses)
            assert searched.best.cost >= found.cost
            places = table(searched.best.layout).array.reshape(-1)
            assert len(np.unique(places)) == len(places)
            assert searched.best.bytes == (int(places.max() - places.min()) + 1) * SIZES[dtype]


@given(questions(((8, 16), (4, 64), (16, 32))))
@settings(deadline=None)
def test_digits_are_the_same_in_closed_form_and_listed(question: Question) -> None:
    """A listed request is moved by some digits, the same for all its lanes."""
    for access in question[2]:
        closed, listed = affine_space(access), listed_space(access, indices_of(access))
        if closed is None:
            continue
        ((requests, row),) = closed.rows
        assert requests == sum(times for times, _ in listed.rows) == access.requests
        for _, other in listed.rows:
            assert len({one ^ two for one, two in zip(row, other, strict=True)}) == 1
        assert (closed.steps, closed.reached) == (listed.steps, listed.reached)


@pytest.mark.parametrize(
    "access", ["row:16B", "col:2B", "ldmatrix.x2.trans", "mma.A:m16n8k16", "S[(32, 8) : (64, 1)]"]
)
@pytest.mark.parametrize("tile", [S[(32, 64) : (64, 1)], S[(2, 16, 64) : (1024, 64, 1)]], ids=str)
def test_common_accesses_have_a_closed_form(tile: Layout, access: str) -> None:
    if len(tile.shape) == 3 and not access.startswith(("row", "S")):
        return
    own = access_of(access, tile, "f16")
    closed, listed = affine_space(own), listed_space(own, indices_of(own))
    assert closed is not None
    assert (closed.steps, closed.reached) == (listed.steps, listed.reached)


# -- what is asked -----------------------------------------------------------------------------------


def test_weights_decide() -> None:
    """The access with the large weight gets the fewest wavefronts, where not all can."""
    even, low = S[(2, 8, 8) : (8, 16, 1)], S[(2, (2, 2, 2), 8) : (16, (64, 32, 8), 1)]
    third = S[((2, 2, 2), 8) : ((64, 32, 24), 1)]
    once = choose((16, 8), [even, low, third], dtype="f16")
    assert (once.cost, once.ideal, once.bound, once.proof) == (6, 5, 5, "searched")
    assert once.best.wavefronts == (2, 2, 2)
    often = choose((16, 8), [even, low, (10, third)], dtype="f16")
    assert often.best.wavefronts[2] == 1
    assert often.cost == 2 * 2 + 10 + 2
    for important in range(3):
        accesses = [(10 if at == important else 1, one) for at, one in enumerate([even, low, third])]
        found = choose((16, 8), accesses, dtype="f16", among=("linear",))
        assert found.best.wavefronts[important] == (2, 2, 1)[important]


def test_each_pair_of_the_three_has_a_layout_without_conflicts() -> None:
    three = [
        S[(2, 8, 8) : (8, 16, 1)],
        S[(2, (2, 2, 2), 8) : (16, (64, 32, 8), 1)],
        S[((2, 2, 2), 8) : ((64, 32, 24), 1)],
    ]
    for left_out in range(3):
        pair = [access for at, access in enumerate(three) if at != left_out]
        assert choose((16, 8), pair, dtype="f16").proof == "ideal"


def test_wavefronts_go_before_memory_and_memory_before_looks() -> None:
    transpose = ["row:4B@st", "col:4B"]
    assert choose((32, 32), transpose, dtype="f32", among=("plain", "padding")).best.family == "padding"
    assert choose((32, 32), transpose, dtype="f32", among=("padding", "linear")).best.family == "linear"
    assert choose((32, 32), ["row:4B"], dtype="f32").best.family == "plain"


def test_vectors_begin_at_multiples_of_their_width() -> None:
    base = S[(64, 64) : (64, 1)]
    rows = access_of("row:16B", base, "f16")
    assert choose(base + 8, [rows], dtype="f16", among=("plain",)).cost == rows.requests * 4
    with pytest.raises(Refused) as error:
        choose(base + 4, [rows], dtype="f16", among=("plain",))
    assert error.value.code == "TW611"


def test_lanes_that_ask_for_one_element_are_one_group() -> None:
    """Loads that are merged have phases twice as wide; what is free of conflicts in halves may not be."""
    pairs = S[(1, (16, 2), 2) : (0, (64, 0), 1)]
    found = choose((16, 64), [pairs], dtype="f32")
    lanes = lanes_of(found.asked[0].access, found.best.layout)
    request = counted("ld", 8, lanes.table[0].tolist())
    assert request.merged == 1
    assert found.cost == request.wavefronts == found.ideal == 1


def test_the_tile_may_be_contiguous_along_its_first_mode() -> None:
    base = S[(64, 128) : (1, 64)]
    found = choose(base, ["ldmatrix.x4.trans", "tma"], dtype="bf16")
    assert found.proof == "ideal"
    assert found.best.name == "128B, MN-major"
    assert found.best.readers.wgmma == ("A", "B")


@pytest.mark.parametrize("tile", [(6, 20), (4, 3)], ids=["two-odd-extents", "blocks-of-16-bytes"])
def test_what_has_no_linear_layouts(tile: tuple[int, int]) -> None:
    found = choose(tile, ["row:4B"], dtype="f32")
    assert next(one for one in found.searched if one.family == "linear").best is None
    assert found.best.family == "plain"


def test_refusals() -> None:
    rows = access_of("row:8B", S[(32, 32) : (32, 1)], "f32")
    columns = access_of(S[(16, 32, 2) : (64, 1, 32)], S[(32, 32) : (1, 32)], "f32")
    with pytest.raises(Refused) as none:
        choose((32, 32), [rows, columns], dtype="f32")
    assert none.value.code == "TW611"
    with pytest.raises(Refused) as conflicts:
        choose((128, 64), ["row:16B@st", "col:2B"], dtype="bf16", ideal=True)
    assert conflicts.value.code == "TW611"
    assert conflicts.value.witness["wavefronts"] == 1152
    for asked, code in (
        ({"accesses": []}, "TW401"),
        ({"accesses": [(0, "row:4B")]}, "TW401"),
        ({"accesses": ["row:4B"], "among": ["xor"]}, "TW601"),
        ({"accesses": ["row:4B"], "dtype": "e2m1"}, "TW602"),
    ):
        with pytest.raises(LayoutError) as error:
            choose((32, 32), **{"dtype": "f32", **asked})  # type: ignore[arg-type]
        assert error.value.code == code


def test_what_is_not_decided_is_said() -> None:
    three = [
        S[(2, 8, 8) : (8, 16, 1)],
        S[(2, (2, 2, 2), 8) : (16, (64, 32, 8), 1)],
        S[((2, 2, 2), 8) : ((64, 32, 24), 1)],
    ]
    for budget in (0, 1, 3):
        found = choose((16, 8), three, dtype="f16", budget=budget)
        assert found.proof == "open"
    with pytest.raises(NotDecided):
        choose((16, 8), three, dtype="f16", budget=3, ideal=True)


@pytest.mark.parametrize(
    ("tile", "accesses"),
    [
        ((128, 48), ["tma", "ldmatrix.x4"]),
        ((64, 96), ["ldmatrix.x4", (3, "tma")]),
        ((128, 128), ["tma", "stmatrix.x4"]),
        ((128, 64), ["tma"]),
        (S[(64, 32) : (64, 1)], ["tma", "ldmatrix.x4"]),
        (S[(64, 128) : (1, 64)], ["tma", "ldmatrix.x4.trans"]),
    ],
    ids=["rows-of-48", "rows-of-96-with-a-weight", "two-atoms", "tma-alone", "a-pitch", "down-the-columns"],
)
def test_tma_fills_each_layout_in_its_own_order_of_memory(
    tile: Layout | tuple[int, int], accesses: list[str | tuple[int, str]]
) -> None:
    """So it costs what `conflicts` says of the layout, and not the order of the tile in the question."""
    for family in (None, "mode", "swizzle", "linear"):
        among = tuple(FAMILIES) if family is None else (family,)
        found = choose(tile, accesses, dtype="bf16", among=among)
        assert found.bound is None or found.bound <= found.cost
        for best in [found.best, *(one.best for one in found.searched if one.best)]:
            names = [one if isinstance(one, str) else one[1] for one in accesses]
            own = [conflicts(best.layout, name, dtype="bf16").wavefronts for name in names if name == "tma"]
            assert [best.wavefronts[names.index("tma")]] == own


def test_a_mode_that_tma_fills_costs_tma_nothing() -> None:
    """Atoms of 32 bytes: a row of the tile is in three of them, and no box has such a row."""
    found = choose((128, 48), ["tma", "ldmatrix.x4"], dtype="bf16", among=("mode",))
    assert found.proof == "ideal"
    assert found.best.wavefronts == (96, 96)


@pytest.mark.parametrize(
    ("tile", "accesses", "code", "hint"),
    [
        ("64x64", ["row:16B"], "TW107", "(64, 64)"),
        ("S[(64, 64) : (64, 1)]", ["row:16B"], "TW107", "parse"),
        (64, ["row:16B"], "TW107", "(128, 64)"),
        ((64, 64), "row:16B", "TW107", "['row:16B']"),
        ((64, 64), S[(32, 8) : (64, 1)], "TW107", "[S[(32, 8) : (64, 1)]]"),
        ((64, 64), ["2*row:16B"], "TW601", "(2, 'row:16B')"),
    ],
    ids=["shape-as-text", "layout-as-text", "a-number", "a-lone-name", "a-lone-layout", "weight-as-text"],
)
def test_what_is_of_another_type_is_told(tile: object, accesses: object, code: str, hint: str) -> None:
    with pytest.raises(LayoutError) as error:
        choose(tile, accesses, dtype="bf16")  # type: ignore[arg-type]
    assert error.value.code == code
    assert hint in error.value.hint


@pytest.mark.parametrize("bytes", [4, 8, 16])
@pytest.mark.parametrize("tile", [(64, 64), (6, 20)], ids=["digits", "odd"])
def test_the_ideal_is_that_of_banks(tile: tuple[int, int], bytes: int) -> None:
    found = choose(tile, [f"row:{bytes}B@cp.async"], dtype="f32")
    counts = conflicts(found.best.layout, f"row:{bytes}B@cp.async", dtype="f32")
    assert (found.cost, found.ideal, counts.ways) == (counts.wavefronts, counts.ideal, 1)
    assert found.best.ideals == (counts.ideal,)
    assert found.proof == "ideal"
    assert choose(tile, [f"row:{bytes}B@cp.async"], dtype="f32", ideal=True).cost == found.cost
