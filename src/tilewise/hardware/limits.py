"""What a device of compute capability 9.0 has.

The CUDA C++ Programming Guide lists it under Compute Capabilities.
"""

from __future__ import annotations

SHARED_BYTES = 227 * 1024
"""Bytes of shared memory that one block can have."""

REGISTERS = 64 * 1024
"""32-bit registers of a multiprocessor, which one block can have to itself."""

THREAD_REGISTERS = 255
"""32-bit registers that one thread can have."""

THREADS = 1024
"""Threads that one block can have."""
