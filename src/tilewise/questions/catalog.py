"""Every layout of the hardware by name: its parameters, its source, how it was confirmed.

  tilewise catalog
  tilewise catalog fragment
  tilewise catalog wgmma.D --help
  tilewise catalog wgmma.D --dtype f16 --n 64 --at 9,3
  tilewise catalog mma.A --shape m16n8k16 --dtype f16 --who laneid=5,register=3
  tilewise catalog tcgen05.smem --operand B --major k --mode 128B --dtype bf16 --rows 128 --k 64
  tilewise catalog 'wgmma.D(f32, n=N)' --let N=64 --show
  tilewise catalog mma.shapes --arch sm_75
  tilewise catalog ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
  tilewise catalog tcgen05.ld.sync.aligned.32x32b.x8.b32
  tilewise catalog --confirmed

Alone it lists the entries, and with a word those that speak of it. The name of an entry with no values says
what it takes, and with --help how it is asked; with values, or as a call (- reads it from standard input), it
gives the layout, which any command reads as that call. In a place reg counts elements, as in the layout, and
register those of 32 bits. An instruction of PTX may stand as it does in a program, operands and all. What the
hardware does not have, such as an N, is a no, with the reason. --dtype is the type of the operand that the
entry lays out, in every family: D's for mma.D, wgmma.D, tcgen05.D and mfma.D. Metadata and tables of
instructions take the type of A. With --confirmed it counts the instances of each entry by what confirms
them: a GPU, two other implementations besides the document, one, or the document alone.
"""

from __future__ import annotations

import argparse
import re

from tilewise.cli.answer import Answer, refused, table_lines
from tilewise.cli.arguments import Parser, let_from, text_from
from tilewise.core.errors import LayoutError, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from tilewise.hardware.catalog import Built, Entry, Parameter

_CORNER = 16
_OWN = "_of_an_entry_"
_OF_ALL = ("--let", "--at", "--who", "--show")
"""Options that go with any entry."""
_OPERANDS = ("{", "[", "%")
_WHO_LIMIT = 4096


def arguments(parser: Parser) -> None:
    """[ENTRY | WORD ...] [--PARAMETER VALUE ...] [--at INDEX] [--who PLACE] [--show]."""
    explained = _explained(parser.words)
    if explained is not None:
        _explain(parser, explained)
    else:
        parser.usage = _USAGE
        parser.subject = lambda words: getattr(_named_in(words), "name", "")
        parser.add_argument("words", metavar="ENTRY", nargs="*", help="an entry, a call of one, or a word")
        _parameters_of(parser, _parameters_for(parser.words), told=False)
    parser.add_argument(
        "--let", action="append", default=[], metavar="NAME=N", help="a value for a name; repeatable"
    )
    parser.add_argument(
        "--confirmed", action="store_true", help="count the instances of entries by what confirms them"
    )
    place = parser.add_argument_group("where elements are")
    place.add_argument("--at", metavar="INDEX", help="the place of an element: ROW,COLUMN")
    place.add_argument("--who", metavar="PLACE", help="the elements at a place: laneid=5,register=3 or a7")
    place.add_argument("--show", action="store_true", help="draw a corner of the layout")


def _parameters_of(group: argparse._ActionsContainer, parameters: Iterable[Parameter], *, told: bool) -> None:
    """An option for each name of a parameter; it may be spelled as in a call, of which help says nothing."""
    for parameter in {parameter.name: parameter for parameter in parameters}.values():
        flag: dict[str, Any] = {"action": "store_const", "const": "1"}
        kind = flag if parameter.flag else {"metavar": _metavar(parameter)}
        help = _in_words(parameter).replace("%", "%%") if told else argparse.SUPPRESS
        for spelled in _options(parameter):
            group.add_argument(spelled, dest=f"{_OWN}{parameter.name}", help=help, **kind)
            help = argparse.SUPPRESS


_USAGE = (
    "tilewise catalog [WORD ...]\n"
    "       tilewise catalog ENTRY [--PARAMETER VALUE ...] [--at INDEX | --who PLACE] [--show]\n"
    "       tilewise catalog 'ENTRY(VALUE, PARAMETER=VALUE)' [...]\n"
    "       tilewise catalog ENTRY --help"
)


def _explained(words: Sequence[str]) -> Entry | None:
    """The entry of which help is asked, by its name, a call of it or an instruction; None of all."""
    if not {"-h", "--help"} & {*words}:
        return None
    from tilewise.hardware.catalog import find

    named = _named_in(words)
    return find(words[0]) if named is None and "." in words[0] else named


def _named_in(words: Sequence[str]) -> Entry | None:
    """The first entry that words name."""
    from tilewise.hardware.catalog import find, knowing

    for word in words:
        name = word.partition("(")[0]
        registry = knowing(name)
        if (taking := registry.taking(name)) is not None:
            return taking
        if registry.knows(name):
            return find(name)
    return None


def _explain(parser: Parser, entry: Entry) -> None:
    """How one entry is asked: its own parameters, first of all, and where it stands."""
    name, example = f"tilewise catalog {entry.name}", entry.example
    needed = [f"{_dashed(p)} {_metavar(p)}" for p in entry.parameters if p.needed]
    given = [_dashed(p) + f" {example[p.name]}" * (not p.flag) for p in entry.parameters if p.name in example]
    asked, ways = " ".join([name, *given]), _confirmed(entry)[0]
    parser.usage = f"{' '.join([name, *needed, '[options]'])}\n       tilewise catalog '{entry.usage}'"
    parser.description = f"{entry.summary}\n\n  {asked}\n  tilewise catalog '{entry.call}'"
    parser.epilog = f"source: {entry.source}\n  {entry.source.url}\nconfirmed: {ways}"
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    _parameters_of(parser.add_argument_group("parameters"), entry.parameters, told=True)
    parser._action_groups.insert(0, parser._action_groups.pop())


def _metavar(parameter: Parameter) -> str:
    return "N" if parameter.number else parameter.name.rpartition("_")[2].upper()


def _dashed(parameter: Parameter) -> str:
    return f"--{parameter.name.replace('_', '-')}"


def _in_words(parameter: Parameter) -> str:
    """What a parameter is, which values it may have, and which it has where it is left out."""
    if parameter.flag:
        return parameter.meaning
    known = " ".join(map(str, parameter.legal)) or parameter.rule
    return f"{parameter.meaning}: {known}" + (
        f" ({parameter.default})" if parameter.default is not None else ""
    )


def _parameters_for(words: Sequence[str]) -> list[Parameter]:
    """Those of the one engine of which the words name an entry and have options; else those of all."""
    from tilewise.hardware.catalog import entries
    from tilewise.hardware.catalog.registry import engine_knowing

    engines = [engine for word in words if (engine := engine_knowing(word)) is not None]
    if engines and all(engine is engines[0] for engine in engines):
        own = [parameter for entry in engines[0].values() for parameter in entry.parameters]
        known = {*_OF_ALL, *(option for parameter in own for option in _options(parameter))}
        if known.issuperset(word.partition("=")[0] for word in words if word.startswith("-")):
            return own
    return [parameter for entry in entries().values() for parameter in entry.parameters]


def _options(parameter: Parameter) -> Iterable[str]:
    """Yield how a parameter is spelled as an option: --cta-group, and --cta_group as in a call."""
    return dict.fromkeys((_dashed(parameter), f"--{parameter.name}"))


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
        return refused(no, {})


def _answered(args: argparse.Namespace, given: dict[str, str]) -> Answer:
    spoken = [text_from(spelled) if spelled == "-" else spelled for spelled in args.words]
    words = [word for spelled in spoken for word in ([spelled] if "(" in spelled else spelled.split())]
    asked = given or args.at is not None or args.who is not None or args.show
    if args.confirmed:
        if asked:
            raise LayoutError("TW401", "--confirmed counts whole entries: no values of one, no place")
        return _counted(words)
    if words and _is_entry(words[0]):
        entry, *more = _without_operands(words)
        if more:
            spelled = entry if "(" in entry else f"'{entry}({', '.join(more)})'"
            said = f"{entry} and more words: {' '.join(more)}"
            raise LayoutError("TW401", said, hint=f"as a call: {spelled}")
        found, values = _named(words[0], given, let_from(args))
        return _sheet(found, values, args) if values is not None else _described(found)
    if asked:
        hint = (words and _near(words[0])) or "such as wgmma.D --dtype f32 --n 64"
        raise LayoutError("TW401", "values were given, and no entry", hint=hint)
    return _listed(words)


def _is_entry(word: str) -> bool:
    """Whether a word is a call, the name of an entry, there or left out, or looks like one."""
    from tilewise.hardware.catalog import knowing

    return "." in word or "(" in word or knowing(word).knows(word)


def _without_operands(words: Sequence[str]) -> Sequence[str]:
    """An instruction as it stands in a program, without the registers and addresses that follow it."""
    from tilewise.hardware.catalog import knowing

    operands = words[1:2] and words[1].startswith(_OPERANDS)
    return words[:1] if operands or knowing(words[0]).taking(words[0]) else words


def _near(word: str) -> str:
    """The entry that was probably meant, as a question, or nothing."""
    from tilewise.hardware.catalog import entries
    from tilewise.hardware.catalog.entry import did_you_mean

    return did_you_mean(word, entries()).strip()


def _named(word: str, spelled: dict[str, str], let: dict[str, int]) -> tuple[Entry, dict[str, Any] | None]:
    """The entry that a word names, and its values; none where none were given and some are needed."""
    from tilewise.hardware.catalog import find, knowing

    given: dict[str, str | int] = {name: let.get(value, value) for name, value in spelled.items()}
    positional: list[Any] = []
    said: Mapping[str, Any] = {}
    if "(" in word:
        from tilewise.hardware.calls import read_call

        entry, positional, said = read_call(word, let)
    elif (taking := knowing(word).taking(word)) is not None:
        entry, said = taking, taking.values_in(word)
    else:
        entry = find(word)
        if not given and any(parameter.needed for parameter in entry.parameters):
            return entry, None
    if twice := given.keys() & said.keys():
        raise LayoutError("TW601", f"{min(twice)} is given twice", hint=entry.usage)
    return entry, entry.bind(tuple(positional), {**said, **given})


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
    return _shown(built, data, text) if args.show else Answer(data, text)


def _asked(built: Built, args: argparse.Namespace) -> list[Any]:
    if args.at is not None and args.who is not None:
        raise LayoutError("TW401", "--at asks for a place and --who for elements: one of them at a time")
    from tilewise.hardware.catalog.places import asked_place, in_registers, positions_at, positions_of
    from tilewise.notation import parse_index

    if args.at is not None:
        return positions_of(built, parse_index(args.at))
    if args.who is None:
        return []
    place = asked_place(built, args.who)
    found = positions_at(built, place, _WHO_LIMIT + 1)
    if len(found) > _WHO_LIMIT:
        raise LayoutError(
            "TW301", f"more than {_WHO_LIMIT} elements are there", hint="name more axes of the place"
        )
    if not found:
        from tilewise.cli.commands.who import why_empty
        from tilewise.core.inverse import on_its_axes

        assert built.layout is not None
        why = why_empty(built.layout, on_its_axes(built.layout, in_registers(built, place)[0]))
        raise Refused("TW203", "nothing lives there", witness={"place": args.who}, hint=why)
    return found


def _shown(built: Built, data: dict[str, Any], text: str) -> Answer:
    from dataclasses import asdict
    from math import prod

    from tilewise.show.grid import grid_of

    if built.layout is None:
        raise LayoutError("TW401", f"{data['entry']} is a table, and has no picture")
    *down, across = data["shape"]
    folded = (prod(down), across) if down else (across,)
    window = tuple((0, min(_CORNER, extent)) for extent in folded)
    grid = grid_of(built.layout, tuple(data["shape"]), window)

    def draw() -> None:
        from tilewise.show.terminal import print_picture

        print(text, end="\n\n")
        print_picture(grid)

    return Answer(data | {"picture": asdict(grid)}, draw)


def _rows(data: dict[str, Any]) -> list[str]:
    skipped = ("entry", "call", "parameters", "source", "notes")
    rows = [(name, _said(value)) for name, value in data.items() if name not in skipped]
    rows += [("note", note) for note in data.get("notes", ())]
    source = data["source"]
    rows.append(("source", f"{source['document']}, {source['section']}: {source['url']}"))
    return [f"  {line}" for line in table_lines(rows)]


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{_worded(name)} {_part(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(_part, value)) or "none"
    return "none" if value is None else str(value)


# -- what confirms them ----------------------------------------------------------------------------


def _counted(words: Sequence[str]) -> Answer:
    from tilewise.hardware.catalog import find
    from tilewise.hardware.catalog.counts import counts, rows_of, total

    exact = [find(word).name for word in words if _is_entry(word)]
    names = exact or [entry.name for entry in _found(words)]
    chosen = [count for count in counts() if count.name in names]
    rows = rows_of(chosen)
    lines = table_lines(rows, "<", ">")
    sum_of = {key: value for key, value in total(chosen).data().items() if key not in ("entry", "alone")}
    return Answer({"entries": [count.data() for count in chosen], "total": sum_of}, "\n".join(lines))


def _part(value: Any) -> str:
    return f"({_said(value)})" if isinstance(value, dict) else _said(value)


def _worded(name: str) -> str:
    """The name of a fact in words; sm_80 is one word."""
    return re.sub(r"_(?=[a-z])", " ", name)


# -- the list --------------------------------------------------------------------------------------


def _described(entry: Entry) -> Answer:
    from tilewise.hardware.catalog.sheet import summary_of

    said, ways = _confirmed(entry)
    data = summary_of(entry) | {"instances": {"count": max(ways.values()), **ways}}
    parameters = [(_dashed(parameter), _in_words(parameter)) for parameter in entry.parameters]
    lines = [f"{entry.usage}: {entry.summary}", *(f"  {line}" for line in table_lines(parameters))]
    lines.append(f"  such as {entry.call}")
    lines.append(f"  {entry.source}: {entry.source.url}")
    lines.append(f"  confirmed: {said}")
    return Answer(data, "\n".join(lines))


def _confirmed(entry: Entry) -> tuple[str, dict[str, int]]:
    """How an entry is confirmed, in words, and of how many of its instances."""
    from tilewise.hardware.catalog.counts import ways_of

    ways = ways_of(entry)
    whole = max(ways.values())  # the document has every instance
    said = [way if count == whole else f"{way} ({count} of {whole})" for way, count in ways.items()]
    return ", ".join(said), ways


def _listed(words: Sequence[str]) -> Answer:
    from tilewise.hardware.catalog.sheet import summary_of

    found = _found(words)
    data: dict[str, Any] = {"search": list(words)} if words else {}
    data["entries"] = [summary_of(entry) for entry in found]
    lines = [f"{entry.usage}\n  {entry.summary}" for entry in found]
    return Answer(data, "\n".join(lines))


def _found(words: Sequence[str]) -> list[Entry]:
    from tilewise.hardware.catalog import search
    from tilewise.hardware.catalog.registry import LIST

    found = search(*words)
    if not found:
        raise Refused(
            "TW601",
            f"no entry speaks of {' '.join(words)}",
            witness={"search": list(words)},
            hint=_near(words[0]) or LIST,
        )
    return found
