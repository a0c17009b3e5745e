"""`parse`: a layout from text, in the notation or in any dialect."""

from __future__ import annotations

import re
from dataclasses import replace

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import UNITS, Layout
from tilewise.core.shapes import as_shape, extents_of
from tilewise.core.units import converted
from tilewise.notation.calls import Catalog
from tilewise.notation.cute import has_rows_below, looks_like_cute
from tilewise.notation.dialects import DIALECTS, Dialect, Given, Reading, dialect_of
from tilewise.notation.dialects import read as read_in
from tilewise.notation.parser import Parser
from tilewise.notation.trees import Names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypedDict, Unpack

    class Options(TypedDict, total=False):
        """The options of a reading; `reading` explains each one."""

        dialect: str | None
        storage: Iterable[str]
        unit: str
        dtype: DType | str | None
        let: Mapping[str, int] | None
        shape: Any
        part: str | None
        triton: str | None
        sums: bool


_OPTIONS = {"dialect", "storage", "unit", "dtype", "let", "shape", "part", "triton", "sums"}
OWN = "tilewise"
"""The notation, which this module reads itself."""


def parse(text: str, **options: Unpack[Options]) -> Layout:
    """Return the layout that a text spells, in the notation or in a dialect, told apart by their looks.

        postcondition  parse(str(L)) == L, given the storage axes and the unit of L if it has them

    A layout in CuTe's notation counts its index as CuTe does, the leftmost digit fastest. `reading` names
    the options, and returns the other facts of the text.

    >>> parse("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]").place(5, 3, 1)
    23@laneid + 1@reg
    >>> print(parse("((8,2),(4,4)):((8,64),(1,4))"))
    ((8,2),(4,4)):((8,64),(1,4))
    >>> parse("SWIZZLE_128B o S[(8, K) : (K, 1)]", dtype="bf16", let={"K": 64})
    Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)]
    """
    return reading(text, **options).layout


def reading(text: str, catalog: Catalog | None = None, **options: Unpack[Options]) -> Reading:
    """Return the layout that a text spells, and the other facts of the text.

        dialect   the name of the dialect, where looks do not decide
        storage   names of your own axes that hold elements
        unit      "byte" or "bit" where strides, offsets and swizzle count those
        dtype     the type of an element; with another unit, strides become those of elements
        let       {name: number} for names in the text
        shape     the extents of the tensor, where a text such as an encoding has none
        part      one of several layouts in a text
        triton    the version of Triton that printed the text, such as "3.2"
        sums      True where parts of a sum may be read, as copies: the reading names their axes

    A `catalog` makes layouts of calls such as `wgmma.D(f32, n=64)`; `tilewise.parse` has the hardware's.

    >>> found = reading("bf16[256,512]{1,0:T(8,128)(2,1)}")
    >>> found.layout, found.dtype
    (S[((32, 4, 2), (4, 128)) : ((4096, 256, 1), (1024, 2))], bf16)
    """
    if unknown := options.keys() - _OPTIONS:
        raise TypeError(f"parse has no option {min(unknown)}; it has {', '.join(sorted(_OPTIONS))}")
    dialect, unit, let = options.get("dialect"), options.get("unit", "element"), options.get("let") or {}
    storage, dtype, shape = options.get("storage", ()), options.get("dtype"), options.get("shape")
    if not isinstance(text, str):
        raise LayoutError("TW001", f"parse reads text, not the {type(text).__name__} {text!r}")
    text = _without_colours(text)
    if unit not in UNITS:
        raise LayoutError("TW106", f"unknown unit {unit!r}", hint="known: " + " ".join(UNITS))
    if dialect not in (None, OWN, *DIALECTS):
        known = " ".join([OWN, *DIALECTS])
        raise LayoutError("TW008", f"unknown dialect {dialect!r}", hint=f"known: {known}")
    element = None if dtype is None else DType.of(dtype)
    other = _dialect_of(text) if dialect is None else DIALECTS.get(dialect)
    if other is not None:
        if unit != "element" and other.counts_elements:
            raise LayoutError("TW106", f"{other.name} counts elements", hint=f"drop the unit {unit}")
        extents = None if shape is None else tuple(extents_of(as_shape(shape)))
        given = Given(text, extents, options.get("part"), options.get("triton"), element, let, unit)
        given = replace(given, sums=bool(options.get("sums")))
        found = read_in(other, given)
        _check_shape(found, given)
        return found if unit == "element" else replace(found, layout=_counted(found.layout, element))
    names = Names(let, frozenset([storage] if isinstance(storage, str) else storage))
    parser = Parser(text, names, unit, element, catalog)
    with parser.blame(parser.next):
        return Reading(_counted(parser.layout(), element))


def _without_colours(text: str) -> str:
    """Return a text without the colours that a terminal has shown it in.

    >>> _without_colours("\x1b[32m(8,4):(4,1)\x1b[0m")
    '(8,4):(4,1)'
    """
    return re.sub(r"\x1b\[[0-9;]*m", "", text) if "\x1b" in text else text


def _check_shape(found: Reading, given: Given) -> None:
    """Refuse a shape that is not that of the text's tensor."""
    shape = found.box or extents_of(found.layout.shape)
    if given.shape is not None and given.shape != shape:
        raise LayoutError(
            "TW202",
            f"the tensor of the text is {' x '.join(map(str, shape))}, and the shape given"
            f" {' x '.join(map(str, given.shape))}",
            hint="a shape is for encodings and shardings without one",
        )


def _counted(layout: Layout, element: DType | None) -> Layout:
    """Return a layout in elements of a type, where it is given."""
    return layout if element is None or layout.unit == "element" else converted(layout, "element", element)


def _dialect_of(text: str) -> Dialect | None:
    """Return the dialect that a text looks like, or None for the notation."""
    found = dialect_of(text)
    if found is None and (has_rows_below(text) or looks_like_cute(text)):
        return DIALECTS["cute"]
    return found


def is_cute(text: str) -> bool:
    """Return True if `parse` reads a text in CuTe's dialect.

    >>> is_cute("(8,4):(4,1)"), is_cute("S[(8, 4) : (4, 1)]")
    (True, False)
    """
    found = _dialect_of(text)
    return found is not None and found.name == "cute"
