"""Figures of shared-memory layouts: what they draw, as layouts, with the numbers printed beside them.

Some follow from the table of atoms. Others are worked examples: kept as they are printed, also where that
cannot be meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.hardware import sources
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.operands.canonical import canonical, form_of
from tilewise.hardware.operands.tiles import atom


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    >>> from tilewise.hardware.wgmma.figures import figure
    >>> figure(166).printed
    'Swizzle<0,4,3> o ((8,2),(4,4)):((4,32),(1,64))'
    >>> print(figure(157).layout)
    Swizzle<3,0,3> o S[(8, 8) : (8, 1)]
    """

    number: int
    caption: str
    anchor: str
    major: str
    mode: Mode
    dtype: DType
    printed: str = ""
    """The exact layout, as the document prints it: the swizzle in bytes, strides in elements."""
    m: int = 0
    k: int = 0
    lbo: int | None = None
    """In bytes, None where the document says NA."""
    sbo: int = 0
    lbo_encoded: int = 0
    sbo_encoded: int = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        encoded = ((self.lbo or CHUNK) // CHUNK, self.sbo // CHUNK)
        if self.printed and (self.lbo_encoded, self.sbo_encoded) != encoded:
            raise ValueError(f"figure {self.number} does not hold together")

    @property
    def layout(self) -> Layout:
        """What the figure draws, [rows, K], counted in its elements, most often of 128 bits."""
        if not self.printed:
            return atom(self.mode, self.major, self.dtype)
        return canonical(self.mode, self.major, self.dtype, self.m, self.k, self.lbo, self.sbo)

    @property
    def canonical(self) -> str:
        """The row of the table of canonical layouts that it is an example of."""
        return form_of(self.mode, self.major).cute

    @property
    def t(self) -> int:
        """Elements in 16 bytes."""
        return CHUNK * 8 // self.dtype.bits

    @property
    def source(self) -> sources.Source:
        """Where it stands."""
        return sources.ptx(f"Figure {self.number}, {self.caption}", self.anchor)


OVERLAP = (
    "as printed it overlaps itself: with k = 2 a row has 4 chunks of 16 bytes, and rows are only 2 chunks "
    "apart, so that (0, 8) and (1, 0) are one address; with k = 1 it does not"
)
"""Of the example of K-major with 32B swizzling, which the documents of both engines have."""

EXAMPLES = (
    ("k", "none", "tf32", "Swizzle<0,4,3> o ((8,2),(4,4)):((4,32),(1,64))", (64, 32), (16, 8)),
    ("k", "32B", "tf32", "Swizzle<1,4,3> o ((8,2),(4,4)):((8,64),(1,4))", (None, 64), (1, 16)),
    ("mn", "none", "bf16", "Swizzle<0,4,3> o ((8,1,2),(8,2)):((1,8,64),(8,128))", (128, 64), (16, 8)),
    ("mn", "32B", "bf16", "Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))", (128, 256), (16, 32)),
    ("mn", "64B", "bf16", "Swizzle<2,4,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))", (256, 512), (32, 64)),
)
"""(major, mode, type, exact layout, LBO and SBO in elements, their encodings), as both have them."""


def worked(first: int, anchors: str) -> list[Figure]:
    """The five worked examples, numbered from `first` on; an anchor begins with the words of its document."""
    found = []
    for number, (major, mode, dtype, printed, strides, encoded) in enumerate(EXAMPLES, first):
        element = DType.of(dtype)
        lbo, sbo = (None if count is None else count * element.bits // 8 for count in strides)
        how = "no-swizzling" if mode == "none" else f"{mode} swizzling"
        name = "no" if mode == "none" else mode.lower()
        found.append(
            Figure(
                number,
                f"{major.upper()} major, {how} and {dtype} type",
                f"{anchors}-{major}-{name}-swizzle-{dtype}",
                major,
                Mode.of(mode),
                element,
                printed,
                2,
                2,
                lbo,
                sbo or 0,
                *encoded,
                (OVERLAP,) if (major, mode) == ("k", "32B") else (),
            )
        )
    return found


def figure_of(figures: Mapping[int, Figure], number: int, known: str) -> Figure:
    """Return the figure of a number, one of those `known`."""
    if as_int(number, "the number of a figure") in figures:
        return figures[number]
    hint = {
        229: "it does not say whether its atoms keep 16 or 32 bytes together: tcgen05.atom has both",
        **dict.fromkeys(range(148, 156), "148 to 155 are the fragments: wgmma.A and wgmma.D"),
    }
    raise LayoutError(
        "TW601", f"figure {number} is not in the catalogue", hint=hint.get(number, f"known: {known}")
    )
