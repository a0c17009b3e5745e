"""The questions of tilewise: each is one function, for Python, for a shell, and for tools.

A module has the name of its question; a call imports that one alone.
"""

GROUPS = {
    "where is it": {
        "at": "the places of an element: address, thread and register, device",
        "who": "the elements that live at a place: in a lane, a register, at a byte",
        "table": "the whole map, or a window of it",
        "info": "the facts of a layout: size, span, holes, ...",
        "explain": "a layout on one screen, with its costs; with an index, each step to its place",
        "show": "a picture in the terminal, or as SVG, PNG, HTML",
        "explore": "the explorer, in the browser: type a layout and see every element",
        "catalog": "the hardware's own layouts by name, with their sources",
    },
    "can the hardware use it": {
        "match": "can wgmma, tcgen05 or mma.sync read or store a tile: how, or why not and the nearest",
        "suggest": "the tile of shared memory to take for wgmma or tcgen05, and all that follows",
        "descriptor": "a matrix descriptor: decode its 64 bits, make them, list the bytes that it reads",
        "idesc": "an instruction descriptor of tcgen05: decode its 32 bits, make them",
        "tma": "the copy of a tile by TMA: arguments, boxes, bytes, or the rule that it breaks",
        "tmem": "tensor memory: the loads that bring an accumulator to registers",
        "agree": "does a reader find what a writer wrote: yes, or the first element that lands elsewhere",
        "verify": "the catalogue held against the GPU of this machine",
    },
    "what does it cost": {
        "banks": "bank conflicts: the wavefronts of an access of shared memory, and the fewest",
        "coalesce": "global memory: the sectors of an access, and the fewest",
        "vector": "the widest vectors of an access, and what blocks wider ones",
        "read": "a kernel's accesses, from its cubin, PTX or TTGIR: what each costs, and what to change",
        "swizzle": "the swizzle or padding with which all accesses of a tile conflict least, with the proof",
    },
    "change it": {
        "algebra": "layouts out of layouts: compose, divide, slice, invert, exactly or with a reason",
        "say": "the layout in the notation of CuTe, Triton, JAX, XLA, ...",
        "code": "the index function as source: CUDA, C, Python, Triton, CuTe",
    },
    "move it": {
        "same": "are two layouts one map: yes, or the first index that differs",
        "relation": "from one layout to another: the same, a view, or what has to move",
        "shuffle": "the steps from one layout of registers to another, inside a warp",
        "plan": "how a tensor gets from one layout to another on a GPU, and how near to a copy's speed",
        "emit": "a CUDA kernel out of layouts: one that moves a tensor, or a product of matrices",
    },
    "tilewise itself": {
        "tour": "a guided tour, in two minutes",
        "completion": "completion for your shell",
        "mcp": "these questions for a coding assistant, over the Model Context Protocol",
    },
}
"""Every question and its answer in a line, in the order of the help text."""

SUMMARIES = {name: summary for group in GROUPS.values() for name, summary in group.items()}
"""All of them."""

OF_THE_SHELL = ("tour", "completion", "mcp")
"""Commands about the command line itself, whose modules are in `tilewise.cli`."""

FORMS = {"emit": {"move": "emit_move", "gemm": "emit_gemm", "attention": "emit_attention"}}
"""{a question: {its first word: a question with inputs of its own, which that word stands for}}."""
