"""The move on the CPU.

moving   the move, part by part
parts    parts of a pair that are strided, and blocks of them
blocks   one strided copy, block by block and in threads
"""
