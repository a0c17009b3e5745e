"""The layouts that types and calls of CuTe make, in C++ and in Python.

A type makes what a call of it makes: `Layout<Shape<_8,_4>,Stride<_4,_1>>` is `make_layout(Shape<_8,_4>{},
Stride<_4,_1>{})`. Where no strides are given, the leftmost digit is the fastest. What the words mean is in
CUTLASS: include/cute/layout.hpp, swizzle_layout.hpp, pointer_flagged.hpp, and python/pycute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

from tilewise.core.axes import Axis
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import leaves
from tilewise.core.swizzles import Swizzle
from tilewise.core.text import BASIS
from tilewise.core.vectors import Vector, as_vector
from tilewise.notation.cute import OPERATIONS
from tilewise.notation.dialects.cute.elements import element_of
from tilewise.notation.dialects.cute.terms import TIMES, TUPLE, Term, term
from tilewise.notation.dialects.given import Reading
from tilewise.notation.tokens import NAME, Cursor, Token
from tilewise.notation.trees import Branch, Leaf, Names, Tree, congruent, leaves_of, literal, shape_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewise.core.shapes import Shape

_TUPLES = (
    TUPLE,
    *("tuple", "Shape", "Stride", "Step", "Coord", "ArithmeticTuple"),
    *("make_tuple", "make_shape", "make_stride", "make_step", "make_coord"),
)
_CONSTANTS = ("Int", "C", "constant", "integral_constant")
_DYNAMIC = (
    *(
        "int",
        "unsigned int",
        "unsigned",
        "long",
        "unsigned long",
        "long long",
        "unsigned long long",
        "size_t",
    ),
    *("int32_t", "uint32_t", "int64_t", "uint64_t", "Int32", "Int64"),
)
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
    "composition": (),
    "Tensor": (),
}
"""Words that make a layout, and the names of what is given to them."""


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
        with self.blame(made):
            if made.name == "decltype" and made.given is not None and len(made.given) == 1:
                return self.layout(made.given[0])
            if made.name not in _LAYOUTS:
                raise self.no_layout(made)
            if made.name == "composition":
                return self.composition(made)
            if made.name == "Tensor":
                return self.tensor(made)
            given = self.arguments(made)
            if made.name in ("ComposedLayout", "make_composed_layout"):
                return self.composed(made, given)
            if "shape" not in given:
                raise self.error("TW004", f"{made.name} has no shape", made, "such as make_layout((8, 4))")
            if made.name in ("make_identity_layout", "make_identity_tensor"):
                return self.identity(given["shape"])
            if made.name == "make_ordered_layout":
                if "order" not in given:
                    hint = "such as make_ordered_layout((8, 4), (1, 0))"
                    raise self.error("TW004", "make_ordered_layout has no order", made, hint)
                return self.ordered(given["shape"], given["order"])
            if given["shape"].name in _LAYOUTS:
                return self.concatenated(made)
            return self.strided(given["shape"], given.get("stride"))

    def no_layout(self, made: Term) -> LayoutError:
        """The refusal of a word that makes no layout."""
        if made.name in OPERATIONS:
            hint = "print its result, and give that"
            return self.error("TW008", f"{made.name} computes a layout, which is not done here", made, hint)
        near = get_close_matches(made.name, _LAYOUTS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(_LAYOUTS)}"
        return self.error("TW002", f"'{made.name}' makes no layout", made, hint)

    def arguments(self, made: Term) -> dict[str, Term]:
        """What is given to a call, by the names of its parameters."""
        parameters = _LAYOUTS[made.name]
        parts = made.parts
        if len(parts) > len(parameters) and not (parts[0].name in _LAYOUTS and made.name == "make_layout"):
            raise self.error(
                "TW004",
                f"{made.name} has {len(parameters)} parameters, and {len(parts)} are given",
                parts[len(parameters)],
                f"its parameters: {', '.join(parameters)}",
            )
        given = dict(zip(parameters, parts, strict=False))
        for name, value in made.named.items():
            if name in ("loc", "ip"):
                continue
            if name not in parameters or name in given:
                problem = "is given twice" if name in given else f"is no parameter of {made.name}"
                raise self.error(
                    "TW004", f"{name} {problem}", value, f"its parameters: {', '.join(parameters)}"
                )
            given[name] = value
        return given

    def strided(self, shape: Term, stride: Term | None) -> Layout:
        """`Layout<shape, stride>`."""
        extents = self.tree(shape, self.integer)
        modes = shape_of(self.cursor, extents)
        if stride is None or stride.name in _LEFT or stride.name in _RIGHT:
            count = len([*leaves_of(extents)])
            backwards = stride is not None and stride.name in _RIGHT
            return _compact(modes, range(count - 1, -1, -1) if backwards else range(count))
        strides = self.tree(stride, self.stride)
        return Layout(modes, congruent(self.cursor, extents, strides, "the layout"), order="cute")

    def concatenated(self, made: Term) -> Layout:
        """`make_layout(layout, layout)`, with a mode for each."""
        parts = [self.layout(part) for part in made.parts]
        if made.named or any(part.swizzles or part.offset for part in parts):
            raise self.error("TW008", "layouts with a swizzle are no modes of another", made)
        modes = tuple(part.shape if len(part.shape) > 1 else part.shape[0] for part in parts if part.shape)
        if len(modes) < len(parts):
            raise self.error("TW102", "an empty mode inside a shape", made, "leave it out")
        return Layout(modes, tuple(stride for part in parts for stride in part.strides), order="cute")

    def ordered(self, shape: Term, order: Term) -> Layout:
        """`make_ordered_layout(shape, order)`: the digit of the lowest order is the fastest."""
        if order.name in _LEFT or order.name in _RIGHT:
            return self.strided(shape, order)
        extents, orders = self.tree(shape, self.integer), self.tree(order, self.integer)
        modes = shape_of(self.cursor, extents)
        ranks = [*self.ranks(extents, orders)]
        named = sorted(leaf.value for leaf in leaves_of(orders) if isinstance(leaf.value, int))
        if len({*named}) < len(named):
            twice = next(a for a, b in pairwise(named) if a == b)
            raise self.error(
                "TW003", f"two modes have the order {twice}", order, "give each its own, 0 the fastest"
            )
        return _compact(modes, sorted(range(len(ranks)), key=lambda at: ranks[at]))

    def ranks(self, extents: Tree, orders: Tree) -> Iterator[int]:
        """The order of each digit; that of a mode is that of all its digits."""
        if isinstance(orders, Leaf):
            assert isinstance(orders.value, int)
            yield from [orders.value for _ in leaves_of(extents)]
            return
        modes = extents.parts if isinstance(extents, Branch) else (extents,)
        if len(modes) != len(orders.parts):
            message = f"{len(orders.parts)} orders for {len(modes)} modes"
            raise self.cursor.error("TW003", message, orders.span, "give one for every mode")
        for mode, part in zip(modes, orders.parts, strict=True):
            yield from self.ranks(mode, part)

    def identity(self, shape: Term) -> Layout:
        """`make_identity_layout(shape)`, from a coordinate to itself."""
        extents = self.tree(shape, self.integer)
        if isinstance(extents, Leaf):
            return _compact(shape_of(self.cursor, extents), range(1))
        if any(isinstance(part, Branch) for part in extents.parts):
            raise self.nested_basis(shape)
        strides = [Vector(((Axis(f"{BASIS}{mode}"), 1),)) for mode in range(len(extents.parts))]
        return Layout(shape_of(self.cursor, extents), tuple(strides), order="cute")

    # -- swizzles and pointers -----------------------------------------------------------------------

    def composed(self, made: Term, given: dict[str, Term]) -> Layout:
        """`ComposedLayout<Swizzle, offset, Layout>`."""
        missing = [name for name in _LAYOUTS[made.name] if name not in given]
        if missing:
            hint = "such as make_composed_layout(make_swizzle(3, 4, 3), 0, make_layout((8, 64), (64, 1)))"
            raise self.error("TW004", f"{made.name} has no {missing[0]}", made, hint)
        return self.swizzled(given["inner"], given["offset"], given["outer"])

    def composition(self, made: Term) -> Layout:
        """`composition(Swizzle<3,3,3>{}, layout)`, and with an offset between."""
        parts = made.parts
        if len(parts) not in (2, 3) or made.named or parts[0].name not in ("Swizzle", "make_swizzle"):
            raise self.error(
                "TW008",
                "two layouts composed are not one layout yet",
                made,
                "give the result of the composition; of a swizzle and a layout it is read",
            )
        return self.swizzled(parts[0], parts[1] if len(parts) == 3 else None, parts[-1])

    def swizzled(self, inner: Term, offset: Term | None, outer: Term) -> Layout:
        """A layout with an offset and a swizzle after it."""
        if inner.name in _LAYOUTS:
            hint = "give the result of the composition"
            raise self.error("TW008", "two layouts composed are not one layout yet", inner, hint)
        swizzle, layout = self.swizzle(inner), self.layout(outer)
        if layout.swizzles:
            raise self.error("TW008", "a layout that is swizzled is swizzled once more", outer)
        if offset is not None and offset.name in ("smem_ptr_flag_bits", "smem_ptr_flag"):
            with self.blame(inner):
                swizzle = swizzle.scaled(8, self.bits_of_flag(offset))
        elif offset is not None and (steps := self.number(offset)):
            layout = layout + as_vector(steps)
        return layout.swizzled((swizzle,))

    def bits_of_flag(self, flag: Term) -> int:
        """The 16 of `smem_ptr_flag_bits<16>`: the swizzle before it acts on bytes."""
        if flag.name == "smem_ptr_flag":
            return 1
        bits = self.number(flag.angle[0]) if flag.angle is not None and len(flag.angle) == 1 else 0
        if bits < 1:
            raise self.error("TW004", "expected the bits of an element", flag, "smem_ptr_flag_bits<16>")
        return bits

    def swizzle(self, made: Term) -> Swizzle:
        """`Swizzle<3,4,3>` or `make_swizzle(3, 4, 3)`."""
        parts = [*made.parts, *made.named.values()]
        if made.name not in ("Swizzle", "make_swizzle") or len(parts) != 3:
            hint = "such as Swizzle<3,4,3> or make_swizzle(3, 4, 3)"
            raise self.error("TW004", "expected a swizzle of three numbers: B, M, S", made, hint)
        with self.blame(made):
            bits, base, shift = map(self.number, parts)
            return Swizzle(bits, base, shift)

    def tensor(self, made: Term) -> Layout:
        """`Tensor<ViewEngine<smem_ptr<half_t*>>, Layout<...>>`."""
        if len(made.parts) != 2 or made.named:
            raise self.error("TW004", "a tensor has an engine and a layout", made)
        engine, of = made.parts
        layout = self.layout(of)
        iterator = engine
        while iterator.angle:
            if iterator.name == "ArithmeticTupleIterator":
                if any(leaf.value for leaf in leaves_of(self.tree(iterator.angle[0], self.integer))):
                    raise self.error(
                        "TW008", "coordinates that do not begin at 0", iterator, "print the tensor"
                    )
                return layout
            if iterator.name == "swizzle_ptr" and len(iterator.angle) == 2:
                return self.behind(self.swizzle(iterator.angle[0]), iterator, layout)
            iterator = iterator.angle[0]
        self.dtype = element_of(iterator.name)
        return layout

    def behind(self, swizzle: Swizzle, pointer: Term, layout: Layout) -> Layout:
        """A layout behind a pointer whose swizzle acts on bytes."""
        word = pointer
        while word.angle:
            word = word.angle[-1 if word.name == "swizzle_ptr" else 0]
        self.dtype = element_of(word.name)
        if self.dtype is None:
            message = f"the bytes of {word.name} are not known here, and the swizzle acts on bytes"
            raise self.error("TW105", message, word)
        if layout.swizzles:
            raise self.error("TW008", "a pointer and a layout that both have a swizzle", pointer)
        with self.blame(pointer):
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
        if made.name == TIMES and made.given is not None:
            bases = [part for part in made.given if _is_basis(part)]
            others = [part for part in made.given if not _is_basis(part)]
            if len(bases) == 1:
                return self.vector(bases[0]) * self.product(others, made)
        if not _is_basis(made):
            with self.blame(made):
                return as_vector(self.number(made))
        parts = made.parts
        scale, modes = (parts[0], parts[1:]) if made.name == "ScaledBasis" and parts else (None, parts)
        if len(modes) > 1 or any(part.name == TUPLE for part in modes):
            raise self.nested_basis(made)
        steps = 1 if scale is None else self.number(scale)
        if not modes:
            return as_vector(steps)
        mode = self.number(modes[0])
        if mode < 0:
            raise self.error("TW102", f"there is no mode {mode}", modes[0])
        return Vector(((Axis(f"{BASIS}{mode}"), steps),))

    def number(self, made: Term) -> int:
        """`8`, `_8`, `Int<8>{}`, `cute::C<8>`, a product, or a name with a value."""
        if made.number is not None:
            return made.number
        if made.name == TIMES and made.given is not None:
            return self.product(made.given, made)
        if made.name in _CONSTANTS:
            parts = made.angle or made.given or ()
            if not parts:
                raise self.error("TW004", f"{made.name} has no value", made, f"such as {made.name}<8>")
            return self.number(parts[-1])
        token = Token(NAME, made.name, *made.span)
        digits = made.name.removeprefix("_").removeprefix("m")
        if made.name[0] == "_" and digits.isascii() and digits.isdigit():
            number = literal(self.cursor, digits)
            return -number if made.name[1] == "m" else number
        if made.name in self.names.values:
            return self.names.number(self.cursor, token)
        if made.name in _DYNAMIC:
            raise self.error(
                "TW007",
                f"{made.name} is dynamic: its type has no value",
                made,
                "print the layout where it runs, or write a name and give it a value: --let",
            )
        if made.name in ("_", "Underscore"):
            hint = "give the layout before it is sliced, or the result"
            raise self.error("TW008", "'_' keeps a mode whole in a slice, and is no number", made, hint)
        if made.angle is None and made.given is None:
            return self.names.number(self.cursor, token)
        if made.name in _LAYOUTS:
            hint = "a mode of its own for each layout: make_layout(layout, layout)"
            raise self.error("TW004", f"expected a number, found the layout of {made.name}", made, hint)
        near = get_close_matches(made.name, (*_LAYOUTS, *_TUPLES[1:], *_CONSTANTS), n=1)
        hint = f"did you mean {near[0]}?" if near else "such as 8, _8 or Int<8>{}"
        raise self.error("TW004", f"expected a number, found '{made.name}'", made, hint)

    def product(self, factors: Sequence[Term], made: Term) -> int:
        value = 1
        for factor in factors:
            value *= self.number(factor)
            with self.blame(made):
                as_int(value, "a product")
        return value

    # -- refusals ------------------------------------------------------------------------------------

    def error(self, code: str, message: str, made: Term, hint: str = "") -> LayoutError:
        """A refusal at a term."""
        return self.cursor.error(code, message, made.span, hint)

    def nested_basis(self, made: Term) -> LayoutError:
        """The refusal of a basis inside a basis."""
        hint = "flatten the coordinates, so that every basis stride names one mode"
        return self.error("TW008", "a basis inside a basis has no axis here", made, hint)

    @contextmanager
    def blame(self, made: Term) -> Iterator[None]:
        """What is refused inside is refused at a term."""
        try:
            yield
        except LayoutError as error:
            if error.span is None:
                error.span, error.source = made.span, self.cursor.source
            raise


def _is_basis(made: Term) -> bool:
    return made.name in ("E", "ScaledBasis")


def _compact(shape: Shape, order: Iterable[int]) -> Layout:
    """The layout without holes whose digits have that order, the fastest first."""
    extents = [*leaves(shape)]
    strides = [0] * len(extents)
    stride = 1
    for at in order:
        strides[at] = stride
        stride *= extents[at]
    return Layout(shape, tuple(map(as_vector, strides)), order="cute")
