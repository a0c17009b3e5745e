"""Addresses of the explorer: what is shown, in a form that one can read."""

from __future__ import annotations

from urllib.parse import quote

FIELDS = ("e2", "d", "a", "s", "w", "p", "i", "c", "t")
"""What an address says behind `e`, in this order: `web/src/app/state.ts` tells what each is."""


def fragment(expression: str, dtype: str | None = None, **fields: str | None) -> str:
    """The part of an address that says what the explorer shows, from `#` on.

    Other fields than `e` and `d` are said by their names in addresses. The page reads what this writes;
    of its own it leaves out the spaces that say nothing.

    >>> fragment("Swizzle<3,0,3> o S[(8, 8) : (8, 1)]", "bf16")
    '#1&e=Swizzle{3,0,3}~o~S[(8,~8)~:~(8,~1)]&d=bf16'
    """
    said = {"d": dtype, **fields}
    more = [f"{name}={_escaped(text)}" for name in FIELDS if (text := said.get(name))]
    return "#" + "&".join(["1", f"e={_escaped(expression)}", *more])


def page_knows(access: str) -> bool:
    """Whether the page reads an access: it knows nothing of `tma`.

    >>> [page_knows(text) for text in ("row:16B@st", "descriptor.A", "boxes", "wgmma.D:f32:n64", "tma")]
    [True, True, True, True, False]
    """
    from tilewise.check.access.spelling import Words

    return Words.of(access).subject != "tma"


def _escaped(text: str) -> str:
    """Readable in an address: what browsers would escape has stand-ins, which are escaped themselves."""
    escaped = quote(text, safe="[]().,:;@+*/!?$'", errors="replace").replace("~", "%7E")
    for escape, sign in (("%20", "~"), ("%3C", "{"), ("%3E", "}")):
        escaped = escaped.replace(escape, sign)
    return escaped
