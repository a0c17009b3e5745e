"""Random small kernels by a seed.

    python -m tests.compiled.random.kernels 17

prints the kernel of a seed. Everything that a kernel does is defined: indices are masked to their buffer
where bounds do not show that they are inside, divisors are not zero, and warp operations stand where all
lanes are. Loaded values are stored or summed. In one kernel of twenty some decide an address or a branch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random

from tests.compiled.random.tree import (
    CELLS,
    FLOAT,
    I32,
    I64,
    LONG,
    NARROW,
    TYPES,
    U32,
    U64,
    WORD,
    Access,
    Assign,
    Binary,
    Body,
    Break,
    Call,
    Case,
    Cast,
    Cell,
    Compare,
    Const,
    Continue,
    Declare,
    Expr,
    For,
    Function,
    If,
    Intrinsic,
    Kernel,
    Local,
    LocalLoad,
    LocalStore,
    Logic,
    Name,
    Parameter,
    Point,
    Return,
    Select,
    Statement,
    Step,
    Switch,
    Sync,
    Type,
    Unary,
    Warp,
    While,
    source,
)

BASE = 0x7F0000000000
MOST_TRIPS = 24
"""So often one statement runs at most in a thread, all its loops together."""
DEPTH = 3
SCALARS = CELLS[:6]

INTRINSICS: dict[str, tuple[tuple[Type, ...], Type]] = {
    "__umulhi": ((U32, U32), U32),
    "__mulhi": ((I32, I32), I32),
    "__umul64hi": ((U64, U64), U64),
    "__popc": ((U32,), I32),
    "__popcll": ((U64,), I32),
    "__clz": ((I32,), I32),
    "__clzll": ((I64,), I32),
    "__ffs": ((I32,), I32),
    "__brev": ((U32,), U32),
    "__brevll": ((U64,), U64),
    "__byte_perm": ((U32, U32, U32), U32),
    "__funnelshift_l": ((U32, U32, U32), U32),
    "__funnelshift_r": ((U32, U32, U32), U32),
    "__funnelshift_lc": ((U32, U32, U32), U32),
    **{f"{name} {type.word}": ((type, type), type) for name in ("min", "max") for type in TYPES},
}
BLOCKS = [(32, 1, 1), (64, 1, 1), (96, 1, 1), (16, 4, 1), (8, 8, 1), (4, 4, 4), (32, 2, 1), (128, 1, 1)]
RAGGED = [(33, 1, 1), (7, 3, 2), (1, 1, 1), (20, 2, 1), (5, 1, 9), (48, 1, 1), (100, 1, 1)]
GRIDS = [(1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1), (1, 2, 2), (1, 1, 3)]
Range = tuple[int, int]


def span(type: Type) -> Range:
    """Return the least and the greatest value of a type."""
    return (-(1 << (type.bits - 1)), (1 << (type.bits - 1)) - 1) if type.signed else (0, (1 << type.bits) - 1)


class Drawing:
    """Draws one kernel. Variables have ranges that hold wherever they are in scope."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = Random(f"tilewise read {seed}")
        self.readable: list[Name] = []
        self.mutable: list[Name] = []
        self.ranges: dict[str, Range] = {}
        self.data: list[str] = []
        self.places: list[tuple[str, str, int, bool]] = []
        """Buffers and pointers: name, space, bytes from there on, whether stores may go there."""
        self.steppable: dict[str, tuple[int, int]] = {}
        """Pointer variables: how many bytes they may move in all, and the trips where they are declared."""
        self.arrays: list[tuple[str, int]] = []
        self.functions: list[Function] = []
        self.calls: list[tuple[Function, bool]] = []
        self.sites = self.count = 0
        self.trips, self.depth = 1, 0
        self.may_break = self.may_continue = self.may_return = self.in_function = False
        self.returns: Callable[[], Body] = lambda: ()

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def fresh(self, letter: str) -> str:
        """Return a name that is not in use."""
        self.count += 1
        return f"{letter}{self.count}"

    @contextmanager
    def scope(self, trips: int = 1) -> Iterator[None]:
        """A block of statements, which forgets its variables at the end."""
        lists = (self.readable, self.mutable, self.places, self.arrays)
        lengths = [len(it) for it in lists]
        before = (self.trips, self.depth, self.may_break, self.may_continue, dict(self.steppable))
        self.trips, self.depth = self.trips * trips, self.depth + 1
        yield
        for it, length in zip(lists, lengths, strict=True):
            del it[length:]
        self.trips, self.depth, self.may_break, self.may_continue, kept = before
        self.steppable = {name: self.steppable[name] for name in kept}

    # -- expressions -------------------------------------------------------------------------------

    def bounds(self, it: Expr) -> Range:
        """Return a range that holds all values of an expression."""
        whole = span(it.type)
        found = self._bounds(it) or whole
        return found if whole[0] <= found[0] and found[1] <= whole[1] else whole

    def _bounds(self, it: Expr) -> Range | None:
        match it:
            case Const(value):
                return value, value
            case Name(name):
                return self.ranges.get(name)
            case Compare() | Logic():
                return 0, 1
            case Select(_, yes, no):
                (a, b), (c, d) = self.bounds(yes), self.bounds(no)
                return min(a, c), max(b, d)
            case Cast(operand, _, None):
                return self.bounds(operand)
            case Cast(_, _, through) if through:
                return span(through)
            case Binary(operator, left, right):
                return self._bounds_of_binary(operator, self.bounds(left), self.bounds(right))
        return None

    def _bounds_of_binary(self, operator: str, left: Range, right: Range) -> Range | None:
        (a, b), (c, d) = left, right
        positive = a >= 0 and c >= 0
        match operator:
            case "+":
                return a + c, b + d
            case "-":
                return a - d, b - c
            case "*":
                corners = [a * c, a * d, b * c, b * d]
                return min(corners), max(corners)
            case "<<" if a >= 0:
                return a << c, b << d
            case ">>" if a >= 0:
                return a >> d, b >> c
            case "&" if c >= 0:
                return 0, min(b, d) if a >= 0 else d
            case "|" | "^" if positive:
                return 0, (1 << max(b, d).bit_length()) - 1
            case "/" if a >= 0 and c > 0:
                return a // d, b // c
            case "%" if c > 0:
                return (0, min(b, d - 1)) if a >= 0 else (1 - d, d - 1)
        return None

    def binary(self, operator: str, left: Expr, right: Expr) -> Binary:
        """Return an operation, with C's own operator where no bits are lost."""
        exact = self._bounds_of_binary(operator, self.bounds(left), self.bounds(right))
        low, high = span(left.type)
        return Binary(
            operator, left, right, left.type, exact is not None and low <= exact[0] <= exact[1] <= high
        )

    def const(self, type: Type) -> Const:
        """Return a constant: mostly small, often a power of two or one off."""
        size = self.rng.choice((4, 4, 6, 10, 16, type.bits))
        value = self.rng.getrandbits(size)
        if self.chance(0.4):
            value = (1 << self.rng.randrange(type.bits)) - self.rng.choice((0, 0, 1))
        return Const(type.wrap(-value if type.signed and self.chance(0.15) else value), type)

    def special(self) -> Name:
        """Return a special register, mostly a thread's own."""
        word = self.rng.choice(("threadIdx", "threadIdx", "threadIdx", "blockIdx", "blockDim", "gridDim"))
        return self.axis(word, self.rng.choice("xxxyz"))

    def axis(self, word: str, letter: str) -> Name:
        """Return one special register."""
        return Name(f"{word}.{letter}", U32)

    def cast(self, it: Expr, type: Type) -> Expr:
        """Return an expression as one of a type."""
        return it if it.type == type else Cast(it, type)

    def leaf(self, type: Type) -> Expr:
        kind = self.rng.random()
        if kind < 0.25:
            return self.const(type)
        same = [name for name in self.readable if name.type == type]
        if same and kind < 0.65:
            return self.recent(same)
        if self.readable and kind < 0.8:
            return self.cast(self.recent(self.readable), type)
        return self.cast(self.special(), type)

    def recent(self, names: list[Name]) -> Name:
        """Return one of some variables, mostly one of the last."""
        return self.rng.choice(names[-3:] if self.chance(0.6) else names)

    def expr(self, type: Type, depth: int = 3) -> Expr:
        """Return any expression of a type."""
        if depth == 0 or self.chance(0.15):
            return self.leaf(type)
        kind = self.rng.choices(
            ("sum", "bits", "shift", "divide", "unary", "select", "cast", "intrinsic", "wide"),
            (30, 18, 14, 8, 4, 7, 12, 10, 4),
        )[0]
        if kind == "sum":
            return self.binary(
                self.rng.choice("++-*"), self.expr(type, depth - 1), self.expr(type, depth - 1)
            )
        if kind == "bits":
            return self.binary(self.rng.choice("&|^"), self.expr(type, depth - 1), self.expr(type, depth - 1))
        if kind == "shift":
            return self.binary(
                self.rng.choice(("<<", ">>")), self.expr(type, depth - 1), self.amount(type, depth)
            )
        if kind == "divide":
            return self.binary(self.rng.choice("/%"), self.expr(type, depth - 1), self.divisor(type, depth))
        if kind == "unary":
            return Unary(self.rng.choice("-~"), self.expr(type, depth - 1), type)
        if kind == "select":
            return Select(
                self.condition(depth - 1), self.expr(type, depth - 1), self.expr(type, depth - 1), type
            )
        if kind == "wide" and type.bits == 64:
            half = I32 if type.signed else U32
            left, right = self.expr(half, depth - 1), self.expr(half, depth - 1)
            return self.binary("*", Cast(left, type), Cast(right, type))
        if kind == "intrinsic":
            name = self.rng.choice([name for name, (_, result) in INTRINSICS.items() if result == type])
            operands = tuple(self.expr(one, depth - 1) for one in INTRINSICS[name][0])
            if name == "__byte_perm" and self.chance(0.7):
                operands = (*operands[:2], Const(self.rng.getrandbits(16), U32))
            return Intrinsic(name.split()[0], operands, type)
        through = self.rng.choice(NARROW) if self.chance(0.3) else None
        return Cast(self.expr(self.rng.choice(TYPES), depth - 1), type, through)

    def amount(self, type: Type, depth: int) -> Expr:
        """Return an amount of a shift."""
        if self.chance(0.7):
            return Const(self.rng.randrange(min(type.bits, self.rng.choice((6, 64)))), U32)
        return self.binary("&", self.expr(U32, depth - 1), Const(type.bits - 1, U32))

    def divisor(self, type: Type, depth: int) -> Expr:
        """Return an expression that is not 0, nor -1."""
        if self.chance(0.65):
            value = self.rng.choice(
                (2, 3, 4, 5, 7, 8, 10, 12, 16, 24, 31, 32, 100, 1000, self.rng.getrandbits(20) + 1)
            )
            return Const(-value if type.signed and value > 1 and self.chance(0.1) else value, type)
        mask = Const(self.rng.choice((7, 63, 255, 0x7FFF)), type)
        return self.binary("|", self.binary("&", self.expr(type, depth - 1), mask), Const(1, type))

    def condition(self, depth: int = 2) -> Expr:
        """Return a condition that is mostly not the same for all."""
        if depth and self.chance(0.2):
            return Logic(self.rng.choice(("&&", "||")), self.condition(depth - 1), self.condition(depth - 1))
        if self.chance(0.55):
            most = (1 << self.rng.randint(1, 3)) - 1
            some = self.mixed(U32) if self.chance(0.7) else self.expr(U32, depth)
            narrow = self.binary("&", some, Const(most, U32))
            limit = Const(self.rng.randint(0, most), U32)
            return Compare(self.rng.choice(("==", "!=", "!=", "<", ">", ">=")), narrow, limit)
        if self.chance(0.5):
            axis = self.axis("threadIdx", "y" if self.block[1] > 2 and self.chance(0.3) else "x")
            limit = Const(self.rng.randrange(self.ranges[axis.name][1] + 1), U32)
            return Compare(self.rng.choice(("<", ">", "==", ">=", "<=", "!=")), axis, limit)
        type = self.rng.choice(TYPES)
        operator = self.rng.choice(("<", "<=", ">", ">=", "==", "!="))
        return Compare(operator, self.expr(type, depth), self.expr(type, depth))

    def global_thread(self) -> Expr:
        """Return the linear number of the thread in the grid."""
        a = self.axis
        block: Expr = a("blockIdx", "x")
        if self.grid[1:] != (1, 1):
            inner = self.binary(
                "+", self.binary("*", a("blockIdx", "z"), a("gridDim", "y")), a("blockIdx", "y")
            )
            block = self.binary("+", self.binary("*", inner, a("gridDim", "x")), block)
        thread: Expr = a("threadIdx", "x")
        size: Expr = a("blockDim", "x")
        if self.block[1:] != (1, 1):
            inner = self.binary(
                "+", self.binary("*", a("threadIdx", "z"), a("blockDim", "y")), a("threadIdx", "y")
            )
            thread = self.binary("+", self.binary("*", inner, a("blockDim", "x")), thread)
            size = self.binary("*", self.binary("*", size, a("blockDim", "y")), a("blockDim", "z"))
        return self.binary("+", self.binary("*", block, size), thread)

    def index(self, room: int, cell: Cell) -> Expr:
        """Return an index of a cell within so many bytes."""
        count = 1 << ((room // cell.bytes).bit_length() - 1)
        type = self.rng.choice((I32, I32, U32, U32, I64, U64))
        kind = self.rng.random()
        if kind < 0.35:
            it = self.affine(type)
        elif kind < 0.48:
            it = self.swizzled(type)
        elif kind < 0.62:
            it = self.mixed(type)
        elif self.readable and kind < 0.82:
            operator = self.rng.choice("+++^-")
            it = self.binary(operator, self.affine(type), self.cast(self.recent(self.readable), type))
        else:
            it = self.expr(type, self.rng.randint(1, 3))
        low, high = self.bounds(it)
        if low >= 0 and high < count:
            return it
        if low > -count and high - low < count and self.chance(0.7):
            return self.binary("-", it, Const(low, type))
        if self.chance(0.1) and not type.signed:
            return self.binary("%", it, Const(self.rng.randint(count // 2, count), type))
        return self.binary("&", it, Const(count - 1, type))

    def affine(self, type: Type) -> Expr:
        """Return a sum of products as real kernels have: rows, columns, blocks, loop counters."""
        terms: list[Expr] = [self.cast(self.axis("threadIdx", self.rng.choice("xxxxyz")), type)]
        counted = [name for name in self.readable if self.ranges.get(name.name, span(name.type))[1] < 4096]
        for _ in range(self.rng.randint(0, 3)):
            it: Expr = self.rng.choice(counted) if counted and self.chance(0.6) else self.special()
            factor = self.rng.choice([Const(self.rng.choice((1, 2, 3, 4, 8, 16, 17, 32, 33, 64)), type)])
            terms.append(self.binary("*", self.cast(it, type), factor))
        if self.chance(0.3):
            terms.append(Const(self.rng.randrange(64), type))
        self.rng.shuffle(terms)
        total = terms[0]
        for term in terms[1:]:
            operator = "-" if type.signed and self.chance(0.15) else "+"
            total = self.binary(operator, total, term)
        return total

    def mixed(self, type: Type) -> Expr:
        """Return an expression that differs between threads without a pattern that one sees."""
        it: Expr = self.cast(self.axis("threadIdx", "x"), type)
        other = self.recent(self.readable) if self.readable and self.chance(0.6) else self.special()
        factor = Const(2 * self.rng.randrange(1 << self.rng.choice((2, 5, 20))) + 1, type)
        it = self.binary(self.rng.choice("+^"), self.binary("*", it, factor), self.cast(other, type))
        if self.chance(0.5):
            it = self.binary("^", it, self.binary(">>", it, Const(self.rng.randint(1, 9), U32)))
        return self.binary(">>", it, Const(self.rng.randint(0, 4), U32)) if self.chance(0.4) else it

    def swizzled(self, type: Type) -> Expr:
        """Return an index with an exclusive or of some of its own bits."""
        it = self.affine(type)
        shifted = self.binary(">>", it, Const(self.rng.randint(1, 5), U32))
        part = self.binary("&", shifted, Const(self.rng.choice((1, 3, 7, 28)), type))
        if self.chance(0.4):
            part = self.binary("<<", part, Const(self.rng.randint(1, 3), U32))
        return self.binary("^", it, part)

    # -- statements --------------------------------------------------------------------------------

    def block_of(self, count: int, trips: int = 1) -> Body:
        """Return some statements in a scope of their own."""
        with self.scope(trips):
            return self.statements(count)

    def statements(self, count: int) -> Body:
        made: list[Statement] = []
        for _ in range(count):
            made += self.some()
        return tuple(made)

    def some(self) -> list[Statement]:
        """Return one statement, or a few that belong together."""
        deep, room = self.depth >= DEPTH, self.trips * 2 <= MOST_TRIPS
        weights: dict[Callable[[], list[Statement]], int] = {
            self.accesses: 40 if self.places else 0,
            self.declare: 14,
            self.assign: 10 if self.mutable else 0,
            self.branch: 0 if deep else 12,
            self.loop: 0 if deep or not room else 14,
            self.spin: 0 if deep or not room else 4,
            self.switch: 0 if deep else 4,
            self.point: 4 if self.places else 0,
            self.step: 4 if self.steppable else 0,
            self.array: 3 if self.arrays else 0,
            self.call: 8 if self.calls else 0,
            self.leave: 5 if self.depth else 0,
        }
        return self.rng.choices(list(weights), list(weights.values()))[0]()

    def declare(self) -> list[Statement]:
        type = self.rng.choice(TYPES)
        value = self.expr(type) if self.chance(0.6) else self.affine(type)
        name = Name(self.fresh("v"), type)
        if self.chance(0.4):
            self.mutable.append(name)
        else:
            self.ranges[name.name] = self.bounds(value)
        self.readable.append(name)
        after = self.accesses() if self.places and self.chance(0.4) else []
        return [Declare(name.name, type, value), *after]

    def assign(self) -> list[Statement]:
        name = self.rng.choice(self.mutable)
        value = self.expr(name.type)
        if self.chance(0.5):
            value = self.binary(self.rng.choice("+-^*"), name, value)
        return [Assign(name.name, name.type, value)]

    def branch(self) -> list[Statement]:
        condition = self.condition()
        then = self.block_of(self.rng.randint(1, 3))
        other = self.block_of(self.rng.randint(1, 2)) if self.chance(0.4) else ()
        return [If(condition, then, other)]

    def few(self, type: Type) -> Expr:
        """Return a small number of trips, which may differ between threads."""
        kind = self.rng.random()
        most = self.rng.choice((2, 3, 4, 6))
        if kind < 0.35:
            return Const(self.rng.randint(0, most), type)
        if kind < 0.7:
            return self.binary("&", self.mixed(type) if self.chance(0.5) else self.leaf(type), Const(3, type))
        if kind < 0.85:
            shifted = self.binary(">>", self.cast(self.special(), type), Const(self.rng.randrange(3), U32))
            return self.binary("%", shifted, Const(most, type))
        return self.cast(self.binary("&", self.expr(U32, 2), Const(3, U32)), type)

    def loop(self) -> list[Statement]:
        kind = self.rng.random()
        name = Name(self.fresh("k"), self.rng.choice((I32, I32, U32, U32, I64, U64)))
        one = Const(1, name.type)
        if kind < 0.15 and self.trips * 5 <= MOST_TRIPS:
            top = 1 << self.rng.randint(2, 4)
            self.ranges[name.name] = (1, top)
            start, test = Const(top, name.type), Compare(">", name, Const(0, name.type))
            following, trips = self.binary(">>", name, Const(1, U32)), top.bit_length()
        elif kind < 0.3:
            start = self.few(name.type)
            top = self.bounds(start)[1]
            self.ranges[name.name] = (0, top)
            test = Compare(self.rng.choice((">", "!=")), name, Const(0, name.type))
            following, trips = self.binary("-", name, one), top
            if self.bounds(start)[0] < 0:
                return []
        elif kind < 0.45 and self.trips <= 4 and not self.in_function:
            start = self.cast(self.global_thread(), name.type)
            limit = Name("count", U32)
            self.ranges[name.name] = (0, self.ranges["count"][1])
            test = Compare("<", name, self.cast(limit, name.type))
            stride = self.binary("*", self.axis("blockDim", "x"), self.axis("gridDim", "x"))
            following = self.binary("+", name, self.cast(stride, name.type))
            step = self.block[0] * self.grid[0]
            trips = self.ranges["count"][1] // step + 1
        else:
            start = Const(self.rng.randrange(3), name.type)
            limit_of = self.few(name.type)
            high = self.bounds(limit_of)[1]
            if high > 8:
                return []
            step = self.rng.choice((1, 1, 1, 2, 3))
            self.ranges[name.name] = (start.value, max(high - 1, start.value))
            test = Compare(self.rng.choice(("<", "<", "<=")), name, limit_of)
            if test.operator == "<=":
                self.ranges[name.name] = (start.value, max(high, start.value))
            following = self.binary("+", name, Const(step, name.type))
            trips = max((high - start.value) // step + 1, 1)
        trips = max(trips, 1)
        if self.trips * trips > MOST_TRIPS:
            return []
        unroll = self.rng.choice(("", "", "unroll", "unroll 1", "unroll 2"))
        with self.scope(trips):
            self.readable.append(name)
            self.may_break = self.may_continue = True
            inner = self.statements(self.rng.randint(1, 3))
        return [For(name.name, name.type, start, test, following, inner, unroll)]

    def spin(self) -> list[Statement]:
        """Return a while loop that burns a small number."""
        name = Name(self.fresh("w"), self.rng.choice((U32, U64)))
        some = self.mixed(name.type) if self.chance(0.6) else self.expr(name.type, 2)
        start = self.binary("&", some, Const(self.rng.choice((3, 5, 7)), name.type))
        one = Const(1, name.type)
        at_end = self.chance(0.3)
        following: Expr = self.binary(">>", name, Const(1, U32))
        trips = 3
        if self.chance(0.4):
            following = self.binary("&", name, self.binary("-", name, one))
        elif not at_end and self.trips * 7 <= MOST_TRIPS:
            following, trips = self.binary("-", name, one), 7
        self.ranges[name.name] = (0, 7)
        if self.trips * trips > MOST_TRIPS:
            return []
        with self.scope(trips):
            self.readable.append(name)
            self.may_break = self.may_continue = True
            inner = self.statements(self.rng.randint(1, 3))
        return [Declare(name.name, name.type, start), While(name.name, name.type, following, inner, at_end)]

    def switch(self) -> list[Statement]:
        count = self.rng.choice((2, 3, 4, 6, 8))
        type = self.rng.choice((I32, U32))
        some = self.mixed(type) if self.chance(0.6) else self.expr(type, 2)
        on = self.binary("&", some, Const(self.rng.choice((3, 7, 15)), type))
        start, stride = self.rng.choice((0, 0, 1)), self.rng.choice((1, 1, 1, 2))
        cases = []
        for value in range(count):
            with self.scope():
                self.may_break = False
                inner = self.statements(1)
            cases.append(Case(value * stride + start, inner, self.chance(0.15)))
        with self.scope():
            self.may_break = False
            default = self.statements(1) if self.chance(0.5) else ()
        return [Switch(on, tuple(cases), default)]

    def point(self) -> list[Statement]:
        """Return a pointer variable that may move up to a quarter of what is there."""
        name, space, room, written = self.rng.choice(self.places)
        if room < 1024 or name in self.steppable:
            return []
        quarter = 1 << ((room // 4).bit_length() - 1)
        offset = self.index(quarter, CELLS[9])
        offset = self.binary("*", offset, Const(16, offset.type))
        made = self.fresh("p")
        self.places.append((made, space, quarter, written))
        self.steppable[made] = quarter, self.trips
        return [Point(made, name, offset)]

    def step(self) -> list[Statement]:
        """Return a step of a pointer variable, by as much as may still come in all trips."""
        name = self.rng.choice(list(self.steppable))
        left, declared = self.steppable[name]
        times = max(self.trips // declared, 1) * 2
        most = left // times // 16
        if most < 1:
            return []
        by = self.rng.choice([size for size in (1, 2, 3, 4, 8, 16, 33, 64) if size <= most]) * 16
        self.steppable[name] = left - by * times, declared
        return [Step(name, by)]

    def array(self) -> list[Statement]:
        name, length = self.rng.choice(self.arrays)
        index = self.binary("&", self.expr(U32, 2), Const(length - 1, U32))
        if self.chance(0.4):
            return [LocalStore(name, index, self.value())]
        into = self.rng.choice(self.data) if self.data and self.chance(0.3) else ""
        return [LocalLoad(name, index, into)]

    def value(self) -> Expr:
        """Return a value to store: a loaded one, a sum of them, or any other."""
        kind = self.rng.random()
        if kind < 0.4:
            return Name("acc", U32)
        if self.data and kind < 0.6:
            return Name(self.rng.choice(self.data), U32)
        return self.expr(U32, 2)

    def call(self) -> list[Statement]:
        function, touches = self.rng.choice(self.calls)
        operands: list[Expr | str] = []
        for parameter in function.parameters:
            if parameter.type is None:
                fitting = [
                    name
                    for name, space, room, written in self.places
                    if space == "global" and room >= parameter.size and written and name not in self.steppable
                ]
                if not fitting:
                    return []
                operands.append(self.rng.choice(fitting))
            else:
                operands.append(self.expr(parameter.type, 2))
        if touches:
            return [Call("acc", U32, function.name, tuple(operands))]
        name = Name(self.fresh("v"), function.type)
        self.readable.append(name)
        return [
            Declare(name.name, name.type, Const(0, name.type)),
            Call(name.name, name.type, function.name, tuple(operands)),
        ]

    def leave(self) -> list[Statement]:
        """Return a break, a continue or a return under a condition."""
        ways: list[Body] = []
        if self.may_break:
            ways += [(Break(),)] * 2
        if self.may_continue:
            ways += [(Continue(),)] * 2
        if self.may_return:
            ways += [self.returns()]
        return [If(self.condition(), self.rng.choice(ways))] if ways else []

    # -- accesses ----------------------------------------------------------------------------------

    def accesses(self) -> list[Statement]:
        """Return one access, or some neighbours that a compiler may merge."""
        if self.way != "volatile" and self.chance(0.12):
            return self.neighbours()
        name, space, room, written = self.rng.choice(self.places)
        kind = self.rng.choices(("ld", "st", "atom"), (55, 33, 12))[0] if written else "ld"
        return list(self.access(kind, name, space, room))

    def number(self) -> int:
        self.sites += 1
        return self.sites

    def cell(self, space: str) -> Cell:
        """Return what to move. Where 12 bytes of shared memory are known to be aligned, compilers load 16."""
        rounded = space == "shared" and self.way != "volatile"
        return self.rng.choice([cell for cell in CELLS if not (rounded and cell.bytes == 12)])

    def access(self, kind: str, name: str, space: str, room: int) -> Body:
        if kind == "atom":
            return (self.atomic(name, space, room),)
        cell = self.cell(space)
        index = self.somewhere(self.index(room, cell), name)
        made = Access(self.number(), kind, space, name, cell, index, way=self.way, pointer=self.chance(0.15))
        if kind == "st":
            return (replace(made, value=self.value()),)
        if self.hangs and name in self.only_read and self.mutable and self.chance(0.6):
            return self.deciding(name, room)
        if self.data and self.chance(0.4):
            made = replace(made, into=self.rng.choice(self.data))
        return (made,)

    def somewhere(self, index: Expr, name: str) -> Expr:
        """Return an index that no compiler takes for a constant.

        A load from a constant place of an array whose size is known may come before the branch that needs it.
        """
        if name != "fixed" or self.way == "volatile":
            return index
        return self.binary("+", index, self.cast(Name("zero", U32), index.type))

    def deciding(self, name: str, room: int) -> Body:
        """Return a load into a variable that may decide, and one at an index where it does."""
        variables = [name for name in self.mutable if name.type == U32]
        if not variables:
            return ()
        into, cell, other = self.rng.choice(variables), self.rng.choice(SCALARS), self.rng.choice(CELLS)
        count = 1 << ((room // other.bytes).bit_length() - 1)
        first = Access(self.number(), "ld", "global", name, cell, self.index(room, cell), way=self.way)
        index = self.binary("&", self.binary("+", into, self.expr(U32, 1)), Const(count - 1, U32))
        second = Access(self.number(), "ld", "global", name, other, index, way=self.way)
        return (replace(first, into=into.name, decides=True), second)

    def atomic(self, name: str, space: str, room: int) -> Access:
        """Return an atomic operation at an address that differs between the threads of a warp.

        Where it is the same for all, compilers let one thread make the access of all others.
        """
        operation = self.rng.choice(("Add", "Add", "Add", "Min", "Max", "And", "Or", "Xor", "Exch", "CAS"))
        cell = WORD
        if space == "global" and self.chance(0.25):
            cell = FLOAT if operation == "Add" and self.chance(0.5) else LONG
        count = 1 << ((room // cell.bytes).bit_length() - 1)
        factor = Const(self.rng.choice((1, 1, 1, 3, 5, 33)), U32)
        thread = self.binary("*", self.axis("threadIdx", "x"), factor)
        given = [name for name in self.readable if name.name.startswith("a")]
        other = self.cast(self.rng.choice(given), U32) if given and self.chance(0.7) else self.const(U32)
        if self.chance(0.4):
            other = self.binary(self.rng.choice("+^&"), other, self.axis("blockIdx", self.rng.choice("xxyz")))
        index = self.binary("&", self.binary("+", thread, other), Const(count - 1, U32))
        index = self.somewhere(index, name)
        made = Access(self.number(), "atom", space, name, cell, index, self.value(), way=self.way)
        # Assemblers leave out all but one of those that change nothing when they are made again.
        used = self.chance(0.5) or operation not in ("Add", "Xor")
        return replace(made, operation=f"atomic{operation}", used=used)

    def neighbours(self) -> list[Statement]:
        """Return two or four accesses side by side."""
        name, space, room, written = self.rng.choice(self.places)
        cell = self.rng.choice(CELLS[:8])
        count = self.rng.choice((2, 4))
        first = self.index(room // count, Cell("", cell.bytes))
        first = self.binary("*", self.somewhere(first, name), Const(count, first.type))
        kind = "st" if written and self.chance(0.4) else "ld"
        return [
            Access(
                self.number(),
                kind,
                space,
                name,
                cell,
                self.binary("+", first, Const(at, first.type)),
                self.value() if kind == "st" else None,
                way=self.way,
            )
            for at in range(count)
        ]

    # -- the kernel --------------------------------------------------------------------------------

    def collective(self) -> list[Statement]:
        """Return a statement that all threads of a block or of a warp run together."""
        if not self.warps or self.chance(0.3):
            return [Sync()]
        kind = self.rng.random()
        name = Name(self.fresh("v"), self.rng.choice(TYPES) if kind < 0.75 else U32)
        zero = Declare(name.name, name.type, self.expr(name.type, 2))
        self.readable.append(name)
        if kind < 0.25:
            butterfly = Name(self.fresh("k"), I32)
            summed = Name(self.fresh("v"), name.type)
            return [
                zero,
                For(
                    butterfly.name,
                    I32,
                    Const(16, I32),
                    Compare(">", butterfly, Const(0, I32)),
                    self.binary(">>", butterfly, Const(1, U32)),
                    (
                        Declare(summed.name, name.type, Const(0, name.type)),
                        Warp(summed.name, name.type, "__shfl_xor_sync", name, butterfly),
                        Assign(name.name, name.type, Binary("+", name, summed, name.type)),
                    ),
                    self.rng.choice(("", "unroll 1")),
                ),
            ]
        if kind < 0.75:
            operation = self.rng.choice(
                ("__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync")
            )
            width = self.rng.choice((32, 32, 32, 16, 8, 4))
            if operation == "__shfl_sync":
                other = self.expr(I32, 2) if self.chance(0.5) else Const(self.rng.randrange(32), I32)
            elif operation == "__shfl_xor_sync":
                other = Const(self.rng.randrange(1, width), I32)
            else:
                other = Const(self.rng.randrange(1, width), U32)
            return [zero, Warp(name.name, name.type, operation, self.expr(name.type, 2), other, width)]
        operation = self.rng.choice(
            (
                "__ballot_sync",
                "__ballot_sync",
                "__any_sync",
                "__all_sync",
                "__match_any_sync",
                "__reduce_add_sync",
                "__reduce_min_sync",
                "__reduce_max_sync",
                "__reduce_or_sync",
                "__reduce_xor_sync",
                "__reduce_and_sync",
            )
        )
        if operation in ("__ballot_sync", "__any_sync", "__all_sync"):
            value = self.condition()
        else:
            value = (
                self.binary("&", self.expr(U32, 2), Const(15, U32))
                if "match" in operation
                else self.expr(U32, 2)
            )
        return [zero, Warp(name.name, U32, operation, value)]

    def function(self) -> None:
        """Add a function, which may have one pointer and accesses there."""
        touches = self.chance(0.5)
        kept = (
            self.readable,
            self.mutable,
            self.places,
            self.arrays,
            self.data,
            self.calls,
            self.steppable,
            self.depth,
            self.trips,
            self.returns,
            self.may_return,
        )
        self.readable, self.mutable, self.places, self.arrays, self.data, self.calls = [], [], [], [], [], []
        self.steppable, self.depth, self.trips, self.may_return, self.in_function = {}, 1, 4, True, True
        parameters = []
        if touches:
            size = 4096
            parameters.append(Parameter(self.fresh("q"), None, 0, size))
            self.places.append((parameters[0].name, "global", size, True))
        for _ in range(self.rng.randint(1, 3)):
            type = self.rng.choice(TYPES)
            parameters.append(Parameter(self.fresh("a"), type, 0))
            self.readable.append(Name(parameters[-1].name, type))
        result = U32 if touches else self.rng.choice(TYPES)

        def end() -> Expr:
            return Name("acc", U32) if touches else self.expr(result, 2)

        self.returns = lambda: (Return(end()),)
        inner: Body = (Declare("acc", U32, Const(0, U32)),) if touches else ()
        inner += self.statements(self.rng.randint(1, 3))
        inner += (Return(end()),)
        made = Function(f"f{self.seed}_{len(self.functions)}", result, tuple(parameters), inner)
        (
            self.readable,
            self.mutable,
            self.places,
            self.arrays,
            self.data,
            self.calls,
            self.steppable,
            self.depth,
            self.trips,
            self.returns,
            self.may_return,
        ) = kept
        self.in_function = False
        self.functions.append(made)
        self.calls.append((made, touches))

    def witness(self, name: Name) -> Access:
        """Return a load at an index that a variable decides, so that no compiler leaves the variable out."""
        place, space, room, _ = self.rng.choice(self.places)
        cell = self.cell(space)
        count = 1 << ((room // cell.bytes).bit_length() - 1)
        index = self.somewhere(self.binary("&", name, Const(count - 1, name.type)), place)
        return Access(self.number(), "ld", space, place, cell, index, way=self.way)

    def finish(self) -> Body:
        """Return the end of a kernel: its sum is stored."""
        made = Access(
            self.number(), "st", "global", "out", WORD, self.global_thread(), Name("acc", U32), way=self.way
        )
        return (made, Return())

    def kernel(self) -> Kernel:
        rng = self.rng
        self.way = rng.choices(("volatile", "fenced", "plain"), (50, 28, 22))[0]
        self.hangs, self.warps = self.chance(0.05), self.chance(0.3)
        self.block = rng.choice(BLOCKS if self.warps or self.chance(0.6) else RAGGED)
        self.grid = rng.choice(GRIDS)
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.blocks = self.grid[0] * self.grid[1] * self.grid[2]
        for at, letter in enumerate("xyz"):
            self.ranges[f"threadIdx.{letter}"] = 0, self.block[at] - 1
            self.ranges[f"blockIdx.{letter}"] = 0, self.grid[at] - 1
            self.ranges[f"blockDim.{letter}"] = self.block[at], self.block[at]
            self.ranges[f"gridDim.{letter}"] = self.grid[at], self.grid[at]
        parameters = self.parameters()
        self.only_read = [one.name for one in parameters if one.type is None and not one.written]
        static, dynamic = (rng.choice((0, 1024, 2048, 4096, 8192)) for _ in range(2))
        for name, size in (("fixed", static), ("given", dynamic)):
            if size:
                self.places.append((name, "shared", size, True))
        for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
            self.function()
        made: list[Statement] = [Declare("acc", U32, Const(0, U32))]
        for _ in range(rng.randint(0, 2)):
            self.data.append(self.fresh("d"))
            made.append(Declare(self.data[-1], U32, Const(0, U32)))
        if self.hangs:
            self.mutable.append(Name(self.fresh("v"), U32))
            self.readable.append(self.mutable[-1])
            made.append(Declare(self.mutable[-1].name, U32, Const(0, U32)))
        if self.chance(0.12):
            self.arrays.append((self.fresh("l"), rng.choice((4, 8, 16))))
            made.append(Local(*self.arrays[-1]))
        if static:
            # No compiler knows what is stored first, so that none takes the array for a constant.
            (first,) = self.access("st", "fixed", "shared", static)
            made.append(replace(first, value=Name("count", U32)))
        self.returns = self.finish
        most = 5 if self.chance(0.65) else 1
        for _ in range(rng.randint(most // 2, most)):
            made += self.collective() if self.chance(0.55 if self.warps else 0.2) else self.some()
        self.may_return = True
        if self.hangs:
            at = self.only_read[0]
            made += self.deciding(at, next(one.size for one in parameters if one.name == at))
        for _ in range(rng.randint(most // 2, most)):
            made += self.some()
        for name in self.readable[-6:]:
            if self.chance(0.5):
                made.append(self.witness(name))
        if static:
            made += self.access("ld", "fixed", "shared", static)
        made += self.finish()[:1]
        return Kernel(
            f"k{self.seed}",
            tuple(parameters),
            tuple(self.functions),
            static,
            dynamic,
            tuple(made),
            self.grid,
            self.block,
            self.way,
            self.hangs,
            self.warps,
            self.seed,
        )

    def parameters(self) -> list[Parameter]:
        """Return the parameters: the buffer of results, others, and numbers, in any order."""
        rng, at = self.rng, BASE
        made = []
        restrict = self.way == "plain" and self.chance(0.4)
        for number in range(rng.randint(2, 4)):
            name = "out" if number == 0 else f"g{number}"
            size = 1 << (12 if number == 0 else rng.randint(12, 20))
            # Near the end of 4 GiB a sum of addresses carries into the upper word.
            at += rng.choice((1 << 21, (1 << 32) - (at & 0xFFFFFFFF) - 256 * rng.randint(1, 8), 1 << 33))
            written = (
                number == 0 or (number > 1 and self.chance(0.8)) or (not self.hangs and self.chance(0.6))
            )
            made.append(Parameter(name, None, at, size, written, restrict))
            at += 1 << 21
            if number:
                self.places.append((name, "global", size, written))
        for _ in range(rng.randint(0, 4)):
            type = rng.choice((*TYPES, *TYPES, *NARROW))
            low, high = span(type)
            value = rng.choice((rng.randint(0, 100), rng.randint(0, 100), rng.randint(low, high)))
            made.append(Parameter(self.fresh("a"), type, value))
            self.ranges[made[-1].name] = value, value
            self.readable.append(Name(made[-1].name, type if type in TYPES else I32))
        count = rng.randint(1, self.block[0] * self.grid[0] * 3)
        made += [Parameter("count", U32, count), Parameter("zero", U32, 0)]
        self.ranges |= {"count": (count, count), "zero": (0, 0)}
        rng.shuffle(made)
        return made


def kernel(seed: int) -> Kernel:
    """Return the kernel of a seed."""
    return Drawing(seed).kernel()


def main() -> int:
    """Print the kernels of the seeds that are given."""
    for seed in sys.argv[1:]:
        print("\n".join(source(kernel(int(seed))).text))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
