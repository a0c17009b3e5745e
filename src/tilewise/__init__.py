"""tilewise tells where every element of a tensor lives.

>>> from tilewise import S, laneid, reg
>>> fragment = S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]
>>> fragment.place(5, 3, 1)
23@laneid + 1@reg
"""

from __future__ import annotations

import sys as _sys

from tilewise.core import layout as _layout
from tilewise.core.axes import Axis
from tilewise.core.builders import O, R, S
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.layout import Layout
from tilewise.core.swizzles import Swizzle
from tilewise.questions import FORMS, SUMMARIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tilewise import algebra
    from tilewise.core.known import name
    from tilewise.hardware.calls import parse
    from tilewise.moves import move, plan
    from tilewise.products import attention, gemm
    from tilewise.questions.agree import agree
    from tilewise.questions.at import at
    from tilewise.questions.banks import banks
    from tilewise.questions.catalog import catalog
    from tilewise.questions.coalesce import coalesce
    from tilewise.questions.code import code
    from tilewise.questions.descriptor import descriptor
    from tilewise.questions.emit import emit
    from tilewise.questions.emit_attention import emit_attention
    from tilewise.questions.emit_gemm import emit_gemm
    from tilewise.questions.emit_move import emit_move
    from tilewise.questions.explain import explain
    from tilewise.questions.explore import explore
    from tilewise.questions.idesc import idesc
    from tilewise.questions.info import info
    from tilewise.questions.match import match
    from tilewise.questions.read import read
    from tilewise.questions.relation import relation
    from tilewise.questions.same import same
    from tilewise.questions.say import say
    from tilewise.questions.show import show
    from tilewise.questions.shuffle import shuffle
    from tilewise.questions.suggest import suggest
    from tilewise.questions.swizzle import swizzle
    from tilewise.questions.table import table
    from tilewise.questions.tma import tma
    from tilewise.questions.tmem import tmem
    from tilewise.questions.vector import vector
    from tilewise.questions.verify import verify
    from tilewise.questions.who import who

__version__ = "1.0.0"

m, reg, TCol, TLane = (Axis(name) for name in ("m", "reg", "TCol", "TLane"))
laneid, warpid, wgid, tx = (Axis(name) for name in ("laneid", "warpid", "wgid", "tx"))
wid_in_wg, tid_in_wg = Axis("wid_in_wg"), Axis("tid_in_wg")
bx, by, bz = (Axis(name) for name in ("bx", "by", "bz"))
cbx, cby, cbz = (Axis(name) for name in ("cbx", "cby", "cbz"))
gpuid_x, gpuid_y = Axis("gpuid_x"), Axis("gpuid_y")

__all__ = [
    "Axis",
    "DType",
    "Layout",
    "LayoutError",
    "NotDecided",
    "O",
    "R",
    "Refused",
    "S",
    "Swizzle",
    "TCol",
    "TLane",
    "agree",
    "algebra",
    "at",
    "attention",
    "banks",
    "bx",
    "by",
    "bz",
    "catalog",
    "cbx",
    "cby",
    "cbz",
    "coalesce",
    "code",
    "descriptor",
    "emit",
    "emit_attention",
    "emit_gemm",
    "emit_move",
    "explain",
    "explore",
    "gemm",
    "gpuid_x",
    "gpuid_y",
    "idesc",
    "info",
    "laneid",
    "m",
    "match",
    "move",
    "name",
    "parse",
    "plan",
    "read",
    "reg",
    "relation",
    "same",
    "say",
    "show",
    "shuffle",
    "suggest",
    "swizzle",
    "table",
    "tid_in_wg",
    "tma",
    "tmem",
    "tx",
    "vector",
    "verify",
    "warpid",
    "wgid",
    "who",
    "wid_in_wg",
]


def __getattr__(name: str) -> Any:
    if name == "parse":
        from tilewise.hardware.calls import parse

        return parse
    if name in ("move", "plan"):
        from tilewise import moves

        return getattr(moves, name)
    if name in ("gemm", "attention"):
        from tilewise import products

        globals()[name] = getattr(products, name)  # the next use finds it at once
        return globals()[name]
    if name == "name":
        from tilewise.core import known

        return known.name
    if name == "algebra":
        from importlib import import_module

        return import_module("tilewise.algebra")
    if name in SUMMARIES or name in FORMS["emit"].values():
        return _layout.questions[name]
    raise AttributeError(
        f"module 'tilewise' has no attribute {name!r}", name=name, obj=_sys.modules[__name__]
    )


def __dir__() -> list[str]:
    """Return all public names: what is not imported yet is completed as well."""
    return sorted({*__all__, "__version__", "__doc__", "__file__", "__name__", "__path__"})


class _Questions(dict[str, "Callable[..., Any]"]):
    """The functions that answer questions, by name; the module of one is imported when it is first needed."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        from tilewise.questions.asking import documented, question

        self[name] = documented(question(name))
        return self[name]


def _drawn(layout: Layout, form: str) -> str | None:
    """Return the picture of a layout for a notebook; the first call imports the module that draws it."""
    from tilewise.pictures.paper.compose import glance

    return glance(layout, form)


_layout.drawer = _drawn
_layout.questions = _Questions()
