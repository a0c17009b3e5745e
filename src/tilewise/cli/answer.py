"""What a command answers, before it is printed as text or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewise.core.errors import LayoutError
from tilewise.core.vectors import Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.errors import Refused
    from tilewise.core.layout import Layout

IN_THEIR_ORDERS = "a layout in CuTe's notation counts the leftmost digit fastest, the other one row-major"

YES, NO, NOT_UNDERSTOOD, UNDECIDED = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Answer:
    """Data for JSON, a text for people, and the exit code that says yes, no or not decided.

    A note is for the reader alone: standard error has it, so that the text can be read by a command.
    """

    data: dict[str, Any]
    text: str | Callable[[], None]
    code: int = YES
    note: str = ""
    instead: bool = False
    """The text is a no where a yes would be source code, which goes into a file: standard error has it."""
    then: Callable[[], None] | None = None
    """What goes on once it has been printed, such as a server."""

    def noted(self, *notes: str) -> Answer:
        """The answer with notes beside its own, in JSON too. What its text says already is not noted."""
        said = self.text if isinstance(self.text, str) else ""
        new = [note for note in notes if any(part not in said for part in note.split("; "))]
        if not new:
            return self
        told, note = ("; ".join(filter(None, (own, *new))) for own in (self.data.get("note"), self.note))
        return replace(self, data=self.data | {"note": told}, note=note)

    def with_told(self, told: Mapping[str, Any]) -> Answer:
        """Return the answer with what its texts tell beside their layouts, in JSON."""
        return replace(self, data={**told, **self.data}) if told else self


def misused(message: str, hint: str = "") -> LayoutError:
    """Return the error of a command, an option or an argument that does not fit."""
    return LayoutError("TW401", message, hint=hint)


def refuse_given(args: object, options: Iterable[str], why: str, hint: str = "") -> None:
    """Refuse the first of some options that has a value; `why` goes on after its name, {} in a hint is it."""
    for option in options:
        if getattr(args, option.replace("-", "_")) not in (None, [], False):
            raise misused(f"--{option.replace('_', '-')} {why}", hint.format(option))


def refusal_data(no: Refused, hint: str = "") -> dict[str, Any]:
    """Return a refusal as JSON, with a hint where it has none of its own."""
    from tilewise.cli.hints import in_a_shell

    return {
        "code": no.code,
        "reason": no.reason,
        "witness": witness_data(no.witness),
        "hint": in_a_shell(no.hint) or hint,
    }


def refused(
    no: Refused,
    data: Mapping[str, Any],
    rule: str = "",
    *,
    hint: str = "",
    witness: str = "",
    instead: bool = False,
) -> Answer:
    """Return a no with its reason, its witness and its hint; the data says the rest, and has the last word.

    The text begins with a rule, and may show the witness; `hint` is for a refusal without its own.
    """
    told = refusal_data(no, hint)
    details = {"witness": witness, "hint": told["hint"]}.items()
    lines = [f"no: {rule}{no.reason}", *(f"  {name}: {text}" for name, text in details if text)]
    return Answer({**told, **data}, "\n".join(lines), NO, instead=instead)


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


def fields(of: object, *names: str) -> dict[str, Any]:
    """Return fields of a value under their names."""
    return {name: getattr(of, name) for name in names}


def place_data(place: Vector) -> dict[str, int]:
    """A place as JSON."""
    return place.as_dict()


def order_data(*layouts: Layout) -> dict[str, str]:
    """Return `"order": "cute"` where a layout counts in CuTe's order, nothing else."""
    return {"order": "cute"} if any(layout.order == "cute" for layout in layouts) else {}


def how_paired(a: Layout, b: Layout) -> str:
    """Return how elements of layouts of both orders are paired; nothing where both count alike."""
    from tilewise.core.orders import alike_in_modes

    if a.order == b.order:
        return ""
    if alike_in_modes(a, b):
        return "elements are paired by coordinates, for the modes have the same extents"
    return f"elements are paired by flat index: {IN_THEIR_ORDERS}"


def witness_data(witness: Any) -> Any:
    """A witness as JSON: places by their axes, what has no word there as its text."""
    if isinstance(witness, Vector):
        return place_data(witness)
    if isinstance(witness, Mapping):
        return {str(key): witness_data(part) for key, part in witness.items()}
    if isinstance(witness, tuple | list):
        return [witness_data(part) for part in witness]
    return witness if witness is None or isinstance(witness, bool | int | str) else str(witness)


def index_text(index: tuple[int, ...]) -> str:
    """An index for people: `(5, 3, 1)`, and `37` where there is one mode."""
    return str(index[0]) if len(index) == 1 else str(index)
