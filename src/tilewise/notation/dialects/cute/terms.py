"""Types and calls of C++ and Python: a word, and what its brackets hold.

    term     =  product [ "*" ... ]                          a pointer's stars, where no factor follows
    product  =  factor { "*" factor }
    factor   =  "-" factor  |  digits  |  "(" terms ")"  |  word [ "<" terms ">" ] [ given ]
    given    =  "{" arguments "}"  |  "(" arguments ")"
    argument =  [ name "=" ] term

Namespaces, modules, `const`, `&` and casts of numbers, `(int)8`, are left out: compilers print them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilewise.core.errors import LayoutError
from tilewise.core.shapes import MAX_NESTING
from tilewise.notation.tokens import END, NAME, NUMBER, Cursor, Token
from tilewise.notation.trees import literal

_LEFT_OUT = ("const", "constexpr", "volatile", "typename", "struct", "class", "auto", "static", "&")
_SEVERAL = ("unsigned", "signed", "long", "short")
_CASTS = ("int", "unsigned int", "long", "unsigned long", "size_t")
_SUFFIXES = ("u", "l", "ul", "lu", "ll", "ull", "z", "uz")
TIMES, TUPLE = "*", "()"


@dataclass(frozen=True, slots=True)
class Term:
    """A word and its brackets, a number, a tuple, or a product."""

    name: str
    """Without namespaces; the digits of a number; TUPLE or TIMES."""
    span: tuple[int, int]
    number: int | None = None
    angle: tuple[Term, ...] | None = None
    """What stands in < >."""
    given: tuple[Term, ...] | None = None
    """What stands in ( ) or { }; the parts of a tuple, the factors of a product."""
    named: Mapping[str, Term] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[Term, ...]:
        """What is given to a call, or to the type that it calls: `Shape<_8,_4>{}` is made of two."""
        return self.given or self.angle or ()


def term(cursor: Cursor, depth: int = 1) -> Term:
    """Take a term.

    >>> from tilewise.notation.dialects.given import words
    >>> found = term(Cursor("cute::make_shape(Int<8>{}, _4{})", words))
    >>> found.name, [part.name for part in found.parts]
    ('make_shape', ['Int', '_4'])
    """
    start = cursor.next
    if depth > MAX_NESTING:
        raise cursor.error("TW005", f"brackets nested deeper than {MAX_NESTING}", start.span)
    factors = [_factor(cursor, depth)]
    while cursor.next.text == "*":
        if cursor.ahead(1).text in (">", ",", ")", "const", "*", "&") or cursor.ahead(1).kind == END:
            cursor.take()  # a pointer
            _leave_out(cursor)
        else:
            cursor.take()
            factors.append(_factor(cursor, depth))
    if len(factors) == 1:
        return factors[0]
    return Term(TIMES, cursor.since(start), given=tuple(factors))


def _leave_out(cursor: Cursor) -> None:
    while cursor.accept(*_LEFT_OUT):
        pass


def _factor(cursor: Cursor, depth: int) -> Term:
    _leave_out(cursor)
    start = cursor.next
    if cursor.accept("-"):
        if depth > MAX_NESTING:
            raise cursor.error("TW005", f"more than {MAX_NESTING} signs", start.span)
        negated = _factor(cursor, depth + 1)
        return Term(TIMES, cursor.since(start), given=(Term("-1", start.span, -1), negated))
    if start.kind == NUMBER:
        cursor.take()
        number = literal(cursor, start.text)
        if cursor.next.text.lower() in _SUFFIXES and cursor.next.start == start.end:
            cursor.take()
        return Term(start.text, start.span, number)
    if start.text == "(":
        return _tuple(cursor, depth)
    if start.kind == NAME:
        return _word(cursor, depth)
    raise cursor.error("TW004", f"expected a word or a number, found {start}")


def _tuple(cursor: Cursor, depth: int) -> Term:
    """`(8, 4)`, by Python's rules: `(8)` is 8. The cast of `(int)8` is left out."""
    opened = cursor.take()
    parts, named, comma = _listed(cursor, opened, ")", depth)
    if named:
        raise cursor.error("TW004", "a tuple has no names", cursor.since(opened))
    if len(parts) == 1 and not comma:
        is_cast = parts[0].name in _CASTS and (cursor.next.kind == NUMBER or cursor.next.text == "-")
        return _factor(cursor, depth + 1) if is_cast else parts[0]
    return Term(TUPLE, cursor.since(opened), given=parts)


def _word(cursor: Cursor, depth: int) -> Term:
    start = cursor.take()
    last, name = start, start.text
    while cursor.next.text == "::" and cursor.ahead(1).kind == NAME:
        cursor.take()
        last = cursor.take()
        name = last.text
    while last.text in _SEVERAL and cursor.next.text in (*_SEVERAL, "int", "char"):
        last = cursor.take()
        name = f"{name} {last.text}"
    name = name.rpartition(".")[2]
    angle = given = None
    named: dict[str, Term] = {}
    if opened := cursor.accept("<"):
        angle, named, _ = _listed(cursor, opened, ">", depth)
        if named:
            raise cursor.error("TW004", "a template's arguments have no names", cursor.since(opened))
    if opened := cursor.accept("(", "{"):
        given, named, _ = _listed(cursor, opened, ")" if opened.text == "(" else "}", depth)
    span = cursor.since(start)
    _leave_out(cursor)
    return Term(name, span, None, angle, given, named)


def _listed(
    cursor: Cursor, opened: Token, closing: str, depth: int
) -> tuple[tuple[Term, ...], dict[str, Term], bool]:
    """Terms with commas between them, those with names, and whether a comma is there."""
    parts: list[Term] = []
    named: dict[str, Term] = {}
    comma = False
    while not cursor.accept(closing):
        if (parts or named) and not comma:
            raise _not_closed(cursor, opened, closing)
        if cursor.next.text == ",":
            raise cursor.error("TW004", "an entry is missing before ','")
        if cursor.next.kind == NAME and cursor.ahead(1).text == "=":
            name = cursor.take()
            cursor.take()
            if name.text in named:
                raise cursor.error("TW004", f"{name} is given twice", name.span)
            named[name.text] = term(cursor, depth + 1)
        elif named:
            raise cursor.error("TW004", "those without a name come first")
        else:
            parts.append(term(cursor, depth + 1))
        comma = cursor.accept(",") is not None
    return tuple(parts), named, comma


def _not_closed(cursor: Cursor, opened: Token, closing: str) -> LayoutError:
    if cursor.next.kind == END:
        hint = f"close it with '{closing}'"
        return cursor.error("TW004", f"'{opened.text}' is never closed", opened.span, hint)
    return cursor.error("TW004", f"expected ',' or '{closing}', found {cursor.next}")
