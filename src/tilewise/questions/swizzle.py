"""The layout of a tile of shared memory under which all its accesses together conflict least, with the proof.

  tilewise swizzle 128x64 --dtype bf16 --access row:16B@st --access ldmatrix.x4
  tilewise swizzle 32x32 --dtype f32 --access row:4B@st --access col:4B
  tilewise swizzle 64x96 --dtype f16 --access row:16B@st --access 4*ldmatrix.x4 --among mode,padding
  tilewise swizzle 'S[(64, 128) : (1, 64)]' --dtype bf16 --access ldmatrix.x4.trans --access tma
  tilewise swizzle 128x64 --dtype bf16 --access row:16B@st --access col:2B --ideal
  tilewise swizzle 128x64 --dtype bf16 --write cp.async --read ldmatrix.x4

TILE is a shape, meant row-major, or a layout of it; it begins at --base, and its swizzle counts from there.
An access says which elements each lane asks for, as `tilewise banks` has it, and --op whether it loads or
stores where its name does not; 4*A counts A four times. --read A and --write A are accesses that load and
store; ld, st, cp.async and atom alone go along the rows. Searched are the tile as it is, the hardware's
modes, every Swizzle<B,M,S>, every pitch of its rows, and every layout that is linear over GF(2); --among
names some of these families.

wavefronts are those of all accesses, each with its weight; ideal is what their bytes need, as `tilewise
banks` counts it; bound is what no layout of any kind is below that keeps every vector together. Of equal
layouts the one with the least memory is taken, then the simplest. TMA: whether boxes fill it; wgmma: the
operands that it is read as.

Exit code 0 with the best layout; 1 where no layout lets every access be made, or with --ideal where none is
without conflicts; 3 where --ideal was not decided.
"""

from __future__ import annotations

import re

from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.questions.accesses import listed, unserved
from tilewise.questions.addresses import address_in
from tilewise.questions.asking import asks
from tilewise.questions.report import Report, fields_of, table_lines
from tilewise.questions.texts import Texts, misused, text_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Unpack

    from tilewise.check.swizzling import Choice, Found, Searched
    from tilewise.check.swizzling.choose import Readers
    from tilewise.questions.asking import Many, Number, TensorOptions, Tile, Type

_SHAPE = re.compile(r"\d+(\s*[x×]\s*\d+)+")
_WEIGHTED = re.compile(r"(?:\s*(\d+)\s*\*)?\s*(.+)", re.DOTALL)
THEIR_OWN = ("ldmatrix", "stmatrix", "tma", "ld", "st", "cp.async", "atom")
"""Accesses that are of one operation."""


@asks(
    tile="TILE: a shape such as 128x64, a layout, or - for standard input",
    access="[N*]A: the elements of each lane, N times, such as row:16B@st or 4*ldmatrix.x4; repeatable",
    read="[N*]A: an access that loads; repeatable",
    write="[N*]A: an access that stores; repeatable",
    base="N: the address of the tile in shared memory (0)",
    op="OP: ld, st, ldmatrix, stmatrix, cp.async, atom or tma",
    among="F,F: plain, mode, swizzle, padding, linear (all)",
    ideal="no where every layout has conflicts",
)
def swizzle(
    tile: Tile,
    dtype: Type | None = None,
    *,
    access: Many = (),
    read: Many = (),
    write: Many = (),
    base: Number | None = None,
    op: str | None = None,
    among: str | Sequence[str] | None = None,
    ideal: bool = False,
    **reading: Unpack[TensorOptions],
) -> Report:
    """Return the layout of a tile under which its accesses conflict least, or no.

    >>> report = swizzle("128x64", "bf16", write="cp.async", read="ldmatrix.x4")
    >>> print(report.layout, report.wavefronts, report.ideal)
    Swizzle<3,3,3> o S[(128, 64) : (64, 1)] 256 256
    """
    from tilewise.check.swizzling import FAMILIES, choose

    texts = Texts(dtype, **reading)
    if isinstance(tile, str):
        tile = texts.told_by(tile, "dtype")[0] or tile
    accesses = [
        *(_weighted(one) for one in listed(access)),
        *(_weighted(one, "st") for one in listed(write)),
        *(_weighted(one, "ld") for one in listed(read)),
    ]
    if texts.dtype is None:
        raise misused("swizzle needs --dtype", "such as --dtype bf16")
    if not accesses:
        raise misused("swizzle needs --access", "such as --access ldmatrix.x4")
    if isinstance(among, str):
        among = among.replace(" ", "").split(",")
    try:
        found = choose(
            _tile(texts, tile),
            accesses,
            dtype=texts.dtype,
            operation=op,
            base=address_in(base),
            among=tuple(FAMILIES) if among is None else among,
            ideal=ideal,
        )
    except Refused as no:
        return texts.reported(unserved(no, "layout"))
    return texts.report(_fields(found), "\n".join(_lines(found)))


def _tile(texts: Texts, given: Tile) -> Layout | Sequence[int]:
    if isinstance(given, str):
        text = text_from(given, texts.let)
        if _SHAPE.fullmatch(text):
            return tuple(int(extent) for extent in re.split(r"\s*[x×]\s*", text))
        given = text
    return texts.layout(given) if isinstance(given, str | Layout) else given


def _weighted(access: str | Layout, operation: str = "") -> tuple[int, str | Layout]:
    """Return (weight, access), by an operation where the access names no other.

    >>> _weighted("4*ldmatrix.x4", "ld"), _weighted("cp.async", "st"), _weighted("col:2B", "st")
    ((4, 'ldmatrix.x4'), (1, 'cp.async'), (1, 'col:2B@st'))
    """
    found = _WEIGHTED.fullmatch(str(access))
    if found is None or (isinstance(access, Layout) and not operation):
        return 1, access
    weight, text = int(found[1] or 1), found[2]
    if operation and "@" not in text and not text.startswith(THEIR_OWN):
        text = f"{text}@{operation}"
    return weight, text


def _fields(found: Choice) -> dict[str, Any]:
    from tilewise.check.swizzling import PROOFS

    best = found.best
    counts = zip(found.asked, best.wavefronts, best.ideals, strict=True)
    return {
        **_of_family(best),
        "dtype": found.dtype,
        "base": best.base,
        **fields_of(found, "ideal", "bound", "proof"),
        "proven": PROOFS[found.proof],
        "accesses": [
            {"access": asked.access.name, "weight": asked.weight, "wavefronts": count, "ideal": ideal}
            for asked, count, ideal in counts
        ],
        "searched": [
            {**fields_of(family, "family", "tried", "note"), "best": family.best and _of_family(family.best)}
            for family in found.searched
        ],
    }


def _of_family(found: Found) -> dict[str, Any]:
    readers = found.readers
    return {
        **fields_of(found, "layout", "family", "name", "bytes"),
        "wavefronts": found.cost,
        "tma": {"boxes": readers.tma, "reason": readers.why_tma},
        "wgmma": {"operands": readers.wgmma, "reason": readers.why_wgmma},
    }


# -- as text ---------------------------------------------------------------------------------------


def _lines(found: Choice) -> Iterator[str]:
    from tilewise.check.swizzling import PROOFS

    best = found.best
    yield str(best.layout)
    yield f"  which is    {_called(best)}"
    yield f"  wavefronts  {found.cost}: {', '.join(_over(found))}"
    names = [f"{one.weight} * {one.access.name}".removeprefix("1 * ") for one in found.asked]
    counts = zip(names, best.wavefronts, best.ideals, strict=True)
    rows = [(name, f"{own}, ideal {ideal}") for name, own, ideal in counts]
    yield from (f"    {line}" for line in table_lines(rows))
    yield f"  proof       {PROOFS[found.proof]}"
    yield f"  shared      {best.bytes} bytes"
    yield from _readers(best.readers)
    yield "searched"
    head = ("family", "tried", "wavefronts", "bytes", "TMA", "wgmma", "its best")
    yield from (f"  {line}" for line in table_lines([head, *map(_row, found.searched)], "<>>>"))


def _over(found: Choice) -> Iterator[str]:
    if found.cost <= found.free:
        yield "no conflicts"
    if found.proof != "ideal":
        yield f"{found.cost - found.ideal} more than the ideal"


def _called(found: Found) -> str:
    return {
        "plain": "the tile as it is",
        "mode": f"the hardware's mode {found.name}",
        "swizzle": f"the tile under {found.name}",
        "padding": f"the tile with a {found.name}",
        "linear": "a layout that is linear over GF(2)",
    }[found.family]


def _readers(readers: Readers) -> Iterator[str]:
    boxes, operands = readers.tma, readers.wgmma
    tma = f"no: {readers.why_tma}"
    if boxes is not None:
        tma = f"fills it with {boxes} box{'es' if boxes > 1 else ''}"
    yield f"  TMA         {tma}"
    wgmma = f"reads it as {' and as '.join(operands)}" if operands else f"no: {readers.why_wgmma}"
    yield f"  wgmma       {wgmma}"


def _row(one: Searched) -> tuple[object, ...]:
    best = one.best
    if best is None:
        return one.family, one.tried, "-", "-", "-", "-", one.note or "none keeps the vectors together"
    tma = "no" if best.readers.tma is None else "yes"
    wgmma = " ".join(best.readers.wgmma) or "no"
    layout = f"{best.layout} ({one.note})" if one.note else best.layout
    return one.family, one.tried, best.cost, best.bytes, tma, wgmma, layout
