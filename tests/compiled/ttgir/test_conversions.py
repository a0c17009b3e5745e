"""Classes of conversions, held against lists of who holds what, and against what Triton's PTX does."""

from __future__ import annotations

import shlex
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiled.ttgir.drawn import module
from tests.compiled.ttgir.recorded import recorded

from tilewise.check.shuffle import shuffle
from tilewise.cli.main import main
from tilewise.compiled.ttgir.conversions import kind_of, received
from tilewise.compiled.ttgir.module import module_of
from tilewise.core.bits import combined

PLACES = ("register", "lane", "warp", "block")
RECORD = recorded("conversions")
READ = [module_of(one["ttgir"]).conversions()[0] for one in RECORD]


# -- by lists -------------------------------------------------------------------------------------------


def held(bases, bits):
    """{(register, lane, warp, block): element}, for so many bits of each place."""
    sides = [range(1 << count) for count in bits]
    steps = [step for place in PLACES for step in bases[place]]
    return {at: combined(steps, _joined(at, bases)) for at in product(*sides)}


def _joined(at, bases):
    number = shift = 0
    for own, place in zip(at, PLACES, strict=True):
        number |= (own & (1 << len(bases[place])) - 1) << shift
        shift += len(bases[place])
    return number


def listed_kind(source, target):
    """The class by its definition, element by element."""
    ours = held(source, [len(source[place]) for place in PLACES])
    theirs = held(target, [len(target[place]) for place in PLACES])
    registers = range(1 << len(source["register"]))
    rest = {at[1:] for at in theirs}
    taken = (
        any(all(ours[(one, *own)] == theirs[(register, *own)] for own in rest) for one in registers)
        for register in {at[0] for at in theirs}
    )
    if all(taken):
        return "renamed"
    for free, kind in ((1, "selected"), (2, "lanes"), (3, "warps")):
        reach = {}
        for at, element in ours.items():
            reach.setdefault(at[free:], set()).add(element)
        if all(element in reach[at[free:]] for at, element in theirs.items()):
            return kind
    return "blocks"


def listed_received(source, target):
    ours = held(source, [len(source[place]) for place in PLACES])
    theirs = held(target, [len(target[place]) for place in PLACES])
    mine, wanted = {}, {}
    for sides, found in ((ours, mine), (theirs, wanted)):
        for at, element in sides.items():
            found.setdefault(at[1:], set()).add(element)
    return max(len(elements - mine[thread]) for thread, elements in wanted.items())


@st.composite
def pairs(draw):
    """Two maps of the same threads: any, or the second made of the first by few changes."""
    step = st.integers(0, 31)
    lanes, warps, blocks = draw(st.integers(0, 2)), draw(st.integers(0, 2)), draw(st.integers(0, 1))
    sizes = {"register": draw(st.integers(0, 3)), "lane": lanes, "warp": warps, "block": blocks}
    source = {place: draw(st.lists(step, min_size=size, max_size=size)) for place, size in sizes.items()}
    target = {place: list(steps) for place, steps in source.items()}
    target["register"] = draw(st.lists(st.sampled_from([*source["register"], 0]), max_size=3))
    for place in draw(st.lists(st.sampled_from(PLACES), max_size=3)):
        if target[place]:
            bit = draw(st.integers(0, len(target[place]) - 1))
            others = [*source["register"], *source["lane"], *source["warp"], 0]
            target[place][bit] ^= draw(st.sampled_from(others) | step)
    return source, target


@given(pairs())
def test_the_class_is_that_of_the_lists(pair):
    assert kind_of(*pair) == listed_kind(*pair)


@given(pairs())
def test_what_a_lane_receives_is_what_the_lists_say(pair):
    assert received(*pair) == listed_received(*pair)


def test_examples_of_all_classes():
    source = {"register": [1, 2], "lane": [4, 8], "warp": [16, 0], "block": []}
    changed = {
        "renamed": {"register": [2, 1]},
        "selected": {"register": [2], "warp": [16, 1]},
        "lanes": {"register": [4, 2], "lane": [1, 8]},
        "warps": {"register": [16, 2], "warp": [1, 0]},
        "blocks": {"register": [32]},
    }
    for kind, own in changed.items():
        assert kind_of(source, source | own) == listed_kind(source, source | own) == kind


# -- what Triton does -----------------------------------------------------------------------------------


def test_the_record_has_many_of_each_class():
    kinds = Counter(one.kind for one in READ)
    assert len(READ) == 400
    assert {kind for kind, count in kinds.items() if count >= 40} == {"renamed", "selected", "lanes", "warps"}


def test_a_renaming_is_what_takes_no_instruction():
    for one, fact in zip(READ, RECORD, strict=True):
        free = not (fact["shuffles"] or fact["loads"] or fact["stores"] or fact["barriers"])
        assert free == (one.kind == "renamed"), fact["ttgir"]


def test_what_changes_its_warp_takes_a_barrier_and_shared_memory():
    for one, fact in zip(READ, RECORD, strict=True):
        if one.kind == "warps":
            assert fact["barriers"], fact["ttgir"]
            assert fact["shared"], fact["ttgir"]


def test_shuffles_are_at_least_the_bound():
    shuffled = [
        (one, fact["shuffles"])
        for one, fact in zip(READ, RECORD, strict=True)
        if fact["shuffles"] and one.kind == "lanes"
    ]
    assert len(shuffled) >= 40
    assert all(1 <= one.shuffles <= count for one, count in shuffled)


def test_the_bound_is_no_more_than_the_plan_of_a_warp_has():
    lanes = [one for one in READ if one.kind == "lanes" and one.command.startswith("tilewise shuffle")]
    for one in lanes[:20]:
        found = shuffle(one.source.layout, one.target.layout, f"b{one.source.bits}")
        assert 1 <= one.shuffles <= found.exchanges


@pytest.mark.parametrize("kind", ["renamed", "selected", "lanes", "warps"])
def test_commands_run(kind, capsys):
    for one in [one for one in READ if one.kind == kind][:8]:
        assert main(shlex.split(one.command)[1:]) == 0, one.command
    assert capsys.readouterr().out


# -- one conversion -------------------------------------------------------------------------------------


ROWS = "#ttg.linear<{register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128]], block = []}>"
TURNED = (
    "#ttg.linear<{register = [[64], [2]], lane = [[4], [8], [16], [32], [1]], warp = [[128]], block = []}>"
)


def test_a_conversion_tells_all():
    (found,) = module_of(module("f32", [256], ROWS, TURNED, 2)).conversions()
    assert found.as_dict() == {
        "line": None,
        "op": "ttg.convert_layout",
        "row": 8,
        "shape": [256],
        "dtype": "f32",
        "source": "#source",
        "target": "#target",
        "kind": "lanes",
        "bytes": 1024,
        "loops": 0,
        "needs": "No element leaves its warp: at least 2 exchanges between lanes, no shared memory and no "
        "barrier.",
        "command": "tilewise shuffle 'S[((2, 32, 4),) : ((1@warpid, 1@laneid, 1@reg),)]' "
        "'S[((2, 2, 16, 2, 2),) : ((1@warpid, 1@reg, 1@laneid, 2@reg, 16@laneid),)]' --dtype f32",
    }


def test_a_type_that_is_no_layout_still_has_a_class():
    xored = TURNED.replace("linear", "generic_linear").replace("[1]]", "[65]]")
    (found,) = module_of(module("f32", [256], ROWS, xored, 2)).conversions()
    assert found.kind == "lanes"
    assert found.target.layout is None
    assert "XOR" in found.target.why_not
    assert found.command is None


def test_a_type_that_is_not_read_leaves_the_conversion_without_a_class():
    (found,) = module_of(module("f32", [256], ROWS, "#ttg.strange<{a = 1}>", 2)).conversions()
    assert (found.kind, found.command) == ("", None)
    assert "strange" in found.needs
