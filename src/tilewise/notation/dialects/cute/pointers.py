"""The pointers that CuTe prints before a layout: the width or the type of an element, and where it lies.

    smem_ptr[16b](0x400)   tmem_[32b](0x0000.0100)     C++
    ptr<f16, smem, align<1024>, S<3,4,3>>              the DSL, when it traces
    raw_ptr(0x400: f16, gmem, align<16>)               the DSL, when it runs

The DSL prints a swizzle of the pointer when it traces alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.swizzles import Swizzle
from tilewise.notation.dialects.cute.elements import bits_of, element_of
from tilewise.notation.tokens import WIDTH, Cursor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SPACES = {
    "smem": "shared memory",
    "dsmem": "the cluster's shared memory",
    "gmem": "global memory",
    "rmem": "registers",
    "tmem": "tensor memory",
    "generic": "memory of any kind",
}
EXAMPLE = "such as smem_ptr[16b](unset) o (8,64):(64,1)"


@dataclass(slots=True)
class Pointer:
    """A pointer, as a text has it. Its address is no part of the layout."""

    bits: int | None = None
    """The bits of an element in memory; None where the type does not tell them."""
    dtype: DType | None = None
    space: str = ""
    alignment: int = 0
    """In bytes, or 0 where the text has none."""
    swizzled: bool = False
    """True where its type has a swizzle, which acts on the bytes of the address."""
    ran: bool = False
    """True where the text was printed at run time."""

    def notes(self, layout: Layout) -> Iterator[str]:
        """Yield what its reader should know beside the layout."""
        words = [f"to {SPACES[self.space]}"] if self.space else []
        words += [f"aligned to {self.alignment} bytes"] if self.alignment else []
        if words:
            yield f"the pointer is {', '.join(words)}"
        if self.space == "tmem":
            yield "a place in tensor memory is an offset of its address, which has the lane above bit 16"
        if self.ran and self.space in ("smem", "dsmem", "generic"):
            yield "a swizzle that the pointer has is left out by the DSL where it prints at run time"
        period = layout.period * (self.bits or 8) // 8
        if self.swizzled and self.alignment % period:
            yield f"the swizzle repeats by {period} bytes, and the pointer may begin inside its pattern"


def width_pointer(cursor: Cursor, number: Callable[[], int]) -> Pointer:
    """Take `smem_ptr[16b](0x400)`, whose word is next; `number` takes an address."""
    start = cursor.take()
    opened = cursor.expect("[")
    width = cursor.take()
    bits = int(width.text[:-1]) if width.kind == WIDTH and len(width.text) <= 5 else 0
    if bits < 1:
        raise cursor.error("TW004", "expected the width of an element, such as 16b", width.span)
    cursor.expect("]", opened)
    opened = cursor.expect("(", hint=EXAMPLE)
    at = cursor.next
    if cursor.accept("("):  # C prints a null pointer as (nil)
        cursor.expect("nil")
        cursor.expect(")", at)
    elif start.text == "tmem_" and at.kind == WIDTH:  # lane and column, 0x0000.0100
        cursor.take()
    elif not cursor.accept("unset", "nullptr") and number() * 8 % bits:
        hint = "it counts bytes; where it says nothing, write unset"
        raise cursor.error("TW106", f"the address is no multiple of {bits} bits", at.span, hint)
    cursor.expect(")", opened)
    return Pointer(bits, space="tmem" if start.text == "tmem_" else "")


def typed_pointer(
    cursor: Cursor, number: Callable[[], int], swizzle: Callable[[], Swizzle]
) -> tuple[Pointer, list[Swizzle]]:
    """Take `ptr<f16, smem, align<1024>, S<3,4,3>>` or `raw_ptr(0x400: f16)`, and its swizzle in elements."""
    word, opened = cursor.take(), cursor.take()
    if opened.text == "(":
        number()
        cursor.expect(":", opened)
    element = cursor.take()
    bits = bits_of(element.text)
    if bits is None and element.text != "i1":
        message = f"{element} is no type of an element that is known here"
        raise cursor.error("TW105", message, element.span, "such as f16, bf16, f8E4M3FN or i32")
    pointer = Pointer(bits, element_of(element.text), ran=word.text == "raw_ptr")
    swizzles: list[Swizzle] = []
    while cursor.accept(","):
        start = cursor.next
        if start.text == "S":
            on_bytes = swizzle()
            with cursor.blame(start):
                if bits is None:
                    message = "the bytes of a bool in memory are not known here"
                    raise LayoutError("TW106", f"{message}, and the swizzle acts on bytes")
                swizzles.append(on_bytes.scaled(8, bits))
        elif cursor.accept("align"):
            bracket = cursor.expect("<")
            pointer.alignment = number()
            cursor.expect(">", bracket)
        else:
            pointer.space = space(cursor)
    cursor.expect(">" if opened.text == "<" else ")", opened)
    pointer.swizzled = bool(swizzles)
    return pointer, swizzles


def space(cursor: Cursor) -> str:
    """Take the memory that a pointer is to."""
    word = cursor.take()
    if word.text in SPACES:
        return word.text
    hint = f"known: {', '.join(SPACES)}, align<16>, S<3,4,3>"
    raise cursor.error("TW002", f"{word} is no part of a pointer of CuTe", word.span, hint)
