"""CUDA C++ of a plan.

texts           text that never changes
terms           addresses, counts and tests of a tile, as text
elements        where the elements of a vector of the target lie in shared memory
tile_kernel     through shared memory: it reads vectors, gathers, and writes
turned_kernel   4 bits whose rows begin anywhere, turned 8 by 8 in registers
gather_kernel   any two layouts, element by element
checked         a kernel that tests every access
spelling        types, numbers and sums
"""
