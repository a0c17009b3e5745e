"""The way in: one command, one answer, one exit code.

0  answered, yes      1  no, none or refused      2  not understood      3  not decided
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from tilewise.core.errors import LayoutError, NotDecided, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from tilewise.questions.report import Report

YES, NO, NOT_UNDERSTOOD, UNDECIDED = 0, 1, 2, 3
REQUIRED = ("numpy", "rich")
"""Packages that some commands import when they run."""

_NUMBER = re.compile(r"-\s*[\d(]")


def main(argv: Sequence[str] | None = None) -> int:
    """Run `tilewise` with the given arguments and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in words
    words = [_positional(word) for word in words if word != "--json"]
    _never_fail_to_print()
    try:
        return _print(_answer(words, as_json), as_json)
    except LayoutError as error:
        return _print_error(error, as_json)
    except (MemoryError, RecursionError) as error:
        what = "memory" if isinstance(error, MemoryError) else "nesting"
        refusal = LayoutError("TW301", f"the answer needs more {what} than there is", hint="ask for less")
        return _print_error(refusal, as_json)
    except ModuleNotFoundError as error:
        return _print_error(_lacking(error), as_json)
    except OSError as error:
        what = error.filename or "a file"
        refusal = LayoutError("TW402", f"{what} cannot be read or written: {error.strerror}")
        return _print_error(refusal, as_json)
    except SystemExit as stop:  # argparse has printed its help, or the version
        raise SystemExit(_written(sys.stdout, lambda: None, int(stop.code or YES))) from None
    except KeyboardInterrupt:
        return 130


def _answer(words: list[str], as_json: bool) -> Report:
    from tilewise.cli.arguments import read

    return read(words, as_json)()


def _lacking(error: ModuleNotFoundError) -> LayoutError:
    """Return the error with the package to install; raise again if tilewise itself lacks a module."""
    package = str(error.name).partition(".")[0]
    if package not in REQUIRED:
        raise error
    return LayoutError(
        "TW403",
        f"this answer needs the package {package}, which is not installed",
        hint=f"pip install {package}",
    )


def _written(stream: TextIO, write: Callable[[], None], code: int) -> int:
    """Write to a stream, and return the exit code: `code`, also if the reader has gone."""
    try:
        write()
        stream.flush()
    except BrokenPipeError:
        _drop(stream)
    except OSError as error:
        _drop(stream)
        if stream is sys.stderr:
            return NOT_UNDERSTOOD
        return _print_error(LayoutError("TW402", f"the answer cannot be written: {error.strerror}"), False)
    return code


def _drop(stream: TextIO) -> None:
    """Discard the rest of a stream, so that the end of the process is quiet."""
    with suppress(OSError):  # a stream of another program, such as a notebook's, need not be a file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _positional(word: str) -> str:
    """Return a word such as -1,2 with a space before it: argparse then reads a number, not an option."""
    return f" {word}" if _NUMBER.match(word) else word


def _print(report: Report, as_json: bool) -> int:
    """Print a report, then do the work that follows it; the exit code is the answer."""
    answered = UNDECIDED if report.answer is None else YES if report.answer else NO
    text = report.screen
    if as_json:
        code = _print_json(report.data(), answered)
    elif isinstance(text, str):
        code = _print_text(text, sys.stderr if report.instead else sys.stdout, answered)
    else:
        code = _written(sys.stdout, text, answered)
    if report.asides and not as_json:
        _print_text(f"note: {'; '.join(report.asides)}", sys.stderr, code)
    if report.then is not None and code == answered:
        code = _written(sys.stdout, report.then, code)
    return code


def _print_text(text: str, stream: TextIO, code: int) -> int:
    return _written(stream, lambda: print(text, file=stream), code)


def _print_json(data: dict[str, Any], code: int) -> int:
    import json

    from tilewise.questions.report import SCHEMA

    return _print_text(json.dumps({"schema": SCHEMA, **data}, ensure_ascii=False), sys.stdout, code)


def error_data(error: LayoutError) -> dict[str, Any]:
    """Return an error as JSON has it; one that is not decided is an answer with a reason."""
    from tilewise.questions.report import as_json

    if isinstance(error, NotDecided):
        return {"answer": None, "reason": error.message}
    span = None if error.span is None else list(error.span)
    fields: dict[str, Any] = {"code": error.code, "message": error.message, "span": span, "hint": error.hint}
    return {"error": fields | ({"witness": as_json(error.witness)} if isinstance(error, Refused) else {})}


def _print_error(error: LayoutError, as_json: bool) -> int:
    from tilewise.questions.hints import in_a_shell

    undecided = isinstance(error, NotDecided)
    error.hint = in_a_shell(error.hint)
    if as_json:
        return _print_json(error_data(error), UNDECIDED if undecided else NOT_UNDERSTOOD)
    if undecided:
        return _print_text(str(error), sys.stdout, UNDECIDED)
    return _print_text(f"tilewise: {error}", sys.stderr, NOT_UNDERSTOOD)


def _never_fail_to_print() -> None:
    """Let both streams take all text: unknown characters as question marks, numbers of any size."""
    sys.set_int_max_str_digits(0)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: PTH123, SIM115 - open to the end
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115 - open to the end
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
