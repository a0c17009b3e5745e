"""The answers that emitted functions must give: calls with arguments, held against the naive definition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from random import Random

from tilewise import LayoutError, Refused
from tilewise.codegen import Source, source_of
from tilewise.core.axes import Axis
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import coordinates, extents_of
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector
from tilewise.testing import as_place, naive_places
from tilewise.testing.generate import random_layout

MOST_INDICES = 256
SAMPLE = 24

FORMS = (
    {"inverse": False, "flat": False},
    {"inverse": False, "flat": True},
    {"inverse": True, "flat": True},
    {"inverse": True, "flat": False},
    {"inverse": False, "flat": True, "leftmost_fastest": True},
    {"inverse": True, "flat": True, "leftmost_fastest": True},
)


@dataclass(frozen=True)
class Calls:
    """A function of a layout, rows of arguments for it, and how its rows of results are judged."""

    layout: Layout
    source: Source
    rows: list[tuple[int, ...]]
    judge: Callable[[list[tuple[int, ...]]], None]


def calls_of(layout: Layout, lang: str, name: str, form: dict[str, bool], rng: Random) -> Calls:
    """The calls of one form of a layout's function; raises what `source_of` raises."""
    counted = layout.in_order("cute" if form.get("leftmost_fastest") else "row")
    source = source_of(counted, lang, name=name, inverse=form["inverse"], flat=form["flat"])
    every = range(layout.size)
    indices = every if layout.size <= MOST_INDICES else sorted({0, every[-1], *rng.sample(every, SAMPLE)})
    asked = [_index(layout, flat, form) for flat in indices]
    judge = _inverse_calls if form["inverse"] else _forward_calls
    return judge(layout, source, list(indices), asked)


def _index(layout: Layout, flat: int, form: dict[str, bool]) -> tuple[int, ...]:
    """Return a row-major flat index in a form of the arguments."""
    index = coordinates(flat, layout.shape)
    if not form["flat"]:
        return index
    if form.get("leftmost_fastest"):
        weights = accumulate(extents_of(layout.shape), mul, initial=1)
        return (sum(i * weight for i, weight in zip(index, weights, strict=False)),)
    return (flat,)


def _forward_calls(layout: Layout, source: Source, indices: list[int], asked: list[tuple[int, ...]]) -> Calls:
    has_copies = len(source.arguments) > len(asked[0])
    copies = source.arguments[-1].high + 1 if has_copies else 1

    def judge(results: list[tuple[int, ...]]) -> None:
        axes = [axis.name for axis in layout.axes]
        for i, flat in enumerate(indices):
            own = results[i * copies : (i + 1) * copies]
            places = {as_place(dict(zip(axes, result, strict=True))) for result in own}
            assert places == naive_places(layout, flat), (flat, own, source.code)

    rows = [(*index, *([copy] if has_copies else [])) for index in asked for copy in range(copies)]
    return Calls(layout, source, rows, judge)


def _inverse_calls(layout: Layout, source: Source, indices: list[int], asked: list[tuple[int, ...]]) -> Calls:
    rows, expected = [], []
    for flat, index in zip(indices, asked, strict=True):
        for place in naive_places(layout, flat):
            steps = dict(place)
            rows.append(tuple(steps.get(axis.name, 0) for axis in layout.axes))
            expected.append(index if index else (flat,))

    def judge(results: list[tuple[int, ...]]) -> None:
        assert results == expected, source.code

    return Calls(layout, source, rows, judge)


def random_calls(lang: str, count: int, seed: int) -> Iterator[Calls]:
    """Every form of `count` random layouts, functions numbered; forms that are refused are left out."""
    rng = Random(seed)
    number = 0
    for _ in range(count):
        layout = wide_layout(rng) if rng.random() < 0.2 else random_layout(rng)
        for form in FORMS:
            try:
                yield calls_of(layout, lang, f"f{number}", form, rng)
            except LayoutError as error:
                if error.code not in ("TW505", "TW302"):
                    raise
            number += 1


def wide_layout(rng: Random) -> Layout:
    """A layout whose places need more than 32 bits, or nearly: large extents, large steps."""
    extents = [rng.choice([2, 3, 8, 48, 64, 100, 1 << 10, 1 << 14, 12_345]) for _ in range(rng.randint(1, 4))]
    order = rng.sample(range(len(extents)), len(extents))
    strides = [0] * len(extents)
    step = rng.choice([1, 1, 3, 64])
    for position in order:
        strides[position] = step * rng.choice([1, 1, 1, -1])
        step *= extents[position] + rng.choice([0, 0, 0, 1])
    axis = Axis("m")
    return Layout(
        shape=tuple(extents),
        strides=tuple(Vector(((axis, stride),)) for stride in strides),
        replica=(Iter(2, Vector(((axis, step),))),) if rng.random() < 0.2 else (),
        offset=Vector(((axis, rng.choice([0, 0, 5, -1, 1 << 31, -(1 << 31), 1 << 40])),)),
        swizzles=(Swizzle(3, rng.randint(0, 4), 3),) if rng.random() < 0.4 else (),
    )


def run_python(calls: Calls, namespace: dict[str, object] | None = None) -> None:
    """Call the source as Python, row by row, and judge the results."""
    names = dict(namespace or {})
    exec(calls.source.code, names)
    function = names[calls.source.name]
    calls.judge([_as_row(function(*row)) for row in calls.rows])  # type: ignore[operator]


def _as_row(result: object) -> tuple[int, ...]:
    return result if isinstance(result, tuple) else (result,)  # type: ignore[return-value]


def check_code(rng: Random) -> str:
    """One random layout, forward and back, in Python: `answered`, or `refused` where there is no inverse."""
    layout = random_layout(rng)
    form = {"flat": rng.random() < 0.5, "leftmost_fastest": rng.random() < 0.5}
    run_python(calls_of(layout, "python", "f", form | {"inverse": False}, rng))
    try:
        back = calls_of(layout, "python", "f", form | {"inverse": True}, rng)
    except Refused as no:
        check_refusal(layout, no, form["leftmost_fastest"])
        return "refused"
    run_python(back)
    return "answered"


def check_refusal(layout: Layout, no: Refused, leftmost: bool) -> None:
    """Two elements share the place of the witness, or steps overlap that no rule here takes apart."""
    if no.code != "TW505":
        raise no
    if isinstance(no.witness, tuple):
        first, second, place = no.witness
        rows = {
            _index(layout, flat, {"flat": True, "leftmost_fastest": leftmost})[0]: flat
            for flat in range(layout.size)
        }
        shared = naive_places(layout, rows[first]) & naive_places(layout, rows[second])
        assert first != second, no
        assert as_place(place) in shared, no
    else:
        assert _overlaps([(extent, abs(step)) for extent, step in no.witness]), no


def _overlaps(digits: list[tuple[int, int]]) -> bool:
    """Return whether some step is no larger than all smaller ones together can move."""
    reach = 0
    for extent, step in sorted(digits, key=lambda digit: digit[1]):
        if step <= reach:
            return True
        reach += step * (extent - 1)
    return False
