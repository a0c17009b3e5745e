"""The integers, addresses and masks of a module: what its operations compute, as arrays.

Values follow from the arguments of the kernel, in the order of the lines: loops are entered once, at their
first turn, or at the turn after one whose values are known. A value that depends on memory, or on an
operation that is not here, is unknown. An extent along which nothing changes stays 1, whatever the type says;
a number is an array of one.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tilewise.compiled.ttgir.text import Op
from tilewise.compiled.ttgir.types import BYTE, TypeInText
from tilewise.core.errors import LayoutError
from tilewise.notation.dialects.values import element_type

IntArray = np.ndarray[Any, np.dtype[np.int64]]

MOST_ELEMENTS = 1 << 22
"""The most elements of an array; a larger one is unknown."""
MOST_WORK = 1 << 26
"""The most elements of all arrays together."""
GENERIC = 1 << 12
"""Arguments that nobody gives are this number and their divisor: 4112 if 16 divides them, otherwise 4097."""

_ARGUMENT = re.compile(r"%([\w$.-]+): (!tt\.ptr<([\w!.<>]+?)(?:, \d+)?>|i\d+)(?: \{([^{}]*)\})?")
_DIVISOR = re.compile(r"tt\.divisibility = (\d{1,9})\b")
_CONSTANT = re.compile(r"(?:dense<)?(-?\d{1,18}|true|false)(?=>| :|$)")
_RANGE = re.compile(r"(end|start) = (\d{1,9})\b")


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """An argument of a kernel: an integer, or a pointer to elements."""

    name: str
    divisor: int
    """The number that divides it, as `tt.divisibility` says; 1 where it does not."""
    bytes: int
    """Bytes of an element that it points to; 0 of integers."""


@dataclass(frozen=True, slots=True)
class Pointers:
    """Addresses: bytes behind the pointer that is an argument of this name."""

    base: str
    bytes: int
    """Bytes of an element."""
    offset: IntArray

    def behind(self, elements: IntArray) -> Pointers:
        """Return the addresses that lie so many elements behind these."""
        return replace(self, offset=self.offset + elements * self.bytes)


@dataclass(frozen=True, slots=True)
class Mask:
    """Truth values, and the margins by which they hold: they change where one of these passes 0."""

    holds: np.ndarray[Any, np.dtype[np.bool_]]
    margins: tuple[IntArray, ...] = ()


Known: TypeAlias = IntArray | Pointers | Mask

_COMPARED: Mapping[str, tuple[Callable[[Any, Any], Any], int, int]] = {
    "lt": (operator.lt, 1, 0),
    "ge": (operator.ge, 1, 0),
    "le": (operator.le, 1, 1),
    "gt": (operator.gt, 1, 1),
    "eq": (operator.eq, 1 << 20, 0),
    "ne": (operator.ne, 1 << 20, 0),
}
"""{predicate: (the comparison, the factor and what is taken off the difference for its margin)}.

An equality holds at one point alone: the factor lets its margin pass 0 at every step.
"""
_PREDICATE = re.compile(r"\s*[su]?(lt|ge|le|gt|eq|ne),")


def _quotient(one: IntArray, other: IntArray) -> IntArray:
    """Return the quotient, rounded towards 0 as the hardware has it."""
    quotient = abs(one) // abs(other)
    return np.where((one < 0) != (other < 0), -quotient, quotient)


_COMPUTED: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": _quotient,
    "rem": lambda one, other: one - other * _quotient(one, other),
    "min": np.minimum,
    "max": np.maximum,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "shr": operator.rshift,
}
"""{operation without its sign and type: what it computes}."""
_NAMED = re.compile(r"(\w+?)[su]?i$")
_SAME = ("extsi", "extui", "trunci", "index_cast", "convert_layout", "broadcast", "bitcast")


def arguments_of(ops: Sequence[Op]) -> dict[str, KernelArgument]:
    """Return the arguments of the first function, by their names.

    >>> of = "%a: !tt.ptr<f16> {tt.divisibility = 16 : i32} loc(#l), %n: i32 loc(#l)) {"
    >>> [*arguments_of([Op("tt.func", of, 1)]).values()]
    [KernelArgument(name='a', divisor=16, bytes=2), KernelArgument(name='n', divisor=1, bytes=0)]
    """
    found = {}
    function = next((op.text for op in ops if op.name.endswith(".func")), "")
    for name, kind, element, attributes in _ARGUMENT.findall(function):
        divisor = _DIVISOR.search(attributes)
        size = _bytes_of(element) if kind[0] == "!" else 0
        found[name] = KernelArgument(name, max(1, int(divisor[1])) if divisor else 1, size)
    return found


def given(arguments: Mapping[str, KernelArgument], let: Mapping[str, int]) -> dict[str, int]:
    """Return the values of the integer arguments: those given, and others that their divisors allow.

    refused  TW007 a name that no argument has; TW401 a number that is not divided as the module says
    """
    values = {own.name: GENERIC + own.divisor for own in arguments.values() if not own.bytes}
    for name, value in let.items():
        if name not in values:
            known = " ".join(values) or "the kernel has none"
            raise LayoutError("TW007", f"{name} is no integer argument of the kernel", hint=f"known: {known}")
        if value % arguments[name].divisor or abs(value) >= 1 << 31:
            message = f"{name} = {value} is no multiple of {arguments[name].divisor} with 32 bits"
            raise LayoutError("TW401", message, hint="the kernel was compiled for multiples: tt.divisibility")
        values[name] = value
    return values


class Values:
    """The values of one turn through a module.

    Loops have their first turn, or with `before` the turn after it. With `odd`, pointers and numbers of
    programs are the least that is promised of them, so that what divides them divides them in all programs;
    otherwise they are 0.
    """

    def __init__(
        self,
        ops: Sequence[Op],
        types_of: Callable[[Op], Iterable[TypeInText]],
        numbers: Mapping[str, int],
        *,
        odd: bool = False,
        before: Values | None = None,
    ) -> None:
        self._types_of, self._odd, self._before = types_of, odd, before
        self._known: dict[str, Known] = {}
        self._carried: dict[str, Known | None] = {}
        self._work = MOST_WORK
        for name, own in arguments_of(ops).items():
            start = np.array([max(own.divisor, own.bytes) if odd else 0], np.int64)
            number = np.array([numbers.get(name, 0)], np.int64)
            self._known[f"%{name}"] = Pointers(name, own.bytes, start) if own.bytes else number
        with np.errstate(all="ignore"):
            for op in ops:
                if op.name == "scf.for":
                    self._enter(op)
                elif op.name == "scf.yield" and op.inside is not None:
                    self._carried.update(
                        zip(op.inside.arguments[1:], map(self.get, op.operands), strict=False)
                    )
                elif len(op.results) == 1 and self._work > 0:
                    self._keep(op.results[0], self._result(op, [self.get(name) for name in op.operands]))

    def get(self, name: str) -> Known | None:
        """Return a value, or None where it is unknown."""
        return self._known.get(name)

    def _keep(self, name: str, value: Known | None) -> None:
        size = 0 if value is None else _array(value).size
        self._work -= size
        if value is not None:
            self._known[name] = value

    def _enter(self, loop: Op) -> None:
        """Let the counter, and what a loop carries, have the values of its turn."""
        known: list[Known | None] = [*map(self.get, loop.operands), None, None, None]
        first, _, step, *carried = known
        counter, *names = loop.arguments or ("",)
        if self._before is not None:
            carried = [self._before._carried.get(name) for name in names]
            numbers = isinstance(first, np.ndarray) and isinstance(step, np.ndarray)
            first = first + step if numbers else None  # type: ignore[operator]
        for name, value in zip((counter, *names), (first, *carried), strict=False):
            self._keep(name, value)

    def _result(self, op: Op, of: Sequence[Known | None]) -> Known | None:
        """Return what an operation computes, or None where that is unknown."""
        short, known = op.name.rpartition(".")[2], [one for one in of if one is not None]
        if not of:
            return self._made(short, op)
        if len(known) != len(of) or not _meeting(known):
            return None
        one, *others = known
        if short in _SAME:
            return one
        if not others:
            axis, rank = re.search(r"axis = (\d)\b", op.text), len(self._shape(op))
            if short == "splat" and _array(one).size == 1:
                return _mapped(one, lambda array: array.reshape((1,) * rank))
            if short == "expand_dims" and axis and int(axis[1]) <= _array(one).ndim:
                return _mapped(one, lambda array: np.expand_dims(array, int(axis[1])))
            return None
        match one, others[0], others[-1]:
            case Mask(), Mask() as other, _ if short == "andi":
                return Mask(one.holds & other.holds, one.margins + other.margins)
            case Mask(), np.ndarray() as other, np.ndarray() as third if short == "select":
                return np.where(one.holds, other, third)
            case Pointers(), np.ndarray() as other, _ if short == "addptr":
                return one.behind(other)
            case np.ndarray(), np.ndarray() as other, _ if short == "cmpi" and (
                kind := _PREDICATE.match(op.text)
            ):
                compare, factor, less = _COMPARED[kind[1]]
                return Mask(compare(one, other), ((one - other) * factor - less,))
            case np.ndarray(), np.ndarray() as other, _ if named := _NAMED.match(short):
                compute = _COMPUTED.get(named[1])
                if compute is not None and (named[1] not in ("div", "rem") or other.all()):
                    computed: IntArray = compute(one, other)
                    return computed
        return None

    def _made(self, short: str, op: Op) -> Known | None:
        """Return a value that no other makes."""
        found, flat = _CONSTANT.match(op.text.strip()), (1,) * max(1, len(self._shape(op)))
        match short:
            case "get_program_id":
                return np.array([int(self._odd)], np.int64)
            case "get_num_programs":
                return np.array([GENERIC], np.int64)
            case "make_range":
                ends = {name: int(number) for name, number in _RANGE.findall(op.text)}
                start, end = ends.get("start", 0), ends.get("end", 0)
                return np.arange(start, end) if 0 < end - start <= MOST_ELEMENTS else None
            case "constant" if found and found[1] in ("true", "false"):
                return Mask(np.full(flat, found[1] == "true"))
            case "constant" if found:
                return np.full(flat, int(found[1]), np.int64)
        return None

    def _shape(self, op: Op) -> Sequence[int]:
        """Return the extents of the result; () of one number."""
        return [(), *(written.shape for written in self._types_of(op))][-1]


def _meeting(known: Sequence[Known]) -> bool:
    """Return True if arrays go together, and are no more than can be listed."""
    try:
        return prod(np.broadcast_shapes(*(_array(one).shape for one in known))) <= MOST_ELEMENTS
    except ValueError:
        return False


def _mapped(value: Known, change: Callable[[Any], Any]) -> Known:
    """Return a value with its arrays in another shape."""
    match value:
        case Pointers():
            return replace(value, offset=change(value.offset))
        case Mask():
            return Mask(change(value.holds), tuple([change(margin) for margin in value.margins]))
    found: IntArray = change(value)
    return found


def _array(value: Known) -> Any:
    match value:
        case Pointers():
            return value.offset
        case Mask():
            return value.holds
    return value


def _bytes_of(element: str) -> int:
    """Return the bytes of an element in memory; 8 of pointers, and of what is not known here."""
    kind = element_type(element)
    return 8 if kind is None else max(1, kind.bits // BYTE)
