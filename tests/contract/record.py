"""The contract: what commands answer, as data. Sentences are no part of it.

    PYTHONPATH=src:. python -m tests.contract.record                  compare: print what differs, exit with 1
    PYTHONPATH=src:. python -m tests.contract.record --write          write the answers of its commands anew
    PYTHONPATH=src:. python -m tests.contract.record --add FILE       add commands, one a line, as in a shell
    PYTHONPATH=src:. python -m tests.contract.record --gather tests   add what tests and pages ask

The record keeps its own commands: it holds an example that a page has lost. An answer is JSON, the exit code,
the code of an error and the witness. A mark stands for each sentence; comments of source code are left out.
Whoever writes an answer anew says why in `CHANGES.md`.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("record.json.gz")
COLUMNS = 96
CHUNK = 50

SENTENCE = "..."
"""The text that stands for a sentence."""

LARGE = 20_000
"""An answer of more characters is kept as its length and its digest."""

SAID = frozenset(["message", "hint", "reason", "note", "notes", "sentence", "law", "usage", "summary"])
"""Keys whose texts are sentences, whatever is in them."""

_TWO_WORDS = re.compile(r"(?<![\w@.:=])[a-z]{2,},? [a-z]{2,}(?![\w(=@.:])")
_COMMENT = re.compile(r'\s*(//|#(?!include|define|if|endif|pragma)).*|"""(?:.|\n)*?"""')

OTHERS = frozenset(["explore", "verify", "completion", "tour", "mcp"])
"""Commands that serve, ask a device, or have nothing but text."""

WRITES = ("--tune", "--html", "--svg", "--png", "--npy", "--help", "-h", "--list", "--version")
"""Options that write a file, measure, or have nothing but text."""


FILES = (".json", ".txt", ".npy", ".svg", ".ttgir")
"""Ends of words that name files."""


class Command(NamedTuple):
    """A command line, and what stands on its standard input."""

    words: tuple[str, ...]
    stdin: str = ""

    @property
    def spelled(self) -> str:
        """The command as a shell has it."""
        piped = f"... {len(self.stdin)} characters | " if self.stdin else ""
        return piped + shlex.join(["tilewise", *self.words])


def is_held(command: Command) -> bool:
    """Return whether a command has an answer that is the same on every machine."""
    words = command.words
    files = any(word.startswith("/") or word.endswith(FILES) for word in words)
    plain = bool(words) and words[0] not in OTHERS and "\0" not in "".join(words)
    return plain and not files and not any(word.split("=")[0] in WRITES for word in words)


# -- answers -----------------------------------------------------------------------------------------


def answer(command: Command) -> list[Any]:
    """Return the exit code of a command, and its answer as data."""
    from tilewise.cli.main import main

    out, before = io.StringIO(), sys.stdin
    sys.stdin = io.StringIO(command.stdin)
    try:
        with redirect_stdout(out), redirect_stderr(io.StringIO()):
            code = main([*command.words, "--json"])
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdin = before
    printed = out.getvalue()
    return [code, shortened(as_data(json.loads(printed)) if printed.startswith("{") else SENTENCE)]


def shortened(data: Any) -> Any:
    """Return an answer, or the length and the digest of a long one."""
    text = json.dumps(data)
    if len(text) > LARGE:
        return {"characters": len(text), "sha256": sha256(text.encode()).hexdigest()}
    return data


def as_data(value: Any, key: str = "") -> Any:
    """Return a part of an answer with a mark in place of each sentence."""
    if isinstance(value, dict):
        return {name: as_data(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return SENTENCE if key in SAID else [as_data(part, key) for part in value]
    if not isinstance(value, str):
        return value
    if key in SAID:
        return SENTENCE if value else ""
    if "\n" in value:
        lines = (line.rstrip() for line in _COMMENT.sub("", value).splitlines())
        return "\n".join(filter(None, lines))
    return SENTENCE if _TWO_WORDS.search(value) else value


def answers(commands: Sequence[Command]) -> Iterator[list[Any]]:
    """Yield the answers of commands, in their order, on all cores."""
    parts = [commands[at : at + CHUNK] for at in range(0, len(commands), CHUNK)]
    with get_context("spawn").Pool(os.cpu_count(), initializer=settled) as pool:
        for found in pool.imap(answers_of, parts):
            yield from found


def answers_of(commands: Sequence[Command]) -> list[list[Any]]:
    """Return the answers of some commands."""
    return [answer(command) for command in commands]


def settled() -> None:
    """Set what an answer might depend on: colours, the width of the terminal, the folder."""
    os.environ |= {"NO_COLOR": "1", "COLUMNS": str(COLUMNS), "TERM": "dumb"}
    os.chdir(ROOT)


# -- the record --------------------------------------------------------------------------------------


def load() -> dict[Command, list[Any]]:
    """Return the record: {command: its answer}."""
    kept = json.loads(gzip.decompress(RECORD.read_bytes())) if RECORD.exists() else []
    return {Command(tuple(words), stdin): found for words, stdin, found in kept}


def save(record: dict[Command, list[Any]]) -> None:
    """Write the record, the same bytes for the same answers."""
    rows = [[command.words, command.stdin, found] for command, found in sorted(record.items())]
    text = json.dumps(rows, separators=(",", ":"))
    RECORD.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def compared(record: dict[Command, list[Any]]) -> Iterator[tuple[Command, list[Any], list[Any]]]:
    """Yield (command, the answer that is kept, the answer of now) where the two differ."""
    commands = list(record)
    for command, now in zip(commands, answers(commands), strict=True):
        if now != record[command]:
            yield command, record[command], now


def parted(kept: Any, now: Any, at: str = "answer") -> Iterator[str]:
    """Yield where two answers part, one line a place."""
    if isinstance(kept, dict) and isinstance(now, dict):
        for key in {**kept, **now}:
            yield from parted(kept.get(key, "absent"), now.get(key, "absent"), f"{at}.{key}")
    elif isinstance(kept, list) and isinstance(now, list) and len(kept) == len(now):
        for i, pair in enumerate(zip(kept, now, strict=True)):
            yield from parted(*pair, f"{at}[{i}]")
    elif kept != now:
        yield f"  {at}: {kept!r:.120} is now {now!r:.120}"


# -- commands ----------------------------------------------------------------------------------------


def commands_in(lines: Iterable[str]) -> Iterator[Command]:
    """Yield the commands of lines, with `tilewise` before them or without."""
    for line in lines:
        words = shlex.split(line.removeprefix("$ "), comments=True)
        words = words[1:] if words[:1] == ["tilewise"] else words
        if words and "|" not in words:
            yield Command(tuple(word for word in words if word != "--json"))


def gathered(paths: Sequence[str]) -> Iterator[Command]:
    """Yield what some tests and pages ask of the command line, by running them."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "commands"
        environment = os.environ | {"TILEWISE_COMMANDS": str(file)}
        run = [sys.executable, "-m", "pytest", "-q", "-p", "tests.contract.listening", *paths]
        subprocess.run(run, env=environment, cwd=ROOT, check=False)
        for line in file.read_text().splitlines():
            words, stdin = json.loads(line)
            yield Command(tuple(words), stdin if "-" in words else "")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the answers anew")
    parser.add_argument("--add", metavar="FILE", type=Path, help="add commands, one a line")
    parser.add_argument("--gather", metavar="PATH", nargs="+", help="add what tests and pages ask")
    args = parser.parse_args()
    settled()
    record = load()
    asked = [*commands_in(args.add.read_text().splitlines())] if args.add else []
    asked += gathered(args.gather) if args.gather else []
    new = [command for command in dict.fromkeys(asked) if command not in record and is_held(command)]
    differing = [] if new else [*compared(record)]
    for command, kept, now in differing:
        print(command.spelled, *parted(kept, now), sep="\n")
    print(f"{len(record)} answers, {len(differing)} differ" + (f"; {len(new)} new" if new else ""))
    if new or args.write:
        record |= dict(zip(new, answers(new), strict=True))
        save(record | {command: now for command, _, now in differing})
        return 0
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
