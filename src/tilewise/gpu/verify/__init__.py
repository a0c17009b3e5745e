"""The hardware as the judge: what the catalogue says, held against what a device does.

part        what a device is asked, and how its answers are compared
truth       its answers, kept as compressed data, from which every machine can compare again
fragments   which thread and register owns each element
descriptors which byte of shared memory a descriptor reads for each element
mma         what mma.sync multiplies by what, and where the sum comes out; sparse with its metadata
matrices    which bytes of shared memory ldmatrix and stmatrix move, and by whose addresses
boxes       which byte each element of a TMA box lands in
rules       which tensor maps the driver takes
faults      which copies end in a fault
run         part after part, resumable, recorded
report      as text, JSON and HTML
"""
