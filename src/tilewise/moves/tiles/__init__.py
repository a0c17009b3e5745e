"""The box that a block of threads moves.

tile        the box, and how its threads go through it
tiling      which one to take
traffic     how many sectors it reads and writes
conflicts   where its rows lie in shared memory, so that few threads meet in a bank
paddings    how far apart rows are
"""
