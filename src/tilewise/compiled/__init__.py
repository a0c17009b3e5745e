"""What a compiler left, read: the layouts, conversions, buffers and accesses of whole artifacts.

A reader takes the text alone, and no compiler and no GPU. It answers with counts, each with its source line.
"""
