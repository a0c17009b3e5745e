"""The texts of one question: read as its options say, with all that they tell beside their layouts."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

from tilewise.core.errors import LayoutError, of_kind
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.polynomials import is_equal, names_now
from tilewise.core.shapes import as_shape, coordinates, extents_of, spell
from tilewise.questions.asking import option_of
from tilewise.questions.report import NamesWanted, ask_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from tilewise.notation.dialects import Reading as Told
    from tilewise.notation.read import Options
    from tilewise.questions.asking import IndexText, LayoutText, Number, Order, Ranges, ShapeText, Type
    from tilewise.questions.report import Report

OF_FILES = (".txt", ".json", ".mlir", ".ttir", ".ttgir", ".hlo", ".log")
"""Ends of words that name files of layouts."""

_BY = re.compile(r"\s*[1-9]\d*(\s*[xX]\s*\d+)+\s*")
"""Extents with x between them; 0x10 is a number."""


def misused(message: str, hint: str = "") -> LayoutError:
    """Return the error of a question, an option or an argument that does not fit."""
    return LayoutError("TW401", message, hint=hint)


class Texts:
    """The layouts of one question, as its options say how to read them.

    It keeps all that a text says beside its layout: the type of an element, the box of a padded tensor,
    notes. The report of the question has them. `asked_shape` is the shape of an index in the question; a
    question has its `own_shape` where that word is about something else than the tensor.
    """

    def __init__(
        self,
        dtype: Type | None = None,
        *,
        let: Mapping[str, int] | Sequence[str] = (),
        where: Sequence[str] | str = (),
        storage: Sequence[str] = (),
        unit: str = "element",
        dialect: str | None = None,
        part: Sequence[str] | str = (),
        triton: str | None = None,
        shape: ShapeText | None = None,
        tensor: ShapeText | None = None,
        asked_shape: ShapeText | None = None,
        own_shape: bool = False,
        sums: bool = False,
    ) -> None:
        if where:
            raise misused("--where says facts where an answer takes numbers", "give names values: --let M=64")
        self.dtype: Any = dtype
        self.let = self._with_names(values_in(let))
        self.storage = [name for names in _listed(storage) for name in names.split(",")]
        self.unit, self.dialect, self.triton = unit, dialect, triton
        self.part = _listed(part)
        self.notes: list[str] = []
        self.told: dict[str, Any] = {}
        self.sums: list[Mapping[str, str]] = []
        """For each text, the axes along which its copies are parts of a sum."""
        self._reads_sums = sums
        self._texts: list[str] = []
        self._named: dict[tuple[int, str], str] = {}
        """{(its place, a text with sizes that are not known): the same with names for them}."""
        self._asked_in = asked_shape
        """The shape of the question, which is the tensor's where a text has none."""
        self._option = "--tensor" if own_shape else "--shape"
        self._tensor = shape if tensor is None else tensor

    @staticmethod
    def _with_names(let: Mapping[str, int]) -> Mapping[str, int]:
        """Return the values of names in texts, and of those that a question answers for."""
        named = names_now()
        for name in named.keys() & let.keys():
            if not is_equal(named[name], let[name]):
                raise LayoutError(
                    "TW007", f"{name} = {let[name]} does not fit the facts", hint="leave one out"
                )
        return {**named, **let} if named else let  # type: ignore[dict-item]  # computed with as a number

    # -- layouts -------------------------------------------------------------------------------------

    def layout(self, given: LayoutText, *, as_counted: bool = False) -> Layout:
        """Return a layout, or the one that a text spells; `as_counted` in the unit of the text.

        A word that spells no layout may name a file that has one.
        """
        if isinstance(given, Layout):
            self._refuse_another_unit(given, "layout")
            if self._tensor is not None:
                self._refuse_another_shape(extents_of(given.shape))
            self.sums.append({})
            return self._converted(given)
        text = text_from(given, self.let)
        try:
            found = self._reading(text, as_counted)
        except LayoutError as error:
            if given == "-" or not os.path.isfile(text):  # noqa: PTH113 - pathlib costs more than the question
                if self._option == "--tensor":
                    error.hint = error.hint.replace("shape=", "tensor=")
                if text.endswith(OF_FILES) and len(text.split()) == 1:
                    raise LayoutError("TW402", f"there is no file {text}") from None
                raise
            path, text = text, text_from(_content(text), self.let)
            try:
                found = self._reading(text, as_counted)
            except LayoutError as inside:
                inside.message = f"{path}: {inside.message}"
                raise
        self._texts.append(text)
        self.sums.append(found.sums)
        self._refuse_another_shape(found.box or extents_of(found.layout.shape))
        if is_document(text):
            return found.layout
        self._settle_type(found)
        if found.box is not None:
            self.told["box"] = list(found.box)
            self.notes.append(f"the tensor is {_by(found.box)}, and the layout is padded beyond it")
        self.note(*found.notes)
        self.note_doubts(text, found.layout)
        return found.layout

    def pair(self, a: LayoutText, b: LayoutText) -> tuple[Layout, Layout]:
        """Return two layouts, of which one may come from standard input."""
        if isinstance(a, str) and isinstance(b, str):
            a, b = two_texts(a, b, self.let)
        return self.layout(a), self.layout(b)

    def note(self, *notes: str) -> None:
        """Keep notes for the reader, each of them once."""
        self.notes += [note for note in dict.fromkeys(notes) if note not in self.notes]

    def of_type(self, dtype: Type | None) -> Texts:
        """Return texts whose elements have another type, with the same notes."""
        other = object.__new__(Texts)
        other.__dict__ = {**self.__dict__, "dtype": dtype or self.dtype}
        return other

    def _with_sizes(self, text: str) -> str:
        """Return a text with names for the sizes that are not known, each a `?` in CuTe's dialect.

        Sizes of arrays have names of their own.
        """
        if "?" not in text:
            if text[:1].islower() or text[:1] in "\"'":
                self._take_names_of_array(text)
            return text
        from tilewise.notation.cute import named_sizes

        key = len(self._texts), text  # two tensors have sizes of their own
        if key not in self._named:
            before = sum(own.count("?") for _, own in self._named)
            self._named[key], facts = named_sizes(text, before, " ".join(self._texts))
            if not all(fact.split()[0] in self.let for fact in facts):
                raise NamesWanted(facts)
            if facts:
                names = ", ".join(fact.split()[0] for fact in facts)
                self.note(f"sizes that are not known, ?, have names, in their order: {names}")
        return self._named[key]

    def _take_names_of_array(self, text: str) -> None:
        from tilewise.notation.dialects import dialect_of

        found = dialect_of(text)
        if found is not None and found.name == "array":
            new = [own for own in found.module.names_in(text) if own not in self.let]
            if new:
                raise NamesWanted(new)

    def _reading(self, text: str, as_counted: bool) -> Told:
        """Return what a text says, read as the options tell; the shape is for a text without its own."""
        text = self._with_sizes(text)
        if is_document(text):
            from tilewise.notation.dialects import Reading as Told

            layout = _document(text, self.let)
            self._refuse_another_unit(layout, "document")
            for option in ("storage", "dialect"):
                if getattr(self, option):
                    raise misused(f"--{option} says how to read text, and this is a document")
            return Told(self._converted(layout))
        from tilewise.hardware.calls import reading

        options: Options = {  # a part is named for each text in turn, and the last one goes on
            "dialect": self.dialect,
            "storage": self.storage,
            "unit": self.unit,
            "dtype": None if as_counted and self.unit != "element" else self.dtype,
            "let": self.let,
            "part": self.part[min(len(self._texts), len(self.part) - 1)] if self.part else None,
            "triton": self.triton,
            "sums": self._reads_sums,
        }
        try:
            return reading(text, **options)
        except LayoutError as error:
            shape = self._shape_of_tensor()
            if error.code != "TW202" or shape is None:
                raise
            return reading(text, **(options | {"shape": shape}))

    def _converted(self, layout: Layout) -> Layout:
        """Return a layout that tells its unit itself, in elements where their type is known."""
        if self.dtype is None:
            return layout
        from tilewise.core.units import converted

        return converted(layout, "element", self.dtype)

    def _shape_of_tensor(self) -> Any:
        """Return the shape that is given for texts without their own, or None."""
        given = self._asked_in if self._tensor is None else self._tensor
        return None if given is None else self.extents(given, self._option)

    def _settle_type(self, found: Told) -> None:
        """Take the type that a text says; note where the question says another one."""
        from tilewise.core.dtypes import DType

        if found.dtype is None:
            return
        if self.dtype is None:
            self.dtype = self.told["dtype"] = found.dtype.name
        elif DType.of(self.dtype) != found.dtype:
            self.notes.append(f"the text says {found.dtype}, and is taken as {self.dtype}")

    def _refuse_another_unit(self, layout: Layout, noun: str) -> None:
        """Refuse a unit beside a layout that counts another one: it would change nothing."""
        if self.unit not in ("element", layout.unit):
            raise LayoutError(
                "TW106",
                f"the {noun} counts {layout.unit}s, and --unit says {self.unit}",
                hint=f'layout.counted("{self.unit}") is the same numbers in {self.unit}s',
            )

    def _refuse_another_shape(self, shape: tuple[int, ...]) -> None:
        """Refuse a shape that is not the tensor's, where the question is not about that shape."""
        given = None if self._tensor is None else self._shape_of_tensor()
        if given is not None and shape != extents_of(as_shape(given)):
            raise LayoutError(
                "TW202",
                f"{self._option} {spell(as_shape(given))} is not the shape of this tensor, which is"
                f" {_by(shape)}",
                hint=f"{self._option} is for encodings and shardings that have no shape of their own",
            )

    def note_doubts(self, text: str, layout: Layout) -> None:
        """Note what a text leaves open of its layout."""
        from tilewise.hardware.calls import doubts

        self.note(*doubts(text, layout, self.unit, self.dtype))

    # -- what an answer in JSON or another system's text tells -------------------------------------------

    def told_by(self, given: LayoutText, *names: str) -> tuple[LayoutText, dict[str, str]]:
        """Return a text, read from standard input where it is -, and values that it tells under some names.

        An answer in JSON tells any of the names; a text of another system tells the type, which is taken
        where the question does not say one.
        """
        if not isinstance(given, str):
            return given, {}
        text = _standard_input() if given.strip() == "-" else given
        told: dict[str, str] = {}
        if is_document(text):
            from tilewise.questions.piped import told_in

            told = {name: value for name, value in told_in(text).items() if name in names}
        elif "dtype" in names:
            self.settle_type(text)
        if self.dtype is None and "dtype" in told:
            self.dtype = told["dtype"]
        return text, told

    def settle_type(self, *given: LayoutText) -> None:
        """Take the type of an element from the first text of another system that says one."""
        from tilewise.notation.dialects import dialect_of

        for text in given:
            if self.dtype is None and isinstance(text, str) and not is_document(text) and dialect_of(text):
                dtype = self._reading(text, as_counted=False).dtype
                self.dtype = None if dtype is None else dtype.name

    # -- shapes, indices, numbers --------------------------------------------------------------------------

    @property
    def box(self) -> tuple[int, ...] | None:
        """Return the extents of a tensor whose layout is padded beyond them, or None."""
        box = self.told.get("box")
        return None if box is None else tuple(box)

    @property
    def asked_shape(self) -> Any:
        """Return the shape of the question; None where a padded tensor has that shape."""
        given = None if self._asked_in is None else self.extents(self._asked_in, "--shape")
        return None if given == self.box else given

    @property
    def spelled_shape(self) -> Any:
        """Return the shape of the question, as it was given."""
        return self._asked_in

    def extents(self, given: ShapeText, option: str) -> Any:
        """Return a shape; a text may have x between its extents, as in 64x64."""
        if not isinstance(given, str):
            return given
        from tilewise.notation import parse_shape

        by = _BY.fullmatch(given)
        try:
            return parse_shape(given.lower().replace("x", ",") if by else given, self.let)
        except LayoutError as error:
            if error.hint:
                raise
            hint = f"a shape is its extents alone: {option} 8,8"
            raise LayoutError(
                error.code, error.message, hint=hint, span=error.span, source=error.source
            ) from None

    def index(self, layout: Layout, given: IndexText) -> tuple[int, tuple[int, ...]]:
        """Return an index as one number, and as one number a mode of the question's shape."""
        from tilewise.notation import parse_index

        shape, box = self.asked_shape, self.box
        index = parse_index(given, self.let) if isinstance(given, str) else given
        if box is not None and shape is None:
            index = _in_box(index, box)
        flat = layout.flat_index(index, shape=shape)
        return flat, coordinates(flat, layout.asked_in(shape), layout.order)

    def window(self, given: Ranges | None) -> Any:
        """Return the ranges of a window as pairs, or None."""
        from tilewise.notation import parse_window

        if isinstance(given, str):
            return parse_window(given, self.let)
        if isinstance(given, int | slice | range):
            raise misused("--window has one range a mode", "such as ((0, 16), (8, 24))")
        return given and tuple(map(_range_in, given))

    def order(self, given: Order | None) -> Any:
        """Return the value of --permute, a mode or several, or None."""
        if not isinstance(given, str):
            return given
        from tilewise.notation import parse_index

        order = parse_index(given, self.let)
        if isinstance(order, tuple) and not all(isinstance(mode, int) for mode in order):
            raise misused(f"--permute {spell(order)} is not a list of modes", "such as 1,0")
        return order

    # -- the report ------------------------------------------------------------------------------------------

    def report(
        self, fields: Mapping[str, Any], text: Any, answer: bool | None = True, **settings: Any
    ) -> Report:
        """Return a report with all that the texts told."""
        from tilewise.questions.report import Report

        return self.reported(Report(fields, text, answer, **settings))

    def reported(self, report: Report) -> Report:
        """Return a report with all that the texts told beside its own fields and notes."""
        if len(self.part) > max(1, len(self._texts)):
            raise misused(f"--part {self.part[-1]} has no text: there is one a layout, in order")
        return replace(report, contents={**self.told, **report.contents}).noted(*self.notes)


# -- words -------------------------------------------------------------------------------------------------


def text_from(text: str, let: Mapping[str, int] | None = None) -> str:
    """Return a text, or standard input where it is -; of an answer in JSON the layout that it holds.

    An answer may be one for each case of names, with values in `let`.
    """
    given = of_kind(text, str, "a layout", 'a Layout, or its text, such as "S[(8, 4) : (4, 1)]"')
    text = given.strip() if given != "-" else _standard_input()
    if not is_document(text):
        return text
    from tilewise.questions.piped import result_in

    return result_in(text, names_now() if let is None else let)  # type: ignore[arg-type]  # computed with


def two_texts(one: str, other: str, let: Mapping[str, int] | None = None) -> tuple[str, str]:
    """Return the texts of two layouts, of which one may come from standard input."""
    if one == other == "-":
        raise misused(
            "only one layout can come from standard input",
            "write the other one as text, such as 'S[(8, 4) : (4, 1)]'",
        )
    return text_from(one, let), text_from(other, let)


def is_document(text: str) -> bool:
    """Return True if a text is JSON, and no layout or sharding in braces.

    >>> is_document('{"schema": 1}'), is_document("{1,0:T(8,128)}")
    (True, False)
    """
    return text.startswith("{") and text[1:].lstrip()[:1] in ('"', "}", "")


def in_cute(text: object, dialect: str | None) -> bool:
    """Return True if the text of a layout is read in CuTe's dialect."""
    from tilewise.notation import is_cute

    if not isinstance(text, str):
        return isinstance(text, Layout) and text.order == "cute"
    return dialect == "cute" or (dialect is None and not is_document(text) and is_cute(text))


def is_padding(index: Sequence[Any], box: tuple[int, ...] | None) -> bool:
    """Return True if an index lies beyond the tensor, in what its layout is padded by."""
    numbers = all(isinstance(number, int) for number in index)
    return box is not None and numbers and any(i >= extent for i, extent in zip(index, box, strict=False))


def _range_in(given: Any) -> Any:
    """Return a range of a window as a pair, None where an end is open; whatever is no range as it is.

    >>> _range_in(slice(0, 4)), _range_in(range(2, 8)), _range_in(3), _range_in(None)
    ((0, 4), (2, 8), (3, 4), (None, None))
    """
    if isinstance(given, slice | range):
        if given.step not in (None, 1):
            raise misused(f"--window takes every index of a range, and {given} has steps")
        return given.start, given.stop
    if isinstance(given, int):
        return given, given + 1
    return (None, None) if given is None else given


def sizes_in(option: str, given: str | Sequence[int], form: str, such: str) -> Any:
    """Return the sizes of an option, as many as its form has; a text has x or commas between them."""
    if not isinstance(given, str):
        given = "x".join(map(str, given if isinstance(given, Iterable) else [given]))
    parts = [part.strip() for part in re.split("[xX×,]", given)]
    if len(parts) != len(form.split("x")) or not all(map(str.isdecimal, parts)):
        raise misused(f"{option} {given} is not {form}", f"such as {such}")
    return tuple(map(int, parts))


def number_in(given: Number, option: str, noun: str, such: str) -> int:
    """Return the value of an option that is a number; a text may be decimal or hexadecimal."""
    if hasattr(given, "__index__") and not isinstance(given, bool):
        return as_int(given, noun)
    try:
        return int(str(given), 0)
    except ValueError:
        if (number := number_of_names(str(given))) is not None:
            return number
        raise misused(f"{option} {given} is no {noun}", f"such as {such}") from None


def number_of_names(text: str) -> int | None:
    """Return a number with names in it, or None where the question is not for all values of any."""
    names = names_now()
    if not names:
        return None
    from tilewise.notation import parse_index

    return as_int(parse_index(text, names), "a number")  # type: ignore[arg-type]  # computed with as one


def refuse_given(given: Mapping[str, Any], why: str, hint: str = "") -> None:
    """Refuse the first of some options that has a value; `why` goes on after its name, {} in a hint is it."""
    for name in with_values(given):
        raise misused(f"{option_of(name)} {why}", hint.format(option_of(name)[2:]))


def refuse_missing(asker: str, given: Mapping[str, Any], such: Mapping[str, str], why: str = "") -> None:
    """Refuse options that have no value; the hint shows each with such a one, and may say why."""
    missing = {option_of(name): such[name] for name, value in given.items() if value is None}
    if missing:
        hint = "such as " + " ".join(f"{option} {value}" for option, value in missing.items())
        raise misused(f"{asker} needs {' and '.join(missing)}", hint + why)


def with_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that have a value.

    >>> with_values({"m": 0, "n": None, "sparse": False, "access": ()})
    {'m': 0}
    """
    return {
        name: value
        for name, value in given.items()
        if value is not None and value is not False and value != () and value != []
    }


def _listed(given: Iterable[str] | str) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def values_in(words: Mapping[str, int] | Iterable[str]) -> Mapping[str, int]:
    """Return {name: value} of words such as M=4096."""
    if isinstance(words, Mapping):
        return words
    values = {}
    for spelled in _listed(words):
        name, equals, value = (part.strip() for part in spelled.partition("="))
        try:
            values[name] = int(value, 0) if equals and name.isidentifier() else int("")
        except ValueError:
            raise misused(f"--let {spelled} is not NAME=N", "such as --let M=4096") from None
    return values


def _by(extents: Sequence[int]) -> str:
    return " x ".join(map(str, extents))


def _in_box(index: Any, box: tuple[int, ...]) -> Any:
    """Return an index of a padded layout by coordinates: a flat number counts the tensor's elements."""
    if isinstance(index, int):
        if not 0 <= index < prod(box):
            raise LayoutError("TW201", f"element {index} is not of the tensor, which is {_by(box)}")
        return coordinates(index, box)
    if is_padding(index, box):
        raise LayoutError("TW201", f"{index} is padding: the tensor is {_by(box)}")
    return index


def _content(path: str) -> str:
    """Return the text of a file."""
    from tilewise.notation.tokens import MAX_TEXT

    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - likewise
            return file.read(MAX_TEXT + 1).strip()
    except UnicodeDecodeError as error:
        raise LayoutError("TW402", f"{path} is not UTF-8 text: {error.reason}") from None


def _standard_input() -> str:
    """Return the text of standard input: a question that has several cases reads it in each."""
    if sys.stdin is None:
        raise LayoutError("TW402", "there is no standard input to read")
    return _all_of(sys.stdin)


@lru_cache(maxsize=1)
def _all_of(stream: TextIO) -> str:
    binary = getattr(stream, "buffer", None)
    try:
        return (binary.read().decode() if binary else stream.read()).strip()
    except UnicodeDecodeError as error:
        raise LayoutError("TW402", f"standard input is not UTF-8 text: {error.reason}") from None
    except OSError as error:
        raise LayoutError("TW402", f"standard input cannot be read: {error.strerror}") from None


def _document(text: str, let: Mapping[str, int]) -> Layout:
    """Return the layout of a document; ask for those of its facts that the question does not know."""
    import json

    from tilewise.notation import from_json
    from tilewise.notation.document import where_of

    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LayoutError("TW108", f"not a JSON document: {error}") from None
    if isinstance(document, dict):
        document = document.get("layout", document)
    ask_for(where_of(document), let)
    return from_json(document, let)
