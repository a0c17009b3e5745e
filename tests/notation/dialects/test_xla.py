"""XLA's layouts, held to what their tiles mean, loop by loop (https://openxla.org/xla/tiled_layout)."""

from __future__ import annotations

import json
from gzip import decompress
from itertools import islice, product
from math import prod
from pathlib import Path
from random import Random

import pytest

from tilewise import LayoutError, Refused, S, parse
from tilewise.core.dtypes import DTYPES, DType
from tilewise.notation import dialects
from tilewise.notation.dialects import DIALECTS, Given, dialect_of, read
from tilewise.notation.read import reading

XLA = DIALECTS["xla"]
RECORD = Path(__file__).with_name("records") / "xla.json.gz"
"""Random tilings and what Mosaic's `Tiling` answers; tests/oracle/test_mosaic.py writes it."""


def naive_place(index, shape, order, tiles):
    """The place of an element as the document says it: join, divide, and count row by row."""
    at = [index[dimension] for dimension in reversed(order)]
    extents = [shape[dimension] for dimension in reversed(order)]
    for tile in tiles:
        first = len(extents) - len(tile)
        joined = []  # of the dimensions that the tile cuts: (index, extent, size in the tile)
        position, size = 0, 1
        for step, extent, size_in_tile in zip(at[first:], extents[first:], tile, strict=True):
            position, size = position * extent + step, size * extent
            if size_in_tile != "*":
                joined.append((position, size, size_in_tile))
                position, size = 0, 1
        at = at[:first] + [p // t for p, _, t in joined] + [p % t for p, _, t in joined]
        extents = extents[:first] + [(e + t - 1) // t for _, e, t in joined] + [t for _, _, t in joined]
    place = 0
    for step, extent in zip(at, extents, strict=True):
        place = place * extent + step
    return place


def spelled(shape, order, tiles, type_name="f32"):
    """The text of an array."""
    tiling = "".join(f"({','.join(map(str, tile))})" for tile in tiles)
    inside = ",".join(map(str, order)) + (f":T{tiling}" if tiles else "")
    return f"{type_name}[{','.join(map(str, shape))}]{{{inside}}}"


def tried(call, *arguments):
    """Return what a call gives, and None; or None, and its refusal."""
    try:
        return call(*arguments), None
    except LayoutError as error:
        return None, error


def drawn(rng, extents=(1, 2, 3, 4, 6, 8, 12, 16)):
    """A shape, an order, and tiles; some of them pad, some join dimensions."""
    rank = rng.randint(1, 3)
    shape = [rng.choice(extents) for _ in range(rank)]
    order = rng.sample(range(rank), rank)
    tiles, dimensions = [], rank
    for _ in range(rng.randint(0, 3)):
        tile = [rng.choice((1, 2, 2, 3, 4, 8, "*")) for _ in range(rng.randint(1, min(dimensions, 4)))]
        tile[-1] = 2 if tile[-1] == "*" else tile[-1]
        tiles.append(tile)
        dimensions += sum(extent != "*" for extent in tile) - tile.count("*")
    return shape, order, tiles


def test_tiles_in_tiles_are_digits():
    """Tiles of 8 x 128 row by row, and inside each of them pairs of rows, column by column."""
    layout = parse("{1,0:T(8,128)(2,1)}", shape=(256, 512))
    for row, column in product((0, 1, 2, 7, 8, 9, 255), (0, 1, 127, 128, 511)):
        tile, inside = (row // 8) * 4 + column // 128, (row % 8) // 2 * 256 + column % 128 * 2 + row % 2
        assert layout.place(row, column)["m"] == tile * 1024 + inside


@pytest.mark.parametrize(
    ("text", "index", "place"),
    [
        ("f32[3,5]{1,0:T(2,2)}", (2, 3), 17),
        ("f32[8,8]{1,0:T(2,4)(2,1,1,1)}", (6, 5), 51),
    ],
)
def test_the_documents_own_examples(text, index, place):
    assert parse(text).place(*index)["m"] == place


def test_drawn_tilings_are_what_the_loops_say(times):
    rng = Random(2)
    refused = 0
    for _ in range(times(600)):
        shape, order, tiles = drawn(rng)
        found, no = tried(read, XLA, Given(spelled(shape, order, tiles)))
        if found is None:
            refused += 1
            if no.code == "TW510":
                assert no.witness["place"] == naive_place(no.witness["index"], shape, order, tiles)
            continue
        for index in islice(product(*map(range, shape)), 0, None, 5):
            assert found.layout.place(*index)["m"] == naive_place(index, shape, order, tiles)
        assert found.box in (None, tuple(shape))
    assert refused < times(600) // 2


def test_no_digits_give_what_is_refused_with_an_index(times):
    """On small arrays every choice of digits is tried."""
    rng = Random(3)
    checked = 0
    for _ in range(times(600)):
        shape, order, tiles = drawn(rng, extents=(1, 2, 3, 4, 5, 6))
        found, no = tried(read, XLA, Given(spelled(shape, order, tiles)))
        if found is None:
            checked += no.code == "TW510"
            says = has_digits(shape, lambda at, s=shape, o=order, t=tiles: naive_place(at, s, o, t))
            assert says is (no.code != "TW510")
    assert checked


def has_digits(shape, place):
    """Return whether places are a sum over dimensions, each of them a sum over some digits of its index."""
    zero = (0,) * len(shape)

    def line(dimension):
        return [
            place(tuple(step if at == dimension else 0 for at in range(len(shape))))
            for step in range(shape[dimension])
        ]

    lines = [line(dimension) for dimension in range(len(shape))]
    adds = all(
        place(index) - place(zero) == sum(lines[at][step] - place(zero) for at, step in enumerate(index))
        for index in product(*map(range, shape))
    )
    return adds and all(line_has_digits(line) for line in lines)


def line_has_digits(line):
    """Return whether a list of places is made by digits: of any factors, the slowest may end early."""
    if len(line) < 3:
        return True
    for fastest in range(2, len(line) + 1):
        step = line[1] - line[0]
        even = all(line[at] == line[at - at % fastest] + at % fastest * step for at in range(len(line)))
        if even and (fastest >= len(line) or line_has_digits(line[::fastest])):
            return True
    return False


def test_refusals_show_an_index():
    with pytest.raises(Refused) as no:
        parse("f32[64,64]{1,0:T(8,8)(3,1)}")
    assert no.value.code == "TW510"
    assert no.value.witness == {"index": (8, 0), "place": 576}


def test_records_of_mosaic():
    for shape, tiles, answers in json.loads(decompress(RECORD.read_bytes())):
        layout = parse(spelled(shape, [*reversed(range(len(shape)))], tiles))
        assert [layout.place(*index)["m"] for index, _ in answers] == [place for _, place in answers]


def test_writing_gives_the_same_map(times):
    rng = Random(4)
    written = 0
    while written < times(2000):
        shape, order, tiles = drawn(rng, extents=(1, 2, 4, 6, 8, 16))
        found, no = tried(read, XLA, Given(spelled(shape, order, tiles)))
        layout = found and found.layout
        text, no = tried(dialects.write, XLA, layout, Given(dtype=DType.of("f32"))) if found else (None, no)
        if text is None:
            assert no.code in ("TW503", "TW510", "TW008")
            continue
        written += 1
        assert parse(text).same(layout).answer is True
        assert text.count("(") <= len(tiles)


@pytest.mark.parametrize(
    "text",
    [
        "bf16[256,512]{1,0:T(8,128)(2,1)}",
        "f32[2,256,512]{2,1,0:T(8,128)}",
        "s8[512,256]{0,1:T(8,128)(4,1)}",
        "bf16[32,256]{1,0:T(8,128)(2,1,1,1)}",
        "f32[7,5,3]{0,2,1}",
        "f32[1,64,1]{2,1,0}",
        "f32[]{}",
    ],
)
def test_what_xla_prints_is_written_back(text):
    found = reading(text)
    assert dialects.write(XLA, found.layout, Given(dtype=found.dtype)) == text


def test_a_tiling_that_is_no_packed_array_is_refused_in_words():
    for layout in (S[(8, 8) : (16, 1)], parse("S[8 : 1@laneid]"), parse("S[8 : 1] + R[2 : 8]"), S[8:-1]):
        with pytest.raises(LayoutError) as error:
            dialects.write(XLA, layout, Given())
        assert error.value.code == "TW008"


def test_a_search_that_does_not_end_still_writes_exactly(monkeypatch):
    monkeypatch.setattr("tilewise.notation.dialects.tiling.MAX_STATES", 1)
    layout = parse("{1,0:T(8,16)(2,4)(2,1)}", shape=(32, 64))
    text = dialects.write(XLA, layout, Given())
    assert parse(text, shape=(32, 64)).same(layout).answer is True


@pytest.mark.parametrize(
    ("text", "dtype", "note"),
    [
        ("s4[8]{0:E(4)}", "s4", None),
        ("s4[8]{0}", "b8", "an element is of the type s4, and has 8 bits in memory"),
        ("pred[8]{0}", "b8", "an element is of the type pred, and has 8 bits in memory"),
        ("pred[8]{0:E(32)}", "b32", "an element is of the type pred, and has 32 bits in memory"),
        ("c64[8]{0}", "b64", "an element is of the type c64, and has 64 bits in memory"),
        ("f8e4m3fn[8]{0}", "e4m3", None),
        ("f8e5m2fnuz[8]{0}", "e5m2fnuz", None),
        ("f8e4m3b11fnuz[8]{0}", "b8", "an element is of the type f8e4m3b11fnuz, and has 8 bits in memory"),
        ("f4e2m1fn[8]{0:E(4)}", "e2m1", None),
        ("u2[8]{0:E(2)}", None, "an element is of the type u2, and has 2 bits in memory"),
        ("f7[8]{0}", None, "the type f7 is not known here"),
        ("{0:E(4)}", None, "4 bits an element"),
        ("f32[8]{0:S(5)}", "f32", "memory space 5"),
        (
            "f32[8]{0:D(D)L(4)#(u32)*(u64)}",
            "f32",
            "the buffer is padded at its end to a multiple of 4 elements",
        ),
        ("f32[8]{0:M(16)}", "f32", "16 bytes before the data hold the sizes of its dynamic dimensions"),
        ("f32[<=8]{0}", "f32", "dimension 0 is dynamic: the layout is that of its bound"),
    ],
)
def test_types_and_notes(text, dtype, note):
    found = reading(text, shape=(8,))
    assert found.layout.same(S[8:1]).answer is True
    assert str(found.dtype) == str(dtype)
    assert found.notes == (() if note is None else (note,))


def test_every_type_that_is_written_is_read_as_the_same():
    for name, dtype in DTYPES.items():
        text, no = tried(dialects.write, XLA, S[8:1], Given(dtype=dtype))
        assert no.code == "TW008" if text is None else reading(text).dtype == dtype, name


TUPLE = "(f32[2]{0}, /*index=1*/(s32[], bf16[8,16]{0,1}), token[])"


def test_tuples_have_parts():
    assert dialect_of(TUPLE).name == "xla"
    assert reading(TUPLE, part="0").layout.same(S[2:1]).answer
    assert reading(TUPLE, part="1.1").layout.same(S[(8, 16) : (1, 8)]).answer
    assert reading(TUPLE, part="1.0").notes == ("the text has no layout: row-major is XLA's default",)
    with pytest.raises(LayoutError, match=r"a tuple has 4 layouts: 0, 1\.0, 1\.1, 2"):
        parse(TUPLE)
    with pytest.raises(LayoutError, match="a token has no layout"):
        parse(TUPLE, part="2")


@pytest.mark.parametrize(
    "line",
    [
        "%p = bf16[8,16]{0,1:T(8,8)} parameter(0)",
        '  ROOT fusion.1 = bf16[8,16]{0,1:T(8,8)} fusion(%copy-done.2), kind=kLoop, metadata={op_name="a"}',
        "%copy-start.1 = bf16[8,16]{0,1:T(8,8)} copy(bf16[8,16]{1,0} %x)",
    ],
)
def test_the_result_of_an_instruction(line):
    assert dialect_of(line).name == "xla"
    assert reading(line).layout.same(parse("{0,1:T(8,8)}", shape=(8, 16))).answer
    assert reading(line).dtype == DType.of("bf16")


@pytest.mark.parametrize(
    "text",
    [
        "{replicated}",
        "{devices=[2,1]<=[2]}",
        "f32[8,8]{1,0}, sharding={devices=[2,1]<=[2]}",
        "%p = f32[8,8]{1,0} parameter(0), sharding={replicated}",
        "((8,2),(4,4)):((8,64),(1,4))",
        "(M,N):(N,1)",
        '{"schema": 1}',
        "%0 = tt.load %p : tensor<8xf32>",
        "f32[8,8]",
    ],
)
def test_texts_of_others_are_left_to_them(text):
    found = dialect_of(text)
    assert found is None or found.name != "xla"


def test_padding_is_counted_where_a_tile_ends():
    """The array ends inside its last tile, and the layout goes to the tile's end."""
    found = reading("f32[30,100]{1,0:T(8,128)}")
    assert found.box == (30, 100)
    assert prod((32, 128)) == found.layout.size


def test_of_several_instructions_one_is_named():
    text = "%b = f32[8,16]{0,1} copy(%a)\n%a = f32[8,16]{1,0} parameter(0)"
    assert [parse(text, part=name).place(1, 0)["m"] for name in ("%a", "%b")] == [16, 1]
    with pytest.raises(LayoutError, match="2 layouts: %b, %a"):
        parse(text)
