"""Addresses of the explorer: what is shown, in a form that one can read.

The page has a table of calls of the catalogue, and builds none itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from urllib.parse import quote

from tilewise.core.errors import LayoutError
from tilewise.hardware.catalog.entry import Built, Entry
from tilewise.hardware.catalog.instances import instances_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.dtypes import DType


_CALL = re.compile(r"[a-z][\w.]*\s*\([^()]*\)")

LEFT_OUT = ("canonical", "figure")
"""The manual's tables and figures are looked up, not drawn."""

OF_ANY_SIZE = ("awq", "gptq", "marlin", "gguf")
"""Packed weights, whose sizes are a model's: a table has none of them."""

SIZES = {"tcgen05.D": {"n": range(8, 257, 8)}, "tcgen05.sfb": {"rows": range(8, 257, 8)}}
"""Sizes of instructions of which instances have one alone."""

ALL_NUMBERS = ("tcgen05", "mfma")
"""Engines of which numbers that may be left out are in the table, too, such as how many CTAs go together."""

TILES = {"wgmma.smem": ("bf16",), "tcgen05.smem": ("bf16", "e4m3")}
"""Tiles in shared memory, and types of which the page has some: there are too many."""


def page_knows_call(text: str) -> bool:
    """Return whether a text is a call that the page has in its table: one of usual values, in their one
    spelling.

    >>> [page_knows_call(f"mma.A(m8n8k4, f16{more})") for more in ("", ", product=0", ", product=1")]
    [True, True, False]
    >>> [page_knows_call(f"tcgen05.D(f32, m=64, n={n})") for n in (48, 49)]
    [True, False]
    >>> page_knows_call("S[8]"), page_knows_call("mfma.A(16x16x4, f32)")
    (False, True)
    >>> [page_knows_call(f"mfma.D(32x32x8, {dtype})") for dtype in ("f32", "f16")]
    [True, False]
    """
    from tilewise.hardware.calls import read_call

    try:
        entry, given, named = read_call(text)
        values = entry.bind(tuple(given), named)
        said = {p.name: value for p, value in zip(entry.parameters, given, strict=False)} | named
        settled = any(entry.parameter(name).read(value) != values[name] for name, value in said.items())
        return not settled and values in _listed(entry) and _is_legal(entry, values)
    except LayoutError:
        return False


def call_in(text: str) -> str:
    """Return the call that a text begins with, or nothing.

    >>> call_in("wgmma.D(f32, n=64) + 1@wgid"), call_in("S[8] + 1@wgid")
    ('wgmma.D(f32, n=64)', '')
    """
    found = _CALL.match(text)
    return found[0] if found else ""


def dtype_of_call(text: str, let: Mapping[str, int] | None = None) -> str | None:
    """Return the type of the elements of the call that a text begins with, which its layout does not say.

    >>> dtype_of_call("mma.E(m16n8k32, bf16)"), dtype_of_call("wgmma.D(f16, n=8)"), dtype_of_call("S[8]")
    (None, 'f16', None)
    """
    from tilewise.hardware.calls import read_call

    if not (call := call_in(text)):
        return None
    entry, given, named = read_call(call, let)
    return dtype_of(entry(*given, **named))


def dtype_of(built: Built) -> str | None:
    """Return the type of the elements of what an entry gives, if a layout takes that type."""
    from tilewise.core.dtypes import DTYPES

    return built.dtype.name if built.dtype is not None and built.dtype.name in DTYPES else None


def page_values(entry: Entry) -> Iterator[dict[str, Any]]:
    """Return the values of each call of an entry that the page has.

    >>> from tilewise.hardware.catalog import find
    >>> [values["dtype"] for values in page_values(find("wgmma.A"))][:3]
    ['f16', 'bf16', 'tf32']
    """
    every = {tuple(values.items()): values for values in _listed(entry)}  # sizes may meet instances
    return (values for values in every.values() if _is_legal(entry, values))


def _listed(entry: Entry) -> Iterator[dict[str, Any]]:
    """Return those, and others that the hardware does not have."""
    if entry.name.partition(".")[2] in LEFT_OUT or entry.engine in OF_ANY_SIZE:
        return
    if entry.name in TILES:
        modes, rows = ("128B", "64B", "32B", "none"), (128,)
        tiles = product("AB", ("k", "mn"), modes, TILES[entry.name], rows, (64, 128))
        yield from (entry.bind(given) for given in tiles)
        return
    every = list(instances_of(entry).values())
    if entry.engine not in ALL_NUMBERS:
        numbers = {p.name: p.default for p in entry.parameters if p.number and not p.needed}
        every = [values for values in every if numbers.items() <= values.items()]
    sizes = SIZES.get(entry.name, {})
    for values, *given in product(every, *sizes.values()):
        yield values | dict(zip(sizes, given, strict=True))


def _is_legal(entry: Entry, values: dict[str, Any]) -> bool:
    try:
        entry.build(**values)
    except LayoutError:
        return False
    return True


FIELDS = ("e2", "d", "a", "s", "w", "p", "i", "c", "t")
"""The fields of an address behind `e`, in this order; `web/src/app/state.ts` explains each."""


_MATRICES = re.compile(r"(ld|st)matrix\.x[124](\.trans)?")


def fragment(expression: str, dtype: DType | str | None = None, **fields: str | None) -> str:
    """Return the part of an address that says what the explorer shows, from `#` on.

    Addresses hold the other fields than `e` and `d` by their names. The page reads what this writes;
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
    """Return True where the page reads an access: it has a table of calls, and matrices by their short names.

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
    from tilewise.pictures.address import page_knows_call

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
