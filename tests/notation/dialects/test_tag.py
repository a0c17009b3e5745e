"""Letter tags, held to what their letters mean, loop by loop."""

from __future__ import annotations

import json
import re
from gzip import decompress
from itertools import islice, product
from math import prod
from pathlib import Path
from random import Random

import pytest

from tilewise import LayoutError, S, parse
from tilewise.notation import dialects
from tilewise.notation.dialects import DIALECTS, Given, dialect_of, read
from tilewise.notation.read import reading

TAG = DIALECTS["tag"]
RECORDS = Path(__file__).with_name("records")
RECORD = RECORDS / "tag.json.gz"
"""Random tags and what TVM answers; tests/oracle/test_tag.py writes it."""
ONEDNN = RECORDS / "onednn.json.gz"
"""Every named tag of dnnl_format_tag_t and the tag in letters that it is another name of.

From include/oneapi/dnnl/dnnl_types.h of https://github.com/uxlfoundation/oneDNN.
"""
ORDERS = ("ncdhw", "nchw", "ncw", "goidhw", "oihw", "tnc", "abcdefgh", "abcd", "abc", "ab")


def naive_place(tag, names, index, shape):
    """The place of an element: blocks are counted off the dimension from its last block on."""
    pieces = re.findall(r"([0-9]*)([A-Za-z])", tag)
    left = dict(zip(names, index, strict=True))
    size = dict(zip(names, shape, strict=True))
    found = {}
    for at, (factor, letter) in reversed(list(enumerate(pieces))):
        if factor:
            name = letter.lower()
            found[at] = (left[name] % int(factor), int(factor))
            left[name] //= int(factor)
            size[name] = (size[name] + int(factor) - 1) // int(factor)
    for at, (factor, letter) in enumerate(pieces):
        if not factor:
            found[at] = (left[letter.lower()], size[letter.lower()])
    place = 0
    for at in range(len(pieces)):
        place = place * found[at][1] + found[at][0]
    return place


def drawn(rng, most_blocks=3, factors=(1, 2, 3, 4, 8)):
    """A tag, the names of its dimensions in the order of the shape, and a shape: some of it is padded."""
    names = rng.choice(ORDERS)
    blocks = [rng.choice(names) for _ in range(rng.randint(0, most_blocks))]
    capital = rng.random() < 0.5
    whole = [name.upper() if name in blocks or capital else name for name in rng.sample(names, len(names))]
    tag = "".join(whole) + "".join(f"{rng.choice(factors)}{name}" for name in blocks)
    return tag, names, tuple(rng.choice((1, 2, 3, 4, 6, 8, 12)) for _ in names)


def test_drawn_tags_are_what_the_loops_say(times):
    rng = Random(1)
    for _ in range(times(400)):
        tag, names, shape = drawn(rng)
        found = reading(tag, shape=shape)
        for index in islice(product(*map(range, shape)), 0, None, 1 + prod(shape) // 50):
            assert found.layout.place(*index)["m"] == naive_place(tag, names, index, shape)
        assert found.box in (None, shape)


def test_the_offset_of_onednns_document():
    """offset_nChw8c of doc/advanced/understanding_memory_formats.md, and its 17 channels that are 24."""
    found = reading("nChw8c", shape=(2, 17, 3, 5))
    for n, c, h, w in product(range(2), range(17), range(3), range(5)):
        offset = n * 24 * 3 * 5 + c // 8 * 3 * 5 * 8 + h * 5 * 8 + w * 8 + c % 8
        assert found.layout.place(n, c, h, w)["m"] == offset
    assert found.box == (2, 17, 3, 5)
    assert found.layout.size == 2 * 24 * 3 * 5


def test_every_named_tag_of_onednn_is_the_tag_in_letters():
    pairs = json.loads(decompress(ONEDNN.read_bytes()))
    assert len(pairs) > 700
    for named, lettered in pairs:
        shape = (40, 48, 5, 6, 7, 3)[: len(set(re.sub("[0-9]", "", lettered).lower()))]
        ours = [read(TAG, Given(tag, shape)).layout for tag in (named, lettered)]
        assert ours[0] == ours[1], named
        assert dialect_of(lettered).name == "tag"
        assert named in ("nt", "tn") or dialect_of(named).name == "tag"


def test_records_of_tvm():
    for tag, shape, answers in json.loads(decompress(RECORD.read_bytes())):
        layout = parse(tag, shape=tuple(shape))
        assert [layout.place(*index)["m"] for index, _ in answers] == [place for _, place in answers]


def test_two_names_of_one_layout():
    shape = (64, 32, 3, 3)
    assert parse("OIhw4i16o4i", shape=shape) == parse("ABcd4b16a4b", shape=shape)
    assert parse("OIHW4i16o4i", shape=shape) == parse("OIhw4i16o4i", shape=shape)
    assert parse("NHWC", shape=shape) == parse("nhwc", shape=shape) == parse("acdb", shape=shape)


def test_notes_tell_the_order_of_the_shape():
    assert reading("NHWC", shape=(2, 3, 4, 5)).notes == ("the tensor's dimensions are n, c, h, w",)
    assert reading("acdb", shape=(2, 3, 4, 5)).notes == ()


def test_writing_gives_the_same_map(times):
    rng = Random(2)
    for _ in range(times(2000)):
        tag, _, shape = drawn(rng)
        layout = read(TAG, Given(tag, shape)).layout
        text = dialects.write(TAG, layout, Given())
        extents = tuple(prod(mode) if isinstance(mode, tuple) else mode for mode in layout.shape)
        again = read(TAG, Given(text, extents))
        assert again.box is None
        assert again.layout.same(layout).answer is True


@pytest.mark.parametrize("tag", ["abcd", "acdb", "aBcd16b", "ABcd4b16a4b", "BA4b8a2b", "Ab16a"])
def test_what_onednn_names_is_written_back(tag):
    names = sorted(set(re.sub("[0-9]", "", tag).lower()))
    layout = parse(tag, shape=(64, 32, 3, 5)[: len(names)])
    assert dialects.write(TAG, layout, Given()) == tag


@pytest.mark.parametrize(
    "layout",
    [S[(8, 8) : (16, 1)], S[((2, 4), 8) : ((8, 16), 1)], parse("S[(4, 8) : (1@laneid, 1)]"), S[8:-1], S[()]],
)
def test_what_a_tag_cannot_say_is_refused_in_words(layout):
    with pytest.raises(LayoutError) as error:
        dialects.write(TAG, layout, Given())
    assert error.value.code == "TW008"


WORDS = """
layout info face cable label bad gold doing window child dog who a x 123 12a abba NNCHW bcd nt in on
id count reg S laneid nchw16 _ab ab.c M MN KN"""


@pytest.mark.parametrize("word", [*WORDS.split(), "NCHW16c o S"])
def test_words_are_no_tags(word):
    assert dialect_of(word) is None


@pytest.mark.parametrize(
    "tag", ["NCHW", "nhwc", "NCHW4h16c", "16cNCHW", "hwio", "chw", "ldigo", "cab", "ba", " ab\n"]
)
def test_tags_have_the_looks(tag):
    assert dialect_of(tag).name == "tag"


def test_looks_of_long_words_end_soon():
    """Words that are no tags are seen by their length, whatever their letters."""
    assert dialect_of("ab" * 100_000) is None
    assert dialect_of("a" * 100_000 + "1") is None
