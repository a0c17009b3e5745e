"""What the commands about accesses share: requests by their addresses, tiles in their own unit, tables."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence

from tilewise.cli.addresses import address_from
from tilewise.cli.answer import NO, Answer, witness_data
from tilewise.cli.arguments import filled_in, layout_from, layout_options
from tilewise.cli.hints import in_a_shell
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, TypeVar

    from tilewise.check.access import Access

    class Costs(Protocol):
        """What all requests of an access cost, by what a command counts."""

        @property
        def access(self) -> Access:
            """What was asked for."""

        @property
        def requests(self) -> int:
            """Instructions that a warp executes."""

        @property
        def worst(self) -> int:
            """The first request that loses most."""

        def request(self, number: int) -> Any:
            """One of them, by the definition."""

        def as_dict(self) -> dict[str, Any]:
            """The counts."""

    Own = TypeVar("Own", bound=Costs)


INACTIVE = "x"
NARROWER = "tilewise vector says how wide the vectors can be, and why no wider"
OF_WIDTH = ("neighbours", "alignment", "end", "row", "held", "type")
"""Rules that a narrower vector may keep."""


def access_arguments(parser: argparse.ArgumentParser, memory: str, operations: str, wide: str = "") -> None:
    """[LAYOUT --access A ... --base N] or [--bytes B --addresses A,A,...], --op, --request."""
    parser.add_argument("layout", metavar="LAYOUT", nargs="?", help="a tile, or - for standard input")
    parser.add_argument(
        "--access",
        action="append",
        default=[],
        metavar="A",
        help="who asks for what, such as row:16B; repeatable",
    )
    parser.add_argument("--base", metavar="N", help=f"the address of the tile in {memory} memory (0)")
    parser.add_argument("--op", metavar="OP", help=operations)
    parser.add_argument("--request", metavar="I", help="show this one, not the worst")
    raw = parser.add_argument_group("one request by its addresses")
    raw.add_argument("--bytes", metavar="B", help=f"bytes of one lane{wide}")
    raw.add_argument("--addresses", metavar="A,A,...", help="one a lane, x where it is inactive")
    layout_options(parser)


def by_addresses(args: argparse.Namespace, command: str, such: str, of_tiles: Sequence[str]) -> bool:
    """Whether one request is asked about by its addresses; refuse options of the other question."""
    if args.layout is not None:
        not_both(args, ("bytes", "addresses"))
        return False
    if args.addresses is None:
        needed = f"{command} needs LAYOUT and --access, or --addresses"
        raise LayoutError("TW401", needed, hint=f"such as {such}")
    not_both(args, ("access", "base", "request", *of_tiles))
    return True


def width_from(spelled: str | None, widths: Sequence[int], such: int) -> int:
    """The value of --bytes, which need not be given where there is one width alone."""
    if spelled is None and len(widths) == 1:
        return widths[0]
    if spelled is None:
        raise LayoutError("TW401", "the bytes of one lane are not given", hint=f"such as --bytes {such}")
    return number_from(spelled, "--bytes", str(such))


def requests_shown(found: Sequence[Own], spelled: str | None) -> list[tuple[Own, int, Any]]:
    """Of each access the request of that number, or its worst: (the access, the number, the request)."""
    number = None if spelled is None else number_from(spelled, "--request", "0")
    shown = [(own, own.worst if number is None else number) for own in found]
    return [(own, at, own.request(at)) for own, at in shown]


def tile_data(
    args: argparse.Namespace, layout: Layout, base: int, shown: Sequence[tuple[Costs, int, Any]], key: str
) -> dict[str, Any]:
    """What the commands about accesses of a tile have in JSON; `key` is what they count."""
    accesses = [own.as_dict() | {"request": {"number": at} | request.as_dict()} for own, at, request in shown]
    sums = {name: sum(own[name] for own in accesses) for name in (key, "ideal", "excess")}
    return {"layout": str(layout), "dtype": args.dtype, "base": base, "accesses": accesses} | sums


def requested(spelled: str) -> list[int | None]:
    """The value of --addresses: one address a lane, None where it is inactive; as debuggers print them, too.

    >>> requested("0,0x40,x"), requested("{0x0, 0x40}"), requested("0 64")
    ([0, 64, None], [0, 64], [0, 64])
    """
    text = spelled.strip()
    if text[:1] + text[-1:] in ("{}", "[]"):
        text = text[1:-1].strip()
    words = re.split(r"\s*,\s*|\s+", text)
    return [None if word == INACTIVE else _address(word, lane) for lane, word in enumerate(words)]


def _address(word: str, lane: int) -> int:
    try:
        return int(word, 0)
    except ValueError:
        said = f"{word} is no address" if word else "there is none"
        raise LayoutError(
            "TW401",
            f"--addresses: {said}, of lane {lane}",
            hint=f"such as 0x1a40 or 6720, and {INACTIVE} for a lane that is inactive",
        ) from None


def number_from(spelled: str, option: str, such: str) -> int:
    """The value of an option that is a number."""
    try:
        return int(spelled, 0)
    except ValueError:
        raise LayoutError(
            "TW401", f"{option} {spelled} is no number", hint=f"such as {option} {such}"
        ) from None


def not_both(args: argparse.Namespace, options: Sequence[str]) -> None:
    """Refuse options that are for a request without LAYOUT where there is one, and the other way round."""
    for option in options:
        if getattr(args, option) not in (None, [], False):
            other = (
                "is for a request without LAYOUT" if args.layout else "is about a LAYOUT, and none is given"
            )
            hint = "an access of a tile says its bytes itself: row:16B" if args.layout else ""
            raise LayoutError("TW401", f"--{option} {other}", hint=hint)


def tile_and_base(args: argparse.Namespace, command: str) -> tuple[Layout, int]:
    """LAYOUT in the unit that it is given in, for what follows counts bytes anyway, and its address.

    A piped answer tells the type of its elements.
    """
    args.layout = filled_in(args.layout, args, "dtype")
    if not args.access or args.dtype is None:
        missing = "--access" if not args.access else "--dtype"
        raise LayoutError(
            "TW401", f"{command} of a tile needs {missing}", hint="such as --dtype bf16 --access row:16B"
        )
    return layout_from(args.layout, args, as_counted=True), address_from(args.base or "0", "--base")


def refused(no: Refused, key: str, hint: str = "") -> Answer:
    """The answer no, with null for what was asked for, and a hint where the refusal has none of its own.

    The hint is about widths, and left out where they are not what is in the way.
    """
    of_width = isinstance(no.witness, dict) and no.witness.get("rule") in OF_WIDTH
    hint = in_a_shell(no.hint) or (hint if of_width else "")
    data = {key: None, "code": no.code, "reason": no.reason}
    data |= {"witness": witness_data(no.witness), "hint": hint}
    return Answer(data, f"no: {no.reason}" + (f"\n  hint: {hint}" if hint else ""), NO)


def named(found: Costs, number: int) -> str:
    """A request of an access."""
    return f"{found.access.name}, request {number} of {found.requests}"


def access_lines(
    found: Sequence[Own], head: Sequence[str], counts: Callable[[Own], tuple[object, ...]]
) -> list[str]:
    """A table of accesses: what was asked, and what a command counts, under its own heads."""
    rows = [
        (own.access.name, own.access.operation.name, own.access.bytes, own.requests, *counts(own))
        for own in found
    ]
    return table_lines(("access", "op", "bytes", "requests", *head), rows, words=2)


def idle_lines(found: Sequence[Costs]) -> list[str]:
    """A line for each access that leaves lanes of the warp idle."""
    return [f"{own.access.name}: {own.access.idle_said}" for own in found if own.access.idle]


def table_lines(head: Sequence[str], rows: Sequence[Sequence[object]], words: int) -> list[str]:
    """A table with the first columns, so many, to the left, and numbers to the right.

    >>> table_lines(("access", "bytes"), [("row:16B", 16)], 1)
    ['access   bytes', 'row:16B     16']
    """
    lines = [list(map(str, line)) for line in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = ["<"] * words + [">"] * (len(head) - words)
    columns = list(zip(sides, widths, strict=True))
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, (side, width) in zip(line, columns, strict=True)).rstrip()
        for line in lines
    ]
