"""Figures of the PTX manual that show operands in shared memory: rows of `figures.json`, as layouts.

156 to 165 and 219 to 228 follow from the tables of atoms. 166 to 170, and 188 to 192 of tcgen05, are worked
examples: kept as printed, obvious misprints included. 229 is left out: it is MN-major tf32 with 128B
swizzling, and the manual does not give the bytes of its atoms.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.hardware import sources
from tilewise.hardware.modes import BLACKWELL, CHUNK, Mode
from tilewise.hardware.operands.canonical import canonical
from tilewise.hardware.operands.tiles import atom

TABLE = "figures.json"
NUMBERS = {"wgmma": "156 to 170", "tcgen05": "188 to 192, 219 to 228"}
"""{engine: the numbers of its figures}."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its place in the manual, its subject, and the numbers that are printed beside it.

    >>> figure("wgmma", 166).printed
    'Swizzle<0,4,3> o ((8,2),(4,4)):((4,32),(1,64))'
    >>> print(figure("wgmma", 157).layout)
    Swizzle<3,0,3> o S[(8, 8) : (8, 1)]
    """

    number: int
    major: str
    mode: Mode
    dtype: DType
    caption: str
    anchor: str
    printed: str = ""
    """The exact layout, as the document prints it: the swizzle in bytes, strides in elements."""
    m: int = 0
    k: int = 0
    lbo: int | None = None
    """In bytes; None where the document has NA."""
    sbo: int = 0
    encoded: tuple[int, int] = (0, 0)
    """LBO and SBO as the document prints the numbers in their fields."""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.printed and self.encoded != ((self.lbo or CHUNK) // CHUNK, self.sbo // CHUNK):
            raise ValueError(f"figure {self.number} does not hold together")

    @property
    def layout(self) -> Layout:
        """Return the layout that the figure draws, [rows, K], in its elements, most often of 128 bits."""
        if not self.printed:
            return atom(self.mode, self.major, self.dtype)
        return canonical(self.mode, self.major, self.dtype, self.m, self.k, self.lbo, self.sbo)

    @property
    def source(self) -> sources.Source:
        """Return its place in the manual."""
        return sources.ptx(f"Figure {self.number}, {self.caption}", self.anchor)


@cache
def figures_of(engine: str) -> Mapping[int, Figure]:
    """Return {number: figure} of an engine's operands.

    >>> [*figures_of("tcgen05")][:6]
    [188, 189, 190, 191, 192, 219]
    """
    rows = json.loads(Path(__file__).with_name(TABLE).read_text(encoding="utf-8"))[engine]
    for row in rows:
        row |= {name: tuple(row[name]) for name in ("encoded", "notes") if name in row}
        row |= {"mode": BLACKWELL[row["mode"]], "dtype": DType.of(row["dtype"])}
    return {row["number"]: Figure(**row) for row in rows}


def figure(engine: str, number: int) -> Figure:
    """Return the figure of a number, or refuse it with the numbers that an engine has."""
    found = figures_of(engine).get(as_int(number, "the number of a figure"))
    if found is not None:
        return found
    hint = {
        229: "it does not say whether its atoms keep 16 or 32 bytes together: tcgen05.atom has both",
        **dict.fromkeys(range(148, 156), "148 to 155 are the fragments: wgmma.A and wgmma.D"),
    }
    known = f"known: {NUMBERS[engine]}"
    raise LayoutError("TW601", f"figure {number} is not in the catalogue", hint=hint.get(number, known))
