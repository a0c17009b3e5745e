"""Which elements live at a place.

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

import argparse
import re
from math import prod

from tilewise.cli.addresses import OF_BASE, Buffer, address_from, buffer_from
from tilewise.cli.answer import NO, UNDECIDED, YES, Answer, index_text, misused, order_data, place_data
from tilewise.cli.arguments import (
    ASKED,
    add_options,
    box_from,
    is_padding,
    layout_from,
    let_from,
    one_layout,
    shape_from,
    text_from,
)
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.integers import number_text
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector, point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ELEMENT = re.compile(r"(^|,)\s*[a-z]+\d+\s*(,|$)")
"""An element by its name, which no axis and no number is."""

MAX_ANSWERS = 1 << 16
MAX_BOX = 1 << 24
MAX_SHARERS = 64


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT PLACE [--shape S] [--byte A --base A] [--holes | --shared] [--limit N]."""
    one_layout(parser, ASKED)
    add_options(
        parser,
        {
            "[place]": ("PLACE", "such as laneid=5,reg=1 or 27"),
            "--byte": ("A", "ask for the byte at this address instead; needs --dtype"),
            "--base": OF_BASE,
            "--holes": "list the places that hold nothing instead",
            "--shared": "list the places that hold several instead",
            "--limit": {"type": int, "metavar": "N", "help": "answer with N elements or places at most"},
        },
    )


def answer(args: argparse.Namespace) -> Answer:
    """The indices at a place; with a partial place, each with its own place."""
    args.layout = text_from(args.layout)
    layout = layout_from(args.layout, args)
    questions = (args.place is not None, args.byte is not None, args.holes, args.shared)
    if sum(questions) != 1:
        raise misused("one question at a time: PLACE, --byte, --holes or --shared", "such as laneid=5,reg=1")
    if args.limit is not None and args.limit < 1:
        raise misused(f"--limit {args.limit} asks for nothing", "give at least 1")
    if args.holes or args.shared:
        return _listed(layout, args)
    return _at_place(layout, args) if args.byte is None else _at_byte(layout, args)


# -- who lives at a place, or at a byte --------------------------------------------------------------


def _at_place(layout: Layout, args: argparse.Namespace) -> Answer:
    from tilewise.core.inverse import on_its_axes

    place = on_its_axes(layout, _asked_place(args))
    found, data, code = _found(layout, [place], args)
    if code == NO:
        data.setdefault("reason", why_empty(layout, place))
    return Answer(data, _text(data, [f"{index_text(index)} at {at}" for index, at in found]), code)


def _asked_place(args: argparse.Namespace) -> dict[str, int]:
    """PLACE; of an entry of the catalogue an element may stand by the name that the manual gives it."""
    from tilewise.notation import parse_place

    let = let_from(args)
    if _ELEMENT.search(args.place):
        from tilewise.hardware.calls import read_call
        from tilewise.hardware.catalog.places import asked_place
        from tilewise.show.calls import call_in

        if args.layout and call_in(args.layout) == args.layout:
            entry, given, named = read_call(args.layout, let)
            return asked_place(entry(*given, **named), args.place, let)
    return parse_place(args.place, let)


def _at_byte(layout: Layout, args: argparse.Namespace) -> Answer:
    buffer, byte = buffer_from(layout, args), address_from(args.byte, "--byte")
    seen = buffer.seen(layout)
    found, data, code = _found(seen, [{"m": unit} for unit in buffer.units_at(byte)], args)
    data = {"byte": byte, "base": buffer.base, **data}
    if code == NO:
        data.setdefault("reason", _reason_at_byte(seen, byte, buffer))
    lines = []
    for index, at in found:
        line = f"{index_text(index)} at {at}"
        if buffer.bits > 8:
            line += f", byte {byte - buffer.byte_of(at['m'])} of its {buffer.bits // 8}"
        lines.append(line)
    return Answer(data, _text(data, lines), code)


def _found(
    layout: Layout, places: list[dict[str, int]], args: argparse.Namespace
) -> tuple[list[tuple[tuple[int, ...], Vector]], dict[str, Any], int]:
    """Who lives at any of the places: (index, place) pairs, the answer in JSON, the exit code."""
    from tilewise.core.inverse import is_partial

    exact = len(places) == 1 and not is_partial(layout, places[0])
    data: dict[str, Any] = {"place": places[0], **order_data(layout)}
    shape, more = shape_from(args), None if args.limit is None else args.limit + 1
    try:
        matches = {m for place in places for m in layout.matches(place, shape=shape, limit=more)}
    except NotDecided as error:
        key = "indices" if exact else "matches"
        return [], data | {key: None, "reason": error.message}, UNDECIDED
    box = box_from(args) if shape is None else None
    found = sorted(
        [match for match in matches if not is_padding(match[0], box)],
        key=lambda match: (layout.flat_index(match[0], shape=shape), [steps for _, steps in match[1].terms]),
    )
    if matches and not found:
        data["reason"] = "it is padding, beyond the tensor"
    if args.limit is not None:
        data["more"] = len(found) > args.limit
        found = found[: args.limit]
    if exact:
        data["indices"] = [list(index) for index in dict.fromkeys(index for index, _ in found)]
    else:
        data["matches"] = [{"index": list(index), "place": place_data(place)} for index, place in found]
    return found, data, YES if found else NO


def _text(data: dict[str, Any], lines: list[str]) -> str:
    if not lines:
        return f"nothing lives there: {data['reason']}" if "reason" in data else ""
    return "\n".join([*lines, *(["... and more"] if data.get("more") else [])])


def why_empty(layout: Layout, place: dict[str, int]) -> str:
    """Why nothing lives at a place."""
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


def _listed(layout: Layout, args: argparse.Namespace) -> Answer:
    """Return the places that hold nothing, or several."""
    from tilewise.tables import empty_places, shared_places

    _check_box(layout)
    rows = (empty_places if args.holes else shared_places)(layout)
    bound = MAX_ANSWERS if args.limit is None else args.limit
    data: dict[str, Any] = {"count": len(rows), "more": len(rows) > bound}
    places = [point(layout.axes, row) for row in rows[:bound].tolist()]
    if args.holes:
        reason, lines = "every place of the box is taken", _runs(places)
        data["holes"] = [place_data(place) for place in places]
    else:
        reason, lines, data["shared"] = "no place holds two elements", [], []
        for place in places:
            held = layout.who(place, shape=shape_from(args), limit=MAX_SHARERS)
            more = ", ..." * (len(held) == MAX_SHARERS)
            lines.append(f"{place} holds {', '.join(map(index_text, held))}{more}")
            data["shared"].append({"place": place_data(place), "indices": [list(index) for index in held]})
    if not places:
        return Answer(data | {"reason": reason}, reason, NO)
    return Answer(data, _text(data, lines))


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
    """A line for every run of places that follow each other on the last axis."""
    runs: list[list[Vector]] = []
    for place in places:
        *same, (axis, steps) = place.terms
        if runs and runs[-1][-1].terms == (*same, (axis, steps - 1)):
            runs[-1].append(place)
        else:
            runs.append([place])
    return [str(run[0]) + (f" .. {run[-1]}" if len(run) > 1 else "") for run in runs]
