"""The move on the CPU.

moving   the move, part by part
parts    parts of a pair that are strided, and blocks of them
periods  swizzled storages, by whole periods of their swizzles
blocks   one strided copy, block by block and in threads
"""
