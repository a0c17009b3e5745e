"""Tiles around Hopper's wgmma: descriptors, the chain of instructions, and their texts.

from tilewise.codegen.wgmma import planned

plan     a tile and its operands
text     the places of the operands, and the function around the instruction
styles   a tile as bare constants, or in CuTe's words

tilewise.codegen.gemm has the kernel of a whole product.
"""

from __future__ import annotations

from tilewise.codegen.wgmma.plan import DescribedOperand as Operand
from tilewise.codegen.wgmma.plan import WgmmaPlan as Plan
from tilewise.codegen.wgmma.plan import planned

__all__ = ["Operand", "Plan", "planned"]
