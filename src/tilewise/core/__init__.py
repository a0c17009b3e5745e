"""The algebra of layouts, on the standard library alone: to be read in an evening.

errors, integers      refusals, and the gate of numbers
axes, vectors         where things live: named axes, and integer combinations of them
shapes                nested shapes and the three forms of an index
swizzles, dtypes      XOR permutations of addresses; names and widths of elements
layout, builders      the value and its evaluation; `S`, `R` and `O`
digits, bits          mixed-radix digits; sums that are XORs
orders, canonical     the two orders of an index; one spelling for a map
solve, facts, verdict the one integer search; extremes, injectivity, holes; yes, no, not decided
inverse               the indices at a place
chains, compare       chains of swizzles; the comparison of two layouts as maps
units, text           elements, bytes, bits; the text of a layout
"""
