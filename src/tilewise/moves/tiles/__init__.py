"""The box that a block of threads moves.

tile        the box, and the way of its threads through it
tiling      the choice of a tile
aims        the bytes of its runs that were fastest
turned      the box of elements of 4 bits that are turned 8 by 8
conflicts   places of its rows in shared memory, so that few threads meet in a bank
paddings    distances of rows
"""
