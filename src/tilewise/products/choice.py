"""The choice of a tile for tensors: the one that was measured for their class on a GPU, or the usual one.

A class has the types, the directions in memory, N and K, and M rounded up to a power of two.
"""

from __future__ import annotations

from tilewise.codegen.gemm import GemmProblem, TileChoice
from tilewise.gpu import remembered as kept
from tilewise.gpu.device import find

FILE = "products.json"


def choice_of(problem: GemmProblem, index: int) -> TileChoice:
    """Return the choice that is remembered for a class of problems on a GPU, or the one without measures."""
    if kept.known(FILE):
        found = kept.remembered(FILE, find(index).name, class_of(problem))
        if found is not None and len(found) == 6:
            return TileChoice((found[0], found[1]), (found[2], found[3]), *found[4:])
    return problem.chosen


def class_of(problem: GemmProblem) -> str:
    """Return a text that is equal for problems which take the same choice.

    >>> from tilewise.core.dtypes import DType
    >>> kinds = DType.of("bf16"), DType.of("bf16")
    >>> class_of(GemmProblem(1000, 4096, 512, kinds)) == class_of(GemmProblem(1024, 4096, 512, kinds))
    True
    """
    rows = 1 << (problem.m - 1).bit_length()
    words = [*map(str, problem.types), *problem.majors, f"{rows}x{problem.n}x{problem.k}"]
    words += [f"batches {problem.batches}"] if problem.batches > 1 else []
    flags = (("groups", problem.grouped), ("promote", problem.promotes), ("whole", not problem.splits))
    return " ".join([*words, *(word for word, flag in flags if flag)])
