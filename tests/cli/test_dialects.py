"""Texts of other systems on the command line: shapes, parts, types, padding, files."""

from __future__ import annotations

import pytest

BLOCKED = (
    "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
)
COLUMNS = (
    "#ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>"
)
SHARED = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"
PADDED = "bf16[15,100]{1,0:T(8,128)(2,1)}"


@pytest.fixture
def module(tmp_path):
    """A dump with two encodings, after the line that MLIR prints before it."""
    path = tmp_path / "mm.ttgir"
    path.write_text(f"// -----// IR Dump //----- //\n#blocked = {BLOCKED}\n#blocked1 = {COLUMNS}\n")
    return str(path)


def test_each_text_has_its_part(tilewise, module):
    told = tilewise(
        "relation", module, module, "--part", "#blocked", "--part", "blocked1", "--shape", "64,64"
    )
    assert told.out == tilewise("relation", BLOCKED, COLUMNS, "--shape", "64,64").out


def test_a_part_without_a_text_is_refused(tilewise, module):
    run = tilewise("info", module, "--part", "#blocked", "--part", "#blocked1", "--shape", "64,64")
    assert (run.code, "one a layout" in run.err) == (2, True)


def test_parts_are_named_as_a_shell_takes_them(tilewise, module):
    assert "--part '#blocked'" in tilewise("info", module).err


def test_the_shape_of_the_tensor_where_shape_is_another_thing(tilewise):
    words = ("match", SHARED, "--operand", "A", "--dtype", "f16")
    assert tilewise(*words, "--tensor", "128,64").code == 0
    assert "--tensor 128,64" in tilewise(*words).err


def test_the_tensor_of_an_access_is_the_tile(tilewise):
    words = ("coalesce", "S[64, 64]", "--dtype", "f16", "--access")
    bare = tilewise(*words, BLOCKED, "--json").json
    typed = tilewise(*words, f"tensor<64x64xf16, {BLOCKED}>", "--json").json
    assert bare["accesses"] == typed["accesses"]
    assert (bare["sectors"], bare["excess"]) == (256, 0)


def test_a_type_in_the_text_is_taken_and_another_one_is_noted(tilewise):
    typed = f"!ttg.memdesc<128x64xf16, {SHARED}, #ttg.shared_memory, mutable>"
    assert tilewise("match", typed, "--operand", "A", "--json").json["dtype"] == "f16"
    assert "the text says f16" in tilewise("match", typed, "--operand", "A", "--dtype", "bf16").err


def test_types_of_both_texts_serve_a_plan(tilewise):
    texts = (f"tensor<64x64xf16, {encoding}>" for encoding in (BLOCKED, COLUMNS))
    assert tilewise("plan", *texts, "--json").json["dtype"] == "f16"


@pytest.mark.parametrize(("index", "place"), [("100", "(1, 0) -> 1@m"), ("1499", "(14, 99) -> 1990@m")])
def test_a_flat_index_counts_the_elements_of_a_padded_tensor(tilewise, index, place):
    assert tilewise("at", PADDED, index).out == f"{place}\n"


def test_padding_is_no_element(tilewise):
    assert "(15, 0) is padding" in tilewise("at", PADDED, "15,0").err
    assert "element 1500 is not of the tensor" in tilewise("at", PADDED, "1500").err
    assert tilewise("who", PADDED, "2047", "--json").json["reason"] == "it is padding, beyond the tensor"
    assert len(tilewise("table", PADDED, "--json").json["places"]) == 1500


def test_colours_of_a_terminal_are_no_part_of_a_text(tilewise):
    assert tilewise("at", "\x1b[32m(8,4):(4,1)\x1b[0m", "5").out == tilewise("at", "(8,4):(4,1)", "5").out


def test_a_file_that_is_not_there_is_told(tilewise):
    assert "there is no file nosuch.ttgir" in tilewise("info", "nosuch.ttgir").err


@pytest.mark.parametrize("shape", [(), ("--shape", "15,100")])
def test_what_moves_to_a_padded_tensor_is_its_box(tilewise, shape):
    written = "S[((2, 4, 2), 128) : ((1024, 256, 1), 2)]"
    expected = tilewise("plan", "S[15, 100]", written, "--dtype", "bf16", "--shape", "15,100", "--json").json
    found = tilewise("plan", "S[15, 100]", PADDED, *shape, "--json").json
    assert all(found[name] == expected[name] for name in ("tile", "bytes"))


def test_b_of_triton_is_noted_to_be_turned(tilewise):
    typed = f"!ttg.memdesc<64x128xf16, {SHARED}, #ttg.shared_memory, mutable>"
    assert (
        "taken as N = 64 and K = 128; Triton's B is [K, N]" in tilewise("match", typed, "--operand", "B").err
    )
    assert "Triton's B" not in tilewise("match", typed, "--operand", "A").err
