"""A second reader of both dialects: lark and the constructors of the core, nothing of the parser."""

import re
from pathlib import Path

from lark import Lark, Token, Tree
from lark.exceptions import LarkError

from tilewise import Axis, Layout, LayoutError, Swizzle, m
from tilewise.core.layout import Iter
from tilewise.core.vectors import Vector
from tilewise.hardware.catalog import find

_GRAMMAR = Path(__file__).with_name("grammar.lark").read_text()
_OWN, _CUTE, _NUMBER = (
    Lark(_GRAMMAR, start=start, parser="lalr", propagate_positions=True)
    for start in ("own", "cute", "number")
)
_SUM = r"\s*[\w+*/-][\w\s+*/-]*"
_IN_PARENTHESES = re.compile(rf"\(({_SUM})\)")
_ROUNDED = re.compile(rf"(?<![\w.])(ceil|floor)div\s*\(({_SUM}),({_SUM})\)")
_POINTER = re.compile(r"_?([sgrt]mem_)?ptr(?!\w)")
_CUTE_BEGINS = re.compile(r"[-0-9_]|(Swizzle|Sw|S)\s*<")


class Refused(Exception):
    """The text is not a layout."""


def read(text, let=None, storage=()):
    """The layout of a text, or `Refused`."""
    words = Words(dict(let or {}), storage, text)
    try:
        if speaks_cute(text):
            return words.cute(_CUTE.parse(words.without_rounded(text)))
        return words.own(_OWN.parse(words.without_parentheses(text)))
    except (LarkError, LayoutError) as error:
        raise Refused(str(error)) from None


def speaks_cute(text):
    begins = text.lstrip()
    if re.search(r"(?<!\w)[SRO]\s*\[|[^\W\d]\w*\s*\.", text):
        return False
    if begins.startswith("(") or _POINTER.match(begins):
        return True
    return ":" in text and _CUTE_BEGINS.match(begins) is not None


class Unclear(Exception):
    """The parser alone says what the text names."""


class Words:
    """The meaning of the trees, given values for names and the axes declared storage."""

    def __init__(self, let, storage, source):
        self.let = let
        self.storage = storage
        self.source = source

    def axis(self, name):
        return Axis(str(name), storage=True) if name in self.storage else Axis(str(name))

    # -- the notation ------------------------------------------------------------------------------

    def without_rounded(self, text):
        """The text with made-up names for rounded quotients, the inner first."""

        def rounded(found):
            over, by = self.sum_of(found[2]), self.sum_of(found[3])
            if by < 1:
                raise Refused("nothing is divided by it")
            return self.made_up(-(-over // by) if found[1] == "ceil" else over // by)

        before = ""
        while before != text:
            before, text = text, _ROUNDED.sub(rounded, text, count=1)
        return text

    def without_parentheses(self, text):
        """The text with made-up names for numbers in parentheses and rounded quotients, the inner first."""
        before = ""
        while before != text:
            before = text
            text = self.without_rounded(text)
            for found in _IN_PARENTHESES.finditer(text):
                if not re.search(r"\w\s*$", text[: found.start()]):
                    value = self.sum_of(found[1])
                    if not value and re.search("[+-]", found[1].strip()[1:]):
                        raise Unclear("8 - 8 names the axis m, and a bare 0 names none")
                    text = text[: found.start()] + self.made_up(value) + text[found.end() :]
                    break
        self.source = text
        return text

    def sum_of(self, text):
        return self.number(*_NUMBER.parse(text).children)

    def made_up(self, value):
        name = f"made_up_{len(self.let)}"
        self.let[name] = value
        return f" {name} "

    def own(self, tree):
        value = self.sum(tree.children[0])
        if not isinstance(value, Layout):
            raise Refused("no shard")
        return value

    def sum(self, tree):
        """A layout with what is added to it, or copies (a list), or an offset (a vector)."""
        signs = ["+", *tree.children[1::2]]
        parts = [self.part(child) for child in tree.children[::2]]
        layouts = [place for place, part in enumerate(parts) if isinstance(part, Layout)]
        offsets = [self.signed(sign, part) for sign, part in zip(signs, parts, strict=True)]
        copies = [it for part in parts if isinstance(part, list) for it in part]
        if not layouts:
            loose = summed(offsets)
            if copies and loose.terms:
                raise Refused("copies and an offset without a layout")
            return copies or loose
        at, *more = layouts
        if more:
            raise Refused("a second layout")
        layout = parts[at]
        offset = summed([*offsets[:at], layout.offset, *offsets[at:]])
        return rebuilt(layout, replica=(*layout.replica, *copies), offset=offset)

    def signed(self, sign, part):
        if isinstance(part, Vector):
            return part if sign == "+" else -part
        if sign == "-":
            raise Refused("only an offset can be taken away")
        return Vector()

    def part(self, tree):
        return getattr(self, tree.data)(*tree.children)

    def group(self, inner):
        return self.sum(inner)

    def swizzled(self, pattern, operand):
        inner = self.operand(operand)
        if inner.outer:
            raise Refused("an outer offset between swizzles")
        return rebuilt(inner, swizzles=(self.part(pattern), *inner.swizzles))

    def placed(self, outer, operand):
        inner = self.operand(operand)
        return rebuilt(inner, outer=self.part(outer) + inner.outer)

    def operand(self, tree):
        value = self.part(tree)
        if not isinstance(value, Layout):
            raise Refused("no layout to compose with")
        return value

    def shard(self, *sides):
        if len(sides) == 2:
            return Layout(*self.pairs(*sides))
        shape = self.shape(sides[0])
        steps = [1]
        for extent in reversed(flattened(shape)):
            steps.insert(0, steps[0] * extent)
        return Layout(shape, tuple(steps[1:]))

    def call(self, *children):
        names = [child for child in children if isinstance(child, Token)]
        given, named = [], {}
        entry = find(".".join(names))
        for argument in (child for child in children if isinstance(child, Tree)):
            *name, value = argument.children
            if not name and named:
                raise Refused("a value without a name after values with names")
            at = len(given) if not name else entry.parameters.index(entry.parameter(str(name[0])))
            if at >= len(entry.parameters) or (name and (at < len(given) or name[0] in named)):
                raise Refused("given twice, or not asked for")
            meant = self.argument(value, entry.parameters[at].number)
            if name:
                named[str(name[0])] = meant
            else:
                given.append(meant)
        layout = entry(*given, **named).layout
        if layout is None:
            raise Refused("a table")
        return layout

    def argument(self, value, number):
        """Return the value of a parameter: a number where it counts, else the text as it stands."""
        [inner] = value.children
        if isinstance(inner, Token):
            if number:
                raise Refused("a word for a number")
            return str(inner)
        return (
            self.number(*inner.children) if number else self.source[inner.meta.start_pos : inner.meta.end_pos]
        )

    def replicas(self, shape, steps):
        extents, strides = self.pairs(shape, steps)
        return [Iter(extent, stride) for extent, stride in zip(flattened(extents), strides, strict=True)]

    def offset(self, *vectors):
        return summed(self.vector(*v.children) for v in vectors)

    def pairs(self, shape, steps):
        extents, strides = self.shape(shape), self.steps(steps)
        extents = extents if isinstance(extents, tuple) else (extents,)
        strides = strides if isinstance(strides, tuple) else (strides,)
        return extents, paired(extents, strides)

    def shape(self, tree):
        if tree.data == "tuple":
            return tuple(self.shape(child) for child in tree.children)
        return positive(self.number(*tree.children))

    def steps(self, tree):
        if tree.data == "step_tuple":
            return tuple(self.steps(child) for child in tree.children)
        return self.vector(*tree.children)

    def vector(self, first, *rest):
        terms = [self.term(*first.children)]
        for sign, term in zip(rest[::2], rest[1::2], strict=True):
            value = self.term(*term.children)
            terms.append(value if sign == "+" else -value)
        return summed(terms)

    def term(self, product, axis=None):
        steps = self.product(*product.children)
        if axis is None:
            return Vector(((m, steps),) if steps else ())
        return Vector(((self.axis(axis), steps),))

    def number(self, first, *rest):
        value = self.product(*first.children)
        for sign, product in zip(rest[::2], rest[1::2], strict=True):
            other = self.product(*product.children)
            value = value + other if sign == "+" else value - other
        return value

    def product(self, first, *rest):
        value = self.factor_of(first)
        for sign, factor in zip(rest[::2], rest[1::2], strict=True):
            other = self.factor_of(factor)
            if sign == "//" and (other == 0 or value % other):
                raise Refused("a quotient with a rest")
            value = value * other if sign == "*" else value // other
        return value

    def factor_of(self, tree):
        return self.cute_number(tree) if tree.data == "cute_number" else self.factor(*tree.children)

    def factor(self, *children):
        *sign, word = children
        value = self.value(word)
        return -value if sign == ["-"] else value

    def value(self, word):
        if word.type == "INT":
            return int(word, 16) if word[:2] in ("0x", "0X") else int(word)
        if word not in self.let:
            raise Refused(f"{word} has no value")
        return self.let[word]

    def three(self, *products):
        return Swizzle(*(self.product(*p.children) for p in products))

    def with_axis(self, three, axis):
        return self.retagged(self.part(three), axis)

    def tagged(self, pattern, tag):
        return self.retagged(self.part(pattern), tag[1:].strip())

    def retagged(self, pattern, axis):
        return Swizzle(pattern.bits, pattern.base, pattern.shift, self.axis(axis))

    def mode(self, name, dtype=None):
        bits = {"SWIZZLE_NONE": 0, "SWIZZLE_32B": 1, "SWIZZLE_64B": 2, "SWIZZLE_128B": 3}[name]
        widths = {"f64": 64, "f32": 32, "bf16": 16, "f16": 16, "e4m3": 8, "s8": 8, "e2m1": 4}
        if dtype is not None and dtype not in widths:
            raise Refused("an unknown dtype")
        if not bits:
            return Swizzle(0, 4, 3)
        if dtype is None:
            raise Refused("bytes, and strides count elements")
        return Swizzle(bits, {64: 1, 32: 2, 16: 3, 8: 4, 4: 5}[widths[dtype]], 3)

    # -- CuTe's dialect ----------------------------------------------------------------------------

    def cute(self, tree):
        *before, shape, steps = tree.children
        swizzles, offset = [], 0
        for piece in before:
            if piece.data == "cute_swizzle":
                swizzles.append(self.cute_swizzle(piece))
            elif piece.data == "base":
                (start,) = piece.children
                inside = isinstance(start, Token)
                offset += self.sum_of(start[1:-1]) if inside else self.cute_number(start)
            else:
                swizzles = self.pointer(piece, swizzles)
        extents, strides = self.cute_shape(shape), self.cute_steps(steps)
        extents = extents if isinstance(extents, tuple) else (extents,)
        strides = strides if isinstance(strides, tuple) else (strides,)
        return Layout(
            extents, paired(extents, strides), offset=offset, swizzles=tuple(swizzles), order="cute"
        )

    def cute_swizzle(self, tree):
        return Swizzle(*(self.cute_number(child) for child in tree.children))

    def pointer(self, tree, swizzles):
        children = list(tree.children)
        if isinstance(children[0], Tree):
            swizzles = [*swizzles, self.cute_swizzle(children.pop(0))]
        width = int(children[1][:-1])
        if not 0 < width < 10_000:
            raise Refused("no width of an element")
        address = self.cute_number(children[2]) * 8 if len(children) > 2 else 0
        if address % width:
            raise Refused("an address inside an element")
        return [counted(swizzle, width) for swizzle in swizzles]

    def cute_shape(self, tree):
        if tree.data == "cute_tuple":
            return tuple(self.cute_shape(child) for child in tree.children)
        return positive(self.cute_number(tree))

    def cute_steps(self, tree):
        if tree.data == "cute_step_tuple":
            return tuple(self.cute_steps(child) for child in tree.children)
        steps, *mode = (self.cute_number(child) for child in tree.children)
        if mode:
            return Vector(((Axis(f"e{mode[0]}"), steps),))
        return Vector(((m, steps),) if steps else ())

    def cute_number(self, tree):
        if tree.data == "cute_sum":
            return self.number(*tree.children)
        *sign, word = tree.children
        if word.type == "NEGATIVE":  # C++ prints _-8
            value = -int(word[2:].strip(), 16 if "x" in word.lower() else 10)
            return -value if sign else value
        marked = word.type == "NAME" and re.fullmatch("_[0-9]+", word)
        value = int(word[1:]) if marked else self.value(word)
        return -value if sign else value


def rebuilt(layout, **changes):
    fields = ("shape", "strides", "replica", "offset", "swizzles", "outer", "unit", "order")
    return Layout(**({name: getattr(layout, name) for name in fields} | changes))


def summed(vectors):
    result = Vector()
    for vector in vectors:
        result = result + vector
    return result


def positive(extent):
    if extent < 1:
        raise Refused("an extent that is not positive")
    return extent


def flattened(shape):
    return [shape] if isinstance(shape, int) else [e for mode in shape for e in flattened(mode)]


def paired(extents, strides):
    """The strides in order, if they are nested as the extents are."""
    if len(extents) != len(strides):
        raise Refused("a stride is missing or left over")
    result = []
    for mode, step in zip(extents, strides, strict=True):
        mode, step = unwrapped(mode), unwrapped(step)
        if isinstance(mode, tuple) != isinstance(step, tuple):
            raise Refused("shape and strides are nested differently")
        result += paired(mode, step) if isinstance(mode, tuple) else [step]
    return tuple(result)


def unwrapped(entry):
    while isinstance(entry, tuple) and len(entry) == 1:
        entry = entry[0]
    return entry


def counted(swizzle, width):
    """A swizzle of bytes as one of elements that are `width` bits wide."""
    if not swizzle.bits or width == 8:
        return swizzle
    for power in range(14):
        if width == 1 << power and swizzle.base + 3 - power >= 0:
            return Swizzle(swizzle.bits, swizzle.base + 3 - power, swizzle.shift)
    raise Refused("elements that the swizzle does not keep whole")
