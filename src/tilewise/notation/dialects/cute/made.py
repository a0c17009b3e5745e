"""The layouts that types and calls of CuTe make, in C++ and in Python.

    term     =  factor { "*" factor } [ "*" ... ]            a pointer's stars, where no factor follows
    factor   =  "-" factor  |  digits  |  "(" terms ")"  |  word [ "<" terms ">" ] [ given ]
    given    =  "{" arguments "}"  |  "(" arguments ")"
    argument =  [ name "=" ] term

Namespaces, modules, `const`, `&` and casts of numbers, `(int)8`, are left out: compilers print them. A type
makes the layout of its call: `Layout<Shape<_8,_4>,Stride<_4,_1>>` is `make_layout(Shape<_8,_4>{},
Stride<_4,_1>{})`. Without strides the leftmost digit is the fastest. The meaning of the words is in
CUTLASS: include/cute/layout.hpp, swizzle_layout.hpp, pointer_flagged.hpp, and python/pycute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import zip_longest
from math import prod
from typing import Any

from tilewise.core.builders import dense
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int, counted
from tilewise.core.layout import Layout
from tilewise.core.shapes import as_shape, leaves
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector, as_vector
from tilewise.notation.cute import CUTE_OPERATIONS
from tilewise.notation.dialects.cute.printed import along_basis, coordinate, nested_basis, static
from tilewise.notation.dialects.given import Reading
from tilewise.notation.dialects.values import Item, Value, Written, between, values
from tilewise.notation.elements import element_of
from tilewise.notation.tokens import NAME, Token
from tilewise.notation.trees import NumberCursor

_LEFT_OUT = ("const", "constexpr", "volatile", "typename", "struct", "class", "auto", "static", "&")
_SEVERAL = ("unsigned", "signed", "long", "short")
_CASTS = ("int", "unsigned int", "long", "unsigned long", "size_t")
_SUFFIXES = ("u", "l", "ul", "lu", "ll", "ull", "z", "uz")
_TUPLES = (
    *("tuple", "Shape", "Stride", "Step", "Coord", "ArithmeticTuple"),
    *("make_tuple", "make_shape", "make_stride", "make_step", "make_coord"),
)
_CONSTANTS = ("Int", "C", "constant", "integral_constant", "smem_ptr_flag_bits")
_DYNAMIC = ("size_t", "Int32", "Int64")
_LEFT = ("LayoutLeft", "GenColMajor")
_RIGHT = ("LayoutRight", "GenRowMajor")
_LAYOUTS = {
    "Layout": ("shape", "stride"),
    "make_layout": ("shape", "stride"),
    "make_ordered_layout": ("shape", "order"),
    "make_identity_layout": ("shape",),
    "make_identity_tensor": ("shape",),
    "ComposedLayout": ("inner", "offset", "outer"),
    "make_composed_layout": ("inner", "offset", "outer"),
    "composition": ("inner", "offset", "outer"),
    "Tensor": ("engine", "layout"),
}
"""Words that make a layout, and the names of their parameters."""
_BASES = ("E", "ScaledBasis")
_SWIZZLES = ("Swizzle", "make_swizzle")


@dataclass(slots=True, eq=False)
class _Call(Written):
    """A word without its namespaces, and the items of its brackets."""

    name: str
    angle: tuple[Item, ...] | None
    """The items in < >."""
    given: tuple[Item, ...] | None
    """The items in ( ) or { }."""

    @property
    def items(self) -> tuple[Item, ...]:
        """Return the items of a call, or of the type that it calls: `Shape<_8,_4>{}` is made of two."""
        return self.given or self.angle or ()


def _call(words: Sequence[Value]) -> _Call:
    """Return values as one word with its brackets."""
    first, *rest = _said(words)
    last = first
    if first.kind != NAME:
        raise first.error("TW004", f"expected a word or a number, found {first}")
    while len(rest) > 1 and rest[0].text == "::":
        _, last, *rest = rest
    name = last.name
    while last.text in _SEVERAL and rest and rest[0].text in (*_SEVERAL, "int", "char"):
        last, *rest = rest
        name = f"{name} {last.text}"
    angle = given = None
    if rest and rest[0].text == "<":
        last, *rest = rest
        angle = last.items
    if rest and rest[0].text in ("(", "{"):
        last, *rest = rest
        given = last.items
    _check_end(rest)
    return _Call(first.source, between(first, last).span, name, angle, given)


def _said(words: Sequence[Value]) -> list[Value]:
    """Return the words of a layout, without qualifiers and the stars of pointers."""
    found = [word for word in words if word.text not in _LEFT_OUT]
    while len(found) > 1 and found[-1].text == "*":
        found.pop()
    if not found:
        raise words[-1].error("TW004", f"expected a word or a number after {words[-1]}")
    return found


def _check_end(rest: Sequence[Value]) -> None:
    if rest:
        raise rest[0].error("TW004", f"expected an end or ',' before {rest[0]}")


@dataclass(slots=True)
class Maker:
    """One type or call, and the layout that it makes."""

    cursor: NumberCursor
    unit: str = "element"
    dtype: DType | None = None

    def reading(self) -> Reading:
        """Return the layout of the whole text."""
        if self.unit != "element":
            hint = f"drop --unit {self.unit}"
            raise self.cursor.error("TW106", "a type or a call counts elements", hint=hint)
        words = [*values(self.cursor)]
        while words[-1].text in (";", "]") and len(words) > 1:
            words.pop()
        if len(words) > 2 and words[-2].kind == NAME and words[-1].text == "{" and not words[-1].items:
            words.pop()
        if len(words) > 1 and words[-1].kind == NAME and words[-2].text == "<":
            on_the_line = "\n" not in self.cursor.source[words[-2].span[1] : words[-1].span[0]]
            words = words[:-1] if on_the_line else words  # the variable of that type
        return Reading(self.layout(words), self.dtype)

    # -- tuples and numbers --------------------------------------------------------------------------

    def value(self, words: Sequence[Value]) -> Any:
        """Return a number, a stride, a tuple of them, an order by its name, a swizzle, or a layout."""
        where = between(words[0], words[-1])
        factors: list[list[Value]] = [[]]
        for word in _said(words):
            factors[-1].append(word)
            if word.text == "*":
                factors[-1].pop()
                factors.append([])
        if not all(factors):
            raise where.error("TW004", f"expected a number beside each * in {where}")
        if len(factors) > 1:
            return self.product(where, [self.value(factor) for factor in factors])
        first, *rest = factors[0]
        if first.text == "-" and rest and rest[0].text != "-":
            return self.product(where, [-1, self.value(rest)])
        if first.number is not None:
            if rest and rest[0].text.lower() in _SUFFIXES and rest[0].span[0] == first.span[1]:
                rest.pop(0)
            _check_end(rest)
            return first.number
        if first.text == "(":
            inner = first.items[0].values if len(first.items) == 1 and not first.items[0].key else ()
            if rest and " ".join(word.text for word in inner) in _CASTS:
                return self.value(rest)
            _check_end(rest)
            if inner and first.spelled[:-1].rstrip()[-1:] != ",":  # `(8)` is 8
                return self.value(inner)
            return self.entries(first.items)
        call = _call(factors[0])
        with call.blame():
            return self.made(call)

    def product(self, where: Written, factors: Sequence[Any]) -> Any:
        """Return the product of numbers, and of one stride at most."""
        numbers = [factor for factor in factors if isinstance(factor, int)]
        strides = [factor for factor in factors if isinstance(factor, Vector)]
        if len(numbers) < len(factors) - 1 or len(numbers) + len(strides) < len(factors):
            raise where.error("TW004", f"expected a product of numbers, found {where}")
        with where.blame():
            many = as_int(prod(numbers), "a product")
        return strides[0] * many if strides else many

    def entries(self, items: Sequence[Item]) -> tuple[Any, ...]:
        """Return the entries of a tuple."""
        found = []
        for item in items:
            if item.key:
                raise item.error("TW004", "a tuple has no names")
            found.append(self.value(item.values))
            if not isinstance(found[-1], int | Vector | tuple):
                raise item.error("TW004", f"expected a number, found {item}", "such as Int<8>{}")
        return tuple(found)

    def made(self, call: _Call) -> Any:
        """Return the value of a word and its brackets."""
        name, items = call.name, call.items
        if name == "decltype" and len(items) == 1:
            return self.value(items[0].values)
        if name in _CONSTANTS and items:
            return self.number(items[-1])
        if name in _LEFT + _RIGHT:
            return name
        if name in _LAYOUTS or name in CUTE_OPERATIONS:
            return self.called(call)
        if name in _TUPLES:
            return self.entries(items)
        if name in _BASES:
            scaled = name == "ScaledBasis" and bool(items)
            if len(items) != 1 + scaled:
                raise nested_basis(self.cursor, call.span)
            return along_basis(self.number(items[-1]), self.number(items[0]) if scaled else 1)
        if name in _SWIZZLES:
            return self.swizzle(call)
        if (value := static(self.cursor, name)) is not None:
            return value
        if name not in self.cursor.names.values:
            if name in _DYNAMIC or element_of(name) is not None:
                hint = "print the layout where it runs, or write a name and give it a value: --let"
                raise call.error("TW007", f"{name} is dynamic: its type has no value", hint)
            if name in ("_", "Underscore"):
                hint = "give the layout before it is sliced, or the result"
                raise call.error("TW008", "'_' keeps a mode whole in a slice, and is no number", hint)
            if call.angle is not None or call.given is not None:
                near = get_close_matches(name, _LAYOUTS, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(_LAYOUTS)}"
                raise call.error("TW002", f"'{name}' makes no layout and no number", hint)
        return self.cursor.names.number(self.cursor, Token(NAME, name, *call.span))

    def number(self, item: Item) -> int:
        """Return the number of `8`, `_8`, `Int<8>{}`, `cute::C<8>`, a product, or a name with a value."""
        found = self.value(item.values)
        if not isinstance(found, int):
            raise item.error("TW004", f"expected a number, found {item}", "such as Int<8>{}")
        return found

    def swizzle(self, call: _Call) -> Swizzle:
        """Return the swizzle of `Swizzle<3,4,3>` or `make_swizzle(3, 4, 3)`."""
        if call.name not in _SWIZZLES or len(call.items) != 3:
            hint = "such as Swizzle<3,4,3> or make_swizzle(3, 4, 3)"
            raise call.error("TW004", "expected a swizzle of three numbers: B, M, S", hint)
        with call.blame():
            bits, base, shift = map(self.number, call.items)
            return Swizzle(bits, base, shift)

    # -- layouts -----------------------------------------------------------------------------------

    def layout(self, words: Sequence[Value]) -> Layout:
        """Return the layout that a type or a call makes."""
        found = self.value(words)
        if not isinstance(found, Layout):
            where = between(words[0], words[-1])
            raise where.error("TW002", f"{where} makes no layout", f"known: {', '.join(_LAYOUTS)}")
        return found

    def called(self, call: _Call) -> Layout:
        """Return the layout of a type or a call that is known to make one."""
        if call.name == "make_layout" and call.items:
            first = self.value(call.items[0].values)
            if isinstance(first, Layout):
                return self.concatenated(call, first)
        given = self.arguments(call)
        if "engine" in given:
            return self.tensor(_call(given["engine"].values), self.layout(given["layout"].values))
        if "inner" in given:
            return self.composed(given["inner"], given.get("offset"), given["outer"])
        shape = self.value(given["shape"].values)
        modes = as_shape(shape)
        steps = given.get("stride", given.get("order"))
        stride = _LEFT[0] if steps is None else self.value(steps.values)
        if "identity" in call.name:
            if isinstance(shape, tuple) and any(isinstance(mode, tuple) for mode in modes):
                raise nested_basis(self.cursor, given["shape"].span)
            stride = tuple(along_basis(mode, 1) for mode in range(len(modes)))
            stride = stride if isinstance(shape, tuple) else _LEFT[0]
        if stride in _LEFT:
            return dense(modes, order="cute")
        if stride in _RIGHT:
            return dense(modes, range(len([*leaves(modes)]), 0, -1), order="cute")
        with (steps or call).blame():
            if "order" in given:
                return dense(modes, _ranks(shape, stride), order="cute")
            return Layout(modes, tuple(_paired(shape, stride)), order="cute")

    def arguments(self, call: _Call) -> dict[str, Item]:
        """Return the items of a call, by the names of its parameters."""
        if call.name not in _LAYOUTS:
            hint = "print its result, and give that"
            raise call.error("TW008", f"{call.name} computes a layout, which is not done here", hint)
        parameters = _LAYOUTS[call.name]
        if call.name == "composition" and len(call.items) == 2:
            parameters = ("inner", "outer")
        takes = f"{call.name} takes {', '.join(parameters)}, each once"
        given: dict[str, Item] = {}
        for name, item in zip_longest(parameters, call.items):
            if item is None:
                break
            name = item.name or name
            if name not in parameters or name in given or item.sign == ":":
                raise item.error("TW004", takes)
            given[name] = item
        for name in parameters:
            if name not in given and name != "stride":
                raise call.error("TW004", f"{call.name} has no {name}", takes)
        return given

    def concatenated(self, call: _Call, first: Layout) -> Layout:
        """Return the layout of `make_layout(layout, layout)`, with a mode for each."""
        parts = [first, *[self.layout(item.values) for item in call.items[1:]]]
        if any(part.swizzles or part.offset for part in parts) or any(item.key for item in call.items):
            raise call.error("TW008", "layouts with a swizzle are no modes of another")
        shape = tuple([part.shape for part in parts])
        return Layout(shape, tuple([stride for part in parts for stride in part.strides]), order="cute")

    def composed(self, inner: Item, offset: Item | None, outer: Item) -> Layout:
        """Return the layout of `ComposedLayout<Swizzle, offset, Layout>`.

        The offset may be a flag of the bits of an element.
        """
        first = _call(inner.values)
        if first.name in _LAYOUTS:
            hint = "give the result of the composition; of a swizzle and a layout it is read"
            raise first.error("TW008", "two layouts composed are not one layout yet", hint)
        layout = self.layout(outer.values)
        if layout.swizzles:
            raise outer.error("TW008", "a layout that is swizzled is swizzled once more")
        swizzle = self.swizzle(first)
        if offset is not None and "smem_ptr_flag" in offset.spelled:
            bits = self.number(offset) if "smem_ptr_flag_bits" in offset.spelled else 1
            if bits < 1:
                raise offset.error("TW102", f"an element of {bits} bits")
            with first.blame():
                swizzle = swizzle.scaled(8, bits)
        elif offset is not None:
            layout = layout + as_vector(self.number(offset))
        return layout.swizzled((swizzle,))

    def tensor(self, engine: _Call, layout: Layout) -> Layout:
        """Return the layout of `Tensor<ViewEngine<smem_ptr<half_t*>>, Layout<...>>`.

        The swizzle of a pointer acts on bytes.
        """
        swizzle = None
        while engine.angle:
            if engine.name == "ArithmeticTupleIterator":
                return layout + coordinate(self.cursor, self.value(engine.angle[0].values), engine.span)
            if engine.name == "swizzle_ptr":
                swizzle = self.swizzle(_call(engine.angle[0].values))
            engine = _call(engine.angle[-1 if engine.name == "swizzle_ptr" else 0].values)
        self.dtype = element_of(engine.name)
        if swizzle is None:
            return layout
        if self.dtype is None:
            message = f"the bytes of {engine.name} are not known here, and the swizzle acts on bytes"
            raise engine.error("TW105", message)
        return layout.swizzled((swizzle.scaled(8, self.dtype.bits),))


def _ranks(shape: Any, orders: Any) -> list[int]:
    """Return the order of each digit; that of a mode is that of all its digits."""
    modes = shape if isinstance(shape, tuple) else (shape,)
    if isinstance(orders, int):
        return [orders for _ in leaves(modes)]
    named = [*leaves(orders)]
    if len(modes) != len(orders) or len({*named}) < len(named):
        message = f"orders {named} for {len(modes)} modes"
        raise LayoutError("TW003", message, hint="give every mode its own, 0 the fastest")
    return [rank for mode, order in zip(modes, orders, strict=True) for rank in _ranks(mode, order)]


def _paired(shape: Any, strides: Any) -> Iterator[Vector]:
    """Yield the strides of a shape's digits; the nesting must be the same."""
    inner, steps = (_unwrapped(node) for node in (shape, strides))
    if not isinstance(inner, tuple) and not isinstance(steps, tuple):
        yield as_vector(steps)
    elif isinstance(inner, tuple) and isinstance(steps, tuple) and len(inner) == len(steps):
        for mode, step in zip(inner, steps, strict=True):
            yield from _paired(mode, step)
    else:
        extents, given = (len(node) if isinstance(node, tuple) else 1 for node in (inner, steps))
        message = f"the layout has {counted(extents, 'extent')} in {inner} and {counted(given, 'stride')}"
        hint = "write one stride for every extent, in the same nesting; 0 for a digit that does not move"
        raise LayoutError("TW003", message, hint=hint)


def _unwrapped(node: Any) -> Any:
    while isinstance(node, tuple) and len(node) == 1:
        node = node[0]
    return node
