"""Shared and global memory as accesses meet them: banks, phases, sectors, and the profiler's words for them.

banks     which lanes go together, and how many wavefronts they take
sectors   what a request of global memory fetches
counters  Nsight Compute's metrics of both
"""
