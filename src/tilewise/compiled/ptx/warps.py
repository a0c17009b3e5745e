"""Instructions of PTX that look at other lanes: shuffles, votes, reductions, elections."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewise.compiled.lanes import TRUE, Lanes, Taking, Value
from tilewise.compiled.program import Compute, Step
from tilewise.compiled.ptx.integers import unknown
from tilewise.compiled.ptx.operands import NOTHING, Words
from tilewise.compiled.sass.warps import matched, reduced, shuffled, voted
from tilewise.hardware.limits import LANES


def _targets(words: Words) -> list[str | None]:
    """Return the registers of `a|b`, None for `_`."""
    names = [name.strip() for name in words.operands[0].split("|")]
    return [None if name == NOTHING else words.scope.register(name) for name in names]


def _write(lanes: Lanes, targets: list[str | None], values: list[Value], where: Taking) -> None:
    for register, value in zip(targets, values, strict=False):
        if register is not None:
            lanes.write(register, value, where)


def _answer(words: Words, read: Callable[[Lanes, Taking], Value]) -> Step:
    """Return the step that writes what the lanes that take part have together."""
    register = words.scope.register(words.operands[0])
    return Compute(lambda lanes, where: lanes.write(register, read(lanes, where), where), (register,))


def shuffle(words: Words) -> Step:
    """Return the step of a number of another lane; a predicate says if that lane is inside."""
    mode = next(part.upper() for part in words.parts if part in ("idx", "up", "down", "bfly"))
    reads, targets = [words.read(place, np.uint32) for place in (1, 2, 3)], _targets(words)

    def run(lanes: Lanes, where: Taking) -> None:
        value, by, bound = (read(lanes) for read in reads)
        _write(lanes, targets, [*shuffled(lanes, where, mode, (value, by, bound))], where)

    return Compute(run, words.written())


def vote(words: Words) -> Step:
    """Return the step of all, any or none of a warp's predicates; or of those that hold, as bits."""
    mode = next(part for part in words.parts if part in ("all", "any", "uni", "ballot"))
    read = words.truth(1)
    return _answer(words, lambda lanes, where: voted(lanes, read(lanes), where, mode))


def active(words: Words) -> Step:
    """Return the step of the lanes that take part, as bits."""
    return _answer(words, lambda lanes, where: voted(lanes, TRUE, where, "ballot"))


def reduction(words: Words) -> Step:
    """Return the step of the sum, the least, the greatest or the bits of a warp's numbers together."""
    if words.type not in ("u32", "s32", "b32"):
        return unknown(words)
    kind = next(part.upper() for part in words.parts if part != "sync")
    read = words.read(1)
    return _answer(words, lambda lanes, where: reduced(lanes, where, read(lanes), kind, words.signed))


def election(words: Words) -> Step:
    """Return the step of the first lane of a warp, and of a predicate that is true for it."""
    targets = _targets(words)

    def run(lanes: Lanes, where: Taking) -> None:
        first = np.repeat(where.mask.reshape(-1, LANES).argmax(axis=1), LANES)
        _write(lanes, targets, [Value(first.astype(np.uint32)), Value(lanes.threads % LANES == first)], where)

    return Compute(run, words.written())


def match(words: Words) -> Step:
    """Return the step of the lanes with the same number, as bits; or of all, and true, if all have it."""
    read, targets, each = words.read(1), _targets(words), "any" in words.parts

    def run(lanes: Lanes, where: Taking) -> None:
        _write(lanes, targets, [*matched(lanes, where, read(lanes), each)], where)

    return Compute(run, words.written())


WARPS: dict[str, Callable[[Words], Step]] = {
    "shfl": shuffle,
    "vote": vote,
    "activemask": active,
    "redux": reduction,
    "elect": election,
    "match": match,
}
