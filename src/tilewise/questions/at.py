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

from tilewise.questions.addresses import OF_BASE, buffer_from
from tilewise.questions.asking import ASKED_IN, LAYOUT, asks
from tilewise.questions.report import Report, index_text, order_of
from tilewise.questions.texts import Texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Unpack

    from tilewise.questions.asking import IndexText, LayoutText, Number, ShapeText, TextOptions, Type


@asks(
    layout=LAYOUT,
    index="INDEX: such as 5,3,1 or 47",
    shape=ASKED_IN,
    bytes="say at which byte as well; needs --dtype",
    base=OF_BASE,
)
def at(
    layout: LayoutText,
    index: IndexText,
    dtype: Type | None = None,
    *,
    shape: ShapeText | None = None,
    bytes: bool = False,
    base: Number | None = None,
    **reading: Unpack[TextOptions],
) -> Report:
    """Return the places of an element, and their bytes where these are wanted.

    >>> at("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", (5, 3, 1)).places
    (23@laneid + 1@reg,)
    """
    texts = Texts(dtype, asked_shape=shape, **reading)
    where = texts.layout(layout)
    flat, coordinates = texts.index(where, index)
    fields: dict[str, Any] = {"index": coordinates, **order_of(where)}
    if not bytes and base is None:
        places = where.places_at(flat)
        ends = [""] * len(places)
    else:
        buffer = buffer_from(where, texts.dtype, base)
        places = buffer.seen(where).places_at(flat)
        fields["bytes"] = [buffer.byte_of(place["m"]) for place in places]
        ends = [f", byte {address} ({address:#x})" for address in fields["bytes"]]
    fields["places"] = places
    lines = [f"{index_text(coordinates)} -> {place}{end}" for place, end in zip(places, ends, strict=True)]
    return texts.report(fields, "\n".join(lines))
