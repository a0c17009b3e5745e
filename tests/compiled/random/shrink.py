"""Makes a kernel that is read wrong as small as it stays wrong.

    python -m tests.compiled.random.shrink 2000003 sm_90 [machine | ptx]

prints the smallest kernel, what was compiled of it, and the difference. Parts of the tree are left out one
after the other. A tree that the interpreter does not take then is no candidate: a name is missing, or a sum
overflows.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args

from tests.codegen import nvrtc
from tests.compiled.random.compare import Case, Outcome, case_of, outcome, reader
from tests.compiled.random.compile import compiled, nvdisasm
from tests.compiled.random.kernels import kernel
from tests.compiled.random.tree import Const, Expr, For, If, Kernel, While, source

SECONDS = 120
EXPRESSIONS = get_args(Expr)
TUPLES = ("body", "then", "other", "cases", "default", "functions", "operands")


def smaller(it: Any) -> Iterator[Any]:
    """Yield what a part of a tree may become, with one part less."""
    if isinstance(it, tuple):
        size = len(it) // 2
        while size > 1:
            yield from (it[:at] + it[at + size :] for at in range(0, len(it), size))
            size //= 2
        yield from (it[:at] + it[at + 1 :] for at in range(len(it)))
        for at, one in enumerate(it):
            for inner in bodies(one):
                yield it[:at] + inner + it[at + 1 :]
        for at, one in enumerate(it):
            yield from ((*it[:at], less, *it[at + 1 :]) for less in smaller(one))
    elif isinstance(it, Const):
        return
    elif isinstance(it, EXPRESSIONS):
        yield Const(0, it.type)
        yield from (part for part in parts(it) if isinstance(part, EXPRESSIONS) and part.type == it.type)
        yield from within(it)
    elif is_dataclass(it):
        yield from within(it)


def parts(it: Any) -> Iterator[Any]:
    """Yield the values of a node's fields, and those in its tuples."""
    for one in fields(it):
        value = getattr(it, one.name)
        yield from value if isinstance(value, tuple) else (value,)


def within(it: Any) -> Iterator[Any]:
    """Yield a node with one of its parts smaller."""
    for one in fields(it):
        value = getattr(it, one.name)
        if isinstance(value, tuple) and one.name in TUPLES:
            candidates = smaller(value)
            if one.name == "operands":
                candidates = (some for some in candidates if len(some) == len(value))
            yield from (replace(it, **{one.name: less}) for less in candidates)
        elif is_dataclass(value) and one.name not in ("type", "through", "cell"):
            yield from (replace(it, **{one.name: less}) for less in smaller(value))


def bodies(it: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the statements inside a statement."""
    if isinstance(it, If):
        yield it.then
        yield it.other
    if isinstance(it, For | While):
        yield it.body


class Trial:
    """Compiles kernels and reads them."""

    def __init__(self, library: ctypes.CDLL, disassembler: str, target: str, form: str) -> None:
        self.library, self.disassembler, self.target, self.form = library, disassembler, target, form
        self.count = 0

    def __call__(self, it: Kernel) -> tuple[Outcome, str, Case] | None:
        """Return how a kernel is read and its text; None where there is no such kernel."""
        try:
            case_of(it, {})
            made = compiled(self.library, self.disassembler, [it], self.target, (self.form,))
        except Exception:
            return None
        self.count += 1
        case = case_of(it, made.lines[it.name])
        text = getattr(made, self.form)
        return outcome(reader, text, case), text, case


def sign(found: Outcome) -> str:
    """Return the first words of a difference, which stay when a kernel shrinks."""
    first = found.why.split("\n")[0]
    return first.split(": line")[0] + "".join(word for word in (" ld ", " st ", " atom ") if word in first)


def shrunk(it: Kernel, trial: Trial, seconds: float) -> Kernel:
    """Return a kernel that is wrong in the same way, of which nothing can be left out unless time is over."""
    began = time.perf_counter()
    first = trial(it)
    assert first is not None
    assert first[0].word == "wrong", first[0]
    wanted, more = sign(first[0]), True
    while more:
        more = False
        for less in smaller(it):
            if time.perf_counter() - began > seconds:
                return it
            if not isinstance(less, Kernel):
                continue
            # No compiler keeps room for an array that nothing touches.
            if not any("fixed" in line for line in source(less).text):
                less = replace(less, static=0)
            got = trial(less)
            if got is not None and got[0].word == "wrong" and sign(got[0]) == wanted:
                it, more = less, True
                told = f"\r{len(source(it).text)} lines, {trial.count} trials"
                print(told, end="", file=sys.stderr, flush=True)
                break
    print(file=sys.stderr)
    return it


def main() -> int:
    """Shrink and print."""
    number, target, form = int(sys.argv[1]), sys.argv[2], (sys.argv[3:] or ["machine"])[0]
    library, disassembler = nvrtc.load(), nvdisasm()
    assert library is not None
    assert disassembler is not None
    trial = Trial(library, disassembler, target, form)
    it = shrunk(kernel(number), trial, SECONDS)
    got = trial(it)
    assert got is not None
    found, text, case = got
    offset = min(case.lines, default=1) - min(source(it).lines.values(), default=1)
    for at, line in enumerate(source(it).text, 1 + offset):
        print(f"{at:4} {line}")
    print(f"grid {it.grid}, block {it.block}, {it.way}", {one.name: hex(one.value) for one in it.parameters})
    start = text.index(f".text.{it.name}:" if form == "machine" else ".visible")
    code = text[start:].split("//-----")[0].splitlines()
    print("\n".join(line.rstrip() for line in code if "NOP" not in line))
    print(found.why)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
