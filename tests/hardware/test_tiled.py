"""Tiled MMAs and tiled copies as values, held to CuTe's blocks and to tiles dealt out plainly."""

from __future__ import annotations

import gzip
import json
import re
from contextlib import suppress
from itertools import product
from random import Random

import numpy as np
import pytest
from tests.notation.dialects.cute_blocks import (
    LAYOUT,
    at,
    dealt,
    extents_of,
    held,
    lines,
    pair_of,
    said,
    size,
)
from tests.notation.dialects.test_all import mutated
from tests.notation.dialects.test_cute_block import RECORD, drawn

from tilewise import LayoutError, Refused, S, laneid, parse, warpid
from tilewise.hardware.tiled import tiled_copy, tiled_mma

MMA = "tiled_mma(mma.A(m16n8k16, f16), (2,2,1), m=32, n=(8,2,2):(1,16,8))"
COPY = "tiled_copy((16,8):(8,1), (1,8))"
ATOMS = {
    "(16,8,16)": ("mma", "m16n8k16, f16"),
    "(16,8,8)": ("mma", "m16n8k8, f16"),
    "(64,8,16)": ("wgmma", "f16"),
    "(64,24,16)": ("wgmma", "f16"),
}
"""{shape: the engine, and what its fragment of A is made of}; of the shapes with one layout alone."""


def called(text: str, part: str) -> str:
    """The call of a block, where the catalogue has its fragment."""
    line = lines(text)
    engine, words = ATOMS.get(line["Shape MNK"], ("", ""))
    m, n, _ = re.findall(r"\d+", line["Shape MNK"])
    if engine == "wgmma" and part == "C":
        words = f"f32, n={n}"
    elif engine != "mma" and part != "A":
        return ""
    if not engine or (engine == "wgmma" and line["TV Layout A"].startswith(f"(128,({m}")):
        return ""
    (_, *groups), (_, *steps) = pair_of(line["Thr Layout VMNK"])
    per = 32 if engine == "mma" else 128
    threads = f"{tuple(groups)}:{tuple(step // per for step in steps)}"
    tile = re.findall(LAYOUT, line["Permutation MNK"])
    modes = [f"{mode}={word}" for mode, word in zip("mnk", tile, strict=True) if word != "_"]
    entry = f"{engine}.{'D' if part == 'C' else part}({words})"
    return f"tiled_mma({', '.join([entry, threads, *modes])})"


def test_calls_are_the_blocks_that_cute_prints():
    asked = 0
    for block in json.loads(gzip.decompress(RECORD.read_bytes())):
        if "Tiled MMA" not in block["text"]:
            continue
        for part, theirs in block["parts"].items():
            call = called(block["text"], part)
            if (
                not call
                or "x" in theirs
                or (part == "C" and pair_of(lines(block["text"])["Thr Layout VMNK"])[0][3] > 1)
            ):
                continue
            if lines(block["text"])["TV Layout A"] == "((4,8),(2,2)):((16,1),(8,64))":
                continue  # of tf32
            found = parse(call)
            assert np.array_equal(held(found), said(theirs, extents_of(found))), call
            asked += 1
    assert asked > 10


def test_calls_deal_tiles_out_as_blocks_do(times):
    rng, asked = Random(5), 0
    for _ in range(times(200)):
        text = drawn(rng)
        part = rng.choice("ABC")
        call = called(text, part)
        if not call:
            continue
        try:
            found = parse(call)
        except Refused as no:
            assert no.code == "TW501"  # noqa: PT017 - most have an answer
            continue
        want, extents = dealt(text, part)
        assert extents_of(found) == extents
        assert np.array_equal(held(found), want), call
        asked += 1
    assert asked > times(200) / 5


def test_copies_are_dealt_out(times):
    rng = Random(2)
    for _ in range(times(100)):
        threads = [rng.randint(1, 9), rng.randint(1, 9)]
        values = [rng.randint(1, 4), rng.randint(1, 4)]
        spelled = [rng.choice((f"({a},{b})", f"({a},{b}):({b},1)")) for a, b in (threads, values)]
        found = parse(f"tiled_copy({', '.join(spelled)})")
        assert extents_of(found) == (threads[0] * values[0], threads[1] * values[1])
        by_thread, by_value = (
            (b, 1) if ":" in text else (1, a) for text, (a, b) in zip(spelled, (threads, values), strict=True)
        )
        for index in product(*map(range, extents_of(found))):
            outer, inner = zip(*(divmod(i, v) for i, v in zip(index, values, strict=True)), strict=True)
            place = found.place(*index).as_dict()
            thread = place.get("tx", 0) + 32 * place.get("warpid", 0) + place.get("laneid", 0)
            assert thread == outer[0] * by_thread[0] + outer[1] * by_thread[1]
            assert place.get("reg", 0) == inner[0] * by_value[0] + inner[1] * by_value[1]


def test_names_have_values():
    found = parse("tiled_mma(wgmma.D(f32, n=N), (W,1,1), m=M)", let={"N": 16, "W": 2, "M": 256})
    assert extents_of(found) == (256, 16)


def test_python_takes_shapes_and_layouts():
    atom = parse("mma.D(m16n8k16, f32)")
    assert (
        tiled_mma(atom, (2, 2, 1), operand="D", m=64)
        .same(tiled_mma(atom, parse("(2,2,1):(1,2,0)"), operand="C", m=64))
        .answer
    )
    assert extents_of(tiled_copy((4, 8), (2, 1))) == (8, 8)


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        ("tiled_mma(mma.D(m16n8k16, f32), (2,2))", "TW503", "M, N and K are three"),
        ("tiled_mma(mma.D(m16n8k16, f32), (2,2,1):(1,1,0))", "TW509", "one number to two threads"),
        ("tiled_mma(mma.D(m16n8k16, f32), (2,2,1), m=40)", "TW507", "32 at a time"),
        ("tiled_mma(mma.D(m16n8k16, f32), (2,2,1), m=(8,2):(1,8))", "TW507", "32 at a time"),
        ("tiled_mma(mma.D(m16n8k16, f32), (2,2,1), m=(8,4):(1,16))", "TW505", "no permutation"),
        ("tiled_mma(mma.D(m16n8k16, f32), (2,2,1), m=32, m=32)", "TW601", "each of them once"),
        ("tiled_mma(mma.D(m16n8k16, f32))", "TW004", "expected ','"),
        ("tiled_mma(mma.E(m16n8k16, tf32), (2,2,1))", "TW601", "no operand of an MMA"),
        ("tiled_mma(4, (2,2,1))", "TW004", "an atom of the catalogue"),
        ("tiled_mma(mma.Q(m16n8k16, f32), (2,2,1))", "TW601", "mma.Q"),
        ("tiled_copy((4,8)", "TW004", "expected ','"),
        ("tiled_copy((4,8", "TW004", "never closed"),
        ("tiled_copy((4,8), (2,1), 3)", "TW004", "'\\(' is never closed|expected '\\)'"),
        ("tiled_copy((4,8), (2,1,2))", "TW503", "modes"),
        ("tiled_copy((4,8):(8,1@0), (2,1))", "TW107", "numbered"),
        ("tiled_copy((4,0), (2,1))", "TW102", "positive"),
        ("tiled_copy((4,8), (2,1)) + 4@warpid", "TW004", "the call ends"),
    ],
)
def test_what_is_wrong_is_said_in_its_place(text, code, reason):
    with pytest.raises(LayoutError, match=reason) as error:
        parse(text)
    assert error.value.code == code
    assert error.value.span is not None
    assert error.value.source == text


def test_mutated_calls_are_read_or_refused(times):
    rng = Random(8)
    for _ in range(times(300)):
        text = mutated(rng, rng.choice((MMA, COPY)))
        with suppress(LayoutError):
            parse(text)


def test_an_atom_has_no_warps_of_its_own():
    with pytest.raises(Refused, match="moves on warpid"):
        tiled_mma(S[(2, 8) : (1 @ warpid, 1 @ laneid)], (2, 2, 1), operand="D")


def test_a_layout_uses_what_threads_are_numbered_by():
    """The same threads, whichever of their modes counts first."""
    by_m, by_n = (parse(f"tiled_copy((4,8):{strides}, (1,2))") for strides in ("(1,4)", "(8,1)"))
    assert by_m.place(1, 0)["laneid"] == at(4, 1, 1)
    assert by_n.place(1, 0)["laneid"] == size(8)
