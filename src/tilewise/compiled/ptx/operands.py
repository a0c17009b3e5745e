"""Operands of PTX as functions of the lanes, and the scopes that their names are found in.

%r1  !%p1  %p1|%p2  {%r1, _}  _     registers; `_` takes nothing
0x10  -7  017  12U  0f3F800000      numbers; floats by their bits
tile  tile+16                       the address of a variable
%tid.x  %laneid                     special registers
[%rd1+8]  [tile]                    addresses
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tilewise.compiled.lanes import FALSE, TRUE, UNKNOWN, Entries, LaneReader, Lanes, Taking, Value, applied
from tilewise.compiled.program import Compute
from tilewise.compiled.ptx.specials import special

Kind = type[np.unsignedinteger]

KINDS: dict[int, Kind] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
"""{bits: how NumPy holds so many}."""

TYPE = re.compile(r"(bf|tf|[usbf])(8|16|32|64|128)(x\d)?|pred|[es]\d[mf]\d\w*")
NUMBER = re.compile(r"(-?)(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?")
FLOAT_BITS = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")
NAME = re.compile(r"[%$A-Za-z_][\w$%.]*")
ADDRESS = re.compile(r"\[\s*([^\s+\]-]+)\s*(?:([+-])\s*(-?\w+)\s*)?\]")
NOTHING = "_"


# -- names -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class PtxVariable:
    """A variable, or a parameter of a kernel or a function."""

    name: str
    space: str
    """`shared`, `global`, `local`, `const`, `param`, or `call` for what a call hands over."""
    size: int
    """Its bytes; 0 if the launch decides them."""
    align: int
    content: bytes | None = None
    """Its bytes, where the text has them."""
    address: int = 0
    pointer: bool = False

    def byte(self, number: int) -> str:
        """Return the register that holds a byte of what a call hands over."""
        return f"{self.name}+{number}"


@dataclass(slots=True)
class Scope:
    """A scope: the names that stand between two braces."""

    parent: Scope | None = None
    mark: str = ""
    """Ends the names of registers that are declared here, so that no other scope has them."""
    registers: set[str] = field(default_factory=set)
    ranges: set[str] = field(default_factory=set)
    """Begins of names that numbers end: `%r<9>`."""
    variables: dict[str, PtxVariable] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)
    """{label: the labels that a switch goes to}."""

    def register(self, name: str) -> str:
        """Return the name of a register that no other one has."""
        if NAME.fullmatch(name) is None:
            raise ValueError(name)
        scope = self
        while scope.parent is not None and scope.parent.parent is not None:  # up to that of the whole body
            if name in scope.registers or name.rstrip("0123456789") in scope.ranges:
                break
            scope = scope.parent
        return name + scope.mark

    def outwards(self) -> Iterator[Scope]:
        """Return the scope and those around it, the innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def variable(self, name: str) -> PtxVariable | None:
        """Return a variable, that of the innermost scope."""
        return next((scope.variables[name] for scope in self.outwards() if name in scope.variables), None)

    def label(self, name: str) -> int:
        """Return the instruction behind a label."""
        return next(scope.labels[name] for scope in self.outwards() if name in scope.labels)

    def table(self, name: str) -> list[int]:
        """Return the instructions that a switch goes to."""
        labels = next(scope.tables[name] for scope in self.outwards() if name in scope.tables)
        return [self.label(label) for label in labels]


@dataclass(frozen=True, slots=True)
class Setting:
    """Facts about a kernel that hold for all its instructions."""

    cluster: tuple[int, int, int] = (1, 1, 1)
    windows: tuple[str, ...] = ()
    """The spaces beside global memory that generic addresses may lie in."""


@dataclass(frozen=True, slots=True)
class Words:
    """One instruction by its words: `mad.lo.s32` and its operands."""

    base: str
    parts: tuple[str, ...]
    operands: tuple[str, ...]
    scope: Scope = field(default_factory=Scope)
    setting: Setting = Setting()

    @property
    def types(self) -> list[str]:
        """Return the types among the parts."""
        return [part for part in self.parts if TYPE.fullmatch(part)]

    @property
    def type(self) -> str:
        """Return the last type: that of what is read."""
        return self.types[-1]

    @property
    def width(self) -> int:
        """Return the bits of the last type."""
        return width_of(self.type)

    @property
    def signed(self) -> bool:
        """Return True for a type with a sign."""
        return self.type[0] == "s"

    @property
    def kind(self) -> Kind:
        """Return how NumPy holds the last type."""
        return KINDS[self.width]

    def read(self, place: int, kind: Kind | None = None) -> LaneReader:
        """Return the reader of one operand."""
        return number(self.operands[place], kind or self.kind, self)

    def truth(self, place: int) -> LaneReader:
        """Return the reader of a predicate."""
        return truth(self.operands[place], self)

    def written(self, place: int = 0) -> tuple[str, ...]:
        """Return the registers of an operand that is written: one, `p|q`, or those of a vector."""
        names = re.split(r"[\s,|]+", self.operands[place].strip("{} \t\n"))
        return tuple(self.scope.register(name) for name in names if name != NOTHING)

    def step(self, read: LaneReader) -> Compute:
        """Return the step that writes the first operand."""
        if self.operands[0] == NOTHING:
            return Compute(lambda lanes, where: None, ())
        register = self.scope.register(self.operands[0])
        return Compute(lambda lanes, where: lanes.write(register, read(lanes), where), (register,))

    def result(self, function: Callable[..., Entries], *kinds: Kind) -> Compute:
        """Return the step that writes a function of the other operands; of one kind, if none are named.

        requires     as many operands as the function takes, else an error, here and not when the step is run
        """
        kinds = kinds or (self.kind,) * self.inputs
        reads = [self.read(place, kind) for place, kind in enumerate(kinds, 1)]
        function(*(np.ones(1, kind) for kind in kinds))
        return self.step(lambda lanes: applied(function, *(read(lanes) for read in reads)))

    @property
    def inputs(self) -> int:
        """Return the number of operands behind the first."""
        return len(self.operands) - 1


def width_of(type: str) -> int:
    """Return the bits of a type.

    >>> width_of("u16"), width_of("f16x2"), width_of("bf16")
    (16, 32, 16)
    """
    match = TYPE.fullmatch(type)
    if match is None or match[2] is None:
        raise ValueError(type)
    return int(match[2]) * int((match[3] or "x1")[1:])


def split(text: str) -> tuple[str, ...]:
    """Return the operands of a text, cut at the commas outside of brackets.

    >>> split("{%r1, %r2}, [%rd1+8], 0x10")
    ('{%r1, %r2}', '[%rd1+8]', '0x10')
    """
    if "{" not in text and "[" not in text and "(" not in text:
        return tuple(part.strip() for part in text.split(",")) if text else ()
    parts, depth, begin = [], 0, 0
    for match in re.finditer(r"[\[({\])},]", text):
        letter = match[0]
        if letter in "[({":
            depth += 1
        elif letter != ",":
            depth -= 1
        elif not depth:
            parts.append(text[begin : match.start()].strip())
            begin = match.end()
    return (*parts, text[begin:].strip())


# -- reading ---------------------------------------------------------------------------------------------


def immediate(text: str, kind: Kind = np.uint64) -> int | None:
    """Return a number that stands in the text, floats as their bits.

    >>> immediate("0x10"), immediate("-1"), immediate("017"), immediate("0f3F800000"), immediate("%r1")
    (16, -1, 15, 1065353216, None)
    """
    match = NUMBER.fullmatch(text)
    if match:
        digits = match[2]
        octal = digits[0] == "0" and digits.isdigit()
        size = int(digits, 8) if octal else int(digits, 0)
        return -size if match[1] else size
    match = FLOAT_BITS.fullmatch(text)
    if match:
        return int(match[1] or match[2], 16)
    if re.fullmatch(r"-?\d+\.\d*(?:[eE][-+]?\d+)?", text):
        wide = np.dtype(kind).itemsize == 8
        return int.from_bytes(struct.pack("<d" if wide else "<f", float(text)), "little")
    return None


def number(text: str, kind: Kind, words: Words) -> LaneReader:
    """Return the reader of a number of some width: of a register its low bits, or all it has."""
    given = immediate(text, kind)
    if given is None and text == "WARP_SZ":
        given = 32
    if given is None:
        name, plus, offset = text.partition("+")
        variable = words.scope.variable(name.strip())
        if variable is not None:
            given = variable.address + (immediate(offset.strip()) or 0 if plus else 0)
    if given is not None:
        value = Value.of(given, kind)
        return lambda lanes: value
    read = special(text, words.setting.cluster)
    if read is not None:
        return lambda lanes: cast(read(lanes), kind)
    register = words.scope.register(text)
    return lambda lanes: cast(lanes.registers.get(register, UNKNOWN), kind)


def cast(value: Value, kind: Kind) -> Value:
    """Return the low bits of numbers, filled up with zeros."""
    return value if value.bits.dtype == kind else Value(value.bits.astype(kind), value.unknown)


def truth(text: str, words: Words) -> LaneReader:
    """Return the reader of a predicate: `%p1`, `!%p1`, or 0 and 1."""
    negated = text.startswith("!")
    text = text.lstrip("! ")
    given = immediate(text)
    if given is not None:
        value = FALSE if (given == 0) != negated else TRUE
        return lambda lanes: value
    register = words.scope.register(text)
    if negated:
        return lambda lanes: applied(np.logical_not, lanes.truth(register))
    return lambda lanes: lanes.truth(register)


@dataclass(frozen=True, slots=True)
class Place:
    """An address by its words: `[%rd1+8]`, `[tile]`."""

    base: str
    offset: int

    @classmethod
    def of(cls, text: str) -> Place:
        """Return the words of an address."""
        match = ADDRESS.match(text)
        if match is None:
            raise ValueError(text)
        offset = immediate(match[3]) if match[3] else 0
        if offset is None:
            raise ValueError(text)
        return cls(match[1], -offset if match[2] == "-" else offset)


def address(text: str, words: Words) -> LaneReader:
    """Return the reader of an address, of 64 bits."""
    place = Place.of(text)
    base = number(place.base, np.uint64, words)
    if not place.offset:
        return base
    offset = np.uint64(place.offset & (1 << 64) - 1)
    return lambda lanes: applied(lambda bits: bits + offset, base(lanes))


def write_all(lanes: Lanes, names: Sequence[str], values: Sequence[Value], where: Taking) -> None:
    """Write several registers, after all values were read."""
    for name, value in zip(names, values, strict=True):
        lanes.write(name, value, where)
