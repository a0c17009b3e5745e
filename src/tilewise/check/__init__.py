"""Questions that the hardware decides: the legality of a layout, the best choice, the agreement of writer and
reader.
"""
