"""Layouts for the eye: the arithmetic in steps, grids of places, and all of it on one screen.

steps       from an index to its places, one line a step
scene       what every view draws, as data; paper: as files
grid        the index panel: which part of a layout is drawn, and what stands in each cell
sheet       any panel of a scene as grids; leaf: a scene's notes, words and panels, as lines
terminal    lines with colour, or as plain ASCII
corner      banks as colours: a tile's first elements, and the phases of a request
screen      all there is to say of a layout; page: as lines
            of prose, corner, registers
address     what the explorer shows, as an address; server: its files
"""
