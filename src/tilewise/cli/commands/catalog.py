"""Every layout of the hardware by name: its parameters, its source, how it was confirmed.

  tilewise catalog
  tilewise catalog fragment
  tilewise catalog wgmma.D --dtype f32 --n 64
  tilewise catalog wgmma.D --dtype f16 --n 64 --at 9,3
  tilewise catalog wgmma.D --dtype f16 --n 64 --who wid_in_wg=0,laneid=5
  tilewise catalog wgmma.smem --operand B --major k --mode 128B --dtype bf16 --rows 128 --k 64
  tilewise catalog 'wgmma.figure(170)' --show
  tilewise catalog 'wgmma.D(f32, n=N)' --let N=64

Alone it lists the entries, and with a word those that speak of it. The name of an entry with no values says
what it takes; with values, or as a call (- reads it from standard input), it gives the layout, which any
command reads as that call. An N that the hardware does not have is a no, with the reason.
"""

from __future__ import annotations

import argparse

from tilewise.cli.answer import NO, Answer, witness_data
from tilewise.cli.arguments import let_from, text_from
from tilewise.cli.hints import in_a_shell
from tilewise.core.errors import LayoutError, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tilewise.hardware.catalog import Built, Entry

_CORNER = 16
_OWN = "_of_an_entry_"
_WHO_LIMIT = 4096


def arguments(parser: argparse.ArgumentParser) -> None:
    """[ENTRY | WORD ...] [--PARAMETER VALUE ...] [--at INDEX] [--who PLACE] [--show]."""
    from tilewise.hardware.catalog import entries

    parser.add_argument("words", metavar="ENTRY", nargs="*", help="an entry, a call of one, or a word")
    group = parser.add_argument_group("parameters of entries")
    said: dict[str, list[str]] = {}
    for entry in entries().values():
        for parameter in entry.parameters:
            said.setdefault(parameter.name, [])
            if parameter.meaning not in said[parameter.name]:
                said[parameter.name].append(parameter.meaning)
    for name, meanings in said.items():
        group.add_argument(f"--{name}", dest=f"{_OWN}{name}", metavar="V", help="; or ".join(meanings))
    group.add_argument(
        "--let", action="append", default=[], metavar="NAME=N", help="a value for a name; repeatable"
    )
    place = parser.add_argument_group("where elements are")
    place.add_argument("--at", metavar="INDEX", help="the place of an element: ROW,COLUMN")
    place.add_argument("--who", metavar="PLACE", help="the elements at a place, such as laneid=5 or reg=0")
    place.add_argument("--show", action="store_true", help="draw a corner of the layout")


def answer(args: argparse.Namespace) -> Answer:
    """The list, the entry, or its layout; no where the hardware has none such."""
    given = {
        name.removeprefix(_OWN): value
        for name, value in vars(args).items()
        if name.startswith(_OWN) and value is not None
    }
    try:
        return _answered(args, given)
    except Refused as no:
        data = {"reason": no.reason, "witness": witness_data(no.witness), "hint": in_a_shell(no.hint)}
        hint = f"\n  hint: {data['hint']}" if data["hint"] else ""
        return Answer({"code": no.code} | data, f"no: {no.reason}{hint}", NO)


def _answered(args: argparse.Namespace, given: dict[str, str]) -> Answer:
    spoken = [text_from(spelled) if spelled == "-" else spelled for spelled in args.words]
    words = [word for spelled in spoken for word in ([spelled] if "(" in spelled else spelled.split())]
    if words and ("." in words[0] or "(" in words[0]):
        _check_alone(words)
        entry, values = _named(words[0], given, let_from(args))
        return _sheet(entry, values, args) if values is not None else _described(entry)
    if given or args.at is not None or args.who is not None or args.show:
        raise LayoutError(
            "TW401", "values were given, and no entry", hint="such as wgmma.D --dtype f32 --n 64"
        )
    return _listed(words)


def _check_alone(words: Sequence[str]) -> None:
    """An entry stands alone: what follows it is no search."""
    entry, *more = words
    if not more:
        return
    spelled = entry if "(" in entry else f"'{entry}({', '.join(more)})'"
    raise LayoutError("TW401", f"{entry} and more words: {' '.join(more)}", hint=f"as a call: {spelled}")


def _named(word: str, spelled: dict[str, str], let: dict[str, int]) -> tuple[Entry, dict[str, Any] | None]:
    """The entry that a word names, and its values; none where none were given and some are needed."""
    from tilewise.hardware.catalog import find

    given: dict[str, str | int] = {name: let.get(value, value) for name, value in spelled.items()}
    if "(" in word:
        from tilewise.hardware.calls import read_call

        entry, positional, named = read_call(word, let)
        if twice := given.keys() & named.keys():
            raise LayoutError("TW601", f"{min(twice)} is given twice", hint=entry.usage)
        return entry, entry.bind(tuple(positional), {**named, **given})
    entry = find(word)
    if not given and any(parameter.needed for parameter in entry.parameters):
        return entry, None
    return entry, entry.bind(named=given)


# -- one entry -------------------------------------------------------------------------------------


def _sheet(entry: Entry, values: dict[str, Any], args: argparse.Namespace) -> Answer:
    from tilewise.hardware.catalog.sheet import sheet_of

    built = entry.build(**values)
    data = sheet_of(entry, values, built)
    asked = _asked(built, args)
    if asked:
        data["elements_at"] = [position.as_json() for position in asked]
    lines = [f"{data['call']}: {entry.summary}"]
    lines += [str(position) for position in asked] if asked else _rows(data)
    text = "\n".join(lines)
    if not args.show:
        return Answer(data, text)
    return _shown(built, data, text)


def _asked(built: Built, args: argparse.Namespace) -> list[Any]:
    if args.at is not None and args.who is not None:
        raise LayoutError("TW401", "--at asks for a place and --who for elements: one of them at a time")
    if args.at is None and args.who is None:
        return []
    from tilewise.hardware.catalog.places import position_of, positions_at
    from tilewise.notation import parse_index, parse_place

    if args.at is not None:
        return [position_of(built, parse_index(args.at))]
    found = positions_at(built, parse_place(args.who), _WHO_LIMIT + 1)
    if len(found) > _WHO_LIMIT:
        raise LayoutError(
            "TW301", f"more than {_WHO_LIMIT} elements are there", hint="name more axes of the place"
        )
    if not found:
        raise Refused("TW203", "nothing lives there", witness={"place": args.who})
    return found


def _shown(built: Built, data: dict[str, Any], text: str) -> Answer:
    from dataclasses import asdict

    from tilewise.show.grid import grid_of

    if built.layout is None:
        raise LayoutError("TW401", f"{data['entry']} is a table, and has no picture")
    window = tuple((0, min(_CORNER, extent)) for extent in data["shape"])
    grid = grid_of(built.layout, tuple(data["shape"]), window)

    def draw() -> None:
        from rich.console import Console

        from tilewise.show.terminal import print_grid

        print(text, end="\n\n")
        print_grid(grid, Console(highlight=False))

    return Answer(data | {"picture": asdict(grid)}, draw)


def _rows(data: dict[str, Any]) -> list[str]:
    skipped = ("entry", "call", "parameters", "source", "notes")
    rows = [(name, _said(value)) for name, value in data.items() if name not in skipped]
    rows += [("note", note) for note in data.get("notes", ())]
    source = data["source"]
    rows.append(("source", f"{source['document']}, {source['section']}: {source['url']}"))
    width = max(len(name) for name, _ in rows)
    return [f"  {name:<{width}}  {value}" for name, value in rows]


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name.replace('_', ' ')} {_said(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(_said, value)) or "none"
    return "none" if value is None else str(value)


# -- the list --------------------------------------------------------------------------------------


def _described(entry: Entry) -> Answer:
    from tilewise.hardware.catalog.sheet import summary_of

    data = summary_of(entry)
    width = max((len(p.name) for p in entry.parameters), default=0)
    lines = [f"{entry.usage}: {entry.summary}"]
    for parameter in entry.parameters:
        known = " ".join(map(str, parameter.legal)) or parameter.rule
        known += f" ({parameter.default})" if parameter.default is not None else ""
        lines.append(f"  --{parameter.name:<{width}}  {parameter.meaning}: {known}")
    lines.append(f"  such as {entry.call}")
    lines.append(f"  {entry.source}: {entry.source.url}")
    lines.append(f"  confirmed: {', '.join(entry.confirmed)}")
    return Answer(data, "\n".join(lines))


def _listed(words: Sequence[str]) -> Answer:
    from tilewise.hardware.catalog import search
    from tilewise.hardware.catalog.registry import LIST
    from tilewise.hardware.catalog.sheet import summary_of

    found = search(*words)
    if not found:
        raise Refused(
            "TW601",
            f"no entry speaks of {' '.join(words)}",
            witness={"search": list(words)},
            hint=LIST,
        )
    data: dict[str, Any] = {"search": list(words)} if words else {}
    data["entries"] = [summary_of(entry) for entry in found]
    lines = [f"{entry.usage}\n  {entry.summary}" for entry in found]
    return Answer(data, "\n".join(lines))
