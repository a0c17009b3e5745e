"""The moves of mma.sync's operands from shared memory, and of its results to it.

A tile of many instructions is moved by one form of ldmatrix or stmatrix, or by plain vectors, whichever takes
the fewest instructions. The search depends on the map alone, not on how the layout is written. `fill` chooses
the registers, and proves that the form moves each byte of the tile to the lane that wants it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from tilewise.check.feeding.forms import (
    WARPGROUP,
    Fill,
    Fragment,
    Step,
    Tile,
    Vector,
    filled_by,
    filled_plainly,
    tile_of,
)
from tilewise.check.feeding.fragments import Held, Instruction, held
from tilewise.check.operand import (
    OPERANDS,
    Mismatch,
    Reason,
    SharedTile,
    Unreadable,
    cells_of,
    check_place,
)
from tilewise.core.digits import halves, merged
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout, as_layout
from tilewise.core.orders import by_coordinates
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.limits import REGISTER_BITS
from tilewise.hardware.matrices.forms import Form, forms
from tilewise.hardware.mma.instructions import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.operand import Near

__all__ = ["Feed", "feed"]

MMA = ("reg", "the registers themselves are laid out by tilewise catalog mma.A, mma.B, mma.C and mma.D")
"""The other storage of mma.sync's operands, and the advice for a layout of it."""

MOVERS = {"D": "stmatrix"}
"""{operand: the instruction that moves its matrices}; ldmatrix moves the others'."""

WGMMA = Shape(64, 8, 16)
"""The part of a wgmma's D that repeats along N."""

TOGETHER = 16
"""Elements of 4 or 6 bits that ldmatrix unpacks from the start of 16 bytes."""


@dataclass(frozen=True)
class Feed:
    """A tile that a warp moves between shared memory and the registers of mma.sync.

    postcondition  the steps together move every byte of the tile once; of each step lane l's parts lie where
                   the layout has them, as the form places them from the addresses of all lanes
    """

    operand: str
    dtype: str
    bits: int
    """The bits of an element in memory and in registers: 8 for a type of 6 bits."""
    shape: Shape
    form: Form | Vector
    steps: tuple[Step, ...] = field(repr=False)
    counts: tuple[int, int]
    """The numbers of instructions down the rows and along the columns."""
    addresses: Layout = field(repr=False)
    """The byte address that each lane gives to the first step, over laneid: `addresses.place(lane)`."""
    fragment: Layout = field(repr=False)
    """The lane and register of each element of one instruction's part, over laneid and reg."""
    base: int
    pattern: str
    major: str | None
    """The qualifier of A or B, row or col, where the instruction takes both, as Volta's does."""
    reasons: tuple[Reason, ...] = field(repr=False)
    """The reasons why no form of ldmatrix or stmatrix moves it, where vectors do."""
    question: Question = field(repr=False, compare=False)
    fill: Fill = field(repr=False, compare=False)
    """The form with the digits of the tile that it moves."""

    legal = True

    def __str__(self) -> str:
        verb = "to" if self.operand == "D" else "from"
        return f"{self.form}: {len(self.steps)} of them {verb} {self.addresses}"

    @property
    def trans(self) -> bool:
        """Return True if the form transposes."""
        return self.form.trans

    @property
    def registers(self) -> int:
        """Return the number of 32-bit registers of a lane for the whole tile."""
        return sum(part.bytes for step in self.steps for part in step.parts) * 8 // REGISTER_BITS

    @property
    def alignment(self) -> int:
        """Return the number that divides every address, and the tile's address with it."""
        return self.form.bits // 8 if isinstance(self.form, Vector) else 16

    @property
    def folded(self) -> bool:
        """Return True if the layout includes the tile's address: it then counts from address 0."""
        return self.pattern == "address" and self.base > 0

    @cached_property
    def nearest(self) -> tuple[Near, ...]:
        """Return the nearest layouts that matrices move, the cheapest first, where they take fewer
        instructions.
        """
        fewer = self.reasons and len(self.steps) > self.registers // 4
        return _nearest(self.question, self.reasons) if fewer else ()


@dataclass(frozen=True)
class Question:
    """A question about a layout that is known to be an operand."""

    layout: Layout
    cells: SharedTile
    instruction: Instruction
    held: Held
    """The lane and register of each element."""
    forms: tuple[Form, ...]
    """The forms of the architecture, those that move most first."""
    plainly: bool = True
    """True if vectors may move the tile."""
    packed: int = 0
    """Bits of an element in memory where ldmatrix unpacks it; the operand is then the unpacked one."""
    arch: Architecture | str | None = None
    form: str | None = None
    warps: tuple[int, int] = (1, 1)
    """The numbers of warps that share the rows, and the columns."""

    @property
    def mover(self) -> str:
        """Return "ldmatrix", or "stmatrix" for a result."""
        return MOVERS.get(self.cells.name, "ldmatrix")

    @cached_property
    def fragment(self) -> Fragment:
        """Return the lane and register of each cell of whole bytes."""
        cells, elements = self.held.layout, self.cells.elements
        return Fragment(cells.pack(elements) if elements > 1 else cells, self.cells.size)

    def tile(self, cells: SharedTile | None = None) -> Tile | None:
        """Return the operand as a tile of lanes' bytes; None where its digits do not divide into
        instructions.
        """
        return tile_of(cells or self.cells, self.fragment, self.warps, self.instruction.group)

    @property
    def whole(self) -> tuple[int, int]:
        """Return the rows of one instruction, and the cells of a row."""
        rows, columns = self.fragment.shape
        return rows * (WARPGROUP if self.instruction.group else 1), columns

    @property
    def usable(self) -> tuple[Form, ...]:
        """Return the forms to try: where elements are packed, those that unpack."""
        return tuple(form for form in self.forms if form.kind.stored == (self.packed or form.bits))

    def by_matrices(self, tile: Tile | None) -> Fill | None:
        """Return the form that moves the tile in the fewest instructions."""
        nearer = "column" if self.cells.name in "CD" else "row"
        found = [filled_by(tile, form, nearer) for form in self.usable] if tile else []
        return min((fill for fill in found if fill), key=lambda fill: fill.count, default=None)

    def by_vectors(self, tile: Tile) -> Fill:
        """Return the widest vectors that move it."""
        return filled_plainly(
            tile, "st" if self.cells.name == "D" else "ld", max(REGISTER_BITS, 8 * tile.cells.size)
        )


def feed(
    layout: Layout,
    *,
    operand: str,
    shape: Shape | str | None = None,
    dtype: DType | str,
    arch: Architecture | str | None = None,
    form: str | None = None,
    base: int = 0,
    pattern: str = "tile",
    warps: tuple[int, int] = (1, 1),
    sparse: bool = False,
    products: tuple[int, int] = (2, 2),
    group: bool = False,
) -> Feed | Mismatch:
    """Return the moves of a warp between a tile of shared memory and the registers of mma.sync.

    The layout counts elements of `dtype`, or its unit, from the tile's address `base`. Its swizzle counts
    from there as well, or with the pattern "address" from address 0. `form` allows only matrices, vectors, or
    one form such as x2; `arch` allows only the forms of that architecture. Where `warps` share the rows, and
    the columns, each has neighbouring instructions. The steps returned are those of the first warp.

    A of a `sparse` mma.sp is its stored part, [M, K/2]. Volta's m8n8k4 computes four products, `products` of
    them along M and along N; their operands lie in one tile. With `group`, D is that of wgmma, and the
    addresses are those of the warpgroup's 128 threads.

        requires       operand is A [M, K], B [N, K], C or D [M, N], of any whole number of instructions
        postcondition  a Feed iff no two elements share a byte, all are in shared memory, and the given form
                       moves every byte between the tile and the lane that holds it

    >>> from tilewise import S, Swizzle
    >>> found = feed(Swizzle(3, 3, 3) @ S[(16, 64) : (64, 1)], operand="A", shape="m16n8k16", dtype="f16")
    >>> print(found.form, found.addresses, [step.xor for step in found.steps])
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 Swizzle<3,4,3> o S[(2, 16) : (16, 128)] [0, 32, 64, 96]
    >>> print(feed(S[(16, 16) : (18, 1)], operand="A", shape="m16n8k16", dtype="f16").form)
    ld.shared.b32
    """
    layout = by_coordinates(as_layout(layout))
    if operand not in OPERANDS:
        raise LayoutError("TW601", f"{operand!r} is no operand of mma.sync", hint="known: A B C D")
    check_place(base, pattern)
    if shape is None and not group:
        raise LayoutError(
            "TW601", "mma has many shapes, and the call names none", hint='such as shape="m16n8k16"'
        )
    this = Instruction(WGMMA if shape is None else Shape.of(shape), sparse, products, group)
    answers = []
    try:
        wanted, plainly = _asked(form, MOVERS.get(operand, "ldmatrix"), arch)
        for way in held(operand, this, DType.of(dtype), arch):
            spread = _unpacked(layout, operand, way)
            cells = cells_of(layout if spread is None else spread, operand, way.element, MMA, base, pattern)
            packed = 0 if spread is None else way.bits
            plain = plainly and not packed
            question = Question(layout, cells, this, way, wanted, plain, packed, arch, form, warps)
            answers.append(_answer(question, base, pattern))
    except Unreadable as no:
        return Mismatch(no.reasons)
    except Refused as no:
        return Mismatch((Reason.of("type", no),))
    fed = [answer for answer in answers if isinstance(answer, Feed)]
    return min(fed, key=lambda answer: len(answer.steps), default=answers[0])


def _answer(question: Question, base: int, pattern: str) -> Feed | Mismatch:
    """Return the answer to one question."""
    from tilewise.check.feeding.why import impossible, why_no_matrices

    cells, (rows, columns) = question.cells, question.whole
    reasons, fill = impossible(question), None
    if not reasons:
        tile = question.tile()
        assert tile is not None
        by_matrices, by_vectors = question.by_matrices(tile), question.by_vectors(tile)
        fill = by_matrices
        if fill is None or (question.plainly and by_vectors.count < fill.count):
            reasons = why_no_matrices(question, tile, by_matrices, by_vectors)
            fill = by_vectors if question.plainly else None
    if fill is None:
        return Mismatch(reasons, partial(_nearest, question, reasons), pattern == "address" and base > 0)
    return Feed(
        operand=cells.name,
        dtype=cells.row.name,
        bits=cells.row.dtype.bits,
        shape=question.instruction.shape,
        form=fill.form,
        steps=tuple(fill.steps()),
        counts=(cells.rows // rows, cells.columns // columns),
        addresses=fill.addresses,
        fragment=question.held.layout,
        base=base,
        pattern=pattern,
        major=question.held.major,
        reasons=reasons,
        question=question,
        fill=fill,
    )


def _nearest(question: Question, reasons: tuple[Reason, ...]) -> tuple[Near, ...]:
    from tilewise.check.feeding.why import nearest

    return nearest(question, reasons)


# -- the question --------------------------------------------------------------------------------------


def _unpacked(layout: Layout, name: str, way: Held) -> Layout | None:
    """Return the layout of elements of 4 or 6 bits that ldmatrix unpacks, with a byte for each.

    In registers each element has a byte. If T places sixteen of them at a + 4 x bits (or 6 x), the returned
    layout places them at a + x bytes, in rows of 16 bytes. The same forms move both layouts: every row starts
    at the same byte, and each lane gets the same elements.

    >>> from tilewise import S
    >>> packed = S[(8, (2, 16)) : (256, (128, 4))].counted("bit")
    >>> (way,) = held("B", Instruction(Shape.of("m16n8k32")), DType.of("e2m1"), "sm_120a")
    >>> print(_unpacked(packed, "B", way))
    S[(8, (2, 16)) : (32, (16, 1))]
    """
    small = way.bits < way.element.dtype.bits and name in "AB"
    if not small or layout.unit != "bit" or len(layout.shape) != 2 or layout.replica:
        return None
    try:
        cells = cells_of(layout.counted("byte"), name, replace(way.element, dtype=DType.of("b8")), MMA)
    except Unreadable:
        return None
    for mode in (1, 0):
        digits = [*cells.digits]
        parts = halves(digits[mode], TOGETHER)
        if parts is not None and merged(parts[1]) == [(TOGETHER, way.bits)]:
            digits[mode] = [*parts[0], (TOGETHER, 8)]
            spread = replace(cells, digits=(digits[0], digits[1])).scaled(1, 8)
            return None if spread is None else spread.layout()
    return None


def _asked(
    form: str | None, instruction: str, arch: Architecture | str | None
) -> tuple[tuple[Form, ...], bool]:
    """Return the forms to try, and True if vectors may replace them."""
    if form == "vectors":
        return (), True
    if form in (None, "matrices", instruction):
        known = [one for one in forms(instruction) if has(one, arch)]
        return tuple(sorted(known, key=lambda one: (-one.registers, one.trans))), form is None
    wanted = Form.of(instruction, str(form))
    needs = wanted.kind.needs
    if arch is not None and not needs.met(arch):
        witness = {"form": str(wanted), "arch": str(arch)}
        raise Refused(
            "TW602", f"{Architecture.of(arch)} has no {wanted}", witness=witness, hint=f"it is of {needs}"
        )
    return (wanted,), False


def has(form: Form, arch: Architecture | str | None) -> bool:
    """Return True if an architecture has a form; without an architecture, True for a form of all later ones,
    or one that unpacks.

    >>> has(Form("stmatrix", 4), "sm_80"), has(Form("stmatrix", 4), None)
    (False, True)
    """
    needs = form.kind.needs
    unpacks = form.kind.stored != form.bits
    return unpacks or needs.since is not None if arch is None else needs.met(arch)
