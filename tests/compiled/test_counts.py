"""Counts of accesses against the definition of one request, warp by warp."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
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
    assert len(counts.known["global", "ld", 4]) == 1


def test_misaligned_access_is_left_out():
    lanes, events, _ = ran(["LDS.64 R4, [R0]", "EXIT"], {"R0": [4 * lane for lane in range(32)]})
    counts = Counts()
    for event in events:
        counts.add(event, lanes)
    (tally,) = counts.tallies
    assert (tally.misaligned, tally.known) == (1, 0)
