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

CuTe's layouts go from (thread, value) to an element; what is read here goes the other way. A mode of it is a
mode of CuTe's tile, and a flat index counts as CuTe's does, the leftmost mode fastest. Threads of stride 0
hold copies: of C those along K, each of which has a part of the sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod

from tilewise.core.algebra.composition import compose
from tilewise.core.algebra.modes import permute, reshape
from tilewise.core.algebra.tiled import Extent, by_warps, tiled
from tilewise.core.axes import Axis
from tilewise.core.dtypes import DType, known_type
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import all_extents, leaves, size_of
from tilewise.core.vectors import Vector, as_vector
from tilewise.notation.dialects.cute.printed import CuteParser, tile_mode
from tilewise.notation.dialects.given import Given, Reading
from tilewise.notation.tokens import Cursor
from tilewise.notation.trees import Names, leaves_of, tree

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

_LINES = {
    "threads": ("Thr Layout VMNK", "ThrLayoutVMNK"),
    "permutation": ("Permutation MNK", "PermutationMNK"),
    "thrid": ("ThrID",),
    "shape": ("Shape MNK", "Shape_MNK"),
    "A": ("TV Layout A", "LayoutA_TV"),
    "B": ("TV Layout B", "LayoutB_TV"),
    "C": ("TV Layout C", "LayoutC_TV"),
    "tiler": ("Tiler MN", "Tiler_MN"),
    "tiled": ("TV Layout tiled", "TiledLayout_TV"),
    "source": ("TV Layout Src", "ValLayoutSrc"),
    "destination": ("TV Layout Dst", "ValLayoutDst"),
    "reference": ("ValLayoutRef",),
    "type": ("Value type", "ValueType"),
}
"""What a line is: as the DSL writes its label, and as C++ does."""
_LABELS = {label: name for name, labels in _LINES.items() for label in labels}
_HEADS = {
    "Tiled MMA": "mma",
    "TiledMMA": "mma",
    "MMA Atom": "mma",
    "MMA_Atom": "mma",
    "Tiled Copy": "copy",
    "TiledCopy": "copy",
    "Copy Atom": "copy",
    "Copy_Atom": "copy",
}
_OPERANDS = {"A": (0, 2, 1), "B": (1, 2, 0), "C": (0, 1, 2)}
"""{operand: its two modes of M, N, K, and the third, along which threads hold copies of it}."""
_TYPES = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2", "f4E2M1FN": "e2m1", "f6E2M3FN": "e2m3", "f6E3M2FN": "e3m2"}
"""The DSL's names of types, where they are not ours."""
_TX, _REG = Axis("tx"), Axis("reg")
_TENSOR_CORE = 64
"""The least M of an MMA that one or two threads issue for tensor memory, tcgen05's."""


@dataclass(slots=True)
class _Block:
    """The lines of a block: what stands behind each label, and where."""

    text: str
    kind: str = "mma"
    tiled: bool = False
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)

    def cursor(self, name: str) -> Cursor:
        """Return a cursor over what stands in a line, whose places are those of the whole text."""
        if name not in self.spans:
            raise LayoutError(
                "TW004", f"the block has no line {' or '.join(_LINES[name])}", hint="paste the block whole"
            )
        start, end = self.spans[name]
        return Cursor(" " * start + self.text[start:end])

    def layout(self, name: str) -> Layout:
        """Return the layout in a line."""
        cursor = self.cursor(name)
        start = cursor.next
        found = _parser(cursor).plain()
        cursor.expect_end("the layout")
        if found.moving not in ((), ("m",)):
            raise cursor.error(
                "TW008", "a layout of coordinates, and a block counts its elements", cursor.since(start)
            )
        return found

    def pair(self, name: str) -> Layout:
        """Return a layout of (thread, value)."""
        found = self.layout(name)
        if len(found.shape) != 2 or any(stride["m"] < 0 for stride in found.strides):
            raise self.error(
                name,
                "TW003",
                "a layout of (thread, value) has two modes, and steps forwards",
                "such as (32,8):(8,1)",
            )
        return found

    def error(self, name: str, code: str, message: str, hint: str = "") -> LayoutError:
        """Return an error in a line."""
        return LayoutError(code, message, hint=hint, span=self.spans[name], source=self.text)

    @contextmanager
    def blame(self, name: str) -> Iterator[None]:
        """Give a line for an error inside that has no place."""
        try:
            yield
        except LayoutError as error:
            if error.span is None:
                error.span, error.source = self.spans[name], self.text
            raise


def _parser(cursor: Cursor) -> CuteParser:
    return CuteParser(cursor, Names({}, frozenset()))


def read(given: Given) -> Reading:
    """Return the part that is asked for, of the whole tile: coordinates to threads and values."""
    block = _lines(given.text)
    try:
        return _mma(block, given) if block.kind == "mma" else _copy(block, given)
    except LayoutError as error:
        error.source = given.text if error.span is not None else error.source
        raise


def _lines(text: str) -> _Block:
    """Return the block of a text: its headings, and its lines by name."""
    block = _Block(text)
    kinds = []
    for found in re.finditer(r"[^\n]+", text):
        line = found.group()
        words = line.strip()
        start = found.start() + line.index(words) if words else 0
        if not words:
            continue
        if words in _HEADS:
            kinds.append(_HEADS[words])
            block.tiled |= words.startswith("Tiled")
            block.kind = kinds[0]
        elif ":" not in words:
            span = start, start + len(words)
            hint = "headings: " + ", ".join(word for word in _HEADS if " " in word)
            raise LayoutError("TW002", "no heading of a block", hint=hint, span=span, source=text)
        else:
            _line(block, start, words)
    if len(set(kinds)) > 1 or len(kinds) > 2:
        raise LayoutError(
            "TW107", "several blocks in one text", hint="paste one of them", span=(0, len(text)), source=text
        )
    return block


def _line(block: _Block, start: int, words: str) -> None:
    """Note a line of a block."""
    label, _, rest = words.partition(":")
    name = _LABELS.get(" ".join(label.split()))
    span = start, start + len(label)
    if name is None:
        hint = "known: " + ", ".join(labels[0] for labels in _LINES.values())
        raise LayoutError("TW002", f"no label of a block: {label}", hint=hint, span=span, source=block.text)
    if name in block.spans:
        raise LayoutError(
            "TW107", f"{label} stands there twice", hint="paste one block", span=span, source=block.text
        )
    at = start + len(words) - len(rest.lstrip())
    block.spans[name] = at, start + len(words)


# -- an MMA ----------------------------------------------------------------------------------------


def _mma(block: _Block, given: Given) -> Reading:
    """Return an operand of the whole tile, or of the atom where it stands alone."""
    shape = _shape(block)
    part = given.chosen([name for name in _OPERANDS if name in block.spans], "the MMA")
    *modes, third = _OPERANDS[part]
    pair = block.pair(part)
    if pair.shape and size_of(pair.shape[:1]) <= 2 and shape[0] >= _TENSOR_CORE:
        raise Refused(
            "TW509",
            f"no thread holds {part} of this MMA: one issues it, for shared memory and tensor memory",
            witness=size_of(pair.shape[:1]),
            hint="the catalogue has tcgen05's: tilewise catalog tcgen05.D",
        )
    groups = block.layout("threads") if block.tiled else None
    if groups is not None and len(groups.shape) != 4:
        raise block.error("threads", "TW003", f"{len(groups.shape)} modes; V, M, N, K are four")
    lanes = block.layout("thrid") if groups is None else _mode(groups, 0)
    if lanes.size != size_of(pair.shape[:1]):
        raise block.error(part, "TW003", f"{size_of(pair.shape[:1])} threads, and the atom has {lanes.size}")
    places = _beside(_stepping(lanes, _TX), Layout((size_of(pair.shape[1:]),), (1 @ _REG,)))
    found = _turned(block, part, pair, places, [shape[mode] for mode in modes])
    if groups is not None:
        m_n_k = [_stepping(_mode(groups, mode), _TX) for mode in (1, 2, 3)]
        owners = _beside(*[m_n_k[mode] for mode in modes])
        copies = tuple([Iter(extent, step) for extent, step in m_n_k[third].digits if extent > 1])
        permutation = _tile(block, "permutation", 3)
        with block.blame("permutation"):
            found = tiled(found, replace(owners, replica=copies), [permutation[mode] for mode in modes])
    return Reading(by_warps(found), notes=tuple(_of_an_mma(part, pair, groups, third)))


def _of_an_mma(part: str, pair: Layout, groups: Layout | None, third: int) -> Iterator[str]:
    """Yield what is to be said of an operand."""
    if size_of(pair.shape[:1]) > 1 and not _mode(pair, 0).moving:
        yield f"every thread has all of {part}, in shared memory: reg counts its elements there"
    if part == "C" and groups is not None and size_of(groups.shape[third + 1 : third + 2]) > 1:
        yield "threads along K hold copies of C's places: each has its own part of the sum"


# -- a copy ----------------------------------------------------------------------------------------


def _copy(block: _Block, given: Given) -> Reading:
    """Return a side of the whole tile, or of the atom where it stands alone."""
    sides = {name: block.pair(name) for name in ("source", "destination")}
    alike = sides["source"] == sides["destination"]
    part = "source" if alike and given.part is None else given.chosen(sides, "the copy")
    pair = sides[part]
    threads, values = size_of(pair.shape[:1]), size_of(pair.shape[1:])
    places = _beside(Layout((threads,), (1 @ _TX,)), Layout((values,), (1 @ _REG,)))
    found = _turned(block, part, pair, places, [pair.max() + 1])
    notes: list[str] = []
    if block.tiled:
        name = _reference(block, sides)
        if name != part and not alike:
            notes.append("reg counts elements in memory: of a row whose address the lane gives, or of all")
        found = _tiled_copy(block, found, block.pair(name), values)
    return Reading(by_warps(found), _type(block), notes=tuple(notes))


def _tiled_copy(block: _Block, atom: Layout, reference: Layout, values: int) -> Layout:
    """Return a side of the tile: what the tiled layout counts are threads and values of the reference.

    CuTe's `TiledCopy::tile2thrfrg` in cute/atom/copy_atom.hpp does the same.
    """
    whole = block.pair("tiled")
    counts = [size_of(reference.shape[:1]), size_of(reference.shape[1:])]
    sizes = [size_of(whole.shape[:1]), size_of(whole.shape[1:])]
    for size, count, what in zip(sizes, counts, ("threads", "values"), strict=True):
        if size % count:
            raise block.error("tiled", "TW003", f"{size} {what}, and the atom takes {count} at a time")
    of_one = compose(atom, reference)
    times = [size // count for size, count in zip(sizes, counts, strict=True)]
    steps = counts[0] @ _TX, values @ _REG
    modes = [_beside_in_one(_mode(of_one, mode), Layout((times[mode],), (steps[mode],))) for mode in (0, 1)]
    places = replace(_beside(*modes), replica=of_one.replica)
    tiler = _tile(block, "tiler")
    extents = [part.size if isinstance(part, Layout) else part or 1 for part in tiler]
    found = _turned(block, "tiled", whole, places, extents)
    with block.blame("tiler"):
        return tiled(found, Layout((1,) * len(tiler), (Vector(),) * len(tiler)), tiler)


def _reference(block: _Block, sides: dict[str, Layout]) -> str:
    """Return the side whose threads and values the tiled layout counts: that of the registers.

    C++ prints it. The other side has rows, or all of what a warp takes, where the instruction is ldmatrix,
    stmatrix, or one of tensor memory.
    """
    if "reference" in block.spans:
        return "reference"
    memory = [name for name, pair in sides.items() if _is_shared(pair)]
    memory = memory or [name for name, pair in sides.items() if _has_rows(pair)]
    if len(memory) == 1 or sides["source"] == sides["destination"]:
        return "source" if memory == ["destination"] else "destination"
    raise block.error(
        "tiled",
        "TW004",
        "nothing says which side the tiled layout counts: source and destination differ",
        "C++ says it in a line: ValLayoutRef: (_32,_8):(_8,_1)",
    )


def _is_shared(pair: Layout) -> bool:
    """Return whether several threads have one element."""
    return any(extent > 1 and not step for extent, step in _mode(pair, 0).digits)


def _has_rows(pair: Layout) -> bool:
    """Return whether each thread has a whole row, one after another."""
    threads, values = size_of(pair.shape[:1]), size_of(pair.shape[1:])
    return bool(pair.same(Layout((threads, values), (as_vector(values), as_vector(1)), order="cute")))


def _type(block: _Block) -> DType | None:
    """Return the type of a value, where the block names one that is known here."""
    if "type" not in block.spans:
        return None
    word = block.text[slice(*block.spans["type"])]
    spelled = _TYPES.get(word, word)
    return DType.of(spelled) if known_type(spelled) else None


# -- layouts of lines ------------------------------------------------------------------------------


def _shape(block: _Block) -> list[int]:
    """Return M, N and K."""
    cursor = block.cursor("shape")
    start = cursor.next
    node = tree(cursor, _parser(cursor).integer)
    cursor.expect_end("the shape")
    numbers = [leaf.value for leaf in leaves_of(node) if isinstance(leaf.value, int)]
    if len(numbers) != 3 or any(number < 1 for number in numbers):
        raise cursor.error("TW102", "M, N and K are three positive numbers", cursor.since(start))
    return numbers


def _tile(block: _Block, name: str, count: int = 0) -> list[Extent]:
    """Return the modes of a tile, each an extent, a layout, or nothing for `_`."""
    cursor = block.cursor(name)
    opened = cursor.expect("(")
    modes: list[Extent] = []
    while not cursor.accept(")"):
        if modes and cursor.expect(",", opened) and cursor.accept(")"):
            break
        modes.append(tile_mode(_parser(cursor)))
    cursor.expect_end("the tile")
    if not modes or (count and len(modes) != count):
        needed = f"modes; a {name} has {count}" if count else f"modes in a {name}"
        raise block.error(
            name, "TW003", f"{len(modes)} {needed}", "_ leaves a mode as it is" if count else ""
        )
    return modes


def _mode(layout: Layout, mode: int) -> Layout:
    """Return a mode of a layout in CuTe's order, asked in that order."""
    before = sum(1 for _ in leaves(layout.shape[:mode]))
    shape = layout.shape[mode : mode + 1]
    count = sum(1 for _ in leaves(shape))
    return Layout(shape, layout.strides[before : before + count], order="cute")


def _stepping(layout: Layout, axis: Axis) -> Layout:
    """Return a layout of numbers as one of steps on an axis."""
    return replace(layout, strides=tuple([stride["m"] @ axis for stride in layout.strides]))


def _beside(*modes: Layout) -> Layout:
    """Return the layout that has these modes, in CuTe's order."""
    shape = tuple([tuple(mode.shape) for mode in modes])
    return Layout(shape, tuple([stride for mode in modes for stride in mode.strides]), order="cute")


def _beside_in_one(fast: Layout, slow: Layout) -> Layout:
    """Return two layouts as the parts of one mode, the first the fast one."""
    return Layout(((*fast.shape, *slow.shape),), fast.strides + slow.strides, order="cute")


def _turned(block: _Block, name: str, pair: Layout, places: Layout, extents: Sequence[int]) -> Layout:
    """Return coordinates -> places, of (thread, value) -> element and (thread, value) -> place.

    Elements count with the first coordinate fastest. Digits of stride 0 are copies.
    """
    moving: list[tuple[int, int, int]] = []
    still: list[tuple[int, int, int]] = []
    flat = 1
    for extent, stride in zip(all_extents(pair.shape), pair.strides, strict=True):
        if extent > 1:
            (moving if stride["m"] else still).append((stride["m"], extent, flat))
        flat *= extent
    end, size = 1, prod(extents)
    for step, extent, _ in sorted(moving):
        if step < end:
            raise _no_inverse(block, name, "two values are element", step, extents)
        if step > end:
            break
        end *= extent
    if end < size:
        raise _no_inverse(block, name, "no thread has element", end, extents)
    if end > size:
        raise block.error(name, "TW003", f"{end} elements, and the tile has {size}")
    ordered = sorted(moving, reverse=True)
    shape, strides = tuple([extent for _, extent, _ in ordered]), tuple([flat for _, _, flat in ordered])
    found = compose(places, Layout(shape or (1,), tuple(map(as_vector, strides or (0,)))))
    copies = [
        Iter(part, step)
        for _, extent, flat in still
        for part, step in compose(places, Layout((extent,), (as_vector(flat),))).digits
    ]
    modes = permute(reshape(found, tuple(reversed(extents))), *reversed(range(len(extents))))
    return replace(modes, replica=modes.replica + tuple(copies)).in_order("cute")


def _no_inverse(block: _Block, name: str, what: str, element: int, extents: Sequence[int]) -> Refused:
    """Return why threads and values are no copies of the whole tile."""
    index = []
    for extent in extents:
        element, digit = divmod(element, extent)
        index.append(digit)
    no = Refused("TW505", f"{what} ({','.join(map(str, index))}) of the tile", witness=tuple(index))
    no.span, no.source = block.spans[name], block.text
    return no
