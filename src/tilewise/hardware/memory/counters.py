"""Nsight Compute's metrics of shared and global memory, by what tilewise calls them."""

from __future__ import annotations

SHARED = {
    "ld": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "st": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
}
"""Wavefronts of loads and of stores, ldmatrix and stmatrix among them."""

IDEAL = "memory_l1_wavefronts_shared_ideal"
"""The least wavefronts that the bytes asked for need, an instruction at a time."""

ACTUAL = "memory_l1_wavefronts_shared"
"""The wavefronts of an instruction; less the ideal they are the excessive ones."""

SECTORS = {
    "ld": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "st": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
}
REQUESTS = {
    "ld": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "st": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
}
