"""The layouts that types and calls of CuTe make, in C++ and in Python.

A type makes what a call of it makes: `Layout<Shape<_8,_4>,Stride<_4,_1>>` is `make_layout(Shape<_8,_4>{},
Stride<_4,_1>{})`. Where no strides are given, the leftmost digit is the fastest. What the words mean is in
CUTLASS: include/cute/layout.hpp, swizzle_layout.hpp, pointer_flagged.hpp, and python/pycute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import prod

from tilewise.core.builders import dense
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import leaves
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector, as_vector
from tilewise.notation.dialects.cute.elements import element_of
from tilewise.notation.dialects.cute.printed import along_basis, coordinate, nested_basis, static
from tilewise.notation.dialects.cute.terms import TIMES, TUPLE, Term, term
from tilewise.notation.dialects.given import Reading
from tilewise.notation.dialects.looks import CUTE_OPERATIONS
from tilewise.notation.tokens import NAME, Cursor, Token
from tilewise.notation.trees import Branch, Leaf, Names, Tree, congruent, leaves_of, shape_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewise.core.shapes import Shape

_TUPLES = (
    TUPLE,
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
class Maker:
    """One type or call, and the layout that it makes."""

    cursor: Cursor
    names: Names
    unit: str = "element"
    dtype: DType | None = None

    def reading(self) -> Reading:
        """The layout of the whole text."""
        cursor = self.cursor
        if self.unit != "element":
            raise cursor.error("TW106", "a type or a call counts elements", hint=f"drop --unit {self.unit}")
        whole = term(cursor)
        on_the_line = "\n" not in cursor.source[cursor.behind.end : cursor.next.start]
        if whole.angle is not None and cursor.next.kind == NAME and on_the_line:
            cursor.take()  # the variable of that type
            if opened := cursor.accept("{"):
                cursor.expect("}", opened)
        while cursor.accept(";", "]"):
            pass
        cursor.expect_end("the layout")
        return Reading(self.layout(whole), self.dtype)

    # -- layouts -----------------------------------------------------------------------------------

    def layout(self, made: Term) -> Layout:
        """The layout that a term makes."""
        if made.name == "decltype" and len(made.parts) == 1:
            return self.layout(made.parts[0])
        with self.cursor.blame(made.span):
            if made.name == "make_layout" and made.parts and made.parts[0].name in _LAYOUTS:
                return self.concatenated(made)
            given = self.arguments(made)
            if "engine" in given:
                return self.tensor(given["engine"], given["layout"])
            if "inner" in given:
                return self.swizzled(given["inner"], given.get("offset"), given["outer"])
            shape, order = given["shape"], given.get("order")
            extents = self.tree(shape, self.integer)
            modes = shape_of(self.cursor, extents)
            if "identity" in made.name:
                return self.identity(extents, modes)
            if order is not None and order.name not in _LEFT + _RIGHT:
                return dense(modes, self.ranks(extents, self.tree(order, self.integer)), order="cute")
            stride = given.get("stride", order)
            if stride is None or stride.name in _LEFT:
                return dense(modes, order="cute")
            if stride.name in _RIGHT:
                return dense(modes, range(len([*leaves(modes)]), 0, -1), order="cute")
            strides = self.tree(stride, self.stride)
            return Layout(modes, congruent(self.cursor, extents, strides, "the layout"), order="cute")

    def arguments(self, made: Term) -> dict[str, Term]:
        """Return the terms given to a call, by the names of its parameters."""
        if made.name in CUTE_OPERATIONS:
            hint = "print its result, and give that"
            raise self.error("TW008", f"{made.name} computes a layout, which is not done here", made, hint)
        if made.name not in _LAYOUTS:
            near = get_close_matches(made.name, _LAYOUTS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(_LAYOUTS)}"
            raise self.error("TW002", f"'{made.name}' makes no layout", made, hint)
        parameters, parts = _LAYOUTS[made.name], made.parts
        if made.name == "composition" and len(parts) == 2:
            parameters = ("inner", "outer")
        others = [term for name, term in made.named.items() if name not in parameters[len(parts) :]]
        if odd := [*parts[len(parameters) :], *others]:
            raise self.error("TW004", f"{made.name} takes {', '.join(parameters)}, each once", odd[0])
        given = {**dict(zip(parameters, parts, strict=False)), **made.named}
        missing = [name for name in parameters if name not in given and name != "stride"]
        if missing:
            hint = f"it takes {', '.join(parameters)}"
            raise self.error("TW004", f"{made.name} has no {missing[0]}", made, hint)
        return given

    def concatenated(self, made: Term) -> Layout:
        """`make_layout(layout, layout)`, with a mode for each."""
        parts = [self.layout(part) for part in made.parts]
        if made.named or any(part.swizzles or part.offset for part in parts):
            raise self.error("TW008", "layouts with a swizzle are no modes of another", made)
        shape = tuple([part.shape for part in parts])
        return Layout(shape, tuple([stride for part in parts for stride in part.strides]), order="cute")

    def ranks(self, extents: Tree, orders: Tree) -> list[int]:
        """The order of each digit; that of a mode is that of all its digits."""
        if isinstance(orders, Leaf):
            return [orders.value for _ in leaves_of(extents)]  # type: ignore[misc]  # an integer tree
        modes = extents.parts if isinstance(extents, Branch) else (extents,)
        named = [leaf.value for leaf in leaves_of(orders)]
        if len(modes) != len(orders.parts) or len({*named}) < len(named):
            message = f"orders {named} for {len(modes)} modes"
            hint = "give every mode its own, 0 the fastest"
            raise self.cursor.error("TW003", message, orders.span, hint)
        pairs = zip(modes, orders.parts, strict=True)
        return [rank for mode, order in pairs for rank in self.ranks(mode, order)]

    def identity(self, extents: Tree, modes: Shape) -> Layout:
        """`make_identity_layout(shape)`, from a coordinate to itself."""
        if isinstance(extents, Leaf):
            return dense(modes, order="cute")
        if any(isinstance(mode, tuple) for mode in modes):
            raise nested_basis(self.cursor, extents.span)
        return Layout(modes, tuple([along_basis(mode, 1) for mode in range(len(modes))]), order="cute")

    # -- swizzles and pointers -----------------------------------------------------------------------

    def swizzled(self, inner: Term, offset: Term | None, outer: Term) -> Layout:
        """`ComposedLayout<Swizzle, offset, Layout>`; the offset may be a flag of the bits of an element."""
        swizzle, layout = self.swizzle(inner), self.layout(outer)
        if layout.swizzles:
            raise self.error("TW008", "a layout that is swizzled is swizzled once more", outer)
        if offset is not None and offset.name in ("smem_ptr_flag_bits", "smem_ptr_flag"):
            bits = 1 if offset.name == "smem_ptr_flag" else self.number(offset)
            if bits < 1:
                raise self.error("TW102", f"an element of {bits} bits", offset)
            with self.cursor.blame(inner.span):
                swizzle = swizzle.scaled(8, bits)
        elif offset is not None:
            layout = layout + as_vector(self.number(offset))
        return layout.swizzled((swizzle,))

    def swizzle(self, made: Term) -> Swizzle:
        """`Swizzle<3,4,3>` or `make_swizzle(3, 4, 3)`."""
        if made.name in _LAYOUTS:
            hint = "give the result of the composition; of a swizzle and a layout it is read"
            raise self.error("TW008", "two layouts composed are not one layout yet", made, hint)
        parts = [*made.parts, *made.named.values()]
        if made.name not in _SWIZZLES or len(parts) != 3:
            hint = "such as Swizzle<3,4,3> or make_swizzle(3, 4, 3)"
            raise self.error("TW004", "expected a swizzle of three numbers: B, M, S", made, hint)
        with self.cursor.blame(made.span):
            bits, base, shift = map(self.number, parts)
            return Swizzle(bits, base, shift)

    def tensor(self, engine: Term, of: Term) -> Layout:
        """`Tensor<ViewEngine<smem_ptr<half_t*>>, Layout<...>>`; the swizzle of a pointer acts on bytes."""
        layout, swizzle = self.layout(of), None
        while engine.angle:
            if engine.name == "ArithmeticTupleIterator":
                return layout + coordinate(self.cursor, self.tree(engine.angle[0], self.integer))
            if engine.name == "swizzle_ptr":
                swizzle = self.swizzle(engine.angle[0])
            engine = engine.angle[-1 if engine.name == "swizzle_ptr" else 0]
        self.dtype = element_of(engine.name)
        if swizzle is None:
            return layout
        if self.dtype is None:
            message = f"the bytes of {engine.name} are not known here, and the swizzle acts on bytes"
            raise self.error("TW105", message, engine)
        return layout.swizzled((swizzle.scaled(8, self.dtype.bits),))

    # -- tuples and numbers --------------------------------------------------------------------------

    def tree(self, made: Term, leaf: Callable[[Term], Leaf]) -> Tree:
        """A tuple, or a leaf."""
        if made.name not in _TUPLES:
            return leaf(made)
        if made.named:
            raise self.error("TW004", "a tuple has no names", made)
        return Branch(tuple([self.tree(part, leaf) for part in made.parts]), made.span)

    def integer(self, made: Term) -> Leaf:
        """An extent."""
        return Leaf(self.number(made), made.span)

    def stride(self, made: Term) -> Leaf:
        """A stride: a number, or a basis stride `E<0>{}`, `ScaledBasis<C<2>, 0>`, `2 * E<0>{}`."""
        return Leaf(self.vector(made), made.span)

    def vector(self, made: Term) -> Vector:
        """The steps of a stride."""
        if made.name == TIMES:
            bases = [part for part in made.parts if part.name in _BASES]
            if len(bases) == 1:
                others = [part for part in made.parts if part.name not in _BASES]
                return self.vector(bases[0]) * self.product(others, made)
        if made.name not in _BASES:
            return as_vector(self.number(made))
        scaled = made.name == "ScaledBasis" and bool(made.parts)
        modes = made.parts[scaled:]
        if len(modes) != 1:
            raise nested_basis(self.cursor, made.span)
        return along_basis(self.number(modes[0]), self.number(made.parts[0]) if scaled else 1)

    def number(self, made: Term) -> int:
        """`8`, `_8`, `Int<8>{}`, `cute::C<8>`, a product, or a name with a value."""
        name = made.name
        if made.number is not None:
            return made.number
        if name == TIMES:
            return self.product(made.parts, made)
        if name in _CONSTANTS and made.parts:
            return self.number(made.parts[-1])
        if (value := static(self.cursor, name)) is not None:
            return value
        if name not in self.names.values:
            if name in _DYNAMIC or element_of(name) is not None:
                hint = "print the layout where it runs, or write a name and give it a value: --let"
                raise self.error("TW007", f"{name} is dynamic: its type has no value", made, hint)
            if name in ("_", "Underscore"):
                hint = "give the layout before it is sliced, or the result"
                raise self.error("TW008", "'_' keeps a mode whole in a slice, and is no number", made, hint)
            if made.angle is not None or made.given is not None:
                raise self.error("TW004", f"expected a number, found '{name}'", made, "such as Int<8>{}")
        return self.names.number(self.cursor, Token(NAME, name, *made.span))

    def product(self, factors: Sequence[Term], made: Term) -> int:
        """The product of numbers."""
        value = prod(map(self.number, factors))
        with self.cursor.blame(made.span):
            return as_int(value, "a product")

    def error(self, code: str, message: str, made: Term, hint: str = "") -> LayoutError:
        """A refusal at a term."""
        return self.cursor.error(code, message, made.span, hint)
