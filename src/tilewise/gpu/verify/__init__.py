"""The hardware as the judge: what the catalogue says, held against what a device does.

part      the cases of a part, the questions, and the judgement of answers
kernels   kernels of many probes on a device, asked with arrays, alone where they may fault
truth     a device's answers, kept as compressed data, from which every machine can compare again
wgmma     which thread and register owns each element, and which byte a descriptor reads for it
mma       what mma.sync multiplies by what, and where the sum comes out; sparse with its metadata
matrices  which bytes of shared memory ldmatrix and stmatrix move, and by whose addresses
tma       where boxes land, which tensor maps the driver takes, which copies end in a fault
run       part after part, resumable, and the report
"""
