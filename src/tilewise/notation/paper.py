"""Layouts for papers and pages: LaTeX and Markdown."""

from __future__ import annotations

import re

from tilewise.core.layout import Layout
from tilewise.core.text import vector_text

_SPECIAL = re.compile(r"([_#$%&{}])")


def to_latex(layout: Layout) -> str:
    r"""Return the layout as LaTeX for math mode.

    >>> from tilewise import S, laneid
    >>> print(to_latex(S[(8, 4) : (4@laneid, 1@laneid)]))
    \mathrm{S}\left[(8, 4) : (4\,@\,\mathtt{laneid}, 1\,@\,\mathtt{laneid})\right]
    """
    text = str(layout.in_order("row"))
    text = re.sub(r"@(\w+)", lambda name: r"\,@\,\mathtt{" + _SPECIAL.sub(r"\\\1", name[1]) + "}", text)
    text = re.sub(r"\b([SRO])\[", r"\\mathrm{\1}\\left[", text).replace("]", r"\right]")
    text = re.sub(r"Swizzle<(\d+),(\d+),(-?\d+)>", r"\\mathrm{Swizzle}\\langle \1, \2, \3 \\rangle", text)
    return text.replace(" o ", r" \circ ")


def to_markdown(layout: Layout) -> str:
    """Return the layout as Markdown: the expression, and a table of its terms.

    >>> from tilewise import S, R, laneid, reg, warpid
    >>> print(to_markdown(S[(8, 2) : (4@laneid, 1@reg)] + R[2 : 4@warpid]))
    `S[(8, 2) : (4@laneid, 1@reg)] + R[2 : 4@warpid]`
    <BLANKLINE>
    | term | extent | stride |
    | --- | ---: | --- |
    | digit 0 | 8 | `4@laneid` |
    | digit 1 | 2 | `1@reg` |
    | copies | 2 | `4@warpid` |
    """
    rows = [(f"digit {i}", str(it.extent), vector_text(it.stride)) for i, it in enumerate(layout.shard)]
    rows += [("copies", str(it.extent), vector_text(it.stride)) for it in layout.replica]
    rows += [("offset", "", vector_text(layout.offset))] if layout.offset.terms else []
    rows += [("swizzle", "", str(swizzle)) for swizzle in layout.swizzles]
    rows += [("outer offset", "", vector_text(layout.outer))] if layout.outer.terms else []
    lines = [f"`{layout}`", "", "| term | extent | stride |", "| --- | ---: | --- |"]
    return "\n".join(lines + [f"| {name} | {extent} | `{stride}` |" for name, extent, stride in rows])
