"""Console examples: their colours, and a link to the explorer for each layout that a command takes.

A line that begins with `$ ` is a command, and every other line is what it printed. The usual lexer takes `(2,
3)` at the start of a line for the prompt of a virtual environment.
"""

from __future__ import annotations

import re
import shlex
from html import escape
from typing import Any, ClassVar

from docutils import nodes
from pygments.lexer import RegexLexer, bygroups, using
from pygments.lexers.shell import BashLexer
from pygments.token import Generic

from pictures import EXPLORER
from tilewise import LayoutError
from tilewise.cli.arguments import call_of
from tilewise.pictures.address import fragment
from tilewise.questions import SUMMARIES
from tilewise.questions.asking import READING, inputs
from tilewise.questions.texts import Texts

COMMAND = re.compile(r"^\$ tilewise (.*?)(?: \||$)", re.MULTILINE)


class ConsoleLexer(RegexLexer):
    """Commands and their output."""

    name = "console"
    tokens: ClassVar = {
        "root": [
            (r"^(\$ )(.*\n?)", bygroups(Generic.Prompt, using(BashLexer))),
            (r".+\n?|\n", Generic.Output),
        ]
    }


def addresses(console: str) -> dict[str, str]:
    """Return {layout as it is written: address in the explorer} of an example's commands."""
    found = {}
    for command in COMMAND.findall(console):
        try:
            words = shlex.split(command)
            name, given = call_of(words) if words[0] in SUMMARIES else ("tour", {})
            texts = [given.get(each.name) for each in inputs(name) if each.kind in ("LayoutText", "Tile")]
            reading = {option: given[option] for option in READING if option in given}
            texts += [word for word in given.get("words", ()) if "[" in word or "):(" in word]
            for text in filter(None, texts):
                layout = Texts(given.get("dtype"), asked_shape=given.get("shape"), **reading).layout(text)
                access = given.get("access", ())
                alone = access[0] if len(access) == 1 and isinstance(access, list) else None
                found[text] = fragment(str(layout), given.get("dtype"), a=alone)
        except (LayoutError, SystemExit, ValueError):
            continue
    return found


def link_to_the_explorer(app: Any, doctree: nodes.document, docname: str) -> None:
    """Put a line of links below each console example whose layouts the explorer can show."""
    if app.builder.format != "html":
        return
    up = "../" * docname.count("/")
    for block in list(doctree.findall(nodes.literal_block)):
        found = addresses(block.astext()) if block.get("language") == "console" else {}
        links = " ".join(
            f'<a href="{up}{EXPLORER}{escape(address)}" title="{escape(text)}">{number}</a>'
            for number, (text, address) in enumerate(found.items(), 1)
        )
        if links:
            below = nodes.raw("", f'<p class="explore">in the explorer: {links}</p>', format="html")
            block.parent.insert(block.parent.index(block) + 1, below)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_lexer("console", ConsoleLexer)
    app.connect("doctree-resolved", link_to_the_explorer)
    return {"parallel_read_safe": True}
