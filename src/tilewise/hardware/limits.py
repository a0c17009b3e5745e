"""What a device of compute capability 9.0 has.

The CUDA C++ Programming Guide lists it under Compute Capabilities.
"""

from __future__ import annotations

SHARED_BYTES = 227 * 1024
"""Bytes of shared memory that one block can have."""
