"""`tilewise code`: its languages, its JSON, its refusals, and that it starts fast."""

from __future__ import annotations

import subprocess
import sys

import pytest

SWIZZLED = "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]"
FRAGMENT = "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]"


@pytest.mark.parametrize(
    ("lang", "shown"),
    [
        ("cuda", "constexpr unsigned place_of(unsigned i, unsigned j)"),
        ("c", "static inline uint32_t place_of(uint32_t i, uint32_t j)"),
        ("python", "def place_of(i, j):"),
        ("triton", "@triton.jit"),
        ("cute", "constexpr auto place_of = composition(Swizzle<3, 3, 3>{}, make_layout("),
    ],
)
def test_every_language(tilewise, lang, shown):
    run = tilewise("code", SWIZZLED, "--lang", lang)
    assert (run.code, run.err) == (0, "")
    assert shown in run.out


def test_cuda_is_the_language_unless_another_is_named(tilewise):
    assert tilewise("code", SWIZZLED).out == tilewise("code", SWIZZLED, "--lang", "cuda").out


def test_json(tilewise):
    run = tilewise(
        "code", FRAGMENT, "--lang", "python", "--name", "owner", "--args", "row,pair,one", "--json"
    )
    code = run.json.pop("code")
    assert run.code == 0
    data = run.json
    assert data.pop("code") == code
    assert data == {
        "lang": "python",
        "name": "owner",
        "arguments": [
            {"name": "row", "min": 0, "max": 7},
            {"name": "pair", "min": 0, "max": 3},
            {"name": "one", "min": 0, "max": 1},
        ],
        "results": [{"name": "laneid", "min": 0, "max": 31}, {"name": "reg", "min": 0, "max": 1}],
    }
    names = {}
    exec(code, names)
    assert names["owner"](5, 3, 1) == (23, 1)


def test_flat_and_coordinates(tilewise):
    assert "place_of(x)" in tilewise("code", FRAGMENT, "--flat").out
    assert "place_of(i, j, k)" in tilewise("code", FRAGMENT, "--coordinates").out
    assert "the flat index of" in tilewise("code", FRAGMENT, "--inverse").out
    assert "the index i, j and k of" in tilewise("code", FRAGMENT, "--inverse", "--coordinates").out
    refused = tilewise("code", FRAGMENT, "--flat", "--coordinates", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (2, "TW401")


@pytest.mark.parametrize(
    ("layout", "options"),
    [("(4,8):(1,4)", ()), ("S[(4, 8) : (1, 4)]", ("--dialect", "cute")), ("((2,2),8):((1,2),4)", ())],
)
def test_flat_indices_of_cutes_text_count_as_cutes(tilewise, layout, options):
    if options:
        layout = "(4,8):(1,4)"
    for way, argument in (("--flat", "x"), ("--inverse", "m")):
        for lang in ("c", "cuda", "python", "triton"):
            run = tilewise("code", layout, way, "--lang", lang, *options)
            assert f"return {argument}" in run.out
            assert "(CuTe's order, the first mode fastest)" in run.out
            assert f" {layout}\n" in run.out.replace('"', " ")
    row_major = tilewise("code", "S[(4, 8) : (1, 4)]", "--inverse", "--lang", "python")
    assert "return (m >> 2) + ((m & 3) << 3)" in row_major.out
    assert "(row-major, the last mode fastest)" in row_major.out


def test_cutes_own_flat_index(tilewise):
    """A CuTe layout asked with one number needs no change."""
    assert "make_shape(Int<4>{}, Int<8>{}),\n    make_stride(Int<8>{}, Int<1>{})" in (
        tilewise("code", "(4,8):(8,1)", "--flat", "--lang", "cute").out
    )
    inverse = tilewise("code", "(4,8):(1,4)", "--inverse", "--lang", "cute").out
    assert "make_layout(\n    make_shape(Int<32>{}),\n    make_stride(Int<1>{}))" in inverse
    assert "(CuTe's order, the first mode fastest)" in inverse


def test_cutes_coordinates_do_not_depend_on_an_order(tilewise):
    for options in ((), ("--inverse", "--coordinates")):
        cute = tilewise("code", "(4,8):(1,4)", *options).out
        assert cute.replace("(4,8):(1,4)", "S[(4, 8) : (1, 4)]") == (
            tilewise("code", "S[(4, 8) : (1, 4)]", *options).out
        )


def test_a_shared_place_is_named_in_the_order_of_the_text(tilewise):
    run = tilewise("code", "(4,4):(4,2)", "--inverse", "--json")
    assert (run.code, run.json["witness"]) == (1, [8, 1, {"m": 4}])
    assert run.json["reason"].startswith("(0, 2) and (1, 0) share 4@m")


def test_the_comment_shows_the_text_as_it_was_typed(tilewise):
    assert "// S[8, M] with M=16\n" in tilewise("code", "S[8, M]", "--let", "M=16").out
    assert "// Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)\n" in (
        tilewise("code", " Sw<3,4,3> o smem_ptr[16b](unset) o\n(8,64):(64,1)").out
    )
    document = tilewise("say", "S[8, 16]", "--as", "json").out
    assert "// S[(8, 16) : (16, 1)]\n" in tilewise("code", document).out


def test_refusals_are_answers(tilewise):
    run = tilewise("code", "S[(2, 2) : (0, 1)]", "--inverse", "--json")
    assert run.code == 1
    assert run.json["code"] is None
    assert "share 0@m" in run.json["reason"]
    assert run.json["witness"] == [0, 2, {"m": 0}]
    text = tilewise("code", FRAGMENT, "--lang", "cute")
    assert (text.code, text.out, text.err.splitlines()[0]) == (1, "", "no: CuTe has no axis laneid")


def test_a_no_goes_into_no_file_where_code_is_asked_for(tilewise):
    words = ("shuffle", "S[64 : 1@tid_in_wg]", "S[(2, 32) : (1@reg, 1@tid_in_wg)]", "--dtype", "f32")
    told, code = tilewise(*words), tilewise(*words, "--code")
    assert (told.code, told.err, code.code, code.out) == (1, "", 1, "")
    assert told.out == code.err
    assert told.out.startswith("no: ")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("code", "S[8 :"), "TW004"),
        (("code", "S[8 : 1]", "--lang", "fortran"), "TW401"),
        (("code", "S[8 : 1]", "--name", "2f"), "TW401"),
        (("code", "S[8 : 1]", "--args", "a,b"), "TW401"),
    ],
)
def test_what_is_not_understood(tilewise, words, code):
    run = tilewise(*words, "--json")
    assert (run.code, run.json["error"]["code"]) == (2, code)


def test_units_and_dialects_are_read_as_everywhere(tilewise):
    in_bytes = tilewise("code", "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)", "--lang", "c")
    assert "(i * 72) ^ j" in in_bytes.out
    counted = tilewise("code", "S[(8, 64) : (128, 2)]", "--unit", "byte", "--lang", "c")
    assert "counted in bytes" in counted.out


def test_bytes(tilewise):
    """As `at --bytes` says it."""
    swizzled = "Swizzle<3,3,3> o S[(64, 64) : (64, 1)]"
    for base, offset in (((), 0), (("--base", "0x1080"), 0x1080)):
        run = tilewise("code", swizzled, "--lang", "python", "--dtype", "bf16", "--bytes", *base)
        assert "as m, counted in bytes" in run.out
        assert ("in a buffer that begins at byte 0x1080" in run.out) == bool(offset)
        names = {}
        exec(run.out, names)
        back = tilewise(
            "code", swizzled, "--lang", "python", "--dtype", "bf16", "--bytes", "--inverse", *base
        )
        exec(back.out, names)
        for i, j in ((0, 0), (37, 21), (63, 63)):
            said = tilewise("at", swizzled, f"{i},{j}", "--dtype", "bf16", "--bytes", *base, "--json").json
            assert names["place_of"](i, j) == said["bytes"][0]
            assert names["index_of"](said["bytes"][0]) == i * 64 + j


def test_a_base_alone_asks_for_bytes(tilewise):
    assert "return (i << 1) + 256" in tilewise("code", "S[8 : 1]", "--dtype", "f16", "--base", "0x100").out
    assert "return i + 256" in tilewise("code", "S[8 : 1]", "--unit", "byte", "--base", "0x100").out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("S[8 : 1]", "--bytes"), "TW401", "byte addresses need the type of an element"),
        (("S[8 : 1]", "--bytes", "--dtype", "e2m1"), "TW106", "4 bits, no multiple of the 8 of a byte"),
        (("S[8 : 1@laneid]", "--bytes", "--dtype", "bf16"), "TW203", "no axis m"),
        (("S[8 : 1]", "--base", "1", "--dtype", "bf16"), "TW106", "no multiple of an element of 16 bits"),
    ],
)
def test_what_has_no_bytes(tilewise, words, code, message):
    run = tilewise("code", *words, "--json")
    assert (run.code, run.json["error"]["code"]) == (2, code)
    assert message in run.json["error"]["message"]


def test_whole_bytes_of_a_narrow_type_have_addresses(tilewise):
    assert "return i;" in tilewise("code", "S[8 : 2]", "--bytes", "--dtype", "e2m1").out


@pytest.mark.parametrize("options", [(), ("--inverse",), ("--lang", "cute"), ("--lang", "triton")])
def test_nothing_heavy_is_imported(options):
    program = (
        "import sys; from tilewise.cli.main import main; main(sys.argv[1:]);"
        "heavy = {'numpy', 'rich', 'typing'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    words = [sys.executable, "-c", program, "code", SWIZZLED, *options]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
