"""Accesses in questions about their cost: requests by their addresses, tiles, tables of costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from tilewise.core.errors import Refused
from tilewise.core.layout import Layout
from tilewise.questions.addresses import address_in
from tilewise.questions.report import Report, refused, table_lines
from tilewise.questions.texts import misused, number_in, refuse_given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from tilewise.check.banks import Conflicts
    from tilewise.check.coalesce import Coalescing
    from tilewise.questions.asking import LayoutText, Many, Number
    from tilewise.questions.texts import Texts

    CostOfAll = TypeVar("CostOfAll", bound=Conflicts | Coalescing)

INACTIVE = "x"
NARROWER = "tilewise vector says how wide the vectors can be, and why no wider"
OF_WIDTH = ("neighbours", "alignment", "end", "row", "held", "type")
"""Rules that a narrower vector may keep."""

LAYOUT = "LAYOUT: a tile, or - for standard input"
ACCESS = "--by A: the elements of each lane, such as row:16B; repeatable"
REQUEST = "I: show this one, not the worst"
ADDRESSES = "A,A,...: one a lane, x where it is inactive"


def listed(access: Many | None) -> list[str | Layout]:
    """Return accesses as a list: one of them may stand alone; None is no access.

    >>> listed("row:16B"), listed(["row", "col"]), listed(None)
    (['row:16B'], ['row', 'col'], [])
    """
    if access is None:
        return []
    return list(access) if isinstance(access, Iterable) and not isinstance(access, str) else [access]


# -- one request by its addresses ------------------------------------------------------------------------


def refuse_two_questions(
    layout: LayoutText | None,
    of_tiles: Mapping[str, Any],
    of_requests: Mapping[str, Any],
    name: str,
    such: str,
) -> None:
    """Refuse options of a request beside a tile, and of a tile without one."""
    if layout is not None:
        why = "is for a request without LAYOUT"
        refuse_given(of_requests, why, "an access of a tile says its bytes itself: row:16B")
        return
    if of_requests["addresses"] is None:
        raise misused(f"{name} needs LAYOUT and --access, or --addresses", f"such as {such}")
    refuse_given(of_tiles, "is about a LAYOUT, and none is given")


def width_in(given: Number | None, widths: Sequence[int], such: int) -> int:
    """Return the value of --bytes, which the user may leave out where there is one width alone."""
    if given is not None:
        return number_in(given, "--bytes", "number", f"--bytes {such}")
    if len(widths) == 1:
        return widths[0]
    raise misused("the bytes of one lane are not given", f"such as --bytes {such}")


def addresses_in(given: str | Sequence[int | None]) -> list[int | None]:
    """Return the value of --addresses, None where a lane is inactive; as debuggers print them, too.

    >>> addresses_in("0,0x40,x"), addresses_in("{0x0, 0x40}"), addresses_in("0 64")
    ([0, 64, None], [0, 64], [0, 64])
    """
    if not isinstance(given, str):
        return list(given) if isinstance(given, Iterable) else [given]
    text = given.strip()
    if text[:1] + text[-1:] in ("{}", "[]"):
        text = text[1:-1].strip()
    addresses: list[int | None] = []
    for lane, word in enumerate(re.split(r"\s*,\s*|\s+", text)):
        try:
            addresses.append(None if word == INACTIVE else int(word, 0))
        except ValueError:
            wrong = f"{word} is no address" if word else "no address"
            hint = f"such as 0x1a40 or 6720, and {INACTIVE} for a lane that is inactive"
            raise misused(f"--addresses: {wrong}, of lane {lane}", hint) from None
    return addresses


# -- accesses of a tile ----------------------------------------------------------------------------------


def tile_and_base(
    texts: Texts, layout: LayoutText, accesses: Sequence[object], base: Number | None, name: str
) -> tuple[Layout, int]:
    """Return a tile in the unit that it is given in, for what follows counts bytes anyway, and its address.

    A piped answer tells the type of its elements.
    """
    text, _ = texts.told_by(layout, "dtype")
    if not accesses or texts.dtype is None:
        missing = "--access" if not accesses else "--dtype"
        raise misused(f"{name} of a tile needs {missing}", "such as --dtype bf16 --access row:16B")
    return texts.layout(text, as_counted=True), address_in(base)


def tile_costs(
    texts: Texts,
    tile: tuple[Layout, int],
    request: Number | None,
    costs: Sequence[CostOfAll],
    head: Sequence[str],
    counts: Callable[[CostOfAll], Sequence[object]],
) -> tuple[dict[str, Any], list[str], list[tuple[str, CostOfAll, Any]]]:
    """Return the costs of accesses as fields, as lines, and of each (its name, the access, a request).

    The request is the given one, or the worst. The head of the table names the counts of an access, the
    first of them those that are added up.
    """
    accesses: list[dict[str, Any]] = []
    shown: list[tuple[str, CostOfAll, Any]] = []
    rows: list[tuple[object, ...]] = [("access", "op", "bytes", "requests", *head)]
    idle: list[str] = []
    for cost in costs:
        access, number = cost.access, cost.worst
        if request is not None:
            number = number_in(request, "--request", "number", "--request 0")
        asked = cost.request(number)
        told = asked.as_dict()
        if tile[0].has_names:  # in each case a request is an example
            told.pop("phases", None)
        accesses.append(cost.as_dict() | {"request": {"number": number} | told})
        shown.append((f"{access.name}, request {number} of {cost.requests}", cost, asked))
        rows.append((access.name, access.operation.name, access.bytes, cost.requests, *counts(cost)))
        idle += [f"{access.name}: {access.idle_said}"] if access.idle else []
    sums = {name: sum(each[name] for each in accesses) for name in (head[0], "ideal", "excess")}
    layout, base = tile
    fields = {"layout": layout, "dtype": texts.dtype, "base": base, "accesses": accesses} | sums
    return fields, [*table_lines(rows, "<<", ">"), *idle], shown


def unserved(no: Refused, key: str, hint: str = "") -> Report:
    """Return the answer no, with null under a key, and a hint where the refusal has none of its own.

    The hint is about widths, and left out where they are not what is in the way.
    """
    of_width = isinstance(no.witness, dict) and no.witness.get("rule") in OF_WIDTH
    return refused(no, {key: None}, hint=hint if of_width else "")
