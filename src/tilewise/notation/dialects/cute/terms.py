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

from tilewise.core.shapes import MAX_NESTING
from tilewise.notation.tokens import END, NAME, NUMBER, Cursor
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
    """The terms in < >."""
    given: tuple[Term, ...] | None = None
    """The terms in ( ) or { }; the parts of a tuple, the factors of a product."""
    named: Mapping[str, Term] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[Term, ...]:
        """The terms given to a call, or to the type that it calls: `Shape<_8,_4>{}` is made of two."""
        return self.given or self.angle or ()


def term(cursor: Cursor, depth: int = 1) -> Term:
    """Take a term.

    >>> from tilewise.notation.dialects.given import words
    >>> found = term(Cursor("cute::make_shape(Int<8>{}, _4{})", words))
    >>> found.name, [part.name for part in found.parts]
    ('make_shape', ['Int', '_4'])
    """
    start = cursor.next
    factors = [_factor(cursor, depth)]
    while cursor.accept("*"):
        if cursor.next.text in (">", ",", ")", "const", "*", "&") or cursor.next.kind == END:
            _leave_out(cursor)  # a pointer
        else:
            factors.append(_factor(cursor, depth))
    return factors[0] if len(factors) == 1 else Term(TIMES, cursor.since(start), given=tuple(factors))


def _leave_out(cursor: Cursor) -> None:
    """Take words that say nothing of a layout."""
    while cursor.accept(*_LEFT_OUT):
        pass


def _factor(cursor: Cursor, depth: int) -> Term:
    _leave_out(cursor)
    start = cursor.next
    if depth > MAX_NESTING:
        raise cursor.error("TW005", f"brackets nested deeper than {MAX_NESTING}, or as many signs")
    if cursor.accept("-"):
        minus = Term("-1", start.span, -1)
        return Term(TIMES, cursor.since(start), given=(minus, _factor(cursor, depth + 1)))
    if start.kind == NUMBER:
        number = literal(cursor, cursor.take().text)
        if cursor.next.text.lower() in _SUFFIXES and cursor.next.start == start.end:
            cursor.take()
        return Term(start.text, start.span, number)
    if start.kind == NAME:
        return _word(cursor, depth)
    if cursor.accept("("):
        return _tuple(cursor, depth)
    raise cursor.error("TW004", f"expected a word or a number, found {start}")


def _tuple(cursor: Cursor, depth: int) -> Term:
    """`(8, 4)`, by Python's rules: `(8)` is 8. The cast of `(int)8` is left out."""
    opened = cursor.behind
    parts, named = _listed(cursor, ")", depth)
    if len(parts) == 1 and not named and cursor.tokens[cursor.at - 2].text != ",":
        is_cast = parts[0].name in _CASTS and (cursor.next.kind == NUMBER or cursor.next.text == "-")
        return _factor(cursor, depth + 1) if is_cast else parts[0]
    return Term(TUPLE, cursor.since(opened), None, None, parts, named)


def _word(cursor: Cursor, depth: int) -> Term:
    """A word without its namespaces, and what its brackets hold."""
    start = last = cursor.take()
    while cursor.next.text == "::" and cursor.ahead(1).kind == NAME:
        cursor.take()
        last = cursor.take()
    name = last.text.rpartition(".")[2]
    while last.text in _SEVERAL and cursor.next.text in (*_SEVERAL, "int", "char"):
        last = cursor.take()
        name = f"{name} {last.text}"
    angle = given = None
    named: dict[str, Term] = {}
    if cursor.accept("<"):
        angle, named = _listed(cursor, ">", depth)
    if opened := cursor.accept("(", "{"):
        given, named = _listed(cursor, ")" if opened.text == "(" else "}", depth)
    span = cursor.since(start)
    _leave_out(cursor)
    return Term(name, span, None, angle, given, named)


def _listed(cursor: Cursor, closing: str, depth: int) -> tuple[tuple[Term, ...], dict[str, Term]]:
    """Terms with commas between them, and those with names, up to the bracket that closes."""
    opened, comma = cursor.behind, True
    parts: list[Term] = []
    named: dict[str, Term] = {}
    while not cursor.accept(closing):
        name = cursor.next
        if not comma or name.kind == END:
            cursor.expect(closing, opened)
        if name.kind == NAME and cursor.ahead(1).text == "=":
            cursor.take()
            cursor.take()
            if name.text in named:
                raise cursor.error("TW004", f"{name} is given twice", name.span)
            named[name.text] = term(cursor, depth + 1)
        else:
            parts.append(term(cursor, depth + 1))
        comma = cursor.accept(",") is not None
    return tuple(parts), named
