"""Nsight Compute's metrics of shared and global memory, by tilewise's names."""

from __future__ import annotations

from tilewise.hardware.sources import NSIGHT

SOURCE = NSIGHT

SHARED = {
    "ld": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "st": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
}
"""Wavefronts of loads and of stores, ldmatrix and stmatrix among them."""

IDEAL = "memory_l1_wavefronts_shared_ideal"
"""The least wavefronts for the requested bytes, an instruction at a time."""

ACTUAL = "memory_l1_wavefronts_shared"
"""The wavefronts of an instruction; those beyond the ideal are the excessive ones."""

KINDS = {"ldmatrix": "ld", "stmatrix": "st"}
"""{operation: another one whose counters count it}."""

SECTORS = {
    "ld": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "st": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
}
"""Sectors that loads and stores take of the L1."""

REQUESTS = {
    "ld": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "st": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
}
"""Requests of warps to global memory."""


def sectors_of(operation: str) -> str | None:
    """Return the metric that counts the sectors of an operation of global memory, or None.

    >>> sectors_of("st")
    'l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum'
    """
    return SECTORS.get(operation)


def wavefronts_of(operation: str) -> str | None:
    """Return the metric that counts the wavefronts of an operation of shared memory, or None.

    >>> wavefronts_of("ldmatrix")
    'l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum'
    >>> wavefronts_of("tma") is None
    True
    """
    return SHARED.get(KINDS.get(operation, operation))
