"""Packed weights: where AWQ, GPTQ, Marlin and GGUF keep each weight of a matrix."""
