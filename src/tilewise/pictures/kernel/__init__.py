"""A kernel that was read, for the eye: lines for a terminal, and one page of HTML with its source.

`source` finds the lines of the source, `lines` writes the text, `page` the page, `request` draws a request.
"""
