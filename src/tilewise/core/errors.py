"""The refusals of tilewise: one exception type, with a code, a span and a hint."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")


CODES = {
    "TW001": "the text is not a layout",
    "TW002": "a character or a word that the notation does not know",
    "TW003": "shapes and strides do not pair up",
    "TW004": "something is missing or left over",
    "TW005": "a literal, a nesting or a list beyond the limits",
    "TW006": "an elided expression",
    "TW007": "a name without a value",
    "TW008": "a dialect cannot say this",
    "TW101": "not an integer",
    "TW102": "an extent that is not positive",
    "TW103": "not a name for an axis, or an axis declared in two ways",
    "TW104": "a swizzle that is not a permutation, or on the wrong axis",
    "TW105": "an unknown dtype",
    "TW106": "units or dtypes that do not convert exactly",
    "TW107": "two layouts where one belongs, or a value of another kind",
    "TW108": "not a layout document, or of an unknown version",
    "TW201": "an index outside the shape, or of another form",
    "TW202": "a shape of another size",
    "TW203": "not a place",
    "TW204": "several places, and the question wants one",
    "TW301": "too large to list",
    "TW302": "beyond 64-bit integers",
    "TW303": "not decided within the bound",
    "TW401": "a command, an option or an argument that does not fit",
    "TW402": "a file or a stream that cannot be read or written",
    "TW403": "an optional package that is not installed",
    "TW501": "the exact answer is no layout over these digits",
    "TW502": "reaches outside the domain",
    "TW503": "digits that do not divide as asked",
    "TW504": "a swizzle that the operation does not pass through",
    "TW505": "no inverse",
    "TW506": "no complement",
    "TW507": "a tile that its owners do not divide",
    "TW508": "element widths that do not divide",
    "TW509": "copies, offsets or axes that the operation does not take",
    "TW510": "no swizzle and no layout explains the map",
    "TW511": "no strided view",
    "TW512": "not affine over GF(2)",
    "TW601": "a name that the hardware's tables do not hold",
    "TW602": "a type or a shape that the engine does not have",
    "TW603": "a tile that is no whole number of atoms",
    "TW604": "a field of a descriptor that does not hold the value",
    "TW605": "no descriptor reads this layout",
    "TW606": "written in one place, read in another",
    "TW607": "a tensor map that the driver refuses",
    "TW608": "no GPU, or no way to reach it",
    "TW609": "no move inside a warp, or between registers",
    "TW610": "no one instruction makes this access",
    "TW611": "no layout that was searched serves all accesses as asked",
    "TW612": "a read or a write that the model forbids",
    "TW701": "a layout that is not on one storage, or begins before it",
    "TW702": "sizes that differ, or a box that does not lie in both",
    "TW703": "a target where two elements meet",
    "TW704": "an array that a move does not take",
    "TW705": "a fill that the type does not hold",
    "TW706": "no memory for the result",
    "TW707": "a rank that does not answer",
    "TW708": "ranks that do not agree",
    "TW801": "a launch or an argument that the kernel does not take",
    "TW802": "no such kernel",
    "TW804": "a file that holds no kernel that is read here",
    "TW805": "a cubin, and no nvdisasm",
}
"""Every code and its meaning; the documentation lists this table."""

_VISIBLE_COLUMNS = 96


class LayoutError(ValueError):
    """A value or a question that tilewise refuses: the subject, the reason, the fix.

    >>> from tilewise import S
    >>> S[(8, 4) : (4, 0.5)]
    Traceback (most recent call last):
    tilewise.LayoutError: TW101: a stride must be an integer, not the float 0.5
      hint: strides count whole elements; choose a smaller unit instead of a fraction
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str = "",
        span: tuple[int, int] | None = None,
        source: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.span = span
        self.source = source

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        lines = [f"{self.code}: {self.message}"]
        if self.span is not None and self.source.strip():
            line = self.source.count("\n", 0, self.span[0])
            lines += [f"  in line {line + 1}:"] if line else []
            lines += [f"  {shown}" for shown in caret_lines(self.source, self.span)]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class NotDecided(LayoutError):
    """The question is exact but hard, and the search ended at its bound without an answer."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__("TW303", message, hint=hint)


class Refused(LayoutError):
    """A good question with the answer no: the operation has no exact result, for the given reason.

    The witness is the evidence, for a reader to check: indices, places or extents.

    >>> from tilewise import Refused, S
    >>> try:
    ...     S[(4, 4) : (4, 1)].compose(S[12 : 1] + 8)
    ... except Refused as no:
    ...     print(no.code, no.reason)
    TW502 B names index 19, and A has 16 elements
    """

    def __init__(self, code: str, message: str, *, witness: Any = None, hint: str = "") -> None:
        super().__init__(code, message, hint=hint)
        self.witness = witness

    @property
    def reason(self) -> str:
        """Return the reason why no result exists."""
        return self.message


LayoutError.__module__ = NotDecided.__module__ = Refused.__module__ = "tilewise"  # where users meet them


def of_kind(value: Any, kind: type[T], what: str, hint: str) -> T:
    """Return the value itself; refuse another type with a hint that makes the right one.

    >>> of_kind(3, str, "a name", "such as 'm'")
    Traceback (most recent call last):
    tilewise.LayoutError: TW107: a name belongs here, not the int 3
      hint: such as 'm'
    """
    if isinstance(value, kind):
        return value
    raise LayoutError("TW107", f"{what} belongs here, not the {type(value).__name__} {value!r}", hint=hint)


def _rebuild(kind: type[LayoutError], args: tuple[Any, ...], told: dict[str, Any]) -> LayoutError:
    """Return an error that was pickled: its constructor takes more than exceptions keep."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(told)
    return error


def caret_lines(source: str, span: tuple[int, int]) -> list[str]:
    """Return the line of `source` that holds the span, cut to a readable width, and carets under it.

    >>> caret_lines("S[(8, x) : 1]", (6, 7))
    ['S[(8, x) : 1]', '      ^']
    """
    start, end = span
    line_start = source.rfind("\n", 0, start) + 1
    line_end = source.find("\n", start)
    line_end = len(source) if line_end < 0 else line_end
    line_end -= source[line_start:line_end].endswith("\r")
    end = max(start + 1, min(end, line_end))
    first = line_start
    if end - line_start > _VISIBLE_COLUMNS:
        first = max(line_start, start - _VISIBLE_COLUMNS // 3)
    last = min(line_end, first + _VISIBLE_COLUMNS)
    before, under = source[first:start], source[start : min(end, last)]
    text = ("…" if first > line_start else "") + source[first:last] + ("…" if last < line_end else "")
    indent = _columns(before) + (1 if first > line_start else 0)
    return [printable(text), " " * indent + "^" * max(1, _columns(under))]


def printable(text: str) -> str:
    """Return `text` with every character that could move the cursor replaced by one that cannot."""
    return "".join(c if c.isprintable() else " " if c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in printable(text))
