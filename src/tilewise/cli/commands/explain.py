"""How a place comes about: digits, strides, copies, offset, XOR.

tilewise explain 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' 5,3,1
tilewise explain 'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]' 1,8
"""

from __future__ import annotations

import argparse

from tilewise.cli.answer import Answer, place_data
from tilewise.cli.arguments import layout_from, let_from, one_layout, shape_from, shape_option


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT INDEX [--shape S]."""
    one_layout(parser)
    parser.add_argument("index", metavar="INDEX", help="such as 5,3,1 or 47")
    shape_option(parser)


def answer(args: argparse.Namespace) -> Answer:
    """The steps from an index to its places."""
    from tilewise.notation import parse_index
    from tilewise.show.steps import steps_of

    layout = layout_from(args.layout, args)
    shape = shape_from(args)
    flat = layout.flat_index(parse_index(args.index, let_from(args)), shape=shape)
    steps = steps_of(layout, flat, shape)
    data = {
        "index": list(layout.coordinates(flat, shape)),
        "flat": flat,
        "steps": [{"step": step.name, "lines": list(step.lines)} for step in steps],
        "places": [place_data(place) for place in layout.places(flat)],
    }
    width = max(len(step.name) for step in steps)
    lines = [
        f"{step.name if i == 0 else '':<{width}}  {line}"
        for step in steps
        for i, line in enumerate(step.lines)
    ]
    return Answer(data, "\n".join(lines))
