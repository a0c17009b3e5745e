"""A layout as source text in one language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module

from tilewise.codegen.functions import Index, Range
from tilewise.codegen.names import checked
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.polynomials import names_now

_MODULES = {"cuda": "c", "c": "c", "python": "text", "triton": "text", "cute": "cute"}
"""{language: the module that it imports}."""

LANGUAGES = tuple(_MODULES)
"""Languages in which a layout can be written."""


@dataclass(frozen=True, slots=True)
class Source:
    """Source text, which prints itself; the name that it defines, its arguments and its results."""

    lang: str
    name: str
    code: str
    arguments: tuple[Range, ...]
    results: tuple[Range, ...]

    def __str__(self) -> str:
        return self.code


def source_of(
    layout: Layout,
    lang: str = "cuda",
    *,
    inverse: bool = False,
    flat: bool | None = None,
    name: str | None = None,
    arguments: Sequence[str] = (),
    text: str = "",
) -> Source:
    """Return the function from an index to its place, or with `inverse` from a place to the index there.

    An index is one argument a mode, and with `flat` one number; the inverse gives a flat index unless
    `flat` is False. A flat index counts in the layout's order. Copies are numbered by a last argument,
    `copy`. The comment shows the layout, or `text` for it.

        requires       arguments in range; for the inverse, a place that holds an element
        refused        TW302 beyond 64-bit integers, TW505 where there is no inverse, TW008 in CuTe

    >>> from tilewise import S, Swizzle
    >>> print(source_of(Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)], "python"))
    def place_of(i, j):
        \"\"\"Swizzle<3,3,3> o S[(8, 64) : (64, 1)]
    <BLANKLINE>
        place_of(i, j): where the element lives, as m.
        i in 0..7, j in 0..63; m in 0..511
        \"\"\"
        return (i * 72) ^ j
    """
    if lang not in LANGUAGES:
        raise LayoutError("TW401", f"unknown language {lang!r}", hint="known: " + " ".join(LANGUAGES))
    if not isinstance(layout, Layout):
        raise LayoutError(
            "TW107",
            f"code is written of a layout, not of the {type(layout).__name__} {layout!r}",
            hint="parse(text) makes one of text" if isinstance(layout, str) else None,
        )
    called = checked(name or ("index_of" if inverse else "place_of"), "a function")
    index = Index(inverse if flat is None else flat, layout.order == "cute")
    names = [arguments] if isinstance(arguments, str) else arguments
    if layout.has_names or names_now():
        return _named(by_coordinates(layout), lang, called, index, names, inverse, text or str(layout))
    if inverse:
        from tilewise.codegen.backward import index_function as function_of
    else:
        from tilewise.codegen.forward import place_function as function_of
    function = replace(function_of(by_coordinates(layout), called, index, names), text=text or str(layout))
    write = getattr(import_module(f"tilewise.codegen.{_MODULES[lang]}"), f"{lang}_source")
    return Source(lang, called, write(function), function.arguments, function.results)


def _named(
    layout: Layout, lang: str, name: str, index: Index, arguments: Sequence[str], inverse: bool, text: str
) -> Source:
    """Return the function of a layout with names, which are its last arguments."""
    from tilewise.codegen.named import named_function, written

    function = named_function(layout, lang, name, index, arguments, inverse, text)
    if lang == "cute":
        from tilewise.codegen.cute import dynamic_source

        code = dynamic_source(layout, name, index, inverse, function.names, function.comment)
    else:
        code = written(function, lang)
    given = (*function.arguments, *(Range(own, None, None) for own in function.names))
    return Source(lang, name, code, given, function.results)
