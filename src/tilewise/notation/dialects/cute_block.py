"""The blocks that CuTe prints of a tiled MMA and of a tiled copy: several layouts, by name.

    Tiled MMA                                               TiledMMA
      Thr Layout VMNK: (32,2,2,1):(1,32,64,0)                 ThrLayoutVMNK:  (_32,_2,_2,_1):(_1,_32,_64,_0)
      Permutation MNK: (32:1,32:1,16:1)                       PermutationMNK: (_32,_32,_16)
    MMA Atom                                                MMA_Atom
      ThrID:           32:1                                   ThrID:      _32:_1
      Shape MNK:       (16,8,16)                              Shape_MNK:  (_16,_8,_16)
      TV Layout A:     ((4,8),(2,2,2)):((32,1),(16,8,128))    LayoutA_TV: ((_4,_8),(_2,_2,_2)):((_32,_1),...)

On the left as its Python DSL prints, on the right as C++ does (`print` in cute/atom/mma_atom.hpp and
copy_atom.hpp). An atom may stand alone. The parts of an MMA are A [M, K], B [N, K] and C [M, N], those of a
copy the source and the destination, each of the whole tile: which thread holds which element, and in which
of its values. A thread is a warp and a lane where it splits into those.

CuTe's layouts go from (thread, value) to an element; a layout here goes from an element to them. A mode is a
mode of CuTe's tile, and a flat index counts as CuTe's does, the leftmost mode fastest. Threads of stride 0
hold copies: of C those along K, each of which has a part of the sum.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from operator import floordiv, mod
from typing import TypeVar

from tilewise.core.algebra.composition import compose
from tilewise.core.algebra.modes import mode_layouts, reshape
from tilewise.core.algebra.tiled import OPERANDS, Extent, by_warps, tiled, tiled_operand
from tilewise.core.algebra.tiles import direct_sum
from tilewise.core.axes import Axis
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import all_extents, coordinates, extents_of
from tilewise.core.vectors import ZERO, as_vector
from tilewise.notation.dialects.cute.printed import CuteParser, tile_mode
from tilewise.notation.dialects.given import Given, Reading
from tilewise.notation.dialects.values import Written
from tilewise.notation.elements import element_of

_MMA = """\
Tiled MMA
  Thr Layout VMNK: (32,2,2,1):(1,32,64,0)
  Permutation MNK: (32:1,(8,2,2):(1,16,8),_)
MMA Atom
  ThrID:           32:1
  Shape MNK:       (16,8,16)
  TV Layout A:     ((4,8),(2,2,2)):((32,1),(16,8,128))
  TV Layout B:     ((4,8),(2,2)):((16,1),(8,64))
  TV Layout C:     ((4,8),(2,2)):((32,1),(16,8))
"""
_COPY = """\
Tiled Copy
  Tiler MN:        (32:1,16:1)
  TV Layout tiled: ((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))
Copy Atom
  ThrID:           32:1
  TV Layout Src:   (32,8):(8,1)
  TV Layout Dst:   (32,(2,4)):(2,(1,64))
  Value type:      f16
"""
_CPP = """\
TiledCopy
  Tiler_MN:       (_16,_64)
  TiledLayout_TV: ((_8,_16),_8):((_128,_1),_16)
Copy_Atom
  ThrID:        _1:_0
  ValLayoutSrc: (_1,_8):(_0,_1)
  ValLayoutDst: (_1,_8):(_0,_1)
  ValLayoutRef: (_1,_8):(_0,_1)
  ValueType:    16b
"""
EXAMPLES = (
    Given(_MMA, part="A"),
    Given(_MMA, part="B"),
    Given(_MMA, part="C"),
    Given(_COPY, part="source"),
    Given(_COPY, part="destination"),
    Given(_CPP),
)

_HEADS = ("Tiled MMA", "MMA Atom", "Tiled Copy", "Copy Atom")
_LABELS = {
    "Thr Layout VMNK": "threads",
    "Permutation MNK": "permutation",
    "ThrID": "thrid",
    "Shape MNK": "shape",
    "TV Layout A": "A",
    "TV Layout B": "B",
    "TV Layout C": "C",
    "Tiler MN": "tiler",
    "TV Layout tiled": "tiled",
    "TV Layout Src": "source",
    "TV Layout Dst": "destination",
    "Value type": "type",
    "LayoutA_TV": "A",
    "LayoutB_TV": "B",
    "LayoutC_TV": "C",
    "TiledLayout_TV": "tiled",
    "ValLayoutSrc": "source",
    "ValLayoutDst": "destination",
    "ValLayoutRef": "reference",
    "ValueType": "type",
}
"""{label: the name of its line}. The labels are the DSL's, and those that C++ has instead."""
Taken = TypeVar("Taken")
_TX, _REG = Axis("tx"), Axis("reg")
_TENSOR_CORE = 64
"""The least M of an MMA that one or two threads issue for tensor memory, tcgen05's."""


@dataclass(slots=True)
class _Block:
    """The headings of a block, and the text behind each label."""

    heads: list[str] = field(default_factory=list)
    lines: dict[str, Written] = field(default_factory=dict)

    def has(self, word: str) -> bool:
        """Return True if a word is in a heading."""
        return any(word in head for head in self.heads)

    def taken(self, name: str, take: Callable[[CuteParser], Taken]) -> Taken:
        """Return the result of `take` on a line, and refuse words after it."""
        if name not in self.lines:
            labels = " or ".join([label for label, known in _LABELS.items() if known == name])
            raise LayoutError("TW004", f"the block has no line {labels}", hint="paste the block whole")
        parser = CuteParser(self.lines[name].source, span=self.lines[name].span)
        found = take(parser)
        parser.expect_end("the line")
        return found

    def layout(self, name: str) -> Layout:
        """Return the layout in a line."""
        found = self.taken(name, CuteParser.plain)
        if found.moving not in ((), ("m",)) or not found.shape:
            message = "a layout of coordinates or of nothing, and a block counts its elements"
            raise self.lines[name].error("TW008", message)
        return found

    def pair(self, name: str) -> Layout:
        """Return a layout of (thread, value)."""
        found = self.layout(name)
        if len(found.shape) != 2 or any(stride["m"] < 0 for stride in found.strides):
            message = "a layout of (thread, value) has two modes, and steps forwards"
            raise self.lines[name].error("TW003", message, "such as (32,8):(8,1)")
        return found


def _modes(parser: CuteParser) -> list[Extent]:
    """Take the modes of a tile, each an extent, a layout, or nothing for `_`."""
    opened = parser.expect("(")
    modes = [tile_mode(parser)]
    while parser.accept(","):
        modes.append(tile_mode(parser))
    parser.expect(")", opened)
    return modes


def read(given: Given) -> Reading:
    """Return the chosen part of the whole tile: coordinates to threads and values."""
    block = _lines(given)
    return _copy(block, given) if block.has("Copy") else _mma(block, given)


def _lines(given: Given) -> _Block:
    """Return the block of a text: its headings, and its lines by name."""
    block, at = _Block(), 0
    for line in given.text.split("\n"):
        label, colon, rest = line.partition(":")
        letters = _letters(label)
        known = {_letters(each): each for each in (_LABELS if colon else _HEADS)}
        where = Written(given.text, (at + len(line) - len(line.lstrip()), at + len(label.rstrip())))
        if (letters or colon) and letters not in known:
            message = f"no {'label' if colon else 'heading'} of a block: {label.strip()}"
            raise where.error("TW002", message, f"known: {', '.join(known.values())}")
        if colon:
            if (name := _LABELS[known[letters]]) in block.lines:
                raise where.error("TW107", f"{label.strip()} stands there twice", "paste one block")
            span = at + len(line) - len(rest.lstrip()), at + len(line.rstrip())
            block.lines[name] = Written(given.text, span)
        elif letters:
            block.heads.append(known[letters])
        at += len(line) + 1
    if block.has("MMA") and block.has("Copy"):
        raise LayoutError("TW107", "several blocks in one text", hint="paste one of them")
    return block


def _letters(label: str) -> str:
    """Return a label without spaces and underscores, in which C++ and the DSL differ."""
    return re.sub(r"[\s_]", "", label)


# -- an MMA ----------------------------------------------------------------------------------------


def _mma(block: _Block, given: Given) -> Reading:
    """Return an operand of the whole tile, or of the atom where it stands alone."""
    shape = extents_of(block.taken("shape", lambda parser: parser.shape_of(parser.tree(parser.integer))))
    if len(shape) != 3:
        raise block.lines["shape"].error("TW102", "M, N and K are three positive numbers")
    part = given.chosen([name for name in OPERANDS if name in block.lines], "the MMA")
    pair = block.pair(part)
    thread, value = mode_layouts(pair)
    if thread.size <= 2 and shape[0] >= _TENSOR_CORE:
        raise Refused(
            "TW509",
            f"no thread holds {part} of this MMA: one issues it, for shared memory and tensor memory",
            witness=thread.size,
            hint="the catalogue has tcgen05's: tilewise catalog tcgen05.D",
        )
    is_tiled = block.has("Tiled")
    lanes, *groups = mode_layouts(block.layout("threads")) if is_tiled else [block.layout("thrid")]
    if lanes.size != thread.size:
        raise block.lines[part].error("TW003", f"{thread.size} threads, and the atom has {lanes.size}")
    with block.lines[part].blame():
        places = _places(lanes, value.size)
        found = _dealt(pair, places, [shape[mode] for mode in OPERANDS[part]])
    notes = []
    if thread.size > 1 and not thread.moving:
        notes.append(f"every thread has all of {part}, in shared memory: reg counts its elements there")
    if is_tiled:
        tile = block.taken("permutation", _modes)
        with block.lines["permutation" if len(groups) == 3 else "threads"].blame():
            found = tiled_operand(found, part, _TX, groups, tile)
        if part == "C" and groups[-1].size > 1:
            notes.append("threads along K hold copies of C's places: each has its own part of the sum")
    return Reading(by_warps(found), notes=tuple(notes))


# -- a copy ----------------------------------------------------------------------------------------


def _copy(block: _Block, given: Given) -> Reading:
    """Return a side of the whole tile, or of the atom where it stands alone."""
    sides = {name: block.pair(name) for name in ("source", "destination")}
    alike = sides["source"] == sides["destination"]
    part = "source" if alike and given.part is None else given.chosen(sides, "the copy")
    threads, values = extents_of(sides[part].shape)
    with block.lines[part].blame():
        places = _places(Layout((threads,), (as_vector(1),)), values)
        found = _dealt(sides[part], places, [sides[part].max() + 1])
    notes: list[str] = []
    if block.has("Tiled"):
        name = _reference(block, sides)
        if name != part and not alike:
            notes.append("reg counts elements in memory: of a row whose address the lane gives, or of all")
        found = _tiled_copy(block, found, block.pair(name), values)
    line = block.lines.get("type")  # of a value, where it is known here
    return Reading(by_warps(found), element_of(line.spelled) if line else None, notes=tuple(notes))


def _tiled_copy(block: _Block, atom: Layout, reference: Layout, values: int) -> Layout:
    """Return a side of the tile. The tiled layout counts threads and values of the reference.

    CuTe's `TiledCopy::tile2thrfrg` in cute/atom/copy_atom.hpp does the same.
    """
    whole = block.pair("tiled")
    sizes, counts = extents_of(whole.shape), extents_of(reference.shape)
    if any(map(mod, sizes, counts)):
        message = f"threads and values are {sizes}, and the atom takes {counts} at a time"
        raise block.lines["tiled"].error("TW003", message)
    steps = counts[0] @ _TX, values @ _REG
    repeats = Layout(tuple(map(floordiv, sizes, counts)), steps, order="cute")
    tiler = block.taken("tiler", _modes)
    extents = [part.size if isinstance(part, Layout) else part or 1 for part in tiler]
    with block.lines["tiled"].blame():
        found = _dealt(whole, direct_sum(repeats, compose(atom, reference)), extents)
    with block.lines["tiler"].blame():
        return tiled(found, Layout((1,) * len(tiler), (ZERO,) * len(tiler)), tiler)


def _reference(block: _Block, sides: dict[str, Layout]) -> str:
    """Return the side whose threads and values the tiled layout counts: that of the registers.

    C++ prints it. On the other side, several threads have one element, or each has a whole row, where the
    instruction is ldmatrix, stmatrix, or one of tensor memory.
    """
    if "reference" in block.lines:
        return "reference"
    shared, rows = [], []
    for name, pair in sides.items():
        threads, values = extents_of(pair.shape)
        if any(extent > 1 and not step for extent, step in mode_layouts(pair)[0].digits):
            shared.append(name)
        if pair.same(Layout((threads, values), (as_vector(values), as_vector(1)), order="cute")):
            rows.append(name)
    memory = shared or rows
    if len(memory) == 1 or sides["source"] == sides["destination"]:
        return "source" if memory == ["destination"] else "destination"
    message = "nothing says which side the tiled layout counts: source and destination differ"
    raise block.lines["tiled"].error(
        "TW004", message, "C++ says it in a line: ValLayoutRef: (_32,_8):(_8,_1)"
    )


# -- threads and values ----------------------------------------------------------------------------


def _places(lanes: Layout, values: int) -> Layout:
    """Return (thread, value) -> place, of the numbers of the threads."""
    steps = tuple([stride["m"] @ _TX for stride in lanes.strides])
    return Layout((lanes.shape, values), (*steps, 1 @ _REG), order="cute")


def _dealt(pair: Layout, places: Layout, extents: Sequence[int]) -> Layout:
    """Return coordinates -> places, of (thread, value) -> element and (thread, value) -> place.

    Elements count with the first coordinate fastest. Digits of stride 0 are copies.
    """
    moving: list[tuple[int, int, int]] = []
    copies: list[Iter] = []
    pairs = 1
    for extent, stride in zip(all_extents(pair.shape), pair.strides, strict=True):
        if extent > 1 and stride:
            moving.append((stride["m"], extent, pairs))
        elif extent > 1:
            copies.append(Iter(extent, as_vector(pairs)))
        pairs *= extent
    moving.sort()
    size, end = prod(extents), 1
    for step, extent, _ in moving:
        element = min(step, end)
        if step != end and element < size:
            index = coordinates(element, tuple(extents), "cute")
            why = "two values are" if step < end else "no thread has"
            at = ",".join(map(str, index))
            raise Refused("TW505", f"{why} element ({at}) of the tile", witness=index)
        end *= extent
    if pair.max() + 1 != size:
        raise LayoutError("TW003", f"{pair.max() + 1} elements, and the tile has {size}")
    shape, strides = [extent for _, extent, _ in moving], [as_vector(step) for *_, step in moving]
    back = Layout(tuple(shape), tuple(strides), tuple(copies), order="cute")
    return reshape(compose(places, back), *extents)
