"""Scenes: what every view of a layout draws, as plain data.

model    elements, their places, panels, steps, notes; as JSON has them
logical  the grid of a layout, and the window that a scene shows
lines    rows, columns and blocks as arithmetic
panels   which panels a layout is drawn in, and what a colour means
notes    what is true of all elements
steps    an access as moments, a wavefront each; descriptors, boxes: an instruction, a copy each
build    `scene_of`: all of it together
compare  two layouts side by side, and what has to move

What every view needs of a scene, the terminal as well as paper; the page has modules of like names:

cells    which element stands in which cell of a panel, and the light of a step on it
words    what stands in cells, at heads and beside them
encoded  a word that the hardware is given, as runs of bits
"""
