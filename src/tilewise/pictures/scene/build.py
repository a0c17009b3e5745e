"""`scene_of`: from a layout to the places of its elements, and to everything that a view draws of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout, as_layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import coordinates, extents_of, flat_index
from tilewise.pictures.scene.logical import FAR, MOST_CELLS, Logical, logical_of
from tilewise.pictures.scene.model import Asked, Axis, Document, Scene, Step
from tilewise.pictures.scene.notes import Places, notes_of
from tilewise.pictures.scene.panels import Part, colour_of, panels_of
from tilewise.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


ENDS = "pictures end at 2^44"


def places_of(layout: Layout, part: Logical) -> tuple[int, Places]:
    """Return the number of copies of an element, and places[axis][element * copies + copy].

        postcondition  the copies of an element are those of `layout.places`, in its order
        refused        TW301 more than 1,048,576 places, or one that is too far away to draw

    >>> from tilewise import R, S
    >>> from tilewise.pictures.scene.logical import logical_of
    >>> layout = S[(2, 2) : (2, 1)] + R[2 : 8]
    >>> places_of(layout, logical_of(layout))[1]["m"].tolist()
    [0, 8, 1, 9, 2, 10, 3, 11]
    """
    (top, bottom), (left, right) = part.window
    elements = (bottom - top) * (right - left)
    _refuse_many(elements)
    if part.size >= FAR:
        raise LayoutError("TW301", f"a layout of {part.size} elements is too large to draw", hint=ENDS)
    _refuse_many(elements * layout.copies)
    if part.size == prod(part.rows) * part.broad:
        found = table(layout, shape=(prod(part.rows), part.broad), window=part.window)
        places = {axis: column.reshape(-1) for axis, column in found.columns.items()}
    else:  # the last row of the grid is shorter
        first, last = top * part.broad, min(part.size, bottom * part.broad)
        found = table(layout, shape=(part.size,), window=((first, last),))
        inside = [at - first for at in part.flats]
        places = {axis: column[inside].reshape(-1) for axis, column in found.columns.items()}
    if not any(map(len, places.values())):
        raise LayoutError("TW201", "the window has no elements", hint="the last row of the grid is shorter")
    for axis, values in places.items():
        for end in (int(values.min()), int(values.max())):
            if not -FAR < end < FAR:
                raise LayoutError("TW301", f"a place at {end}@{axis} is too far away to draw", hint=ENDS)
    return found.copies, places


def _refuse_many(places: int) -> None:
    if places > MOST_CELLS:
        raise LayoutError(
            "TW301",
            f"a picture of {places} places, and {MOST_CELLS} are the most",
            hint="give a window, such as rows 0:64 and columns 0:64",
        )


def scene_of(
    layout: Layout,
    *,
    dtype: DType | str | None = None,
    shape: Any = None,
    window: Any = None,
    title: str | None = None,
    access: Layout | str | None = None,
    base: int = 0,
) -> Scene:
    """Return the scene of a layout, or of a window ((top, bottom), (left, right)) of its grid in `shape`.

    With `access` its wavefronts are the steps; else those of a layout with copies are the shard and the
    replicas. The layout counts from the byte address `base`.

        postcondition  places[axis][e * copies + c] is that of copy c in `layout.places` of element e
        refused        TW301 what is too large, or too far away, to be drawn

    >>> from tilewise import S, laneid, reg
    >>> scene = scene_of(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)])
    >>> [(panel.title, panel.cells) for panel in scene.panels]
    [('index', (8, 8)), ('laneid by reg', (32, 2))]
    >>> [note.text for note in scene.notes]
    ['64 elements at laneid = 0..31, reg = 0..1', 'one to one, without holes']
    """
    text, order, layout = str(as_layout(layout)), layout.order, by_coordinates(layout, shape)
    element = None if dtype is None else DType.of(dtype)
    part = logical_of(layout, shape, window)
    copies, places = places_of(layout, part)
    axes = tuple(
        Axis(axis.name, axis.kind, int(places[axis.name].min()), int(places[axis.name].max()))
        for axis in layout.axes
    )
    bits = None if element is None else element.bits
    if not 0 <= as_int(base, "a base") < FAR:
        raise LayoutError("TW301", f"a base of {base} bytes", hint="pictures begin at 0 and end at 2^44")
    panels, hints = panels_of(Part(layout, part, axes, bits, base))
    facts = notes_of(part, axes, copies, places, bits, layout.unit)
    asked = Asked(None, tuple(_copies(copies)), ())
    if access is not None:
        from tilewise.pictures.scene.steps import asked_of

        asked = asked_of(layout, access, element, base)
        if order != "row":
            asked = replace(asked, steps=tuple(_counted(asked.steps, part, order)))
    return Scene(
        title=text if title is None else title,
        expression=text,
        shape=extents_of(part.shape),
        rows=part.rows,
        columns=part.columns,
        window=part.window,
        copies=copies,
        axes=axes,
        places={name: tuple(values.tolist()) for name, values in places.items()},
        colour=colour_of(layout, axes),
        panels=tuple(panels),
        dtype=None if element is None else element.name,
        bits=bits,
        base=base,
        access=asked.name,
        steps=asked.steps,
        notes=(*facts, *hints, *asked.notes),
        order=order,
    )


def document_of(layout: Layout, *, title: str | None = None, words: str = "", **options: Any) -> Document:
    """Return a document of one scene; the options are those of `scene_of`.

    >>> from tilewise import S
    >>> document_of(S[(2, 2)], words="Row after row.").as_dict()["scenes"][0]["places"]
    {'m': [0, 1, 2, 3]}
    """
    scene = scene_of(layout, title=title, **options)
    return Document((scene,), scene.title, words)


def _counted(steps: Iterable[Step], part: Logical, order: str) -> Iterator[Step]:
    """Yield steps with their elements counted in another order than row-major."""
    for step in steps:
        flats = [flat_index(coordinates(flat, part.shape), part.shape, order) for flat in step.elements]
        yield replace(step, elements=tuple(flats))


def _copies(copies: int) -> Iterator[Step]:
    """Packing, then broadcast: what is there when every element has been written once, and then."""
    if copies > 1:
        yield Step("the shard", (), copies=1, note="one copy of every element")
        yield Step("the replicas", (), copies=copies, note=f"all {copies} copies of every element")
