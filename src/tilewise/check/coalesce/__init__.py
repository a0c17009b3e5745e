"""Coalescing: how many sectors of global memory an access takes, and how few its bytes would need.

transfers   one request by the definition: `counted`
coalescing  a whole access of a tile
linear      in closed form, where addresses are affine over GF(2)
counting    else all requests at once, in NumPy
"""

from __future__ import annotations

from tilewise.check.coalesce.coalescing import Coalescing, coalescing
from tilewise.check.coalesce.transfers import Transfer, counted

__all__ = ["Coalescing", "Transfer", "coalescing", "counted"]
