"""Neighbours' tensors as layouts, and layouts as views of their storage; no neighbour is imported.

strides   NumPy, torch and all that speak `__array_interface__`, DLPack or the buffer protocol
dlpack    what a DLPack capsule says
"""

from __future__ import annotations

from tilewise.bridge.strides import layout_of, strided_view, strides_of

__all__ = ["layout_of", "strided_view", "strides_of"]
