"""What kernels of every engine are made of.

template            text with slots
copies              tiles from global memory to shared memory, by threads
room                where tiles begin in shared memory
host                the launch, in C++
words               how C++ and asm spell accumulators and elements; names that are free
"""
