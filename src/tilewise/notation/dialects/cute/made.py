"""The layouts that types and calls of CuTe make, in C++ and in Python.

    term     =  factor { "*" factor } [ "*" ... ]            a pointer's stars, where no factor follows
    factor   =  "-" factor  |  digits  |  "(" terms ")"  |  word [ "<" terms ">" ] [ given ]
    given    =  "{" arguments "}"  |  "(" arguments ")"
    argument =  [ name "=" ] term

Namespaces, modules, `const`, `&` and casts of numbers, `(int)8`, are left out: compilers print them. A type
makes what a call of it makes: `Layout<Shape<_8,_4>,Stride<_4,_1>>` is `make_layout(Shape<_8,_4>{},
Stride<_4,_1>{})`. Where no strides are given, the leftmost digit is the fastest. What the words mean is in
CUTLASS: include/cute/layout.hpp, swizzle_layout.hpp, pointer_flagged.hpp, and python/pycute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
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
from tilewise.notation.dialects.cute.printed import along_basis, coordinate, element_of, nested_basis, static
from tilewise.notation.dialects.given import Reading
from tilewise.notation.dialects.values import Value, Written, between, values
from tilewise.notation.tokens import NAME, Token
from tilewise.notation.trees import Reader

_LEFT_OUT = ("const", "constexpr", "volatile", "typename", "struct", "class", "auto", "static", "&")
_SEVERAL = ("unsigned", "signed", "long", "short")
_CASTS = ("int", "unsigned int", "long", "unsigned long", "size_t")
_SUFFIXES = ("u", "l", "ul", "lu", "ll", "ull", "z", "uz")
_TIMES, _TUPLE = "*", "()"
_TUPLES = (
    _TUPLE,
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
"""Words that make a layout, and the names of what is given to them."""
_BASES = ("E", "ScaledBasis")
_SWIZZLES = ("Swizzle", "make_swizzle")


@dataclass(slots=True)
class Term(Written):
    """A word and its brackets, a number, a tuple, or a product."""

    name: str
    """Without namespaces; the digits of a number; that of a tuple or a product."""
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


def term(words: Sequence[Value]) -> Term:
    """Return the term that values are.

    >>> from tilewise.notation.dialects.given import Given
    >>> found = term(values(Given("cute::make_shape(Int<8>{}, _4{})").cursor()))
    >>> found.name, [part.name for part in found.parts]
    ('make_shape', ['Int', '_4'])
    """
    parts: list[list[Value]] = [[]]
    for word in words:
        if word.text == _TIMES:
            parts.append([])
        elif word.text not in _LEFT_OUT:
            parts[-1].append(word)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()  # a pointer
    if not all(parts):
        raise words[-1].error("TW004", f"expected a word or a number beside {words[-1]}")
    factors = tuple(map(_factor, parts))
    where = between(words[0], words[-1]).span
    return factors[0] if len(factors) == 1 else Term(words[0].source, where, _TIMES, given=factors)


def _factor(words: Sequence[Value]) -> Term:
    """Return a number, a tuple, or a word and its brackets, with signs before it."""
    first, *rest = words
    source, span = first.source, between(first, words[-1]).span
    signs = 0
    while first.text == "-" and first.number is None and rest:
        signs += 1
        first, *rest = rest
    if signs:
        minus = Term(source, span, "-1", (-1) ** signs)
        return Term(source, span, _TIMES, given=(minus, _factor([first, *rest])))
    if first.number is not None:
        if rest and rest[0].text.lower() in _SUFFIXES and rest[0].span[0] == first.span[1]:
            rest.pop(0)
        found = Term(source, first.span, first.text, first.number)
    elif first.text == "(":
        parts, named = _listed(first)
        found = Term(source, first.span, _TUPLE, None, None, parts, named)
        if len(parts) == 1 and not named and first.spelled[:-1].rstrip()[-1:] != ",":  # `(8)` is 8
            found = parts[0]
            if rest and found.name in _CASTS:
                return _factor(rest)
    elif first.kind == NAME:
        found, rest = _word(first, rest)
    else:
        raise first.error("TW004", f"expected a word or a number, found {first}")
    if rest:
        raise rest[0].error("TW004", f"expected an end or ',' before {rest[0]}")
    return found


def _word(last: Value, rest: list[Value]) -> tuple[Term, list[Value]]:
    """Return a word without its namespaces, with what its brackets hold, and the values after it."""
    first = last
    while len(rest) > 1 and rest[0].text == "::":
        _, last, *rest = rest
    name = last.name
    while last.text in _SEVERAL and rest and rest[0].text in (*_SEVERAL, "int", "char"):
        last, *rest = rest
        name = f"{name} {last.text}"
    angle = given = None
    named: dict[str, Term] = {}
    if rest and rest[0].text == "<":
        last, *rest = rest
        angle, named = _listed(last)
    if rest and rest[0].text in ("(", "{"):
        last, *rest = rest
        given, named = _listed(last)
    return Term(first.source, between(first, last).span, name, None, angle, given, named), rest


def _listed(brackets: Value) -> tuple[tuple[Term, ...], dict[str, Term]]:
    """Return the terms in brackets, and those with names."""
    parts: list[Term] = []
    named: dict[str, Term] = {}
    for item in brackets.items:
        if item.key is None:
            parts.append(term(item.values))
        elif item.sign == ":" or item.name in named:
            raise item.key.error("TW004", f"{item.key} is given twice, or has no '=' after it")
        else:
            named[item.name] = term(item.values)
    return tuple(parts), named


@dataclass(slots=True)
class Maker:
    """One type or call, and the layout that it makes."""

    cursor: Reader
    unit: str = "element"
    dtype: DType | None = None

    def reading(self) -> Reading:
        """The layout of the whole text."""
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
        return Reading(self.layout(term(words)), self.dtype)

    def value(self, made: Term) -> Any:
        """A number, a stride, a tuple of them, an order by its name, a swizzle, or a layout."""
        name, parts = made.name, made.parts
        if made.number is not None:
            return made.number
        if name in _CONSTANTS and parts:
            return self.number(parts[-1])
        if name in _LEFT + _RIGHT:
            return name
        if name in _LAYOUTS or name in CUTE_OPERATIONS:
            return self.layout(made)
        with made.blame():
            if name == _TIMES:
                factors = sorted(map(self.value, parts), key=lambda factor: isinstance(factor, Vector))
                numbers = [factor for factor in factors[:-1] if isinstance(factor, int)]
                if len(numbers) < len(parts) - 1 or not isinstance(factors[-1], int | Vector):
                    raise made.error("TW004", f"expected a product of numbers, found {made}")
                many = as_int(prod(numbers), "a product")
                last = factors[-1]
                return last * many if isinstance(last, Vector) else as_int(last * many, "a product")
            if name in _TUPLES:
                if made.named:
                    raise made.error("TW004", "a tuple has no names")
                entries = tuple(map(self.value, parts))
                for part, entry in zip(parts, entries, strict=True):
                    if not isinstance(entry, int | Vector | tuple):
                        raise part.error("TW004", f"expected a number, found {part}", "such as Int<8>{}")
                return entries
            if name in _BASES:
                scaled = name == "ScaledBasis" and bool(parts)
                if len(parts) != 1 + scaled:
                    raise nested_basis(self.cursor, made.span)
                return along_basis(self.number(parts[-1]), self.number(parts[0]) if scaled else 1)
            if name in _SWIZZLES:
                return self.swizzle(made)
        if (value := static(self.cursor, name)) is not None:
            return value
        if name not in self.cursor.names.values:
            if name in _DYNAMIC or element_of(name) is not None:
                hint = "print the layout where it runs, or write a name and give it a value: --let"
                raise made.error("TW007", f"{name} is dynamic: its type has no value", hint)
            if name in ("_", "Underscore"):
                hint = "give the layout before it is sliced, or the result"
                raise made.error("TW008", "'_' keeps a mode whole in a slice, and is no number", hint)
            if made.angle is not None or made.given is not None:
                near = get_close_matches(name, _LAYOUTS, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(_LAYOUTS)}"
                raise made.error("TW002", f"'{name}' makes no layout and no number", hint)
        return self.cursor.names.number(self.cursor, Token(NAME, name, *made.span))

    def number(self, made: Term) -> int:
        """`8`, `_8`, `Int<8>{}`, `cute::C<8>`, a product, or a name with a value."""
        found = self.value(made)
        if not isinstance(found, int):
            raise made.error("TW004", f"expected a number, found {made}", "such as Int<8>{}")
        return found

    def swizzle(self, made: Term) -> Swizzle:
        """`Swizzle<3,4,3>` or `make_swizzle(3, 4, 3)`."""
        parts = [*made.parts, *made.named.values()]
        if made.name not in _SWIZZLES or len(parts) != 3:
            hint = "such as Swizzle<3,4,3> or make_swizzle(3, 4, 3)"
            raise made.error("TW004", "expected a swizzle of three numbers: B, M, S", hint)
        with made.blame():
            bits, base, shift = map(self.number, parts)
            return Swizzle(bits, base, shift)

    # -- layouts -----------------------------------------------------------------------------------

    def layout(self, made: Term) -> Layout:
        """The layout that a type or a call makes."""
        if made.name == "decltype" and len(made.parts) == 1:
            return self.layout(made.parts[0])
        with made.blame():
            if made.name == "make_layout" and made.parts and made.parts[0].name in _LAYOUTS:
                return self.concatenated(made)
            given = self.arguments(made)
            if "engine" in given:
                return self.tensor(given["engine"], given["layout"])
            if "inner" in given:
                return self.composed(given["inner"], given.get("offset"), given["outer"])
            shape = self.value(given["shape"])
            modes = as_shape(shape)
            steps = given.get("stride", given.get("order"))
            stride = _LEFT[0] if steps is None else self.value(steps)
            if "identity" in made.name:
                if isinstance(shape, tuple) and any(isinstance(mode, tuple) for mode in modes):
                    raise nested_basis(self.cursor, given["shape"].span)
                stride = tuple(along_basis(mode, 1) for mode in range(len(modes)))
                stride = stride if isinstance(shape, tuple) else _LEFT[0]
            if stride in _LEFT:
                return dense(modes, order="cute")
            if stride in _RIGHT:
                return dense(modes, range(len([*leaves(modes)]), 0, -1), order="cute")
            with (steps or made).blame():
                if "order" in given:
                    return dense(modes, _ranks(shape, stride), order="cute")
                return Layout(modes, tuple(_paired(shape, stride)), order="cute")

    def arguments(self, made: Term) -> dict[str, Term]:
        """The terms given to a call, by the names of its parameters."""
        if made.name not in _LAYOUTS:
            hint = "print its result, and give that"
            raise made.error("TW008", f"{made.name} computes a layout, which is not done here", hint)
        parameters, parts = _LAYOUTS[made.name], made.parts
        if made.name == "composition" and len(parts) == 2:
            parameters = ("inner", "outer")
        takes = f"{made.name} takes {', '.join(parameters)}, each once"
        for name, odd in [*enumerate(parts[len(parameters) :]), *made.named.items()]:
            if name not in parameters[len(parts) :]:
                raise odd.error("TW004", takes)
        given = {**dict(zip(parameters, parts, strict=False)), **made.named}
        for name in parameters:
            if name not in given and name != "stride":
                raise made.error("TW004", f"{made.name} has no {name}", takes)
        return given

    def concatenated(self, made: Term) -> Layout:
        """`make_layout(layout, layout)`, with a mode for each."""
        parts = [self.layout(part) for part in made.parts]
        if made.named or any(part.swizzles or part.offset for part in parts):
            raise made.error("TW008", "layouts with a swizzle are no modes of another")
        shape = tuple([part.shape for part in parts])
        return Layout(shape, tuple([stride for part in parts for stride in part.strides]), order="cute")

    def composed(self, inner: Term, offset: Term | None, outer: Term) -> Layout:
        """`ComposedLayout<Swizzle, offset, Layout>`; the offset may be a flag of the bits of an element."""
        if inner.name in _LAYOUTS:
            hint = "give the result of the composition; of a swizzle and a layout it is read"
            raise inner.error("TW008", "two layouts composed are not one layout yet", hint)
        layout = self.layout(outer)
        if layout.swizzles:
            raise outer.error("TW008", "a layout that is swizzled is swizzled once more")
        with inner.blame():
            swizzle = self.swizzle(inner)
            if offset is not None and offset.name in ("smem_ptr_flag_bits", "smem_ptr_flag"):
                bits = 1 if offset.name == "smem_ptr_flag" else self.number(offset)
                if bits < 1:
                    raise offset.error("TW102", f"an element of {bits} bits")
                swizzle = swizzle.scaled(8, bits)
            elif offset is not None:
                layout = layout + as_vector(self.number(offset))
        return layout.swizzled((swizzle,))

    def tensor(self, engine: Term, of: Term) -> Layout:
        """`Tensor<ViewEngine<smem_ptr<half_t*>>, Layout<...>>`; the swizzle of a pointer acts on bytes."""
        layout, swizzle = self.layout(of), None
        while engine.angle:
            if engine.name == "ArithmeticTupleIterator":
                return layout + coordinate(self.cursor, self.value(engine.angle[0]), engine.span)
            if engine.name == "swizzle_ptr":
                swizzle = self.swizzle(engine.angle[0])
            engine = engine.angle[-1 if engine.name == "swizzle_ptr" else 0]
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
