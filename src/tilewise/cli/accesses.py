"""Helpers of the commands about accesses: options, requests by their addresses, costs of a tile, tables."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence

from tilewise.cli.addresses import address_from, integer_from
from tilewise.cli.answer import Answer, misused, refuse_given, refused, table_lines
from tilewise.cli.arguments import add_options, filled_in, layout_from, layout_options
from tilewise.core.errors import Refused
from tilewise.core.layout import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from tilewise.check.banks import Conflicts
    from tilewise.check.coalesce import Coalescing

    Own = TypeVar("Own", bound=Conflicts | Coalescing)

INACTIVE = "x"
NARROWER = "tilewise vector says how wide the vectors can be, and why no wider"
OF_WIDTH = ("neighbours", "alignment", "end", "row", "held", "type")
"""Rules that a narrower vector may keep."""


# -- options ---------------------------------------------------------------------------------------------


def access_options(
    parser: argparse.ArgumentParser, such: str, place: str, operations: str, metavar: str = "A"
) -> None:
    """Add --access, --base and --op."""
    add_options(
        parser,
        {
            "--access...": (metavar, f"who asks for what, {such}; repeatable"),
            "--base": ("N", f"the address of the tile{place} (0)"),
            "--op": ("OP", operations),
        },
    )


def cost_options(parser: argparse.ArgumentParser, memory: str, operations: str, wide: str = "") -> None:
    """Add [LAYOUT --access A ... --base N] or [--bytes B --addresses A,A,...], --op, --request."""
    add_options(parser, {"[layout]": ("LAYOUT", "a tile, or - for standard input")})
    access_options(parser, "such as row:16B", f" in {memory} memory", operations)
    add_options(parser, {"--request": ("I", "show this one, not the worst")})
    add_options(
        parser,
        {
            "--bytes": ("B", f"bytes of one lane{wide}"),
            "--addresses": ("A,A,...", "one a lane, x where it is inactive"),
        },
        "one request by its addresses",
    )
    layout_options(parser)


# -- one request by its addresses ------------------------------------------------------------------------


def by_addresses(args: argparse.Namespace, command: str, such: str, of_tiles: Sequence[str] = ()) -> bool:
    """Return True if the user has one request, by its addresses; refuse options of the other question."""
    others, why = ["bytes", "addresses"], "is for a request without LAYOUT"
    hint = "an access of a tile says its bytes itself: row:16B"
    if args.layout is None:
        if args.addresses is None:
            needed = f"{command} needs LAYOUT and --access, or --addresses"
            raise misused(needed, f"such as {such}")
        others, hint = ["access", "base", "request", *of_tiles], ""
        why = "is about a LAYOUT, and none is given"
    refuse_given(args, others, why, hint)
    return args.layout is None


def width_from(spelled: str | None, widths: Sequence[int], such: int) -> int:
    """Return the value of --bytes, which the user may leave out where there is one width alone."""
    if spelled is not None:
        return integer_from(spelled, "--bytes", "number", f"--bytes {such}")
    if len(widths) == 1:
        return widths[0]
    raise misused("the bytes of one lane are not given", f"such as --bytes {such}")


def requested(spelled: str) -> list[int | None]:
    """Return the value of --addresses, None where a lane is inactive; as debuggers print them, too.

    >>> requested("0,0x40,x"), requested("{0x0, 0x40}"), requested("0 64")
    ([0, 64, None], [0, 64], [0, 64])
    """
    text = spelled.strip()
    if text[:1] + text[-1:] in ("{}", "[]"):
        text = text[1:-1].strip()
    addresses: list[int | None] = []
    for lane, word in enumerate(re.split(r"\s*,\s*|\s+", text)):
        try:
            addresses.append(None if word == INACTIVE else int(word, 0))
        except ValueError:
            wrong = f"{word} is no address" if word else "there is none"
            hint = f"such as 0x1a40 or 6720, and {INACTIVE} for a lane that is inactive"
            raise misused(f"--addresses: {wrong}, of lane {lane}", hint) from None
    return addresses


# -- accesses of a tile ----------------------------------------------------------------------------------


def tile_and_base(args: argparse.Namespace, command: str) -> tuple[Layout, int]:
    """Return LAYOUT in the unit that it is given in, for what follows counts bytes anyway, and its address.

    A piped answer tells the type of its elements.
    """
    args.layout = filled_in(args.layout, args, "dtype")
    if not args.access or args.dtype is None:
        missing = "--access" if not args.access else "--dtype"
        raise misused(f"{command} of a tile needs {missing}", "such as --dtype bf16 --access row:16B")
    return layout_from(args.layout, args, as_counted=True), address_from(args.base or "0", "--base")


def tile_costs(
    args: argparse.Namespace,
    tile: tuple[Layout, int],
    costs: Sequence[Own],
    head: Sequence[str],
    counts: Callable[[Own], Sequence[object]],
) -> tuple[dict[str, Any], list[str], list[tuple[str, Own, Any]]]:
    """Return the costs of accesses in JSON, as lines, and of each (its name, the access, a request).

    The request is that of --request, or the worst. The head of the table names the counts of an access, the
    first of them those that are added up in JSON.
    """
    accesses: list[dict[str, Any]] = []
    shown: list[tuple[str, Own, Any]] = []
    rows: list[tuple[object, ...]] = [("access", "op", "bytes", "requests", *head)]
    idle: list[str] = []
    for own in costs:
        access, number = own.access, own.worst
        if args.request is not None:
            number = integer_from(args.request, "--request", "number", "--request 0")
        request = own.request(number)
        accesses.append(own.as_dict() | {"request": {"number": number} | request.as_dict()})
        shown.append((f"{access.name}, request {number} of {own.requests}", own, request))
        rows.append((access.name, access.operation.name, access.bytes, own.requests, *counts(own)))
        idle += [f"{access.name}: {access.idle_said}"] if access.idle else []
    sums = {name: sum(each[name] for each in accesses) for name in (head[0], "ideal", "excess")}
    layout, base = tile
    data = {"layout": str(layout), "dtype": args.dtype, "base": base, "accesses": accesses} | sums
    return data, [*table_lines(rows, "<<", ">"), *idle], shown


def unserved(no: Refused, key: str, hint: str = "") -> Answer:
    """Return the answer no, with null under a key, and a hint where the refusal has none of its own.

    The hint is about widths, and left out where they are not what is in the way.
    """
    of_width = isinstance(no.witness, dict) and no.witness.get("rule") in OF_WIDTH
    return refused(no, {key: None}, hint=hint if of_width else "")
