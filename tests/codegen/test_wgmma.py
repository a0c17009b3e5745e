"""Tiles around wgmma: their addresses against the layouts; what is refused; their texts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest
from tests.codegen import wgmma_in_cute
from tests.codegen.wgmma_cases import CASES, Case, random_cases
from tests.hardware.of_wgmma import reads

from tilewise import LayoutError, Refused, parse
from tilewise.codegen import source_of
from tilewise.codegen.parts.copies import chunks
from tilewise.codegen.parts.template import filled
from tilewise.codegen.wgmma import Operand, planned
from tilewise.codegen.wgmma.styles import constants_source, cute_source
from tilewise.hardware.limits import SHARED_BYTES

SHARED = [(case, own) for case in (*CASES, *random_cases(40, seed=4)) for own in case.plan.in_shared]
NAMES = [f"{case} {own.name}" for case, own in SHARED]


def bytes_of(own: Operand) -> Callable[[int, int], int]:
    """The byte of an element in its tile, by the definition of the layout."""
    layout, bits = own.tile, own.input.dtype.bits
    return lambda row, k: layout.place(row, k)["m"] * bits // 8


def samples(rows: int, k: int) -> list[tuple[int, int]]:
    """Some elements: corners, and steps that share no factor with a power of two."""
    return [*itertools.product((0, rows - 1), (0, k - 1)), *((x * 7 % rows, x * 13 % k) for x in range(8))]


def test_there_are_forty_tiles_and_each_kind_is_among_them() -> None:
    plans = [case.plan for case in CASES]
    shared = [own for plan in plans for own in plan.in_shared]
    assert len(set(map(str, CASES))) == len(CASES) >= 40
    assert {plan.a.input.name for plan in plans} == set("f16 bf16 tf32 e4m3 e5m2 s8 u8 b1".split())
    assert {(own.mode.name, own.major) for own in shared if own.input.dtype.bits == 16} == {
        *itertools.product(("none", "32B", "64B", "128B"), ("k", "mn"))
    }
    assert {(own.name, own.major, own.order) for own in shared if own.order} == {
        *itertools.product("AB", ("k", "mn"), ("mn", "k"))
    }
    assert {plan.accumulator.name for plan in plans} == {"f16", "f32", "s32"}
    assert {plan.a.in_registers for plan in plans} == {True, False}


# -- addresses --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("case", "own"), SHARED, ids=NAMES)
def test_each_instruction_reads_its_part_of_the_tile(case: Case, own: Operand) -> None:
    one, rows, byte_of = own.input, 64 if own.name == "A" else own.rows, bytes_of(own)
    for step in own.steps:
        seen = reads(step.descriptor, dtype=one.dtype, major=own.major, operand=own.name, n=rows)
        for row, k in samples(rows, one.k):
            at = step.mn * rows + row, step.k * one.k + k
            assert seen.place(row, k)["m"] == byte_of(*at)


@pytest.mark.parametrize(("case", "own"), SHARED, ids=NAMES)
def test_copies_by_threads_put_every_16_bytes_where_the_tile_has_them(case: Case, own: Operand) -> None:
    names, each, byte_of = {}, 128 // own.input.dtype.bits, bytes_of(own)
    exec(source_of(chunks(own), "python", name="place").code, names)
    for row, k in samples(own.rows, own.k):
        line, along = (row, k) if own.major == "k" else (k, row)
        inside = along % each * own.input.dtype.bits // 8
        assert names["place"](line, along // each) * 16 + inside == byte_of(row, k)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_registers_hold_whole_words_and_d_pairs_of_neighbours(case: Case) -> None:
    plan = case.plan
    assert plan.fragment.pack(2, "reg").size * 2 == 64 * plan.n
    if plan.a.in_registers:
        assert plan.a.tile.max("reg") + 1 == 4 * 32 // plan.a.input.dtype.bits


def test_stages_and_operands_do_not_overlap_and_begin_where_patterns_do() -> None:
    for case in CASES:
        plan = case.plan
        ends = [(plan.offsets[own.name], plan.offsets[own.name] + own.bytes) for own in plan.in_shared]
        assert all(start % 1024 == 0 for start, _ in ends)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))
        assert ends[-1][1] <= plan.stage_bytes
        assert plan.stage_bytes % 1024 == 0
        assert plan.shared_bytes <= SHARED_BYTES


# -- texts ------------------------------------------------------------------------------------------


def test_a_transpose_bit_for_each_16_bit_operand_in_shared_memory() -> None:
    def flags(*dtypes: str, **asked: object) -> str:
        found = re.search(r"%\d+, ([\d, ]+);", constants_source(planned((64, 64, 256), *dtypes, **asked)))
        assert found
        return found[1]

    assert flags("bf16", majors=("mn", "k")) == "1, 1, 1, 1, 0"
    assert flags("f16", majors=("k", "mn")) == "1, 1, 1, 0, 1"
    assert flags("f16", majors=("mn", "mn"), a_from="reg") == "1, 1, 1, 1"
    assert flags("tf32") == "1, 1, 1"
    assert flags("e4m3", "e5m2") == "1, 1, 1"
    assert flags("s8", "u8") == flags("b1") == "1"


def test_bare_constants_have_the_rows_of_a_when_there_are_several_blocks() -> None:
    text = constants_source(planned((128, 64, 128), "bf16", orders=("k", "mn")))
    assert "constexpr unsigned long long A_DESCRIPTOR = 0x4000008000010000;" in text
    assert "constexpr unsigned A_STEP[] = {0, 2, 4, 6, 64, 66, 68, 70};" in text
    assert "constexpr unsigned A_ROWS[] = {0, 1024};" in text
    assert "constexpr unsigned B_STEP[] = {0, 2, 4, 6, 512, 514, 516, 518};" in text
    assert "B_ROWS" not in text


def test_cute_names_the_atom_and_the_instruction() -> None:
    text = cute_source(
        planned((128, 40, 64), "f16", majors=("mn", "k"), modes=("32B", "64B"), orders=("k", "mn"))
    )
    assert "GMMA::Layout_MN_SW32_Atom<half_t>{}, Shape<Int<128>, Int<64>>{}, Step<_2, _1>{}" in text
    assert "GMMA::Layout_K_SW64_Atom<half_t>{}, Shape<Int<40>, Int<64>>{}, Step<_1, _2>{}" in text
    assert (
        "SM90_64x40x16_F32F16F16_SS<GMMA::Major::MN, GMMA::Major::K>{}, Layout<Shape<Int<2>, _1, _1>>" in text
    )
    assert "#define CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED" in text
    held = cute_source(planned((64, 64, 64), "s8", "u8", a_from="reg"))
    assert "SM90_64x64x32_S32S8U8_RS_TN{}" in held
    assert "ATile" not in held


def test_the_script_that_needs_cute_can_be_called() -> None:
    kernel = wgmma_in_cute._kernel(CASES[0].plan, 0)
    assert "place_A(unsigned i, unsigned j)" in kernel
    assert "multiply((half_t *)shared, (half_t *)(shared + 8192), d);" in kernel


# -- refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tile", "dtypes", "asked", "code", "words"),
    [
        ((96, 64, 64), ("bf16",), {}, "TW602", "M = 96 is no multiple of the 64 of a warpgroup"),
        ((64, 60, 64), ("bf16",), {}, "TW602", "m64n60k16 does not exist"),
        ((64, 40, 64), ("s8",), {}, "TW602", "m64n40k32 does not exist for s8"),
        ((64, 64, 40), ("bf16",), {}, "TW602", "K = 40 is no multiple of the 16"),
        ((64, 64, 64), ("f32",), {}, "TW602", "wgmma does not multiply f32"),
        ((64, 64, 64), ("f16", "bf16"), {}, "TW602", "no wgmma multiplies f16 by bf16"),
        ((64, 64, 64), ("bf16",), {"accumulator": "f16"}, "TW602", "bf16 does not accumulate in f16"),
        ((64, 64, 64), ("e4m3",), {"majors": ("mn", "k")}, "TW602", "reads e4m3 K-major alone"),
        ((64, 64, 32), ("bf16",), {"modes": ("128B", None)}, "TW603", "no whole number of 128B atoms"),
        ((64, 96, 64), ("bf16",), {"majors": ("k", "mn"), "modes": (None, "128B")}, "TW603", "96 rows"),
        ((64, 256, 512), ("bf16",), {}, "TW602", "327680 bytes of shared memory"),
        ((256, 256, 64), ("bf16",), {}, "TW602", "more than a multiprocessor holds"),
        ((1088, 8, 16), ("bf16",), {}, "TW602", "more than a multiprocessor holds"),
        ((64, 64, 64), ("bf16",), {"a_from": "reg", "modes": ("64B", None)}, "TW602", "no swizzle mode"),
        (
            (64, 64, 256),
            ("b1",),
            {"a_from": "reg", "majors": ("mn", "k")},
            "TW602",
            "does not fill registers",
        ),
    ],
)
def test_what_is_refused_and_why(tile, dtypes, asked, code, words) -> None:
    with pytest.raises(Refused) as no:
        planned(tile, *dtypes, **asked)
    assert no.value.code == code
    assert words in no.value.reason


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"a_from": "tmem"}, "TW601"),
        ({"orders": ("m", "k")}, "TW601"),
        ({"majors": ("row", "k")}, "TW601"),
        ({"majors": ("row", "k"), "a_from": "reg"}, "TW601"),
        ({"modes": ("96B", None)}, "TW601"),
    ],
)
def test_what_is_not_understood(asked, code) -> None:
    with pytest.raises(LayoutError) as error:
        planned((64, 64, 64), "bf16", **asked)
    assert error.value.code == code
    assert not isinstance(error.value, Refused)


@pytest.mark.parametrize(
    ("text", "asked", "code", "words"),
    [
        ("S[(64, 64) : (64, 1)]", {}, "TW605", "the addresses are not swizzled"),
        ("S[(64, 32) : (64, 1)]", {}, "TW602", "the layout of A is 64 x 32, and its tile 64 x 64"),
        ("Swizzle<3,3,3> o S[(64, 64) : (1, 64)]", {"majors": ("k", None)}, "TW605", "wgmma does not read"),
        ("Swizzle<3,3,3> o S[(64, 64) : (64, 1)] + R[2 : 4096]", {}, "TW605", ""),
    ],
)
def test_layouts_that_wgmma_does_not_read(text, asked, code, words) -> None:
    with pytest.raises(Refused) as no:
        planned((64, 64, 64), "bf16", layouts=(parse(text), None), **asked)
    assert no.value.code == code
    assert words in no.value.reason


def test_blocks_of_64_rows_are_evenly_apart() -> None:
    layout = parse("Swizzle<3,3,3> o S[((2, 2, 8, 8), 64) : ((16384, 4096, 512, 64), 1)]")
    with pytest.raises(Refused, match="not evenly apart"):
        planned((256, 64, 64), "bf16", layouts=(layout, None))
    assert planned((128, 64, 64), "bf16", layouts=(parse(str(layout).replace("(2, 2,", "(2, 1,")), None))


@pytest.mark.parametrize("asked", [{"modes": ("64B", None)}, {"orders": ("mn", None)}, {"a_from": "reg"}])
def test_a_layout_says_alone_how_the_tile_lies(asked) -> None:
    layout = parse("Swizzle<3,3,3> o S[(64, 64) : (64, 1)]")
    with pytest.raises(LayoutError, match="A has a layout and") as error:
        planned((64, 64, 64), "bf16", layouts=(layout, None), **asked)
    assert error.value.code == "TW401"


def test_a_layout_that_the_tables_have_gives_the_kernel_of_the_tables() -> None:
    spelled = parse("Sw<3,4,3> o smem_ptr[16b](unset) o ((_8,_16),(_64,_1)):((_64,_512),(_1,_0))")
    asked = planned((128, 64, 64), "bf16", layouts=(spelled, None), majors=("k", None))
    usual = planned((128, 64, 64), "bf16")
    texts = [re.sub(r"^//.*\n", "", constants_source(plan), flags=re.MULTILINE) for plan in (asked, usual)]
    assert texts[0] == texts[1]
    with pytest.raises(Refused, match="names CuTe's atoms"):
        cute_source(asked)


def test_cute_has_no_bits_and_no_m_major_registers() -> None:
    with pytest.raises(Refused, match="CuTe has no wgmma on b1"):
        cute_source(planned((64, 8, 256), "b1"))
    with pytest.raises(Refused, match="K-major alone"):
        cute_source(planned((64, 8, 16), "f16", majors=("mn", "k"), a_from="reg"))


@pytest.mark.parametrize(
    ("dtype", "options", "said"),
    [
        (
            "bf16",
            {},
            "d is added to (1), nothing is negated (1, 1), A is K-major (0), B is K-major (0).",
        ),
        (
            "f16",
            {"a_from": "reg", "majors": ("k", "mn")},
            "d is added to (1), nothing is negated (1, 1), B is MN-major (1).",
        ),
        ("tf32", {}, "d is added to (1), nothing is negated (1, 1)."),
        ("s8", {}, "d is added to (1)."),
    ],
)
def test_the_operands_after_the_descriptors_are_explained(dtype, options, said) -> None:
    assert f"// After the operands: {said}\n" in constants_source(planned((64, 64, 64), dtype, **options))


# -- templates --------------------------------------------------------------------------------------


def test_a_slot_alone_on_a_line_is_any_number_of_lines() -> None:
    assert filled("{\n    $a\n    $b\n}", {"a": "x;\n\ny;", "b": ""}) == "{\n    x;\n\n    y;\n}"
    assert filled("${a}d $b", {"a": 3, "b": "$a"}) == "3d $a"
    with pytest.raises(KeyError):
        filled("$missing", {})
