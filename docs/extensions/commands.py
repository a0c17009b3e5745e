"""The directive `commands`: a section for every command of the command line, with its own help."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

from tilewise.cli.main import main
from tilewise.questions import SUMMARIES


class Commands(Directive):
    """All commands, in the order of the help text."""

    def run(self) -> list[nodes.Node]:
        """Return one section a command."""
        return [_section(name, summary) for name, summary in SUMMARIES.items()]


def _section(name: str, summary: str) -> nodes.section:
    section = nodes.section(ids=[f"tilewise-{name}"], names=[f"tilewise {name}"])
    section += nodes.title(text=name)
    section += nodes.paragraph(text=f"{summary[0].upper()}{summary[1:]}.")
    text = help_of(name)
    section += nodes.literal_block(text, text, language="text")
    return section


def help_of(command: str) -> str:
    """Return what `tilewise COMMAND --help` prints."""
    out = io.StringIO()
    saved = dict(os.environ)
    os.environ |= {"COLUMNS": "96", "NO_COLOR": "1"}
    try:
        with redirect_stdout(out):
            main([command, "--help"])
    except SystemExit:
        pass
    finally:
        os.environ.clear()
        os.environ |= saved
    return out.getvalue().rstrip()


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
