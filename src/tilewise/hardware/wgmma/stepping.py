"""From tile to descriptors of wgmma: the first one, and what every step along M, N and K adds to it.

Every instruction reads 64 rows of A, or N rows of B, and 32 bytes of K; how the steps follow is said in
`tilewise.hardware.operands.stepping`.
"""

from __future__ import annotations

from tilewise.core.dtypes import DType
from tilewise.hardware.modes import Mode
from tilewise.hardware.operands import stepping
from tilewise.hardware.operands.stepping import PATTERNS, Digits, Placement, Taken, fed, placements
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.instructions import Input, M, check_operand

__all__ = ["PATTERNS", "Digits", "Feeding", "Placement", "Stages", "Step", "feeding", "placements", "taken"]

Step = stepping.Step[Descriptor]
Feeding = stepping.Feeding[Descriptor]
Stages = stepping.Stages[Descriptor]


def taken(dtype: DType | str, operand: str) -> Taken:
    """What one wgmma takes of an operand: 64 rows of A, any legal N of B."""
    row = Input.of(dtype)
    legal = (M,) if check_operand(operand) == "A" else row.n
    return Taken(operand, row.name, row.dtype, row.k, legal, M)


def feeding(
    mode: Mode | str,
    major: str,
    dtype: DType | str,
    rows: int,
    k: int,
    order: str = "mn",
    *,
    operand: str,
    n: int | None = None,
    base: int = 0,
    pattern: str = "tile",
) -> Feeding:
    """The descriptors of a whole tile, as `tiles.tile` makes it, at a base in shared memory.

        requires       whole atoms, whole instructions; no instruction begins in one MN-major atom and
                       ends in another; a base that the pattern allows
        pattern        "tile": the swizzle counts from the base; "address": from address 0, as TMA writes

    >>> first = feeding("64B", "mn", "f16", 128, 64, operand="A").descriptor
    >>> first.lbo, first.sbo, hex(first.value)
    (512, 2048, '0x8000008000200000')
    """
    mode, element = Mode.of(mode), Input.of(dtype)
    element.check_major(major)
    of = taken(element.dtype, operand)
    asked = None if n is None else element.check_n(n)
    one = M if operand == "A" else asked
    return fed(of, Descriptor, mode, major, rows, k, order, one=one, base=base, pattern=pattern)
