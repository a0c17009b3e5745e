"""How a place comes about: digits, strides, copies, offset, XOR.

tilewise explain 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' 5,3,1
tilewise explain 'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]' 1,8
"""

from __future__ import annotations

import argparse

from tilewise.cli.answer import Answer, place_data
from tilewise.cli.arguments import layout_and_index, one_index, shape_from


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT INDEX [--shape S]."""
    one_index(parser)


def answer(args: argparse.Namespace) -> Answer:
    """The steps from an index to its places."""
    from tilewise.show.steps import steps_of

    layout, flat, index = layout_and_index(args)
    steps = steps_of(layout, flat, shape_from(args))
    data = {
        "index": list(index),
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
