"""The parts of kernels that all engines share.

template   text with slots; C++ for types, lists and calls
copies     a tile in shared memory, and the copies of threads to it and from it
plan       the plan of a kernel, and the refusals of all engines
kernel     the one text of a kernel and of its launch; an engine fills its part
"""
