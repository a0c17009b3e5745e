"""Addresses of the explorer: what is shown, in a form that one can read."""

from __future__ import annotations

import re
from urllib.parse import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.dtypes import DType

FIELDS = ("e2", "d", "a", "s", "w", "p", "i", "c", "t")
"""What an address says behind `e`, in this order: `web/src/app/state.ts` tells what each is."""


_MATRICES = re.compile(r"(ld|st)matrix\.x[124](\.trans)?")


def fragment(expression: str, dtype: DType | str | None = None, **fields: str | None) -> str:
    """The part of an address that says what the explorer shows, from `#` on.

    Other fields than `e` and `d` are said by their names in addresses. The page reads what this writes;
    of its own it leaves out the spaces that say nothing.

    >>> fragment("Swizzle<3,0,3> o S[(8, 8) : (8, 1)]", "bf16")
    '#1&e=Swizzle{3,0,3}~o~S[(8,~8)~:~(8,~1)]&d=bf16'
    """
    from tilewise.core.dtypes import DType

    said = {"d": dtype if dtype is None or isinstance(dtype, str) else DType.of(dtype).name, **fields}
    more = [f"{name}={_escaped(text)}" for name in FIELDS if (text := said.get(name))]
    return "#" + "&".join(["1", f"e={_escaped(expression)}", *more])


PAGE_WORDS = ("row", "col", "tma", "boxes")
"""Accesses by a word alone that the page makes: `web/src/scene/patterns.ts`."""


def page_knows(access: str, dtype: DType | str | None = None) -> bool:
    """Whether the page reads an access of a tile: it has a table of calls, and matrices by their short names.

    >>> [page_knows(text) for text in ("row:16B@st", "descriptor.A", "boxes", "tma", "wgmma.D:f32:n64")]
    [True, True, True, True, True]
    >>> [page_knows(text) for text in ("ldmatrix.x4", "ldmatrix.x1.m16n16", "mma.A:m8n8k4:f16:product1")]
    [True, False, False]
    >>> page_knows("S[(32, 8) : (64, 1)]"), page_knows("S[(32, 8) : (1@e0, 1@e1)]")
    (True, True)
    >>> page_knows("mma.C:m16n8k16", "f32"), page_knows("mma.C:m16n8k16", "bf16")
    (True, False)
    """
    from tilewise.check.access.patterns import MATRICES, Words, as_call
    from tilewise.core.dtypes import DType
    from tilewise.hardware.catalog.registry import engine_entries
    from tilewise.pictures.calls import page_knows_call

    subject = Words.of(access).subject
    name, *words = (word.strip() for word in subject.split(":"))
    if name.partition(".")[0] in MATRICES and "(" not in name:
        return _MATRICES.fullmatch(subject) is not None
    there = engine_entries(name)
    if name in there:
        return page_knows_call(as_call(there[name], words, DType.of(dtype or "bf16")))
    if name.partition("(")[0] in there:
        return page_knows_call(subject)
    return not name.isidentifier() or name in PAGE_WORDS


def _escaped(text: str) -> str:
    """Readable in an address: what browsers would escape has stand-ins, which are escaped themselves."""
    escaped = quote(text, safe="[]().,:;=@+*/!?$'", errors="replace").replace("~", "%7E")
    for escape, sign in (("%20", "~"), ("%3C", "{"), ("%3E", "}")):
        escaped = escaped.replace(escape, sign)
    return escaped
