"""Which elements live at a place.

  tilewise who 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' laneid=5,reg=1
  tilewise who 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' laneid=5
  tilewise who 'S[(4, 2, 2, 4) : (16, 4, 8, 1)]' 27 --shape 8,8
  tilewise who 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]' --byte 0x1a40 --base 0x400 --dtype bf16
  tilewise who 'S[(4, 3) : (4, 1)]' --holes
  tilewise who 'S[(2, 3) : (2, 1)]' --shared

PLACE names some axes or all; a bare integer is m. With --byte the place is a byte address, and the
swizzle acts on the address that the base leads to, aligned or not.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from tilewise.cli.answer import NO, UNDECIDED, YES, Answer, index_text, place_data
from tilewise.cli.arguments import layout_from, one_layout, shape_from, shape_option
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.layout import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_ANSWERS = 1 << 16


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT PLACE [--shape S] [--byte A --base A] [--limit N]."""
    one_layout(parser)
    parser.add_argument("place", metavar="PLACE", nargs="?", help="such as laneid=5,reg=1 or 27")
    shape_option(parser)
    parser.add_argument("--byte", metavar="A", help="ask for the byte at this address instead")
    parser.add_argument("--base", metavar="A", default="0", help="the address where the buffer begins (0)")
    parser.add_argument("--holes", action="store_true", help="list the places that hold nothing instead")
    parser.add_argument("--shared", action="store_true", help="list the places that hold several instead")
    parser.add_argument("--limit", type=int, metavar="N", help="answer with N elements or places at most")


def answer(args: argparse.Namespace) -> Answer:
    """The indices at a place; with a partial place, each with its own place."""
    from tilewise.core.inverse import is_partial
    from tilewise.notation import parse_place

    layout = layout_from(args.layout, args)
    questions = (args.place is not None, args.byte is not None, args.holes, args.shared)
    if sum(questions) != 1:
        raise LayoutError(
            "TW401",
            "one question at a time: PLACE, --byte, --holes or --shared",
            hint="such as laneid=5,reg=1",
        )
    if args.limit is not None and args.limit < 1:
        raise LayoutError("TW401", f"--limit {args.limit} asks for nothing", hint="give at least 1")
    if args.holes or args.shared:
        return _listed(layout, args)
    asked: dict[str, Any] = {}
    if args.byte is None:
        places = [parse_place(args.place)]
    else:
        layout, places, asked = _at_byte(layout, args)
    exact = len(places) == 1 and not is_partial(layout, places[0])
    try:
        return _answer(layout, places, exact, shape_from(args), args.limit, asked)
    except NotDecided as error:
        key = "indices" if exact else "matches"
        return Answer({"place": places[0], key: None, "reason": error.message}, str(error), UNDECIDED)


def _listed(layout: Layout, args: argparse.Namespace) -> Answer:
    """The holes, or the places that are shared and by whom."""
    from tilewise.core.vectors import point
    from tilewise.tables import empty_places, shared_places

    key, list_places = ("holes", empty_places) if args.holes else ("shared", shared_places)
    rows = list_places(layout).tolist()
    bound = MAX_ANSWERS if args.limit is None else args.limit
    places = [point(layout.axes, row) for row in rows[:bound]]
    data: dict[str, Any] = {"count": len(rows), "more": len(rows) > bound}
    if args.holes:
        data[key] = [place_data(place) for place in places]
        lines = [str(place) for place in places]
    else:
        held = [layout.who(place, shape=shape_from(args)) for place in places]
        data[key] = [
            {"place": place_data(place), "indices": [list(index) for index in indices]}
            for place, indices in zip(places, held, strict=True)
        ]
        lines = [
            f"{place} holds {', '.join(map(index_text, indices))}"
            for place, indices in zip(places, held, strict=True)
        ]
    if not rows:
        reason = "every place of the box is taken" if args.holes else "no place holds two elements"
        return Answer(data | {"reason": reason}, reason, NO)
    return Answer(data, "\n".join(lines) + ("\n... and more" if data["more"] else ""), YES)


def _answer(
    layout: Layout,
    places: list[dict[str, int]],
    exact: bool,
    shape: Any,
    limit: int | None,
    asked: dict[str, Any],
) -> Answer:
    more = None if limit is None else limit + 1
    found = sorted(
        {match for place in places for match in layout.matches(place, shape=shape, limit=more)}, key=_order
    )
    data: dict[str, Any] = {**asked, "place": places[0]}
    if limit is not None:
        data["more"] = len(found) > limit
        found = found[:limit]
    if exact:
        data["indices"] = [list(index) for index in dict.fromkeys(index for index, _ in found)]
    else:
        data["matches"] = [{"index": list(index), "place": place_data(place)} for index, place in found]
    if not found:
        data["reason"] = _reason(layout, places[0])
        return Answer(data, f"nothing lives there: {data['reason']}", NO)
    text = "\n".join(f"{index_text(index)} at {place}" for index, place in found)
    return Answer(data, text + ("\n... and more" if data.get("more") else ""), YES)


def _order(match: Any) -> Any:
    index, place = match
    return index, place.terms and [steps for _, steps in place.terms]


def _reason(layout: Layout, place: dict[str, int]) -> str:
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


def _at_byte(layout: Layout, args: argparse.Namespace) -> tuple[Layout, list[dict[str, int]], dict[str, Any]]:
    """The layout seen from its base, and the elements of which the byte is part."""
    byte, base = _address(args.byte, "--byte"), _address(args.base, "--base")
    bits = _unit_bits(layout, args.dtype)
    if base * 8 % bits:
        raise LayoutError("TW106", f"the base {base:#x} is no multiple of an element of {bits} bits")
    units = base * 8 // bits
    seen = replace(layout, offset=layout.offset + units, outer=layout.outer - units)
    first, last = (byte - base) * 8 // bits, ((byte - base) * 8 + 7) // bits
    places = [{"m": unit} for unit in range(first, last + 1)]
    return seen, places, {"byte": byte, "base": base}


def _unit_bits(layout: Layout, dtype: str | None) -> int:
    from tilewise.core.dtypes import DType
    from tilewise.core.units import unit_bits

    if layout.unit == "element" and dtype is None:
        raise LayoutError("TW401", "--byte needs the type of an element", hint="such as --dtype bf16")
    return unit_bits(layout.unit, DType.of(dtype or "u8"))


def _address(spelled: str, option: str) -> int:
    try:
        return int(spelled, 0)
    except ValueError:
        raise LayoutError(
            "TW401", f"{option} {spelled} is no address", hint="such as 0x1a40 or 6720"
        ) from None
