"""Products of matrices by emitted kernels: D = A B^T of torch's tensors on a GPU.

run      from tensors to a launch
device   kernels with tensor maps on a GPU
traced   the product as an operator that torch.compile keeps
"""

from __future__ import annotations

from tilewise.products.run import gemm

__all__ = ["gemm"]
