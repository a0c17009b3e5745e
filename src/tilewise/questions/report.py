"""Reports: the answer to a question, for programs and for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from keyword import iskeyword

from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.layout import Layout
from tilewise.core.polynomials import Polynomial
from tilewise.core.vectors import Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = 1

_BESIDES = {
    "text": "str(report) is the text",
    "notes": "report.asides are the notes",
    "fields": "report.contents are the fields",
}
"""{what one may look for, and only some reports have as a field: where it is}."""


@dataclass(frozen=True, slots=True)
class Report:
    """The answer to a question: its fields, a text for people, and yes, no or not decided.

    A field is an attribute; one whose name is a word of Python has an underscore behind it, as in
    `relation(A, B).class_`. `data()` has all fields as JSON has them, and `print` shows the text and the
    notes. In an `if` a report is its answer; one that is not decided raises `NotDecided` there.

    >>> import tilewise
    >>> report = tilewise.same("S[(4, 4) : (4, 1)]", "S[(4, 4) : (1, 4)]")
    >>> report.answer, report.witness, report.b
    (False, (0, 1), (4@m,))
    >>> report.data()["b"]
    [{'m': 4}]
    >>> print(report)
    not the same: index (0, 1)
      a: 1@m
      b: 4@m
    """

    contents: Mapping[str, Any]
    """The fields, which are attributes too; so no field has the name of another attribute of a report."""
    screen: str | Callable[[], None] = field(compare=False)
    """The text, or what prints it: a picture is drawn when it is wanted."""
    answer: bool | None = True
    asides: tuple[str, ...] = ()
    """Notes for the reader alone; a shell has them on standard error."""
    instead: bool = False
    """The text is a reason where source code was wanted; a shell has it on standard error."""
    then: Callable[[], None] | None = field(default=None, compare=False)
    """The work that follows the answer in a shell, such as to wait for the end of a server."""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            for spelled in (name, name.removesuffix("_")):
                if spelled in self.contents:
                    return self.contents[spelled]
        message = f"this report has no field {name}; it has {', '.join(self.contents)}"
        raise AttributeError(f"{message}; {_BESIDES[name]}" if name in _BESIDES else message)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *(f"{name}_" if iskeyword(name) else name for name in self.contents)]

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a copy in another process is made of: the text as it is, and no work that follows."""
        return Report, (dict(self.contents), self.shown(), self.answer, self.asides, self.instead)

    def __bool__(self) -> bool:
        if self.answer is None:
            raise NotDecided(str(self.contents.get("reason", "not decided")))
        return self.answer

    def __str__(self) -> str:
        from tilewise.questions.hints import in_python

        shown = self.shown()
        lines = [*shown.split("\n"), *(f"note: {note}" for note in self.asides)]
        if self.screen in self.contents.values():  # which is source code
            return "\n".join(lines)
        return "\n".join(line if "tilewise " in line else in_python(line) for line in lines)

    def __repr__(self) -> str:
        return str(self)

    def shown(self) -> str:
        """Return the text as a shell shows it; `str` spells options as Python does, but those of commands."""
        if isinstance(self.screen, str):
            return self.screen
        from contextlib import redirect_stdout
        from io import StringIO

        written = StringIO()
        with redirect_stdout(written):
            self.screen()
        return written.getvalue().rstrip("\n")

    def data(self) -> dict[str, Any]:
        """Return the fields as JSON has them, with the notes in one sentence."""
        notes = "; ".join(filter(None, (self.contents.get("note"), *self.asides)))
        return {"schema": SCHEMA, **as_json(self.contents)} | ({"note": notes} if notes else {})

    def noted(self, *notes: str) -> Report:
        """Return the report with more notes; one that its text or its notes have is left out."""
        told = "; ".join((self.screen if isinstance(self.screen, str) else "", *self.asides))
        more = [note for note in notes if any(part not in told for part in note.split("; "))]
        return replace(self, asides=(*self.asides, *more)) if more else self


class NamesWanted(LayoutError):
    """A text has sizes that are not known: a question answers for all their values, with facts."""

    def __init__(self, facts: Sequence[str]) -> None:
        names = [*dict.fromkeys(fact.split()[0] for fact in facts)]
        hint = " ".join(f"--let {name}=64" for name in names[:3])
        super().__init__(
            "TW007", f"sizes are not known here: {', '.join(names)}", hint=f"give values: {hint}"
        )
        self.facts = facts


def ask_for(where: Sequence[str], let: Mapping[str, int]) -> None:
    """Ask for those facts of a text that the values of names, in a question, do not settle."""
    if where:
        from tilewise.notation.facts import open_facts

        if open_facts(where, let):
            raise NamesWanted(where)


def refused(
    no: Refused,
    fields: Mapping[str, Any],
    rule: str = "",
    *,
    hint: str = "",
    witness: str = "",
    instead: bool = False,
) -> Report:
    """Return a no with its reason, its witness and its hint; other fields have the last word.

    The text begins with a rule, and may show the witness; `hint` is for a refusal without its own.
    """
    told = refusal_fields(no, hint)
    details = {"witness": witness, "hint": told["hint"]}.items()
    lines = [f"no: {rule}{no.reason}", *(f"  {name}: {text}" for name, text in details if text)]
    return Report({**told, **fields}, "\n".join(lines), False, instead=instead)


def refusal_fields(no: Refused, hint: str = "") -> dict[str, Any]:
    """Return the fields of a refusal, with a hint where it has none of its own."""
    from tilewise.questions.hints import in_a_shell

    return {"code": no.code, "reason": no.reason, "witness": no.witness, "hint": in_a_shell(no.hint) or hint}


def as_json(value: Any) -> Any:
    """Return a value as JSON has it: a place by its axes, a layout and all else without a word there as text.

    >>> from tilewise import S, laneid
    >>> as_json({"tile": S[8 : 1], "places": (4 @ laneid,)})
    {'tile': 'S[8 : 1]', 'places': [{'laneid': 4}]}
    """
    if isinstance(value, Vector):
        return {name: as_json(steps) for name, steps in value.as_dict().items()}
    if isinstance(value, Mapping):
        return {str(key): as_json(part) for key, part in value.items()}
    if isinstance(value, tuple | list | range):
        return [as_json(part) for part in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return int(value) if hasattr(value, "__index__") and type(value) is not Polynomial else str(value)


def fields_of(value: object, *names: str) -> dict[str, Any]:
    """Return fields of a value under their names."""
    return {name: getattr(value, name) for name in names}


def order_of(*layouts: Layout) -> dict[str, str]:
    """Return `{"order": "cute"}` where a layout counts in CuTe's order, nothing else."""
    return {"order": "cute"} if any(layout.order == "cute" for layout in layouts) else {}


def index_text(index: tuple[int, ...]) -> str:
    """Return an index for people: `(5, 3, 1)`, and `37` where there is one mode."""
    return str(index[0]) if len(index) == 1 else str(index)


def table_lines(rows: Iterable[Sequence[object]], sides: str = "", others: str = "<") -> list[str]:
    """Return rows with aligned columns, which lean to the side of < or >; those without a sign to `others`.

    >>> table_lines([("access", "bytes"), ("row:16B", 16)], "<>")
    ['access   bytes', 'row:16B     16']
    """
    lines = [list(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    columns = list(zip(sides.ljust(len(widths), others), widths, strict=False))
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, (side, width) in zip(line, columns, strict=True)).rstrip()
        for line in lines
    ]
