"""Packed weights: the place of each weight of a matrix in AWQ, GPTQ, Marlin and GGUF."""
