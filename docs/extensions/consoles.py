"""Colours for `console` examples: what follows `$ ` is a command, and every other line is what it printed.

The usual lexer takes `(2, 3)` at the start of a line for the prompt of a virtual environment.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, using
from pygments.lexers.shell import BashLexer
from pygments.token import Generic


class ConsoleLexer(RegexLexer):
    """Commands and their output."""

    name = "console"
    tokens: ClassVar = {
        "root": [
            (r"^(\$ )(.*\n?)", bygroups(Generic.Prompt, using(BashLexer))),
            (r".+\n?|\n", Generic.Output),
        ]
    }


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_lexer("console", ConsoleLexer)
    return {"parallel_read_safe": True}
