"""Pages with the examples that they show: run again, a page must come out as it is written.

    ```python        `>>>` and `...` lines are run, one namespace a page; what they print follows
    ```console       `$ tilewise ...` lines are run; `|`, `| head -8` and `$ echo $?` work as in a shell
    ```sh            set-up, which is not run; every `make` target in it must exist

A command that ends with another exit code than 0 is followed by `$ echo $?`, and another is not.
"""

from __future__ import annotations

import ast
import difflib
import io
import os
import re
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^( *)```(python|console|sh)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
ASK_CODE = "$ echo $?"
COLUMNS = 96


class ExampleError(AssertionError):
    """An example that cannot be run as it is written."""


def compare(page: Path, *, update: bool = False) -> None:
    """Run the examples of a page; refuse, or with `update` write, what prints something else."""
    written = page.read_text(encoding="utf-8")
    now = rendered(written)
    if update and now != written:
        page.write_text(now, encoding="utf-8")
    elif now != written:
        name = page.name
        lines = difflib.unified_diff(written.splitlines(), now.splitlines(), f"{name} as written", "as run")
        raise AssertionError("\n".join([*lines, "if this is right: pytest --update-goldens"]))


def rendered(text: str) -> str:
    """The page with the output of every example replaced by what it prints now."""
    namespace: dict[str, Any] = {"__name__": "page"}

    def block(match: re.Match[str]) -> str:
        indent, language, body = match.groups()
        lines = [line.removeprefix(indent) for line in body.splitlines()]
        try:
            again = {"python": _python, "console": _console, "sh": _setup}[language](lines, namespace)
        except ExampleError as error:
            line = text.count("\n", 0, match.start()) + 1
            raise ExampleError(f"in the example on line {line}: {error}") from None
        inside = "".join(f"{indent}{line}".rstrip() + "\n" for line in again)
        return f"{indent}```{language}\n{inside}{indent}```"

    with _quiet_terminal():
        return FENCE.sub(block, text)


def ran(example: str) -> tuple[str, str]:
    """Return the language of one example, and its lines with what they print."""
    language = "python" if example.startswith(">>> ") else "console"
    return language, rendered(f"```{language}\n{example}```").partition("\n")[2].removesuffix("\n```")


@contextmanager
def _quiet_terminal() -> Iterator[None]:
    """No colour, a fixed width, and paths from the root of the repository."""
    saved, here = dict(os.environ), Path.cwd()
    os.environ |= {"NO_COLOR": "1", "COLUMNS": str(COLUMNS), "TERM": "dumb"}
    os.chdir(ROOT)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ |= saved
        os.chdir(here)


# -- Python ----------------------------------------------------------------------------------------


def _python(lines: list[str], namespace: dict[str, Any]) -> Iterator[str]:
    """Every statement, and what it prints."""
    if not any(line.startswith(">>> ") for line in lines):
        raise ExampleError("a Python example has no `>>>`")
    at = 0
    while at < len(lines):
        if not lines[at].startswith(">>> "):
            at += 1
            yield ""  # what was printed before is dropped; a blank line stands between two statements
            while at < len(lines) and not lines[at].startswith(">>> "):
                at += 1
            continue
        first = at
        at += 1
        while at < len(lines) and lines[at][:4].rstrip() == "...":
            at += 1
        yield from lines[first:at]
        yield from _printed("\n".join(line[4:] for line in lines[first:at]), namespace)
        printed = at
        while at < len(lines) and lines[at] and not lines[at].startswith(">>> "):
            at += 1
        if at == printed and at < len(lines) and not lines[at] and at + 1 == len(lines):
            at += 1


def _printed(source: str, namespace: dict[str, Any]) -> list[str]:
    out = io.StringIO()
    with redirect_stdout(out):
        try:
            tree = ast.parse(source)
            exec(compile(ast.Interactive(tree.body), "<page>", "single"), namespace)
        except Exception as error:
            sys.stdout.write("Traceback (most recent call last):\n    ...\n")
            sys.stdout.write("".join(traceback.format_exception_only(error)))
    return [line or "<BLANKLINE>" for line in out.getvalue().splitlines()]


# -- shell -----------------------------------------------------------------------------------------


def _console(lines: list[str], namespace: dict[str, Any]) -> Iterator[str]:
    """Every command, what it prints on both streams, and its exit code where that is not 0."""
    starts = [i for i, line in enumerate(lines) if line.startswith("$ ")] + [len(lines)]
    if len(starts) < 2 or starts[0]:
        raise ExampleError("a console example starts with `$ `")
    for first, following in pairwise(starts):
        if lines[first] != ASK_CODE:
            out, code = piped(lines[first][2:])
            yield lines[first]
            yield from out.splitlines()
            yield from (ASK_CODE, str(code)) if code else ()
        if following < len(lines) and not lines[following - 1]:
            yield ""


def piped(command: str) -> tuple[str, int]:
    """(what is printed, exit code) of commands joined by pipes."""
    stages: list[list[str]] = [[]]
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|")
    lexer.whitespace_split, lexer.commenters = True, ""
    for word in lexer:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    out, code = "", 0
    for words in stages:
        if words[0] == "head" and re.fullmatch(r"-\d+", words[-1]):
            out, code = "".join(out.splitlines(keepends=True)[: int(words[-1][1:])]), 0
        elif words[0] == "tilewise":
            out, code = _called(words[1:], out)
        else:
            raise ExampleError(f"{words[0]} is not run here")
    return out, code


def _called(words: list[str], stdin: str) -> tuple[str, int]:
    from tilewise.cli.main import main

    out, before = io.StringIO(), sys.stdin
    sys.stdin = io.StringIO(stdin)
    try:
        with redirect_stdout(out), redirect_stderr(out):
            code = main(words)
    except SystemExit as end:  # --help and --version
        code = int(end.code or 0)
    finally:
        sys.stdin = before
    return out.getvalue(), code


def _setup(lines: list[str], namespace: dict[str, Any]) -> list[str]:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in lines:
        for target in re.findall(r"^make ([a-z]+)", line):
            if target not in targets:
                raise ExampleError(f"the Makefile has no target {target}")
    return lines
