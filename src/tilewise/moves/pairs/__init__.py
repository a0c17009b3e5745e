"""Two layouts as one question.

pair      two layouts of memory as one list of digits
digits    as few of them as can be, of elements as wide as can be; elements of 4 bits that part, as bytes
fills     numbers as the bytes of an element
"""
