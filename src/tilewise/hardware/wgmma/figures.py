"""Figures 156 to 170 of the PTX manual: what they draw, as layouts, with the numbers printed beside them.

156 to 165 follow from the table of atoms. 166 to 170 are worked examples: kept as they are printed, also
where that cannot be meant.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.hardware import sources
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.wgmma.canonical import canonical, form_of
from tilewise.hardware.wgmma.tiles import atom


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

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
        """What the figure draws, [rows, K], counted in its elements; 156 to 163 have elements of 128 bits."""
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


def figure(number: int) -> Figure:
    """The figure of that number."""
    if as_int(number, "the number of a figure") not in FIGURES:
        fragments = 148 <= number <= 155
        hint = "148 to 155 are the fragments: wgmma.A and wgmma.D" if fragments else "known: 156 to 170"
        raise LayoutError("TW601", f"figure {number} is not in the catalogue", hint=hint)
    return FIGURES[number]


_OVERLAP = (
    "as printed it overlaps itself: with k = 2 a row has 4 chunks of 16 bytes, and rows are only 2 chunks "
    "apart, so that (0, 8) and (1, 0) are one address; with k = 1 it does not"
)


def _drawn(number: int, major: str, mode: str, dtype: str = "b128") -> Figure:
    """A figure that follows from the table of atoms."""
    name = mode.lower() if mode != "none" else "interleaved"
    how = "interleaved" if mode == "none" else f"{mode} swizzling"
    order = (major, name) if mode == "none" else (name, major)
    tail = f", {dtype}" if dtype != "b128" else ""
    return Figure(
        number,
        f"{major.upper()} major {how}{tail}",
        "-".join(("async-warpgroup-smem-layout", *order, *([dtype] if tail else []))),
        major,
        Mode.of(mode),
        DType.of(dtype),
    )


def _worked(
    number: int,
    major: str,
    mode: str,
    dtype: str,
    printed: str,
    strides: tuple[int | None, int],
    encoded: tuple[int, int],
    notes: tuple[str, ...] = (),
) -> Figure:
    """A worked example: the exact layout, LBO and SBO in elements, and their encodings."""
    element = DType.of(dtype)
    lbo, sbo = strides
    how = "no-swizzling" if mode == "none" else f"{mode} swizzling"
    name = "no" if mode == "none" else mode.lower()
    return Figure(
        number,
        f"{major.upper()} major, {how} and {dtype} type",
        f"async-warpgroup-{major}-{name}-swizzle-{dtype}",
        major,
        Mode.of(mode),
        element,
        printed,
        2,
        2,
        None if lbo is None else lbo * element.bits // 8,
        sbo * element.bits // 8,
        *encoded,
        notes,
    )


FIGURES = {
    row.number: row
    for row in (
        _drawn(156, "mn", "128B"),
        _drawn(157, "k", "128B"),
        _drawn(158, "mn", "64B"),
        _drawn(159, "k", "64B"),
        _drawn(160, "mn", "32B"),
        _drawn(161, "k", "32B"),
        _drawn(162, "mn", "none"),
        _drawn(163, "k", "none"),
        _drawn(164, "k", "128B", "tf32"),
        _drawn(165, "mn", "128B", "tf32"),
        _worked(
            166,
            "k",
            "none",
            "tf32",
            "Swizzle<0,4,3> o ((8,2),(4,4)):((4,32),(1,64))",
            (64, 32),
            (16, 8),
        ),
        _worked(
            167,
            "k",
            "32B",
            "tf32",
            "Swizzle<1,4,3> o ((8,2),(4,4)):((8,64),(1,4))",
            (None, 64),
            (1, 16),
            (_OVERLAP,),
        ),
        _worked(
            168,
            "mn",
            "none",
            "bf16",
            "Swizzle<0,4,3> o ((8,1,2),(8,2)):((1,8,64),(8,128))",
            (128, 64),
            (16, 8),
        ),
        _worked(
            169,
            "mn",
            "32B",
            "bf16",
            "Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))",
            (128, 256),
            (16, 32),
        ),
        _worked(
            170,
            "mn",
            "64B",
            "bf16",
            "Swizzle<2,4,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))",
            (256, 512),
            (32, 64),
        ),
    )
}
"""Every figure by its number."""
