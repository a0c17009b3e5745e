"""The operations of `tilewise algebra`: what each takes in a shell, and an example.

An operation is the function of `tilewise.algebra` that has its name, or what a layout has under it, and its
law is the docstring there. The functions here make the calls that are more than passing words on.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import cleandoc

from tilewise.core import algebra, facts
from tilewise.core.axes import Axis, m
from tilewise.core.layout import Layout
from tilewise.core.orders import turned
from tilewise.core.shapes import as_shape, extents_of, mirrored
from tilewise.questions.texts import misused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.shapes import Shape
    from tilewise.notation.formulas import Formula

TABLE = """\
modes: the same map under another shape
  coalesce LAYOUT [--by-mode] = 'S[(2, 4, 3) : (12, 3, 1)]'
    neighbouring digits merged
  flatten LAYOUT = 'S[((4, 2), 8) : ((16, 8), 1)]'
    every digit a mode of its own
  group LAYOUT SHAPE = 'S[(6, 6) : (6, 1)]' 12,3
    modes of these sizes, digits split and never merged
  reshape LAYOUT SHAPE = 'S[(4, 2, 2, 4) : (16, 4, 8, 1)]' 8,8
    the same map in another shape; one extent may be -1
  split LAYOUT MODE EXTENT... = 'S[(64, 32) : (32, 1)]' 0 4 16
    one mode as several
  regroup LAYOUT MODES... = 'S[(4, 2, 8) : (1, 32, 4)]' 0,1 2
    modes bracketed, in their order
  permute LAYOUT ORDER = 'S[(4, 8) : (8, 1)]' 1,0
    modes in another order
  refinement A B = 'S[(4, 6) : (1, 4)]' 'S[(2, 12) : (1, 2)]'
    both maps over the coarsest shape that has the digits of both
maps: one layout after another, parts and inverses
  compose A TILER... [--modes AXES] = 'S[(2, 6) : (2, 8)]' 'S[(3, 4) : (1, 3)]'
    A after B: x -> A(B(x)); several tilers go mode by mode, _ keeps one
  slice LAYOUT REGION [--shape SHAPE] = 'S[(8, 8) : (8, 1)]' 2:6,3
    a region as one layout, or as an exact list of (box, layout)
  left_inverse LAYOUT [--axes AXES] = 'S[(4, 8) : (1, 4)]'
    G with G(LAYOUT(x)) = x
  right_inverse LAYOUT [--axes AXES] = 'S[(4, 8) : (1, 4)]'
    G with LAYOUT(G(i)) = i
  quasi_inverse LAYOUT [--axes AXES] = 'S[(4, 2, 8) : (8, 0, 1)]'
    from a place to the smallest index that lives there
  inverse LAYOUT [--axes AXES] = 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]'
    left_inverse
  complement LAYOUT [SIZE] [--size SIZE] [--weak] [--round-up] = 'S[(2, 2) : (6, 1)]' 24
    what fills the rest of [0, SIZE) by moving LAYOUT
divides: a layout as tiles of it, and which tile
  logical_divide A TILER... = 'S[(3, 2, 4) : (8, 1, 2)]' 'S[4 : 2]'
    (in a tile, which tile); several tilers go mode by mode, _ keeps one
  zipped_divide A TILER... = 'S[(8, 6) : (6, 1)]' '(4,3)'
    ((all modes in a tile), (which tile, all modes))
  tiled_divide A TILER... = 'S[(8, 6) : (6, 1)]' '(4,3)'
    ((all modes in a tile), which tile, mode by mode)
  flat_divide A TILER... = 'S[(8, 6) : (6, 1)]' '(4,3)'
    (in a tile, mode by mode, which tile, mode by mode)
products: a layout repeated, in the order of another
  logical_product A TILER... = 'S[(2, 2) : (1, 4)]' 6
    (A, its repetitions)
  zipped_product A TILER... = 'S[(2, 4) : (4, 1)]' 'S[(3, 2) : (2, 1)]'
    ((A), (repetitions))
  tiled_product A TILER... = 'S[(2, 4) : (4, 1)]' 'S[(3, 2) : (2, 1)]'
    ((A), repetitions, mode by mode)
  flat_product A TILER... = 'S[(2, 4) : (4, 1)]' 'S[(3, 2) : (2, 1)]'
    (A, mode by mode, repetitions, mode by mode)
  blocked_product A B = 'S[(2, 5) : (5, 1)]' 'S[(3, 4) : (1, 3)]'
    mode by mode: blocks of A, side by side
  raked_product A B = 'S[(2, 5) : (5, 1)]' 'S[(3, 4) : (1, 3)]'
    mode by mode: the elements of A dealt out
  tile_to_shape BLOCK SHAPE [--order ORDER] = 'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]' 16,128
    blocks up to a whole shape
tiles: tiles and sums, side by side in every mode
  tile OUTER INNER = 'S[(8, 8) : (8, 1)]' 'S[(2, 3) : (3, 1)]'
    INNER again and again, where OUTER says, in steps of its span
  direct_sum A B = 'S[(2, 2) : (8, 2)]' 'S[(2, 2) : (4, 1)]'
    A and B side by side, steps as they are
widths: elements of another width
  pack LAYOUT COUNT [--axis AXIS] = 'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]' 4
    COUNT neighbouring elements as one
  unpack LAYOUT COUNT [--axis AXIS] = 'S[(8, 4) : (4@laneid, 1@laneid)] + 3@reg' 2
    every element as COUNT neighbouring ones
  recast LAYOUT OLD NEW [--axis AXIS] = 'Swizzle<3,3,3> o S[(8, 64) : (64, 1)]' bf16 f32
    the same bytes as elements of another dtype
places: axes: more, fewer, others
  broadcast LAYOUT EXTENT [POSITION] = 'S[(4, 2) : (2, 1)]' 3 1
    a new mode along which nothing moves
  relabel LAYOUT NAMES = 'S[(8, 4) : (4@laneid, 1@reg)]' laneid=tx,reg=m
    axes renamed: OLD=NEW,...
  split_axis LAYOUT AXIS [INTO] = 'S[(2, 64) : (64@tx, 1@tx)]' tx warpid,laneid
    one axis as two: HIGH,LOW of the known ones, or HIGH,N,LOW
  fuse_axes LAYOUT AXES [AXIS] = 'S[(4, 32) : (1@warpid, 1@laneid)]' warpid,laneid
    several axes as one: HIGH,LOW of the known ones, or HIGH,N,LOW and AXIS
  footprint LAYOUT AXES... = 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]' laneid
    what one owner holds: the layout without these axes
swizzles: swizzles, and layouts from listed maps
  swizzle_chain LAYOUT = 'Swizzle<3,3,3> o S[(4, 64) : (64, 1)]'
    the same map with the smallest swizzles on its places
  recognise TABLE [--shape SHAPE] [--axes AXES] = '[[0, 1, 2, 3], [5, 4, 7, 6]]'
    the layout, swizzled where it must be, that lists as TABLE: numbers, a .npy file, a lambda
  explanations TABLE [--shape SHAPE] [--axes AXES] = '[0, 1, 2, 3, 5, 4, 7, 6]'
    all swizzled layouts that list as TABLE, the fewest bits first
  recognise_map LAYOUT = 'Swizzle<1,0,2> o Swizzle<1,1,2> o S[16 : 1]'
    the same map with at most one swizzle, where it is one of XORs
gf2: layouts whose sums are XORs, as maps over GF(2)
  bases LAYOUT = 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]'
    what every bit of the flat index flips, axis by axis
  from_bases BASES [ORIGIN] [--shape SHAPE] = '{"laneid": [0, 1, 2], "reg": [1, 0, 0]}'
    the layout of these bases: {axis: one number a bit}, or a list
  rank LAYOUT = 'S[(4, 2, 8) : (8, 0, 1)]'
    r, where the layout has 2^r places
  kernel LAYOUT = 'S[(4, 2, 8) : (8, 0, 1)]'
    a basis of the d for which x and x ^ d have one place
facts: what is true of a map
  canonical LAYOUT = 'S[(1, 4, 2) : (7, 2, 1)] + R[(1, 2) : (3, -8)]'
    the same map without what has no effect
  same A B = 'S[(4, 4) : (4, 1)]' 'S[16 : 1]'
    whether both are one map, by flat index
  injective LAYOUT = 'S[(8, 64) : (64, 1)]'
    whether no place is held by two elements
  disjoint_copies LAYOUT = 'S[4 : 1] + R[2 : 4]'
    whether the copies of an element never coincide
  onto LAYOUT = 'S[(8, 64) : (64, 1)]'
    whether every place between min and max is taken
  holes LAYOUT = 'S[(4, 3) : (4, 1)]'
    how many places between min and max hold nothing
  contiguous LAYOUT = 'S[(8, 64) : (64, 1)]'
    whether element x is at base + x
"""
"""Families; below each its operations with words and options, an example behind =, and a sentence."""

OPTIONS = {
    "by_mode": "coalesce: every mode by itself",
    "modes": "AXES: compose: the axes of B that are coordinates of A, one a mode",
    "axes": "AXES: left_inverse, right_inverse, quasi_inverse, inverse: the order of the result's modes, one"
    " an axis; recognise, explanations: the axes of numbers, where the table does not name them",
    "shape": "SHAPE: slice: the region is one of this shape; from_bases, recognise, explanations: the"
    " result's",
    "size": "SIZE: complement: fill [0, SIZE)",
    "weak": "complement: disjoint is enough, holes may stay",
    "round_up": "complement: go on past SIZE to the next whole number of repeats, as CuTe",
    "order": "ORDER: tile_to_shape: a rank a mode, the lowest where blocks lie together",
    "axis": "AXIS: pack, unpack, recast: along this storage axis",
}
"""{an option: its help}: the word that says how its value is read, and what it does to each operation."""

NOTES = {
    "tile": "OUTER is the first word, as in A (x) B of the paper; of the method inner.tile(outer) it is the\n"
    "argument. Products and tile_to_shape put what is repeated first.",
}
"""The lines in the help of an operation besides its law."""


def kind_of(option: str) -> str:
    """Return the word that says how the value of an option is read, or nothing of a flag."""
    first = OPTIONS[option].partition(": ")[0]
    return first if first.isupper() else ""


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of an operation, the order in which tables count that name none, and values of names."""

    options: Mapping[str, Any]
    order: str = "row"
    let: Mapping[str, int] | None = None

    def __getitem__(self, option: str) -> Any:
        return self.options.get(option)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation, as it is called."""

    name: str
    family: str
    usage: str
    """The words and options that it takes."""
    example: tuple[str, ...]
    summary: str

    @property
    def words(self) -> str:
        """Return the words that it takes."""
        return self.usage.partition(" [--")[0]

    @property
    def options(self) -> list[str]:
        """Return the names of its options."""
        return [flag.replace("-", "_") for flag in re.findall(r"\[--([\w-]+)", self.usage)]

    def help_of(self, option: str) -> str:
        """Return what one of its options does here, behind the word of its value."""
        metavar = f"{kind_of(option)}: " if kind_of(option) else ""
        clauses = (clause.partition(": ") for clause in OPTIONS[option].removeprefix(metavar).split("; "))
        return metavar + next(text for names, _, text in clauses if self.name in names.split(", "))

    @property
    def home(self) -> Any:
        """Return the module or the class that has it."""
        return next(home for home in (algebra, facts, Layout) if hasattr(home, self.name))

    @property
    def law(self) -> str:
        """Return the docstring of what it runs, without its Python examples."""
        return cleandoc(getattr(self.home, self.name).__doc__ or "").partition(">>>")[0].rstrip()

    def run(self, asked: Asked, values: Sequence[Any]) -> Any:
        """Return what the operation makes of its words and options."""
        if self.words == "A TILER..." and [*values[1:]] == [None]:
            values = values[0], (None,)
        if self.name in ADAPTED:
            return ADAPTED[self.name](asked, *values)
        if self.home is facts or self.name == "onto":
            return getattr(values[0], self.name)
        return getattr(self.home, self.name)(*values, **asked.options)


# -- calls that are more than passing words on -------------------------------------------------------


def compose(asked: Asked, a: Layout, *tilers: Any) -> Any:
    """Compose with one layout, or mode by mode."""
    if asked["modes"] and not (len(tilers) == 1 and isinstance(tilers[0], Layout)):
        raise misused("--modes names the axes of one layout B", "drop it, or give one B")
    return algebra.compose(a, *tilers, modes=asked["modes"])


def fuse_axes(asked: Asked, a: Layout, axes: Sequence[Any], axis: str | None = None) -> Any:
    """Fuse axes; with a number between them, the new one has to be named."""
    if axis is None and any(isinstance(part, int) for part in axes):
        written = ",".join(map(str, axes))
        raise misused("AXIS is missing: the axis that they become", f"such as {written} tx, as two words")
    return algebra.fuse_axes(a, axes, axis)


def complement(asked: Asked, a: Layout, size: int | None = None) -> Any:
    """Complement up to SIZE, as a word or as an option."""
    return algebra.complement(a, **{"size": size, **asked.options})


def recognise(asked: Asked, table: Any) -> Layout:
    """Recognise a table or a function; a flat table counts as --dialect says."""
    from tilewise.notation.dialects.function import layout_of

    if isinstance(table, str):
        function = _function(asked, table)
        return layout_of(function, _shape_of(asked, function)).in_order(asked.order)
    return _listed(asked, table, algebra.recognise(table, *_kept(asked)))


def explanations(asked: Asked, table: Any) -> list[Layout]:
    """Return all layouts of a table or of a function."""
    if isinstance(table, str):
        function = _function(asked, table)
        table = function.listed(extents_of(_shape_of(asked, function)))
    return [_listed(asked, table, found.layout) for found in algebra.explanations(table, *_kept(asked))]


def _function(asked: Asked, text: str) -> Formula[Axis]:
    from tilewise.notation.formulas import read_lambda

    return read_lambda(text, asked.let or {}, [Axis(str(name)) for name in asked["axes"] or ["m"]])


def _shape_of(asked: Asked, function: Formula[Axis]) -> Shape:
    """Return the shape on which a function is evaluated."""
    from tilewise.notation.dialects import Given

    if asked["shape"] is None:
        Given(function.source.text).needs_shape("a function of coordinates")
    return as_shape(asked["shape"])


def _kept(asked: Asked) -> tuple[Any, Any]:
    """Return the axes of a table's numbers, and the shape that is kept."""
    return asked["axes"] or [m], asked["shape"]


def _listed(asked: Asked, table: Any, found: Layout) -> Layout:
    nested = isinstance(table, list) and any(isinstance(row, list) for row in table)
    return found.in_order(asked.order) if nested or asked["shape"] else in_flat_order(found, asked.order)


def in_flat_order(layout: Layout, order: str) -> Layout:
    """Return the layout in an order, with the same place at every flat index."""
    return layout if layout.order == order else turned(layout)


def from_bases(asked: Asked, bases: Any, origin: int = 0) -> Layout:
    """Return the layout of bases, in the shape of --shape."""
    shape = asked["shape"] if asked.order == "row" else mirrored(asked["shape"])
    return in_flat_order(algebra.from_bases(bases, origin, shape), asked.order)


ADAPTED: dict[str, Callable[..., Any]] = {
    "compose": compose,
    "complement": complement,
    "fuse_axes": fuse_axes,
    "recognise": recognise,
    "explanations": explanations,
    "recognise_map": lambda asked, a: in_flat_order(algebra.recognise_map(a), a.order),
    "from_bases": from_bases,
}


# -- the table ---------------------------------------------------------------------------------------


def _read() -> tuple[dict[str, str], dict[str, Operation]]:
    """Return the families, and the operations by name."""
    families: dict[str, str] = {}
    operations: dict[str, Operation] = {}
    family = ""
    lines = iter(TABLE.splitlines())
    for line in lines:
        if not line.startswith(" "):
            family, _, families[family] = line.partition(": ")
            continue
        called, _, example = line.strip().partition(" = ")
        name, _, usage = called.partition(" ")
        operations[name] = Operation(name, family, usage, tuple(shlex.split(example)), next(lines).strip())
    return families, operations


FAMILIES, OPERATIONS = _read()
"""{a family: what it is about}, and {a name: its operation}."""
