"""A whole module of TTGIR: its target, the layouts that it uses, its conversions, buffers and accesses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tilewise.compiled.lines import Line
from tilewise.compiled.ttgir.buffers import ENGINES, SharedBuffer, buffers_in
from tilewise.compiled.ttgir.conversions import LayoutConversion, kind_of
from tilewise.compiled.ttgir.text import ModuleText, Op, text_of
from tilewise.compiled.ttgir.types import TypeInText, Types
from tilewise.core.layout import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.compiled.ttgir.accesses import MemoryAccess

CONVERSION = "ttg.convert_layout"
PRODUCTS = ("tt.dot", "tt.dot_scaled", "ttng.tc_gen5_mma_scaled", *ENGINES)
_KNOWN = re.compile(
    r"(?:arith|math|scf|cf|tt|ttg|ttng|nvgpu|amdg|gluon|rocdl)\."
    r"(?!atomic_|descriptor_|async_tma_|local_(?:gather|scatter)|buffer_atomic|.*_async\b)"
)
"""Operations that say all in their operands and types; those that reach memory otherwise are left out."""


@dataclass(frozen=True, slots=True)
class LayoutUse:
    """A layout of a module, of one shape and element, and the operations that have it."""

    type: TypeInText
    ops: Mapping[str, int]
    """{name of an operation: how many have it}."""

    @property
    def name(self) -> str:
        """Return the encoding as the text calls it."""
        return self.type.name

    @property
    def layout(self) -> Layout | None:
        """Return the layout, or None for an encoding that is no layout: `reason` tells why."""
        return self.type.layout

    @property
    def reason(self) -> str:
        """Return why there is no layout, or ""."""
        return self.type.why_not

    def as_dict(self) -> dict[str, Any]:
        """Return the use as plain data."""
        return self.type.as_dict() | {"notes": list(self.type.notes), "ops": dict(self.ops)}


@dataclass(frozen=True)
class Module:
    """A module, read."""

    text: ModuleText = field(repr=False)
    types: Types = field(repr=False)

    @cached_property
    def name(self) -> str:
        """Return the name of the first function, or ""."""
        names = (re.search(r"@([\w$.-]+)", op.text) for op in self.ops if op.name.endswith(".func"))
        return next((found[1] for found in names if found), "")

    @property
    def target(self) -> str:
        """Return the architecture, such as "cuda:90"; "" where the module does not say."""
        return self._attribute(r'target"? = "([^"]*)"') or ""

    @property
    def warps(self) -> int:
        """Return the warps of a block."""
        return int(self._attribute(r'num-warps"? = (\d{1,4})\b') or 4)

    @property
    def lanes(self) -> int:
        """Return the lanes of a warp."""
        return int(self._attribute(r'threads-per-warp"? = (\d{1,4})\b') or 32)

    def _attribute(self, pattern: str) -> str | None:
        found = re.search(pattern, self.text.header)
        return found[1] if found else None

    @property
    def ops(self) -> tuple[Op, ...]:
        """Return the operations in order."""
        return self.text.ops

    @cached_property
    def unknown(self) -> Mapping[str, int]:
        """Return {what is counted and not read: how often}: operations, lines, types with their reasons."""
        names = Counter(op.name for op in self.ops if not _KNOWN.match(op.kind))
        names.update(line.split(maxsplit=1)[0][:40] for line in self.text.unread.values())
        names.update(written.text for op in self.ops for written in self.types_of(op) if written.read is None)
        return dict(names)

    @cached_property
    def dots(self) -> tuple[Line, ...]:
        """Return the lines of the source that multiply matrices."""
        lines = (self.text.line(op) for op in self.ops if op.kind in PRODUCTS)
        return tuple(dict.fromkeys(line for line in lines if line is not None))

    def types_of(self, op: Op) -> Iterator[TypeInText]:
        """Yield the types of an operation that have an encoding, in order."""
        for text in op.types:
            if "#" in text and (text.startswith("tensor<") or "memdesc<" in text[:24]):
                yield self.types[text]

    @cached_property
    def _uses(self) -> tuple[LayoutUse, ...]:
        found: dict[str, Counter[str]] = {}
        for op in self.ops:
            for text in dict.fromkeys(written.text for written in self.types_of(op)):
                found.setdefault(text, Counter())[op.name] += 1
        return tuple([LayoutUse(self.types[text], ops) for text, ops in found.items()])

    def layouts(self) -> tuple[LayoutUse, ...]:
        """Return the types that have an encoding, in order, with the operations that have them."""
        return self._uses

    def conversions(self) -> tuple[LayoutConversion, ...]:
        """Return the conversions from one layout of registers to another, in order."""
        return tuple(self._conversions())

    def _conversions(self) -> Iterator[LayoutConversion]:
        for op in self.ops:
            types = [*self.types_of(op)] if op.kind == CONVERSION else []
            if len(types) < 2:
                continue
            source, target = types[0], types[-1]
            read = source.bases is not None and target.bases is not None and source.shape == target.shape
            kind = kind_of(source.bases or {}, target.bases or {}) if read else ""
            yield LayoutConversion(
                self.text.line(op), op.name, op.row, source, target, kind, op.loops, self.lanes
            )

    def buffers(self) -> tuple[SharedBuffer, ...]:
        """Return the allocations of shared and tensor memory, in order."""
        return tuple(buffers_in(self.text, self.types_of))

    def accesses(self, let: Mapping[str, int] | None = None) -> tuple[MemoryAccess, ...]:
        """Return the loads and stores, in order, as they are predicted.

        `let` has values of the kernel's integer arguments. Others are the least multiple of what divides them
        beyond 4096.

        refused  TW007 a name that no argument has; TW401 a number that is not divided as the module says
        """
        from tilewise.compiled.ttgir.accesses import accesses_in  # NumPy

        return tuple(accesses_in(self.text, self.types_of, self.target, let or {}))

    def as_dict(self, let: Mapping[str, int] | None = None) -> dict[str, Any]:
        """Return the module as plain data."""
        return {
            "name": self.name,
            "target": self.target,
            "warps": self.warps,
            "lanes": self.lanes,
            "ops": len(self.ops),
            "unknown": dict(self.unknown),
            "cut_off": list(self.text.open),
            "layouts": [use.as_dict() for use in self.layouts()],
            "conversions": [conversion.as_dict() for conversion in self.conversions()],
            "buffers": [buffer.as_dict() for buffer in self.buffers()],
            "accesses": [access.as_dict() for access in self.accesses(let)],
        }


def module_of(source: str, *, triton: str | None = None) -> Module:
    """Return the module of a text, as `compiled.asm["ttgir"]` has it.

    `triton` is the version that printed it, where it is not the newest.

        refused  TW005 a text that is too long; TW001 one without any operation

    >>> blocked = "sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]"
    >>> module = module_of(f'''
    ... #a = #ttg.blocked<{{{blocked}}}>
    ... #b = #ttg.blocked<{{{blocked.replace("[1]", "[4]")}}}>
    ... module attributes {{"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"}} {{
    ...   tt.func public @f(%x: tensor<512xf32, #a>) {{
    ...     %0 = ttg.convert_layout %x : tensor<512xf32, #a> -> tensor<512xf32, #b> loc("f.py":3:1)
    ...   }}
    ... }}''')
    >>> (moved,) = module.conversions()
    >>> module.name, module.target, moved.line.number, moved.kind, moved.bytes
    ('f', 'cuda:90', 3, 'warps', 2048)
    """
    return Module(text_of(source), Types(source, triton))
