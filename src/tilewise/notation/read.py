"""`parse`: a layout from text in either dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import UNITS, Layout
from tilewise.core.units import converted
from tilewise.notation.calls import Catalog, dotted
from tilewise.notation.cute import CuteParser, looks_like_cute
from tilewise.notation.guesses import refuse_xla
from tilewise.notation.parser import Parser
from tilewise.notation.tokens import Cursor
from tilewise.notation.trees import Names

DIALECTS = ("tilewise", "cute")


def parse(
    text: str,
    *,
    dialect: str | None = None,
    storage: Iterable[str] = (),
    unit: str = "element",
    dtype: DType | str | None = None,
    let: Mapping[str, int] | None = None,
    catalog: Catalog | None = None,
) -> Layout:
    """The layout that a text spells, in the notation or in CuTe's, told apart by their looks.

        postcondition  parse(str(L)) == L, with the storage axes and the unit of L where it has such

    A layout in CuTe's notation counts its index as CuTe does, the leftmost digit fastest.

    `storage` names axes of your own that hold elements; `let` gives values to names. With `unit`
    "byte" or "bit" strides, offsets and swizzle count those; a `dtype` then converts to elements. A
    `catalog` makes layouts of calls such as `wgmma.D(f32, n=64)`; `tilewise.parse` has the hardware's.

    >>> parse("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]").place(5, 3, 1)
    23@laneid + 1@reg
    >>> print(parse("((8,2),(4,4)):((8,64),(1,4))"))
    ((8,2),(4,4)):((8,64),(1,4))
    >>> parse("SWIZZLE_128B o S[(8, K) : (K, 1)]", dtype="bf16", let={"K": 64})
    Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)]
    """
    if not isinstance(text, str):
        raise LayoutError("TW001", f"parse reads text, not the {type(text).__name__} {text!r}")
    if unit not in UNITS:
        raise LayoutError("TW106", f"unknown unit {unit!r}", hint="known: " + " ".join(UNITS))
    if dialect not in (None, *DIALECTS):
        raise LayoutError("TW008", f"unknown dialect {dialect!r}", hint="known: " + " ".join(DIALECTS))
    refuse_xla(text)
    names = Names(let or {}, frozenset([storage] if isinstance(storage, str) else storage))
    element = None if dtype is None else DType.of(dtype)
    cursor = Cursor(text)
    cute = dialect == "cute" or (dialect is None and looks_like_cute(cursor))
    if dialect == "cute" and len(dotted(cursor)) > 1:
        raise cursor.error("TW008", "CuTe's dialect has no calls", hint="leave the dialect out")
    with cursor.blame(cursor.next):
        layout = (
            CuteParser(cursor, names, unit).layout()
            if cute
            else Parser(cursor, names, unit, element, catalog).layout()
        )
        return converted(layout, "element", element) if element and unit != "element" else layout


def is_cute(text: str) -> bool:
    """Whether `parse` reads a text in CuTe's dialect.

    >>> is_cute("(8,4):(4,1)"), is_cute("S[(8, 4) : (4, 1)]")
    (True, False)
    """
    return looks_like_cute(Cursor(text))
