"""The box that a block of threads moves.

tile        the box, and how its threads go through it
tiling      which one to take
aims        the bytes of its runs, as they were fastest
turned      the box of elements of 4 bits that are turned 8 by 8
conflicts   where its rows lie in shared memory, so that few threads meet in a bank
paddings    how far apart rows are
"""
