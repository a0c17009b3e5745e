"""Where an element lives: all its places.

  tilewise at 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' 5,3,1
  tilewise at 'S[(4, 2, 2, 4) : (16, 4, 8, 1)]' 2,7 --shape 8,8
  tilewise at '((8,2),(4,4)):((8,64),(1,4))' 9,6
  tilewise at '((8,2),(4,4)):((8,64),(1,4))' '(1,1),(2,1)'
  tilewise at 'SWIZZLE_128B o S[(64, 64) : (64, 1)]' 37,21 --dtype bf16 --base 0x1080

INDEX is a flat integer, one number a mode, or nested as the layout is written. A flat integer counts
row-major; of a layout in CuTe's notation it counts as CuTe does, the leftmost digit fastest.
"""

from __future__ import annotations

import argparse

from tilewise.cli.addresses import OF_BASE, buffer_from
from tilewise.cli.answer import Answer, index_text, order_data, place_data
from tilewise.cli.arguments import ASKED, add_options, layout_and_index, one_layout


def arguments(parser: argparse.ArgumentParser) -> None:
    """LAYOUT INDEX [--shape S] [--bytes] [--base A]."""
    one_layout(parser, ASKED)
    add_options(
        parser,
        {
            "index": ("INDEX", "such as 5,3,1 or 47"),
            "--bytes": "say at which byte as well; needs --dtype",
            "--base": OF_BASE,
        },
    )


def answer(args: argparse.Namespace) -> Answer:
    """The distinct places of one index, and their bytes where those are asked for."""
    layout, flat, index = layout_and_index(args)
    data: dict[str, object] = {"index": list(index), **order_data(layout)}
    if not args.bytes and args.base is None:
        places = layout.places(flat)
        notes = [""] * len(places)
    else:
        buffer = buffer_from(layout, args)
        places = buffer.seen(layout).places(flat)
        addresses = [buffer.byte_of(place["m"]) for place in places]
        notes = [f", byte {address} ({address:#x})" for address in addresses]
        data["bytes"] = addresses
    data["places"] = [place_data(place) for place in places]
    lines = (f"{index_text(index)} -> {place}{note}" for place, note in zip(places, notes, strict=True))
    return Answer(data, "\n".join(lines))
