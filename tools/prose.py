"""Find habits of prose that make a reader start again: in docstrings, errors, pages and commit messages.

    python -m tools.prose                every docstring, text of the source, and page of the repository
    python -m tools.prose FILE           one page, or the message of a commit: .githooks/commit-msg

A sentence names an actor and a verb. A docstring of a function begins with a verb.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

HABITS = (
    (r"\b(is|are|be|was|were) none\b", "say «no X», or that None is returned"),
    (r"\b(is|are|was|were|be|been) (asked|said|told|looked at|meant|spoken of)\b", "name the actor"),
    (
        r"(?:^(?=.*[.!])|[.:;!] )(?:What|Whether|Who|Which|How)\b[^.?!]*(?:[.!]|$)(?<!\?)",
        "a clause of what, who or whether is no subject: name the thing",
    ),
)
"""(pattern of a habit, repair)."""

NO_VERB = frozenset(
    "the a an what whether who how of where by that all each every one two both some any no in on for if "
    "when this these those their its it from as with at to nothing true none".split()
)
"""First words of a docstring that are no verb."""

CODE = re.compile(r"```[\s\S]*?```|`[^`\n]*`|^ {4,}\S.*$|^>>> .*(?:\n.+)*|^\|.*\|$", re.MULTILINE)
"""Parts of a text that are not prose: code, what a doctest prints, and tables."""

FOLDERS = ("src", "tools", "bench", "docs/extensions")
"""Folders whose functions have docstrings that begin with a verb."""


class Fault(NamedTuple):
    """A sentence with a habit."""

    where: str
    text: str
    repair: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}  ({self.repair})"


def faults(text: str, where: str = "") -> Iterator[Fault]:
    """Yield the habits of a text, one each place.

    >>> [fault.text for fault in faults("There is none here: x is asked for. Whether it is, nobody knows.")]
    ['is none', 'is asked', '. Whether it is, nobody knows.']
    >>> list(faults("Who lives there\\n\\nWhich tile? The nearest."))  # a title, and a question
    []
    """
    for paragraph in re.split(r"\n\s*\n", CODE.sub(" ", text)):
        prose = " ".join(paragraph.split())
        for pattern, repair in HABITS:
            for found in re.finditer(pattern, prose):
                yield Fault(where, found[0].strip()[:100], repair)


def faults_of_source(path: Path, verbs: bool) -> Iterator[Fault]:
    """Yield the habits of a module's texts, and with `verbs` docstrings that begin with no verb."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and verbs:
            first = (ast.get_docstring(node) or "Return").split()[0]
            if first.lower().rstrip(",.:;") in NO_VERB:
                yield Fault(f"{name}:{node.lineno}", first, "a docstring begins with a verb")
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from faults(cleandoc(node.value), f"{name}:{node.lineno}")


def everywhere() -> Iterator[Fault]:
    """Yield the habits of the repository."""
    for folder in (*FOLDERS, "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield from faults_of_source(path, folder in FOLDERS)
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]:
        if "_build" not in path.parts:
            yield from faults(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())


def main(paths: Sequence[str]) -> int:
    """Print the habits of texts, or of the repository; return 1 if there are some."""
    given = (fault for path in paths for fault in faults(Path(path).read_text(encoding="utf-8"), path))
    found = [*(given if paths else everywhere())]
    print("\n".join(map(str, found)) or "no habit found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
