"""The directive `errors`: a section for every error whose code begins so, with an example that is run."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from tests.docs.examples import ran

from tilewise.core.errors import CODES

EXAMPLES = Path(__file__).parents[1] / "reference/errors.toml"


class Errors(Directive):
    """`errors` TW0 shows the errors of that group, in the order of their codes."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return one section an error."""
        self.state.document.settings.env.note_dependency(str(EXAMPLES))
        examples = tomllib.loads(EXAMPLES.read_text(encoding="utf-8"))
        codes = (code for code in CODES if code.startswith(self.arguments[0]))
        return [_section(code, examples[code]) for code in codes]


def _section(code: str, example: str) -> nodes.section:
    section = nodes.section(ids=[code.lower()], names=[code.lower()])
    section += nodes.title(text=f"{code}: {CODES[code]}")
    language, text = ran(example)
    section += nodes.literal_block(text, text, language=language)
    return section


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("errors", Errors)
    return {"parallel_read_safe": True}
