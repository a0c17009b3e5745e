"""The index function as source text: shifts, masks and folded XORs, ready to paste.

  tilewise code 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]'
  tilewise code 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' --lang c --flat
  tilewise code 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' --inverse --coordinates
  tilewise code 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]' --lang cute --name tile
  tilewise code 'Swizzle<3,3,3> o S[(64, 64) : (64, 1)]' --dtype bf16 --bytes
  tilewise code 'S[(M, 64) : (lda, 1)]' --where 'M % 64 == 0, lda >= 64' --lang triton

A place is a number for each axis, in one struct, or a tuple in Python. An index is one argument a mode,
and with --flat one number: row-major, or in CuTe's order where LAYOUT is in CuTe's dialect. --inverse goes
from a place that is taken to the index, flat unless --coordinates. Where an element has copies, the last
argument is the number of the copy. Names of LAYOUT come after all others, and facts of --where are asserts.
"""

from __future__ import annotations

from dataclasses import replace

from tilewise.core.errors import Refused
from tilewise.questions.addresses import OF_BASE, buffer_from
from tilewise.questions.asking import LAYOUT, asks
from tilewise.questions.report import Report, refused
from tilewise.questions.texts import Texts, misused, text_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, Unpack

    from tilewise.codegen.functions import Range
    from tilewise.core.layout import Layout
    from tilewise.questions.asking import LayoutText, Number, TensorOptions, Type


@asks(
    layout=LAYOUT,
    lang="--as LANGUAGE: the language (cuda)",
    inverse="from a place to the index",
    flat="the index as one number",
    coordinates="the index as one number a mode",
    name="F: the name of the function (place_of, index_of)",
    args="A,B: names of its arguments, in order",
    bytes="places are byte addresses; needs --dtype",
    base=OF_BASE,
)
def code(
    layout: LayoutText,
    dtype: Type | None = None,
    *,
    lang: Literal["cuda", "c", "python", "triton", "cute"] = "cuda",
    inverse: bool = False,
    flat: bool = False,
    coordinates: bool = False,
    name: str | None = None,
    args: str | Sequence[str] = (),
    bytes: bool = False,
    base: Number | None = None,
    **reading: Unpack[TensorOptions],
) -> Report:
    """Return the index function of a layout as source text.

    >>> print(code("S[(4, 4) : (1, 4)]", lang="python").code.splitlines()[-1].strip())
    return i + (j << 2)
    """
    from tilewise.codegen import source_of

    if flat and coordinates:
        raise misused("--flat and --coordinates are two forms of the index", "ask for one")
    texts = Texts(dtype, **reading)
    text = text_from(layout, texts.let) if isinstance(layout, str) else layout
    where = texts.layout(text)
    spelled = _own_text(text, texts)
    if bytes or base is not None:
        where, spelled = _in_bytes(where, spelled or str(where), texts.dtype, base)
    try:
        source = source_of(
            where,
            lang,
            inverse=inverse,
            flat=True if flat else False if coordinates else None,
            name=name,
            arguments=args.split(",") if isinstance(args, str) else args,
            text=spelled,
        )
    except Refused as no:
        return texts.reported(refused(no, {"lang": lang, "code": None}, instead=True))
    fields = {
        "lang": source.lang,
        "name": source.name,
        "arguments": [_range(argument) for argument in source.arguments],
        "results": [_range(result) for result in source.results],
        "code": source.code,
    }
    return texts.report(fields, source.code)


def _own_text(text: LayoutText, texts: Texts) -> str:
    """Return a layout as it was typed, on one line; nothing where that has no place in a comment."""
    if not isinstance(text, str):
        return ""
    spelled = " ".join(text.split())
    if spelled.startswith("{") or not spelled.isprintable() or set(spelled) & set("\\\"'"):
        return ""
    known = {name: value for name, value in texts.let.items() if isinstance(value, int)}
    values = ", ".join(f"{name}={value}" for name, value in known.items())
    return f"{spelled} with {values}" if values else spelled


def _in_bytes(layout: Layout, text: str, dtype: Type | None, base: Number | None) -> tuple[Layout, str]:
    """Return the layout of byte addresses, and its text in a comment; the swizzle acts on addresses."""
    buffer = buffer_from(layout, dtype, base)
    seen = buffer.seen(layout).in_bytes(dtype or "u8")
    of = f" of {dtype}" if dtype else ""
    where = f", in a buffer that begins at byte {buffer.base:#x}" if buffer.base else ""
    return replace(seen, outer=seen.outer + buffer.base), f"{text}{of}{where}"


def _range(ends: Range) -> dict[str, object]:
    return {"name": ends.name, "min": ends.low, "max": ends.high}
