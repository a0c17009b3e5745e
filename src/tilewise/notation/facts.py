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
from tilewise.core.polynomials import Condition, facts_now, is_named, named, outside, replaced, truth_of
from tilewise.notation.tokens import END, NAME, NUMBER, Token
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
    reader = _Reader(_of_calls(_of_triton(text)))
    while True:
        known = reader.fact(known)
        if reader.next.kind == END:
            return known
        if not (reader.accept(",") or reader.accept("and")):
            hint = "facts have commas between them: 'M % 64 == 0, lda >= N'"
            raise reader.error("TW004", f"expected a comparison, found {reader.next}", hint=hint)


def open_facts(where: Iterable[str], let: Mapping[str, int]) -> list[str]:
    """Return the texts whose facts the values of names leave open: numbers, or names that a question knows.

    refused  TW007 a fact that the values contradict

    >>> open_facts(["M % 64 == 0", "lda", "lda >= M"], let={"M": 128})
    ['lda', 'lda >= M']
    """
    found = []
    for text in where:
        known = _alone(text)
        is_known = {*known.names} <= let.keys()
        for fact, truth in known.said if is_known else ():
            now = facts_now(()).truth_of(_with_values(fact, let))
            if now is (not truth):
                hint = "leave out the values, or the facts, that contradict it"
                raise LayoutError(
                    "TW007", f"it says {fact.text(truth)}, and this is never so here", hint=hint
                )
            is_known = is_known and now is truth
        if not is_known:
            found.append(text)
    return found


def is_so(text: str, let: Mapping[str, int]) -> bool:
    """Return the truth of alternatives for values of their names; a question for all values takes cases.

    refused  TW007 a name without a value

    >>> is_so("M >= 2 and M <= 4 or M % 8 == 0", {"M": 16}), is_so("M == 4", {"M": 16})
    (True, False)
    """
    return any(
        all(
            truth_of(now.kind, now.over, now.by) is truth
            for fact, truth in _alone(one).said
            for now in [_with_values(fact, let)]
        )
        for one in text.split(" or ")
    )


def _alone(text: str) -> NameFacts:
    """Return the facts of a text, which is about no case at hand."""
    with outside():
        return read_facts(text)


def _with_values(fact: Condition, let: Mapping[str, int]) -> Condition:
    for name in fact.names - let.keys():
        hint = f"give it one, --let {name}=64, or name it: --where {name}"
        raise LayoutError("TW007", f"'{name}' has no value", hint=hint)
    over, by = (replaced(part, lambda own: let[own.name]) for part in (fact.over, fact.by))
    return Condition(fact.kind, over, by)


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

    def __init__(self, text: str) -> None:
        super().__init__(text, Names(_AnyName(), frozenset()), _scan)

    def fact(self, known: NameFacts) -> NameFacts:
        """Take a fact, and return what is known with it."""
        start = self.next
        sides, signs = [self.side()], []
        while sign := self.sign():
            signs.append(sign)
            sides.append(self.side())
        known = known.with_names(*self._names(start))
        for one, sign, other in zip(sides, signs, sides[1:], strict=False):
            known = self._with(known, one, sign, other, start)
        if not signs and not (start.kind == NAME and self.behind is start):
            hint = "such as 'M % 64 == 0', 'lda >= N', or a name alone"
            raise self.error("TW004", "a fact compares two numbers", self.since(start), hint)
        return known

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

    def _with(
        self,
        known: NameFacts,
        one: tuple[Quantity, Quantity | None],
        sign: str,
        other: tuple[Quantity, Quantity | None],
        start: Token,
    ) -> NameFacts:
        (left, by), (right, under) = one, other
        span = self.since(start)
        if under is not None or (by is not None and (sign not in ("==", "!=") or not isinstance(right, int))):
            raise self.error(
                "TW004", "a rest stands on the left, beside a number", span, "such as M % 64 == 0"
            )
        if isinstance(by, int) and (by < 1 or not 0 <= right < by):
            reason = (
                f"a rest of a division by {by} is never {right}" if by > 0 else f"{by} divides nothing here"
            )
            raise self.error("TW007", reason, span, "rests go from 0 to the divisor - 1")
        if by is not None:
            condition, truth = Condition("%", left - right, by), sign == "=="
        elif sign in ("==", "!="):
            condition, truth = Condition("==", left - right), sign == "=="
        else:
            apart = left - right if sign in (">", ">=") else right - left
            condition, truth = Condition(">=", apart - (sign in ("<", ">"))), True
        if not (is_named(condition.over) or is_named(condition.by)):
            if condition.holds({}) is truth:
                return known
            raise self.error("TW007", "this is never so", span)
        found = known.with_fact(condition, truth)
        if found is None:
            raise self.error("TW007", "no values fit this fact beside those before it", span)
        return found

    def _names(self, start: Token) -> list[str]:
        """Return the names in the tokens of the fact taken last."""
        first = self.tokens.index(start)
        words = [token.text for token in self.tokens[first : self.at] if token.kind == NAME]
        return [word for word in dict.fromkeys(words) if word not in ("ceildiv", "floordiv", "and")]
