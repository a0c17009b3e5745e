"""Models of the hardware on the CPU: memory, registers and the engines between them, with given bytes.

numbers    from the bits of an element to its number, and back
faults     forbidden steps, each with its culprit: the instruction, the warp, the lane
memory     bytes of global or shared memory, with a mark for each byte that was written
registers  32-bit registers of warps; tiles put into them and taken out by layout
sums       D = A B^T + C: exactly, or by a device's known rounding, with a bound between the two
warp       plain loads and stores of the lanes, and shuffles
matrices   ldmatrix, stmatrix, movmatrix
mma        mma.sync and mma.sp
wgmma      products of a warpgroup, by descriptors or from registers
tma        copies of boxes of a tensor, and back
scales     scale factors packed into blocks, and back
tensor_memory  words of tensor memory: tcgen05.ld, .st and .cp
"""

from __future__ import annotations

from tilewise.simulate.matrices import ldmatrix, movmatrix, stmatrix
from tilewise.simulate.memory import Memory
from tilewise.simulate.registers import Registers

__all__ = ["Memory", "Registers", "ldmatrix", "movmatrix", "stmatrix"]
