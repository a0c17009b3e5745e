"""The reads of tcgen05.mma from a tile, as steps: held to those of the bits of each step, byte by byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.hardware.of_tcgen05 import addresses, unread

from tilewise import Layout, LayoutError, Refused, S, Swizzle
from tilewise.check.match import Match, match
from tilewise.check.suggest import suggest
from tilewise.core.dtypes import DType
from tilewise.hardware.engines import engine
from tilewise.hardware.modes import BLACKWELL
from tilewise.hardware.tcgen05.descriptor import Descriptor
from tilewise.hardware.tcgen05.operand import Operand
from tilewise.pictures.address import page_knows
from tilewise.pictures.scene.build import document_of, scene_of
from tilewise.pictures.scene.descriptors import question_of
from tilewise.pictures.scene.model import Scene, Step

TILE = Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)]
TCGEN05 = engine("tcgen05")


def suggested(operand: str, dtype: str, rows: int, k: int, major: str = "k", **asked: Any) -> Layout:
    return suggest(engine="tcgen05", operand=operand, rows=rows, k=k, dtype=dtype, major=major, **asked).tile


def check(layout: Layout, access: str, dtype: str, base: int = 0) -> Scene:
    """Every step is of a descriptor that reads just its elements, in order; together they are the tile."""
    _, operand, asked = question_of(access, DType.of(dtype))
    found = match(layout, engine="tcgen05", operand=operand, dtype=dtype, base=base, **asked)
    assert isinstance(found, Match)
    scene = scene_of(layout, dtype=dtype, access=access, base=base)
    m, n, _ = found.instruction
    general = {name: value for name, value in asked.items() if name not in "mn"}
    of = Operand(dtype, found.major, operand, m, n, **general)
    assert len(scene.steps) == len(found.steps)
    for number, step in enumerate(scene.steps):
        descriptor = Descriptor.decode(int(step.encoded.value, 16))
        read = [byte for row in addresses(descriptor, of) for byte in row]
        assert bytes_of(scene, step) == read
        check_words(step, descriptor, unread(descriptor, of))
        top, left = divmod(step.elements[0], layout.size // scene.shape[0])
        where = f"rows {top}..{top + of.rows - 1}, k {left}..{left + of.depth - 1}"
        assert step.title == f"tcgen05.mma {number + 1} of {len(found.steps)}: {where}"
    assert sorted(flat for step in scene.steps for flat in step.elements) == list(range(layout.size))
    return scene


def bytes_of(scene: Scene, step: Step) -> list[int]:
    places = np.array(scene.places["m"], np.int64)[list(step.elements)]
    assert scene.bits is not None
    return (scene.base + places * scene.bits // 8).tolist()


def check_words(step: Step, descriptor: Descriptor, silent: tuple[str, ...]) -> None:
    fields = {field.name: field for field in step.encoded.fields}
    assert sum(field.held << field.low for field in fields.values()) == int(step.encoded.value, 16)
    for name, words in (("LBO", "lbo"), ("SBO", "sbo"), ("base offset", "base_offset")):
        assert fields[name].words.startswith("not read") is (words in silent)
    if "lbo" not in silent:
        apart = f"byte {descriptor.lbo}, " if descriptor.absolute else f"{descriptor.lbo} bytes from the "
        assert fields["LBO"].words.startswith(apart)
    assert (fields["version"].low, fields["version"].high, fields["version"].held) == (46, 48, 1)
    assert fields["LBO mode"].words.startswith(descriptor.lbo_mode)
    assert fields["mode"].words.startswith(descriptor.mode.name)


def notes(scene: Scene) -> list[str]:
    return [note.text for note in scene.notes if note.kind != "fact"]


@pytest.mark.parametrize("mode", BLACKWELL)
@pytest.mark.parametrize("major", ["k", "mn"])
@pytest.mark.parametrize("dtype", ["bf16", "tf32", "e4m3", "s8", "u8"])
def test_a_step_is_what_its_descriptor_reads(dtype: str, major: str, mode: str):
    is_atom = mode == "128B_ATOM_32B"
    is_read = is_atom == (dtype == "tf32") if major == "mn" else not is_atom
    tiles = 0
    for operand, rows, many in (("A", 64, 1), ("A", 128, 4), ("B", 16, 4), ("B", 96, 2), ("B", 256, 1)):
        k = many * 256 // DType.of(dtype).bits
        try:
            layout = TCGEN05.tile(BLACKWELL[mode], major, DType.of(dtype), rows, k, "mn")
        except Refused:
            continue
        access = f"descriptor.{operand}:tcgen05"
        if is_read:
            check(layout, access, dtype)
        else:
            assert scene_of(layout, dtype=dtype, access=access).steps == ()
        tiles += 1
    assert tiles


@pytest.mark.parametrize(
    ("words", "operand", "dtype", "rows", "k", "asked"),
    [
        ("m64", "A", "bf16", 128, 64, {"m": 64}),
        ("n=32", "B", "bf16", 96, 64, {"n": 32}),
        ("cta_group2", "A", "bf16", 128, 64, {"cta_group": 2}),
        ("cta_group=2:n64", "B", "bf16", 64, 32, {"cta_group": 2, "n": 64}),
        ("sparse", "A", "bf16", 128, 64, {"sparse": True}),
        ("sparse", "B", "e4m3", 128, 128, {"sparse": True}),
        ("ws", "A", "f16", 32, 64, {"ws": True}),
        ("mxf8f6f4", "A", "e4m3", 128, 64, {"kind": "mxf8f6f4"}),
        ("kind=mxf4nvf4", "B", "e2m1", 64, 256, {"kind": "mxf4nvf4"}),
    ],
)
def test_what_a_product_is_asked_for(
    words: str, operand: str, dtype: str, rows: int, k: int, asked: dict[str, Any]
):
    access = f"descriptor.{operand}:tcgen05:{words}"
    assert question_of(access, DType.of(dtype)) == (TCGEN05, operand, asked)
    check(suggested(operand, dtype, rows, k, **asked), access, dtype)


@pytest.mark.parametrize("base", [0, 1024, 65536])
def test_where_lbo_is_an_address(base: int):
    layout = suggested("A", "e2m1", 128, 768, kind="mxf4", m=128)
    scene = check(layout, "descriptor.A:tcgen05:k96", "e2m1", base)
    assert len(scene.steps) == 8
    lbo = [{field.name: field.words for field in step.encoded.fields}["LBO"] for step in scene.steps]
    second = "the address of the second chunk: K past the end of a row of 128 bytes"
    assert lbo[2] == f"byte {base + 16384}, {second}"
    assert [words.startswith("not read: K of 48 bytes ends in the row") for words in lbo] == [
        *(True, True, False, True, True, False, True, True)
    ]
    assert notes(scene)[0] == (
        "descriptor.A:tcgen05:k96: 128B mode, K-major, LBO an address, SBO 1024 bytes, "
        "8 tcgen05.mma of kind::mxf4, m128nNk96"
    )
    assert "absolute LBO mode is of sm_103a" in notes(scene)


def test_each_field_has_a_reason_of_its_own():
    scene = check(suggested("B", "e2m1", 8, 768, kind="mxf4", n=8), "descriptor.B:tcgen05:k96", "e2m1")
    for step in scene.steps:
        sbo = next(field.words for field in step.encoded.fields if field.name == "SBO")
        assert sbo == "not read: there are no more than 8 rows"


def test_atoms_of_32_bytes():
    layout = suggested("B", "tf32", 128, 32, "mn")
    scene = check(layout, "descriptor.B:tcgen05", "tf32")
    assert notes(scene)[0] == (
        "descriptor.B:tcgen05: 128B_ATOM_32B mode, MN-major, LBO 4096 bytes, SBO 512 bytes, "
        "4 tcgen05.mma of kind::tf32, mMn128k8"
    )


@pytest.mark.parametrize(("mode", "base"), [("128B", 128), ("64B", 768), ("32B", 128), ("128B", 1280)])
def test_a_base_offset(mode: str, base: int):
    check(suggested("A", "bf16", 64, 64, mode=mode), "descriptor.A:tcgen05", "bf16", base)


def test_a_tile_of_a_pair_is_one_cta_s():
    layout = suggested("A", "bf16", 256, 64, cta_group=2)
    scene = check(layout, "descriptor.A:tcgen05:cta_group2", "bf16")
    assert notes(scene)[-1].startswith("the tile is one CTA's: of M = 256 each CTA of the pair has 128 rows")


def test_wgmma_may_be_said_too():
    plain, said = (scene_of(TILE, dtype="bf16", access=f"descriptor.B{more}") for more in ("", ":wgmma"))
    assert plain.steps == said.steps
    narrow = scene_of(TILE, dtype="bf16", access="descriptor.B:wgmma:n64")
    assert len(narrow.steps) == 2 * len(said.steps)


@pytest.mark.parametrize(
    ("access", "message", "hint"),
    [
        ("descriptor.A:", "'' is no engine with descriptors", "known: wgmma tcgen05"),
        ("descriptor.A:mma", "'mma' is no engine with descriptors", "known: wgmma tcgen05"),
        ("descriptor.A:tcgen05:mxf5", "'mxf5' is no kind of tcgen05.mma", "known: f16 tf32"),
        ("descriptor.A:tcgen05:n8x", "'n8x' is no kind of tcgen05.mma", "known: f16 tf32"),
        ("descriptor.A:tcgen05:lbo_mode1", "'lbo_mode1' is no kind of tcgen05.mma", "known: f16 tf32"),
        ("descriptor.A:tcgen05:cta_group3", "there is no cta_group 3", "1 or 2 CTAs"),
        ("descriptor.A:wgmma:k96", "wgmma takes no 'k96'", "it takes n"),
        ("descriptor.A:wgmma:ws", "wgmma takes no 'ws'", "it takes n"),
        ("descriptor.A:tcgen05:m64:m128", "m is given twice", "m64 or m128"),
        ("descriptor.A:tcgen05:f16:tf32", "kind is given twice", "f16 or tf32"),
        ("descriptor.B:wgmma:n64:n=64", "n is given twice", "n64 or n=64"),
        ("descriptor.C:tcgen05", "'descriptor.C:tcgen05' is no access", "descriptor.A:tcgen05"),
        ("descriptor.A(tcgen05)", "'descriptor.A(tcgen05)' is no access", "descriptor.A:tcgen05"),
    ],
)
def test_words_that_are_none(access: str, message: str, hint: str):
    with pytest.raises(LayoutError) as error:
        scene_of(TILE, dtype="bf16", access=access)
    assert (error.value.code, error.value.message) == ("TW601", message)
    assert hint in error.value.hint


@pytest.mark.parametrize(
    ("access", "dtype", "why"),
    [
        ("descriptor.A:tcgen05", "f32", "tcgen05 does not multiply f32"),
        ("descriptor.A:tcgen05:f16", "e4m3", "kind::f16 does not multiply e4m3"),
        ("descriptor.A:tcgen05:m96", "bf16", "kind::f16 has no M = 96"),
        ("descriptor.A:tcgen05:k96", "bf16", "no K = 96"),
        ("descriptor.A:tcgen05:ws:mxf8f6f4", "e4m3", "no product of cta_group 1, .ws"),
        ("descriptor.A:tcgen05", "e3m2", "an element of e3m2 has a byte to itself in shared memory"),
        ("descriptor.A:tcgen05:f8f6f4", "e2m1", "an element of e2m1 has a byte to itself in shared memory"),
        ("descriptor.A:tcgen05", "tf32", ""),
    ],
)
def test_what_no_product_reads(access: str, dtype: str, why: str):
    scene = scene_of(TILE, dtype=dtype, access=access)
    assert (scene.steps, scene.access) == ((), access)
    no, hint = scene.notes[-2:]
    assert (no.kind, hint.kind) == ("no", "hint")
    assert no.text.startswith(f"{access}: ")
    assert why in no.text
    assert "tilewise match --engine tcgen05 says what is nearest" in hint.text


def test_a_tile_that_wgmma_reads_on_past_a_row_is_no_tile_of_tcgen05():
    """K begins 16 bytes into a row of 32: an H200 goes on, and of Blackwell nobody says so."""
    layout = Swizzle(1, 3, 3) @ (S[(64, 16) : (16, 1)] + 8)
    assert scene_of(layout, dtype="bf16", access="descriptor.A").steps
    assert not scene_of(layout, dtype="bf16", access="descriptor.A:tcgen05").steps


def test_the_page_knows_them():
    assert page_knows("descriptor.A:tcgen05:mxf4:k96", "e2m1")
    document = document_of(TILE, dtype="bf16", access="descriptor.A:tcgen05")
    assert document.scenes[0].access == "descriptor.A:tcgen05"
