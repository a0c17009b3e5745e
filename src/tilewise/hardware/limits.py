"""What a device of compute capability 9.0 has.

The CUDA C++ Programming Guide lists it under Compute Capabilities.
"""

from __future__ import annotations

SM_SHARED_BYTES = 228 * 1024
"""Bytes of shared memory of a multiprocessor, which are the addresses that there are."""

SHARED_BYTES = 227 * 1024
"""Bytes of shared memory that one block can have: the system keeps 1 KiB of each block's for itself."""

REGISTER_BITS = 32
"""Bits of a register."""

REGISTERS = 64 * 1024
"""32-bit registers of a multiprocessor, which one block can have to itself."""

THREAD_REGISTERS = 255
"""32-bit registers that one thread can have."""

THREADS = 1024
"""Threads that one block can have."""
