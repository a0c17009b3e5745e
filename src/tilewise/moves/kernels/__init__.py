"""CUDA C++ of a plan.

tile_kernel     through shared memory: rows are read, columns are written
reading, writing   its two halves
elements        where the elements of a vector of the target lie in shared memory
terms           addresses, counts and tests of a tile, as text
spread          the same of 4 bits that are a byte each in shared memory
turned_kernel   4 bits whose rows begin anywhere, turned 8 by 8 in registers
gather_kernel   any two layouts, element by element
text            the kernel of a way, whichever it is
checked         a kernel that tests every access
spelling        types, numbers and sums
"""
