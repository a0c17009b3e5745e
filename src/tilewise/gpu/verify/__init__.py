"""The hardware as the judge: a device's answers, compared with the catalogue.

part      the cases of a part, the questions, and the judgement of answers
kernels   kernels of many probes on a device, launched on arrays, in separate processes if they may fault
truth     a device's answers, kept as compressed data, from which every machine can compare again
wgmma     the thread and register of each element, and the byte that a descriptor reads for it
mma       the elements that mma.sync multiplies, and the places of the sums; sparse with its metadata
matrices  the bytes of shared memory that ldmatrix and stmatrix move, and the lanes that address them
tma       the places of boxes, the tensor maps that the driver takes, the copies that fault
run       part after part, resumable, and the report
"""
