"""A kernel as its compiler left it: machine code, PTX or TTGIR, run and counted without a GPU.

`sass` and `ptx` read a text into a `Program`; `machine` runs its integers for all threads at once; `counts`
has the cost of every load and store. `ttgir` reads Triton's own text. `kernel` joins them, and `findings`
says what is slow, the worst first.
"""
