"""The move on the CPU.

moving    a pair as strided words, as whole periods of swizzles, or as lists of addresses
blocks    words moved block by block, at the speed of memory
"""
