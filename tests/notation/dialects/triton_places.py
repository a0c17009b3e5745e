"""Triton's answers about types with layouts, held against readings of them: all elements, all places.

An answer is {"text", "shape", "bases"} and, of padded memory, "pads" (tests/oracle/triton_types.py). The
bases of an axis tell which index its coordinates 1, 2, 4, ... hold; the index of any other coordinate is
their XOR (include/triton/Tools/LinearLayout.h in github.com/triton-lang/triton).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from tilewise import Layout, LayoutError, Refused
from tilewise.notation.dialects import DIALECTS, Given, read
from tilewise.tables import table

AXES = {
    "register": "reg",
    "lane": "laneid",
    "warp": "warpid",
    "block": "cbx",
    "offset": "m",
    "row": "TLane",
    "col": "TCol",
}
"""{Triton's name: the axis}."""
NOBODY = -1
LARGEST = 1 << 22
"""Places of the largest map that is listed."""
Places = dict[str, Any]
"""{axis: coordinates}, and the flat index of the element as {"": ...}: an entry a place."""


@dataclass(slots=True)
class Tally:
    """Answers by outcome: read as Triton means it, otherwise, refused, or untold by Triton."""

    equal: int = 0
    different: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    untold: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        told = f"{self.equal} equal, {len(self.different)} different, {len(self.refused)} refused"
        return "\n".join([told, *self.different[:5], *self.refused[:5]])

    def holds(self, refused: float = 0.02) -> bool:
        """Return whether no reading differs, and at most so large a part is refused."""
        return not self.different and len(self.refused) <= refused * self.equal


def held(answers: Iterable[Mapping[str, Any]], triton: str) -> Tally:
    """Read every type that has an answer, as that version of Triton printed it, and compare.

    A refusal counts as one if its witness shows that no layout has these places; otherwise as a difference.
    """
    tally = Tally()
    for answer in answers:
        if "untold" in answer or 1 << sum(map(len, answer["bases"].values())) > LARGEST:
            tally.untold[answer.get("untold", "too large to list")] += 1
            continue
        try:
            found = difference(answer, read(DIALECTS["triton"], Given(answer["text"], triton=triton)).layout)
        except LayoutError as error:
            shown = isinstance(error, Refused) and adds_up(answer, error.witness) is False
            told = tally.refused if shown else tally.different
            told.append(f"{answer['text']}: {error}")
        else:
            if found:
                tally.different.append(f"{answer['text']}: {found}")
            tally.equal += not found
    return tally


def adds_up(answer: Mapping[str, Any], index: Sequence[int]) -> bool:
    """Return whether the owners of an element are the sum of those of its digits, as in every layout.

    Extents are powers of two here, so that an index is the sum of its binary digits, and a layout moves the
    places of element 0 by a constant for each of them. Swizzles move memory, and no owners.
    """
    places = places_of_answer(answer)
    owners = [places[axis] for axis in ("laneid", "warpid", "cbx") if axis in places]
    extents = extents_of(answer["text"])[-len(answer["shape"]) :]

    def owners_of(element: int) -> Any:
        return np.unique(np.array([column[places[""] == element] for column in owners]).T, axis=0)

    flat, zero = int(np.ravel_multi_index(tuple(index), extents)), owners_of(0)
    digits = [1 << bit for bit in range(flat.bit_length()) if flat >> bit & 1]
    moved = zero + sum(owners_of(digit)[0] - zero[0] for digit in digits)
    return bool(np.array_equal(owners_of(flat), moved))


def difference(answer: Mapping[str, Any], layout: Layout) -> str:
    """Return where a layout and an answer differ first, in words; nothing where they are one map."""
    extents = extents_of(answer["text"])
    if layout.size != prod(extents):
        return f"the layout has {layout.size} elements, and the type {prod(extents)}"
    theirs, ours = places_of_answer(answer), places_of(layout, extents, len(answer["shape"]))
    axes = sorted(axis for axis in theirs.keys() | ours.keys() if axis)
    sizes = [1 + int(theirs[axis].max(initial=0)) if axis in theirs else 1 for axis in axes]
    outside = [
        (ours[axis] < 0) | (ours[axis] >= size)
        for axis, size in zip(axes, sizes, strict=True)
        if axis in ours
    ]
    wrong = np.logical_or.reduce(outside) if outside else np.zeros(len(ours[""]), bool)
    own = (
        np.ravel_multi_index([ours.get(axis, 0) for axis in axes], sizes, mode="clip")
        if axes
        else ours[""] * 0
    )
    held = np.full(prod(sizes), NOBODY)
    held[np.ravel_multi_index([theirs.get(axis, 0) for axis in axes], sizes) if axes else 0] = theirs[""]
    wrong |= held[own] != ours[""]
    forgotten = held.copy()
    forgotten[own] = NOBODY
    odd = ours[""][wrong] if wrong.any() else forgotten[forgotten != NOBODY]
    if not odd.size:
        return ""
    element = int(odd[0])
    index = [int(at) for at in np.unravel_index(element, extents[-len(answer["shape"]) :])]
    told, said = _spelled(theirs, element), _spelled(ours, element)
    return f"index {index}: Triton has it at {told}, the layout at {said}"


def extents_of(text: str) -> list[int]:
    """Return the extents of a type.

    >>> extents_of("tensor<128x!tt.ptr<f16>, #ttg.linear<{...}>>")
    [128]
    """
    found = re.search(r"<((?:\d+x)+)", text)
    return [int(extent) for extent in (found[1] if found else "").split("x") if extent]


def places_of_answer(answer: Mapping[str, Any]) -> Places:
    """List all places that Triton gives to elements of the type; of an allocation the type may be a part.

    A basis of zeros says that an element has a copy at the other place. In memory it has not: there Triton
    takes the smallest of the places (`invertAndCompose` in LinearLayout.h), and of tensor memory it says that
    the others are not defined, except across the quarters of the rows (`tensorMemoryToLinearLayout`).
    """
    shape, bases = answer["shape"], answer["bases"]
    index = np.zeros((1, len(shape)), np.int64)
    found: Places = {}
    for name, own in bases.items():
        for at, basis in enumerate(own):
            if not any(basis) and (name in ("offset", "col") or (name == "row" and at < 5)):
                continue
            count = len(index)
            index = np.concatenate([index, index ^ np.array(basis, np.int64)])
            for axis, places in found.items():
                found[axis] = np.concatenate([places, places])
            axis = AXES[name]
            places = found.pop(axis, np.zeros(count * 2, np.int64))
            places[count:] += 1 << at
            found[axis] = places
    if "pads" in answer and "m" in found:
        found["m"] = found["m"] + sum(found["m"] // interval * pad for interval, pad in answer["pads"])
    extents = extents_of(answer["text"])[-len(shape) :]
    inside = (index < extents).all(axis=1)
    found[""] = np.ravel_multi_index(tuple(index[inside].T), extents)
    return {axis: places[inside] if axis else places for axis, places in found.items()}


def places_of(layout: Layout, extents: Sequence[int], rank: int) -> Places:
    """List all places of a layout; of several buffers, those of the first."""
    window = [(0, 1)] * (len(extents) - rank) + [(0, extent) for extent in extents[-rank:]]
    listed = table(layout, shape=tuple(extents), window=window)
    elements = prod(extents[-rank:])
    found: Places = {axis: column.reshape(-1) for axis, column in listed.columns.items()}
    return {**found, "": np.repeat(np.arange(elements), listed.copies)}


def _spelled(places: Places, element: int) -> str:
    """Write the places of one element, four at most."""
    own = np.flatnonzero(places[""] == element)
    written = [
        " + ".join(f"{int(column[at])}@{axis}" for axis, column in sorted(places.items()) if axis)
        for at in own[:4]
    ]
    return " and ".join(written or ["no place"]) + (f" and {len(own) - 4} more" if len(own) > 4 else "")
