"""Kernels through which the hardware says which byte it reads and writes."""
