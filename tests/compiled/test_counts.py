"""Counts of accesses against the definition of one request, warp by warp."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.check.banks_cases import naive_turns
from tests.compiled.sass_texts import ran

from tilewise.check import banks, coalesce
from tilewise.compiled.counts import Counts
from tilewise.compiled.launch import Launch

WIDTHS = {1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128"}
SPACES = {"LDS": ("shared", "ld"), "STS": ("shared", "st"), "LDG": ("global", "ld"), "STG": ("global", "st")}


@st.composite
def requests(draw):
    """Draw an access of two warps: its words, its bytes, addresses, lanes that take part."""
    name, bytes = draw(st.sampled_from([*SPACES])), draw(st.sampled_from([*WIDTHS]))
    step = draw(st.integers(-300, 300))
    few = draw(st.integers(1, 64))
    places = draw(
        st.one_of(
            st.just([(step * lane) % 4096 for lane in range(64)]),
            st.lists(st.integers(0, 511), min_size=64, max_size=64),
            st.just([lane // few for lane in range(64)]),
        )
    )
    active = draw(st.one_of(st.just([True] * 64), st.lists(st.booleans(), min_size=64, max_size=64)))
    return name, bytes, [bytes * place for place in places], active


@given(requests())
def test_counts_are_those_of_the_definition(drawn):
    name, bytes, addresses, active = drawn
    space, operation = SPACES[name]
    place = "[R0]" if space == "shared" else "[R0.64]"
    words = f"{name}{'.E' if space == 'global' else ''}{WIDTHS[bytes]}"
    line = f"@P0 {words} R4, {place}" if operation == "ld" else f"@P0 {words} {place}, R4"
    preset = {"R0": addresses, "R1": 0, "P0": active}
    lanes, events, _ = ran([line, "EXIT"], preset, Launch((1, 1, 1), (64, 1, 1)))
    counts = Counts()
    for event in events:
        counts.add(event, lanes)
    (tally,) = counts.tallies
    rows = [
        [a if takes else None for a, takes in zip(addresses[w : w + 32], active[w : w + 32], strict=True)]
        for w in (0, 32)
    ]
    rows = [row for row in rows if any(one is not None for one in row)]
    of = banks.counted if space == "shared" else coalesce.counted
    found = [of(operation, bytes, row) for row in rows]
    cost = "wavefronts" if space == "shared" else "sectors"
    assert tally.instructions == 2
    assert tally.requests == len(rows)
    assert tally.lanes == sum(active)
    assert tally.cost == sum(getattr(one, cost) for one in found)
    assert tally.ideal == sum(one.ideal for one in found)


def test_same_cost_wherever_the_block_lies():
    """A block whose addresses are moved by a multiple of 128 bytes costs what another does."""
    rng = np.random.default_rng(5)
    places = 4 * rng.integers(0, 1000, 32)
    lines = ["S2R R2, SR_CTAID.X", "IMAD R3, R2, 0x12380, R0", "MOV R4, RZ", "LDG.E R5, [R3.64]", "EXIT"]
    launch = Launch((7, 1, 1), (32, 1, 1))
    lanes, events, _ = ran(lines, {"R0": [*places] * 7}, launch)
    counts = Counts()
    for event in events:
        counts.add(event, lanes)
    (tally,) = counts.tallies
    assert tally.cost == 7 * coalesce.counted("ld", 4, places.tolist()).sectors
    assert len(counts.known["global", "ld", 4, False]) == 1


COPIES = {"LDGSTS.E": 4, "LDGSTS.E.64": 8, "LDGSTS.E.128": 16, "LDGSTS.E.BYPASS.128": 16}


@given(st.sampled_from([*COPIES]), st.data())
def test_copies_hang_on_both_sides(name, data):
    """Through the L1 their wavefronts do, past it their sectors."""
    bytes, bypasses = COPIES[name], "BYPASS" in name
    places = st.lists(st.integers(0, data.draw(st.sampled_from((3, 40, 500)))), min_size=64, max_size=64)
    targets, sources = ([bytes * place for place in data.draw(places)] for _ in "ts")
    some = st.one_of(st.just([True] * 64), st.lists(st.booleans(), min_size=64, max_size=64))
    active, read = data.draw(some), data.draw(some)
    lines = [f"@P0 {name} [R0], desc[UR4][R2.64], P1", "EXIT"]
    preset = {"R0": targets, "R2": sources, "R3": 0, "P0": active, "P1": read}
    lanes, events, _ = ran(lines, preset, Launch((1, 1, 1), (64, 1, 1)))
    counts = Counts()
    for event in events:
        counts.add(event, lanes)
    shared, beyond = sorted(counts.tallies, key=lambda tally: tally.touch.space, reverse=True)
    wavefronts, sectors = 0, 0
    for warp in (range(32), range(32, 64)):
        loaded = [lane for lane in warp if active[lane] and read[lane]]
        sectors += len(
            {(sources[n] // (128 if bypasses else 32), bypasses and targets[n] // 32) for n in loaded}
        )
        ends = (
            [at if keep[n] and active[n] else None for n, at in enumerate(side)]
            for side, keep in ((targets, active), (sources, read))
        )
        wavefronts += naive_turns(bytes, *[end[warp.start : warp.stop] for end in ends])
    assert shared.cost == (0 if bypasses else wavefronts)
    assert beyond.cost == sectors


def test_a_copy_whose_source_is_unknown_is_left_out():
    """Its wavefronts are; where it bypasses the L1 they are known, and its sectors are left out."""
    for name, bypasses in (("LDGSTS.E.128", False), ("LDGSTS.E.BYPASS.128", True)):
        lines = ["LDG.E R2, [R4.64]", f"{name} [R0], desc[UR4][R2.64]", "EXIT"]
        lanes, events, _ = ran(lines, {"R0": [16 * lane for lane in range(32)], "R3": 0, "R4": 0, "R5": 0})
        counts = Counts()
        for event in events:
            counts.add(event, lanes)
        known = {tally.touch.space: tally.known for tally in counts.tallies if tally.touch.bytes == 16}
        assert known == {"shared": int(bypasses), "global": 0}


def test_misaligned_access_is_left_out():
    lanes, events, _ = ran(["LDS.64 R4, [R0]", "EXIT"], {"R0": [4 * lane for lane in range(32)]})
    counts = Counts()
    for event in events:
        counts.add(event, lanes)
    (tally,) = counts.tallies
    assert (tally.misaligned, tally.known) == (1, 0)
