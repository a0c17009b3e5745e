"""Tables of instructions: the look-up of rows, and refusals that name the alternatives.

A row is any value with a shape, types and the needs of an architecture. These functions know only the names
of a row's fields, so mma, mfma and the others look rows up alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.hardware.architectures import Architecture, Needs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, Self, TypeVar

    class Owned(Protocol):
        """A row of a table that only some architectures have."""

        @property
        def needs(self) -> Needs:
            """Return the architectures that have it."""

    Row = TypeVar("Row")
    Had = TypeVar("Had", bound=Owned)


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """M, N and K of an instruction, as PTX writes them.

    >>> Shape.of("m16n8k16")
    Shape(m=16, n=8, k=16)
    >>> print(Shape(8, 8, 4))
    m8n8k4
    """

    m: int
    n: int
    k: int

    written = "m{}n{}k{}"
    engine = "mma"

    @classmethod
    def of(cls, shape: Self | str) -> Self:
        """Return the shape that a word such as m16n8k16 names; refuse CuTe's 16x8x16 with a hint."""
        if isinstance(shape, cls):
            return shape
        numbers = [int(number) for number in re.findall("[0-9]+", str(shape))[:3]]
        meant = cls(*numbers) if len(numbers) == 3 else None
        if meant is None or str(meant) != str(shape).lower():
            hint = f"such as {cls(16, 8, 16)}" if meant is None else f"did you mean {meant}?"
            raise LayoutError("TW601", f"{str(shape)!r} is no shape of an {cls.engine}", hint=hint)
        return meant

    def __str__(self) -> str:
        return self.written.format(self.m, self.n, self.k)


# -- the values of rows ----------------------------------------------------------------------------


def where(rows: Iterable[Row], **wanted: Any) -> tuple[Row, ...]:
    """Return the rows whose fields have the wanted values.

    A field of several values has each of them. A wanted value of None allows every row.

    >>> where([Shape(16, 8, 8), Shape(16, 8, 16)], m=16, k=8, n=None)
    (Shape(m=16, n=8, k=8),)
    """
    asked = [(field, value) for field, value in wanted.items() if value is not None]
    found = []
    for row in rows:
        for field, value in asked:
            held = getattr(row, field)
            if held != value and not (isinstance(held, tuple) and value in held):
                break
        else:
            found.append(row)
    return tuple(found)


def values(rows: Iterable[Any], field: str) -> tuple[Any, ...]:
    """Return the values of a field in some rows, each value once.

    >>> values([Shape(16, 8, 8), Shape(16, 8, 16)], "n")
    (8,)
    """
    found = (getattr(row, field) for row in rows)
    return tuple(
        dict.fromkeys(one for held in found for one in (held if isinstance(held, tuple) else (held,)))
    )


def by_shape(rows: Iterable[Row], says: Callable[[Sequence[Row]], Any]) -> dict[str, Any]:
    """Return {shape: the answer of `says` for its rows}.

    >>> by_shape([], len)
    {}
    """
    every = [*rows]
    return {str(shape): says(where(every, shape=shape)) for shape in values(every, "shape")}


def listed(some: Iterable[object], between: str = ", ") -> str:
    """Return each value once, in words."""
    return between.join(dict.fromkeys(map(str, some)))


def nearest(legal: Iterable[int], n: int) -> str:
    """Return the two legal N nearest to `n`, in words; past the end, the largest.

    >>> nearest((8, 16, 24, 32, 48, 64), 40), nearest((8, 16), 512)
    ('the nearest N are 32 and 48', 'the most is N = 16')
    """
    near = sorted(legal, key=lambda one: (abs(one - n), one))
    if n > max(near):
        return f"the most is N = {max(near)}"
    return f"the nearest N are {' and '.join(map(str, sorted(near[:2])))}"


# -- refusals --------------------------------------------------------------------------------------

DOES = {"a": "multiplies", "b": "multiplies", "c": "accumulates in", "d": "accumulates in"}
"""{operand: the verb of an instruction for elements of its type}."""


def having(
    rows: Collection[Row],
    name: str,
    operand: str,
    dtype: DType | str | None,
    shape: Shape | None = None,
    instead: str = "",
    end: str = "",
) -> tuple[Row, ...]:
    """Return the rows of a shape that have a type of an operand, or any; `instead` and `end` end the refusal.

        refused  TW602 where no row fits: with the shapes of the type, or with all types

    >>> from tilewise.hardware.mma.instructions import DENSE
    >>> having(DENSE, "mma.sync", "a", "tf32", Shape.of("m16n8k16"))
    Traceback (most recent call last):
    tilewise.Refused: TW602: no mma.sync m16n8k16 multiplies tf32
      hint: tf32 has m16n8k4, m16n8k8; m16n8k16 multiplies f16, bf16, f64, e4m3, e5m2, s8, u8
    """
    wanted = {} if dtype is None else {operand: str(dtype)}
    found, does = where(rows, shape=shape, **wanted), DOES[operand]
    if found:
        return found
    of_type, of_shape = where(rows, **wanted), where(rows, shape=shape)
    if dtype is None:
        hint = f"there are {listed(values(rows, 'shape'))}"
        raise Refused(
            "TW602", f"no {name} has the shape {shape}{end}", witness={"shape": str(shape)}, hint=hint
        )
    hints = [f"{dtype} has {listed(values(of_type, 'shape'))}"] if of_type else []
    if not of_type or (shape and of_shape):
        subject, some = (shape, of_shape) if of_type else ("it", rows)
        hints.append(f"{subject} {does} {listed(values(some, operand))}")
    hints += [instead] * bool(instead)
    which = f"{name} {shape}" if of_type else name
    raise Refused(
        "TW602",
        f"no {which} {does} {dtype}{end}",
        witness=({"shape": str(shape)} if of_type else {}) | {"dtype": str(dtype)},
        hint="; ".join(hints),
    )


def met(
    rows: Iterable[Had],
    words: str,
    arch: Architecture | str | None,
    witness: Mapping[str, Any] | None = None,
    alike: Iterable[Any] = (),
) -> list[Had]:
    """Return the rows that an architecture has; all rows without an architecture.

    refused  TW602 where it has no such row: with the rows' needs, and the shapes it has of some `alike`
    """
    every = [*rows]
    had = [row for row in every if arch is None or row.needs.met(arch)]
    if had:
        return had
    own = listed(row.shape for row in alike if row.needs.met(arch or ""))
    said = {"instruction": str(every[0])} if witness is None else witness
    raise lacking((row.needs for row in every), words, arch, said, f"; {arch} has {own}" * bool(own))


def lacking(
    needs: Iterable[Needs], words: str, arch: object, witness: Mapping[str, Any], more: str = ""
) -> Refused:
    """Return the refusal of an architecture that meets no needs; it names those that require least."""
    owners = {each: {*each.architectures} for each in needs}
    least = [each for each, them in owners.items() if not any(them < others for others in owners.values())]
    hint = f"it needs {listed(least, '; or ')}{more}"
    return Refused("TW602", f"{arch} has no {words}", witness={"arch": str(arch), **witness}, hint=hint)


def easiest(rows: Iterable[Owned]) -> str:
    """Return the needs of the easiest of some instructions."""
    return str(min({row.needs for row in rows}, key=lambda needs: needs.first))


# -- words -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slot:
    """A part of an instruction's words: its legal words, and its name."""

    name: str
    pattern: str
    says: str
    optional: bool = False


def read_words(words: str, slots: Iterable[Slot]) -> tuple[dict[str, str], str, str]:
    """Return {slot: its word}, the slots in their order; the rest of the words; and the words expected there.

    >>> slots = Slot("shape", "m[0-9]n[0-9]", "the shape"), Slot("count", "x[0-9]", "how many", optional=True)
    >>> read_words("m8n8.x4.trans", slots)
    ({'shape': 'm8n8', 'count': 'x4'}, 'trans', 'nothing more')
    """
    found, rest = {}, words
    for slot in slots:
        fit = re.match(rf"({slot.pattern})(?:\.|$)", rest)
        if fit:
            found[slot.name], rest = fit[1], rest[fit.end() :]
        elif not slot.optional:
            return found, rest, slot.says
    return found, rest, "nothing more"


def sort_words(words: str, patterns: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return {name: its word} of words in any order, and the words that fit no pattern, or a taken one.

    Words of the pattern without a name are ignored. If a pattern has a group, the group is the word.

    >>> sort_words("sync.aligned.x4.trans", {"count": "x([0-9])", "": "sync|aligned"})
    ({'count': '4'}, ['trans'])
    """
    found: dict[str, str] = {}
    odd = []
    for word in words.split("."):
        fits = ((name, re.fullmatch(one, word)) for name, one in patterns.items() if name not in found)
        name, fit = next(((name, fit) for name, fit in fits if fit), ("", None))
        if fit is None:
            odd.append(word)
        elif name:
            found[name] = fit[fit.lastindex or 0]
    return found, odd


def first_fault(
    found: Mapping[str, str], rows: Sequence[Mapping[str, str]], slots: Iterable[Slot]
) -> tuple[str, str]:
    """Return the first slot whose value no row has, and a sentence; two empty strings where a row fits.

    Each slot narrows the rows down, so the known values of a slot depend on the slots before it.
    """
    before: list[str] = []
    for slot in slots:
        said = found.get(slot.name)
        left = [row for row in rows if row.get(slot.name) == said]
        if not left:
            known = listed(row.get(slot.name, "left out") for row in rows)
            first = f"{' '.join(before)}: " if before else ""
            return slot.name, f"{first}{slot.says} is {known}, not {said or 'left out'}"
        rows = left
        before += [said] if said else []
    return "", ""
