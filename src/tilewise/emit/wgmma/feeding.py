"""The descriptor of a tile, and where each instruction starts to read, from the tile's addresses."""

from __future__ import annotations

from tilewise.hardware.modes import CHUNK, ROWS
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.instructions import M

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.emit.wgmma.plan import Operand, Step


def descriptor_and_steps(operand: Operand) -> tuple[Descriptor, tuple[Step, ...]]:
    """The descriptor of a tile at address 0, and the bytes from there to what each instruction reads."""
    from tilewise.emit.wgmma.plan import Step

    layout, bits = operand.tile, operand.input.dtype.bits

    def at(row: int, k: int) -> int:
        inside = row < operand.rows and k < operand.k
        return layout.before_swizzle(layout.flat_index(row, k))[0] * bits // 8 if inside else 0

    mode, chunk = operand.mode, CHUNK * 8 // bits
    if operand.major == "k":
        lbo, sbo = CHUNK if mode.bits else at(0, chunk), at(ROWS, 0)
    elif mode.bits:
        lbo, sbo = at(mode.elements(operand.input.dtype), 0), at(0, ROWS)
    else:
        lbo, sbo = at(0, ROWS), at(chunk, 0)
    rows = M if operand.name == "A" else operand.rows
    steps = [
        Step(block, k, at(block * rows, k * operand.input.k))
        for block in range(operand.rows // rows)
        for k in range(operand.k // operand.input.k)
    ]
    return Descriptor(0, lbo, sbo, mode), tuple(steps)
