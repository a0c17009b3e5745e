"""Hints as the command line spells them, and what words of others are called here.

The core knows no surface: its hints are written for Python. `SPELLINGS` says once how such words are
written in a shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from shlex import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SPELLINGS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (
        r"an index of it can be asked with shape=\(([\d, ()]+)\)",
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
    (r", or parse\(text, let=\{.*?\}\)", ""),
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
    """A hint as the command line spells it.

    >>> in_a_shell("weak=True gives translates; or shape=(4, 9)")
    '--weak gives translates; or --shape 4,9'
    """
    for python, shell in SPELLINGS:
        hint = re.sub(python, shell, hint)
    return hint


def witness_text(witness: Any) -> str:
    """A witness for people: names with their values, and no quotes.

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
