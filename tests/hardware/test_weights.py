"""Packed weights: where programs put each one; plain loops; the lanes of mma.sync; what is refused."""

from itertools import product

import numpy as np
import pytest
from tests.oracle.weight_packers import answers_of, packed, recorded

from tilewise import LayoutError, Refused, move, parse
from tilewise.hardware.catalog import entries, find
from tilewise.hardware.catalog.instances import instance_of, instances_of
from tilewise.hardware.catalog.places import positions_at
from tilewise.hardware.weights.packed import BLOCKS
from tilewise.tables import table

NAMES = [name for name in entries() if name.partition(".")[0] in ("awq", "gptq", "marlin", "gguf")]
OWN = {"AutoAWQ": "awq", "AutoGPTQ": "gptq", "Marlin": "marlin", "gguf": "gguf"}
OTHERS = {"vLLM": ("awq", "gptq", "marlin"), "tinygrad": ("gguf",)}


def places(name, **values):
    """The place of each element, in the order of their indices."""
    layout = find(name)(**values).layout
    return [place for (place,) in table(layout).columns["m"].reshape(-1, 1).tolist()]


# -- what programs do ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [answer for answers in recorded().values() for answer in answers],
    ids=lambda answer: f"{answer.function} {answer.entry}",
)
def test_no_program_has_a_weight_elsewhere(answer):
    ours = places(answer.entry, **answer.values)
    assert len(ours) > 100
    assert list(answer.places) == ours


def test_every_instance_was_asked_of_a_program_and_every_entry_of_another_one():
    said = {
        program: {
            (answer.entry, instance_of(find(answer.entry), find(answer.entry).bind(named=answer.values)))
            for answer in answers_of(program)
        }
        for program in (*OWN, *OTHERS)
    }
    there = {(name, instance) for name in NAMES for instance in instances_of(find(name))}
    assert set().union(*said.values()) == there
    assert set().union(*(said[program] for program in OTHERS)) == there
    for program, family in OWN.items():
        assert {entry.partition(".")[0] for entry, _ in said[program]} == {family}


def test_a_record_that_is_wrong_would_be_noticed():
    from dataclasses import replace

    from tests.oracle.claims import difference
    from tests.oracle.weight_claims import places_of

    answer = answers_of("AutoAWQ")[0]
    layout = find(answer.entry)(**answer.values).layout
    first, second, *rest = answer.places
    assert not difference(layout, places_of(answer))
    assert difference(layout, places_of(replace(answer, places=(second, first, *rest))))


# -- by plain loops --------------------------------------------------------------------------------


def awq_place(k, n, wide):
    return (k * wide + n // 8 * 8) + [0, 2, 4, 6, 1, 3, 5, 7].index(n % 8)


def gptq_place(k, n, wide, bits):
    each = 32 // bits
    return ((k // each) * wide + n) * each + k % each


@pytest.mark.parametrize(("deep", "wide"), [(1, 8), (3, 24), (40, 16)])
def test_awq_by_a_loop(deep, wide):
    assert places("awq.weight", k=deep, n=wide) == [
        awq_place(k, n, wide) for k, n in product(range(deep), range(wide))
    ]
    assert places("awq.zero", k=5 * deep, n=wide, group_size=5) == places("awq.weight", k=deep, n=wide)


@pytest.mark.parametrize(("deep", "wide", "bits"), [(8, 1, 4), (24, 3, 4), (12, 5, 8), (4, 4, 8)])
def test_gptq_by_a_loop(deep, wide, bits):
    assert places("gptq.weight", k=deep, n=wide, bits=bits) == [
        gptq_place(k, n, wide, bits) for k, n in product(range(deep), range(wide))
    ]


HEADERS = {"q4_0": 2, "q8_0": 2, "q4_k": 16, "mxfp4": 1}


@pytest.mark.parametrize("name", HEADERS)
def test_blocks_by_a_loop(name):
    rows, k, block = 3, 512, BLOCKS[name]
    ours, byte = places(f"gguf.{name}", rows=rows, k=k), 0
    each = 1 if name == "q8_0" else 2
    expected = {}
    for row, first in product(range(rows), range(0, k, block.weights)):
        byte += HEADERS[name]
        run = {"q4_k": 64}.get(name, 32)
        for begin in range(first, first + block.weights, run):
            for step in range(run // each):
                for half in range(each):
                    expected[row, begin + half * (run // each) + step] = byte * each + half
                byte += 1
    assert ours == [expected[index] for index in product(range(rows), range(k))]
    assert byte == rows * k // block.weights * block.bytes


@pytest.mark.parametrize(("bits", "a_bits"), [(4, 16), (8, 16), (4, 8), (8, 8)])
def test_a_lane_of_marlin_has_what_it_multiplies(bits, a_bits):
    """32 weights of a lane lie together, and are those that mma.sync has in that lane as B."""
    deep, form = (16, ("m16n8k16", "f16")) if a_bits == 16 else (32, ("m16n8k32", "s8"))
    b = find("mma.B")(*form).layout
    ours = find("marlin.weight")(k=2 * deep, n=128, bits=bits, a_bits=a_bits).layout
    for k, n in product(range(2 * deep), range(128)):
        lane = b.place(n % 8, k % deep).as_dict()["laneid"]
        assert ours.place(k, n).as_dict()["m"] // 32 % 32 == lane


@pytest.mark.parametrize(("bits", "pair"), [(4, 4), (8, 2)])
def test_masks_of_16_bits_take_the_pairs_of_marlin_apart(bits, pair):
    """A register of mma.sync has two neighbours along K, and each half of a word has one of them."""
    ours = find("marlin.weight")(k=16, n=64, bits=bits).layout
    for k, n in product(range(0, 16, 2), range(64)):
        first, second = (ours.place(k + odd, n).as_dict()["m"] for odd in (0, 1))
        assert second - first == pair == 16 // bits
        assert first // (32 // bits) == second // (32 // bits)


def test_no_two_weights_share_bits():
    for name in NAMES:
        for values in instances_of(find(name)).values():
            found = places(name, **{key: value for key, value in values.items() if value is not None})
            assert len(set(found)) == len(found)


# -- answers and refusals --------------------------------------------------------------------------


def test_a_byte_of_a_block_has_two_weights_and_a_header_none():
    built = find("gguf.q4_0")(rows=1, k=64)
    assert [one.index for one in positions_at(built, {"byte": 2})] == [(0, 0), (0, 16)]
    assert [one.index for one in positions_at(built, {"byte": 20})] == [(0, 32), (0, 48)]
    for byte in (0, 1, 18, 19):
        assert not positions_at(built, {"byte": byte})


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("awq.weight(k=8, n=12)", "n = 12 is no multiple of 8, the columns of a word of AWQ"),
        ("awq.zero(k=200, n=64)", "k = 200 is no whole number of groups of 128"),
        ("awq.zero(k=128, n=64, group_size=0)", "k = 128 is no whole number of groups of 0"),
        ("awq.zero(k=128, n=64, group_size=-2)", "k = 128 is no whole number of groups of -2"),
        ("gptq.weight(k=60, n=8)", "k = 60 is no multiple of 8, the rows of a word of GPTQ"),
        ("gptq.weight(k=6, n=8, bits=8)", "k = 6 is no multiple of 4, the rows of a word of GPTQ"),
        ("gptq.zero(k=128, n=4)", "n = 4 is no multiple of 8, the columns of a word of GPTQ's zeros"),
        ("marlin.weight(k=24, n=64)", "k = 24 is no multiple of 16, the rows of a tile of Marlin"),
        ("marlin.weight(k=48, n=64, a_bits=8)", "k = 48 is no multiple of 32, the rows of a tile of Marlin"),
        ("marlin.weight(k=64, n=96)", "n = 96 is no multiple of 64, the columns that Marlin takes at a time"),
        ("marlin.scale(k=128, n=32)", "n = 32 is no multiple of 64, the columns that Marlin takes at a time"),
        ("gguf.q4_0(rows=1, k=48)", "k = 48 is no multiple of 32, the weights of a block of q4_0"),
        ("gguf.q4_k(rows=1, k=128)", "k = 128 is no multiple of 256, the weights of a block of q4_k"),
        ("gptq.g_idx(k=128)", "with act-order g_idx names the group of each row: data, and no layout"),
        ("gguf.q4_k.scale(1, 256)", "a scale or a minimum of sub-blocks 4 to 7 is two fields"),
        ("gguf.q6_k(1, 256)", "a weight of this type is two fields of its block"),
        ("awq.scale(128, 64)", "scales are f16 [groups, N], row after row"),
    ],
)
def test_what_there_is_not_is_refused_with_a_witness(call, reason):
    with pytest.raises(Refused) as no:
        parse(call)
    assert no.value.reason.startswith(reason)
    assert no.value.witness
    assert no.value.hint


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("awq.weight(k=0, n=8)", "TW102"),
        ("awq.weight(k=8, n=-8)", "TW102"),
        ("awq.weight(k=-1, n=8)", "TW102"),
        ("gptq.weight(k=-8, n=8)", "TW102"),
        ("gptq.weight(k=8, n=-1)", "TW102"),
        ("gptq.zero(k=-128, n=8)", "TW102"),
        ("gptq.zero(k=0, n=8, group_size=-1)", "TW102"),
        ("marlin.weight(k=-16, n=64)", "TW102"),
        ("marlin.weight(k=16, n=-64)", "TW102"),
        ("marlin.scale(k=-128, n=64)", "TW102"),
        ("marlin.scale(k=128, n=-64)", "TW102"),
        ("gguf.q8_0(rows=1, k=-32)", "TW102"),
        ("gguf.q8_0(rows=0, k=32)", "TW102"),
        ("gptq.weight(k=64, n=8, bits=3)", "TW601"),
        ("marlin.weight(k=64, n=64, a_bits=4)", "TW601"),
        ("marlin.weight(k=64)", "TW601"),
        ("gguf.q4_0(rows=1, k=many)", "TW007"),
    ],
)
def test_what_is_not_understood(call, code):
    with pytest.raises(LayoutError) as error:
        parse(call)
    assert error.value.code == code


def test_the_order_of_scales_goes_by_the_groups():
    grouped, single = (find("marlin.scale")(k=256, n=64, group_size=size) for size in (128, -1))
    assert [one.facts["order"] for one in (grouped, single)] == ["scale_perm", "scale_perm_single"]
    whole = find("marlin.scale")(k=256, n=64, group_size=256)
    assert whole.layout == single.layout
    of_bytes = find("marlin.scale")(k=256, n=64, a_bits=8)
    assert of_bytes.facts["order"] == "scale_perm_single"


def test_the_tensor_has_the_bits_of_its_elements():
    for name in NAMES:
        for values in instances_of(find(name)).values():
            built = find(name).build(**values)
            if name.startswith("gguf"):
                assert (built.layout.max("m") + 1) * built.dtype.bits == built.facts["bytes"] * 8
                continue
            rows, columns = built.facts["tensor"]["shape"]
            width = 16 if built.facts["tensor"]["dtype"] == "float16" else 32
            assert rows * columns * width == built.layout.size * built.dtype.bits


def test_a_model_of_any_size_is_a_layout_of_few_digits():
    ours = parse("marlin.weight(k=1048576, n=1048576)")
    assert ours.size == 1 << 40
    assert ours.place(1048575, 1048575).as_dict()["m"] == (1 << 40) - 1


def test_awq_of_even_columns_first_is_what_marlin_makes_of_pairs_of_rows():
    """The word of both is the one by which masks of 16 bits take neighbours apart."""
    awq = find("awq.weight")(k=1, n=8).layout
    assert [awq.place(0, n).as_dict()["m"] for n in range(8)] == [0, 4, 1, 5, 2, 6, 3, 7]


def test_a_move_makes_of_awqs_words_what_vllm_makes_for_marlin():
    """Both sides by the record: AutoAWQ's words go in, vLLM's come out."""
    awq = next(answer for answer in answers_of("AutoAWQ") if answer.entry == "awq.weight")
    marlin = next(answer for answer in answers_of("vLLM") if answer.entry == "marlin.weight")
    assert (
        awq.values | {"bits": 4, "a_bits": 16}
        == marlin.values
        == {"k": 64, "n": 128, "bits": 4, "a_bits": 16}
    )
    weights = np.random.default_rng(7).integers(0, 16, 64 * 128)
    given, wanted = np.empty((2, 64 * 128), np.uint8)
    given[list(awq.places)], wanted[list(marlin.places)] = weights, weights
    source, target = parse("awq.weight(k=64, n=128)"), parse("marlin.weight(k=64, n=128)")
    made = move(packed(given, 4), source, target, dtype="u4")
    assert np.array_equal(made, packed(wanted, 4))
