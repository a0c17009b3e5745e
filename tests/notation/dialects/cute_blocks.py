"""The meaning of CuTe's blocks, plainly: a layout is evaluated, a tile is dealt out element by element.

A holding is one number: the element, its thread and its value. The holdings of a layout are a sorted array.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tilewise import Layout, Refused
from tilewise.notation.dialects.cute_block import read
from tilewise.notation.dialects.given import Given
from tilewise.tables import table

OPERANDS = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}
LAYOUT = r"\([\d,]+\):\([\d,]+\)|\d+:\d+|_"


def pair_of(text: str) -> tuple[Any, Any]:
    """Shape and stride of a layout, as numbers and tuples."""
    shape, stride = re.sub(r"_(\d)", r"\1", text).split(":")
    return literal_eval(shape), literal_eval(stride)


def size(shape: Any) -> int:
    """Return the number of indices of a shape."""
    return prod(map(size, shape)) if isinstance(shape, tuple) else shape


def at(shape: Any, stride: Any, index: Any) -> Any:
    """Return the places of flat indices in a layout, the leftmost mode fastest."""
    if not isinstance(shape, tuple):
        return index * stride
    place = 0
    for mode, step in zip(shape, stride, strict=True):
        place = place + at(mode, step, index % size(mode))
        index = index // size(mode)
    return place


def coordinates(element: Any, extents: Sequence[int]) -> list[Any]:
    """The coordinates of elements, the first one fastest."""
    found = []
    for extent in extents:
        found.append(element % extent)
        element = element // extent
    assert not np.any(element), "an element beyond the tile"
    return found


def number(index: Sequence[Any], extents: Sequence[int]) -> Any:
    """The number of elements, the first coordinate fastest."""
    found = 0
    for coordinate, extent in reversed([*zip(index, extents, strict=True)]):
        found = found * extent + coordinate
    return found


def gathered(element: Any, thread: Any, value: Any) -> Any:
    """Return the holdings, each once."""
    return np.unique((element << 40) + (thread << 20) + value)


def said(text: str, extents: Sequence[int], tile: Sequence[Sequence[int]] = ()) -> Any:
    """All that a layout from (thread, value) says of a tile, whose modes may be permuted."""
    (threads, values), (by_thread, by_value) = pair_of(text)
    thread, value = np.arange(size(threads))[:, None], np.arange(size(values))[None, :]
    index = coordinates(at(threads, by_thread, thread) + at(values, by_value, value), extents)
    if tile:
        index = [np.array(mode)[part] for mode, part in zip(tile, index, strict=True)]
    return gathered(number(index, extents), thread, value)


def held(layout: Layout) -> Any:
    """All that a layout of tilewise says of a tile."""
    extents = extents_of(layout)
    found = table(layout)
    zero = np.zeros((*extents, found.copies), np.int64)
    steps = {axis: column.reshape(zero.shape) for axis, column in found.columns.items()}
    lanes = 64 if steps.get("laneid", zero).max(initial=0) > 31 else 32
    warp = 4 * steps.get("wgid", zero) + steps.get("wid_in_wg", zero) + steps.get("warpid", zero)
    thread = steps.get("tx", zero) + lanes * warp + steps.get("laneid", zero)
    index = np.indices(extents)[..., None]
    return gathered(zero + number(list(index), extents), thread, steps.get("reg", zero))


def extents_of(layout: Layout) -> tuple[int, ...]:
    """One number a mode."""
    return tuple(size(mode) for mode in layout.shape)


def lines(text: str) -> dict[str, str]:
    """{label: what stands behind it}."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {label.strip(): rest.strip() for label, colon, rest in pairs if colon}


def permutations(text: str, extents: Sequence[int]) -> list[Any]:
    """Return the element of the tile at each position, mode by mode."""
    found = []
    for word, extent in zip(re.findall(LAYOUT, text), extents, strict=True):
        shape, stride = pair_of(word) if word != "_" else (extent, 1)
        found.append(at(shape, stride, np.arange(size(shape))))
    return found


def tiler_of(text: str) -> list[Any]:
    """Return the element of a copy's tile at each position, mode by mode."""
    words = re.findall(LAYOUT, lines(text)["Tiler MN"])
    return permutations(",".join(words), [0] * len(words))


def dealt(text: str, part: str) -> tuple[Any, tuple[int, ...]]:
    """Return the holdings of an operand, and its extents: the tile permuted, cut into atoms, dealt out."""
    line = lines(text)
    (v, *groups), (by_v, *by_group) = pair_of(line["Thr Layout VMNK"])
    atom = literal_eval(line["Shape MNK"])
    tile = permutations(line["Permutation MNK"], [a * size(g) for a, g in zip(atom, groups, strict=True)])
    modes = OPERANDS[part]
    extents = tuple(len(tile[mode]) for mode in modes)
    (threads, values), (by_thread, by_value) = pair_of(line[f"TV Layout {part}"])
    repeats = [len(tile[mode]) // (atom[mode] * size(groups[mode])) for mode in modes]
    ranges = [size(threads), size(values), *map(size, groups), *repeats]
    thread, value, *rest = np.meshgrid(*map(np.arange, ranges), indexing="ij", sparse=True)
    owner, times = rest[:3], rest[3:]
    inside = coordinates(
        at(threads, by_thread, thread) + at(values, by_value, value), [atom[mode] for mode in modes]
    )
    index = [
        tile[mode][(r * size(groups[mode]) + owner[mode]) * atom[mode] + a]
        for mode, r, a in zip(modes, times, inside, strict=True)
    ]
    whose = at(v, by_v, thread) + sum(at(groups[mode], by_group[mode], owner[mode]) for mode in range(3))
    register = value + size(values) * (times[0] + repeats[0] * times[1])
    return gathered(number(index, extents), whose, register), extents


def disagreement(text: str, part: str, theirs: str) -> str:
    """Return the fault of the part that is read of a block, of which CuTe has this layout; or nothing.

    CuTe prints x where its algebra has no static answer. Its layouts of C forget threads along K.
    """
    try:
        found = read(Given(text, part=part)).layout
    except Refused as no:
        return "CuTe has no layout" if "x" in theirs else str(no)
    ours, extents = held(found), extents_of(found)
    if part in OPERANDS:
        if not (np.array_equal(ours, dealt(text, part)[0]) and extents == dealt(text, part)[1]):
            return "not as the tile is dealt out"
        if part == "C" and pair_of(lines(text)["Thr Layout VMNK"])[0][3] != 1:
            return ""
    if "x" in theirs:
        return "CuTe has no layout"
    tile = () if part in OPERANDS else tiler_of(text)
    return "" if np.array_equal(ours, said(theirs, extents, tile)) else "not as CuTe says"


_CPP = {
    "Tiled MMA": "TiledMMA",
    "Thr Layout VMNK": "ThrLayoutVMNK",
    "Permutation MNK": "PermutationMNK",
    "MMA Atom": "MMA_Atom",
    "Shape MNK": "Shape_MNK",
    "TV Layout A": "LayoutA_TV",
    "TV Layout B": "LayoutB_TV",
    "TV Layout C": "LayoutC_TV",
    "Tiled Copy": "TiledCopy",
    "Tiler MN": "Tiler_MN",
    "TV Layout tiled": "TiledLayout_TV",
    "Copy Atom": "Copy_Atom",
    "TV Layout Src": "ValLayoutSrc",
    "TV Layout Dst": "ValLayoutDst",
    "Value type": "ValueType",
}


def as_cpp(text: str) -> str:
    """A block as C++ prints it: other labels, static numbers with an underscore, n for n:1 in a tile."""
    found = []
    for line in text.splitlines():
        label, colon, rest = line.partition(":")
        rest = re.sub(r"(?<![\w])(\d)", r"_\1", rest.strip())
        if label.strip() in ("Permutation MNK", "Tiler MN"):
            rest = re.sub(r"(?<=[(,])(_\d+):_[01](?=[,)])", r"\1", rest)
        written = _CPP.get(label.strip(), label.strip())
        found.append(f"  {written}: {rest}" if colon else written)
    return "\n".join(found)
