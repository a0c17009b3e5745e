"""TiledMMA and TiledCopy as values: the thread of a block for each element of a large tile.

    tiled_mma(mma.A(m16n8k16, f16), (2,2,1), m=32, n=(8,2,2):(1,16,8))
    tiled_copy((16,8):(8,1), (1,8))

The words and the order of their arguments are those of CuTe's `make_tiled_mma` and `make_tiled_copy`
(cute/atom/mma_atom.hpp and copy_atom.hpp): layouts in CuTe's notation, of atoms along M, N and K, of threads
and of values along the modes of a tile. In texts they stand alone, wherever a layout is read.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewise.core.algebra.modes import coalesce, mode_layouts
from tilewise.core.algebra.tiled import OPERANDS, by_warps, on_axis, tiled_operand
from tilewise.core.algebra.tiles import direct_sum
from tilewise.core.axes import Axis
from tilewise.core.builders import dense
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import as_shape
from tilewise.hardware.calls import layout_named
from tilewise.notation.calls import call, dotted
from tilewise.notation.dialects.cute.printed import CuteParser, tile_mode
from tilewise.notation.tokens import NAME
from tilewise.notation.trees import Names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.algebra.tiled import Extent

__all__ = ["is_tiled", "read_tiled", "tiled_copy", "tiled_mma"]

_MNK = "mnk"
_USAGE = {
    "tiled_mma": "such as tiled_mma(mma.D(m16n8k16, f32), (2,2,1), n=32)",
    "tiled_copy": "such as tiled_copy((16,8):(8,1), (1,8))",
}


def tiled_mma(
    atom: Layout,
    threads: Any,
    *,
    operand: str,
    m: Extent = None,
    n: Extent = None,
    k: Extent = None,
) -> Layout:
    """Return the fragment of a tile of A [M, K], B [N, K], C or D [M, N], that several atoms compute.

    `threads` is the number of atoms side by side along M, N and K: a shape, whose atoms count with M fastest,
    or a layout. Each atom is a warp if it has lanes, and a warpgroup if it has warps; atoms along the third
    mode hold copies. `m`, `n` and `k` are the tile's, each an extent or a permutation. A tile larger than the
    atoms together repeats in registers.

        postcondition  CuTe's TiledMMA: `tiled` defines the deal of the elements
        refused        TW507, TW505 as `tiled`; TW509 an atom that already has warps

    >>> from tilewise import parse
    >>> atom = parse("mma.A(m16n8k16, f16)")
    >>> tiled_mma(atom, (2, 2, 1), operand="A", k=32)
    S[((2, 2, 8), (4, 4, 2)) : ((1@warpid, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))] + R[2 : 2@warpid]
    """
    if operand not in OPERANDS:
        raise LayoutError("TW601", f"{operand!r} is no operand of an MMA", hint="known: A B C D")
    if len(atom.shape) != 2:
        raise LayoutError("TW503", f"an atom of {len(atom.shape)} modes; an operand has two")
    return tiled_operand(atom, operand, _groups(atom), _numbered(threads, "threads"), (m, n, k))


def tiled_copy(threads: Any, values: Any) -> Layout:
    """Return the thread and value that copy each element of a tile: `threads` deal it out, each takes
    `values` side by side.

    Both are layouts, or shapes that count with the first mode fastest, of as many modes as the tile.

        postcondition  element (t_i v_i + j) of mode i is that of thread (.., t_i, ..), value (.., j, ..)

    >>> from tilewise import parse
    >>> tiled_copy(parse("(16,8):(8,1)"), (1, 8)).place(3, 9)
    0@warpid + 25@laneid + 1@reg
    """
    dealt = on_axis(Axis("tx"), _numbered(threads, "threads"))
    taken = on_axis(Axis("reg"), _numbered(values, "values"))
    return by_warps(coalesce(direct_sum(dealt, taken), by_mode=True)).in_order("cute")


def _numbered(given: Any, what: str) -> list[Layout]:
    """Return the modes of a layout, or of a shape, that numbers threads or values from 0 on."""
    found = given if isinstance(given, Layout) else dense(as_shape(given), order="cute")
    if found.moving not in ((), ("m",)) or found.replica or found.swizzles or found.offset:
        raise LayoutError("TW107", f"{what} are numbered, by a layout such as (16,8):(8,1), not by {given}")
    if found.injective.answer is not True:
        raise Refused("TW509", f"{given} gives one number to two {what}", witness=found.injective.witness)
    return mode_layouts(by_coordinates(found))


def _groups(atom: Layout) -> Axis:
    """Return the axis that counts atoms: of threads, warps or warpgroups."""
    axes = set(atom.moving)
    if taken := axes & {"warpid", "wgid", "tx"}:
        raise Refused(
            "TW509",
            f"the atom moves on {' and '.join(sorted(taken))}, and so would those beside it",
            witness=sorted(taken),
            hint="an atom is of laneid, or of laneid and wid_in_wg",
        )
    if axes & {"wid_in_wg", "tid_in_wg"}:
        return Axis("wgid")
    return Axis("warpid") if "laneid" in axes else Axis("tx")


# -- in texts --------------------------------------------------------------------------------------


def is_tiled(text: str) -> bool:
    """Return True if a text is one of these calls.

    >>> is_tiled("tiled_copy((4,8), (2,1))"), is_tiled("wgmma.D(f32, n=64)")
    (True, False)
    """
    name, opened, _ = text.partition("(")
    return bool(opened) and name.strip() in _USAGE


def read_tiled(text: str, let: Mapping[str, int]) -> Layout:
    """Return the layout of a call in a text.

    >>> print(read_tiled("tiled_copy((4,8), (2,1))", {}).in_order("row"))
    S[((4, 2), 8) : ((1@laneid, 1@reg), 4@laneid)]
    """
    cursor = CuteParser(text, Names(let, frozenset()))
    start = cursor.take()
    usage = _USAGE[start.text]
    opened = cursor.expect("(")
    with cursor.blame(start):
        if start.text == "tiled_mma":
            found = _read_mma(cursor, usage)
        else:
            threads = _shape_or_layout(cursor)
            cursor.expect(",", hint=usage)
            found = tiled_copy(threads, _shape_or_layout(cursor))
    cursor.expect(")", opened, usage)
    cursor.expect_end("the call", "it stands alone: no offset and no copies are added")
    return found


def _read_mma(cursor: CuteParser, usage: str) -> Layout:
    first = cursor.next
    if first.kind != NAME:
        raise cursor.error("TW004", f"expected an atom of the catalogue, found {first}", hint=usage)
    operand = dotted(cursor)[-1].text
    atom = call(cursor, layout_named)
    cursor.expect(",", hint=usage)
    threads = _shape_or_layout(cursor)
    tile: dict[str, Any] = {}
    while cursor.accept(","):
        mode = cursor.take()
        if mode.text not in _MNK or mode.text in tile:
            raise cursor.error(
                "TW601", f"{mode} does not belong here: write m, n, k, each of them once", mode.span, usage
            )
        cursor.expect("=", hint=usage)
        tile[mode.text] = tile_mode(cursor)
    return tiled_mma(atom, threads, operand=operand, **tile)


def _shape_or_layout(cursor: CuteParser) -> Any:
    """Take a shape, or a layout of CuTe where strides follow it."""
    found = cursor.shape_or_layout()
    return found if isinstance(found, Layout) else cursor.shape_of(found)
