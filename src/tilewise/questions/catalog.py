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
what it takes, and with --help how to ask it; with values, or as a call (- reads it from standard input), it
gives the layout, which any command reads as that call. In a place reg counts elements, as in the layout, and
register those of 32 bits. An instruction of PTX may stand as it does in a program, operands and all. A value
that the hardware does not have, such as an N, is a no, with the reason. --dtype is the type of the operand
that the entry lays out, in every family: D's for mma.D, wgmma.D, tcgen05.D and mfma.D. Metadata and tables of
instructions take the type of A. With --confirmed it counts the instances of each entry by what confirms them:
a GPU, two other implementations besides the document, one, or the document alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from tilewise.core.errors import LayoutError, Refused
from tilewise.questions.asking import HIDDEN, Page, ShellInput, asks, option_of, usual_page
from tilewise.questions.report import Report, refused, table_lines
from tilewise.questions.texts import Texts, misused, text_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.hardware.catalog import Built, Entry, Parameter
    from tilewise.questions.asking import IndexText, Place, Words

USAGE = """\
tilewise catalog [WORD ...]
       tilewise catalog ENTRY [--PARAMETER VALUE ...] [--at INDEX | --who PLACE] [--show]
       tilewise catalog 'ENTRY(VALUE, PARAMETER=VALUE)' [...]
       tilewise catalog ENTRY --help"""
_CORNER = 16
_OF_ALL = ("--let", "--at", "--who", "--show")
"""Options that go with any entry."""
_OPERANDS = ("{", "[", "%")
_WHO_LIMIT = 4096


@asks(
    {
        "where elements are": {
            "at": "INDEX: the place of an element: ROW,COLUMN",
            "who": "PLACE: the elements at a place: laneid=5,register=3 or a7",
            "show": "draw a corner of the layout",
        }
    },
    words="ENTRY: an entry, a call of one, or a word",
    let="NAME=N: a value for a name; repeatable",
    confirmed="count the instances of entries by what confirms them",
)
def catalog(
    words: Words = (),
    *,
    let: Sequence[str] | Mapping[str, int] = (),
    confirmed: bool = False,
    at: IndexText | None = None,
    who: Place | None = None,
    show: bool = False,
    **values: Any,
) -> Report:
    """Return the entries, one entry, or its layout for some values; no where the hardware has none such.

    >>> print(catalog("wgmma.D", dtype="f16", n=64, at=(9, 3)).data()["layout"])
    S[((4, 2, 8), (8, 4, 2)) : ((1@wid_in_wg, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]
    """
    spoken = [words] if isinstance(words, str) else [*(words or ())]
    spoken = [text_from(spelled) if spelled == "-" else spelled for spelled in spoken]
    words = [word for spelled in spoken for word in ([spelled] if "(" in spelled else spelled.split())]
    asked = bool(values) or at is not None or who is not None or show
    if confirmed and asked:
        raise misused("--confirmed counts whole entries: no values of one, no place")
    try:
        if confirmed:
            return _counted(words)
        if not words or not _is_entry(words[0]):
            if asked:
                hint = (words and _near(words[0])) or "such as wgmma.D --dtype f32 --n 64"
                raise misused("values were given, and no entry", hint)
            return _listed(words)
        entry, *more = _without_operands(words)
        if more:
            spelled = entry if "(" in entry else f"'{entry}({', '.join(more)})'"
            raise misused(f"{entry} and more words: {' '.join(more)}", f"as a call: {spelled}")
        found, bound = _named(words[0], values, Texts(let=let).let)
        return _described(found) if bound is None else _sheet(found, bound, at, who, show)
    except Refused as no:
        return refused(no, {})


# -- what a shell may ask --------------------------------------------------------------------------


def page(words: Sequence[str]) -> Page:
    """Return the help and the inputs for some words: the parameters of the entries that they name."""
    usual = usual_page("catalog")
    entry = _explained(words)
    if entry is None:
        own = [_input(parameter, HIDDEN) for parameter in _parameters_for(words)]
        return Page(
            usual.usage,
            usual.description,
            None,
            [*usual.inputs, *_once(own)],
            lambda: getattr(_named_in(words), "name", ""),
        )
    name, example = f"tilewise catalog {entry.name}", entry.example
    needed = [f"{option_of(p.name)} {_metavar(p)}" for p in entry.parameters if p.needed]
    given = [
        option_of(p.name) + f" {example[p.name]}" * (not p.flag)
        for p in entry.parameters
        if p.name in example
    ]
    return Page(
        f"{' '.join([name, *needed, '[options]'])}\n       tilewise catalog '{entry.usage}'",
        f"{entry.summary}\n\n  {' '.join([name, *given])}\n  tilewise catalog '{entry.call}'",
        f"source: {entry.source}\n  {entry.source.url}\nconfirmed: {_confirmed(entry)[0]}",
        [
            *(_input(parameter, _help_of(parameter), "parameters") for parameter in entry.parameters),
            *(each.hidden if each.is_word else each for each in usual.inputs),
        ],
    )


def _once(own: Iterable[ShellInput]) -> Iterable[ShellInput]:
    """Return the inputs, the last one of each name."""
    return {each.name: each for each in own}.values()


def _input(parameter: Parameter, help: str, group: str = "") -> ShellInput:
    kind = "bool" if parameter.flag else "str"
    return ShellInput(parameter.name, kind, None, required=False, help=help, group=group, by_name=True)


def _help_of(parameter: Parameter) -> str:
    metavar = "" if parameter.flag else f"{_metavar(parameter)}: "
    return metavar + _in_words(parameter).replace("%", "%%")


def _explained(words: Sequence[str]) -> Entry | None:
    """Return the entry that the words name, by its name, a call of it or an instruction; None for all."""
    if not {"-h", "--help"} & {*words}:
        return None
    from tilewise.hardware.catalog import find

    named = _named_in(words)
    return find(words[0]) if named is None and "." in words[0] else named


def _named_in(words: Sequence[str]) -> Entry | None:
    """Return the first entry that words name."""
    from tilewise.hardware.catalog import find, knowing

    for word in words:
        name = word.partition("(")[0]
        registry = knowing(name)
        if (taking := registry.taking(name)) is not None:
            return taking
        if registry.knows(name):
            return find(name)
    return None


def _metavar(parameter: Parameter) -> str:
    return "N" if parameter.number else parameter.name.rpartition("_")[2].upper()


def _in_words(parameter: Parameter) -> str:
    """Return what a parameter is, which values it may have, and which it has where it is left out."""
    if parameter.flag:
        return parameter.meaning
    known = " ".join(map(str, parameter.legal)) or parameter.rule
    return f"{parameter.meaning}: {known}" + (
        f" ({parameter.default})" if parameter.default is not None else ""
    )


def _parameters_for(words: Sequence[str]) -> list[Parameter]:
    """Return those of the one engine of which the words name an entry and have options; else those of all."""
    from tilewise.hardware.catalog import entries
    from tilewise.hardware.catalog.registry import engine_knowing

    engines = [engine for word in words if (engine := engine_knowing(word)) is not None]
    if engines and all(engine is engines[0] for engine in engines):
        own = [parameter for entry in engines[0].values() for parameter in entry.parameters]
        known = {*_OF_ALL, *(option_of(parameter.name) for parameter in own)}
        options = (word.partition("=")[0] for word in words if word.startswith("-"))
        if known.issuperset(option.replace("_", "-") for option in options):
            return own
    return [parameter for entry in entries().values() for parameter in entry.parameters]


# -- words -----------------------------------------------------------------------------------------


def _is_entry(word: str) -> bool:
    """Return whether a word is a call, the name of an entry, there or left out, or looks like one."""
    from tilewise.hardware.catalog import knowing

    return "." in word or "(" in word or knowing(word).knows(word)


def _without_operands(words: Sequence[str]) -> Sequence[str]:
    """Return an instruction as it stands in a program, without the registers and addresses that follow it."""
    from tilewise.hardware.catalog import knowing

    operands = words[1:2] and words[1].startswith(_OPERANDS)
    return words[:1] if operands or knowing(words[0]).taking(words[0]) else words


def _near(word: str) -> str:
    """Return the entry that was probably meant, as a question, or nothing."""
    from tilewise.hardware.catalog import entries
    from tilewise.hardware.catalog.entry import did_you_mean

    return did_you_mean(word, entries()).strip()


def _named(
    word: str, spelled: Mapping[str, Any], let: Mapping[str, int]
) -> tuple[Entry, dict[str, Any] | None]:
    """Return the entry that a word names, and its values; None where some are needed and none is given."""
    from tilewise.hardware.catalog import find, knowing

    given = {name: let.get(value, value) for name, value in spelled.items()}
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


def _sheet(
    entry: Entry, values: dict[str, Any], at: IndexText | None, who: Place | None, show: bool
) -> Report:
    from tilewise.hardware.catalog.sheet import sheet_of

    built = entry.build(**values)
    fields = sheet_of(entry, values, built)
    positions = _positions(built, at, who)
    if positions:
        fields["elements_at"] = [position.as_json() for position in positions]
    lines = [f"{fields['call']}: {entry.summary}", *(map(str, positions) if positions else _rows(fields))]
    text = "\n".join(lines)
    return _shown(built, fields, text) if show else Report(fields, text)


def _positions(built: Built, at: IndexText | None, who: Place | None) -> list[Any]:
    """Return where an element is, or the elements at a place."""
    if at is not None and who is not None:
        raise misused("--at asks for a place and --who for elements: one of them at a time")
    from tilewise.hardware.catalog.places import asked_place, in_registers, positions_at, positions_of
    from tilewise.notation import parse_index

    if at is not None:
        return positions_of(built, parse_index(at) if isinstance(at, str) else at)
    if who is None:
        return []
    spelled = ",".join(f"{name}={steps}" for name, steps in who.items()) if isinstance(who, Mapping) else who
    place = asked_place(built, str(spelled))
    found = positions_at(built, place, _WHO_LIMIT + 1)
    if len(found) > _WHO_LIMIT:
        raise LayoutError(
            "TW301", f"more than {_WHO_LIMIT} elements are there", hint="name more axes of the place"
        )
    if not found:
        from tilewise.core.inverse import on_its_axes
        from tilewise.questions.who import why_empty

        assert built.layout is not None
        why = why_empty(built.layout, on_its_axes(built.layout, in_registers(built, place)[0]))
        raise Refused("TW203", "nothing lives there", witness={"place": spelled}, hint=why)
    return found


def _shown(built: Built, fields: dict[str, Any], text: str) -> Report:
    from math import prod

    from tilewise.pictures.grid import grid_of

    if built.layout is None:
        raise misused(f"{fields['entry']} is a table, and has no picture")
    *down, across = fields["shape"]
    folded = (prod(down), across) if down else (across,)
    window = tuple((0, min(_CORNER, extent)) for extent in folded)
    grid = grid_of(built.layout, tuple(fields["shape"]), window)

    def draw() -> None:
        from tilewise.pictures.grid import print_picture

        print(text, end="\n\n")
        print_picture(grid)

    return Report(fields | {"picture": asdict(grid)}, draw)


def _rows(fields: dict[str, Any]) -> list[str]:
    skipped = ("entry", "call", "parameters", "source", "notes")
    rows = [(name, _said(value)) for name, value in fields.items() if name not in skipped]
    rows += [("note", note) for note in fields.get("notes", ())]
    source = fields["source"]
    rows.append(("source", f"{source['document']}, {source['section']}: {source['url']}"))
    return [f"  {line}" for line in table_lines(rows)]


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{_worded(name)} {_part(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(_part, value)) or "none"
    return "none" if value is None else str(value)


# -- what confirms them ----------------------------------------------------------------------------


def _counted(words: Sequence[str]) -> Report:
    from tilewise.hardware.catalog import find
    from tilewise.hardware.catalog.counts import counts, rows_of, total

    exact = [find(word).name for word in words if _is_entry(word)]
    names = exact or [entry.name for entry in _found(words)]
    chosen = [count for count in counts() if count.name in names]
    rows = rows_of(chosen)
    lines = table_lines(rows, "<", ">")
    sum_of = {key: value for key, value in total(chosen).data().items() if key not in ("entry", "alone")}
    return Report({"entries": [count.data() for count in chosen], "total": sum_of}, "\n".join(lines))


def _part(value: Any) -> str:
    return f"({_said(value)})" if isinstance(value, dict) else _said(value)


def _worded(name: str) -> str:
    """Return the name of a fact in words; sm_80 is one word."""
    return re.sub(r"_(?=[a-z])", " ", name)


# -- the list --------------------------------------------------------------------------------------


def _described(entry: Entry) -> Report:
    from tilewise.hardware.catalog.sheet import summary_of

    said, ways = _confirmed(entry)
    fields = summary_of(entry) | {"instances": {"count": max(ways.values()), **ways}}
    parameters = [(option_of(parameter.name), _in_words(parameter)) for parameter in entry.parameters]
    lines = [f"{entry.usage}: {entry.summary}", *(f"  {line}" for line in table_lines(parameters))]
    lines.append(f"  such as {entry.call}")
    lines.append(f"  {entry.source}: {entry.source.url}")
    lines.append(f"  confirmed: {said}")
    return Report(fields, "\n".join(lines))


def _confirmed(entry: Entry) -> tuple[str, dict[str, int]]:
    """Return how an entry is confirmed, in words, and of how many of its instances."""
    from tilewise.hardware.catalog.counts import ways_of

    ways = ways_of(entry)
    whole = max(ways.values())  # the document has every instance
    said = [way if count == whole else f"{way} ({count} of {whole})" for way, count in ways.items()]
    return ", ".join(said), ways


def _listed(words: Sequence[str]) -> Report:
    from tilewise.hardware.catalog.sheet import summary_of

    found = _found(words)
    fields: dict[str, Any] = {"search": list(words)} if words else {}
    fields["entries"] = [summary_of(entry) for entry in found]
    lines = [f"{entry.usage}\n  {entry.summary}" for entry in found]
    return Report(fields, "\n".join(lines))


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
