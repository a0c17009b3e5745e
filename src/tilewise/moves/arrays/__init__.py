"""Moves of arrays that are there.

storage, exchanged   arrays of NumPy, torch and CuPy; of all that speak DLPack
run        the move of an array, and plans that are ready to run
host       the move on the CPU, with NumPy
device     kernels on a GPU
traced     `move` as an operator of torch, where torch.compile traces
tuned      tiles that were measured, by classes of shapes
"""
