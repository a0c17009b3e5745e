"""The questions of tilewise: each is one function, for Python, for a shell, and for tools.

A module has the name of its question; only the one that is asked is imported.
"""

GROUPS = {
    "layouts": {
        "at": "where an element lives: all its places",
        "who": "which elements live at a place",
        "table": "the whole map, or a window of it",
        "info": "the facts of a layout",
        "same": "whether two layouts are one map",
        "relation": "what turns one layout into another: nothing, a view, or a move",
        "algebra": "layouts out of layouts: compose, divide, slice, invert, exactly or with a reason",
        "explain": "a layout on one screen, with what it costs; with an index, how its place comes about",
        "show": "a picture in the terminal",
        "explore": "the explorer, for the browser: type a layout, and see where every element lives",
        "say": "the layout in another notation",
        "code": "the index function as source: CUDA, C, Python, Triton, CuTe",
    },
    "the hardware": {
        "catalog": "the hardware's layouts by name, with their sources",
        "suggest": "which tile of shared memory to take for wgmma or tcgen05, and all that follows",
        "match": "whether wgmma, tcgen05 or mma.sync takes a tile, and how; or why not, and what is nearest",
        "descriptor": "a descriptor of wgmma or tcgen05: its 64 bits, the bytes that it reads, its steps",
        "idesc": "an instruction descriptor of tcgen05: its 32 bits, made, read and explained",
        "tma": "the copy of a tile by TMA: arguments, boxes, bytes, or the rule that it breaks",
        "tmem": "tensor memory: which loads bring an accumulator to registers, and how many",
        "shuffle": "the steps that turn one layout of a warp's registers into another",
        "agree": "whether what writes a tile and what reads it mean the same bytes",
        "emit": "a kernel around wgmma or mma.sync, or one that moves a tensor, out of its layouts",
        "verify": "the catalogue held against the GPU of this machine: the hardware is the judge",
    },
    "what it costs": {
        "banks": "bank conflicts: the wavefronts of an access of shared memory, and the fewest it could take",
        "coalesce": "global memory: the sectors that an access takes, and how few would hold its bytes",
        "vector": "the widest vectors with which an access can be made, and what blocks wider ones",
        "plan": "how a tensor gets from one layout to another on a GPU, and how near to a copy's speed",
        "swizzle": "the layout under which all accesses of a tile conflict least, with the proof",
    },
    "tilewise itself": {
        "tour": "a guided tour, in two minutes",
        "completion": "completion for your shell",
    },
}
"""Every question and its answer in a line, in the order of the help text."""

SUMMARIES = {name: summary for group in GROUPS.values() for name, summary in group.items()}
"""All of them."""

FORMS = {"emit": {"move": "emit_move"}}
"""{a question: {its first word: a question with inputs of its own, which that word stands for}}."""
