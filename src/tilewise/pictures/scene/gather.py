"""The places of the elements of a scene, axis by axis."""

from __future__ import annotations

from math import prod

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.pictures.scene.cells import Numbers
from tilewise.pictures.scene.logical import FAR, MOST_CELLS, Logical
from tilewise.tables import table

Places = dict[str, Numbers]

SMALLER = "give a window, such as rows 0:64 and columns 0:64"


def places_of(layout: Layout, part: Logical) -> tuple[int, Places]:
    """How many copies an element has, and places[axis][element * copies + copy].

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
        reason = f"a layout of {part.size} elements is too large to draw"
        raise LayoutError("TW301", reason, hint="pictures end at 2^44")
    _refuse_many(elements * layout.copies)
    if part.size == prod(part.rows) * part.broad:
        found = table(layout, shape=(prod(part.rows), part.broad), window=part.window)
        columns = {axis: column.reshape(-1) for axis, column in found.columns.items()}
        return found.copies, _near(columns)
    first, last = top * part.broad, min(part.size, bottom * part.broad)
    found = table(layout, shape=(part.size,), window=((first, last),))
    inside = [at - first for at in part.flats]
    lines = {axis: column.reshape(last - first, -1) for axis, column in found.columns.items()}
    return found.copies, _near({axis: line[inside].reshape(-1) for axis, line in lines.items()})


def _near(places: Places) -> Places:
    for axis, values in places.items():
        for end in (int(values.min()), int(values.max())) if len(values) else ():
            if not -FAR < end < FAR:
                reason = f"a place at {end}@{axis} is too far away to draw"
                raise LayoutError("TW301", reason, hint="pictures end at 2^44")
    return places


def _refuse_many(places: int) -> None:
    if places > MOST_CELLS:
        raise LayoutError(
            "TW301", f"a picture of {places} places, and {MOST_CELLS} are the most", hint=SMALLER
        )
