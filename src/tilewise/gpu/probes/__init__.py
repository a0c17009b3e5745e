"""The questions to a device: the CUDA text of each probe, its inputs, and what comes back."""
