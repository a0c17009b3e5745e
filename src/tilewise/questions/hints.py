"""Hints as the command line and Python spell them, and what words of others are called here.

The core knows no surface: its hints are written for Python. `SPELLINGS` says once how such words are
written in a shell. Questions speak of options as a shell has them, and `in_python` writes those as arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from keyword import iskeyword
from shlex import quote

from tilewise.questions import SUMMARIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SPELLINGS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (
        r"ask for an index of it with shape=\(([\d, ()]+)\)",
        lambda found: f"tilewise at ... --shape {_bare(found)} asks an index of it",
    ),
    (r"\b(shape|tensor)=\(([\d, ]+)\)", lambda found: f"--{found[1]} {_bare(found[2])}"),
    (r"\bpart=\"([^\"]+)\"", lambda found: f"--part {quote(found[1])}"),
    (
        r"\b(reshape|permute)=\(([\d, ]+)\)",
        lambda found: f"--{found[1]} {found[2].replace(' ', '').rstrip(',')}",
    ),
    (r"\bshape=(\d+)", r"--shape \1"),
    (r"\bshape=\(\.\.\.\)", "--shape ..."),
    (r"\b(shape|fill|aligned|device|checked|arch|shared)=( |$)", r"--\1\2"),
    (r"\bhost_source\b", "--host"),
    (r"; saturate=True takes the nearest", ""),
    (r"\bweak=True\b", "--weak"),
    (r"\bround_up=True\b", "--round-up"),
    (r"\baxes= ", "--axes "),
    (r"\bfootprint\(axis, \.\.\.\)", "footprint LAYOUT AXES"),
    (r"\bcanonical\(\)", "canonical"),
    (r"any value with __index__ will do: int, a NumPy integer, \.\.\.", "write a whole number"),
    (r"\bmodes=\(([\w, \"]+)\)", lambda found: f"--modes {_bare(found)}"),
    (r"\(\"high\", n, \"low\"\), into=\"axis\"", "HIGH,N,LOW and the AXIS that they become"),
    (r"\(\"high\", n, \"low\"\)", "HIGH,N,LOW"),
    (r"\((\w+), n, (\w+)\)", r"\1,N,\2"),
    (r"\baxis=\"(\w+)\"", r"--axis \1"),
    (r"\baxis=\(([\w, \"]+)\)", lambda found: f"--axes {_bare(found)}"),
    (r"\bdtype=\"(\w+)\"", r"--dtype \1"),
    (r"\bengine=\"(\w+)\"", r"--engine \1"),
    (r"Axis\(\"(\w+)\", storage=True\)(, or --storage \1)?", r"--storage \1"),
    (r", or parse\(text, let=\{'(\w+)'.*?\}\)", r", or --where \1 for all its values"),
    (r"give a window, such as rows 0:64 and columns 0:64", "a part of it: --window 0:64,0:64"),
    (r"regroup\(\(0, 1\), 2\)", "regroup 0,1 2"),
    (r"\(1, 0\) swaps two", "1,0 swaps two"),
    (r"\bbroadcast\(1\)", "broadcast LAYOUT 1"),
    (r"\bits bits: the bytes of one element", "its bits, such as --fill 0x3"),
    (r"\ba value that the type holds, or the bytes of one element", "a value that it holds, or --fill 0x3"),
)
"""(what a hint says in Python, how it is written in a shell)."""


def _bare(numbers: re.Match[str] | str) -> str:
    text = numbers if isinstance(numbers, str) else numbers[1]
    return re.sub(r"[\s\"]", "", text).rstrip(",")


def in_a_shell(hint: str) -> str:
    """Return a hint as the command line spells it.

    >>> in_a_shell("weak=True gives translates; or shape=(4, 9)")
    '--weak gives translates; or --shape 4,9'
    """
    for python, shell in SPELLINGS:
        hint = re.sub(python, shell, hint)
    return hint


_OPTION = re.compile(
    r"(?<![\w-])--(?P<option>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)"
    r"(?P<between>[ =])?(?(between)(?P<value>'[^']*'|\([^)]*\)|[^\s,;)]+(?:,[\w@=.:]+)*)?)"
)
"""An option, and the word behind it."""

_VALUE = re.compile(
    r".*\d.*|'.*'|[ABCD]|\w+\.\w+|wgmma|mma|ld|st|row|col|k|mn|none|absolute|address"
    r"|cuda|cute|json|python|triton|byte|bit|element|memory|index"
)
"""A word that is a value, and no word of the sentence."""

_TOLD = re.compile(r" (is (?!needed)|asks |puts |there is)|$")
"""The words that follow a value in a sentence about it."""

_METAVAR = re.compile(r"[A-Z]+(x[A-Z]+)*|[A-Z]+=[A-Z]")
_WORDS = re.compile(r"\b(LAYOUT|PLACE|INDEX)\b")
_COMMAND = re.compile(r"\btilewise ([a-z]+)\b")
_FOLLOWS = re.compile(r"""((?<=["'\d)}])|(?<=True))(?= \w+=["'(\dT])""")
"""The gap where a comma belongs between two arguments."""


def in_python(text: str, flags: Sequence[str] = ()) -> str:
    """Return a sentence that speaks of options as Python spells them; flags are those of the question.

    >>> in_python("banks of a tile needs --access"), in_python("such as --dtype bf16 --access row:16B")
    ('banks of a tile needs access=', 'such as dtype="bf16", access="row:16B"')
    >>> in_python("--n 6.5 is no number"), in_python("leave --code out", ["code"])
    ('n=6.5 is no number', 'leave code=True out')
    """
    if "--" in text:
        text = _FOLLOWS.sub(",", _OPTION.sub(lambda found: _argument(found, flags), text))
    text = _COMMAND.sub(lambda found: f"tilewise.{found[1]}" if found[1] in SUMMARIES else found[0], text)
    return _WORDS.sub(lambda found: found[0].lower(), text)


def _argument(found: re.Match[str], flags: Sequence[str]) -> str:
    """Return an option as an argument, with the value behind it; a word of the sentence stays one."""
    name = found["option"].replace("-", "_")
    name += "_" * iskeyword(name)
    behind = (found["between"] or "") + (found["value"] or "")
    if name in flags:
        return f"{name}=True{behind}"
    value = (found["value"] or "").removesuffix(":")
    after = (":" if behind.endswith(":") else "") + found.string[found.end() :]
    if value not in ("", "out") and (_VALUE.fullmatch(value) or _TOLD.match(after.removeprefix(":"))):
        return f"{name}={_python_value(value)}" + ":" * after.startswith(":")
    return f"{name}=..." if _METAVAR.fullmatch(value) else f"{name}={behind}"


def _python_value(value: str) -> str:
    """Return a value of an option as Python writes it.

    >>> [_python_value(value) for value in ("64", "0x40", "4096,64", "bf16", "m16n8k16")]
    ['64', '0x40', '(4096, 64)', '"bf16"', '"m16n8k16"']
    """
    if re.fullmatch(r"-?\d+(\.\d+)?|0x[0-9a-f]+|'.*'|\(.*\)", value):
        return value
    if re.fullmatch(r"\d+(,\d+)+", value):
        return f"({value.replace(',', ', ')})"
    if found := re.fullmatch(r"([A-Za-z]\w*)=(\d+)", value):
        return f'{{"{found[1]}": {found[2]}}}'
    return f'"{value}"'


def witness_text(witness: Any) -> str:
    """Return a witness for people: names with their values, and no quotes.

    >>> witness_text({"index": 11, "positions": (2, 3)}), witness_text((6, "reg"))
    ('index 11, positions (2, 3)', '(6, reg)')
    """
    if isinstance(witness, dict):
        return ", ".join(f"{name} {witness_text(value)}" for name, value in witness.items())
    if isinstance(witness, tuple | list):
        parts = ", ".join(map(witness_text, witness))
        return f"({parts},)" if len(witness) == 1 else f"({parts})"
    return str(witness)


ELSEWHERE = {"tilewise plan": ("tilewise emit move", ("checked", "host", "name"))}
"""{a command: another one, and its options that are looked for here}."""

ALIASES = {
    "upcast": "pack, or recast from dtype to dtype",
    "downcast": "unpack, or recast from dtype to dtype",
    "composition": "compose",
    "divide": "logical_divide",
    "product": "logical_product",
    "local_tile": "zipped_divide, and slice of the mode that says which tile",
    "local_partition": "zipped_divide, and slice of the mode that says where in the tile",
    "with_shape": "reshape",
    "view": "reshape",
    "transpose": "permute",
    "select": "permute, and slice of the modes that go",
    "group_modes": "regroup",
    "filter": "coalesce, and slice with an index of the modes that do not move",
    "filter_zeros": "slice with an index of the modes that do not move",
    "size": "a line of tilewise info",
    "cosize": "the span of axis m in tilewise info",
    "nullspace": "kernel",
    "recognize": "recognise",
    "recognize_map": "recognise_map",
}
"""{what others call it: what it is here}."""
