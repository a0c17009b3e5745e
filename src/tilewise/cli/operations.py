"""The operations of `tilewise algebra`, by family: their words, what they give, an example.

A word is read by its name (`words`). The functions here make the calls that are more than passing words on.
The law of an operation is the docstring of what it runs, unless `law` names another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewise.cli.answer import misused
from tilewise.core import algebra
from tilewise.core.axes import m
from tilewise.core.layout import Layout
from tilewise.core.orders import turned
from tilewise.core.shapes import as_shape, extents_of, mirrored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.cli.words import Asked
    from tilewise.core.axes import Axis
    from tilewise.core.shapes import Shape
    from tilewise.notation.formulas import Formula


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation, as it is called; it runs its function with words and options, unless it is adapted."""

    name: str
    words: str
    summary: str
    example: tuple[str, ...]
    adapted: Callable[..., Any] | None = None
    options: tuple[str, ...] = ()
    law: str = ""
    note: str = ""
    tells: Callable[..., dict[str, Any]] | None = None
    """What JSON says of the result besides."""

    @property
    def usage(self) -> str:
        """The words and options that it takes."""
        return " ".join((self.words, *(f"[{OPTIONS[name].spelled}]" for name in self.options)))

    def run(self, asked: Asked, *values: Any) -> Any:
        """Return what the operation makes of its words and options."""
        if self.words == "A TILER...":
            values = values[0], one_tiler(values[1:])
        if self.adapted is not None:
            return self.adapted(asked, *values)
        return getattr(algebra, self.name)(*values, **asked.options)


def one_tiler(tilers: Sequence[Any]) -> Any:
    """Return one layout or extent; or a tuple by mode, from several words, a shape, or `_`."""
    return tilers[0] if len(tilers) == 1 and tilers[0] is not None else tuple(tilers)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of some operations: `metavar` says how its value is read, a flag has none."""

    flag: str
    summary: str
    metavar: str | None = None

    @property
    def spelled(self) -> str:
        """The option as usage shows it."""
        return f"{self.flag} {self.metavar}" if self.metavar else self.flag

    def said_of(self, operation: str) -> str:
        """What the option does to one of its operations."""
        clauses = (clause.partition(": ") for clause in self.summary.split("; "))
        own = [said for names, _, said in clauses if operation in names.split(", ")]
        return own[0] if own else self.summary.partition(": ")[2]


OPTIONS = {
    option.flag[2:].replace("-", "_"): option
    for option in (
        Option("--by-mode", "coalesce: every mode by itself"),
        Option("--modes", "compose: the axes of B that are coordinates of A, one a mode", "AXES"),
        Option(
            "--axes",
            "left_inverse, right_inverse, quasi_inverse, inverse: the order of the result's modes, "
            "one an axis; recognise, explanations: the axes of numbers, where the table does not name them",
            "AXES",
        ),
        Option(
            "--shape",
            "slice: the region is one of this shape; from_bases, recognise, explanations: the result's",
            "SHAPE",
        ),
        Option("--size", "complement: fill [0, SIZE)", "SIZE"),
        Option("--weak", "complement: disjoint is enough, holes may stay"),
        Option("--round-up", "complement: go on past SIZE to the next whole number of repeats, as CuTe"),
        Option("--order", "tile_to_shape: a rank a mode, the lowest where blocks lie together", "ORDER"),
        Option("--axis", "pack, unpack, recast: along this storage axis", "AXIS"),
    )
}


def _fact(name: str, summary: str, example: str, law: str = "") -> Operation:
    """Return the operation that has a fact of a layout; `law` names the function of another name."""
    return Operation(
        name,
        "LAYOUT",
        summary,
        (example,),
        lambda ask, a: getattr(a, name),
        law=f"tilewise.core.facts:{law or name}",
    )


# -- modes and maps --------------------------------------------------------------------------------


def regroup(ask: Asked, a: Layout, *words: Any) -> Any:
    """Bracket modes; each word has one bracket or several."""
    return algebra.regroup(a, *(part for word in words for part in word))


def compose(ask: Asked, a: Layout, tiler: Any) -> Any:
    """Compose with one layout, or mode by mode."""
    if isinstance(tiler, tuple) and ask["modes"]:
        raise misused("--modes names the axes of one layout B", "drop it, or give one B")
    return algebra.compose(a, tiler, modes=ask["modes"])


def sliced(ask: Asked, a: Layout, region: tuple[Any, ...]) -> Any:
    """Slice a region of the modes, or of --shape's."""
    return algebra.slices(a, *region, shape=ask["shape"])


def inverse_modes(ask: Asked, a: Layout) -> dict[str, Any]:
    """Return the axes of which the inverse's modes count the steps."""
    return {"modes": list(ask["axes"] or map(str, a.axes))}


def complement(ask: Asked, a: Layout, size: int | None = None) -> Any:
    """Complement up to SIZE, as a word or as an option."""
    asked = ask["size"] if size is None else size
    return algebra.complement(a, asked, bool(ask["weak"]), bool(ask["round_up"]))


# -- tiles and places ------------------------------------------------------------------------------


def footprint(ask: Asked, a: Layout, *words: Any) -> Any:
    """Axes, some in each word."""
    return algebra.footprint(a, *(axis for word in words for axis in word))


def fuse_axes(ask: Asked, a: Layout, axes: Any, axis: str | None = None) -> Any:
    """With a number between the axes, the new one has to be named."""
    if axis is None and any(isinstance(part, int) for part in axes):
        written = ",".join(map(str, axes))
        raise misused("AXIS is missing: the axis that they become", f"such as {written} tx, as two words")
    return algebra.fuse_axes(a, axes, axis) if axis is not None else algebra.fuse_axes(a, axes)


# -- swizzles, listed maps, GF(2) ------------------------------------------------------------------


def recognise(ask: Asked, table: Any) -> Any:
    """Recognise a table or a function; a flat table counts as --dialect says."""
    from tilewise.notation.dialects.function import layout_of
    from tilewise.notation.formulas import Formula

    if isinstance(table, Formula):
        return layout_of(table, _shape_of(ask, table)).in_order(ask.order)
    return _listed(ask, table, algebra.recognise(table, *_kept(ask)))


def explanations(ask: Asked, table: Any) -> Any:
    """Return all layouts of a table or of a function."""
    from tilewise.notation.formulas import Formula

    if isinstance(table, Formula):
        table = table.listed(extents_of(_shape_of(ask, table)))
    return [_listed(ask, table, found.layout) for found in algebra.explanations(table, *_kept(ask))]


def _shape_of(ask: Asked, function: Formula[Axis]) -> Shape:
    """Return the shape on which a function is evaluated."""
    from tilewise.notation.dialects import Given

    if ask["shape"] is None:
        Given(function.source.text).needs_shape("a function of coordinates")
    return as_shape(ask["shape"])


def _kept(ask: Asked) -> tuple[Any, Any]:
    """Return the axes of a table's numbers, and the shape that is kept."""
    return ask["axes"] or [m], ask["shape"]


def _listed(ask: Asked, table: Any, found: Layout) -> Layout:
    nested = isinstance(table, list) and any(isinstance(row, list) for row in table)
    return found.in_order(ask.order) if nested or ask["shape"] else in_flat_order(found, ask.order)


def in_flat_order(layout: Layout, order: str) -> Layout:
    """Return the layout in an order, with the same place at every flat index."""
    return layout if layout.order == order else turned(layout)


def recognise_map(ask: Asked, a: Layout) -> Any:
    """Recognise the map of the flat index, over GF(2), with one swizzle or none."""
    return in_flat_order(algebra.recognise_map(a), a.order)


def from_bases(ask: Asked, bases: Any, origin: int = 0) -> Any:
    """Return the layout of bases, in the shape of --shape."""
    shape = ask["shape"]
    if ask.order != "row":
        shape = mirrored(shape)
    return in_flat_order(algebra.from_bases(bases, origin, shape), ask.order)


# -- the table -------------------------------------------------------------------------------------


_WIDE = "S[(8, 64) : (64, 1)]"

FAMILIES: dict[str, tuple[str, tuple[Operation, ...]]] = {
    "modes": (
        "the same map under another shape",
        (
            Operation(
                "coalesce",
                "LAYOUT",
                "neighbouring digits merged",
                ("S[(2, 4, 3) : (12, 3, 1)]",),
                options=("by_mode",),
            ),
            Operation(
                "flatten",
                "LAYOUT",
                "every digit a mode of its own",
                ("S[((4, 2), 8) : ((16, 8), 1)]",),
            ),
            Operation(
                "group",
                "LAYOUT SHAPE",
                "modes of these sizes, digits split and never merged",
                ("S[(6, 6) : (6, 1)]", "12,3"),
            ),
            Operation(
                "reshape",
                "LAYOUT SHAPE",
                "the same map in another shape; one extent may be -1",
                ("S[(4, 2, 2, 4) : (16, 4, 8, 1)]", "8,8"),
            ),
            Operation(
                "split",
                "LAYOUT MODE EXTENT...",
                "one mode as several",
                ("S[(64, 32) : (32, 1)]", "0", "4", "16"),
            ),
            Operation(
                "regroup",
                "LAYOUT MODES...",
                "modes bracketed, in their order",
                ("S[(4, 2, 8) : (1, 32, 4)]", "0,1", "2"),
                regroup,
            ),
            Operation(
                "permute",
                "LAYOUT ORDER",
                "modes in another order",
                ("S[(4, 8) : (8, 1)]", "1,0"),
            ),
            Operation(
                "refinement",
                "A B",
                "both maps over the coarsest shape that has the digits of both",
                ("S[(4, 6) : (1, 4)]", "S[(2, 12) : (1, 2)]"),
            ),
        ),
    ),
    "maps": (
        "one layout after another, parts and inverses",
        (
            Operation(
                "compose",
                "A TILER...",
                "A after B: x -> A(B(x)); several tilers go mode by mode, _ keeps one",
                ("S[(2, 6) : (2, 8)]", "S[(3, 4) : (1, 3)]"),
                compose,
                ("modes",),
            ),
            Operation(
                "slice",
                "LAYOUT REGION",
                "a region as one layout, or as an exact list of (box, layout)",
                ("S[(8, 8) : (8, 1)]", "2:6,3"),
                sliced,
                ("shape",),
                law="tilewise.core.algebra.slicing:slices",
            ),
            Operation(
                "left_inverse",
                "LAYOUT",
                "G with G(LAYOUT(x)) = x",
                ("S[(4, 8) : (1, 4)]",),
                options=("axes",),
                tells=inverse_modes,
            ),
            Operation(
                "right_inverse",
                "LAYOUT",
                "G with LAYOUT(G(i)) = i",
                ("S[(4, 8) : (1, 4)]",),
                options=("axes",),
                tells=inverse_modes,
            ),
            Operation(
                "quasi_inverse",
                "LAYOUT",
                "from a place to the smallest index that lives there",
                ("S[(4, 2, 8) : (8, 0, 1)]",),
                options=("axes",),
                tells=inverse_modes,
            ),
            Operation(
                "inverse",
                "LAYOUT",
                "left_inverse",
                ("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]",),
                lambda ask, a: algebra.left_inverse(a, ask["axes"]),
                ("axes",),
                law="tilewise.core.algebra:left_inverse",
                tells=inverse_modes,
            ),
            Operation(
                "complement",
                "LAYOUT [SIZE]",
                "what fills the rest of [0, SIZE) by moving LAYOUT",
                ("S[(2, 2) : (6, 1)]", "24"),
                complement,
                ("size", "weak", "round_up"),
            ),
        ),
    ),
    "divides": (
        "a layout as tiles of it, and which tile",
        (
            Operation(
                "logical_divide",
                "A TILER...",
                "(in a tile, which tile); several tilers go mode by mode, _ keeps one",
                ("S[(3, 2, 4) : (8, 1, 2)]", "S[4 : 2]"),
            ),
            Operation(
                "zipped_divide",
                "A TILER...",
                "((all modes in a tile), (which tile, all modes))",
                ("S[(8, 6) : (6, 1)]", "(4,3)"),
            ),
            Operation(
                "tiled_divide",
                "A TILER...",
                "((all modes in a tile), which tile, mode by mode)",
                ("S[(8, 6) : (6, 1)]", "(4,3)"),
            ),
            Operation(
                "flat_divide",
                "A TILER...",
                "(in a tile, mode by mode, which tile, mode by mode)",
                ("S[(8, 6) : (6, 1)]", "(4,3)"),
            ),
        ),
    ),
    "products": (
        "a layout repeated, in the order of another",
        (
            Operation(
                "logical_product",
                "A TILER...",
                "(A, its repetitions)",
                ("S[(2, 2) : (1, 4)]", "6"),
            ),
            Operation(
                "zipped_product",
                "A TILER...",
                "((A), (repetitions))",
                ("S[(2, 4) : (4, 1)]", "S[(3, 2) : (2, 1)]"),
            ),
            Operation(
                "tiled_product",
                "A TILER...",
                "((A), repetitions, mode by mode)",
                ("S[(2, 4) : (4, 1)]", "S[(3, 2) : (2, 1)]"),
            ),
            Operation(
                "flat_product",
                "A TILER...",
                "(A, mode by mode, repetitions, mode by mode)",
                ("S[(2, 4) : (4, 1)]", "S[(3, 2) : (2, 1)]"),
            ),
            Operation(
                "blocked_product",
                "A B",
                "mode by mode: blocks of A, side by side",
                ("S[(2, 5) : (5, 1)]", "S[(3, 4) : (1, 3)]"),
            ),
            Operation(
                "raked_product",
                "A B",
                "mode by mode: the elements of A dealt out",
                ("S[(2, 5) : (5, 1)]", "S[(3, 4) : (1, 3)]"),
            ),
            Operation(
                "tile_to_shape",
                "BLOCK SHAPE",
                "blocks up to a whole shape",
                (f"Swizzle<3,3,3> o {_WIDE}", "16,128"),
                options=("order",),
            ),
        ),
    ),
    "tiles": (
        "tiles and sums, side by side in every mode",
        (
            Operation(
                "tile",
                "OUTER INNER",
                "INNER again and again, where OUTER says, in steps of its span",
                ("S[(8, 8) : (8, 1)]", "S[(2, 3) : (3, 1)]"),
                note="OUTER is the first word, as in A (x) B of the paper; of the method inner.tile(outer)\n"
                "it is the argument. Products and tile_to_shape put what is repeated first.",
            ),
            Operation(
                "direct_sum",
                "A B",
                "A and B side by side, steps as they are",
                ("S[(2, 2) : (8, 2)]", "S[(2, 2) : (4, 1)]"),
            ),
        ),
    ),
    "widths": (
        "elements of another width",
        (
            Operation(
                "pack",
                "LAYOUT COUNT",
                "COUNT neighbouring elements as one",
                (f"Swizzle<3,3,3> o {_WIDE}", "4"),
                options=("axis",),
            ),
            Operation(
                "unpack",
                "LAYOUT COUNT",
                "every element as COUNT neighbouring ones",
                ("S[(8, 4) : (4@laneid, 1@laneid)] + 3@reg", "2"),
                options=("axis",),
            ),
            Operation(
                "recast",
                "LAYOUT OLD NEW",
                "the same bytes as elements of another dtype",
                (f"Swizzle<3,3,3> o {_WIDE}", "bf16", "f32"),
                options=("axis",),
            ),
        ),
    ),
    "places": (
        "axes: more, fewer, others",
        (
            Operation(
                "broadcast",
                "LAYOUT EXTENT [POSITION]",
                "a new mode along which nothing moves",
                ("S[(4, 2) : (2, 1)]", "3", "1"),
            ),
            Operation(
                "relabel",
                "LAYOUT NAMES",
                "axes renamed: OLD=NEW,...",
                ("S[(8, 4) : (4@laneid, 1@reg)]", "laneid=tx,reg=m"),
            ),
            Operation(
                "split_axis",
                "LAYOUT AXIS [INTO]",
                "one axis as two: HIGH,LOW of the known ones, or HIGH,N,LOW",
                ("S[(2, 64) : (64@tx, 1@tx)]", "tx", "warpid,laneid"),
            ),
            Operation(
                "fuse_axes",
                "LAYOUT AXES [AXIS]",
                "several axes as one: HIGH,LOW of the known ones, or HIGH,N,LOW and AXIS",
                ("S[(4, 32) : (1@warpid, 1@laneid)]", "warpid,laneid"),
                fuse_axes,
            ),
            Operation(
                "footprint",
                "LAYOUT AXES...",
                "what one owner holds: the layout without these axes",
                ("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]", "laneid"),
                footprint,
            ),
        ),
    ),
    "swizzles": (
        "swizzles, and layouts from listed maps",
        (
            Operation(
                "swizzle_chain",
                "LAYOUT",
                "the same map with the smallest swizzles on its places",
                ("Swizzle<3,3,3> o S[(4, 64) : (64, 1)]",),
            ),
            Operation(
                "recognise",
                "TABLE",
                "the layout, swizzled where it must be, that lists as TABLE: numbers, a .npy file, a lambda",
                ("[[0, 1, 2, 3], [5, 4, 7, 6]]",),
                recognise,
                ("shape", "axes"),
            ),
            Operation(
                "explanations",
                "TABLE",
                "all swizzled layouts that list as TABLE, the fewest bits first",
                ("[0, 1, 2, 3, 5, 4, 7, 6]",),
                explanations,
                ("shape", "axes"),
            ),
            Operation(
                "recognise_map",
                "LAYOUT",
                "the same map with at most one swizzle, where it is one of XORs",
                ("Swizzle<1,0,2> o Swizzle<1,1,2> o S[16 : 1]",),
                recognise_map,
            ),
        ),
    ),
    "gf2": (
        "layouts whose sums are XORs, as maps over GF(2)",
        (
            Operation(
                "bases",
                "LAYOUT",
                "what every bit of the flat index flips, axis by axis",
                ("S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]",),
            ),
            Operation(
                "from_bases",
                "BASES [ORIGIN]",
                "the layout of these bases: {axis: one number a bit}, or a list",
                ('{"laneid": [0, 1, 2], "reg": [1, 0, 0]}',),
                from_bases,
                ("shape",),
            ),
            Operation(
                "rank",
                "LAYOUT",
                "r, where the layout has 2^r places",
                ("S[(4, 2, 8) : (8, 0, 1)]",),
            ),
            Operation(
                "kernel",
                "LAYOUT",
                "a basis of the d for which x and x ^ d have one place",
                ("S[(4, 2, 8) : (8, 0, 1)]",),
            ),
        ),
    ),
    "facts": (
        "what is true of a map",
        (
            Operation(
                "canonical",
                "LAYOUT",
                "the same map without what has no effect",
                ("S[(1, 4, 2) : (7, 2, 1)] + R[(1, 2) : (3, -8)]",),
                lambda ask, a: a.canonical(),
                law="tilewise.core.canonical:canonical",
            ),
            Operation(
                "same",
                "A B",
                "whether both are one map, by flat index",
                ("S[(4, 4) : (4, 1)]", "S[16 : 1]"),
                lambda ask, a, b: a.same(b),
                law="tilewise.core.compare:same",
            ),
            _fact("injective", "whether no place is held by two elements", _WIDE),
            _fact(
                "disjoint_copies", "whether the copies of an element never coincide", "S[4 : 1] + R[2 : 4]"
            ),
            _fact("onto", "whether every place between min and max is taken", _WIDE, "holes"),
            _fact("holes", "how many places between min and max hold nothing", "S[(4, 3) : (4, 1)]"),
            _fact("contiguous", "whether element x is at base + x", _WIDE),
        ),
    ),
}
"""{family: (what it is about, its operations)}."""

OPERATIONS = {operation.name: operation for _, family in FAMILIES.values() for operation in family}
