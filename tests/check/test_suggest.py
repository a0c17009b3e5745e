"""`suggest`: the rule for the mode; all that is suggested held to match, agree, plain loops, a compiler."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from tests.check.naive import one_read
from tests.codegen import nvrtc

from tilewise import LayoutError, Refused
from tilewise.check.agree import agree
from tilewise.check.match import match
from tilewise.check.sides import Boxes, Copied, Fed
from tilewise.check.suggest import BLAS_MAJORS, Suggestion, global_words, major_of_blas, mode_for, suggest
from tilewise.codegen.suggested import cuda_of, cute_of
from tilewise.hardware.wgmma.instructions import INPUTS

GOLDENS = Path(__file__).parent / "goldens"

A_ROWS, B_ROWS, KS = (64, 192), (8, 24, 40, 96, 256, 320), (1, 3, 8)
"""K is counted in instructions."""


def grid():
    """(operand, rows, k, dtype, major) over every type and both majors where there are two."""
    for row in INPUTS.values():
        for major in row.majors:
            tiles = [("A", rows) for rows in A_ROWS] + [("B", rows) for rows in B_ROWS]
            for (operand, rows), steps in product(tiles, KS):
                k = steps * row.k
                if rows * k * row.dtype.bits // 8 <= 128 * 1024:
                    yield operand, rows, k, row.name, major


GRID = list(grid())
SAMPLE = GRID[:: len(GRID) // 40]


@cache
def suggested(case) -> Suggestion:
    operand, rows, k, dtype, major = case
    return suggest(operand=operand, rows=rows, k=k, dtype=dtype, major=major)


def cases_of(dtype):
    cases = [case for case in GRID if case[3] == dtype]
    assert len(cases) >= 20
    return cases


@pytest.mark.parametrize("dtype", INPUTS)
def test_all_that_is_suggested_is_matched(dtype):
    for case in cases_of(dtype):
        found = suggested(case)
        matched = match(found.tile, operand=found.operand, dtype=dtype, major=found.major)
        assert matched.legal, case
        assert (matched.mode, matched.major, matched.trans) == (found.mode, found.major, found.trans)
        assert set(matched.ignored) == set(found.ignored), case
        for field in ("lbo", "sbo"):
            if field not in matched.ignored:
                assert getattr(matched, field) == getattr(found.descriptor, field)


@pytest.mark.parametrize("dtype", INPUTS)
def test_what_tma_writes_is_what_the_descriptors_read(dtype):
    for case in cases_of(dtype):
        found = suggested(case)
        base = 3 * found.alignment
        inner = None if found.mode.bits else found.mode.elements(found.dtype)
        written = Boxes(found.mode, (found.rows, found.k), found.major, found.order, inner=inner)
        read = Fed(found.operand, found.mode, major=found.major, order=found.order, n=found.instruction[1])
        for writer in (written, Copied(found.tile)):
            assert agree(writer, read, dtype=dtype, base=base), case
        if found.dtype.bits >= 8:
            assert agree(found.plan.tile.in_elements(dtype), found.tile, dtype=dtype), case


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: "-".join(map(str, case)))
def test_the_descriptors_read_the_tile_byte_by_byte(case):
    """Each step's 64 bits read the places of the tile's elements, by the plainest loops."""
    found = suggested(case)
    bits, deep = found.dtype.bits, found.instruction[2]
    many = found.instruction[1] or 64
    for step in found.steps:
        read = one_read(step.descriptor.value, bits, found.major, many, (step.mn * many, step.k * deep))
        for (row, k), address in list(read.items())[:: max(1, len(read) // 200)]:
            place = found.tile.place(row, k)["m"]
            assert address == (place if bits < 8 else place * bits // 8)


# -- the rule --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", range(16, 1040, 16))
def test_the_mode_is_the_largest_atom_that_the_bytes_fill(size):
    fitting = [width for width in (128, 64, 32) if size >= width and size % width == 0]
    name = f"{fitting[0]}B" if fitting else "none"
    choices = mode_for(size)
    assert (choices[-1].mode.name, choices[-1].fits) == (name, True)
    assert [choice.mode.name for choice in choices] == ["128B", "64B", "32B", "none"][: len(choices)]
    assert not any(choice.fits for choice in choices[:-1])
    for choice in choices[:-1]:
        assert ("less than" in choice.why) is (size < choice.mode.width)


@pytest.mark.parametrize(
    ("operand", "rows", "k", "dtype", "major", "mode"),
    [
        ("A", 128, 64, "bf16", "k", "128B"),
        ("A", 128, 32, "bf16", "k", "64B"),
        ("A", 128, 16, "bf16", "k", "32B"),
        ("A", 128, 96, "bf16", "k", "64B"),
        ("A", 128, 48, "bf16", "k", "32B"),
        ("A", 64, 16, "f16", "mn", "128B"),
        ("B", 32, 64, "f16", "mn", "64B"),
        ("B", 16, 64, "f16", "mn", "32B"),
        ("B", 8, 64, "f16", "mn", "none"),
        ("B", 24, 64, "f16", "mn", "none"),
        ("B", 96, 64, "f16", "mn", "64B"),
        ("B", 80, 64, "f16", "mn", "32B"),
        ("A", 64, 32, "tf32", "k", "128B"),
        ("A", 64, 128, "e4m3", "k", "128B"),
        ("A", 64, 64, "s8", "k", "64B"),
        ("A", 64, 1024, "b1", "k", "128B"),
    ],
)
def test_modes(operand, rows, k, dtype, major, mode):
    assert suggest(operand=operand, rows=rows, k=k, dtype=dtype, major=major).mode.name == mode


@pytest.mark.parametrize("case", SAMPLE[::2], ids=lambda case: "-".join(map(str, case)))
def test_a_mode_that_is_asked_for_is_taken_or_refused(case):
    operand, rows, k, dtype, major = case
    asked = {"operand": operand, "rows": rows, "k": k, "dtype": dtype, "major": major}
    widest = suggested(case)
    size = (k if major == "k" else rows) * widest.dtype.bits // 8
    for name, width in (("none", 16), ("32B", 32), ("64B", 64), ("128B", 128)):
        if size % width:
            with pytest.raises(Refused, match="does not fit") as refused:
                suggest(**asked, mode=name)
            assert f"{widest.mode} is the widest" in refused.value.hint
            continue
        found = suggest(**asked, mode=name)
        assert found.mode.name == name
        wider = [choice.mode.width for choice in found.choices[:-1] if choice.fits]
        assert (max(wider, default=width)) == widest.mode.width
        matched = match(found.tile, operand=operand, dtype=dtype, major=major)
        assert matched.legal
        assert matched.mode is found.mode


def test_the_mode_that_is_widest_changes_nothing_when_asked_for():
    for case in SAMPLE[::3]:
        operand, rows, k, dtype, major = case
        found = suggested(case)
        asked = suggest(operand=operand, rows=rows, k=k, dtype=dtype, major=major, mode=found.mode)
        assert (asked, cuda_of(asked)) == (found, cuda_of(found))


def test_the_order_is_the_one_with_fewer_boxes():
    for case in SAMPLE:
        found = suggested(case)
        own = found.copies[found.order]
        assert all(own.key <= other.key for other in found.copies.values())
        assert own.boxes == found.plan.count
    assert suggested(("A", 128, 128, "bf16", "k")).order == "mn"
    assert suggested(("A", 128, 128, "bf16", "mn")).order == "k"


# -- BLAS ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("letters", ["NN", "NT", "TN", "TT", "tn"])
def test_letters_of_blas_by_strides(letters):
    """A column-major matrix is contiguous down its columns; op() transposes what it names."""
    rows, k = 5, 7
    for operand, letter in zip("AB", letters.upper(), strict=True):
        logical = (rows, k) if operand == "A" else (k, rows)  # op(A) is M x K, op(B) is K x N
        stored = logical if letter == "N" else logical[::-1]
        strides = (1, stored[0])  # column-major
        by_logical = strides if letter == "N" else strides[::-1]
        along_k = by_logical[1] if operand == "A" else by_logical[0]
        assert major_of_blas(operand, letters) == ("k" if along_k == 1 else "mn")


def test_blas_and_major_say_the_same():
    by_letters = suggest(operand="A", rows=128, k=64, dtype="bf16", blas="NT")
    assert by_letters.major == "mn"
    assert by_letters.value == suggest(operand="A", rows=128, k=64, dtype="bf16", major="mn").value
    assert set(BLAS_MAJORS.values()) == {"k", "mn"}


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "code", "words", "hint"),
    [
        ({"rows": 100}, "TW602", "M = 100 is no whole number of 64", "64 and 128 fit"),
        ({"rows": 32}, "TW602", "M = 32", "64 fits"),
        ({"operand": "B", "rows": 12}, "TW602", "N = 12 is no whole number of 8", "8 and 16 fit"),
        ({"k": 24}, "TW602", "K = 24 is no whole number of 16", "16 and 32 fit"),
        ({"dtype": "e4m3", "k": 16}, "TW602", "K = 16 is no whole number of 32", "32 fits"),
        ({"dtype": "e4m3", "major": "mn"}, "TW602", "K-major alone", "transpose it as they store"),
        ({"dtype": "tf32", "blas": "NN"}, "TW602", "A would be MN-major", "K-contiguous"),
        ({"dtype": "f64"}, "TW602", "does not multiply f64", ""),
        ({"rows": 512, "k": 512}, "TW602", "524288 bytes of shared memory", "not one fits"),
        ({"stages": 20}, "TW602", "327680 bytes", "14 stages fit"),
        ({"k": 48, "mode": "128B"}, "TW603", "96 bytes are less than a row of 128", "32B is the widest"),
    ],
)
def test_what_is_refused(asked, code, words, hint):
    with pytest.raises(Refused) as refused:
        suggest(**{"operand": "A", "rows": 128, "k": 64, "dtype": "bf16"} | asked)
    assert refused.value.code == code
    assert words in refused.value.reason
    assert hint in refused.value.hint


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ({"operand": "C"}, "TW601", "known: A B"),
        ({"engine": "tcgen06"}, "TW601", "known: wgmma tcgen05"),
        ({"engine": "mma"}, "TW601", "for mma.sync: tilewise swizzle 128x64"),
        ({"major": "m"}, "TW601", "known: k mn"),
        ({"blas": "T"}, "TW601", "no two letters"),
        ({"blas": "TC"}, "TW601", "no two letters"),
        ({"blas": "TN", "major": "k"}, "TW401", "one of them"),
        ({"rows": 0}, "TW102", "rows of 0 is no tile"),
        ({"k": -16}, "TW102", "K of -16 is no tile"),
        ({"mode": "96B"}, "TW601", "known: none 32B 64B 128B"),
        ({"stages": 0}, "TW102", "0 stages hold no tile"),
        ({"dtype": "bf17"}, "TW105", "did you mean bf16"),
    ],
)
def test_what_is_not_understood(asked, code, words):
    with pytest.raises(LayoutError) as refused:
        suggest(**{"operand": "A", "rows": 128, "k": 64, "dtype": "bf16"} | asked)
    assert not isinstance(refused.value, Refused)
    assert refused.value.code == code
    assert words in str(refused.value)


# -- the command -----------------------------------------------------------------------------------

ASKED = [
    "--engine wgmma --operand A --tile 128x64 --dtype bf16",
    "--engine wgmma --operand A --tile 128x64 --dtype bf16 --major mn",
    "--operand A --tile 128x64 --dtype bf16 --blas TN",
    "--operand A --tile 128x128 --dtype bf16 --stages 4",
    "--operand B --tile 256x64 --dtype f16 --blas NT --stages 2",
    "--operand B --tile 320x64 --dtype f16 --major mn",
    "--operand B --tile 24x48 --dtype f16 --major mn",
    "--operand B --tile 512x128 --dtype e4m3",
    "--operand B --tile 40x64 --dtype s8",
    "--operand A --tile 64x48 --dtype bf16",
    "--operand A --tile 64x32 --dtype tf32",
    "--operand A --tile 64x512 --dtype b1",
    "--operand A --tile 128x64 --dtype bf16 --code cuda",
    "--operand A --tile 128x128 --dtype bf16 --code cuda --stages 4",
    "--operand B --tile 320x64 --dtype f16 --major mn --code cuda",
    "--operand B --tile 8x16 --dtype f16 --code cuda",
    "--operand A --tile 64x512 --dtype b1 --code cuda",
    "--operand A --tile 128x128 --dtype f16 --major mn --code cute",
    "--operand B --tile 128x64 --dtype e5m2 --code cute --stages 3",
    "--operand A --tile 64x512 --dtype b1 --code cute",
    "--operand A --tile 128x64 --dtype bf16 --mode 64B",
    "--operand A --tile 128x64 --dtype bf16 --mode none --code cuda",
    "--operand B --tile 96x64 --dtype f16 --major mn --mode 128B",
    "--operand A --tile 100x64 --dtype bf16",
    "--operand A --tile 128x64 --dtype e4m3 --major mn",
    "--operand A --tile 128x64 --dtype bf16 --stages 15",
]


def test_what_is_said(tilewise, golden):
    lines = []
    for words in ASKED:
        run = tilewise("suggest", *words.split())
        assert run.err == ""
        lines += [f"$ tilewise suggest {words}", run.out.rstrip(), f"exit {run.code}", ""]
        assert tilewise("suggest", *words.split(), "--json").code == run.code
    golden(GOLDENS / "suggest.txt", "\n".join(lines))


def test_json(tilewise):
    run = tilewise("suggest", *"--operand B --tile 256x64 --dtype f16 --blas NT --stages 2".split(), "--json")
    assert run.code == 0
    data = run.json
    assert (data["mode"], data["major"], data["trans"]) == ("128B", "mn", 1)
    assert data["instruction"] == {"m": 64, "n": 256, "k": 16}
    assert (data["lbo"], data["sbo"], data["value"]) == (8192, 1024, "0x4000004002000000")
    assert data["tma"]["boxDim"] == [64, 64, 4]
    assert (data["tma"]["globalDim"], data["tma"]["globalStrides"]) == (["64", "K", "N/64"], ["N*2", "128"])
    assert [step["bytes"] for step in data["steps"]] == [0, 2048, 4096, 6144]
    assert data["stages"] == {"count": 2, "stride": 32768, "bytes": 65536}
    assert set(data["code"]) == {"cuda", "cute"}
    assert data["confirmed"] == ["document", "device: H200"]


@pytest.mark.parametrize("tile", ["128", "128x64x2", "ax64", ""])
def test_tiles_that_are_none(tilewise, tile):
    run = tilewise("suggest", "--operand", "A", "--tile", tile, "--dtype", "bf16", "--json")
    assert run.code == 2
    assert run.json["error"]["code"] == "TW401"


# -- the tensor map in names -----------------------------------------------------------------------


def test_names_of_the_tensor_give_the_numbers():
    for case in GRID[:: len(GRID) // 60]:
        found = suggested(case)
        arguments = found.plan.tensor_map.arguments
        shape = (64 * found.rows, 64 * found.k)
        values = {"M": shape[0], "N": shape[0], "K": shape[1]}
        dims, strides = global_words(found)
        whole = [[eval(words, {}, values) for words in part] for part in (dims, strides)]
        assert whole == [arguments["globalDim"], arguments["globalStrides"]], case


# -- code ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_cuda_code_is_compiled_and_gives_every_descriptor():
    library = nvrtc.load()
    if library is None:
        pytest.skip("no NVRTC here")
    for case in SAMPLE[::3]:
        found = suggested(case)
        operand = found.operand
        letters = ["m" if operand == "A" else "n", "k"]
        checks = []
        for step in found.steps[:: max(1, len(found.steps) // 8)]:
            given = {letters[0]: step.mn, "k": step.k}
            names = [letter for letter in letters if f"unsigned {letter}" in cuda_of(found)]
            words = ", ".join(["0x2400u", *(str(given[name]) for name in names)])
            value = step.descriptor.value + (0x2400 >> 4)
            checks.append(f'static_assert({operand.lower()}_descriptor({words}) == {value:#x}ull, "");')
        body = cuda_of(found)
        first = f"{operand.lower()}_smem" + ("[0]" if "extern" in body else "[0][0]")
        named = " + ".join([first, *re.findall(r"^constexpr unsigned (\w+) =", body, re.MULTILINE)])
        used = f"__global__ void kernel(unsigned char *to) {{ *to = {named}; }}"
        shared = [line for line in body.splitlines() if "__shared__" in line]
        body = "\n".join(line for line in body.splitlines() if "__shared__" not in line)
        inside = used.replace("{ *to", "{ " + shared[0].split("//")[0] + " *to")
        source = "\n".join([body, *checks, inside])
        nvrtc.compile_to_ptx(library, source, "--gpu-architecture=sm_90a", "--std=c++17")


def test_cute_words_are_the_tile():
    """CuTe's own algebra, as tilewise has it: the atom repeated over the shape in that order."""
    from tilewise.hardware.operands.tiles import atom

    for case in SAMPLE:
        found = suggested(case)
        text = cute_of(found)
        if text is None:
            assert found.dtype.name == "b1"
            continue
        order = (0, 1) if "Step<cute::_1, cute::_2" in text else (1, 0)
        whole = atom(found.mode, found.major, found.dtype).tile_to_shape((found.rows, found.k), order)
        assert whole.same(found.tile), case
