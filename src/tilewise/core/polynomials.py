"""Polynomials over names: numbers that are not known yet.

    p = sum of c_i x_i1 x_i2 ...    c_i integers, x_ij names or quotients floor(q / r) of polynomials

A polynomial adds, multiplies and divides as the integer that it will be. Known facts decide a comparison, for
all values that they admit (`known`). Where they admit both answers, it raises `LeftOpen` under a caller that
looks at each case (`cases`), and `NotDecided` elsewhere. A polynomial without names is an `int`: so all that
is computed with numbers stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from math import gcd, lcm

from tilewise.core.errors import LayoutError, NotDecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Protocol, TypeAlias

    class Facts(Protocol):
        """All that decides a comparison: `known.NameFacts` in the cases of a question."""

        @property
        def number(self) -> int: ...

        @property
        def meanings(self) -> Mapping[str, Quantity]: ...

        @property
        def said(self) -> Iterable[tuple[Condition, bool]]: ...

        def spelled(self, names: Iterable[str]) -> list[str]: ...

        def value_of(self, over: Quantity) -> int | None: ...

        def reach_of(self, over: Quantity) -> tuple[int | None, int | None]: ...

        def bounds_of(self, own: Symbol) -> tuple[int, int]: ...

        def now(self, value: Quantity) -> Quantity: ...

        def in_symbols(self, condition: Condition) -> Condition: ...

        def decided(self, condition: Condition) -> bool | None: ...

        def truth_of(self, condition: Condition) -> bool | None: ...


facts_of: Callable[[Iterable[Quantity]], Facts] | None = None
"""From numbers to the facts with which their names were made: `known` puts the function here."""


class Symbol:
    """A name, or a part of one: where 8 divides M, it is M / 8. Two of one name are one symbol."""

    __slots__ = ("by", "ends", "key", "over", "unit")

    def __init__(
        self,
        name: str,
        over: Polynomial | None = None,
        by: int = 1,
        *,
        ends: tuple[int, int] = (0, 2**63 - 1),
        unit: int = 1,
    ) -> None:
        self.key = name
        self.over, self.by = over, by
        """The meaning of a part in names, as (over) / (by); a name stands for itself."""
        self.ends, self.unit = ends, unit
        """The least and the most of a name, and a number of which it is a multiple, as it was made."""

    @property
    def name(self) -> str:
        """Return the name."""
        return self.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symbol) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.key

    __repr__ = __str__


class Quotient:
    """The floor of a quotient that is no polynomial. Two are one where they are written alike."""

    __slots__ = ("by", "key", "over")

    def __init__(self, over: Polynomial, by: int | Polynomial) -> None:
        self.over, self.by = over, by
        self.key = f"{over.key} // {by.key if isinstance(by, Polynomial) else by}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quotient) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        rounded = self.over - self.by + 1
        if _size(rounded) < _size(self.over):
            return f"ceildiv({rounded}, {self.by})"
        return f"floordiv({self.over}, {self.by})"


Atom: TypeAlias = "Symbol | Quotient"
Monomial: TypeAlias = "tuple[Atom, ...]"
Quantity: TypeAlias = "int | Polynomial"


class Condition:
    """A comparison that facts decide or leave open: of a polynomial with 0, or the rest of its division.

    `kind` is >= or ==, of `over` with 0, or % where `by` divides it.
    """

    __slots__ = ("_key", "by", "kind", "over")

    def __init__(self, kind: str, over: Quantity, by: Quantity = 1) -> None:
        self.kind, self.over, self.by = kind, over, by
        self._key: tuple[str, str, str] | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Return the condition as it is written, by which two differ."""
        if self._key is None:
            self._key = self.kind, str(self.over), str(self.by)
        return self._key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def names(self) -> set[str]:
        """Return the names in it."""
        parts = (rooted(self.over)[0], rooted(self.by)[0])
        return {own.name for part in parts if isinstance(part, Polynomial) for own in part.symbols}

    def holds(self, values: Mapping[str, int]) -> bool:
        """Return the truth for values of all names."""
        try:
            over, by = valued(self.over, values), valued(self.by, values)
        except ZeroDivisionError:
            return False
        if self.kind == ">=":
            return over >= 0
        return over == 0 if self.kind == "==" else by != 0 and over % by == 0

    def text(self, truth: bool = True) -> str:
        """Return the condition in words of the notation, or its opposite.

        >>> Condition(">=", named("lda") - named("N")).text(), Condition("%", named("M"), 8).text(False)
        ('lda >= N', 'M % 8 != 0')
        """
        over, by = rooted(self.over)
        if self.kind == "%":
            by, rest = self.by * by, 0
            if isinstance(by, int) and isinstance(over, Polynomial):
                shared = gcd(over.content, over.constant, by)
                over, by = over.over_exactly(shared), by // shared
                rest = -over.constant % by
                over = over - over.constant
            return f"{_grouped(over)} % {_grouped(by)} {'==' if truth else '!='} {rest}"
        if isinstance(over, int):
            return str(self.holds({}) is truth)
        if self.kind == "==":
            over = over.over_exactly(gcd(over.content, over.constant))
        if self.kind == ">=" and not truth:
            over = -over - by  # not p >= 0: -p >= 1, where p counts in steps of 1 / by
        left = {mono: c for mono, c in over.terms.items() if c > 0 and mono}
        right = {mono: -c for mono, c in over.terms.items() if c < 0 and mono}
        constant = over.terms.get((), 0)
        sign = ">=" if self.kind == ">=" else "==" if truth else "!="
        if not left:
            left, right, constant = right, left, -constant
            sign = {">=": "<="}.get(sign, sign)
        right = right | ({(): -constant} if constant else {})
        one, other = _made(left), _made(right)
        if sign in ("==", "!=") and not _is_name(one) and _is_name(other):
            one, other = other, one
        if isinstance(other, int) and isinstance(one, Polynomial):
            shared = one.content
            if sign == ">=":
                one, other = one.over_exactly(shared), -(-other // shared)
            elif sign == "<=" or other % shared == 0:
                one, other = one.over_exactly(shared), other // shared
        return f"{one} {sign} {other}"

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__


class LeftOpen(BaseException):
    """A comparison that known facts leave open, under a caller that looks at each case."""

    def __init__(self, condition: Condition, required: bool = False) -> None:
        super().__init__(condition)
        self.condition = condition
        self.required = required
        """True where only one truth makes sense, as of an extent that it is positive."""


class Stuck(BaseException):
    """A step that needs the value of a name, such as one that lists all elements."""


def no_value(message: str, hint: str = "give its names values: --let M=64") -> NoReturn:
    """Refuse a step that needs the value of a name; under a caller that looks at each case, the case ends."""
    _, effort = _facts.get()
    if effort is not None:
        raise Stuck(message)
    raise NotDecided(message, hint=hint)


MOST_VALUES = 16
"""Floors that a quotient may have, each of them a case, at most."""

MOST_DIVIDED = 1 << 12
"""The largest number whose floors are listed."""

MOST_DIVISOR = 1 << 16
"""The largest number whose divisors are tried one by one."""


class Effort:
    """The bounds of polynomials that one case of a question may take, and has taken."""

    def __init__(self, most: int) -> None:
        self.most, self.taken = most, 0
        self.hashed: list[tuple[Polynomial, int]] = []
        """Polynomials of this case that stand in sets, with their hashes."""

    def spend(self) -> None:
        """Count a bound."""
        self.taken += 1
        if self.taken > self.most:
            no_value(f"not decided within {self.most} bounds of names")


_facts: ContextVar[tuple[Facts | None, Effort | None]] = ContextVar("facts", default=(None, None))


@contextmanager
def given(facts: Facts, effort: Effort | None = None) -> Iterator[None]:
    """Decide comparisons by some facts; with an effort, those that they leave open raise `LeftOpen`."""
    before = _facts.set((facts, effort))
    try:
        yield
    finally:
        _facts.reset(before)


def effort_now() -> Effort | None:
    """Return the effort of the case at hand, or None outside of one."""
    return _facts.get()[1]


@contextmanager
def outside() -> Iterator[None]:
    """Leave the case at hand: no facts decide, and names have no values."""
    before = _facts.set((None, None))
    try:
        yield
    finally:
        _facts.reset(before)


def spend() -> None:
    """Count a bound that a question takes."""
    _, effort = _facts.get()
    if effort is not None:
        effort.spend()


class Polynomial:
    """A number with names in it. Use it like an integer.

    >>> M, N = named("M"), named("N")
    >>> (M + 2) * (N - 1), (M * 64) // 8, M - M
    (M*N - M + 2*N - 2, 8*M, 0)
    """

    __slots__ = ("_key", "terms")
    terms: dict[Monomial, int]
    __array_ufunc__ = None

    def __init__(self, terms: dict[Monomial, int]) -> None:
        self.terms = terms
        self._key: tuple[Any, ...] | None = None

    # -- parts -----------------------------------------------------------------------------------------

    @property
    def key(self) -> tuple[Any, ...]:
        """Return the parts in one order, by which polynomials differ as they are written."""
        if self._key is None:
            self._key = tuple(
                sorted((tuple([atom.key for atom in mono]), c) for mono, c in self.terms.items())
            )
        return self._key

    @property
    def atoms(self) -> list[Atom]:
        """Return the names and quotients in it, also those inside of quotients, each once."""
        found: dict[Atom, None] = {}
        for mono in self.terms:
            for atom in mono:
                found[atom] = None
                if isinstance(atom, Quotient):
                    inside = (atom.over, atom.by) if isinstance(atom.by, Polynomial) else (atom.over,)
                    found |= dict.fromkeys(inner for part in inside for inner in part.atoms)
        return [*found]

    @property
    def floors(self) -> list[Quotient]:
        """Return the quotients in it that are inside of no other, in one order."""
        found = {atom for mono in self.terms for atom in mono if isinstance(atom, Quotient)}
        return sorted(found, key=_key_of)

    @property
    def symbols(self) -> list[Symbol]:
        """Return the symbols in it."""
        return [atom for atom in self.atoms if isinstance(atom, Symbol)]

    @property
    def parts(self) -> list[tuple[Quantity, int]]:
        """Return the products of names, each with its coefficient; 1 stands for no name."""
        return [(Polynomial({mono: 1}) if mono else 1, c) for mono, c in self.terms.items()]

    @property
    def constant(self) -> int:
        """Return the part without names."""
        return self.terms.get((), 0)

    @property
    def content(self) -> int:
        """Return the largest number that divides all parts with names."""
        return gcd(*(c for mono, c in self.terms.items() if mono))

    def over_exactly(self, number: int) -> Polynomial:
        """Return the polynomial with each coefficient divided by a number that divides them."""
        return Polynomial({mono: c // number for mono, c in self.terms.items() if c // number})

    # -- arithmetic ------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        if type(other) is int:
            return _made({**self.terms, (): self.constant + other})
        if not isinstance(other, Polynomial):
            return self._with(other, lambda number: self + number)
        terms = dict(self.terms)
        for mono, c in other.terms.items():
            terms[mono] = terms.get(mono, 0) + c
        return _made(terms)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return Polynomial({mono: -c for mono, c in self.terms.items()})

    def __pos__(self) -> Polynomial:
        return self

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if type(other) is int:
            return _made({mono: c * other for mono, c in self.terms.items()})
        if not isinstance(other, Polynomial):
            return self._with(other, lambda number: self * number)
        terms: dict[Monomial, int] = {}
        for one, c in self.terms.items():
            for two, d in other.terms.items():
                mono = tuple(sorted((*one, *two), key=_key_of)) if one and two else one or two
                terms[mono] = terms.get(mono, 0) + c * d
        return _made(terms)

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Any:
        result: Any = 1
        for _ in range(power):
            result = result * self
        return result

    def __floordiv__(self, other: Any) -> Any:
        if not isinstance(other, int | Polynomial):
            return self._with(other, lambda number: self // number)
        return floor_of(self, other)

    def __rfloordiv__(self, other: int) -> Any:
        return floor_of(other, self)

    def __mod__(self, other: Any) -> Any:
        if isinstance(other, int | Polynomial) and _decided(Condition("%", self, other)):
            return 0
        return self - self // other * other

    def __rmod__(self, other: int) -> Any:
        return other - other // self * self

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        quotient = self // other
        return quotient, self - quotient * other

    def __rdivmod__(self, other: int) -> tuple[Any, Any]:
        quotient = other // self
        return quotient, other - quotient * self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def _with(self, other: Any, run: Callable[[int], Any]) -> Any:
        """Return an operation with another kind of integer, such as NumPy's."""
        if hasattr(other, "__index__") and not isinstance(other, bool):
            return run(other.__index__())
        return NotImplemented

    # -- comparisons -----------------------------------------------------------------------------------

    def __ge__(self, other: Any) -> Any:
        return _compared(self, other, lambda apart: truth_of(">=", apart))

    def __gt__(self, other: Any) -> Any:
        return _compared(self, other, lambda apart: truth_of(">=", apart - 1))

    def __le__(self, other: Any) -> Any:
        return _compared(self, other, lambda apart: truth_of(">=", -apart))

    def __lt__(self, other: Any) -> Any:
        return _compared(self, other, lambda apart: truth_of(">=", -apart - 1))

    def __eq__(self, other: object) -> Any:
        return _compared(self, other, lambda apart: truth_of("==", apart))

    def __ne__(self, other: object) -> Any:
        return _compared(self, other, lambda apart: not truth_of("==", apart))

    def __bool__(self) -> bool:
        return not truth_of("==", self)

    def __hash__(self) -> int:
        """Return one hash for all that is equal by known facts; raise `LeftOpen` where that is open."""
        facts, effort = _facts.get()
        if facts is None:
            return hash(self.key)
        value = facts.value_of(self)
        if value is not None:
            return hash(value)
        for one, number in effort.hashed if effort else ():
            if one.key == self.key or self == one:
                return number
        # what other facts have decided is not found again
        number = hash((self.key, facts.number))
        if effort is not None:
            effort.hashed.append((self, number))
        return number

    def __index__(self) -> NoReturn:
        over, by = rooted(self)
        text = f"{over} // {by}" if by > 1 else str(over)
        no_value(f"this takes a number, and {text} has no value")

    __int__ = __index__

    # -- bits, of which only the low ones may be known ---------------------------------------------------

    def __lshift__(self, bits: int) -> Any:
        return self * (1 << bits)

    def __rshift__(self, bits: int) -> Any:
        return floor_of(self, 1 << bits)

    def __and__(self, mask: int) -> Any:
        return self._low_bits(mask) & mask

    __rand__ = __and__

    def __xor__(self, mask: int) -> Any:
        low = self._low_bits(mask)
        return self - low + (low ^ mask)

    __rxor__ = __xor__

    def bit_length(self) -> NoReturn:
        no_value(f"this takes the bits of a number, and {self} has no value")

    bit_count = bit_length

    def _low_bits(self, mask: Any) -> int:
        """Return the bits that a mask reaches; refuse a number that does not settle them."""
        if isinstance(mask, int) and mask >= 0:
            _, rest = _parted(self, 1 << mask.bit_length())
            if isinstance(rest, int):
                return rest
            no_value(f"this takes the low {mask.bit_length()} bits of a number, and {self} has no value")
        no_value(f"this takes the bits of a number, and {self} has no value")

    # -- text ------------------------------------------------------------------------------------------

    @property
    def addends(self) -> list[str]:
        """Return the addends in words, a sign before those that are taken away."""
        over, by = rooted(self)
        if by > 1:
            return [f"floordiv({over}, {by})" if _size(over) > 1 else f"{over}//{by}"]
        found = []
        parts = [(tuple(map(str, mono)), c) for mono, c in lifted(over).terms.items()]
        for names, c in sorted(parts, key=_shown_first):
            times = [] if names and abs(c) == 1 else [str(abs(c))]
            found.append(("-" if c < 0 else "") + "*".join([*times, *names]))
        return found or ["0"]

    def __str__(self) -> str:
        first, *rest = self.addends
        return first + "".join(f" - {own[1:]}" if own[0] == "-" else f" + {own}" for own in rest)

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), "" if spec[-1:] in ("x", "d", ",") else spec)

    def __reduce__(self) -> tuple[Any, ...]:
        return Polynomial, (self.terms,)


def _decided(condition: Condition) -> bool | None:
    """Return the truth of a condition, or None where known facts leave it open."""
    facts, _ = _facts.get()
    if facts is None:
        if facts_of is None:
            return None
        facts = facts_of([condition.over, condition.by])
    return facts.decided(facts.in_symbols(condition))


def facts_now(numbers: Iterable[Quantity]) -> Facts:
    """Return the facts of the case at hand; outside of one, those with which names were made."""
    facts, _ = _facts.get()
    if facts is None:
        assert facts_of is not None, "a name is made by `known`"
        return facts_of(numbers)
    return facts


def is_same(one: Quantity, other: Quantity) -> bool:
    """Return True if two numbers are alike as they are written; this asks for no case."""
    apart = one - other
    return isinstance(apart, int) and apart == 0


def names_now() -> Mapping[str, Quantity]:
    """Return the numbers that names stand for in the case at hand."""
    facts, effort = _facts.get()
    return facts.meanings if facts is not None and effort is not None else {}


def signed(value: Any) -> list[tuple[bool, int | str]]:
    """Return the addends of a number, each as its sign and its size: those of names one by one, in words.

    >>> signed(-3), signed(named("M") - 8)
    ([(True, 3)], [(False, 'M'), (True, '8')])
    """
    if not is_named(value):
        return [(value < 0, abs(value))]
    return [(own.startswith("-"), own.removeprefix("-")) for own in value.addends]


def is_named(value: Any) -> bool:
    """Return True for a number with names in it."""
    return type(value) is Polynomial


def named(name: str) -> Polynomial:
    """Return a name as a number, 0 or more.

    >>> named("M") * 64
    64*M
    """
    return symbol(Symbol(name))


def symbol(own: Symbol) -> Polynomial:
    """Return a symbol as a polynomial."""
    return Polynomial({(own,): 1})


def truth_of(kind: str, over: Quantity, by: Quantity = 1) -> bool:
    """Return the truth of a condition; raise `LeftOpen`, or `NotDecided`, where known facts leave it open."""
    if isinstance(over, int) and isinstance(by, int):
        return Condition(kind, over, by).holds({})
    if isinstance(by, Polynomial) and is_positive(by):
        over, by = reduced(over, by)
    asked = _plainly(Condition(kind, over, by))
    if isinstance(asked, bool):
        return asked
    condition, truth = asked
    if condition.kind == "==" and _has_floor(condition):
        between = [_plainly(Condition(">=", own)) for own in (condition.over, -condition.over)]
        if all(isinstance(own, bool) or not _has_floor(own[0]) for own in between):
            return all(truth_of(">=", own) for own in (condition.over, -condition.over)) is truth
    _, effort = _facts.get()
    decided = _decided(condition)
    if decided is not None:
        return decided is truth
    if effort is not None:
        raise LeftOpen(condition)
    raise NotDecided(f"this depends on {condition}", hint=f"say which: where='{condition}'")


def _has_floor(condition: Condition) -> bool:
    return any(isinstance(atom, Quotient) for atom in lifted(condition.over).atoms)


def _is_name(value: Quantity) -> bool:
    return isinstance(value, Polynomial) and [*value.terms.values()] == [1] and len(value.addends) == 1


def _plainly(condition: Condition) -> tuple[Condition, bool] | bool:
    """Return a condition without a floor, with its truth, or what it always is; any other one as it is.

    floor(p / q) >= k  is  p >= k q, and so is == where q divides p
    the rest r = p - q floor(p / q) goes from 0 to q - 1: t r + c == 0 says that q divides p + c / t,
    and r <= 0 that it divides p
    """
    kind, value = condition.kind, condition.over
    if isinstance(value, int):
        return condition, True
    if kind == "%":
        by = condition.by
        return (Condition("%", *without_power(value, by)) if isinstance(by, int) else condition), True
    value = _without_factors(value)
    if isinstance(value, int):
        return Condition(kind, value).holds({})
    for atom in value.floors:
        over, by = atom.over, atom.by
        times, others = _split(value, atom)
        if not is_positive(by) or atom in lifted(times).atoms:
            continue
        if is_whole(over, by):
            return _plainly(Condition(kind, times * over + others * by))
        rests, beyond = _parted_by(-times, by)
        left = others - rests * over
        is_rest = all(isinstance(own, int) for own in (beyond, left, rests)) and beyond == 0
        if is_rest and (isinstance(by, int) or left == 0):
            return _of_rest(kind, over, by, rests, left)  # type: ignore[arg-type]
        if kind == ">=" and isinstance(times, int) and (isinstance(others, int) or abs(times) == 1):
            apart = over + others // times * by if times > 0 else (others // -times + 1) * by - 1 - over
            return _plainly(Condition(">=", apart))
    return Condition(kind, value), True


def without_power(over: Polynomial, by: int) -> tuple[Polynomial, int]:
    """Return (x, d) for a power of x of which a number is a divisor where d divides x; else both as they are.

    >>> [without_power(named("M") ** power * 3, by) for power, by in ((2, 8), (2, 12), (3, 2))]
    [(M, 4), (M, 2), (M, 2)]
    """
    (factors, c), *others = over.terms.items()
    if others or len({*factors}) > 1 or len(factors) < 2 or not by:
        return over, by
    found, left, prime = 1, by // gcd(c, by), 2
    while left > 1 and prime < MOST_DIVIDED:
        prime = left if prime * prime > left else prime
        times = 0
        while left % prime == 0:
            left, times = left // prime, times + 1
        found *= prime ** -(-times // len(factors))
        prime += 1
    return (over, by) if left > 1 else (Polynomial({factors[:1]: 1}), found)


def _without_factors(value: Polynomial) -> Quantity:
    """Return a number without the factors that are known to be 1 or more: its sign is the same."""
    common: Quantity = 1
    for atom in _common(value):
        one = Polynomial({(atom,): 1})
        common = common * one if is_positive(one) else common
    return value if isinstance(common, int) else _led(value, common)[0]


def is_positive(value: Quantity) -> bool:
    """Return True for a number that is known to be 1 or more; this asks for no case."""
    if isinstance(value, int):
        return value >= 1
    plain = _plainly(Condition(">=", value - 1))
    if isinstance(plain, bool):
        return plain
    condition, truth = plain
    return _decided(condition) is truth


def _split(value: Polynomial, atom: Atom) -> tuple[Quantity, Quantity]:
    """Return (times, others) with value = times atom + others."""
    times = {_without(mono, (atom,)) or (): c for mono, c in value.terms.items() if atom in mono}
    return _made(times), _made({mono: c for mono, c in value.terms.items() if atom not in mono})


def _parted_by(over: Quantity, by: Quantity) -> tuple[Quantity, Quantity]:
    """Return (whole, rest) with over = whole by + rest, part by part."""
    return _parted(over, by) if isinstance(by, int) else _led(over, by)


def _of_rest(
    kind: str, over: Polynomial, by: Quantity, times: int, left: int
) -> tuple[Condition, bool] | bool:
    """Return times r + left >= 0, or == 0, for the rest r of over by `by`, without r."""
    if not isinstance(by, int):  # then nothing is left
        return (kind == ">=" and times > 0) or (Condition("%", over, by), True)
    if kind == "==":
        value, beyond = divmod(-left, times)
        may_be = not beyond and 0 <= value < by
        return (Condition("%", over - value, by), True) if may_be else False
    low, high = sorted((left, left + times * (by - 1)))
    if low >= 0 or high < 0:
        return low >= 0
    if times < 0 and left + times < 0:  # r <= 0
        return Condition("%", over, by), True
    if times > 0 and left < 0 <= left + times:  # r >= 1
        return Condition("%", over, by), False
    return Condition(kind, times * (over - by * Polynomial({(Quotient(over, by),): 1})) + left), True


def _unless_known(kind: str, over: Quantity, by: Quantity = 1) -> bool:
    """Return the truth of a condition; where facts leave it open, only yes makes sense."""
    try:
        return truth_of(kind, over, by)
    except LeftOpen as open_:
        raise LeftOpen(open_.condition, required=True) from None


def positive(value: Quantity) -> bool:
    """Return False for a number that is known to be below 1; that others are not is taken for granted.

    It is for extents: without it there is no question.
    """
    if isinstance(value, int):
        return value >= 1
    try:
        return _unless_known(">=", value - 1)
    except NotDecided:
        return True


def whole(over: Quantity, by: Quantity) -> bool:
    """Return False for a quotient that is known to leave a rest; others are taken to leave none."""
    return _unless_known("%", over, by)


def larger(one: Quantity, other: Quantity) -> Quantity:
    """Return the larger of two numbers; it asks for a case only where facts leave it open."""
    for most, least in ((one, other), (other, one)):
        if is_positive(most - least + 1):
            return most
    return one if truth_of(">=", one - other) else other


def smaller(one: Quantity, other: Quantity) -> Quantity:
    """Return the smaller of two numbers, as `larger` does."""
    return -larger(-one, -other)


def if_settled(make: Callable[[], Any]) -> Any:
    """Return the result of a step, or None where it is refused or not decided.

    An open bound of one name is raised, and makes a case.
    """
    try:
        return make()
    except LeftOpen as open_:
        asked = open_.condition
        if asked.kind == ">=" and len(asked.names) == 1 and not _has_floor(asked):
            raise
        return None
    except (Stuck, LayoutError):
        return None


def only(first: Quantity, last: Quantity) -> Quantity:
    """Return the one number from `first` to `last`; a step that tries several takes numbers alone."""
    if first is not last and not _decided(Condition("==", first - last)):
        no_value(f"all numbers from {first} to {last} are tried here")
    return first


def is_whole(over: Quantity, by: Quantity) -> bool:
    """Return True for a quotient that is known to leave no rest; this asks for no case."""
    if isinstance(over, int) and isinstance(by, int):
        return over % by == 0
    return bool(_decided(Condition("%", over, by)))


def common_divisor(one: Quantity, other: Quantity) -> int:
    """Return the greatest common divisor of two numbers, of which one has no name, a case for each power."""
    if is_named(other):
        one, other = other, one
    if not is_named(one):
        return gcd(one, other)
    found, left, prime = 1, abs(other), 2
    if left > MOST_DIVISOR:
        no_value(f"this takes the divisors of a number, and {one} has no value")
    while left > 1:
        if left % prime:
            prime += 1
        elif truth_of("%", one, found * prime):
            found, left = found * prime, left // prime
        else:
            while left % prime == 0:
                left //= prime
    return found


def reduced(over: Quantity, by: Quantity) -> tuple[Quantity, Quantity]:
    """Return two numbers without the names and the number that divide all parts of both.

    >>> reduced(named("M") * named("N") * 4, named("N") * 6)
    (2*M, 3)
    """
    over, by = without_common(over, by)
    parts = [c for own in (over, by) for c in lifted(own).terms.values()]
    shared = gcd(*parts)
    return _made({mono: c // shared for mono, c in lifted(over).terms.items()}), _made(
        {mono: c // shared for mono, c in lifted(by).terms.items()}
    )


def _common(*values: Quantity) -> Monomial:
    """Return the names and floors that are factors of all parts of some numbers."""
    first, *others = (Counter(mono) for own in values for mono in lifted(own).terms)
    for parts in others:
        first &= parts
    return tuple(sorted(first.elements(), key=_key_of))


def without_common(one: Quantity, other: Quantity) -> tuple[Quantity, Quantity]:
    """Return two numbers without the names that are factors of all parts of both.

    >>> without_common(named("M") * named("N") * 4, named("N") * 6)
    (4*M, 6)
    """
    common = _common(one, other)
    parts = [
        {_without(mono, common) or (): c for mono, c in lifted(own).terms.items()} for own in (one, other)
    ]
    return _made(parts[0]), _made(parts[1])


def rest_of(over: Quantity, by: int) -> int:
    """Return the rest of a division by a power of two; facts, or the case at hand, settle it bit by bit."""
    _, over = _parted(over, by)
    if isinstance(over, int):
        return over % by
    rest, unit = 0, 1
    while unit < by:
        rest += 0 if truth_of("%", over - rest, 2 * unit) else unit
        unit *= 2
    return rest


def is_equal(one: Quantity, other: Quantity) -> bool:
    """Return False for two numbers that are known to differ; others are taken to be equal."""
    return _unless_known("==", one - other)


def floor_of(over: Quantity, by: Quantity) -> Quantity:
    """Return the floor of a quotient: a polynomial where the division leaves no rest, or a known one."""
    if isinstance(over, int) and isinstance(by, int):
        return over // by
    over = _without_whole(over)
    if isinstance(by, int):
        if by == 0:
            raise ZeroDivisionError("division by 0")
        if by < 0:
            return floor_of(-over, -by)
        whole, rest = _parted(over, by)
        if isinstance(rest, int):
            return whole + rest // by
        shared = gcd(rest.content, by)
        rest, by = rest.over_exactly(shared), by // shared
        first = max((mono for mono in rest.terms if mono), key=lambda mono: [atom.key for atom in mono])
        is_below = isinstance(whole, Polynomial) and whole.terms.get(first, 0) < 0
        if 2 * rest.terms[first] > by - is_below:  # the floor of -M / 8 is -ceildiv(M, 8)
            more = Polynomial({mono: 1 for mono in rest.terms if mono})
            found: Quantity = whole + more - _floor_of_rest(more * by - rest + by - 1, by)
            return found
        return whole + _floor_of_rest(rest, by)
    if not truth_of(">=", by - 1):
        if truth_of("==", by):
            raise ZeroDivisionError("division by 0")
        return floor_of(-over, -by)
    (alone, times), *others = by.terms.items()
    if not others and len(alone) == 1 and isinstance(alone[0], Quotient):
        inner = alone[0]
        if is_whole(inner.over, inner.by):  # over / (p / q) is over q / p
            return floor_of(over * inner.by, times * inner.over)
    fewer, lower = reduced(over, by)
    if isinstance(lower, int) or lower.key != by.key:
        return floor_of(fewer, lower)
    lead, rest = _led(over, by)
    if isinstance(rest, int) and rest == 0:
        return lead
    if not truth_of(">=", rest):
        return lead - 1 - floor_of(-rest - 1, by)
    if not truth_of(">=", rest - by):
        return lead
    if isinstance(rest, int) and rest <= MOST_DIVIDED:
        known_one: Quantity = lead + _floor_of_few(rest, by)
        return known_one
    if isinstance(rest, Polynomial):
        parted = _without_constant(rest, by)
        if parted is not None:
            return lead + parted
        quotient: Quantity = lead + Polynomial({(Quotient(rest, by),): 1})
        return quotient
    no_value(f"this divides {rest} by {by}, and the names have no values")


def _without_whole(value: Quantity) -> Quantity:
    """Return a number in which q floor(p / q) is p, where facts tell that q divides p."""
    for atom in lifted(value).floors:
        if isinstance(atom.by, int) and is_whole(atom.over, atom.by):
            times, others = _split(lifted(value), atom)
            whole, rest = _parted(times, atom.by)
            value = whole * atom.over + rest * Polynomial({(atom,): 1}) + others
    return value


def _without_constant(over: Quantity, by: Quantity) -> Quantity | None:
    """Return the floor of (x + c) / q, where facts tell if q divides x, and that tells it; else None.

    It is x / q + floor(c / q) where q divides x. Elsewhere it is floor(x / q) for a c of -1, and one more for
    a c of q - 1.
    """
    if isinstance(over, int) or not over.constant:
        return None
    x, c = over - over.constant, over.constant
    divides = _decided(Condition("%", x, by))
    floor: Quantity = Polynomial({(Quotient(lifted(x), by),): 1})
    if divides:
        return floor + floor_of(c, by)
    if divides is False and c == -1:
        return floor
    return floor + 1 if divides is False and isinstance(by, int) and c == by - 1 else None


def _floor_of_few(over: int, by: Polynomial) -> int:
    """Return the floor of a quotient of two positive numbers, a case for each that the facts admit.

    It goes down with the divisor: it is q or more where over >= q by.
    """
    floors = sorted({over // value for value in range(1, over + 1)} | {0})
    open_ = [own for own in floors[1:] if _decided(Condition(">=", over - own * by)) is None]
    if len(open_) > MOST_VALUES:
        no_value(f"this divides {over} by {by}, and the names have no values")
    least = max(own for own in floors if own not in open_ and truth_of(">=", over - own * by))
    for own in open_:
        if not truth_of(">=", over - own * by):
            break
        least = own
    return least


def _floor_of_rest(over: Quantity, by: int) -> Quantity:
    """Return the floor of a quotient none of whose parts divide: a known number, or an atom."""
    alone = [*over.terms.items()] if isinstance(over, Polynomial) else []
    if len(alone) == 1 and alone[0][1] == 1 and len(alone[0][0]) == 1:
        inner = alone[0][0][0]
        if isinstance(inner, Quotient) and isinstance(inner.by, int):  # floor(floor(x / a) / b)
            return floor_of(inner.over, inner.by * by)
    facts, _ = _facts.get()
    if facts is not None:
        least, most = facts.reach_of(over)
        if least is not None and most is not None and least // by == most // by:
            return least // by
        parted = _without_constant(over, by)
        if parted is not None:
            return parted
        low = facts.decided(Condition(">=", lifted(over), 1))
        if low and facts.decided(Condition(">=", lifted(by - 1 - over), 1)):
            return 0
    return Polynomial({(Quotient(lifted(over), by),): 1})


def _parted(over: Quantity, by: int) -> tuple[Quantity, Quantity]:
    """Return (whole, rest) with over = whole by + rest, each coefficient of the rest below by."""
    terms = lifted(over).terms
    return (
        _made({mono: c // by for mono, c in terms.items()}),
        _made({mono: c % by for mono, c in terms.items()}),
    )


def _led(over: Quantity, by: Polynomial) -> tuple[Quantity, Quantity]:
    """Return (lead, rest) with over = lead by + rest, for parts that a first part of `by` divides."""
    first = max(by.terms, key=lambda mono: (len(mono), [atom.key for atom in mono]))
    lead: Quantity = 0
    rest = over
    for _ in range(len(lifted(over).terms)):
        found = None
        for mono, c in lifted(rest).terms.items():
            other = _without(mono, first)
            if other is not None and c % by.terms[first] == 0 and first:
                found = Polynomial({other: c // by.terms[first]}) if other else c // by.terms[first]
                break
        if found is None:
            break
        lead, rest = lead + found, rest - found * by
    return lead, rest


def divided(over: Quantity, by: Quantity) -> bool:
    """Return True if a polynomial is another one times it."""
    if isinstance(over, int):
        return over == 0
    if isinstance(by, int):
        return False
    _, rest = _led(over, by)
    return isinstance(rest, int) and rest == 0


def _without(mono: Monomial, part: Monomial) -> Monomial | None:
    """Return a monomial divided by another, or None."""
    left = list(mono)
    for atom in part:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def replaced(value: Quantity, meaning: Callable[[Symbol], Quantity | None]) -> Quantity:
    """Return a number in which symbols have another meaning; a symbol stays where it is None."""
    if isinstance(value, int):
        return value
    total: Quantity = 0
    for mono, c in value.terms.items():
        part: Quantity = c
        for atom in mono:
            if isinstance(atom, Symbol):
                found = meaning(atom)
                part = part * (symbol(atom) if found is None else found)
            else:
                part = part * _again(replaced(atom.over, meaning), replaced(atom.by, meaning))
        total = total + part
    return total


def _again(over: Quantity, by: Quantity) -> Quantity:
    """Return the floor of a quotient whose parts have changed, without a comparison."""
    if isinstance(by, int):
        return floor_of(over, by)
    lead, rest = _led(over, by)
    if isinstance(rest, int) and rest == 0:
        return lead
    return Polynomial({(Quotient(lifted(over), by),): 1})


def valued(value: Quantity, values: Mapping[str, int]) -> int:
    """Return the number for values of all its symbols' names.

    >>> valued(named("M") * 64 + 3, {"M": 2})
    131
    """
    if isinstance(value, int):
        return value

    def meaning(own: Symbol) -> Quantity:
        if own.over is None:
            return values[own.name]
        over = valued(own.over, values)
        if over % own.by:
            raise LayoutError("TW101", f"{own.name} is no whole number for {dict(values)}")
        return over // own.by

    found = replaced(value, meaning)
    assert isinstance(found, int)
    return found


def rooted(value: Quantity) -> tuple[Quantity, int]:
    """Return (over, by): a number as a quotient without rest, in names alone."""
    if isinstance(value, int) or all(own.over is None for own in value.symbols):
        return value, 1
    total: Quantity = 0
    by = 1
    for mono, c in value.terms.items():
        part: Quantity = c
        below = 1
        for atom in mono:
            if isinstance(atom, Symbol):
                part = part * (symbol(atom) if atom.over is None else atom.over)
                below *= atom.by
            else:
                over, one = rooted(atom.over)
                under, two = rooted(atom.by)
                part = part * _again(over * two, under * one)
        shared = lcm(by, below)
        total = total * (shared // by) + part * (shared // below)
        by = shared
    if isinstance(total, Polynomial):
        common = gcd(by, total.constant, total.content)
        return total.over_exactly(common), by // common
    return total // by, 1


def _compared(one: Polynomial, other: Any, truth: Callable[[Any], bool]) -> Any:
    if isinstance(other, bool) or not (isinstance(other, int | Polynomial) or hasattr(other, "__index__")):
        return NotImplemented
    return truth(one - other)


def lifted(value: Quantity) -> Polynomial:
    return value if isinstance(value, Polynomial) else Polynomial({(): value} if value else {})


def _made(terms: dict[Monomial, int]) -> Quantity:
    """Return the number with some parts: an int where no name is left."""
    kept = {mono: c for mono, c in terms.items() if c}
    if not kept:
        return 0
    return kept[()] if len(kept) == 1 and () in kept else Polynomial(kept)


def _key_of(atom: Atom) -> str:
    return atom.key


def _size(value: Quantity) -> int:
    return len(value.terms) if isinstance(value, Polynomial) else int(value != 0)


def _grouped(value: Quantity) -> str:
    text = str(value)
    return f"({text})" if isinstance(value, Polynomial) and not text.isidentifier() else text


def _shown_first(part: tuple[tuple[str, ...], int]) -> tuple[Any, ...]:
    names, _ = part
    return (-len(names), names)
