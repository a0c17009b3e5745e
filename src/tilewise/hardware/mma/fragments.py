"""Register fragments of mma.sync: the lane of the warp and the register of each element.

One picture serves all shapes but Volta's. Lane 4 g + t, half h: a row of A, or of D, is 8 h + g; a row of B
[N, K] is g. A's and B's column is a group of 4 e, then t, then one of the e elements of a 32-bit
register (one element where it is wider); D's is t, then one of two neighbours. Registers count the halves of
the rows first, then the groups of K.

Volta's is m8n8k4 of f16, and four products at once. Product p has the quads p and p + 4 of the warp, lanes
4 p to 4 p + 3 and 4 p + 16 to 4 p + 19: lane t of its quad h has row 4 h + t of A, of B [N, K] and of an
f16 C, whole; or, where A is `col` and B is `row`, column t and four of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewise.core.axes import Axis
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.instructions import Shape
from tilewise.hardware.limits import LANES, REGISTER_BITS
from tilewise.hardware.mma.instructions import USUAL, VOLTA, check_major, multiplying
from tilewise.hardware.mma.kinds import container

LANE, REG = Axis("laneid"), Axis("reg")


def a_fragment(shape: Shape | str, dtype: DType | str, major: str = "row", product: int = 0) -> Layout:
    """Return A [M, K] in registers, `reg` counting elements in the document's order a0, a1, ...

    >>> print(a_fragment("m16n8k16", "f16"))
    S[((2, 8), (2, 4, 2)) : ((2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]
    >>> print(a_fragment("m8n8k4", "f16", product=2))
    S[((2, 4), 4) : ((16@laneid, 1@laneid), 1@reg)] + 8@laneid
    >>> print(a_fragment("m16n8k32", "e2m1"))  # of kind::f8f6f4, a byte an element
    S[((2, 8), (2, 4, 4)) : ((4@reg, 4@laneid), (8@reg, 1@laneid, 1@reg))]
    """
    return _input("A", shape, dtype, major, product)


def b_fragment(shape: Shape | str, dtype: DType | str, major: str = "col", product: int = 0) -> Layout:
    """Return B [N, K] in registers, `reg` counting elements in the document's order b0, b1, ...

    `major` is that of the document, whose B is K x N: in `col` the elements of a lane differ in K.

    >>> print(b_fragment("m16n8k16", "f16"))
    S[((1, 8), (2, 4, 2)) : ((2@reg, 4@laneid), (2@reg, 1@laneid, 1@reg))]
    >>> print(b_fragment("m8n8k4", "f16", major="row"))
    S[((2, 4), 4) : ((16@laneid, 1@reg), 1@laneid)]
    """
    return _input("B", shape, dtype, major, product)


def d_fragment(shape: Shape | str, dtype: DType | str, product: int = 0) -> Layout:
    """Return C or D [M, N] in registers, `reg` counting elements in the document's order c0, c1, ...

    >>> print(d_fragment("m16n8k16", "f32"))
    S[((2, 8), (1, 4, 2)) : ((2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]
    >>> print(d_fragment("m8n8k4", "f32"))
    S[((2, 2, 2), (2, 2, 2)) : ((16@laneid, 2@reg, 1@laneid), (4@reg, 2@laneid, 1@reg))]
    """
    wanted, element = Shape.of(shape), DType.of(dtype)
    multiplying(wanted, element.name, "d")
    if is_volta(wanted, element):
        return _of_product(_volta_result(element), product)
    _check_product(wanted, element, product)
    return result_fragment(wanted.m, wanted.n)


def _input(operand: str, shape: Shape | str, dtype: DType | str, major: str, product: int) -> Layout:
    """Return A or B: rows of M, or of N, along which K is counted in 32-bit registers."""
    wanted, element = Shape.of(shape), DType.of(dtype)
    multiplying(wanted, element.name, operand.lower())
    check_major(wanted, element, operand, major)
    if is_volta(wanted, element):
        return _of_product(_quads(major == USUAL["AB".index(operand)]), product)
    _check_product(wanted, element, product)
    rows = wanted.m if operand == "A" else wanted.n
    return input_fragment(rows, wanted.k, max(1, REGISTER_BITS // container(wanted, element)[0]))


def is_volta(shape: Shape, element: DType) -> bool:
    """Return True for m8n8k4 of f16, of A and B or of C and D, which computes four products at once.

    >>> from tilewise.core.dtypes import DType
    >>> is_volta(Shape.of("m8n8k4"), DType.of("f32")), is_volta(Shape.of("m8n8k4"), DType.of("f64"))
    (True, False)
    """
    return shape == VOLTA and element.name in ("f16", "f32")


def input_fragment(rows: int, k: int, each: int) -> Layout:
    """Return rows of A, or of B, with `each` elements of K in a 32-bit register.

    >>> print(input_fragment(16, 8, 2))
    S[((2, 8), (1, 4, 2)) : ((2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]
    """
    return _fragment(rows // 8, k // (4 * each), each)


def result_fragment(m: int, n: int) -> Layout:
    """Return C or D of M rows and N columns: two neighbours of a row follow one another in a thread.

    >>> print(result_fragment(16, 8))
    S[((2, 8), (1, 4, 2)) : ((2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]
    """
    return _fragment(m // 8, n // 8, 2)


def _fragment(halves: int, groups: int, each: int) -> Layout:
    down = (each @ REG, 4 @ LANE)
    along = (halves * each @ REG, 1 @ LANE, 1 @ REG)
    return Layout(((halves, 8), (groups, 4, each)), (*down, *along))


# -- small numbers in registers ----------------------------------------------------------------------


def packed(layout: Layout, numbers: Sequence[Sequence[int]], bits: int, words: Sequence[int]) -> list[int]:
    """Return the lanes' registers with numbers [row, column] of some bits in them; `reg` counts such.

    postcondition  unpacked(layout, packed(layout, numbers, bits, 32 * [0]), bits) == numbers
    """
    found = list(words)
    for row, several in enumerate(numbers):
        for column, number in enumerate(several):
            steps = layout.place(row, column).as_dict()
            found[steps["laneid"]] |= number << bits * steps.get("reg", 0)
    return found


def unpacked(layout: Layout, words: Sequence[int], bits: int) -> list[list[int]]:
    """Return the numbers [row, column] that the 32 lanes' registers hold."""
    if len(words) != LANES:
        raise LayoutError("TW202", f"a warp has {LANES} registers, and {len(words)} were given")
    exact = [as_int(word, "a register") for word in words]
    rows, columns = extents_of(layout.shape)
    places = [[layout.place(row, column).as_dict() for column in range(columns)] for row in range(rows)]
    mask = (1 << bits) - 1
    return [[exact[at["laneid"]] >> bits * at.get("reg", 0) & mask for at in row] for row in places]


# -- Volta's ---------------------------------------------------------------------------------------

PRODUCTS = 4
"""Products that one m8n8k4 of f16 computes, each in two quads of the warp."""


def _quads(whole_rows: bool) -> Layout:
    """Return rows of A, or of B: a lane has a row of four elements, or a column of four rows."""
    high, lane, element = 16 @ LANE, 1 @ LANE, 1 @ REG
    return Layout(((2, 4), 4), (high, lane, element) if whole_rows else (high, element, lane))


def _volta_result(element: DType) -> Layout:
    """Return C or D: a lane has a whole row of f16, or of f32 two rows, each of two times two neighbours."""
    if element.name == "f16":
        return Layout(((2, 4), 8), (16 @ LANE, 1 @ LANE, 1 @ REG))
    down, along = (16 @ LANE, 2 @ REG, 1 @ LANE), (4 @ REG, 2 @ LANE, 1 @ REG)
    return Layout(((2, 2, 2), (2, 2, 2)), (*down, *along))


def _of_product(first: Layout, product: int) -> Layout:
    if product not in range(PRODUCTS):
        raise LayoutError(
            "TW601", f"there is no product {product}", hint="m8n8k4 of f16 computes products 0 to 3"
        )
    return first + 4 * product @ LANE if product else first


def _check_product(shape: Shape, element: DType, product: int) -> None:
    if product != 0:
        raise Refused(
            "TW602",
            f"{shape} of {element} computes one product, which is product 0",
            witness={"shape": str(shape), "dtype": element.name, "product": product},
            hint="only m8n8k4 of f16 computes four",
        )
