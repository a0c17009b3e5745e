"""The types of a module: shapes, elements, encodings; the layout of each, and its linear map.

Where an encoding is no layout, as `#ttg.generic_linear` or a WMMA whose warps are XORed, the reason stands in
its place. The bases of its map say what travels in a conversion nevertheless.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

from tilewise.compiled.commands import exploring
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import flat_index
from tilewise.notation.dialects.given import Extents
from tilewise.notation.dialects.triton.encodings import (
    DEFINITION,
    Attributes,
    Context,
    Encoding,
    Typed,
    typed,
)
from tilewise.notation.dialects.triton.layouts import layout_of, tile_of
from tilewise.notation.dialects.triton.memory import paddings_of
from tilewise.notation.dialects.triton.tile import Tile

BYTE = 8
MEMORY = ("shared_memory", "tensor_memory")
_PARTS = re.compile(r"[<\[{(]|[>\]}]|\)|,")


@dataclass(frozen=True)
class TypeInText:
    """The type of a tensor in registers, or of a buffer, as a text has it."""

    text: str
    read: Typed | None = None
    """Its encoding, shape and element; None where they are not read here."""
    reason: str = ""
    """Why they are not read."""
    triton: str | None = field(default=None, repr=False)
    """The version that printed it, if that is known."""

    @property
    def name(self) -> str:
        """Return the encoding as the text calls it.

        >>> TypeInText("tensor<8x8x!tt.ptr<f16>, #ttg.slice<{dim = 0, parent = #b}>>").name
        '#ttg.slice<{dim = 0, parent = #b}>'
        """
        return (*_parts(self.text[self.text.find("<") + 1 : -1]), "", "")[1]

    @property
    def in_registers(self) -> bool:
        """Return True for a tensor, False for a buffer."""
        return self.text.startswith("tensor<")

    @property
    def shape(self) -> Extents:
        """Return the extents; () where they are not read."""
        return (self.read and self.read.shape) or ()

    @property
    def dtype(self) -> DType | None:
        """Return the type of an element; of pointers, 64 bits."""
        return self.read.dtype if self.read else None

    @property
    def bits(self) -> int:
        """Return the bits that an element takes in a register or in memory: a truth value has 8."""
        kind = self.dtype
        return 0 if kind is None else max(kind.bits, BYTE) if kind.bits == 1 else kind.bits

    @property
    def bytes(self) -> int:
        """Return the bytes of all elements, without paddings."""
        return prod(self.shape) * self.bits // BYTE

    @cached_property
    def _found(self) -> tuple[Layout | None, str, tuple[str, ...]]:
        if self.read is None:
            return None, self.reason, ()
        context = Context.of(self.triton, self.dtype)
        try:
            layout = layout_of(self.read.encoding, self.shape, self.read.allocation, context)
        except LayoutError as error:
            return None, error.message, ()
        return layout, "", tuple(context.notes)

    @property
    def layout(self) -> Layout | None:
        """Return the layout, or None for an encoding that is no layout."""
        return self._found[0]

    @property
    def why_not(self) -> str:
        """Return the reason why there is no layout, or ""."""
        return self._found[1]

    @property
    def explore(self) -> str | None:
        """Return the command that opens the layout in the explorer, or None without a layout."""
        return exploring(self.layout, self.dtype)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return sentences about the reading, as of registers beyond the shape."""
        return self._found[2]

    @cached_property
    def tile(self) -> tuple[Tile, Extents] | None:
        """Return the linear map from places to elements and the shape that it covers, or None."""
        if self.read is None:
            return None
        try:
            return tile_of(
                self.read.encoding,
                self.shape,
                self.read.allocation,
                Context.of(self.triton, self.dtype),
            )
        except LayoutError:
            return None

    @cached_property
    def bases(self) -> Mapping[str, tuple[int, ...]] | None:
        """Return {place: the step of the flat index for each bit of the place}, or None."""
        if self.tile is None:
            return None
        tile, shape = self.tile
        return {
            place: tuple([flat_index(basis, shape) for basis in moved]) for place, moved in tile.bases.items()
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the type as plain data, with its layout or the reason why it has no layout."""
        return {
            "name": self.name,
            "type": self.text,
            "shape": list(self.shape),
            "dtype": self.dtype and self.dtype.name,
            "layout": self.layout and str(self.layout),
            "reason": self.why_not,
            "explore": self.explore,
        }

    @property
    def paddings(self) -> list[tuple[int, int]]:
        """Return (interval, padding) in elements, of padded memory."""
        return paddings_of(self.read.encoding) if self.read and self.tile else []


class Types:
    """The types of one module, each read once."""

    def __init__(self, source: str, triton: str | None = None) -> None:
        self._known: dict[str, TypeInText] = {}
        self._encodings: dict[str, Encoding] = {}
        self.unread: dict[str, str] = {}
        """{name of an encoding that is not read: why}."""
        self._triton = triton
        for found in DEFINITION.finditer(source):
            try:
                self._encodings[found[1]] = typed(
                    found[2], (0, len(found[2])), Attributes(self._encodings)
                ).encoding
            except LayoutError as error:
                self.unread[found[1]] = error.message

    def __getitem__(self, text: str) -> TypeInText:
        """Return the type that a text spells."""
        if text not in self._known:
            self._known[text] = self._read(text)
        return self._known[text]

    def _read(self, text: str) -> TypeInText:
        try:
            return TypeInText(
                text, typed(text, (0, len(text)), Attributes(self._encodings)), triton=self._triton
            )
        except LayoutError as error:
            name = TypeInText(text).name
            return TypeInText(text, reason=self.unread.get(name, error.message))


def _parts(text: str) -> list[str]:
    """Return the pieces between commas outside of brackets."""
    found, start, depth = [], 0, 0
    for sign in _PARTS.finditer(text):
        if sign[0] == ",":
            if not depth:
                found.append(text[start : sign.start()].strip())
                start = sign.end()
        elif sign[0] != ">" or text[sign.start() - 1] != "-":
            depth += 1 if sign[0] in "<[{(" else -1
    return [*found, text[start:].strip()]
