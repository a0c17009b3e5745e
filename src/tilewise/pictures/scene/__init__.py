"""Scenes: what every view of a layout draws, as plain data.

model    elements, their places, panels, steps, notes; as JSON has them
logical  the grid of a layout, and the part of it that is looked at
gather   the places of its elements
lines    rows, columns and blocks as arithmetic
panels   which panels a layout is drawn in
colours, notes
         what a colour means; what is true of all elements
steps    an access as moments, a wavefront each
build    `scene_of`: all of it together
compare  two layouts side by side, and what has to move
cells    from elements to the cells of a panel, all at once
"""
