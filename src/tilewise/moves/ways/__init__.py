"""How the elements of a plan go.

way       what a plan asks of each
choice    which way a pair takes
bulk      all together, as one copy of memory
gather    element by element

By way of shared memory they go as the tiles of `tilewise.moves.tiles`.
"""
