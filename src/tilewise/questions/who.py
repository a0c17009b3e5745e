"""Find the elements that live at a place.

  tilewise who 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' laneid=5,reg=1
  tilewise who 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' laneid=5
  tilewise who 'S[(4, 2, 2, 4) : (16, 4, 8, 1)]' 27 --shape 8,8
  tilewise who 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]' --byte 0x1a40 --base 0x400 --dtype bf16
  tilewise who 'wgmma.D(f32, n=128)' tid_in_wg=45,reg=9
  tilewise who 'mma.A(m16n8k16, f16)' laneid=5,a3
  tilewise who 'S[(4, 3) : (4, 1)]' --holes
  tilewise who 'S[(2, 3) : (2, 1)]' --shared

PLACE names some axes or all; a bare integer is m. Of an entry of the catalogue an element may stand by the
name that the manual gives it, such as a3. With --byte the place is a byte address, and the swizzle acts on
the address that the base leads to, aligned or not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

from tilewise.core.errors import LayoutError, NotDecided, of_kind
from tilewise.core.integers import number_text
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector, point
from tilewise.questions.addresses import OF_BASE, Buffer, address_in, buffer_from
from tilewise.questions.asking import ASKED_IN, LAYOUT, asks
from tilewise.questions.report import Report, index_text, order_of
from tilewise.questions.texts import Texts, is_padding, misused, number_in, text_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Unpack

    from tilewise.questions.asking import LayoutText, Number, Place, ShapeText, TextOptions, Type

    Found = tuple[tuple[int, ...], Vector]

_ELEMENT = re.compile(r"(^|,)\s*[a-z]+\d+\s*(,|$)")
"""An element by its name, which no axis and no number is."""

SUCH = "such as laneid=5,reg=1 as text, {'laneid': 5}, what at(...) found, or 27"
MAX_ANSWERS = 1 << 16
MAX_BOX = 1 << 24
MAX_SHARERS = 64


OF_PLACES = {
    "lane": "N: the place by options in the place of PLACE: this lane",
    "warp": "N: this warp",
    "thread": "N: this thread of its warpgroup, or of its block",
    "reg": "N: this element of a thread's registers",
}
"""{an axis that a place is often asked by: the help of its option}."""


@asks(
    {"a place by its axes": OF_PLACES},
    layout=LAYOUT,
    place="PLACE: such as laneid=5,reg=1 or 27",
    shape=ASKED_IN,
    byte="A: ask for the byte at this address instead; needs --dtype",
    base=OF_BASE,
    holes="list the places that hold nothing instead",
    shared="list the places that hold several instead",
    limit="N: answer with N elements or places at most",
)
def who(
    layout: LayoutText,
    place: Place | None = None,
    dtype: Type | None = None,
    *,
    shape: ShapeText | None = None,
    byte: Number | None = None,
    base: Number | None = None,
    holes: bool = False,
    shared: bool = False,
    limit: int | None = None,
    lane: Number | None = None,
    warp: Number | None = None,
    thread: Number | None = None,
    reg: Number | None = None,
    **reading: Unpack[TextOptions],
) -> Report:
    """Return the elements that live at a place; of a part of a place, each with its own place.

    >>> who("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", "laneid=5,reg=1").indices
    [(1, 1, 1)]
    >>> who("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", lane=5).matches[0]["index"]
    (1, 1, 0)
    """
    axes = {"lane": lane, "warp": warp, "thread": thread, "reg": reg}
    named = {
        axis: number_in(value, f"--{axis}", "number", "5")
        for axis, value in axes.items()
        if value is not None
    }
    if named and place is None:
        place = named
    elif named:
        raise misused("PLACE and options for its axes are two ways to say it", "such as laneid=5,reg=1")
    texts = Texts(dtype, asked_shape=shape, **reading)
    text = text_from(layout, texts.let) if isinstance(layout, str) else layout
    where = texts.layout(text)
    if sum((place is not None, byte is not None, holes, shared)) != 1:
        raise misused("one question at a time: PLACE, --byte, --holes or --shared", "such as laneid=5,reg=1")
    if limit is not None and limit < 1:
        raise misused(f"--limit {limit} asks for nothing", "give at least 1")
    if holes or shared:
        return _listed(texts, where, holes, limit)
    if byte is not None:
        return _at_byte(texts, where, address_in(byte, "--byte"), base, limit)
    return _at_place(texts, where, text, place, limit)


# -- who lives at a place, or at a byte --------------------------------------------------------------


def _at_place(texts: Texts, layout: Layout, given: LayoutText, place: Any, limit: int | None) -> Report:
    from tilewise.core.inverse import on_its_axes

    asked = on_its_axes(layout, _asked_place(texts, given, place))
    found, fields, answer = _found(texts, layout, [asked], limit)
    if answer is False:
        fields.setdefault("reason", why_empty(layout, asked))
    lines = [f"{index_text(index)} at {at}" for index, at in found]
    return texts.report(fields, _text(fields, lines), answer)


def _asked_place(texts: Texts, given: LayoutText, place: Any) -> dict[str, int]:
    """Return a place; of an entry of the catalogue an element may stand by the name in its manual."""
    from tilewise.notation import parse_place

    if not isinstance(place, str):
        if hasattr(place, "__index__"):
            return {"m": place}
        if isinstance(place, Vector):
            return place.as_dict() or {"m": 0}
        return dict(place) if isinstance(place, Mapping) else of_kind(place, dict, "a place", SUCH)
    if _ELEMENT.search(place) and isinstance(given, str):
        from tilewise.hardware.calls import read_call
        from tilewise.hardware.catalog.places import asked_place
        from tilewise.pictures.address import call_in

        if given and call_in(given) == given:
            entry, values, named = read_call(given, texts.let)
            return asked_place(entry(*values, **named), place, texts.let)
    return parse_place(place, texts.let)


def _at_byte(texts: Texts, layout: Layout, byte: int, base: Number | None, limit: int | None) -> Report:
    buffer = buffer_from(layout, texts.dtype, base)
    seen = buffer.seen(layout)
    found, fields, answer = _found(texts, seen, [{"m": unit} for unit in buffer.units_at(byte)], limit)
    fields = {"byte": byte, "base": buffer.base, **fields}
    if answer is False:
        fields.setdefault("reason", _reason_at_byte(seen, byte, buffer))
    lines = []
    for index, at in found:
        line = f"{index_text(index)} at {at}"
        if buffer.bits > 8:
            line += f", byte {byte - buffer.byte_of(at['m'])} of its {buffer.bits // 8}"
        lines.append(line)
    return texts.report(fields, _text(fields, lines), answer)


def _found(
    texts: Texts, layout: Layout, places: list[dict[str, int]], limit: int | None
) -> tuple[list[Found], dict[str, Any], bool | None]:
    """Return the elements at any of the places as (index, place) pairs, the fields, and the answer."""
    from tilewise.core.inverse import is_partial

    exact = len(places) == 1 and not is_partial(layout, places[0])
    fields: dict[str, Any] = {"place": places[0], **order_of(layout)}
    shape, more = texts.asked_shape, None if limit is None else limit + 1
    try:
        matches = {m for place in places for m in layout.matches(place, shape=shape, limit=more)}
    except NotDecided as error:
        key = "indices" if exact else "matches"
        return [], fields | {key: None, "reason": error.message}, None
    box = texts.box if shape is None else None
    found = sorted(
        [match for match in matches if not is_padding(match[0], box)],
        key=lambda match: (layout.flat_index(match[0], shape=shape), [steps for _, steps in match[1].terms]),
    )
    if matches and not found:
        fields["reason"] = "it is padding, beyond the tensor"
    if limit is not None:
        fields["more"] = len(found) > limit
        found = found[:limit]
    if exact:
        fields["indices"] = list(dict.fromkeys(index for index, _ in found))
    else:
        fields["matches"] = [{"index": index, "place": place} for index, place in found]
    return found, fields, bool(found)


def _text(fields: Mapping[str, Any], lines: Sequence[str]) -> str:
    if not lines:
        return f"nothing lives there: {fields['reason']}" if "reason" in fields else ""
    return "\n".join([*lines, *(["... and more"] if fields.get("more") else [])])


def why_empty(layout: Layout, place: dict[str, int]) -> str:
    """Return the reason why nothing lives at a place."""
    names = [axis.name for axis in layout.axes]
    for name, steps in place.items():
        if name not in names:
            return f"the layout has no axis {name}, so all is at {name}=0; it has {', '.join(names)}"
        try:
            low, high = layout.extremes(name)
        except NotDecided:
            continue
        if not low <= steps <= high:
            return f"{name} goes from {low} to {high}"
    return "the place is a hole"


def _reason_at_byte(seen: Layout, byte: int, buffer: Buffer) -> str:
    try:
        low, high = seen.extremes("m")
    except NotDecided:
        return "the byte is in a hole"
    first, last = buffer.byte_of(low), buffer.byte_of(high + 1) - 1
    if first <= byte <= last:
        return "the byte is in a hole"
    return f"the elements lie at bytes {first:#x} to {last:#x}, and {byte:#x} is not among them"


# -- which places hold nothing, or several -----------------------------------------------------------


def _listed(texts: Texts, layout: Layout, holes: bool, limit: int | None) -> Report:
    """Return the places that hold nothing, or several."""
    from tilewise.tables import empty_places, shared_places

    _check_box(layout)
    rows = (empty_places if holes else shared_places)(layout)
    bound = MAX_ANSWERS if limit is None else limit
    fields: dict[str, Any] = {"count": len(rows), "more": len(rows) > bound}
    places = [point(layout.axes, row) for row in rows[:bound].tolist()]
    if holes:
        reason, lines = "every place of the box is taken", _runs(places)
        fields["holes"] = places
    else:
        reason, lines, fields["shared"] = "no place holds two elements", [], []
        for place in places:
            held = layout.who(place, shape=texts.asked_shape, limit=MAX_SHARERS)
            more = ", ..." * (len(held) == MAX_SHARERS)
            lines.append(f"{place} holds {', '.join(map(index_text, held))}{more}")
            fields["shared"].append({"place": place, "indices": held})
    if not places:
        return texts.report(fields | {"reason": reason}, reason, False)
    return texts.report(fields, _text(fields, lines))


def _check_box(layout: Layout) -> None:
    places = prod(layout.span(axis) for axis in layout.axes)
    if max(places, layout.size) > MAX_BOX:
        raise LayoutError(
            "TW301",
            f"{number_text(places)} places and {number_text(layout.size)} elements; "
            f"at most {MAX_BOX} are gone through",
            hint="info shows one hole, and one place that is shared",
        )


def _runs(places: list[Vector]) -> list[str]:
    """Return a line for every run of places that follow each other on the last axis."""
    runs: list[list[Vector]] = []
    for place in places:
        *same, (axis, steps) = place.terms
        if runs and runs[-1][-1].terms == (*same, (axis, steps - 1)):
            runs[-1].append(place)
        else:
            runs.append([place])
    return [str(run[0]) + (f" .. {run[-1]}" if len(run) > 1 else "") for run in runs]
