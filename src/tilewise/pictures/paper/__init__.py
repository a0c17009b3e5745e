"""Paper: scenes as pictures that stay, made without a browser.

drawing   boxes and texts: all that a picture is made of
panel     a panel with its caption and its heads, its cells as few boxes
encoded   a word that the hardware is given, bit by bit
compose   `drawing_of`: a document with everything around its panels
svg, png  a drawing as a file, in the colours of the web's component
html      the explorer as one file that needs nothing else
"""
