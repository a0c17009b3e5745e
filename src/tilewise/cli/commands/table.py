"""The whole map, or a window of it.

  tilewise table 'S[(4, 4) : (1, 4)]'
  tilewise table 'S[(4096, 4096) : (4096, 1)]' --window 0:2,4094:4096
  tilewise table 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' --csv
  tilewise table 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]' --npy places.npy

--npy writes int64: the shape of the window, then the copies and the axes where there are several.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from tilewise.cli.answer import Answer, misused, order_data
from tilewise.cli.arguments import ASKED, add_options, box_from, layout_from, let_from, one_layout, shape_from
from tilewise.core.errors import LayoutError

if TYPE_CHECKING:
    from tilewise.core.layout import Layout
    from tilewise.tables import Table

MAX_PLACES = 1 << 20
MAX_PLACES_OF_A_WINDOW = 1 << 22


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT [--shape S] [--window W] [--csv | --npy FILE]."""
    one_layout(parser, ASKED)
    parser.add_argument("--window", metavar="W", help="one range a mode, such as 0:16,8:24")
    form = parser.add_mutually_exclusive_group()
    add_options(
        form,
        {
            "--csv": "one line a place, to standard output",
            "--npy": ("FILE", "a NumPy file"),
        },
    )


def answer(args: argparse.Namespace) -> Answer:
    """Every place of every index, in the order in which the layout counts."""
    from tilewise.notation import parse_window

    layout = layout_from(args.layout, args)
    shape = shape_from(args)
    window = None if args.window is None else parse_window(args.window, let_from(args))
    if window is None and shape is None and (box := box_from(args)):
        window = tuple((0, extent) for extent in box)
    places = _places_asked(layout, shape, window)
    if places > (MAX_PLACES if window is None else MAX_PLACES_OF_A_WINDOW) and not (args.npy and window):
        raise LayoutError(
            "TW301",
            f"the table has {places} places; at most {MAX_PLACES} are listed whole",
            hint="list a part: --window 0:16,0:16, one range a mode, or write a window with --npy",
        )
    from tilewise.tables import table

    listed = table(layout, shape=shape, window=window)
    if args.npy is not None:
        return _saved(listed, args.npy)
    ranges = [range(*ends) for ends in listed.window]
    indices: Iterator[tuple[int, ...]] = product(*ranges)
    if layout.order != "row":
        indices = (index[::-1] for index in product(*reversed(ranges)))
    rows = _rows(listed, layout.order)
    data: dict[str, Any] = {"shape": list(listed.shape), "axes": list(listed.axes), "places": rows}
    data |= order_data(layout)
    if window is not None:
        data["window"] = [list(pair) for pair in listed.window]
    write = _print_csv if args.csv else _print
    return Answer(data, lambda: write(listed, indices, rows))


def _places_asked(layout: Layout, shape: Any, window: Any) -> int:
    """How many places will be listed, told before anything is."""
    from tilewise.core.shapes import extents_of

    extents = extents_of(layout.asked_in(shape))
    if window is None or len(window) != len(extents):
        return layout.size * layout.copies
    ends = (
        (start or 0, extent if stop is None else stop)
        for (start, stop), extent in zip(window, extents, strict=True)
    )
    return prod(max(0, stop - start) for start, stop in ends) * layout.copies


def _rows(listed: Table, order: str) -> list[list[list[int]]]:
    """For every index its distinct copies, each as steps on the axes."""
    modes = range(len(listed.shape))
    columns = []
    for axis in listed.axes:
        column = listed.columns[axis].reshape(*listed.shape, listed.copies)
        slowest_first = column if order == "row" else column.transpose(*reversed(modes), len(modes))
        columns.append(slowest_first.reshape(-1, listed.copies).tolist())
    return [[list(place) for place in zip(*copies, strict=True)] for copies in zip(*columns, strict=True)]


def _print(listed: Table, indices: Iterator[tuple[int, ...]], rows: list[list[list[int]]]) -> None:
    print("index", ", ".join(listed.axes) + (" | ..." if listed.copies > 1 else ""), sep="  ->  ")
    sys.stdout.writelines(
        f"{','.join(map(str, index))}  ->  {' | '.join(', '.join(map(str, place)) for place in places)}\n"
        for index, places in zip(indices, rows, strict=True)
    )


def _print_csv(listed: Table, indices: Iterator[tuple[int, ...]], rows: list[list[list[int]]]) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    modes = [f"i{k}" for k in range(len(listed.shape))]
    writer.writerow([*modes, *listed.axes])
    for index, places in zip(indices, rows, strict=True):
        writer.writerows([*index, *place] for place in places)


def _saved(listed: Table, path: str) -> Answer:
    import numpy as np

    array = listed.array
    if path == "-":
        raise misused("--npy writes a file, and - is none", "name one, such as places.npy")
    try:
        with open(path, "wb") as file:  # noqa: PTH123 - np.save would add .npy to the name
            np.save(file, array)
    except OSError as error:
        raise LayoutError("TW402", f"{path} cannot be written: {error.strerror}") from None
    data = {"file": path, "shape": list(array.shape), "axes": list(listed.axes), "dtype": "int64"}
    return Answer(data, f"{path}: int64 {array.shape}, axes {' '.join(listed.axes)}")
