"""Text to layouts and back: the notation, CuTe's dialect, JSON, LaTeX and Markdown.

tokens, trees     spans from the first character on; tuples of numbers and vectors
parser, cute      the two dialects
ask               indices, places, shapes and windows as users write them
document, paper   JSON; LaTeX and Markdown
"""

from __future__ import annotations

from importlib import import_module

from tilewise.notation.ask import parse_index, parse_place, parse_region, parse_shape, parse_window
from tilewise.notation.read import is_cute, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.notation.cute import to_cute
    from tilewise.notation.document import from_json, to_json
    from tilewise.notation.paper import to_latex, to_markdown

__all__ = [
    "from_json",
    "is_cute",
    "parse",
    "parse_index",
    "parse_place",
    "parse_region",
    "parse_shape",
    "parse_window",
    "to_cute",
    "to_json",
    "to_latex",
    "to_markdown",
]

_WRITERS = {
    "from_json": "document",
    "to_json": "document",
    "to_latex": "paper",
    "to_markdown": "paper",
    "to_cute": "cute",
}


def __getattr__(name: str) -> Any:
    if name in _WRITERS:
        return getattr(import_module(f"tilewise.notation.{_WRITERS[name]}"), name)
    raise AttributeError(f"module 'tilewise.notation' has no attribute {name!r}")
