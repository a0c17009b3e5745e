"""Shared-memory tiles of operands: the swizzle atoms, and whole tiles made of them.

An operand is [rows, K]: A [M, K], B [N, K]; PTX draws B as K x N. The atom of a mode is `mode.rows` deep
across the major direction, 8 or 4, and `mode.elements` long along it. Atoms stand one after another, down
one direction first: `order` says which.
"""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector, as_vector
from tilewise.hardware.modes import Mode
from tilewise.hardware.operands.majors import check_major_word

ORDERS = ("mn", "k")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.hardware.operands.template import Digits


def atom(mode: Mode | str, major: str, dtype: DType | str) -> Layout:
    """The swizzle atom, [rows, K], counted in elements.

    >>> print(atom("128B", "k", "bf16"))
    Swizzle<3,3,3> o S[(8, 64) : (64, 1)]
    >>> print(atom("none", "mn", "f16"))
    S[(8, 8) : (1, 8)]
    """
    mode, element = Mode.of(mode), DType.of(dtype)
    long = _long(mode, element)
    strides = (long, 1) if major == "k" else (1, long)
    return _swizzled(mode, element, Layout(extents(mode, major, element), tuple(map(as_vector, strides))))


def extents(mode: Mode, major: str, element: DType) -> tuple[int, int]:
    """Rows of an atom, and elements along K.

    >>> extents(Mode.of("128B"), "k", DType.of("bf16")), extents(Mode.of("64B"), "mn", DType.of("f16"))
    ((8, 64), (32, 8))
    """
    long = _long(mode, element)
    return (mode.rows, long) if check_major_word(major) == "k" else (long, mode.rows)


def spacing(mode: Mode, major: str, element: DType, rows: int, k: int, order: str = "mn") -> tuple[int, int]:
    """Bytes from an atom of a tile to the next along the rows, and to the next along K.

    >>> spacing(Mode.of("128B"), "k", DType.of("bf16"), 128, 128)
    (1024, 16384)
    """
    deep_rows, deep_k = extents(mode, major, element)
    size = mode.rows * mode.width
    return (size, size * (rows // deep_rows)) if order == "mn" else (size * (k // deep_k), size)


def tile(mode: Mode | str, major: str, dtype: DType | str, rows: int, k: int, order: str = "mn") -> Layout:
    """A whole tile of atoms, [rows, K], counted in elements; atoms follow one another down `order` first.

        requires       the tile is a whole number of atoms both ways

    >>> print(tile("128B", "k", "bf16", 128, 128))
    Swizzle<3,3,3> o S[((16, 8), (2, 64)) : ((512, 64), (8192, 1))]
    >>> print(tile("128B", "mn", "bf16", 128, 64, order="k"))
    Swizzle<3,3,3> o S[((2, 64), (8, 8)) : ((4096, 1), (512, 64))]
    """
    mode, element = Mode.of(mode), DType.of(dtype)
    digits = tile_digits(mode, major, element, rows, k, order)
    shape = tuple([tuple([extent for extent, _ in own]) for own in digits])
    strides = tuple([as_vector(step // element.bits) for own in digits for _, step in own])
    return _swizzled(mode, element, Layout(shape, strides))


def tile_digits(
    mode: Mode, major: str, element: DType, rows: int, k: int, order: str = "mn"
) -> tuple[Digits, Digits]:
    """Return the digits of a tile's rows and of its K in bits, before the swizzle: the atom, and inside it.

        requires       the tile is a whole number of atoms both ways

    >>> tile_digits(Mode.of("128B"), "k", DType.of("u8"), 128, 128)
    ([(16, 8192), (8, 1024)], [(1, 131072), (128, 8)])
    """
    deep_rows, deep_k = extents(mode, major, element)
    for extent, deep, name in ((rows, deep_rows, "rows"), (k, deep_k, "elements along K")):
        if as_int(extent, name) < 1 or extent % deep:
            raise Refused(
                "TW603",
                f"{extent} {name} are no whole number of {mode} atoms, which are {deep_rows} x {deep_k}",
                witness={"mode": mode.name, "atom": [deep_rows, deep_k], "tile": [rows, k]},
                hint=f"take a multiple of {deep}, or a narrower mode",
            )
    if order not in ORDERS:
        raise LayoutError("TW601", f"{order!r} is no order of atoms", hint="known: mn k")
    far_rows, far_k = spacing(mode, major, element, rows, k, order)
    row, column = (8 * mode.width, element.bits) if major == "k" else (element.bits, 8 * mode.width)
    return [(rows // deep_rows, 8 * far_rows), (deep_rows, row)], [(k // deep_k, 8 * far_k), (deep_k, column)]


def _long(mode: Mode, element: DType) -> int:
    if element.bits > 128 or 128 % element.bits:
        raise Refused(
            "TW602",
            f"{element} has {element.bits} bits, which do not fill 16 bytes",
            witness={"dtype": element.name},
            hint="the atoms hold elements of 1 to 128 bits that divide 128",
        )
    return mode.elements(element)


def _swizzled(mode: Mode, element: DType, layout: Layout) -> Layout:
    if not mode.bits:
        return layout
    return layout.swizzled((mode.swizzle.scaled(8, element.bits),), Vector(()))
