"""The whole map, or a window of it.

  tilewise table 'S[(4, 4) : (1, 4)]'
  tilewise table 'S[(4096, 4096) : (4096, 1)]' --window 0:2,4094:4096
  tilewise table 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' --csv
  tilewise table 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]' --npy places.npy

--npy writes int64: the shape of the window, then the copies and the axes where there are several.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from tilewise.core.errors import LayoutError
from tilewise.questions.asking import ASKED_IN, LAYOUT, asks
from tilewise.questions.drawn import for_values
from tilewise.questions.report import Report, order_of
from tilewise.questions.texts import Texts, misused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Unpack

    from tilewise.core.layout import Layout
    from tilewise.questions.asking import LayoutText, Ranges, ShapeText, TextOptions, Type
    from tilewise.tables import Table

MAX_PLACES = 1 << 20
MAX_PLACES_OF_A_WINDOW = 1 << 22


@asks(
    layout=LAYOUT,
    shape=ASKED_IN,
    window="W: one range a mode, such as 0:16,8:24",
    csv="one line a place, to standard output",
    npy="FILE: a NumPy file",
)
@for_values
def table(
    layout: LayoutText,
    dtype: Type | None = None,
    *,
    shape: ShapeText | None = None,
    window: Ranges | None = None,
    csv: bool = False,
    npy: Path | str | None = None,
    **reading: Unpack[TextOptions],
) -> Report:
    """Return every place of every index, in the order in which the layout counts.

    >>> table("S[(2, 2) : (1, 2)]").places
    [[[0]], [[2]], [[1]], [[3]]]
    """
    if csv and npy is not None:
        raise misused("--csv and --npy are two forms", "ask for one")
    texts = Texts(dtype, asked_shape=shape, **reading)
    where = texts.layout(layout)
    asked, ranges = texts.asked_shape, texts.window(window)
    if ranges is None and asked is None and texts.box:
        ranges = tuple((0, extent) for extent in texts.box)
    places = _places_asked(where, asked, ranges)
    if places > (MAX_PLACES if ranges is None else MAX_PLACES_OF_A_WINDOW) and not (npy and ranges):
        raise LayoutError(
            "TW301",
            f"the table has {places} places; at most {MAX_PLACES} are listed whole",
            hint="list a part: --window 0:16,0:16, one range a mode, or write a window with --npy",
        )
    from tilewise import tables

    listed = tables.table(where, shape=asked, window=ranges)
    if npy is not None:
        return texts.reported(_saved(listed, npy))
    ends = [range(*pair) for pair in listed.window]
    indices: Iterator[tuple[int, ...]] = product(*ends)
    if where.order != "row":
        indices = (index[::-1] for index in product(*reversed(ends)))
    rows = _rows(listed, where.order)
    fields = {"shape": listed.shape, "axes": listed.axes, "places": rows, **order_of(where)}
    if ranges is not None:
        fields["window"] = listed.window
    counted = [*indices]
    return texts.report(fields, lambda: (_print_csv if csv else _print)(listed, counted, rows))


def _places_asked(layout: Layout, shape: Any, window: Any) -> int:
    """Return the number of places that will be listed."""
    from tilewise.core.shapes import extents_of

    extents = extents_of(layout.asked_in(shape))
    pairs = window is not None and all(isinstance(pair, Sequence) and len(pair) == 2 for pair in window)
    if not pairs or len(window) != len(extents):  # which is refused, or the whole
        return layout.size * layout.copies
    ends = (
        (start or 0, extent if stop is None else stop)
        for (start, stop), extent in zip(window, extents, strict=True)
    )
    return prod(max(0, stop - start) for start, stop in ends) * layout.copies


def _rows(listed: Table, order: str) -> list[list[list[int]]]:
    """Return for every index its distinct copies, each as steps on the axes."""
    modes = range(len(listed.shape))
    columns = []
    for axis in listed.axes:
        column = listed.columns[axis].reshape(*listed.shape, listed.copies)
        slowest_first = column if order == "row" else column.transpose(*reversed(modes), len(modes))
        columns.append(slowest_first.reshape(-1, listed.copies).tolist())
    return [[list(place) for place in zip(*copies, strict=True)] for copies in zip(*columns, strict=True)]


def _print(listed: Table, indices: list[tuple[int, ...]], rows: list[list[list[int]]]) -> None:
    print("index", ", ".join(listed.axes) + (" | ..." if listed.copies > 1 else ""), sep="  ->  ")
    sys.stdout.writelines(
        f"{','.join(map(str, index))}  ->  {' | '.join(', '.join(map(str, place)) for place in places)}\n"
        for index, places in zip(indices, rows, strict=True)
    )


def _print_csv(listed: Table, indices: list[tuple[int, ...]], rows: list[list[list[int]]]) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    modes = [f"i{k}" for k in range(len(listed.shape))]
    writer.writerow([*modes, *listed.axes])
    for index, places in zip(indices, rows, strict=True):
        writer.writerows([*index, *place] for place in places)


def _saved(listed: Table, path: Path | str) -> Report:
    import numpy as np

    array = listed.array
    if path == "-":
        raise misused("--npy writes a file, and - is no file", "name one, such as places.npy")
    try:
        with open(path, "wb") as file:  # noqa: PTH123 - np.save would add .npy to the name
            np.save(file, array)
    except OSError as error:
        raise LayoutError("TW402", f"{path} cannot be written: {error.strerror}") from None
    fields = {"file": path, "shape": array.shape, "axes": listed.axes, "dtype": "int64"}
    return Report(fields, f"{path}: int64 {array.shape}, axes {' '.join(listed.axes)}")
