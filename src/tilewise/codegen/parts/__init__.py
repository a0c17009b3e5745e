"""What kernels of every engine are made of.

template   text with slots; how C++ spells types, lists and calls
copies     a tile in shared memory, and the copies of threads to it and from it
plan       the plan of a kernel, and what every engine refuses
kernel     the one text of a kernel and of its launch, of which an engine fills its part
"""
