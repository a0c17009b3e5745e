"""The accesses of wgmma and TMA to a tile, as steps: held to a descriptor's reads, and to boxes."""

from __future__ import annotations

import json
import re
from functools import reduce
from itertools import chain
from math import prod

import numpy as np
import pytest
from tests.hardware.of_wgmma import reads, unread
from tests.pictures.documents import document_from

from tilewise import Layout, LayoutError, R, Refused, S, Swizzle, laneid, reg
from tilewise.check.match import Match, match
from tilewise.check.suggest import suggest
from tilewise.core.dtypes import DType
from tilewise.hardware.operands.tiles import tile
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.pictures.scene.build import document_of, scene_of
from tilewise.pictures.scene.model import MOST_STEPS, Scene, Step
from tilewise.tables import table

MODES = ("none", "32B", "64B", "128B")
KINDS = [("k", dtype) for dtype in ("bf16", "f16", "tf32", "e4m3", "s8")] + [("mn", "bf16"), ("mn", "f16")]
SIZES = (("A", 64, 1), ("A", 128, 4), ("B", 8, 4), ("B", 96, 2), ("B", 256, 1))
"""Operand, rows, and how many K of one instruction."""

TILE = Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)]


def bytes_of(scene: Scene, step: Step) -> np.ndarray:
    """The address of each element of a step, of the scene's own places."""
    places = np.array(scene.places["m"], np.int64)[list(step.elements)]
    assert scene.bits is not None
    return scene.base + places * scene.bits // 8


def said(scene: Scene) -> list[str]:
    return [note.text for note in scene.notes if note.text.startswith(f"{scene.access}: ")]


def kinds(scene: Scene) -> list[str]:
    """The kinds of the notes that are not of the layout alone."""
    return [note.kind for note in scene.notes if note.kind != "fact"]


# -- descriptors -----------------------------------------------------------------------------------


def check_fields(step: Step) -> Descriptor:
    """The fields are apart, and packed again they are the value; the descriptor of it."""
    assert step.encoded is not None
    value, ends = int(step.encoded.value, 16), -1
    assert (step.encoded.width, len(step.encoded.value)) == (64, 18)
    assert sum(field.held << field.low for field in step.encoded.fields) == value
    for field in step.encoded.fields:
        assert ends < field.low <= field.high < 64
        assert 0 <= field.held < 1 << (field.high - field.low + 1)
        ends = field.high
    return Descriptor.decode(value)


def check_words(step: Step, descriptor: Descriptor, silent: tuple[str, ...]) -> None:
    """The words of each field say its bytes, or that it is not read."""
    assert step.encoded is not None
    start, lbo, sbo, base_offset, mode = step.encoded.fields
    assert start.words == f"byte {descriptor.start}, in units of 16"
    for field, name in ((lbo, "lbo"), (sbo, "sbo"), (base_offset, "base_offset")):
        assert field.words.startswith("not read") is (name in silent)
    for field, count in ((lbo, descriptor.lbo), (sbo, descriptor.sbo)):
        assert field.words.startswith(("not read", f"{count} bytes from the first "))
    assert mode.words.startswith(descriptor.mode.name)


def check_descriptors(layout: Layout, operand: str, dtype: str, base: int = 0) -> None:
    found = match(layout, operand=operand, dtype=dtype, base=base)
    assert isinstance(found, Match)
    scene = scene_of(layout, dtype=dtype, access=f"descriptor.{operand}", base=base)
    assert len(scene.steps) == min(len(found.steps), MOST_STEPS)
    rows, deep = 64 if operand == "A" else found.instruction[1], found.instruction[2]
    seen: list[int] = []
    for number, step in enumerate(scene.steps):
        descriptor = check_fields(step)
        asked = {"dtype": dtype, "major": found.major, "operand": operand, "n": rows if operand == "B" else 8}
        block = table(reads(descriptor, **asked)).array
        assert block.shape == (rows, deep)
        assert bytes_of(scene, step).tolist() == block.reshape(-1).tolist()
        check_words(step, descriptor, unread(descriptor, **asked))
        top, left = divmod(step.elements[0], layout.size // (scene.shape[0]))
        where = f"rows {top}..{top + rows - 1}, k {left}..{left + deep - 1}"
        assert step.title == f"wgmma {number + 1} of {len(found.steps)}: {where}"
        first = int(scene.steps[0].encoded.value, 16) & 0x3FFF
        assert step.note == f"start + {descriptor.start - 16 * first} bytes"
        assert (step.lanes, step.cost, step.copies) == ((), None, None)
        seen += step.elements
    if len(found.steps) <= MOST_STEPS:
        assert sorted(seen) == list(range(layout.size))
        assert "are steps" not in " ".join(note.text for note in scene.notes)
    assert kinds(scene)[:2] == ["yes", "hint"]
    assert said(scene)[0].endswith(f", {len(found.steps)} wgmma")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("major", "dtype"), KINDS)
def test_a_step_is_what_its_descriptor_reads(major: str, dtype: str, mode: str):
    tiles = 0
    for operand, rows, many in SIZES:
        k = many * 256 // DType.of(dtype).bits
        try:
            found = suggest(operand=operand, rows=rows, k=k, dtype=dtype, major=major, mode=mode)
        except Refused:
            continue
        check_descriptors(found.tile, operand, dtype)
        tiles += 1
    assert tiles >= 2


@pytest.mark.parametrize("base", [128, 512, 1024, 66048])
@pytest.mark.parametrize("mode", MODES)
def test_the_base_of_a_tile_is_in_its_descriptors(mode: str, base: int):
    check_descriptors(tile(mode, "k", "bf16", 128, 64), "A", "bf16", base)


def test_one_bit_elements_are_read_in_bytes():
    check_descriptors(suggest(operand="A", rows=64, k=512, dtype="b1").tile, "A", "b1")


@pytest.mark.parametrize(
    ("layout", "dtype", "words"),
    [
        (TILE, "bf16", "128B mode, K-major, LBO not read, SBO 1024 bytes, 8 wgmma"),
        (
            tile("none", "k", "f16", 64, 16),
            "f16",
            "no swizzle, K-major, LBO 1024 bytes, SBO 128 bytes, 1 wgmma",
        ),
        (
            tile("64B", "mn", "f16", 64, 16),
            "f16",
            "64B mode, MN-major, LBO 512 bytes, SBO 1024 bytes, 1 wgmma",
        ),
        (
            tile("128B", "mn", "f16", 64, 32),
            "f16",
            "128B mode, MN-major, LBO not read, SBO 1024 bytes, 2 wgmma",
        ),
    ],
    ids=["128B", "none", "64B MN-major", "128B MN-major"],
)
def test_what_is_said_of_descriptors(layout: Layout, dtype: str, words: str):
    assert said(scene_of(layout, dtype=dtype, access="descriptor.A")) == [f"descriptor.A: {words}"]


def test_of_many_instructions_the_first_are_steps():
    layout = tile("none", "k", "f16", 8 * 101, 32)
    check_descriptors(layout, "B", "f16")
    scene = scene_of(layout, dtype="f16", access="descriptor.B")
    assert scene.notes[-1].text == "the first 128 of 202 wgmma are steps"


# -- boxes -----------------------------------------------------------------------------------------


def unswizzled(addresses: np.ndarray, width: int) -> np.ndarray:
    """Where TMA would put these bytes without its swizzle: a chunk of 16 bytes is XORed with its row."""
    chunks = {0: 0, 32: 1, 64: 3, 128: 7}[width]
    return addresses ^ (((addresses >> 7) & chunks) << 4)


def check_boxes(layout: Layout, dtype: str, base: int = 0) -> None:
    """Check that each box of the answer is one, and that together they are the tile."""
    scene = scene_of(layout, dtype=dtype, access="boxes", base=base)
    head = re.fullmatch(
        r"boxes: ([\dx ]+) (elements|bytes), SWIZZLE_(NONE|(\d+)B), (\d+) box(?:es)? of (\d+) bytes",
        said(scene)[0],
    )
    assert head
    assert scene.bits is not None
    inner, *outer = map(int, head[1].split(" x "))
    inside = [inner * (8 // scene.bits if head[2] == "bytes" else 1), *outer]
    assert prod(inside) * scene.bits // 8 == int(head[6])
    assert len(scene.steps) == min(int(head[5]), MOST_STEPS)
    for number, step in enumerate(scene.steps):
        assert step.title == f"box {number + 1} of {head[5]}"
        check_box(scene, step, inside, int(head[4] or 0))
    if len(scene.steps) == int(head[5]):
        assert sorted(chain(*(step.elements for step in scene.steps))) == list(range(layout.size))
    assert kinds(scene)[:2] == ["yes", "hint"]


def check_box(scene: Scene, step: Step, inside: list[int], width: int) -> None:
    """A box is so many of each dimension, written upwards, without a gap but at the ends of narrow rows."""
    assert scene.bits is not None
    flats, starts = np.array(step.elements), bytes_of(scene, step)
    assert (np.diff(flats) > 0).all()
    last = starts.max() + max(scene.bits // 8, 1) - 1
    said = f"{prod(inside)} elements land at bytes {starts.min()}..{last}"
    note = re.fullmatch(rf"coordinates {{([\d, ]+)}}: {said}", step.note)
    assert note
    coordinates = list(map(int, note[1].split(", ")))
    assert len(coordinates) == len(inside)
    if len(inside) == len(scene.shape) == 2 and scene.bits >= 8:
        assert flats[0] == coordinates[0] + coordinates[1] * scene.shape[1]
    plain = unswizzled(starts, width)
    order = np.lexsort((flats, plain))
    row = inside[0] * scene.bits // 8
    rows = plain[order].reshape(-1, inside[0])
    assert (rows[:, 0] == plain.min() + max(row, width) * np.arange(len(rows))).all()
    assert (rows - rows[:, :1] == np.arange(inside[0]) * scene.bits // 8).all()
    assert_affine(flats[order].reshape(inside[::-1]))


def assert_affine(walked: np.ndarray) -> None:
    """Along each dimension of the box the elements are one step of the tensor apart; along the first, 1."""
    first = walked.flat[0]
    steps = [walked.take(1, axis).flat[0] - first if n > 1 else 0 for axis, n in enumerate(walked.shape)]
    ways = [np.arange(n) * step for n, step in zip(walked.shape, steps, strict=True)]
    assert (walked == first + reduce(np.add.outer, ways)).all()
    assert steps[-1] in (0, 1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["bf16", "f16", "tf32", "e4m3", "s8", "f32", "f64"])
def test_boxes_fill_the_tile(dtype: str, mode: str):
    for rows, k in ((64, 64), (128, 128), (8, 16)):
        try:
            layout = tile(mode, "k", "b" + str(DType.of(dtype).bits), rows, k)
        except LayoutError:
            continue
        check_boxes(layout, dtype)


PLAIN = (
    S[(64, 64) : (64, 1)],
    S[(64, 64) : (64, 1)] + 512,
    S[(512, 16) : (16, 1)],
    S[((2, 32), 64) : ((2048, 64), 1)],
    S[(64, (2, 32)) : (32, (2048, 1))],
    S[((4, 16), 64) : ((2048, 64), 1)],
    S[((200, 8), 8) : ((128, 8), 1)],
    Swizzle(3, 3, 3) @ S[(32, (3, 64)) : (64, (4096, 1))],
    S[(8, 16, 32)],
    S[4096],
    Swizzle(3, 3, 3) @ S[(64, 16) : (64, 1)],
    Swizzle(2, 3, 3) @ (S[(64, 32) : (32, 1)] + 1024),
)


@pytest.mark.parametrize("layout", PLAIN, ids=str)
def test_boxes_of_other_tiles(layout: Layout):
    check_boxes(layout, "bf16")


def test_of_many_boxes_the_first_are_steps():
    scene = scene_of(S[((200, 8), 8) : ((128, 8), 1)], dtype="bf16", access="boxes")
    assert scene.notes[-1].text == "the first 128 of 200 boxes are steps"


@pytest.mark.parametrize("dtype", ["e2m1", "s4", "b1"])
def test_small_elements_travel_in_bytes(dtype: str):
    check_boxes(S[(32, 256) : (256, 1)], dtype)
    check_boxes(S[(32, 256) : (256, 1)], dtype, base=256)


@pytest.mark.parametrize("unit", ["element", "byte"])
@pytest.mark.parametrize("base", [1024, 4096])
def test_boxes_begin_at_the_base(base: int, unit: str):
    if unit == "element":
        check_boxes(TILE, "bf16", base)
        return
    scene = scene_of(TILE.in_bytes("bf16"), dtype="bf16", access="boxes", base=base)
    assert scene.steps == scene_of(TILE, dtype="bf16", access="boxes", base=base).steps


# -- what is refused -------------------------------------------------------------------------------

NONE = [
    ("descriptor.A", S[(128, 64) : (64, 1)], "bf16", 0, "not swizzled"),
    ("descriptor.A", S[64], "bf16", 0, "two modes, and the layout has 1"),
    ("descriptor.B", S[(8, 8, 64)], "bf16", 0, "two modes, and the layout has 3"),
    ("descriptor.A", TILE, "f32", 0, "wgmma does not multiply f32"),
    ("descriptor.A", TILE, "e2m1", 0, "wgmma does not multiply e2m1"),
    ("descriptor.A", TILE, "b1", 0, "is no multiple of 256"),
    ("descriptor.A", TILE, "bf16", 64, "starts at byte 0x40"),
    ("descriptor.B", tile("128B", "mn", "f16", 64, 16), "tf32", 0, ""),
    ("descriptor.A", S[(64, 16) : (1 @ laneid, 1 @ reg)], "bf16", 0, "moves on laneid"),
    ("descriptor.A", TILE + R[2:8192], "bf16", 0, "2 copies"),
    ("boxes", tile("128B", "mn", "f16", 64, 16), "f16", 0, "contiguous along dimension 0"),
    ("boxes", Swizzle(2, 0, 2) @ S[(16, 16)], "bf16", 0, "no swizzle of the hardware"),
    ("boxes", S[(16, 16) : (1 @ laneid, 1 @ reg)], "bf16", 0, "laneid and reg"),
    ("boxes", S[(16, 16)] + R[2:256], "bf16", 0, "copies"),
    ("boxes", S[(16, 4)], "bf16", 0, "the stride of dimension 0 is 8 bytes"),
    ("boxes", S[(16, 16)], "e2m3", 0, "6 bits"),
    ("boxes", S[(2, 2, 2, 2, 2, 16)], "bf16", 0, "6 dimensions"),
    ("boxes", TILE, "bf16", 128, "begins at byte 128, which is no multiple of 1024"),
    ("boxes", TILE, "bf16", 1024 * 220, "ends at byte 241664"),
]


@pytest.mark.parametrize(("access", "layout", "dtype", "base", "why"), NONE, ids=str)
def test_where_an_engine_takes_nothing_there_is_no_step(
    access: str, layout: Layout, dtype: str, base: int, why: str
):
    scene = scene_of(layout, dtype=dtype, access=access, base=base)
    assert (scene.steps, scene.access) == ((), access)
    no, hint = scene.notes[-2:]
    assert (no.kind, hint.kind) == ("no", "hint")
    assert no.text.startswith(f"{access}: ")
    assert why in no.text
    assert ("tilewise tma" if access == "boxes" else "tilewise match") in hint.text


@pytest.mark.parametrize("access", ["descriptor.A", "descriptor.B", "boxes"])
def test_a_type_is_needed(access: str):
    with pytest.raises(LayoutError, match="the type of an element is not given"):
        scene_of(TILE, access=access)


@pytest.mark.parametrize("access", ["descriptor", "descriptor.C", "descriptors.A", "descriptor.A.B"])
def test_there_are_two_descriptors(access: str):
    with pytest.raises(LayoutError, match="is no access") as error:
        scene_of(TILE, dtype="bf16", access=access)
    assert error.value.hint.startswith("descriptor.A and descriptor.B are wgmma's; tcgen05's are ")


@pytest.mark.parametrize("access", ["descriptor.A", "descriptor.B", "boxes"])
def test_a_document_with_words_comes_back(access: str):
    document = document_of(TILE, dtype="bf16", access=access, window=((0, 8), (0, 8)))
    assert document_from(json.loads(json.dumps(document.as_dict()))) == document
