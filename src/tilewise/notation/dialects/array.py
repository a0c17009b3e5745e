"""Arrays and tensors with their sizes, and strides where they are printed: of JAX, and of torch's compiler.

    f32[b,4*k]  float32[8,128]                       JAX: row-major
    f32[s77, 64][64, 1]cuda:0                        a graph of torch: sizes, strides, the device
    empty_strided_cuda((s0, 64), (64, 1), torch.float32)
    reinterpret_tensor(buf0, (s0, 8, 64), (512, 64, 1), 0)

Sizes may have names, such as torch's s77: they are numbers that are not known yet. `a // b` rounds down here,
as in Python.

Sources: `_format_node` and `dtype_abbrs` in torch/fx/graph.py, and `assert_size_stride` in
torch/_inductor/codegen/wrapper.py, of https://github.com/pytorch/pytorch; `ShapedArray.str_short` in
jax/_src/core.py of https://github.com/jax-ml/jax.
"""

from __future__ import annotations

import re

from tilewise.core.builders import row_major
from tilewise.core.dtypes import DType, known_type
from tilewise.core.errors import LayoutError
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.polynomials import floor_of, is_named
from tilewise.core.vectors import as_vector
from tilewise.notation.dialects.given import Given, Reading
from tilewise.notation.elements import element_of
from tilewise.notation.tokens import END, Span
from tilewise.notation.trees import Names, NumberCursor

EXAMPLES = (
    Given("f32[8,128]"),
    Given("float32[4,8,128]"),
    Given('"bf16[16, 64][64, 1]cuda:0"'),
    Given("f32[16, 64][1, 16]cpu"),
    Given("empty_strided_cuda((16, 64), (64, 1), torch.float32)"),
    Given("assert_size_stride(arg0_1, (16, 64), (128, 1))"),
    Given("reinterpret_tensor(buf0, (16, 8, 8), (64, 8, 1), 128)"),
    Given("f32[s77, 64][64, 1]cuda:0", let={"s77": 16}),
)

_INTEGERS = {"i8": "s8", "i16": "s16", "i32": "s32", "i64": "s64"}
_PRINTED = re.compile(
    r"\s*[\"']?(?P<type>[a-z]\w*)\[(?P<sizes>[^][]*)\](?:\[(?P<strides>[^][]*)\])?(?:[a-z]+(?::\d+)?)?[\"']?\s*"
)
_NESTED = "[^()]*"
for _ in range(3):
    _NESTED = rf"[^()]*(?:\({_NESTED}\)[^()]*)*"
_CALL = re.compile(
    r"\s*(?:\w+\.)*(?:empty_strided\w*|assert_size_stride|reinterpret_tensor|as_strided)\((?:[\w.]+,\s*)?"
    rf"\((?P<sizes>{_NESTED})\),\s*\((?P<strides>{_NESTED})\)"
    r"(?:,\s*(?P<offset>\d+))?(?:,\s*(?:dtype=)?torch\.(?P<type>\w+))?[^()]*\)?\s*"
)


def read(given: Given) -> Reading:
    """Return the layout of an array: one mode a dimension, row-major where no strides are printed."""
    found = _CALL.fullmatch(given.text) or _PRINTED.fullmatch(given.text)
    if found is None:
        hint = "such as f32[s0, 64][64, 1], or empty_strided((8, 64), (64, 1))"
        raise LayoutError("TW002", "this is no array with its sizes", hint=hint)
    names = Names(given.let, frozenset())
    sizes = _Sizes(given.text, names, span=found.span("sizes")).all()
    strides = row_major(tuple(sizes))
    if found["strides"] is not None:
        steps = _Sizes(given.text, names, span=found.span("strides")).all()
        if len(steps) != len(sizes):
            counts = f"{counted(len(sizes), 'size')}, and {counted(len(steps), 'stride')}"
            raise LayoutError(
                "TW202", counts, hint="one stride a size", span=found.span("strides"), source=given.text
            )
        strides = tuple(map(as_vector, steps))
    offset = as_vector(int(found.groupdict().get("offset") or 0))
    return Reading(Layout(tuple(sizes), strides, offset=offset), _type_of(found, given.text))


def names_in(text: str) -> list[str]:
    """Return the names of sizes that an array's text has, in their order.

    >>> names_in("f32[s77, 4*s1][4*s1, 1]cuda:0")
    ['s77', 's1']
    """
    found = _CALL.fullmatch(text) or _PRINTED.fullmatch(text)
    spans = [found[part] or "" for part in ("sizes", "strides")] if found else []
    words = [word for part in spans for word in re.findall(r"[^\W\d]\w*", part)]
    return [word for word in dict.fromkeys(words) if word not in ("floordiv", "ceildiv")]


class _Sizes(NumberCursor):
    """Numbers with commas between them; `//` rounds down."""

    def quotient(self, value: int, by: int, span: Span) -> int:
        """Return a quotient, rounded down."""
        if not is_named(by) and by < 1:
            raise self.error("TW101", f"{by} divides nothing here", span, "sizes are 1 or more")
        return floor_of(value, by)  # type: ignore[return-value]  # a number with names is one here

    def all(self) -> list[int]:
        """Take all of them."""
        found = []
        while self.next.kind != END:
            found.append(self.number())
            if not self.accept(","):
                break
        self.expect_end("the list", "separate numbers with commas")
        return found


def _type_of(found: re.Match[str], text: str) -> DType | None:
    """Return the type of an element, or None where the text does not say it."""
    word = found["type"]
    if word is None:
        return None
    element = known_type(_INTEGERS.get(word, word)) or element_of(word)
    if element is None:
        hint = "such as f32, bf16, float32"
        raise LayoutError(
            "TW401", f"'{word}' is no type of an element", hint=hint, span=found.span("type"), source=text
        )
    return element
