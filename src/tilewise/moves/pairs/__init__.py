"""Two layouts as a pair.

pair      two layouts of memory as one list of digits
digits    the fewest digits, of the widest elements; elements of 4 bits that part, as bytes
fills     numbers as the bytes of an element
"""
