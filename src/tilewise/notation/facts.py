"""Facts about names in text: `M % 64 == 0, lda >= N, N <= 4096`.

facts    =  fact { ("," | "and") fact }
fact     =  number sign number { sign number }  |  name
sign     =  "<" | "<=" | ">" | ">=" | "==" | "!="
number   =  a sum of products, as in an extent, and `a % b`

Facts of others are read too: `mod(b, 8) == 0` of JAX, `Eq(Mod(s0, 8), 0)` of torch, and the arguments of a
kernel of Triton, `%M: i32 {tt.divisibility = 16 : i32}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from tilewise.core.errors import LayoutError, printable
from tilewise.core.known import NOTHING, NameFacts
from tilewise.core.polynomials import (
    Condition,
    LeftOpen,
    Stuck,
    facts_now,
    is_named,
    named,
    truth_of,
)
from tilewise.notation.tokens import END, NAME, NUMBER, Span, Token
from tilewise.notation.trees import Names, NumberCursor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.polynomials import Quantity

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>0[xX][0-9a-fA-F]+|\d+)|(?P<name>[^\W\d]\w*)|[<>=!]=|//|[-+*%(),<>]"
)


class _AnyName(dict[str, int]):
    """Names that all have a value: themselves."""

    def __contains__(self, name: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, name: str) -> int:
        return named(name)  # type: ignore[return-value]  # computed with as an integer


def read_facts(text: str, known: NameFacts = NOTHING) -> NameFacts:
    """Return what is known of names after the facts that a text spells.

    >>> known = read_facts("M % 64 == 0, M >= 64, lda >= N")
    >>> known.names
    ('M', 'lda', 'N')
    """
    reader = _Reader(text, _AnyName())
    while True:
        comparisons, names = reader.fact()
        known = known.with_names(*names)
        for condition, truth, span in comparisons:
            known = reader.with_fact(known, condition, truth, span)
        if not reader.goes_on():
            return known


def open_facts(where: Iterable[str], let: Mapping[str, int]) -> list[str]:
    """Return the texts whose facts the values of names leave open: numbers, or names that a question knows.

    refused  TW007 a fact that the values contradict

    >>> open_facts(["M % 64 == 0", "lda", "lda >= M"], let={"M": 128})
    ['lda', 'lda >= M']
    """
    found = []
    for text in where:
        truths = _truths(text, let)
        if False in truths:
            hint = "leave out the values, or the facts, that contradict it"
            raise LayoutError("TW007", f"it says {text}, and this is never so here", hint=hint)
        if None in truths:
            found.append(text)
    return found


def _truths(text: str, let: Mapping[str, int]) -> list[bool | None]:
    """Return the truth of each fact of a text for values of its names, None for an open one."""
    if not {*_Reader(text, let).words} <= let.keys():
        return [None]
    here = facts_now(())
    try:
        found = [(here.truth_of(fact), wanted) for fact, wanted in _comparisons(text, let)]
    except (LeftOpen, Stuck):  # a quotient by a name that may be 0
        return [None]
    return [None if truth is None else truth is wanted for truth, wanted in found]


def is_so(text: str, let: Mapping[str, int]) -> bool:
    """Return the truth of alternatives for values of their names; a question for all values takes cases.

    refused  TW007 a name without a value

    >>> is_so("M >= 2 and M <= 4 or M % 8 == 0", {"M": 16}), is_so("M == 4", {"M": 16})
    (True, False)
    """
    return any(
        all(truth_of(fact.kind, fact.over, fact.by) is truth for fact, truth in _comparisons(one, let))
        for one in text.split(" or ")
    )


def _comparisons(text: str, let: Mapping[str, int]) -> Iterator[tuple[Condition, bool]]:
    """Yield the facts of a text for values of its names, each with its truth."""
    reader = _Reader(text, let)
    while True:
        for condition, truth, _ in reader.fact()[0]:
            yield condition, truth
        if not reader.goes_on():
            return


_ARGUMENT = re.compile(r"%(\w+)\s*:\s*i(32|64)\b\s*(\{[^{}]*\})?")
_SIGNS = {"Eq": "==", "Ne": "!=", "Ge": ">=", "Le": "<=", "Gt": ">", "Lt": "<"}


def _of_triton(text: str) -> str:
    """Return a text with the facts of a kernel's integer arguments in their place; of a whole kernel, these.

    >>> _of_triton("tt.func @k(%x: !tt.ptr<f32>, %M: i32 {tt.divisibility = 16 : i32}, %n: i64)")
    'M % 16 == 0, M <= 2147483647, n'
    >>> _of_triton("%M: i64 {tt.divisibility = 4 : i32}, M >= 8")
    'M % 4 == 0, M >= 8'
    """

    def facts(found: re.Match[str]) -> str:
        name, bits, attributes = found[1], found[2], found[3] or ""
        divisor = re.search(r"tt\.divisibility\s*=\s*(\d+)", attributes)
        said = [f"{name} % {divisor[1]} == 0"] if divisor else []
        said += [f"{name} <= {2**31 - 1}"] if bits == "32" else [] if divisor else [name]
        return ", ".join(said)

    if "func" in text:
        return ", ".join(facts(found) for found in _ARGUMENT.finditer(text)) or text
    return _ARGUMENT.sub(facts, text)


def _of_calls(text: str) -> str:
    """Return facts in the notation: comparisons that are calls, and rests that stand on one side alone.

    >>> _of_calls("mod(b, 8) == 0, Eq(Mod(s0, 8), 0), Ge(s1, 2)")
    '(b) % (8) == 0, (s0) % (8) == 0, s1 >= 2'
    """
    inner = r"(?:[^(),]|\([^()]*\))+"
    text = re.sub(
        rf"\b(Eq|Ne|Ge|Le|Gt|Lt)\(({inner}),\s*({inner})\)",
        lambda found: f"{found[2]} {_SIGNS[found[1]]} {found[3]}",
        text,
    )
    alone = r"(^|,|\band\b)\s*[mM]od\(([^(),]+),\s*([^(),]+)\)\s*(?===|!=)"
    return re.sub(alone, lambda found: f"{found[1]}{' ' * bool(found[1])}({found[2]}) % ({found[3]}) ", text)


def _scan(source: str) -> Iterator[Token]:
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            hint = "facts are sums of products and comparisons: < <= > >= == !=, and M % 64 == 0"
            if source[at] == "=":
                hint = "write >= for 'at least'" if source[at + 1 : at + 2] == ">" else "write == for 'is'"
            span = (at, at + 1)
            raise LayoutError(
                "TW002", f"'{printable(source[at])}' is no part of a fact", span=span, hint=hint
            )
        kind = {"number": NUMBER, "name": NAME}.get(match.lastgroup or "", "sign")
        if match.lastgroup != "space":
            yield Token(kind, match.group(), at, match.end())
        at = match.end()


class _Reader(NumberCursor):
    """One text of facts."""

    def __init__(self, text: str, values: Mapping[str, int]) -> None:
        super().__init__(_of_calls(_of_triton(text)), Names(values, frozenset()), _scan)
        self.has_values = not isinstance(values, _AnyName)

    def fact(self) -> tuple[list[tuple[Condition, bool, Span]], list[str]]:
        """Take a fact: its comparisons, each with its truth and its place, and its names."""
        start = self.next
        sides, signs = [self.side()], []
        while sign := self.sign():
            signs.append(sign)
            sides.append(self.side())
        if not signs and not (start.kind == NAME and self.behind is start):
            hint = "such as 'M % 64 == 0', 'lda >= N', or a name alone"
            raise self.error("TW004", "a fact compares two numbers", self.since(start), hint)
        span = self.since(start)
        pairs = zip(sides, signs, sides[1:], strict=False)
        return [(*self._compared(*pair, span), span) for pair in pairs], self._names(start)

    def divides(self, by: int) -> bool:
        """Return True for a name as well: that it is no 0 may be another fact."""
        return is_named(by) or by > 0

    def goes_on(self) -> bool:
        """Take the comma behind a fact; return False at the end."""
        if self.next.kind == END:
            return False
        if not (self.accept(",") or self.accept("and")):
            hint = "facts have commas between them: 'M % 64 == 0, lda >= N'"
            raise self.error("TW004", f"expected a comparison, found {self.next}", hint=hint)
        return True

    def side(self) -> tuple[Quantity, Quantity | None]:
        """Take a number, or `a % b` as both: a product, and what divides it."""
        start, at = self.next, self.at
        value, by = self.product(), None
        if self.accept("%"):
            by = self.factor()
        else:
            self.at = at
            value = self.number()
        if self.next.text == "%" or (by is not None and self.next.text in ("*", "//", "+", "-")):
            hint = "put the sum or the product in parentheses: (M + 1) % 8 == 0"
            raise self.error("TW004", "a rest of what?", self.since(start), hint)
        return value, by

    def sign(self) -> str:
        """Take a sign of comparison, or nothing."""
        found = self.accept(*_COMPARISONS)
        return found.text if found else ""

    def _compared(
        self,
        one: tuple[Quantity, Quantity | None],
        sign: str,
        other: tuple[Quantity, Quantity | None],
        span: Span,
    ) -> tuple[Condition, bool]:
        """Return the condition of two sides, and its truth."""
        (left, by), (right, under) = one, other
        if under is not None or (by is not None and (sign not in ("==", "!=") or not isinstance(right, int))):
            raise self.error(
                "TW004", "a rest stands on the left, beside a number", span, "such as M % 64 == 0"
            )
        if isinstance(by, int) and (by < 1 or not 0 <= right < by) and not self.has_values:
            reason = (
                f"a rest of a division by {by} is never {right}" if by > 0 else f"{by} divides nothing here"
            )
            raise self.error("TW007", reason, span, "rests go from 0 to the divisor - 1")
        if by is not None:
            return Condition("%", left - right, by), sign == "=="
        if sign in ("==", "!="):
            return Condition("==", left - right), sign == "=="
        apart = left - right if sign in (">", ">=") else right - left
        return Condition(">=", apart - (sign in ("<", ">"))), True

    def with_fact(self, known: NameFacts, condition: Condition, truth: bool, span: Span) -> NameFacts:
        """Return what is known with one more fact."""
        if not (is_named(condition.over) or is_named(condition.by)):
            if condition.holds({}) is truth:
                return known
            raise self.error("TW007", "this is never so", span)
        found = known.with_fact(condition, truth)
        if found is None:
            raise self.error("TW007", "no values fit this fact beside those before it", span)
        return found

    @property
    def words(self) -> list[str]:
        """Return the names in the text."""
        return self._names(self.tokens[0], len(self.tokens))

    def _names(self, start: Token, end: int = 0) -> list[str]:
        """Return the names in the tokens from a first one to the next, or to an end."""
        first = self.tokens.index(start)
        words = [token.text for token in self.tokens[first : end or self.at] if token.kind == NAME]
        return [word for word in dict.fromkeys(words) if word not in ("ceildiv", "floordiv", "and")]
