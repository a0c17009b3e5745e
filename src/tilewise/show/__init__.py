"""Layouts for the eye: the arithmetic in steps, grids of places, and all of it on one screen.

steps       from an index to its places, one line a step
grid        which part of a layout is drawn, and what stands in each cell
terminal    a grid with colour, or as plain ASCII
phases      which bank serves which lane in which wavefront
screen      all there is to say of a layout; page: as lines
            of formula, prose, facts, corner, registers
"""
