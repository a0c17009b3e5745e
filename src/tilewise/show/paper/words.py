"""What stands in cells, at heads, and beside panels; as the web's component says it."""

from __future__ import annotations

from itertools import islice

from tilewise.core.shapes import coordinates
from tilewise.show.scene.model import Axis, Document, Heads, Panel, Scene

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.show.paper.placed import Elements

MOST_COPIES = 4


def texts_of(panel: Panel, elements: Elements, brief: bool = False) -> list[str]:
    """The text of every element in a panel; a brief one is its index, or its last axis alone.

    >>> from tilewise import S, laneid, reg
    >>> from tilewise.show.paper.placed import elements_of
    >>> from tilewise.show.scene.build import scene_of
    >>> scene = scene_of(S[(2, 2) : (1@laneid, 1@reg)])
    >>> [texts_of(panel, elements_of(scene)) for panel in scene.panels]
    [['0:0', '0:1', '1:0', '1:1'], ['0,0', '0,1', '1,0', '1,1']]
    """
    scene = elements.scene
    lanes = {element: "L" + ",".join(map(str, own)) for element, own in elements.lanes.items()}
    if panel.text == "index":
        flats = elements.flats.tolist()
        if brief or len(scene.shape) < 2:
            texts = list(map(str, flats))
        else:
            texts = [",".join(map(str, coordinates(flat, scene.shape))) for flat in flats]
    else:
        texts = places_texts(scene, elements.copies, brief)
    return [lanes.get(element, text) for element, text in enumerate(texts)] if lanes else texts


def places_texts(scene: Scene, copies: int, brief: bool = False) -> list[str]:
    """The places of every element, so many copies of it; brief on its last axis alone.

    >>> from tilewise import R, S, laneid, reg
    >>> from tilewise.show.scene.build import scene_of
    >>> places_texts(scene_of(S[(2, 2) : (1@laneid, 1@reg)] + R[2 : 4@laneid]), 2)
    ['0|4:0', '0|4:1', '1|5:0', '1|5:1']
    """
    columns = (_copies(scene, axis, copies) for axis in axes_in_order(scene)[-1 if brief else 0 :])
    return [":".join(parts) for parts in zip(*columns, strict=True)]


def _copies(scene: Scene, axis: Axis, copies: int) -> list[str]:
    values = scene.places[axis.name]
    if copies == 1:
        return list(map(str, values[:: scene.copies]))
    texts = []
    for at in range(0, len(values), scene.copies):
        found = dict.fromkeys(values[at : at + copies])
        more = "|.." if len(found) > MOST_COPIES else ""
        texts.append("|".join(map(str, islice(found, MOST_COPIES))) + more)
    return texts


def axes_in_order(scene: Scene) -> list[Axis]:
    """Owners first, then storage: the order in which places are said."""
    return sorted(scene.axes, key=lambda axis: axis.kind == "storage")


def head_text(heads: Heads, position: int) -> str:
    """The numbers at a head, with a comma between."""
    return ",".join(str(head(position)) for head in heads) if heads else str(position)


def head_words(heads: Heads, fallback: str, position: int) -> str:
    """The numbers at a head with their names: `warpid 2`."""
    if not heads:
        return f"{fallback} {position}"
    return ", ".join(f"{head.name or fallback} {head(position)}" for head in heads)


def axes_words(panel: Panel, scene: Scene, said: str) -> str:
    """What rows, columns and cells are; `said` is full, brief or none.

    >>> from tilewise import S
    >>> from tilewise.show.scene.build import scene_of
    >>> scene = scene_of(S[(2, 4)], dtype="f32")
    >>> [axes_words(panel, scene, "full") for panel in scene.panels]
    ['cells m', 'rows byte · columns bank · cells coordinates']
    """
    rows, columns = (
        ",".join(head.name for head in heads if head.name) or name
        for heads, name in ((panel.row_heads, panel.row_name), (panel.column_heads, panel.column_name))
    )
    parts = []
    if rows not in ("", "row"):
        parts.append(f"rows {rows}")
    if columns not in ("", "column"):
        parts.append("columns add" if columns == "+" else f"columns {columns}")
    parts.append(f"cells {_cell_words(panel, scene, said)}")
    return " · ".join(parts)


def _cell_words(panel: Panel, scene: Scene, said: str) -> str:
    if said == "none":
        return "numbered by colour"
    if panel.text == "index":
        return "coordinates" if len(scene.shape) > 1 and said == "full" else "flat indices"
    return ":".join(axis.name for axis in axes_in_order(scene)[0 if said == "full" else -1 :])


def description(document: Document) -> str:
    """A document for those who do not see it: what is said, and which panels there are."""
    parts = [document.words] if document.words else []
    for scene in document.scenes:
        parts.append(f"{scene.expression}.")
        parts.extend(f"{note.text}." for note in scene.notes)
        panels = "; ".join(f"{panel.title}: {_extent(panel)}" for panel in scene.panels)
        parts.append(f"Panels: {panels}. Colour {scene.colour.words}.")
    return " ".join(parts)


def _extent(panel: Panel) -> str:
    cells = f"{panel.cells[0]} x {panel.cells[1]} cells"
    return cells if panel.blocks == (1, 1) else f"{panel.blocks[0]} x {panel.blocks[1]} blocks of {cells}"
