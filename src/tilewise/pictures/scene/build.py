"""`scene_of`: from a layout to everything that a view draws of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout, as_layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import coordinates, extents_of, flat_index
from tilewise.pictures.scene.colours import colour_of
from tilewise.pictures.scene.gather import places_of
from tilewise.pictures.scene.logical import FAR, Logical, logical_of
from tilewise.pictures.scene.model import Axis, Document, Scene, Step
from tilewise.pictures.scene.notes import notes_of
from tilewise.pictures.scene.panels import Part, panels_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
    """The scene of a layout, or of a window ((top, bottom), (left, right)) of its grid in `shape`.

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
    if not any(map(len, places.values())):
        raise LayoutError("TW201", "the window has no elements", hint="the last row of the grid is shorter")
    axes = tuple(
        Axis(axis.name, axis.kind, int(places[axis.name].min()), int(places[axis.name].max()))
        for axis in layout.axes
    )
    bits = None if element is None else element.bits
    panels, hints = panels_of(Part(layout, part, axes, bits, _near(base)))
    facts = notes_of(part, axes, copies, places, bits, layout.unit)
    asked = None
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
        panels=panels,
        dtype=None if element is None else element.name,
        bits=bits,
        base=base,
        access=None if asked is None else asked.name,
        steps=tuple(_copies(copies)) if asked is None else asked.steps,
        notes=(*facts, *hints, *(() if asked is None else asked.notes)),
        order=order,
    )


def document_of(layout: Layout, *, title: str | None = None, words: str = "", **options: Any) -> Document:
    """A document of one scene; the options are those of `scene_of`.

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


def _near(base: int) -> int:
    if not 0 <= as_int(base, "a base") < FAR:
        raise LayoutError("TW301", f"a base of {base} bytes", hint="pictures begin at 0 and end at 2^44")
    return base


def _copies(copies: int) -> Iterator[Step]:
    """Packing, then broadcast: what is there when every element has been written once, and then."""
    if copies > 1:
        yield Step("the shard", (), copies=1, note="one copy of every element")
        yield Step("the replicas", (), copies=copies, note=f"all {copies} copies of every element")
