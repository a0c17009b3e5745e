"""Choose the layout of a tile, so that all its accesses together take the fewest wavefronts.

The law. Let the layout A be a linear bijection over GF(2) of the digits of the index to addresses, U the
points that A places in the word of 0, K those that it places in the bank of 0: U is in K. The points that the
lanes of a phase ask for are a coset of a space P. Then

    wavefronts = #(P & K) / #(P & U)                        1 iff no point of K but those of U is in P

so a layout without conflicts is a K of the right dimension that meets no P outside U, and the best one is a K
of least weight (`kernels`). Vectors are given: V, the points inside the widest vector, are the lowest bits of
the address. A bank's lowest bits are then a vector's own, and only the rest can be chosen (`points`). That is
a bound for layouts of any kind: elements at the same place of a vector of 16 bytes are in 8 of the 32 banks,
wherever the vectors are.

points   accesses as points, in closed form or listed, and the digits that vectors keep together
kernels  the search for K, with its proof
linear   U and K, and the layout that has them
choose   finite families beside it, the hardware's modes, one XOR swizzle, a wider pitch; the best of all,
         counted on its addresses; whether TMA fills it, and wgmma reads it
"""

from __future__ import annotations

from tilewise.check.swizzling.choose import FAMILIES, PROOFS, Choice, Found, Searched, choose

__all__ = ["FAMILIES", "PROOFS", "Choice", "Found", "Searched", "choose"]
