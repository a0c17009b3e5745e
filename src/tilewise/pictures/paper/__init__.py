"""Paper: scenes as pictures that stay, made without a browser.

palette   the colours of both themes, those of the web's component
drawing   boxes and texts: all that a picture is made of
cells     a panel's cells as few boxes
panel     a panel with its caption and its heads
encoded   a word that the hardware is given, bit by bit
compose   `drawing_of`: a document with everything around its panels
svg, png  a drawing as a file
html      the explorer as one file that needs nothing else
glance    a layout in a cell of a notebook
"""
