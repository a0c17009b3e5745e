"""The profiler as the judge: what it counts for one access, to be held against what the model counts.

kinds      instructions that are counted, one kernel each
patterns   which addresses the lanes of a warp ask for: thousands, always the same
kernels    the kernels as CUDA source
launches   patterns dealt to launches, and counters told apart again
profiler   Nsight Compute's command line, and what its CSV says
counted    the counts as a record, and the record against the model
"""
