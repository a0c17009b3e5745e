"""The findings of the author of github.com/shiinamiyuki/sm120_gemm, from probes of a GPU of sm_120.

Its headers mxfp8_mma.cuh and nvfp4_mma.cuh say where one block-scaled product of each kind reads its operands
and its scales, for selectors too that no library uses, and that it was probed and not read in a manual.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.hardware.test_mma_scales import PROBED, probed
from tests.oracle.claims import Claim, Place, claim


def claims() -> Iterator[Claim]:
    """Of scales by selectors, and of the operands of packed 4-bit types."""
    for kind, scale, dtype, byte, thread in PROBED:
        selectors = {"kind": kind, "scale": scale, "dtype": dtype, "byte": byte, "thread": thread}
        vector = int(scale[0])
        for operand, rows in (("SFA", 16), ("SFB", 8)):
            places = (
                ((row, j), {"laneid": probed(operand, row, thread), "reg": byte + j})
                for row, j in product(range(rows), range(vector))
            )
            yield claim(f"probe of {kind}", f"mma.{operand}", places, **selectors)
    values = {"shape": "m16n8k64", "dtype": "e2m1"}
    yield claim("probe of mxf4nvf4", "mma.A", _operand(4), **values)
    yield claim("probe of mxf4nvf4", "mma.B", _operand(2), **values)
    for entry in ("mma.C", "mma.D"):
        yield claim("probe of mxf4nvf4", entry, _result(), shape="m16n8k64", dtype="f32")


def _operand(registers: int) -> Iterator[Place]:
    """a0 has row g and columns 8 q to 8 q + 7, a1 row g + 8, a2 and a3 those 32 further; B has row g."""
    for lane, register, nibble in product(range(32), range(registers), range(8)):
        g, q = lane >> 2, lane & 3
        low, far = (register % 2, register // 2) if registers == 4 else (0, register)
        yield (g + 8 * low, 32 * far + 8 * q + nibble), {"laneid": lane, "reg": 8 * register + nibble}


def _result() -> Iterator[Place]:
    for lane, value in product(range(32), range(4)):
        row, column = (lane >> 2) + 8 * (value // 2), 2 * (lane & 3) + value % 2
        yield (row, column), {"laneid": lane, "reg": value}
