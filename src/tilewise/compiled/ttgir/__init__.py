"""Triton's GPU IR (TTGIR), read from the text of a whole module.

text         the lines: operations, their operands and types, their nesting, aliases, source lines
types        a type of a tensor or of a buffer: its layout, and its linear map where it is no layout
module       `module_of`: the module, and the layouts that it uses
conversions  how far the elements of each conversion travel, and the least that takes
buffers      shared and tensor memory: swizzles, bytes, readers
values       the integers and addresses that operations compute, as arrays
accesses     loads and stores: the width of a vector, wavefronts, sectors
"""
