"""Facts about names: the least and the most of each, multiples, and comparisons of polynomials.

A name that is a multiple of 8 is replaced by 8 times a symbol, and one that equals a polynomial by it. So a
fact of either kind holds by itself in all that is computed. Other facts decide a comparison p >= 0 so:

    bounds    the least value of p over the bounds of its symbols, taken at their lower ends, is 0 or more
    a fact    f >= 0: p - k f >= 0 for a k >= 0 which cancels a part of p that is below 0
    quotient  0 <= q - r floor(q / r) <= r - 1, for each quotient in p
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from math import gcd, lcm
from random import Random

from tilewise.core import polynomials
from tilewise.core.errors import LayoutError
from tilewise.core.polynomials import (
    MOST_DIVIDED,
    Atom,
    Condition,
    Polynomial,
    Quantity,
    Quotient,
    Symbol,
    divided,
    given,
    is_same,
    lifted,
    named,
    replaced,
    rooted,
    spend,
    symbol,
    valued,
    without_power,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    Bounds = tuple[int, int]

LARGEST = 2**63 - 1
"""The most that a name may be, unless a fact says less."""
MOST_STEPS = 2
"""Facts that are taken together to decide one comparison, at most."""
MOST_TRIES = 24
"""Sums of facts that are tried for one comparison."""
MOST_FLOORS = 5
"""Floors that are left out of one comparison, at most."""
FAR = 2**40
"""Names that may be larger are tried from their least values on alone."""
TRIES = 400
"""Values of names that are tried for a witness."""

_numbers = count(1)


@dataclass(frozen=True)
class NameFacts:
    """All that is known of names. Facts are added by `with_fact`; `number` is another one for other facts."""

    names: tuple[str, ...] = ()
    meanings: Mapping[str, Quantity] = field(default_factory=dict)
    """{name: the number that it is now}, in symbols."""
    bounds: Mapping[Symbol, Bounds] = field(default_factory=dict)
    facts: tuple[tuple[Condition, bool], ...] = ()
    """Conditions and their truth that no symbol holds by itself."""
    path: tuple[tuple[Condition, bool], ...] = ()
    """Conditions that a case took, in names, in the order of their questions."""
    before: NameFacts | None = None
    """The facts before the first question, in a case of it."""
    number: int = field(default_factory=lambda: next(_numbers))

    # -- names -----------------------------------------------------------------------------------------

    def with_names(self, *names: str) -> NameFacts:
        """Return the facts with more names, of which each is 0 or more."""
        new = [name for name in names if name not in self.meanings]
        if not new:
            return self
        own = {name: symbol(Symbol(name)) for name in new}
        ends = {Symbol(name): (0, LARGEST) for name in new}
        return self._changed(
            names=(*self.names, *new), meanings={**self.meanings, **own}, bounds={**self.bounds, **ends}
        )

    def _changed(self, **parts: object) -> NameFacts:
        return replace(self, number=next(_numbers), **parts)  # type: ignore[arg-type]

    def bounds_of(self, own: Symbol) -> Bounds:
        return self.bounds.get(own, (0, LARGEST))

    def ends(self, name: str) -> Bounds:
        """Return numbers between which a name lies."""
        low, high = self.reach_of(self.meanings.get(name, 0))
        return 0 if low is None else low, LARGEST if high is None else high

    def reach_of(self, over: Quantity) -> tuple[int | None, int | None]:
        """Return numbers between which a number lies, by the bounds of its symbols; None without a bound."""
        low, high = self._low(over), self._low(-over)
        return low, None if high is None else -high

    def pinned(self, values: Mapping[str, int]) -> NameFacts:
        """Return the facts of one value for each name, without others."""
        return NOTHING._changed(names=self.names, meanings=dict(values))

    def apart(self, most: int) -> list[NameFacts] | None:
        """Return the facts of parts of a case, which hold all of its values; None where it has no few parts.

        Parts are the values of one name, or its rests by the divisor of a floor: at most so many.
        """
        for conditions in self._ways_apart(most):
            left = [own for own in conditions if self.decided(own) is not False]
            if len(left) != 1 or self.decided(left[0]) is None:
                parts = [self.with_fact(own, asked=True) for own in left]
                return [own for own in parts if own is not None]
        return None

    def _ways_apart(self, most: int) -> Iterator[list[Condition]]:
        """Yield lists of conditions on one symbol, of which one holds for all values: the shortest first."""
        values = {own: self._values_of(own, most) for own in self._asked}
        for own, found in sorted(values.items(), key=lambda part: (len(part[1] or ()), str(part[0]))):
            if found is not None:
                yield [Condition("==", symbol(own) - value) for value in found]
        divisors: dict[Symbol, int] = {}
        for fact, _ in self.facts:
            for atom in (*lifted(fact.over).floors, *lifted(fact.by).floors):
                if not isinstance(atom.by, int):
                    continue
                for mono, c in atom.over.terms.items():
                    for factor in mono:
                        if isinstance(factor, Symbol):
                            divisors[factor] = lcm(divisors.get(factor, 1), atom.by // gcd(c, atom.by))
        for own, by in sorted(divisors.items(), key=lambda part: (part[1], str(part[0]))):
            if 1 < by <= most:
                yield [Condition("%", symbol(own) - rest, by) for rest in range(by)]

    @property
    def _asked(self) -> list[Symbol]:
        """Return the symbols on which the conditions of the case depend."""
        asked = {own for condition, _ in self.path for own in condition.names}
        return [own for name in sorted(asked) for own in _symbols(self.meanings[name])]

    def _values_of(self, own: Symbol, most: int) -> Sequence[int] | None:
        """Return the values that a symbol may have, or None for more than so many."""
        low, high = self.bounds_of(own)
        if high - low < most:
            return range(low, high + 1)
        for fact, truth in self.facts:
            divisor, times, constant = _alone(fact.by) or (None, 0, 0)
            if not (fact.kind == "%" and truth and isinstance(fact.over, int) and divisor == own):
                continue
            end = abs(fact.over // times)  # no divisor is farther from 0
            if constant == 0 and end <= MOST_DIVIDED:
                near = range(max(low, -end), min(high, end) + 1)
                found = [value for value in near if value and fact.over % (times * value) == 0]
                if len(found) <= most:
                    return found
        return None

    # -- deciding --------------------------------------------------------------------------------------

    def decided(self, condition: Condition) -> bool | None:
        """Return the truth of a condition, or None where some admitted values say yes and others no."""
        over, by = condition.over, condition.by
        if isinstance(over, int) and isinstance(by, int):
            return condition.holds({})
        key = condition.kind, getattr(over, "key", over), getattr(by, "key", by)
        if key not in self._found:
            if condition.kind == ">=":
                self._found[key] = self._sign(over)
            elif condition.kind == "==":
                self._found[key] = self._zero(over)
            else:
                self._found[key] = self._divides(over, by)
        return self._found[key]

    def truth_of(self, condition: Condition) -> bool | None:
        """Return the truth of a condition in names, or None: also where it divides by what is 0 here."""
        if condition not in self._truths:
            try:
                self._truths[condition] = self.decided(self.in_symbols(condition))
            except ZeroDivisionError:
                self._truths[condition] = None
        return self._truths[condition]

    @cached_property
    def _truths(self) -> dict[Condition, bool | None]:
        """Return a place for the truths of conditions in names."""
        return {}

    @cached_property
    def _more(self) -> dict[tuple[Condition, bool], NameFacts | None]:
        """Return a place for the facts with one more."""
        return {}

    def with_facts(self, parts: Iterable[tuple[Condition, bool]]) -> NameFacts | None:
        """Return the facts with others, or None where they exclude one another; all are kept for later."""
        found: NameFacts | None = self
        for part in parts:
            if found is None:
                break
            if part not in found._more:
                try:
                    found._more[part] = found.with_fact(*part)
                except ZeroDivisionError:  # a condition on a quotient, where the divisor is 0
                    found._more[part] = None
            found = found._more[part]
        return found

    @cached_property
    def _found(self) -> dict[tuple[object, ...], bool | None]:
        """Return a place for conditions that were decided."""
        return {}

    def value_of(self, over: Quantity) -> int | None:
        """Return the one value that a number has by the facts, or None."""
        over = self.now(over)
        if isinstance(over, int):
            return over
        low = self._low(over)
        if low is None or abs(low) > LARGEST:
            return None
        for value in dict.fromkeys((low, low + 1, 1)):
            if self.decided(Condition("==", over - value)):
                return value
        return None

    def _sign(self, over: Quantity) -> bool | None:
        if isinstance(over, int):
            return over >= 0
        for number, truth in ((over, True), (-over - 1, False)):
            if self._reaches(0, number) or self._is_said(number):
                return truth
        if self._least(over):
            return True
        return False if self._least(-over - 1) else None

    def _zero(self, over: Quantity) -> bool | None:
        if isinstance(over, int):
            return over == 0
        shared = over.content
        if over.constant % shared:
            return False
        one = over.over_exactly(gcd(shared, over.constant))
        for fact, truth in self.facts:
            if fact.kind == "==" and _alike(fact.over, one):
                return truth
            if fact.kind == "%" and not truth and isinstance(fact.by, int):
                for apart in (fact.over - one, fact.over + one):  # at 0 the divisor would divide
                    if isinstance(apart, int) and apart % fact.by == 0:
                        return False
        if self._least(one - 1) or self._least(-one - 1):
            return False
        # >= 0 and <= 0 is 0
        return True if self._least(one) and self._least(-one) else None

    def _divides(self, over: Quantity, by: Quantity) -> bool | None:
        if isinstance(by, int):
            if by == 0:
                return False
            over, by = _divided_by_all(over, by)
            if isinstance(over, int):
                return over % by == 0
            if over.constant % gcd(by, over.content):
                return False
            for fact, truth in self.facts:
                if fact.kind == "%" and isinstance(fact.by, int) and fact.by % by == 0 and truth:
                    for sign in (1, -1):
                        rest = _rest(over + sign * fact.over, by)
                        if isinstance(rest, int):
                            return rest == 0
                if (
                    fact.kind == "%"
                    and not truth
                    and is_same(fact.by, by)
                    and _alike(_rest(fact.over, by), over)
                ):
                    return False
            return None
        if divided(over, by):
            return True
        for fact, truth in self.facts:
            if fact.kind == "%" and is_same(fact.by, by) and _alike(fact.over, over):
                return truth
        if self._least(over - 1) and self._least(by - 1 - over):
            return False
        return None

    def _is_said(self, over: Quantity) -> bool:
        """Return True if a fact says that a number is 0 or more, or that one is which is less."""
        assert isinstance(over, Polynomial)
        content = over.content
        for fact, truth in self.facts:
            if fact.kind == ">=" and truth and isinstance(fact.over, Polynomial):
                apart = over - fact.over * (content // fact.over.content)
                if isinstance(apart, int) and apart >= 0:
                    return True
        return False

    def _least(self, over: Quantity) -> bool:
        """Return True if a number is shown to be 0 or more."""
        waiting = [(self._from_bounds(own), 0) for own in self._without_floors(over)]
        for own, steps in waiting:  # which grows, the nearest first
            spend()
            low = self._low_from_bounds(own)
            if low is not None and low >= 0:
                return True
            if steps == MOST_STEPS or isinstance(own, int):
                continue
            for fact in map(self._from_bounds, self._usable(own)):
                for factor in _factors(own, fact):
                    least = self._low_from_bounds(factor)
                    if len(waiting) < MOST_TRIES and least is not None and least >= 0:
                        waiting.append((own - fact * factor, steps + 1))
        return False

    def _without_floors(self, over: Quantity) -> Iterator[Quantity]:
        """Yield a number, and others that are no more than a positive multiple of it, each with a floor less.

        q floor(p / q) is p at most, and p - q + 1 at least.
        """
        for _ in range(MOST_FLOORS):
            yield over
            for atom in lifted(over).floors:
                fewer = self._without_floor(lifted(over), atom)
                if fewer is not None:
                    over = fewer
                    break
            else:
                return

    def _without_floor(self, over: Polynomial, atom: Quotient) -> Quantity | None:
        """Return a number that is no more than a positive multiple of another, of which it lacks a floor."""
        if not self._reaches(1, atom.by):
            return None
        total: Quantity = 0
        for mono, c in over.terms.items():
            others = [*mono]
            if atom not in others:
                total = total + Polynomial({mono: c}) * atom.by if mono else total + c * atom.by
                continue
            others.remove(atom)
            times: Quantity = c
            for own in others:
                one = Polynomial({(own,): 1})
                if own == atom or not self._reaches(0, one):
                    return None
                times = times * one
            total = total + times * (atom.over - (atom.by - 1 if c > 0 else 0))
        return total

    def _low(self, over: Quantity) -> int | None:
        """Return a number that all values of a polynomial reach, over the bounds of its symbols."""
        return self._low_from_bounds(self._from_bounds(over))

    def _from_bounds(self, over: Quantity) -> Quantity:
        """Return a number whose symbols count from their least values, so that none is below 0.

        Those inside of quotients stay: a quotient is one thing here.
        """
        if isinstance(over, int):
            return over
        moved: Quantity = 0
        for mono, c in over.terms.items():
            part: Quantity = c
            for atom in mono:
                one = Polynomial({(atom,): 1})
                part = part * (one + self.bounds_of(atom)[0] if isinstance(atom, Symbol) else one)
            moved = moved + part
        return moved

    def _low_from_bounds(self, over: Quantity) -> int | None:
        """Return a number that all values reach, of a number whose symbols count from their bounds."""
        if isinstance(over, int):
            return over
        spend()
        total = 0
        for mono, c in over.terms.items():
            end = 1
            for atom in mono:
                low, high = self._ends(atom)
                if low is None or (len(mono) > 1 and low < 0) or (c < 0 and high is None):
                    return None
                end *= low if c > 0 else high  # type: ignore[operator]  # one that is None has returned
            total += c * end
        return total

    def _ends(self, atom: Atom) -> tuple[int | None, int | None]:
        """Return numbers between which a symbol lies, from its bound, or a quotient; None if not known."""
        if isinstance(atom, Symbol):
            low, high = self.bounds_of(atom)
            return 0, high - low
        least, most = self._low(atom.over), self._low(-atom.over)
        most = None if most is None else -most
        if isinstance(atom.by, int):
            return None if least is None else least // atom.by, None if most is None else most // atom.by
        if not self._reaches(1, atom.by):
            return None, None
        # a divisor of 1 or more brings it nearer to 0, or to -1
        return None if least is None else min(least, 0), None if most is None else max(most, -1)

    def _reaches(self, least: int, value: Quantity) -> bool:
        """Return True for a number that is no less by the bounds of its symbols."""
        low = self._low(value)
        return low is not None and low >= least

    def _usable(self, over: Polynomial) -> Iterator[Quantity]:
        """Yield polynomials that are 0 or more, for a comparison: known facts, and those of quotients."""
        for fact, truth in self.facts:
            if fact.kind == ">=" and truth:
                yield fact.over
            elif fact.kind == "==" and truth:
                yield fact.over
                yield -fact.over
        for atom in over.atoms:
            if isinstance(atom, Quotient) and self._reaches(1, atom.by):
                rest = atom.over - atom.by * Polynomial({(atom,): 1})
                if isinstance(rest, Polynomial):
                    yield rest
                    yield atom.by - 1 - rest
        for own in over.symbols:
            _, high = self.bounds_of(own)
            if high < FAR:
                yield high - symbol(own)

    # -- adding ----------------------------------------------------------------------------------------

    def with_fact(self, condition: Condition, truth: bool = True, *, asked: bool = False) -> NameFacts | None:
        """Return the facts with one more, or None where it contradicts them."""
        condition = self.in_symbols(condition)
        decided = self.decided(condition)
        if decided is not None and decided is not truth:
            return None
        path = (*self.path, (in_names(condition), truth)) if asked and decided is None else self.path
        before = self if path == self.path else self._changed(path=path, before=self.anew)
        if decided is not None:
            return before
        if condition.kind == ">=":
            over = _shortest(condition.over if truth else -condition.over - 1, rounded=True)
            is_more = any(fact.kind == "==" and not so and _alike(fact.over, over) for fact, so in self.facts)
            return before._at_least(over - is_more)
        if condition.kind == "==":
            over = _shortest(condition.over)
            return before._equal(over) if truth else before._unequal(over)
        if not truth and isinstance(condition.by, int):
            over, by = _divided_by_all(condition.over, condition.by)
            if by == 2:  # an odd number
                return before._multiple(Condition("%", over - 1, 2))
            condition = Condition("%", over, by)
        return before._multiple(condition) if truth else before._kept(condition, False)

    @property
    def anew(self) -> NameFacts:
        """Return the facts before any question: those with which the names were made or said."""
        return self if self.before is None else self.before

    def in_symbols(self, condition: Condition) -> Condition:
        """Return a condition in the symbols that stand for names now."""
        if not any(own.over is None for own in (*_symbols(condition.over), *_symbols(condition.by))):
            return condition
        return Condition(condition.kind, self.now(condition.over), self.now(condition.by))

    def now(self, value: Quantity) -> Quantity:
        """Return a number in the symbols that stand for names now."""
        with given(self):
            return replaced(value, lambda own: self.meanings.get(own.name) if own.over is None else None)

    def _at_least(self, over: Quantity) -> NameFacts | None:
        assert isinstance(over, Polynomial)
        alone = _alone(over)
        if alone is None:
            return self._bounded(over)
        own, times, constant = alone
        low, high = self.bounds_of(own)
        if times > 0:
            low = max(low, -(constant // times))  # times x + constant >= 0
        else:
            high = min(high, constant // -times)
        if low > high:
            return None
        return self._settled(replace_bounds(self, own, (low, high)))

    def _bounded(self, over: Polynomial) -> NameFacts | None:
        """Return the facts with a comparison of several symbols, and the bounds that follow for each."""
        changed = self._kept(Condition(">=", over), True)
        parts = [mono for mono in over.terms if mono]
        if len(parts) == 1 and over.constant < 0 < over.terms[parts[0]]:  # a product of 1 or more
            for own in over.symbols:
                low, high = changed.bounds_of(own)
                changed = replace_bounds(changed, own, (1, high)) if low == 0 and own in parts[0] else changed
        for mono, c in over.terms.items():
            if len(mono) != 1 or abs(c) != 1 or not isinstance(mono[0], Symbol):
                continue
            rest = over - c * symbol(mono[0])
            if not isinstance(rest, Polynomial) or mono[0] in rest.symbols:
                continue
            end, (low, high) = self._low(-rest), changed.bounds_of(mono[0])
            ends = (low, high) if end is None else (max(low, end), high) if c > 0 else (low, min(high, -end))
            if ends[0] > ends[1]:
                return None
            changed = replace_bounds(changed, mono[0], ends) if ends != (low, high) else changed
        return changed._narrowed(over)

    def _narrowed(self, *numbers: Polynomial) -> NameFacts | None:
        """Return the facts with narrower bounds of symbols, by numbers that are 0 or more."""
        changed = self
        for over in numbers:
            *_, plain = self._without_floors(-over)
            if isinstance(plain, int) or plain.floors:
                continue
            for own in plain.symbols:
                reached = [changed._end(-plain, own, *changed.bounds_of(own), at) for at in (False, True)]
                if reached[0] is None or reached[1] is None:
                    return None
                changed = replace_bounds(changed, own, (reached[0], reached[1]))
        return (
            self._settled(changed) if any(low == high for low, high in changed.bounds.values()) else changed
        )

    def _end(self, over: Polynomial, own: Symbol, low: int, high: int, at_most: bool) -> int | None:
        """Return the least value of a symbol, or the most, where a number may be 0 or more; None: nowhere.

        It halves the range, and leaves out a half over whose bounds all values are below 0.
        """
        if self._most_within(over, own, low, high) < 0:
            return None
        while low < high:
            middle = (low + high) // 2
            halves = [(low, middle), (middle + 1, high)]
            first, other = reversed(halves) if at_most else halves
            low, high = first if self._most_within(over, own, *first) >= 0 else other
        return low

    def _most_within(self, over: Polynomial, own: Symbol, low: int, high: int) -> int:
        """Return a number that no value exceeds, over bounds of symbols, and narrower ones of one of them."""
        total = 0
        for mono, c in over.terms.items():
            least = most = c
            for atom in mono:
                ends = (low, high) if atom == own else self.bounds_of(atom)  # type: ignore[arg-type]
                products = [one * end for one in (least, most) for end in ends]
                least, most = min(products), max(products)
            total += most
        return total

    def _equal(self, over: Quantity) -> NameFacts | None:
        assert isinstance(over, Polynomial)
        alone = _alone(over)
        if alone is not None:
            own, times, constant = alone
            if constant % times:
                return None
            return self._with_meaning(own, -constant // times)
        for mono, c in sorted(over.terms.items(), key=lambda part: str(part[0])):
            if len(mono) == 1 and abs(c) == 1 and isinstance(mono[0], Symbol):
                own = mono[0]
                rest = over - c * symbol(own)
                if isinstance(rest, Polynomial) and own not in rest.symbols:
                    return self._with_meaning(own, -c * rest)
        shared = [own for own in over.symbols if all(own in mono for mono in over.terms if mono)]
        divisors = [abs(over.constant) - symbol(own) for own in shared if over.constant]
        return self._kept(Condition("==", over), True)._narrowed(over, -over, *divisors)

    def _unequal(self, over: Quantity) -> NameFacts | None:
        assert isinstance(over, Polynomial)
        alone = _alone(over)
        if alone is not None:
            own, times, constant = alone
            low, high = self.bounds_of(own)
            if constant % times == 0 and -constant // times in (low, high):
                ends = (low + 1, high) if -constant // times == low else (low, high - 1)
                return None if ends[0] > ends[1] else self._settled(replace_bounds(self, own, ends))
        for apart in (over, -over):  # neither 0 nor below is above
            if self._least(apart):
                return self._at_least(apart - 1)
        return self._kept(Condition("==", over), False)

    def _multiple(self, condition: Condition) -> NameFacts | None:
        over, by = condition.over, condition.by
        if isinstance(by, int):
            over, by = _divided_by_all(over, by)
            alone = _alone(over)
            if alone is not None:
                own, times, constant = alone
                shared = gcd(times, by)
                if constant % shared:
                    return None
                unit = by // shared
                rest = -constant // shared * pow(times // shared, -1, unit) % unit
                low, high = self.bounds_of(own)
                part = _part(own, unit, rest)
                first, last = -(-(low - rest) // unit), (high - rest) // unit
                if first >= last:
                    return self._with_meaning(own, unit * first + rest) if first == last else None
                changed = replace_bounds(self, part, (first, last))
                return changed._with_meaning(own, unit * symbol(part) + rest, checked=True)
        elif (whole := _itself(over)) is not None and whole not in by.symbols:
            part, (low, high) = _quotient_of(whole, by), self.bounds_of(whole)
            ends = (min(low, 0), max(high, -1))
            if not self._reaches(1, by):  # a divisor below 0 turns the sign
                ends = (-max(abs(low), abs(high)), max(abs(low), abs(high)))
            changed = replace_bounds(self, part, ends)
            return changed._with_meaning(whole, by * symbol(part))
        return self._kept(Condition("%", over, by), True)

    def _kept(self, condition: Condition, truth: bool) -> NameFacts:
        return self._changed(facts=(*self.facts, (condition, truth)))

    def _with_meaning(self, own: Symbol, value: Quantity, checked: bool = False) -> NameFacts | None:
        """Return the facts with a symbol replaced; its bounds become facts about the value."""

        def meaning(other: Symbol) -> Quantity | None:
            return value if other == own else None

        try:
            with given(self):
                meanings = {name: replaced(number, meaning) for name, number in self.meanings.items()}
                facts = [
                    (Condition(fact.kind, replaced(fact.over, meaning), replaced(fact.by, meaning)), truth)
                    for fact, truth in self.facts
                ]
        except ZeroDivisionError:
            return None  # no fact has a quotient by what may be 0
        low, high = self.bounds_of(own)
        bounds = {other: ends for other, ends in self.bounds.items() if other != own}
        made: NameFacts | None = self._changed(meanings=meanings, bounds=bounds, facts=())
        if not checked:
            facts += [(Condition(">=", value - low), True)]
            facts += [(Condition(">=", high - value), True)] if high < LARGEST else []
        return made and made._with_all(facts)

    def _with_all(self, facts: Iterable[tuple[Condition, bool]]) -> NameFacts | None:
        """Return the facts with more, in symbols of now; one of them may replace a symbol of the others."""
        made: NameFacts | None = self
        for fact, truth in facts:
            if made is None:
                return None
            made = made.with_fact(fact if made.meanings is self.meanings else in_names(fact), truth)
        return made

    def _settled(self, changed: NameFacts) -> NameFacts | None:
        """Return changed facts without those that bounds now decide, or None for a contradiction."""
        low_is_high = [own for own, (low, high) in changed.bounds.items() if low == high]
        if low_is_high:
            own = low_is_high[0]
            return changed._with_meaning(own, changed.bounds[own][0], checked=True)
        return changed._changed(facts=())._with_all(changed.facts)

    @property
    def said(self) -> list[tuple[Condition, bool]]:
        """Return all facts in names, each with its truth; that a name is 0 or more goes without saying."""
        found = []
        for name, value in self.meanings.items():
            for own in sorted(_symbols(value), key=str):
                if own.over is not None and own.by > 1:
                    found.append((in_names(Condition("%", own.over, own.by)), True))
            over, by = rooted(value)
            if not is_same(over, named(name) * by):
                found.append((Condition("==", named(name) * by - over), True))
        for own, (low, high) in self.bounds.items():
            if low > 0 or (low < 0 and own.over is None):
                found.append((in_names(Condition(">=", symbol(own) - low)), True))
            if high < LARGEST // own.by:
                found.append((in_names(Condition(">=", high - symbol(own))), True))
        found += [(in_names(fact), truth) for fact, truth in self.facts]
        return list(dict.fromkeys(found))

    def spelled(self, names: Iterable[str]) -> list[str]:
        """Return the facts about some names alone as texts, after the names without any.

        Facts about quotients by names are left out: no text of theirs is read.
        """
        wanted = {*names}
        said = [(_as_rest(fact), truth) for fact, truth in self.said if fact.names <= wanted]
        said = [(fact, truth) for fact, truth in said if not _divides_by_names(fact)]
        alone = wanted.difference(*(fact.names for fact, _ in said))
        return [*sorted(alone), *(fact.text(truth) for fact, truth in said)]

    # -- witnesses -------------------------------------------------------------------------------------

    @cached_property
    def witness(self) -> dict[str, int] | None:
        """Return values of the names for which all facts hold, small ones, or None where none was found."""
        return next(self.values(1), None)

    def values(self, number: int, seed: int = 0) -> Iterator[dict[str, int]]:
        """Yield values of the names for which all facts hold, at most so many."""
        rng = Random(seed)
        symbols = sorted({own for value in self.meanings.values() for own in _symbols(value)}, key=str)
        found = 0
        for turn in range(TRIES * number):
            reach = 2 + turn // 8
            drawn: dict[str, int] = {}
            for own in symbols:
                low, high = self.bounds_of(own)
                far = rng.choice([reach, reach * reach, 64 * reach])
                step = rng.choice([rng.randint(0, reach), 8 * rng.randint(0, reach), rng.randint(0, far)])
                at = high - step if high < FAR and rng.random() < 0.15 else low + step
                if found and drawn and rng.random() < 0.3:  # names that others nearly are, or divide
                    other, times = rng.choice([*drawn.values()]), rng.choice([1, 1, 2, 3, 4, 8, 16, 64])
                    at = rng.choice([times * other, other // times]) + rng.choice([0, 0, 0, 1, -1, step])
                drawn[own.name] = max(low, min(high, at))
            if self._repaired(drawn):
                yield {name: valued(_plain(value), drawn) for name, value in self.meanings.items()}
                found += 1
                if found == number:
                    return

    def _repaired(self, drawn: dict[str, int]) -> bool:
        """Return True if all facts hold for values of symbols, some of which are raised where that helps."""
        for fact, truth in self.facts:
            own = Condition(fact.kind, _plain(fact.over), _plain(fact.by))
            if own.holds(drawn) is truth or not isinstance(own.over, Polynomial):
                continue
            alone = [mono for mono, c in own.over.terms.items() if c == 1 and len(mono) == 1]
            raised = [mono[0] for mono in alone if isinstance(mono[0], Symbol)]
            if fact.kind != ">=" or not raised:
                return False
            drawn[raised[0].key] -= valued(own.over, drawn)
        return all(
            Condition(fact.kind, _plain(fact.over), _plain(fact.by)).holds(drawn) is truth
            for fact, truth in self.facts
        ) and all(
            low <= drawn[own.key] <= high for own, (low, high) in self.bounds.items() if own.key in drawn
        )


NOTHING = NameFacts()
"""Nothing is known: each name is 0 or more."""


def known_of(values: Iterable[Quantity], known: NameFacts = NOTHING) -> NameFacts:
    """Return the facts with which the names in some values were made, beside those known.

    refused  TW007 for a name that was made in two ways, or that has no value
    """
    made: dict[str, Symbol] = {}
    for value in values:
        for own in sorted(_symbols(rooted(value)[0]), key=str):
            first = made.setdefault(own.name, own)
            if (first.ends, first.unit) != (own.ends, own.unit):
                raise LayoutError("TW007", f"the name {own} was made in two ways", hint="make it once")
    new = {own: own.ends for name, own in made.items() if name not in known.meanings}
    known = known.with_names(*made)
    known = known._changed(bounds={**known.bounds, **new}) if new else known
    for own in made.values():
        if own.unit > 1:
            known = with_all(known, Condition("%", named(own.name), own.unit))
    return known


polynomials.facts_of = known_of


def name(text: str, *, multiple: int = 1, least: int = 0, most: int = LARGEST) -> Polynomial:
    """Return a number that is not known yet, by its name: whole, from `least` to `most`.

    Layouts take it as an extent, a stride or an offset. Questions answer for all its values.

    >>> from tilewise import S
    >>> m = name("M", multiple=64, least=64)
    >>> print(S[(m, 64) : (64, 1)])
    S[(M, 64) : (64, 1)]
    >>> m % 8, m > 0
    (0, True)
    """
    if not isinstance(text, str) or not text.isidentifier():
        hint = "letters, digits and _, not starting with a digit"
        raise LayoutError("TW007", f"{text!r} cannot name a number", hint=hint)
    if multiple < 1 or least > most:
        hint = "such as name('M', multiple=64, least=64, most=65536)"
        raise LayoutError("TW007", f"no number is a multiple of {multiple} from {least} to {most}", hint=hint)
    return symbol(Symbol(text, ends=(least, most), unit=multiple))


def with_all(known: NameFacts, condition: Condition) -> NameFacts:
    """Return the facts with one more; refuse one that contradicts them."""
    found = known.with_fact(condition)
    if found is None:
        raise LayoutError("TW007", f"no value fits {condition} beside the other facts", hint="leave it out")
    return found


def replace_bounds(known: NameFacts, own: Symbol, ends: Bounds) -> NameFacts:
    return known._changed(bounds={**known.bounds, own: ends})


def _as_rest(condition: Condition) -> Condition:
    """Return M % N == 0 for M == floordiv(M, N)*N, and any other condition as it is."""
    for atom in lifted(condition.over).floors if condition.kind == "==" else ():
        rest = atom.over - atom.by * Polynomial({(atom,): 1})
        if is_same(condition.over, rest) or is_same(condition.over, -rest):
            return Condition("%", atom.over, atom.by)
    return condition


def _divides_by_names(condition: Condition) -> bool:
    atoms = (*lifted(condition.over).atoms, *lifted(condition.by).atoms)
    return any(isinstance(atom, Quotient) and not isinstance(atom.by, int) for atom in atoms)


def in_names(condition: Condition) -> Condition:
    """Return a condition of names alone."""
    over, below = rooted(condition.over)
    by, under = rooted(condition.by)
    if condition.kind != "%":
        return Condition(condition.kind, over)
    return Condition("%", over * under, by * below)


def _part(own: Symbol, unit: int, rest: int) -> Symbol:
    """Return the symbol for (own - rest) / unit."""
    over, by = rooted(symbol(own))
    over = over - rest * by
    return Symbol(f"({over}) / {by * unit}", over, by * unit)  # type: ignore[arg-type]


def _itself(over: Quantity) -> Symbol | None:
    """Return the symbol that a number is, or None."""
    alone = _alone(over)
    return alone[0] if alone is not None and alone[1:] == (1, 0) else None


def _quotient_of(own: Symbol, by: Polynomial) -> Symbol:
    """Return the symbol for own / by, which leaves no rest."""
    over, below = rooted(symbol(own))
    under, above = rooted(by)
    quotient = Quotient(_product(over, above), _product(under, below))
    return Symbol(f"({quotient.over}) / ({quotient.by})", Polynomial({(quotient,): 1}))


def _product(value: Quantity, times: int) -> Polynomial:
    found = value * times
    assert isinstance(found, Polynomial)
    return found


def _plain(value: Quantity) -> Quantity:
    """Return a number whose symbols stand for themselves, to draw them one by one."""
    return replaced(value, lambda own: symbol(Symbol(own.name)))


def _symbols(value: Quantity) -> Iterable[Symbol]:
    return value.symbols if isinstance(value, Polynomial) else ()


def _alone(over: Quantity) -> tuple[Symbol, int, int] | None:
    """Return (x, a, b) for a x + b, or None."""
    if isinstance(over, int):
        return None
    moving = [(mono, c) for mono, c in over.terms.items() if mono]
    if len(moving) != 1 or len(moving[0][0]) != 1 or not isinstance(moving[0][0][0], Symbol):
        return None
    return moving[0][0][0], moving[0][1], over.constant


def _rest(over: Quantity, by: int) -> Quantity:
    """Return a number with each coefficient as its rest: the same rest of a division by `by`."""
    if isinstance(over, int):
        return over % by
    return sum(
        (Polynomial({mono: c % by}) if mono else c % by for mono, c in over.terms.items() if c % by), 0
    )


def _divided_by_all(over: Quantity, by: int) -> tuple[Quantity, int]:
    """Return the shortest numbers of which the second divides the first where it does so in these."""
    over = _rest(over, by)
    if isinstance(over, int):
        return over, by
    shared = gcd(over.content, over.constant, by)
    return without_power(over.over_exactly(shared), by // shared)


def _shortest(over: Quantity, rounded: bool = False) -> Quantity:
    """Return a number over what divides all its parts; `rounded` down, over what divides parts with names."""
    assert isinstance(over, Polynomial)
    shared = over.content if rounded else gcd(over.content, over.constant)
    return over.over_exactly(shared)


def _alike(one: Quantity, other: Quantity) -> bool:
    return is_same(one, other) or is_same(one, -other)


def _factors(over: Polynomial, fact: Quantity) -> Iterator[Quantity]:
    """Yield factors by which a fact cancels a part of a polynomial, of the same sign."""
    if isinstance(fact, int):
        return
    for mono, c in over.terms.items():
        for part, d in fact.terms.items():
            if c // d < 1 or c % d or not mono:
                continue
            left = list(mono)
            for atom in part:
                if atom not in left:
                    break
                left.remove(atom)
            else:
                yield Polynomial({tuple(left): c // d}) if left else c // d
