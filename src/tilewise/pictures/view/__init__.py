"""What every view needs of a scene, the terminal as well as paper; the page has modules of the same names.

placed    which element stands in which cell of a panel, and the light of a step on it
words     what stands in cells, at heads and beside them
encoded   a word that the hardware is given, as runs of bits
"""
