"""Limits of a device of compute capability 9.0, and the shared memory of the others.

The CUDA C++ Programming Guide lists it under Compute Capabilities, in Table 31 those of 7.5 and later; 7.0
and 7.2 stand in that of CUDA 12. For 8.8 there is `cuda_occupancy.h` of CUDA 13.0, which agrees with both.
"""

from __future__ import annotations

from tilewise.core.errors import LayoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.hardware.architectures import Architecture

SM_SHARED_BYTES = 228 * 1024
"""Bytes of shared memory of a multiprocessor: the number of its addresses."""

SHARED_BYTES = 227 * 1024
"""Bytes of shared memory that one block can have: the system keeps 1 KiB of each block's for itself."""

REGISTER_BITS = 32
"""Bits of a register."""

LANES = 32
"""Lanes of a warp."""

LANE_BITS = 5
"""Bits of the number of a lane."""

REGISTERS = 64 * 1024
"""32-bit registers of a multiprocessor, all of which one block can have."""

THREAD_REGISTERS = 255
"""32-bit registers that one thread can have."""

THREADS = 1024
"""Threads that one block can have."""

BLOCKS = (1 << 31) - 1
"""Blocks that a grid can have along x."""

_SHARED_KIB = {
    **dict.fromkeys((70, 72), 96),
    75: 64,
    **dict.fromkeys((80, 87), 164),
    **dict.fromkeys((86, 88, 89, 120, 121), 100),
    **dict.fromkeys((90, 100, 103, 110), 228),
}
_RESERVED_SINCE = 80
"""The first architecture on which the system keeps a part of each block's shared memory."""


def sm_shared_bytes(arch: Architecture | str | int) -> int:
    """Return the bytes of shared memory of a multiprocessor.

    >>> sm_shared_bytes("sm_75") // 1024, sm_shared_bytes("sm_90a") == SM_SHARED_BYTES
    (64, True)
    """
    from tilewise.hardware.architectures import Architecture

    number = Architecture.of(arch).number
    if number not in _SHARED_KIB:
        raise LayoutError(
            "TW601", f"the shared memory of sm_{number} is not known", hint="add it to _SHARED_KIB"
        )
    return _SHARED_KIB[number] * 1024


def shared_bytes(arch: Architecture | str | int) -> int:
    """Return the bytes of shared memory that one block can have.

    >>> [shared_bytes(arch) // 1024 for arch in ("sm_70", "sm_75", "sm_80", "sm_89", "sm_90", "sm_120")]
    [96, 64, 163, 99, 227, 99]
    """
    from tilewise.hardware.architectures import Architecture

    kept = 1024 if Architecture.of(arch).number >= _RESERVED_SINCE else 0
    return sm_shared_bytes(arch) - kept
