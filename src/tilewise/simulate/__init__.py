"""What the hardware does with given bytes, on the CPU: memory, registers and the engines between them.

numbers    what the bits of an element mean, and back
faults     what must not be done to them, told with its culprit: the instruction, the warp, the lane
memory     bytes of global or shared memory, and which of them hold anything
registers  32-bit registers of warps; tiles put into them and taken out by layout
sums       D = A B^T + C: exactly, or as a device is known to add, and how far apart the two may be
warp       plain loads and stores of the lanes, and shuffles
matrices   ldmatrix, stmatrix, movmatrix
mma        mma.sync and mma.sp
wgmma      what a warpgroup multiplies, by descriptors or out of registers
tma        copies of boxes of a tensor, and back
scales     scale factors packed into blocks, and back
tensor_memory  words of tensor memory: tcgen05.ld, .st and .cp
"""

from __future__ import annotations

from tilewise.simulate.matrices import ldmatrix, movmatrix, stmatrix
from tilewise.simulate.memory import Memory
from tilewise.simulate.registers import Registers

__all__ = ["Memory", "Registers", "ldmatrix", "movmatrix", "stmatrix"]
