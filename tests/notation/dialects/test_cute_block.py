"""CuTe's blocks, held to what they mean, and to a record of what CuTe's Python DSL says of its own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.notation.dialects.cute_blocks import (
    as_cpp,
    dealt,
    disagreement,
    extents_of,
    gathered,
    held,
    said,
)

from tilewise import LayoutError, Refused, parse
from tilewise.notation.dialects.cute_block import EXAMPLES, read
from tilewise.notation.dialects.given import Given
from tilewise.tables import table

RECORD = Path(__file__).with_name("records") / "cute_block.json.gz"
"""Written by `pytest tests/oracle/test_cute_blocks.py --update-goldens`."""
CPP_RECORD = RECORD.with_name("cute_block_cpp.txt")
"""Blocks as C++ prints them, and after each what CuTe itself says of it; written likewise."""

ATOMS = (
    ("32:1", "(16,8,16)", ("((4,8),(2,2,2)):((32,1),(16,8,128))", "((4,8),(2,2)):((16,1),(8,64))")),
    ("32:1", "(16,8,8)", ("((4,8),(2,2)):((32,1),(16,8))", "((4,8),2):((16,1),8)")),
    ("(4,2):(1,16)", "(8,8,4)", ("((4,2),4):((8,4),1)", "((4,2),4):((8,4),1)")),
)
"""ThrID, shape, layouts of A and B; the last one's threads are no row, as those of Volta's are not."""
C = {"(16,8,16)": "((4,8),(2,2)):((32,1),(16,8))", "(8,8,4)": "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))"}


def test_what_the_dsl_said(times):
    recorded = json.loads(gzip.decompress(RECORD.read_bytes()))
    for block in recorded[: times(len(recorded))]:
        for part, theirs in block["parts"].items():
            found = disagreement(block["text"], part, theirs)
            assert found in ("", "CuTe has no layout"), block["text"]


def test_what_cpp_said():
    asked = 0
    for printed in CPP_RECORD.read_text(encoding="utf-8").strip().split("\n\n"):
        block = "\n".join(line for line in printed.splitlines() if not line.startswith("#"))
        for line in printed.splitlines():
            if line.startswith("#"):
                _, part, theirs = line.split()
                ours = read(Given(block, part=part)).layout
                assert np.array_equal(held(ours), said(theirs, extents_of(ours))), (block, part)
                asked += 1
    assert asked > 20


def test_cpp_and_the_dsl_say_the_same():
    for block in json.loads(gzip.decompress(RECORD.read_bytes())):
        for part in block["parts"]:
            given = Given(block["text"], part=part)
            try:
                ours = read(given)
            except Refused:
                continue
            theirs = read(Given(as_cpp(block["text"]), part=part))
            assert theirs.layout == ours.layout


def test_tiles_are_dealt_out_to_threads(times):
    """Random thread layouts and permutations, of which CuTe's algebra takes only some."""
    rng, refused = Random(4), 0
    count = times(300)
    for _ in range(count):
        text = drawn(rng)
        part = rng.choice("ABC")
        try:
            found = read(Given(text, part=part)).layout
        except Refused as no:
            refused += no.code == "TW501"
            assert "no layout of extent" in str(no)  # noqa: PT017 - most are read
            continue
        want, extents = dealt(text, part)
        assert extents_of(found) == extents
        assert np.array_equal(held(found), want), text
    assert refused < count / 4


def drawn(rng: Random) -> str:
    """A tiled MMA."""
    thrid, shape, (a, b) = rng.choice(ATOMS)
    atom = [int(extent) for extent in shape[1:-1].split(",")]
    groups = [rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 2)]
    step = {"32:1": 32, "(4,2):(1,16)": 32}[thrid]
    steps = [0, 0, 0]
    for mode in rng.sample(range(3), 3):
        steps[mode] = step
        step *= groups[mode]
    v, by_v = thrid.split(":")
    threads = f"({v},{','.join(map(str, groups))}):({by_v},{','.join(map(str, steps))})"
    tile = ",".join(permuted(rng, extent * times) for extent, times in zip(atom, groups, strict=True))
    c = C.get(shape, C["(16,8,16)"])
    return (
        f"Tiled MMA\n  Thr Layout VMNK: {threads}\n  Permutation MNK: ({tile})\nMMA Atom\n  ThrID: {thrid}\n"
        f"  Shape MNK: {shape}\n  TV Layout A: {a}\n  TV Layout B: {b}\n  TV Layout C: {c}"
    )


def permuted(rng: Random, extent: int) -> str:
    """A mode of a permutation."""
    size = extent * rng.choice((1, 1, 2, 3))
    chosen = rng.randrange(3)
    if chosen < 2:
        return ("_", f"{size}:1")[chosen]
    fast = rng.choice([number for number in range(1, size + 1) if size % number == 0])
    return rng.choice((f"({fast},{size // fast}):({size // fast},1)", f"({fast},{size // fast}):(1,{fast})"))


def test_an_atom_alone_is_the_fragment_of_the_catalogue():
    text = EXAMPLES[0].text.partition("MMA Atom")[2]
    for part, entry in (("A", "mma.A"), ("B", "mma.B"), ("C", "mma.D")):
        found = parse(f"MMA Atom{text}", part=part)
        ours = parse(f"{entry}(m16n8k16, {'f32' if part == 'C' else 'f16'})")
        assert found.same(ours).answer is True


def test_a_flat_index_counts_as_cute_does():
    found = parse(EXAMPLES[0].text, part="C")
    assert found.place(32 + 5) == found.place(5, 1)


def test_a_copy_whose_sides_are_alike_needs_no_part():
    found = parse(EXAMPLES[-1].text)
    assert found.place(3, 9).as_dict() == {"laneid": 25, "warpid": 0, "reg": 1}


def test_threads_of_ldmatrix_give_the_addresses_of_rows():
    reading = read(EXAMPLES[3])
    assert reading.layout.places(17, 0)[0].as_dict() == {"laneid": 1, "warpid": 1, "reg": 0}
    assert "address" in reading.notes[0]


def test_threads_of_more_than_warps_stay_threads():
    found = parse(
        "Tiled Copy\n  Tiler MN: (3:1,20:1)\n  TV Layout tiled: ((20,3),1):((3,1),0)\nCopy Atom\n"
        "  ThrID: 1:0\n  TV Layout Src: (1,1):(0,1)\n  TV Layout Dst: (1,1):(0,1)\n  Value type: f32"
    )
    assert found.place(2, 7).as_dict() == {"tx": 47}


def test_a_table_of_a_layout_in_cutes_order_keeps_its_copies_on_their_axis():
    found = parse(EXAMPLES[0].text, part="A")
    listed = table(found)
    for index in ((0, 0), (17, 9), (31, 15)):
        places = [place.as_dict() for place in found.places(*index)]
        for copy, place in enumerate(places):
            assert {axis: listed.columns[axis][index][copy] for axis in listed.axes} == place


@pytest.mark.parametrize("m", [128, 256])
def test_tensor_memory_is_no_thread_s(m):
    with pytest.raises(Refused, match="no thread holds C"):
        parse(
            f"MMA Atom\n ThrID: 1:0\n Shape MNK: ({m},128,16)\n TV Layout A: (1,({m},16)):(128,(1,{m}))\n"
            f" TV Layout B: (1,(128,16)):(128,(1,128))\n TV Layout C: (1,({m},128)):(128,(1,{m}))",
            part="C",
        )


def test_the_naive_table_tells_maps_apart():
    assert not np.array_equal(gathered(np.array([1]), 2, 3), gathered(np.array([1]), 3, 2))


def test_a_tiled_copy_that_does_not_say_what_it_counts_is_refused():
    text = (
        "Tiled Copy\n  Tiler MN: (16:1,16:1)\n  TV Layout tiled: (32,8):(8,1)\nCopy Atom\n  ThrID: 32:1\n"
        "  TV Layout Src: (32,8):(1,32)\n  TV Layout Dst: (32,(2,4)):(2,(1,64))"
    )
    with pytest.raises(LayoutError, match="nothing says which side"):
        parse(text, part="source")
    assert parse(f"{text}\n  ValLayoutRef: (32,8):(1,32)", part="source").size == 256
