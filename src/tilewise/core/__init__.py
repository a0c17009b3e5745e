"""The algebra of layouts, on the standard library alone: to be read in an evening.

errors, integers      what is refused, and how numbers enter
axes, vectors         where things live: named axes, and integer combinations of them
shapes                nested shapes and the three forms of an index
swizzles, dtypes      XOR permutations of addresses; names and widths of elements
layout, builders      the value and its evaluation; `S`, `R` and `O`
solve, inverse        the one integer search, and who lives where
facts, verdict        extremes, injectivity, holes, ...; yes, no with a witness, not decided
canonical, compare    one spelling for a map; whether two layouts are one map
parting               the first index at which two chains of swizzles part
bits, units, text     sums that are XORs; elements, bytes, bits; how a layout prints itself
"""
