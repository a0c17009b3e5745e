"""Neighbours' tensors and layouts as layouts, and layouts as views of storage; no neighbour is imported.

objects   layouts and shardings of torch, JAX, TIRx, CuTe, Gluon: `layout_of` takes them, and strided arrays
strides   NumPy, torch and all that speak `__array_interface__`, DLPack or the buffer protocol
dlpack    the fields of a DLPack capsule
"""

from __future__ import annotations

from tilewise.bridge.objects import layout_of, reading_of
from tilewise.bridge.strides import strided_view, strides_of

__all__ = ["layout_of", "reading_of", "strided_view", "strides_of"]
