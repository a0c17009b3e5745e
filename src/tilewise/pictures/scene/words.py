"""The texts in cells, at heads and beside panels, and a step in a sentence, in the words of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.integers import as_int, counted
from tilewise.core.shapes import coordinates
from tilewise.pictures.scene.model import Axis, Document, Heads, Panel, Scene, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.layout import Layout
    from tilewise.pictures.scene.cells import Elements


MOST_COPIES = 4


def size_words(size: int, ends: Mapping[str, tuple[int, int]], room: str) -> str:
    """Return how many elements there are, between which ends of each axis, and in which room.

    >>> size_words(8, {"m": (0, 7)}, "16 B")
    '8 elements at m = 0..7: 16 B'
    """
    places = ", ".join(f"{axis} = {low}..{high}" for axis, (low, high) in ends.items())
    return f"{counted(size, 'element')} at {places}" + (f": {room}" if room else "")


def taken_words(shared: str, holes: int | None, such: str = "") -> str:
    """Return whether elements share places, and how many places between hold nothing, where that is known.

    >>> taken_words("", 0), taken_words("elements 0 and 1 share 0@m", 1)
    ('one to one, without holes', 'not one to one: elements 0 and 1 share 0@m; 1 place between holds nothing')
    """
    said = f"not one to one: {shared}" if shared else "one to one"
    if not holes:
        return said if shared or holes is None else f"{said}, without holes"
    return f"{said}; {holes} {'place between holds' if holes == 1 else 'places between hold'} nothing{such}"


def key_words(elements: Elements, faded: str) -> str:
    """Return the meaning of colours and letters; `faded` names elements that a step leaves out.

    >>> from tilewise import R, S
    >>> from tilewise.pictures.scene.cells import Elements
    >>> from tilewise.pictures.scene.build import scene_of
    >>> key_words(Elements(scene_of(S[(2, 4)] + R[2 : 8])), "")
    'colour by m in 8 bands; copies between |'
    """
    scene = elements.scene
    said = [f"colour {scene.colour.words}"]
    if elements.copies > 1 and any(panel.text == "places" for panel in scene.panels):
        said.append("copies between |")
    if elements.lanes:
        said.append("L5: lane 5 asks")
    if elements.faded.any():
        said.append(faded)
    return "; ".join(said)


def texts_of(panel: Panel, elements: Elements, brief: bool = False) -> list[str]:
    """Return the text of every element in a panel; a brief one is its index, or its last axis alone.

    >>> from tilewise import S, laneid, reg
    >>> from tilewise.pictures.scene.cells import Elements
    >>> from tilewise.pictures.scene.build import scene_of
    >>> scene = scene_of(S[(2, 2) : (1@laneid, 1@reg)])
    >>> [texts_of(panel, Elements(scene)) for panel in scene.panels]
    [['0:0', '0:1', '1:0', '1:1'], ['0,0', '0,1', '1,0', '1,1']]
    """
    return [text_of(panel, elements, element, brief) for element in range(len(elements.flats))]


def text_of(panel: Panel, elements: Elements, element: int, brief: bool = False) -> str:
    """Return the text of one element: the lanes that ask for it, its coordinates, or its places."""
    if element in elements.lanes:
        return "L" + ",".join(map(str, elements.lanes[element]))
    scene = elements.scene
    if panel.text != "index":
        return place_text(scene, element, elements.copies, brief)
    flat = int(elements.flats[element])
    several = len(scene.shape) > 1 and not brief
    return ",".join(map(str, coordinates(flat, scene.shape, scene.order))) if several else str(flat)


def place_text(scene: Scene, element: int, copies: int, brief: bool = False) -> str:
    """Return the places of an element, so many copies of it; brief on its last axis alone.

    >>> from tilewise import R, S, laneid, reg
    >>> from tilewise.pictures.scene.build import scene_of
    >>> scene = scene_of(S[(2, 2) : (1@laneid, 1@reg)] + R[2 : 4@laneid])
    >>> place_text(scene, 2, 2), place_text(scene, 2, 2, brief=True)
    ('1|5:0', '0')
    """
    at = element * scene.copies
    axes = axes_in_order(scene)[-1 if brief else 0 :]
    return ":".join(_copies(scene.places[axis.name][at : at + copies]) for axis in axes)


def _copies(values: Sequence[int]) -> str:
    found = dict.fromkeys(values)
    return "|".join(map(str, islice(found, MOST_COPIES))) + ("|.." if len(found) > MOST_COPIES else "")


def axes_in_order(scene: Scene) -> list[Axis]:
    """Return owners first, then storage: the order of the text of a place."""
    return sorted(scene.axes, key=lambda axis: axis.kind == "storage")


def head_text(heads: Heads, position: int) -> str:
    """Return the numbers at a head, with a comma between."""
    return ",".join(str(head(position)) for head in heads) if heads else str(position)


def block_words(panel: Panel, row: int, column: int) -> tuple[str, str]:
    """Return the numbers of a block with their names, and without; a direction with one block has none."""
    name = panel.block_name or "block"
    parts = [(panel.block_row_heads, row)] if panel.blocks[0] > 1 else []
    parts += [(panel.block_column_heads, column)] if panel.blocks[1] > 1 else []
    words = ", ".join(head_words(heads, name, at) for heads, at in parts)
    return words, ", ".join(head_text(heads, at) for heads, at in parts)


def head_words(heads: Heads, fallback: str, position: int) -> str:
    """Return the numbers at a head with their names: `warpid 2`."""
    if not heads:
        return f"{fallback} {position}"
    return ", ".join(f"{head.name or fallback} {head(position)}" for head in heads)


def axes_words(panel: Panel, scene: Scene, said: str) -> str:
    """Return the words for rows, columns and cells; `said` is full, brief or none.

    >>> from tilewise import S
    >>> from tilewise.pictures.scene.build import scene_of
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
    """Return a document for those who do not see it: its sentences, and its panels."""
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


_COUNTED = re.compile(r"(wgmma|tcgen05\.mma|box) \d+ of \d+\b")
"""Titles such as `box 1 of 2`."""


def moment_of(scene: Scene, step: int | None) -> Step | None:
    """Return the step of a scene, from 0 on: its last one, where another scene has more; None without a step.

    >>> from tilewise import R, S
    >>> from tilewise.pictures.scene.build import scene_of
    >>> scene = scene_of(S[(2, 4)] + R[2 : 8])
    >>> moment_of(scene, 0).title, moment_of(scene, 5).title, moment_of(scene, None)
    ('the shard', 'the replicas', None)
    """
    return None if step is None or not scene.steps else scene.steps[min(step, len(scene.steps) - 1)]


def moment_words(scene: Scene, step: int | None) -> str:
    """Return a step of a scene in a sentence, with its number, where the title does not count by itself.

        postcondition  it is empty where `moment_of` is None

    >>> from tilewise import R, S, Swizzle
    >>> from tilewise.pictures.scene.build import scene_of
    >>> scene = scene_of(S[(2, 4)] + R[2 : 8])
    >>> moment_words(scene, 1)
    'Step 2 of 2, the replicas: all 2 copies of every element'
    >>> scene = scene_of(Swizzle(3, 3, 3) @ S[(16, 64)], dtype="bf16", access="descriptor.B")
    >>> moment_words(scene, 1)
    'wgmma 2 of 4: rows 0..15, k 16..31: start + 32 bytes'
    """
    moment = moment_of(scene, step)
    if moment is None or step is None:
        return ""
    number = min(step, len(scene.steps) - 1)
    head = "" if _COUNTED.match(moment.title) else f"Step {number + 1} of {len(scene.steps)}, "
    return f"{head}{moment.title}" + (f": {moment.note}" if moment.note else "")


def refuse_step(document: Document, step: int | None) -> None:
    """Refuse a step that no scene has.

    >>> from tilewise import S
    >>> from tilewise.pictures.scene.build import document_of
    >>> refuse_step(document_of(S[(64, 64)], dtype="bf16", access="descriptor.A"), 0)
    Traceback (most recent call last):
    tilewise.LayoutError: TW201: there is no step 0
      hint: descriptor.A: rows are 128 B apart, as in 128B mode, but the addresses are not swizzled
    """
    steps = max(len(scene.steps) for scene in document.scenes)
    if step is None or 0 <= as_int(step, "a step") < steps:
        return
    why = [
        note.text for scene in document.scenes for note in scene.notes if scene.access and note.kind == "no"
    ]
    if steps:
        hint = f"they are 0 to {steps - 1}" if steps > 1 else "there is one, step 0"
    else:
        hint = why[0] if why else "an access has steps, and so has a layout with copies"
    raise LayoutError("TW201", f"there is no step {step}", hint=hint)


def left_behind(layout: Layout) -> Iterator[str]:
    """Yield a sentence for each known axis beyond whose end a layout reaches.

    >>> from tilewise import S, laneid
    >>> print(*left_behind(S[64 : 1@laneid]))
    laneid reaches 63: a wave of CDNA has lanes 0 to 63, and a warp 0 to 31
    """
    for axis in layout.axes:
        facts = axis.facts
        if facts is None or facts.extent is None:
            continue
        try:
            low, high = layout.extremes(axis)
        except NotDecided:
            continue
        if said := facts.beyond(axis.name, low, high):
            yield said
