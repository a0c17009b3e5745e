"""The size of the house: tokens of code by room, and type names that stand for two things.

Both are held by `size.json` beside this file. A room grows only where its number there is raised, in a commit
that says why; a room that shrank lowers its number. `--update-goldens` writes the present sizes and names.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import tilewise

ROOT = Path(tilewise.__file__).parent
RECORD = Path(__file__).with_name("size.json")
SLACK = 0.02
"""A room may be so much smaller than its number, as a share, before the number has to follow."""

LAYOUT_ONLY = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


def docstring_lines(tree: ast.Module) -> set[int]:
    """The lines of all docstrings."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            lines.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def tokens(text: str) -> int:
    """Return how many tokens of code a source has; an f-string is one, as Python 3.11 reads it."""
    docstrings, count, depth = docstring_lines(ast.parse(text)), 0, 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        depth -= kind.endswith("STRING_END")
        code = token.type not in LAYOUT_ONLY and not kind.endswith("STRING_END")
        count += code and not depth and token.start[0] not in docstrings
        depth += kind.endswith("STRING_START")
    return count


def rooms() -> dict[str, int]:
    """Tokens of code by room; files beside the rooms are the facade."""
    sizes: Counter[str] = Counter()
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).parts
        sizes[parts[0] if len(parts) > 1 else "facade"] += tokens(path.read_text(encoding="utf-8"))
    return dict(sorted(sizes.items()))


def type_names(source: str) -> Iterator[str]:
    """The names of the classes and the aliases of types that a module gives to others."""
    for node in ast.parse(source).body:
        inside = node.body if isinstance(node, ast.If) else [node]
        for statement in inside:
            match statement:
                case ast.ClassDef(name=name):
                    yield name
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    yield name


def twice() -> list[str]:
    """The public type names that stand for two things or more."""
    names = Counter(
        name
        for path in ROOT.rglob("*.py")
        for name in type_names(path.read_text(encoding="utf-8"))
        if re.match(r"[A-Z]\w*[a-z]", name)
    )
    return sorted(name for name, count in names.items() if count > 1)


def test_no_room_grows_by_accident(pytestconfig):
    sizes, names = rooms(), twice()
    if pytestconfig.getoption("--update-goldens"):
        RECORD.write_text(json.dumps({"tokens": sizes, "twice": names}, indent=1) + "\n", encoding="utf-8")
    budget = json.loads(RECORD.read_text(encoding="utf-8"))["tokens"]
    assert sizes.keys() == budget.keys()
    grown = {room: (size, budget[room]) for room, size in sizes.items() if size > budget[room]}
    assert not grown, "raise the number in tests/core/size.json where the growth is worth it, and say why"
    slack = {room: (size, budget[room]) for room, size in sizes.items() if size < budget[room] * (1 - SLACK)}
    assert not slack, "lower the number in tests/core/size.json: the room shrank"


def test_no_type_name_stands_for_two_things_beside_those_that_still_do():
    assert twice() == json.loads(RECORD.read_text(encoding="utf-8"))["twice"]


def test_tokens_leave_docstrings_comments_and_the_inside_of_formatted_strings_out():
    source = '"""A module."""\n\n\ndef f(x):  # why\n    """Return."""\n    return f"{x + 1:>{x}}" + "a"\n'
    assert tokens(source) == len(["def", "f", "(", "x", ")", ":", "return", 'f"..."', "+", '"a"'])


def test_type_names_are_classes_and_aliases_of_a_module():
    source = "if TYPE_CHECKING:\n    Pair = tuple[int, int]\nclass Digit:\n    class Inner: ...\nlow = 1\n"
    assert list(type_names(source)) == ["Pair", "Digit", "low"]
