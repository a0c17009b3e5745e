"""The way in: one command, one answer, one exit code.

0  answered, yes      1  no, none or refused      2  not understood      3  not decided
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

from tilewise.cli.answer import NOT_UNDERSTOOD, UNDECIDED, Answer
from tilewise.core.errors import LayoutError, NotDecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = 1
REQUIRED = ("numpy", "rich")
"""What some commands import, when they run."""

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
    except BrokenPipeError:
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        return _print_error(LayoutError("TW402", f"the answer cannot be written: {error.strerror}"), False)
    except KeyboardInterrupt:
        return 130


def _answer(words: list[str], as_json: bool) -> Answer:
    from tilewise.cli.arguments import read

    args = read(words)
    args.json = as_json
    return args.answer(args)  # type: ignore[no-any-return]  # set by `read`


def _lacking(error: ModuleNotFoundError) -> LayoutError:
    """What to install, where the sources run without what they need; a module of their own is a fault."""
    package = str(error.name).partition(".")[0]
    if package not in REQUIRED:
        raise error
    return LayoutError(
        "TW403",
        f"this answer needs the package {package}, which is not installed",
        hint=f"pip install {package}",
    )


def _drop_output() -> None:
    """What is still to be flushed goes nowhere, so that the end of the process is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _positional(word: str) -> str:
    """A word such as -1,2 is a number, not an option: the space says so to argparse."""
    return f" {word}" if _NUMBER.match(word) else word


def _print(answer: Answer, as_json: bool) -> int:
    if as_json:
        _print_json(answer.data)
    elif isinstance(answer.text, str):
        print(answer.text, file=sys.stderr if answer.instead else sys.stdout)
    else:
        answer.text()
    sys.stdout.flush()
    if answer.note and not as_json:
        print(f"note: {answer.note}", file=sys.stderr)
    if answer.then is not None:
        answer.then()
    return answer.code


def _print_json(data: dict[str, Any]) -> None:
    import json

    print(json.dumps({"schema": SCHEMA, **data}, ensure_ascii=False))


def _print_error(error: LayoutError, as_json: bool) -> int:
    from tilewise.cli.hints import in_a_shell

    undecided = isinstance(error, NotDecided)
    error.hint = in_a_shell(error.hint)
    if as_json and undecided:
        _print_json({"answer": None, "reason": error.message})
    elif as_json:
        report: dict[str, Any] = {"code": error.code, "message": error.message}
        report["span"] = None if error.span is None else list(error.span)
        report["hint"] = error.hint
        _print_json({"error": report})
    elif undecided:
        print(error)
    else:
        print(f"tilewise: {error}", file=sys.stderr)
    return UNDECIDED if undecided else NOT_UNDERSTOOD


def _never_fail_to_print() -> None:
    """What a stream cannot show becomes a question mark, a closed one takes all, numbers have any size."""
    sys.set_int_max_str_digits(0)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: PTH123, SIM115 - open to the end
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115 - open to the end
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
