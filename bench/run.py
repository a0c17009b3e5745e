"""Figures of tilewise beside NumPy's floor and the neighbours, in one run.

python bench/run.py [--write docs/reference/bench.md]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import prod
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np

import algebra as algebra_bench
import banks as banks_bench
import explorer as explorer_bench
import hopper as hopper_bench
import move_cpu as move_bench
import swizzles as swizzles_bench
import warp as warp_bench
from clock import once, peak_bytes, processes, side_by_side
from page import Answers, Row, Section, page
from peers import APART, NAMES, imported, spelled
from tilewise import Layout, R, S, Swizzle, m, reg
from tilewise.tables import inverse, table

SIDE, SMALL_SIDE = 4096, 1024
SCALE = (SIDE // SMALL_SIDE) ** 2
SWIZZLED = Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)]
HUGE_EXTENTS = (32, 32, *(16,) * 10)
HUGE_ORDER = (3, 7, 1, 11, 0, 5, 10, 2, 8, 6, 9, 4)
"""The digits of a dense buffer of 2^50 elements, from the fastest on."""

Work = Callable[[], Any]


def dense(extents: tuple[int, ...], order: tuple[int, ...]) -> Layout:
    """Return the layout without holes whose digits move fastest in the given order."""
    strides = [prod(extents[other] for other in order[: order.index(i)]) for i in range(len(extents))]
    return S[extents : tuple(strides)]


HUGE = dense(HUGE_EXTENTS, HUGE_ORDER)


def main() -> None:
    """Measure, and print the page or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="the page to write, such as docs/reference/bench.md")
    path = parser.parse_args().write
    explorer = explorer_bench.sections()  # first: behind the others it takes up to three times as long
    peers = imported()
    sections: list[Section | Answers] = [
        evaluation(peers),
        inverses(peers),
        tables(peers.get("pycute")),
        memory(),
        facts(),
        *algebra_bench.sections(peers),
        *hopper_bench.sections(peers),
        *warp_bench.sections(peers),
        *banks_bench.sections(peers),
        *swizzles_bench.sections(peers),
        *move_bench.sections(peers),
        *explorer,
        startup(peers),
    ]
    text = page(sections, map(spelled, NAMES | APART))
    if path is None:
        print(text)
    else:
        path.write_text(text, encoding="utf-8")


# -- one element -----------------------------------------------------------------------------------


def evaluation(peers: dict[str, ModuleType]) -> Section:
    """Return one place by coordinates and by flat index, over the same random indices."""
    indices = [divmod(x, 64) for x in Random(0).sample(range(64 * 64), 100)]
    rows = []
    for what, layout, calls in (
        ("S[(64, 64) : (64, 1)]", S[(64, 64) : (64, 1)], _affine(peers)),
        (f"{SWIZZLED}", SWIZZLED, _swizzled(peers)),
    ):
        works: dict[str, Work] = {
            "coordinates": _each(layout.place, indices),
            "flat": _each(_flat(layout.place), indices),
            "points": _each(_flat(layout.points), indices),
        }
        works |= {name: _each(call, indices) for name, call in calls.items()}
        seconds = {name: taken / len(indices) for name, taken in side_by_side(works).items()}
        for name in calls:
            ours = "flat" if name.startswith("TIRx") else "coordinates"
            rows.append(Row(f"`{what}`, by {ours}", seconds[ours], name, seconds[name]))
        rows.append(Row(f"`{what}`, as a bare tuple, `points`", seconds["points"]))
    note = (
        "One place of one element, as a named vector, in a loop of Python calls; the neighbours give an int."
    )
    return Section("One element", note, rows)


def _each(call: Callable[[int, int], Any], indices: list[tuple[int, int]]) -> Work:
    def work() -> None:
        for i, j in indices:
            call(i, j)

    return work


def _flat(call: Callable[[int], Any]) -> Callable[[int, int], Any]:
    return lambda i, j: call(64 * i + j)


def _affine(peers: dict[str, ModuleType]) -> dict[str, Callable[[int, int], Any]]:
    calls: dict[str, Callable[[int, int], Any]] = {}
    if "pycute" in peers:
        calls["pycute `L(i, j)`"] = peers["pycute"].Layout((64, 64), (64, 1))
    if "tensor_layouts" in peers:
        calls["tensor-layouts `L(i, j)`"] = peers["tensor_layouts"].Layout((64, 64), (64, 1))
    if "tvm.tirx.layout" in peers:
        tirx = peers["tvm.tirx.layout"]
        tile = tirx.TileLayout(tirx.S[(64, 64) : (64, 1)])
        calls['TIRx `int(L.apply(x)["m"])`'] = _flat(lambda x: int(tile.apply(x)["m"]))
    return calls


def _swizzled(peers: dict[str, ModuleType]) -> dict[str, Callable[[int, int], Any]]:
    calls: dict[str, Callable[[int, int], Any]] = {}
    if "pycute" in peers:
        pycute = peers["pycute"]
        affine, swizzle = pycute.Layout((64, 64), (64, 1)), pycute.Swizzle(3, 3, 3)
        calls["pycute `sw(L(i, j))`"] = lambda i, j: swizzle(affine(i, j))
    if "tensor_layouts" in peers:
        theirs = peers["tensor_layouts"]
        composed = theirs.compose(theirs.Swizzle(3, 3, 3), theirs.Layout((64, 64), (64, 1)))
        calls["tensor-layouts `L(i, j)`"] = composed
    if "tvm.tirx.layout" in peers:
        tirx = peers["tvm.tirx.layout"]
        tile = tirx.ComposeLayout(3, 3, 3, tirx.TileLayout(tirx.S[(64, 64) : (64, 1)]))
        calls['TIRx `int(L.apply(x)["m"])`'] = _flat(lambda x: int(tile.apply(x)["m"]))
    return calls


# -- the inverse -----------------------------------------------------------------------------------


def inverses(peers: dict[str, ModuleType]) -> Section:
    """Return who lives at an address: one, and all."""
    large = Swizzle(3, 3, 3) @ S[(SIDE, SIDE) : (SIDE, 1)]
    listed = table(large).columns["m"]
    addresses = Random(1).sample(range(64 * 64), 50)
    works: dict[str, Work] = {
        "small": _asked(SWIZZLED.who, addresses),
        "huge": _asked(HUGE.who, addresses),
        "large": lambda: large.who(9_999_999),
        "searched": lambda: np.argwhere(listed == 9_999_999),
        "all": lambda: inverse(large),
        "argsort": lambda: np.argsort(listed.reshape(-1), kind="stable"),
        "scatter": lambda: _scattered(listed.reshape(-1)),
    }
    if "pycute" in peers:
        pycute = peers["pycute"]
        theirs = pycute.Layout((64, 64), (64, 1))
        works["pycute"] = _asked(lambda m: pycute.right_inverse(theirs)(m), addresses)
    if "tensor_layouts" in peers:
        other = peers["tensor_layouts"]
        layout = other.Layout((64, 64), (64, 1))
        works["tensor_layouts"] = _asked(lambda m: other.right_inverse(layout)(m), addresses)
    seconds = side_by_side(works, 5)
    one = {name: seconds[name] / len(addresses) for name in seconds}
    rows = [
        Row(f"`{SWIZZLED}`: `who(m=a)`", one["small"], f"{name} `right_inverse(L)(a)`, no swizzle", one[name])
        for name in ("pycute", "tensor_layouts")
        if name in one
    ]
    side = f"swizzled {SIDE} x {SIDE}"
    return Section(
        "Who lives there",
        "`who` answers for any layout, copies and shared places included. pycute and tensor-layouts come "
        "nearest with `right_inverse`, which takes neither.",
        [
            *rows,
            Row(f"{side}: `who(m=a)`", seconds["large"], "NumPy search of the table", seconds["searched"]),
            Row("2^50 elements, 12 digits: `who(m=a)`", one["huge"]),
            Row(f"{side}: `inverse`, all places", seconds["all"], "NumPy argsort", seconds["argsort"]),
            Row(f"{side}: `inverse`, all places", seconds["all"], "NumPy bare scatter", seconds["scatter"]),
        ],
    )


def _asked(who: Callable[..., Any], addresses: list[int]) -> Work:
    def work() -> None:
        for address in addresses:
            who(m=address)

    return work


def _scattered(listed: np.ndarray) -> np.ndarray:
    result = np.full(listed.size, -1)
    result[listed] = np.arange(listed.size)
    return result


# -- tables ----------------------------------------------------------------------------------------

TABLES: dict[str, tuple[Layout, float]] = {
    "plain": (S[(SIDE, SIDE) : (SIDE, 1)], 1.3),
    "padded rows": (S[(SIDE, SIDE) : (SIDE + 8, 1)], 1.3),
    "column-major": (S[(SIDE, SIDE) : (1, SIDE)], 1.3),
    "tiled, four digits": (S[((64, 64), (64, 64)) : ((64 * SIDE, 64), (SIDE, 1))], 1.3),
    "one digit, `S[2^24 : 3]`": (S[SIDE * SIDE : 3], 1.3),
    "one odd digit, `S[3^15 : 3]`": (S[3**15 : 3], 1.3),
    "two axes": (S[(SIDE, SIDE) : (SIDE @ m, 1 @ reg)], 1.3),
    "two copies of a half": (S[(SIDE // 2, SIDE) : (SIDE, 1)] + R[2 : 1 << 24], 1.3),
    "swizzled, no carry": (Swizzle(3, 3, 3) @ S[(SIDE, SIDE) : (SIDE, 1)], 1.3),
    "swizzled, digits carry": (Swizzle(3, 3, 3) @ S[(SIDE, SIDE) : (SIDE + 8, 1)], 2.5),
    "swizzled, offset carries": (Swizzle(3, 3, 3) @ (S[(SIDE, SIDE) : (SIDE, 1)] + 5), 2.5),
    "two swizzles, digits carry": (
        Swizzle(1, 0, 1) @ Swizzle(3, 3, 3) @ S[(SIDE, SIDE) : (SIDE + 8, 1)],
        2.5,
    ),
    "swizzled copies, sorted": (
        Swizzle(3, 3, 3) @ (S[(SIDE // 2, SIDE) : (SIDE, 1)] + R[2:64]),
        2.5,
    ),
}


def tables(pycute: ModuleType | None) -> Section:
    """Whole maps beside the bare additions that no table can do without."""
    rows = []
    for name, (layout, aim) in TABLES.items():
        floors = len(layout.axes) * layout.size * layout.copies / SIDE**2
        seconds = side_by_side({"ours": _listing(layout), "floor": _floor(len(layout.axes))})
        theirs = seconds["floor"] * floors / len(layout.axes)
        rows.append(Row(name, seconds["ours"], "NumPy floor", theirs, aim))
    window = _listing(S[(1 << 25, 1 << 25) : (1 << 25, 1)], window=((1 << 20, (1 << 20) + SIDE), (0, SIDE)))
    seconds = side_by_side({"ours": window, "floor": _floor(1)})
    rows.append(Row("a window of 2^50 elements", seconds["ours"], "NumPy floor", seconds["floor"], 1.3))
    small = side_by_side({"ours": _listing(S[(8, 8) : (8, 1)])})
    rows.append(Row("8 x 8, all overhead", small["ours"]))
    if pycute is not None:
        rows += _enumerated(pycute)
    return Section(
        f"Tables of {SIDE} x {SIDE} places",
        "The floor is one broadcast `np.add.outer` of 64-bit integers into fresh memory, an axis: about the "
        "least that NumPy takes to return such an array. pycute enumerates "
        f"{SMALL_SIDE} x {SMALL_SIDE} in the same run, and its time is scaled by {SCALE}.",
        rows,
    )


def _listing(layout: Layout, window: Any = None) -> Work:
    def work() -> None:
        table(layout, window=window)

    return work


def _floor(axes: int) -> Work:
    slow, fast = np.arange(SIDE) * SIDE, np.arange(SIDE)

    def work() -> None:
        _ = [np.add.outer(slow, fast) for _ in range(axes)]

    return work


def _enumerated(pycute: ModuleType) -> list[Row]:
    theirs, swizzle = pycute.Layout((SIDE, SIDE), (SIDE, 1)), pycute.Swizzle(3, 3, 3)
    side = range(SMALL_SIDE)
    plain = once(lambda: [[theirs(i, j) for j in side] for i in side]) * SCALE
    swizzled = once(lambda: [[swizzle(theirs(i, j)) for j in side] for i in side]) * SCALE
    ours = side_by_side({name: _listing(TABLES[name][0]) for name in ("plain", "swizzled, no carry")})
    return [
        Row("plain", ours["plain"], "pycute, enumerated (scaled)", plain, 1 / 500),
        Row(
            "swizzled, no carry", ours["swizzled, no carry"], "pycute, enumerated (scaled)", swizzled, 1 / 500
        ),
    ]


def memory() -> Section:
    """Peak memory of tables beside what they return."""
    rows = []
    for name, (layout, _) in TABLES.items():
        held = sum(column.nbytes for column in table(layout).columns.values())
        peak = peak_bytes(_listing(layout))
        rows.append(Row(name, peak, "the result", held, 1.2))
    return Section(
        "Peak memory", "Everything that is allocated at once, as `tracemalloc` counts it.", rows, "B"
    )


# -- closed form -----------------------------------------------------------------------------------


def facts() -> Section:
    """Measure answers about 2^50 elements, which nobody lists."""
    fresh = {
        "size, span, holes": lambda layout: (layout.size, layout.span(), layout.holes),
        "injective": lambda layout: layout.injective,
        "canonical": lambda layout: layout.canonical(),
        "same as its canonical form": lambda layout: layout.same(layout.canonical()),
        "place of one index": lambda layout: layout.place(123_456_789_012_345),
        "who lives at one address": lambda layout: layout.who(m=123_456_789_012_345),
    }
    works: dict[str, Work] = {what: _anew(ask) for what, ask in fresh.items()}
    works["building it alone"] = _anew(lambda layout: layout)
    seconds = side_by_side(works)
    return Section(
        "Facts of 2^50 elements",
        f"`{HUGE}`, built anew each time, so that nothing is remembered.",
        [Row(what, taken) for what, taken in seconds.items()],
    )


def _anew(ask: Callable[[Layout], Any]) -> Work:
    return lambda: ask(Layout(HUGE.shape, HUGE.strides))


# -- start-up --------------------------------------------------------------------------------------


def startup(peers: dict[str, ModuleType]) -> Section:
    """Import and the command line, each a process of its own."""
    commands = {
        "`import tilewise`": ["-c", "import tilewise"],
        "`tilewise at`, two numbers": ["-m", "tilewise", "at", "S[(8,4):(4,1)]", "5,3"],
        "`tilewise who`": ["-m", "tilewise", "who", "S[(8,4):(4,1)]", "23"],
        "`tilewise info`, 2^50 elements": ["-m", "tilewise", "info", str(HUGE)],
    }
    theirs = {f"`import {name}`": ["-c", f"import {name}"] for name in peers}
    seconds = processes({"pass": ["-c", "pass"], **commands, **theirs})
    bare = seconds["pass"]
    ours = "`import tilewise`"
    rows = [Row(ours, seconds[ours] - bare, name, seconds[name] - bare) for name in theirs if name in seconds]
    rows += [
        Row(name, seconds[name] - bare) for name in commands if name in seconds and (name != ours or not rows)
    ]
    skipped = [name for name in commands if name not in seconds]
    note = (
        f"Above `python -c pass`, which takes {1e3 * bare:.1f} ms here; the import is beside the neighbours'."
    )
    return Section("Start-up", note + (f" Not measured: {', '.join(skipped)}." if skipped else ""), rows)


if __name__ == "__main__":
    main()
