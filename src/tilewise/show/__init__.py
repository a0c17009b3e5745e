"""Layouts for the eye: the arithmetic in steps, and a grid of places in the terminal.

steps       from an index to its places, one line a step
grid        which part of a layout is drawn, and what stands in each cell
terminal    a grid with colour, or as plain ASCII
phases      which bank serves which lane in which wavefront
"""
