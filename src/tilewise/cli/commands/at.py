"""Where an element lives: all its places.

  tilewise at 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' 5,3,1
  tilewise at 'S[(4, 2, 2, 4) : (16, 4, 8, 1)]' 2,7 --shape 8,8
  tilewise at '((8,2),(4,4)):((8,64),(1,4))' 9,6

INDEX is a flat row-major integer, one number a mode, or the nested profile.
"""

from __future__ import annotations

import argparse

from tilewise.cli.answer import Answer, index_text, place_data
from tilewise.cli.arguments import layout_from, one_layout, shape_from, shape_option


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT INDEX [--shape S]."""
    one_layout(parser)
    parser.add_argument("index", metavar="INDEX", help="such as 5,3,1 or 47")
    shape_option(parser)


def answer(args: argparse.Namespace) -> Answer:
    """The distinct places of one index."""
    from tilewise.notation import parse_index

    layout = layout_from(args.layout, args)
    shape = shape_from(args)
    flat = layout.flat_index(parse_index(args.index), shape=shape)
    index = layout.coordinates(flat, shape)
    places = layout.places(flat)
    return Answer(
        {"index": list(index), "places": [place_data(place) for place in places]},
        "\n".join(f"{index_text(index)} -> {place}" for place in places),
    )
