"""Register fragments of wgmma: the thread of the warpgroup and the register of each element.

One picture serves all types. Let e be the elements of a 32-bit register. A row is 16 w + 8 h + g for
warp w, half h and lane 4 g + t; A's column is half a K, then t, then the place in the register; D's is
a group of eight, then t, then one of two neighbours.
"""

from __future__ import annotations

from tilewise.core.axes import Axis
from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector
from tilewise.hardware.instructions import listed, nearest, values, where
from tilewise.hardware.limits import REGISTER_BITS
from tilewise.hardware.wgmma.instructions import INPUTS, Input

WARP, LANE, REG = Axis("wid_in_wg"), Axis("laneid"), Axis("reg")


def a_fragment(dtype: DType | str) -> Layout:
    """Return A [64, K] in registers, `reg` counting elements in the document's order a0, a1, ...

    >>> print(a_fragment("f16"))
    S[((4, 2, 8), (2, 4, 2)) : ((1@wid_in_wg, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]
    >>> print(a_fragment("tf32").canonical())
    S[(4, 2, 8, 2, 4) : (1@wid_in_wg, 1@reg, 4@laneid, 2@reg, 1@laneid)]
    """
    each = REGISTER_BITS // Input.of(dtype).dtype.bits
    rows = (1 @ WARP, each @ REG, 4 @ LANE)
    columns = (2 * each @ REG, 1 @ LANE, 1 @ REG)
    return _fragment(rows, (2, 4, each), columns)


def d_fragment(dtype: DType | str, n: int) -> Layout:
    """Return D [64, N] in registers, `reg` counting elements in the document's order d0, d1, ...

    The map is the same for f16, f32 and s32; f16 packs two elements in a 32-bit register.

    >>> print(d_fragment("f32", 64))
    S[((4, 2, 8), (8, 4, 2)) : ((1@wid_in_wg, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]
    """
    check_accumulator(dtype, n)
    return _fragment((1 @ WARP, 2 @ REG, 4 @ LANE), (n // 8, 4, 2), (4 @ REG, 1 @ LANE, 1 @ REG))


def check_accumulator(dtype: DType | str, n: int) -> None:
    """Refuse a type of D that no wgmma has, and an N that is illegal for it."""
    name = DType.of(dtype).name
    inputs = where(INPUTS.values(), accumulators=name)
    if not inputs:
        hint = f"it accumulates in {listed(values(INPUTS.values(), 'accumulators'))}"
        raise Refused("TW602", f"wgmma does not accumulate in {name}", witness={"dtype": name}, hint=hint)
    if all(as_int(n, "N") not in row.n for row in inputs):
        raise Refused(
            "TW602",
            f"no wgmma has N = {n} with {name} accumulators",
            witness={"dtype": name, "n": n},
            hint=nearest(inputs[0].n, n),
        )


def _fragment(rows: tuple[Vector, ...], columns: tuple[int, ...], strides: tuple[Vector, ...]) -> Layout:
    return Layout(((4, 2, 8), columns), (*rows, *strides))
