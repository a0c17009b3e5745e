"""The dialects: texts that compilers and libraries print. One module reads and writes each of them.

    read(given)             the Reading of a text: a layout, and what the text says beside it
    write(layout, given)    the text of a layout; TW008 where the dialect cannot say it
    EXAMPLES                real texts, each a Given as a user would write it

This table tells dialects apart by their looks and imports the one
that is asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.notation.dialects.given import Given, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["DIALECTS", "Dialect", "Given", "Reading", "dialect_of", "read", "write"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect: its name, a sentence about it, and how its texts begin."""

    name: str
    summary: str
    looks: str = ""
    """A pattern of how texts begin. A dialect without looks is read where its name is given."""
    reads: bool = True
    writes: bool = True

    def has_the_looks(self, text: str) -> bool:
        """Return whether a text begins like one in this dialect."""
        return bool(self.looks) and re.match(rf"\s*(?:{self.looks})", text) is not None

    @property
    def module(self) -> ModuleType:
        """The module that reads and writes the dialect."""
        return import_module(f"{__name__}.{self.name.replace('-', '_')}")


_LIST = [
    Dialect(
        "gluon",
        "Gluon's objects: BlockedLayout(size_per_thread=[1, 4], threads_per_warp=[8, 4], ...)",
        r"(?:\w+\.)*(?:Blocked|Slice|DistributedLinear|DotOperand|NVMMADistributed|AMDMFMA|AMDWMMA|SwizzledShared"
        r"|NVMMAShared|PaddedShared|SharedLinear|PartitionedShared|TensorMemory|TensorMemoryScales)Layout\(",
    ),
    Dialect(
        "triton",
        "Triton's encodings and types: #ttg.blocked<{...}>, tensor<128x64xf16, #ttg.blocked<{...}>>",
        r"#(?:ttg|ttng|triton_gpu|triton_nvidia_gpu|gluon)\."
        r"|#[\w$]+\s*=\s*(?:#(?:ttg|ttng|triton_gpu|triton_nvidia_gpu|gluon)\.|loc\()"
        r"|!(?:ttg|tt|triton_gpu)\.memdesc<"
        r"|tensor<[^<>#]*(?:<[^<>#]*>)?\s*,\s*#(?:ttg|ttng|triton_gpu|triton_nvidia_gpu|gluon)\.",
    ),
    Dialect(
        "xla",
        "XLA's array layouts: bf16[256,512]{1,0:T(8,128)(2,1)}",
        r"(?:[a-z]\w*\[[\d,\s<=]*\]\s*)?\{\s*(?:\d+\s*(?:,\s*\d+\s*)*)?(?::[^{}=]*)?\}\s*$",
    ),
]
DIALECTS = {dialect.name: dialect for dialect in _LIST}

_OWN = ("S[", "R[", "O[", "(", "Swizzle<", "Swizzle(")
"""Beginnings of the notation, and of CuTe's: no pattern is tried on these."""


def dialect_of(text: str) -> Dialect | None:
    """Return the dialect that a text looks like, or None.

    >>> found = dialect_of("f32[16,128]{1,0:T(8,128)}")
    >>> found.name
    'xla'
    >>> dialect_of("S[8 : 1]")
    """
    if text.startswith(_OWN):
        return None
    return next((dialect for dialect in _LIST if dialect.has_the_looks(text)), None)


def read(dialect: Dialect, given: Given) -> Reading:
    """Return what a text in a dialect says."""
    if not dialect.reads:
        raise LayoutError("TW008", f"{dialect.name} is written here, and not read")
    try:
        found: Reading = dialect.module.read(given)
    except LayoutError as error:
        if error.span is None:
            error.span, error.source = (0, len(given.text)), given.text
        raise
    return found


def write(dialect: Dialect, layout: Layout, given: Given) -> str:
    """Return a layout as a text in a dialect; `given` has the options, such as the type."""
    if not dialect.writes:
        raise LayoutError("TW008", f"{dialect.name} is read here, and not written")
    text: str = dialect.module.write(layout, given)
    return text
