"""Every command, and Python, ask a layout in CuTe's notation in CuTe's words, and answer in them.

The oracle is the definition of an index in CuTe, as the plainest recursion. pycute agrees, where it is
installed.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from random import Random
from typing import Any

import pytest

from tilewise import parse
from tilewise.cli.main import main
from tilewise.tables import table

MOST = 96
"""Elements of a drawn layout at most."""


# -- CuTe's definition of an index -------------------------------------------------------------------


def size(mode: Any) -> int:
    return prod(map(size, mode)) if isinstance(mode, tuple) else mode


def offset_of(index: Any, shape: Any, stride: Any) -> int:
    """The sum of strides at a coordinate: a number counts the leftmost part of a mode fastest."""
    if isinstance(index, tuple):
        return sum(map(offset_of, index, shape, stride))
    if not isinstance(shape, tuple):
        return index * stride
    found = 0
    for inner, step in zip(shape, stride, strict=True):
        found += offset_of(index % size(inner), inner, step)
        index //= size(inner)
    return found


def nested(flat: int, shape: Any) -> Any:
    """The coordinate of a flat number, in the nesting of the shape."""
    if not isinstance(shape, tuple):
        return flat
    parts = []
    for inner in shape:
        parts.append(nested(flat % size(inner), inner))
        flat //= size(inner)
    return tuple(parts)


def counted(coordinate: tuple[int, ...], extents: tuple[int, ...]) -> int:
    """The flat number of one number a mode."""
    flat = 0
    for number, extent in zip(reversed(coordinate), reversed(extents), strict=True):
        flat = flat * extent + number
    return flat


@dataclass(frozen=True)
class Cute:
    """A layout as CuTe writes it."""

    shape: tuple[Any, ...]
    stride: tuple[Any, ...]
    swizzle: tuple[int, int, int] | None = None
    base: int = 0

    @property
    def text(self) -> str:
        plain = f"{spelled(self.shape)}:{spelled(self.stride)}"
        if self.swizzle is None:
            return plain
        return f"Sw<{','.join(map(str, self.swizzle))}> o {self.base} o {plain}"

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(map(size, self.shape))

    @property
    def size(self) -> int:
        return size(self.shape)

    def at(self, index: Any) -> int:
        """The place of an index: flat, one number a mode, or nested."""
        place = self.base + offset_of(index, self.shape, self.stride)
        if self.swizzle is None:
            return place
        bits, base, shift = self.swizzle
        return place ^ ((place & ((1 << bits) - 1) << base + shift) >> shift)

    def coordinate(self, flat: int) -> tuple[int, ...]:
        """One number a mode."""
        found = nested(flat, self.extents)
        return found if isinstance(found, tuple) else (found,)


def spelled(parts: Any) -> str:
    if not isinstance(parts, tuple):
        return str(parts)
    return f"({','.join(map(spelled, parts))})"


# -- what is drawn -----------------------------------------------------------------------------------


def drawn(rng: Random) -> Cute:
    """A layout of one to three modes, nested or not, swizzled or not."""
    while True:
        modes = [_mode(rng, 2) for _ in range(rng.choice((1, 2, 2, 2, 3)))]
        shape, stride = tuple(part for part, _ in modes), tuple(part for _, part in modes)
        if size(shape) <= MOST:
            break
    swizzle = (rng.randint(1, 3), rng.randint(0, 2), rng.randint(3, 4)) if rng.random() < 0.4 else None
    return Cute(shape, stride, swizzle, rng.choice((0, 0, 8, 5)) if swizzle else 0)


def _mode(rng: Random, depth: int) -> tuple[Any, Any]:
    if depth and rng.random() < 0.4:
        modes = [_mode(rng, depth - 1) for _ in range(rng.randint(2, 3))]
        return tuple(part for part, _ in modes), tuple(part for _, part in modes)
    return rng.choice((1, 2, 2, 3, 4, 4, 8)), rng.choice((0, 1, 2, 3, 4, 8, 16, 64, rng.randrange(50)))


def shape_of(rng: Random, elements: int) -> tuple[int, ...]:
    """Some shape of so many elements."""
    extents = []
    while elements > 1 and rng.random() < 0.8:
        extent = rng.choice([n for n in range(2, elements + 1) if elements % n == 0])
        extents.append(extent)
        elements //= extent
    return (*extents, elements)


# -- what is asked -----------------------------------------------------------------------------------


def asked(*words: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of a command."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main([*words, "--json"])
    return code, json.loads(out.getvalue())


def check_an_index(cute: Cute, index: Any, flat: int) -> None:
    """`at`, `explain` and Python, of one index in one form."""
    place, coordinate = cute.at(index), cute.coordinate(flat)
    layout = parse(cute.text)
    assert layout.place(index)["m"] == place
    assert layout.flat_index(index) == flat
    assert layout.points(flat) == [(place,)]
    code, found = asked("at", cute.text, spelled(index))
    assert (code, found["index"], found["places"]) == (0, list(coordinate), [{"m": place}])
    assert found["order"] == "cute"
    code, found = asked("explain", cute.text, spelled(index))
    assert (code, found["flat"], found["places"]) == (0, flat, [{"m": place}])


def check_a_shape(cute: Cute, flat: int, shape: tuple[int, ...]) -> None:
    """`at` and `who` in another shape, which counts the leftmost mode fastest as well."""
    place, index = cute.at(flat), nested(flat, shape)
    _, found = asked("at", cute.text, spelled(index), "--shape", spelled(shape))
    assert (found["index"], found["places"]) == (list(index), [{"m": place}])
    _, found = asked("who", cute.text, str(place), "--shape", spelled(shape))
    assert found["indices"] == [list(nested(n, shape)) for n in range(cute.size) if cute.at(n) == place]
    layout = parse(cute.text)
    listed = table(layout, shape=shape).columns["m"]
    assert all(listed[nested(n, shape)] == cute.at(n) for n in range(cute.size))


def check_who(cute: Cute, place: int) -> None:
    holders = [cute.coordinate(flat) for flat in range(cute.size) if cute.at(flat) == place]
    code, found = asked("who", cute.text, str(place))
    assert (code, found["indices"]) == (0 if holders else 1, [*map(list, holders)])
    assert parse(cute.text).who(place) == tuple(holders)


def check_table(cute: Cute) -> None:
    _, found = asked("table", cute.text)
    assert found["shape"] == list(cute.extents)
    assert found["places"] == [[[cute.at(flat)]] for flat in range(cute.size)]


def check_code(cute: Cute, index: tuple[int, ...], flat: int) -> None:
    place = cute.at(flat)
    for form, arguments in (("--coordinates", index), ("--flat", (flat,))):
        _, found = asked("code", cute.text, "--lang", "python", form)
        assert called(found["code"], "place_of", arguments) == place
    code, found = asked("code", cute.text, "--lang", "python", "--inverse")
    if code == 0:
        assert called(found["code"], "index_of", (place,)) == flat


def called(source: str, name: str, arguments: tuple[int, ...]) -> Any:
    names: dict[str, Any] = {}
    exec(source, names)
    return names[name](*arguments)


def check_show(cute: Cute) -> None:
    if len(cute.shape) != 2:
        return
    _, found = asked("show", cute.text)
    for row, cells in enumerate(found["cells"]):
        for column, cell in enumerate(cells):
            assert cell["text"] == str(cute.at((row, column)))


def check_slice(cute: Cute, rng: Random) -> None:
    region, ranges = [], []
    for extent in cute.extents:
        first = rng.randrange(extent)
        last = rng.randint(first + 1, extent)
        if rng.random() < 0.25:
            region.append(str(first))
            ranges.append(range(first, first + 1))
        else:
            region.append(f"{first}:{last}")
            ranges.append(range(first, last))
    _, found = asked("algebra", "slice", cute.text, ",".join(region))
    pieces = found["result"]
    if isinstance(pieces, str):
        pieces = [{"box": found["box"], "layout": pieces}]
    held = [prod(last - first for first, last in piece["box"]) for piece in pieces]
    assert sum(held) == prod(map(len, ranges))
    kept = [mode for mode, word in enumerate(region) if ":" in word]
    for piece in pieces:
        layout, box = parse(piece["layout"]), piece["box"]
        assert layout.order == "cute"
        for flat, index in enumerate(leftmost_fastest([range(*interval) for interval in box])):
            assert layout.place(flat)["m"] == cute.at(index)
            inside = [index[mode] - box[mode][0] for mode in kept]
            if inside:
                assert layout.place(*inside)["m"] == cute.at(index)


def leftmost_fastest(ranges: list[range]) -> Iterator[tuple[int, ...]]:
    return (index[::-1] for index in product(*reversed(ranges)))


def check_banks(cute: Cute, rng: Random) -> None:
    """An access of a tile goes by coordinates: it costs what it costs of the same tile as S[...]."""
    access = rng.choice(("row:4B", "col:4B", "row", "col"))
    plain = f"S[{mirrored(cute.shape)} : {mirrored(cute.stride)}] + {cute.base}"
    if cute.swizzle:
        plain = f"Swizzle<{','.join(map(str, cute.swizzle))}> o ({plain})"
    answers = [asked("banks", text, "--dtype", "f32", "--access", access) for text in (cute.text, plain)]
    for _, found in answers:
        found.pop("layout", None)
        found.pop("hint", None)
        found.pop("error", None)
        found.pop("reason", None)
    assert answers[0] == answers[1]


def mirrored(modes: tuple[Any, ...]) -> tuple[Any, ...]:
    """The parts inside every mode in reverse, at every level."""

    def turned(mode: Any) -> Any:
        return tuple(map(turned, reversed(mode))) if isinstance(mode, tuple) else mode

    return tuple(map(turned, modes))


@cache
def pycute() -> Any:
    """The module, or None where it is not installed."""
    with contextlib.suppress(ImportError):
        import pycute

        return pycute
    return None


def check_pycute(cute: Cute, index: Any) -> None:
    theirs = pycute()
    if theirs is None:
        return
    place = cute.base + theirs.Layout(cute.shape, cute.stride)(index)
    if cute.swizzle is not None:
        place = theirs.Swizzle(*cute.swizzle)(place)
    assert place == cute.at(index)


def check_cute_order(rng: Random) -> str:
    """One layout in CuTe's notation and one index, asked in every form by every command."""
    cute = drawn(rng)
    flat = rng.randrange(cute.size)
    coordinate = cute.coordinate(flat)
    for index in (flat, coordinate, nested(flat, cute.shape)):
        check_an_index(cute, index, flat)
        check_pycute(cute, index)
    check_a_shape(cute, flat, shape_of(rng, cute.size))
    check_who(cute, cute.at(flat) + rng.choice((0, 0, 1)))
    check_table(cute)
    check_code(cute, coordinate, flat)
    check_show(cute)
    check_slice(cute, rng)
    check_banks(cute, rng)
    return "answered"


# -- tests -------------------------------------------------------------------------------------------


def test_generated_layouts_are_asked_as_cute_asks_them(times):
    rng = Random(20261123)
    for _ in range(times(110)):
        check_cute_order(rng)


def test_the_command_line_and_python_have_one_coordinate():
    """The first fault that a new user met: 40 on the command line and 17 in Python."""
    text = "((4,8),(2,2)):((32,1),(16,8))"
    assert parse(text).place(((1, 0), (0, 1)))["m"] == 40
    assert asked("at", text, "((1,0),(0,1))")[1]["places"] == [{"m": 40}]


def test_the_flat_order_does_not_change_from_command_to_command():
    text = "(4,8):(1,4)"
    assert asked("at", text, "5")[1]["places"] == [{"m": 5}]
    assert asked("info", text)[1]["contiguous"] is True
    assert asked("algebra", "contiguous", text)[1]["result"] is True
    assert asked("who", text, "5", "--shape", "32")[1]["indices"] == [[5]]
    _, found = asked("code", text, "--flat", "--lang", "python")
    assert called(found["code"], "place_of", (5,)) == 5


def test_a_flat_index_past_the_end_is_an_error():
    code, found = asked("at", "(4,8):(1,4)", "32")
    assert (code, found["error"]["code"]) == (2, "TW201")


@pytest.mark.parametrize("text", ["(4,8):(1,4)", "S[(4, 8) : (1, 4)]"])
def test_a_dialect_that_is_named_keeps_its_order(text):
    dialect = "cute" if text.startswith("(") else "tilewise"
    assert asked("at", text, "5", "--dialect", dialect) == asked("at", text, "5")
