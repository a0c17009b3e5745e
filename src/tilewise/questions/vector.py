"""The widest vectors with which an access can be made, and what blocks wider ones.

  tilewise vector 'S[(64, 96) : (100, 1)]' --dtype f16
  tilewise vector 'S[(64, 64) : (1, 64)]' --dtype f16 --access row --access col
  tilewise vector 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]' --dtype bf16 --access mma.A:m16n8k16 --base 0x400
  tilewise vector 'S[(64, 64) : (64, 1)]' --dtype f32 --access 'S[(32, 8) : (64, 1)]' --op st
  tilewise vector 'S[(64, 96) : (100, 1)]' --dtype f16 --access row:16B

A lane moves 1, 2, 4, 8 or 16 neighbouring bytes, from an address that is a multiple of their number. LAYOUT
is a tile of memory, in elements of --dtype, which begins at --base. An access says which elements each lane
asks for, as in `tilewise banks`; without one, lanes go along the rows.

The answer names the block: the first lane that asks for elements that are no neighbours, or that begin at no
multiple of the width; the tile's own address; the end of the tile or of a row; the elements that a lane
holds. Exit code 1 where no width can be moved, or where an access says a width that cannot be.
"""

from __future__ import annotations

from tilewise.core.errors import Refused
from tilewise.questions.accesses import LAYOUT, listed, tile_and_base, unserved
from tilewise.questions.asking import asks
from tilewise.questions.hints import in_a_shell
from tilewise.questions.report import Report, refusal_fields
from tilewise.questions.texts import Texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Unpack

    from tilewise.check.access import Width
    from tilewise.questions.asking import LayoutText, Many, Number, TensorOptions, Type


@asks(
    layout=LAYOUT,
    access="A: the elements of each lane, such as row (the default) or col; repeatable",
    base="N: the address of the tile (0)",
    op="OP: ld, st or cp.async",
)
def vector(
    layout: LayoutText,
    dtype: Type | None = None,
    *,
    access: Many = "row",
    base: Number | None = None,
    op: str | None = None,
    **reading: Unpack[TensorOptions],
) -> Report:
    """Return the widest vectors with which a tile's accesses can be made, and what blocks wider ones.

    >>> vector("S[(64, 96) : (100, 1)]", "f16").accesses[0]["bytes"]
    8
    """
    from tilewise.check.access import widest

    texts, accesses = Texts(dtype, **reading), listed(access)
    tile, address = tile_and_base(texts, layout, accesses, base, "vector")
    try:
        widths = [widest(each, tile, texts.dtype, op, address) for each in accesses]
    except Refused as no:
        return texts.reported(unserved(no, "accesses"))
    fields = {
        "layout": tile,
        "dtype": texts.dtype,
        "base": address,
        "accesses": [_fields(width) for width in widths],
    }
    refusals = [width.refusal for width in widths if width.refusal]
    if refusals:
        fields |= refusal_fields(refusals[0])
    return texts.report(fields, "\n".join(line for width in widths for line in _lines(width)), not refusals)


def _fields(width: Width) -> dict[str, Any]:
    return width.as_dict() | ({"asked": width.asked} if width.asked else {})


def _lines(width: Width) -> Iterator[str]:
    if width.refusal is None:
        yield from _widest(width)
        return
    yield f"no: {width.refusal.reason}"
    yield f"the widest is {next(_widest(width))}"
    if width.next != width.asked:
        yield from [*_widest(width)][1:]
    elif width.refusal.hint:
        yield f"  hint: {in_a_shell(width.refusal.hint)}"


def _widest(width: Width) -> Iterator[str]:
    access = width.access
    one = access.elements == 1
    held = f"one element of {access.dtype}" if one else f"{access.elements} elements of {access.dtype}"
    plural = "" if access.requests == 1 else "s"
    yield f"{access.name}: {held} a lane, {access.requests:,} request{plural} of {access.lanes} lanes"
    if width.blocked is None:
        return
    yield f"  {width.next} bytes: {width.blocked.reason}"
    if width.blocked.hint:
        yield f"  hint: {in_a_shell(width.blocked.hint)}"
