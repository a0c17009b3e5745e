"""The small language of random kernels: a syntax tree of frozen values that prints itself as CUDA C++.

All arithmetic wraps around. The tree has nothing that C leaves open: shifts are by less than the width,
divisors are not zero, and signed sums that may overflow are printed as unsigned ones. Each access has a
source line of its own, which `Source.lines` holds by the number of the access.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

INDENT = "    "


@dataclass(frozen=True)
class Type:
    """An integer type: its word in C, its width and whether it has a sign."""

    word: str
    bits: int
    signed: bool

    def wrap(self, value: int) -> int:
        """Return the value of this type that is congruent to an integer."""
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value

    @property
    def unsigned(self) -> Type:
        """The type of the same width without a sign."""
        return U32 if self.bits == 32 else U64


I32 = Type("int", 32, True)
U32 = Type("unsigned", 32, False)
I64 = Type("long long", 64, True)
U64 = Type("unsigned long long", 64, False)
TYPES = (I32, U32, I64, U64)
NARROW = (
    Type("signed char", 8, True),
    Type("unsigned char", 8, False),
    Type("short", 16, True),
    Type("unsigned short", 16, False),
)


@dataclass(frozen=True)
class Cell:
    """The type of one access: its word in C and its bytes."""

    word: str
    bytes: int
    vector: bool = False
    """True if a vector instruction of PTX moves it; `volatile` takes inline assembly then."""


CELLS = (
    Cell("unsigned char", 1),
    Cell("signed char", 1),
    Cell("unsigned short", 2),
    Cell("short", 2),
    Cell("unsigned", 4),
    Cell("int", 4),
    Cell("float", 4),
    Cell("unsigned long long", 8),
    Cell("uint2", 8, vector=True),
    Cell("uint4", 16, vector=True),
    Cell("Two", 8),
    Cell("Three", 12),
    Cell("Four", 16),
)
WORD = CELLS[4]
LONG = CELLS[7]
FLOAT = CELLS[6]

# -- expressions -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Const:
    value: int
    type: Type


@dataclass(frozen=True)
class Name:
    """A variable, a scalar argument, or a special one such as threadIdx.x."""

    name: str
    type: Type


@dataclass(frozen=True)
class Binary:
    """`left operator right` in one type; the amount of a shift is a U32."""

    operator: str
    left: Expr
    right: Expr
    type: Type
    fits: bool = False
    """True if the exact result fits, so that C's own operator is printed for signed types."""


@dataclass(frozen=True)
class Unary:
    """`-` or `~`."""

    operator: str
    operand: Expr
    type: Type


@dataclass(frozen=True)
class Compare:
    """1 or 0; both sides have one type."""

    operator: str
    left: Expr
    right: Expr
    type: Type = I32


@dataclass(frozen=True)
class Logic:
    """`&&` or `||` of two conditions."""

    operator: str
    left: Expr
    right: Expr
    type: Type = I32


@dataclass(frozen=True)
class Select:
    """`condition ? yes : no`."""

    condition: Expr
    yes: Expr
    no: Expr
    type: Type


@dataclass(frozen=True)
class Cast:
    """A conversion, perhaps through a narrow type."""

    operand: Expr
    type: Type
    through: Type | None = None


@dataclass(frozen=True)
class Intrinsic:
    """A function of CUDA on integers, such as __umulhi."""

    name: str
    operands: tuple[Expr, ...]
    type: Type


Expr: TypeAlias = Const | Name | Binary | Unary | Compare | Logic | Select | Cast | Intrinsic

# -- statements ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Declare:
    """A new variable."""

    name: str
    type: Type
    value: Expr


@dataclass(frozen=True)
class Assign:
    name: str
    type: Type
    value: Expr


@dataclass(frozen=True)
class If:
    condition: Expr
    then: Body
    other: Body = ()


@dataclass(frozen=True)
class For:
    name: str
    type: Type
    start: Expr
    test: Expr
    next: Expr
    body: Body
    unroll: str = ""
    """The rest of a #pragma unroll, or nothing."""


@dataclass(frozen=True)
class While:
    """`while (fuel) { fuel = next; … }`, or with the test at the end."""

    fuel: str
    type: Type
    next: Expr
    body: Body
    at_end: bool = False


@dataclass(frozen=True)
class Case:
    value: int
    body: Body
    falls: bool


@dataclass(frozen=True)
class Switch:
    on: Expr
    cases: tuple[Case, ...]
    default: Body


@dataclass(frozen=True)
class Break:
    pass


@dataclass(frozen=True)
class Continue:
    pass


@dataclass(frozen=True)
class Return:
    """The end of a kernel, or of a function with its value."""

    value: Expr | None = None


@dataclass(frozen=True)
class Sync:
    """`__syncthreads()`."""


@dataclass(frozen=True)
class Warp:
    """A variable gets what an operation of all 32 lanes gives: a shuffle, a vote, a match or a reduction."""

    name: str
    type: Type
    operation: str
    value: Expr
    other: Expr | None = None
    """The lane, the distance or the mask of a shuffle."""
    width: int = 32


@dataclass(frozen=True)
class Access:
    """One load, store or atomic operation of one cell, at `buffer + index * cell.bytes`.

    A load is added to `acc`, or is what a variable `into` becomes. A store writes a cell made of `value`.
    """

    number: int
    kind: str
    """ld, st or atom."""
    space: str
    """global or shared."""
    buffer: str
    """A pointer argument, a pointer variable, or a shared array."""
    cell: Cell
    index: Expr
    value: Expr | None = None
    into: str = ""
    decides: bool = False
    """True if addresses and branches may use `into`; else it is data alone."""
    way: str = ""
    """plain, volatile or fenced."""
    operation: str = ""
    """The function of an atomic operation."""
    used: bool = True
    """True if the result of an atomic operation is added to `acc`."""
    pointer: bool = False
    """True to print a byte offset and a cast in place of an index."""


@dataclass(frozen=True)
class Point:
    """A new pointer variable, `offset` bytes into a buffer."""

    name: str
    buffer: str
    offset: Expr


@dataclass(frozen=True)
class Step:
    """A pointer variable moves by so many bytes."""

    name: str
    by: int


@dataclass(frozen=True)
class Local:
    """A new array of a thread's own, of words that begin as 0."""

    name: str
    length: int


@dataclass(frozen=True)
class LocalStore:
    name: str
    index: Expr
    value: Expr


@dataclass(frozen=True)
class LocalLoad:
    """A word of a local array is added to `acc`, or is what a variable becomes."""

    name: str
    index: Expr
    into: str = ""


@dataclass(frozen=True)
class Call:
    """A variable gets what a function returns, or `acc` grows by it."""

    name: str
    type: Type
    function: str
    operands: tuple[Expr | str, ...]
    """Expressions, and names of buffers."""


Control: TypeAlias = If | For | While | Switch | Break | Continue | Return | Sync
Statement: TypeAlias = (
    Declare | Assign | Control | Warp | Access | Point | Step | Local | LocalStore | LocalLoad | Call
)
Body: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True)
class Parameter:
    """A pointer to bytes where the type is None, otherwise a number; with the value that a launch gives."""

    name: str
    type: Type | None
    value: int
    size: int = 0
    """The bytes of a buffer."""
    written: bool = True
    """True for a buffer that the kernel may store to."""
    restrict: bool = False


@dataclass(frozen=True)
class Function:
    """A function of the device that is not inlined."""

    name: str
    type: Type
    parameters: tuple[Parameter, ...]
    body: Body


@dataclass(frozen=True)
class Kernel:
    """A kernel, and one launch of it."""

    name: str
    parameters: tuple[Parameter, ...]
    functions: tuple[Function, ...]
    static: int
    """Bytes of the shared array `fixed`; 0 without one."""
    dynamic: int
    """Bytes of the shared array `given`, which the launch gives; 0 without one."""
    body: Body
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    way: str
    """The way of its accesses: plain, volatile or fenced."""
    hangs_on_data: bool
    """True if a loaded value may decide an address or a branch."""
    warps: bool
    """True if it has warp operations."""
    seed: int = 0

    @property
    def threads(self) -> int:
        """The threads of a block."""
        x, y, z = self.block
        return x * y * z


# -- printing --------------------------------------------------------------------------------------


@dataclass
class Source:
    """Lines of C++, and the line of each access, counted from 1."""

    text: list[str] = field(default_factory=list)
    lines: dict[int, int] = field(default_factory=dict)

    def add(self, depth: int, line: str) -> None:
        """Add a line."""
        self.text.append(INDENT * depth + line)


def constant(value: int, type: Type) -> str:
    """Return a literal that has the type."""
    if type.signed and value == -(1 << (type.bits - 1)):
        return f"({constant(value + 1, type)} - 1)"
    suffix = {I32: "", U32: "u", I64: "ll", U64: "ull"}[type]
    return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"


def expression(it: Expr) -> str:
    """Return an expression as C++, in parentheses where it has parts."""
    match it:
        case Const(value, type):
            return constant(value, type)
        case Name(name):
            return name
        case Binary(operator, left, right, type, fits):
            a, b = expression(left), expression(right)
            if type.signed and operator in ("+", "-", "*", "<<") and not fits:
                word = type.unsigned.word
                b = b if operator == "<<" else f"({word}){b}"
                return f"({type.word})(({word}){a} {operator} {b})"
            return f"({a} {operator} {b})"
        case Unary(operator, operand, type):
            if operator == "-" and type.signed:
                return f"({type.word})(0u - ({type.unsigned.word}){expression(operand)})"
            return f"({operator}{expression(operand)})"
        case Compare(operator, left, right) | Logic(operator, left, right):
            return f"({expression(left)} {operator} {expression(right)})"
        case Select(condition, yes, no):
            return f"({expression(condition)} ? {expression(yes)} : {expression(no)})"
        case Cast(operand, type, through):
            inner = f"({through.word}){expression(operand)}" if through else expression(operand)
            return f"(({type.word}){inner})"
        case Intrinsic(name, operands):
            return f"{name}({', '.join(map(expression, operands))})"


def statement(it: Statement, source: Source, depth: int) -> None:
    """Add the lines of a statement."""
    match it:
        case Declare(name, type, value):
            source.add(depth, f"{type.word} {name} = {expression(value)};")
        case Assign(name, _, value):
            source.add(depth, f"{name} = {expression(value)};")
        case If(condition, then, other):
            source.add(depth, f"if ({expression(condition)}) {{")
            body(then, source, depth + 1)
            if other:
                source.add(depth, "} else {")
                body(other, source, depth + 1)
            source.add(depth, "}")
        case For(name, type, start, test, following, inner, unroll):
            if unroll:
                source.add(depth, f"#pragma {unroll}")
            steps = f"{expression(test)}; {name} = {expression(following)}"
            source.add(depth, f"for ({type.word} {name} = {expression(start)}; {steps}) {{")
            body(inner, source, depth + 1)
            source.add(depth, "}")
        case While(fuel, _, following, inner, at_end):
            source.add(depth, "do {" if at_end else f"while ({fuel} != 0) {{")
            source.add(depth + 1, f"{fuel} = {expression(following)};")
            body(inner, source, depth + 1)
            source.add(depth, f"}} while ({fuel} != 0);" if at_end else "}")
        case Switch(on, cases, default):
            source.add(depth, f"switch ({expression(on)}) {{")
            for case in cases:
                source.add(depth, f"case {case.value}: {{")
                body(case.body, source, depth + 1)
                source.add(depth, "}" if case.falls else "} break;")
            source.add(depth, "default: {")
            body(default, source, depth + 1)
            source.add(depth, "}")
            source.add(depth, "}")
        case Break():
            source.add(depth, "break;")
        case Continue():
            source.add(depth, "continue;")
        case Return(value):
            source.add(depth, f"return {expression(value)};" if value else "return;")
        case Sync():
            source.add(depth, "__syncthreads();")
        case Warp():
            source.add(depth, f"{it.name} = {warp_call(it)};")
        case Access():
            source.add(depth, access(it))
            source.lines[it.number] = len(source.text)
        case Point(name, buffer, offset):
            source.add(depth, f"unsigned char *{name} = (unsigned char *){buffer} + {expression(offset)};")
        case Step(name, by):
            source.add(depth, f"{name} += {by};")
        case Local(name, length):
            source.add(depth, f"unsigned {name}[{length}] = {{}};")
        case LocalStore(name, index, value):
            source.add(depth, f"{name}[{expression(index)}] = {expression(value)};")
        case LocalLoad(name, index, into):
            source.add(depth, f"{into + ' =' if into else 'acc +='} {name}[{expression(index)}];")
        case Call(name, _, function, operands):
            given = ", ".join(
                f"(unsigned char *){one}" if isinstance(one, str) else expression(one) for one in operands
            )
            source.add(depth, f"{name} {'+=' if name == 'acc' else '='} {function}({given});")


def body(statements: Body, source: Source, depth: int) -> None:
    """Add the lines of statements."""
    for it in statements:
        statement(it, source, depth)


def warp_call(it: Warp) -> str:
    """Return the call of a warp operation."""
    operands = [expression(it.value)]
    if it.other is not None:
        operands.append(expression(it.other))
        if it.width != 32:
            operands.append(str(it.width))
    return f"{it.operation}(0xffffffffu, {', '.join(operands)})"


def access(it: Access) -> str:
    """Return the line of an access, in macros that `prelude` defines."""
    word, index, volatile = it.cell.word, expression(it.index), it.way == "volatile"
    place = f"{it.buffer}, {index}"
    if it.pointer:
        place = f"{it.buffer} + {index} * {it.cell.bytes}, 0"
    fence = " FENCE;" if it.way == "fenced" else ""
    suffix = f"_{word}_{it.space.upper()}" if it.cell.vector else f"_{word}" if word in STRUCTS else ""
    if it.kind == "ld":
        if volatile and suffix:
            got = f"GET{suffix}(got, {place})"
            return f"{{ unsigned got; {got}; {use('got', it)} }}"
        at = f"{'VOLATILE_AT' if volatile else 'AT'}({word}, {place})"
        return f"{use(f'folded({at})', it)}{fence}"
    assert it.value is not None
    value = expression(it.value)
    if it.kind == "st":
        if volatile and suffix:
            return f"PUT{suffix}({place}, {value});"
        at = f"{'VOLATILE_AT' if volatile else 'AT'}({word}, {place})"
        return f"{at} = {made(word, value)};{fence}"
    more = f", {expression(Binary('^', it.value, Const(1, it.value.type), it.value.type))}"
    more = more if it.operation == "atomicCAS" else ""
    call = f"ATOMIC({it.operation}, {word}, {place}, {made(word, value)}{more})"
    return f"{use(f'folded({call})', it) if it.used else call + ';'}{fence}"


STRUCTS = ("Two", "Three", "Four")


def use(value: str, it: Access) -> str:
    """Return the statement that keeps a loaded value alive."""
    if not it.into:
        return f"acc += {value};"
    return f"{it.into} = {value}; acc += {it.into};"


def made(word: str, value: str) -> str:
    """Return a cell made of a number."""
    if word in STRUCTS or word.startswith("uint"):
        return f"made_{word}((unsigned){value})"
    if word == "float":
        return f"(float)(int){value}"
    if word == "unsigned long long":
        return f"(unsigned long long){value} * 0x100000001ull"
    return f"({word}){value}"


def source(kernel: Kernel) -> Source:
    """Return the text of a kernel and of its functions, without the prelude."""
    made = Source()
    for function in kernel.functions:
        head = ", ".join(map(parameter, function.parameters))
        made.add(0, f"__device__ __noinline__ {function.type.word} {function.name}({head})")
        made.add(0, "{")
        body(function.body, made, 1)
        made.add(0, "}")
    head = ", ".join(map(parameter, kernel.parameters))
    made.add(0, f'extern "C" __global__ void {kernel.name}({head})')
    made.add(0, "{")
    if kernel.static:
        made.add(1, f"FIXED({kernel.static});")
    if kernel.dynamic:
        made.add(1, "GIVEN;")
    body(kernel.body, made, 1)
    made.add(0, "}")
    return made


def parameter(it: Parameter) -> str:
    """Return a parameter of a kernel or of a function as C++."""
    if it.type is not None:
        return f"{it.type.word} {it.name}"
    const = "" if it.written or not it.restrict else "const "
    return f"{const}unsigned char *{'__restrict__ ' if it.restrict else ''}{it.name}"
