"""How the operands of mma.sync come from shared memory, and how its results get there.

A tile of many instructions is moved by one form of ldmatrix or stmatrix, or by plain vectors, whichever
takes the fewest instructions. It is found by what the layout maps, however it is written: `forms`
chooses the registers, and proves that the form moves each byte of the tile to the lane that wants it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from tilewise.check.feeding.forms import Fill, Step, Vector, filled_by, filled_plainly
from tilewise.check.feeding.fragments import OPERANDS, Held, Instruction, held
from tilewise.check.feeding.tile import Fragment, Tile, tile_of
from tilewise.check.match import Mismatch, check_place
from tilewise.check.operand import Operand, Reader, Reason, Unreadable, operand_of
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout, as_layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.limits import REGISTER_BITS
from tilewise.hardware.matrices.forms import Form, forms
from tilewise.hardware.mma.instructions import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.nearest import Near

MMA = Reader(
    modes={name: f"[{', '.join(modes)}]" for name, modes in OPERANDS.items()},
    copies=("and a lane's address names one", "match the layout without R, one copy at a time"),
    axes="loads and stores of a warp reach bytes of shared memory, one storage axis",
    registers="the registers themselves are laid out by tilewise catalog mma.A, mma.B, mma.C and mma.D",
    bytes="an address counts bytes",
    bits="a register holds neighbours along K: lay {} out with K contiguous",
)


@dataclass(frozen=True)
class Feed:
    """A tile that a warp moves between shared memory and the registers of mma.sync.

    postcondition  the steps together move every byte of the tile once; of each step lane l's parts lie where
                   the layout has them, as the form places them from the addresses of all lanes
    """

    operand: str
    dtype: str
    bits: int
    """Of an element in memory and in registers: a type of 6 bits has 8."""
    shape: Shape
    form: Form | Vector
    steps: tuple[Step, ...] = field(repr=False)
    counts: tuple[int, int]
    """How many instructions there are down the rows and along the columns."""
    addresses: Layout = field(repr=False)
    """The byte address that each lane gives to the first step, over laneid: `addresses.place(lane)`."""
    fragment: Layout = field(repr=False)
    """Who holds which element of one instruction's part, over laneid and reg."""
    base: int = 0
    pattern: str = "tile"
    major: str | None = None
    """What the instruction is to say of A or B, where it takes both, as Volta's does: row or col."""
    reasons: tuple[Reason, ...] = field(default=(), repr=False)
    """Why no form of ldmatrix or stmatrix moves it, where vectors do."""
    question: Question | None = field(default=None, repr=False, compare=False)
    fill: Fill | None = field(default=None, repr=False, compare=False)
    """How the form's bits are those of the tile."""

    legal = True

    def __str__(self) -> str:
        verb = "to" if self.operand == "D" else "from"
        return f"{self.form}: {len(self.steps)} of them {verb} {self.addresses}"

    @property
    def trans(self) -> bool:
        """Whether the form transposes."""
        return self.form.trans

    @property
    def registers(self) -> int:
        """32-bit registers of a lane for the whole tile."""
        return sum(part.bytes for step in self.steps for part in step.parts) * 8 // REGISTER_BITS

    @property
    def alignment(self) -> int:
        """What every address must be a multiple of, and the tile's own with it."""
        return self.form.bits // 8 if isinstance(self.form, Vector) else 16

    @cached_property
    def nearest(self) -> tuple[Near, ...]:
        """The nearest layouts that matrices move, the cheapest first, where they take fewer instructions."""
        fewest = self.registers // 4
        if self.question is None or not self.reasons or len(self.steps) <= fewest:
            return ()
        return self.question.nearest(self.reasons)


@dataclass(frozen=True)
class Question:
    """What was asked, once the layout is understood as an operand."""

    layout: Layout
    operand: Operand
    instruction: Instruction
    held: Held
    """Who holds which element."""
    forms: tuple[Form, ...]
    """The forms that the architecture has, those that move most first."""
    plainly: bool = True
    """Whether vectors may move it."""
    packed: int = 0
    """Bits of an element in memory where ldmatrix unpacks them; the operand is then what it unpacks."""
    arch: Architecture | str | None = None
    form: str | None = None
    base: int = 0
    pattern: str = "tile"
    warps: tuple[int, int] = (1, 1)
    """How many warps share the rows, and how many the columns."""

    @property
    def folded(self) -> bool:
        """Whether the tile's address is in the layout, which then counts from address 0."""
        return self.pattern == "address" and self.base > 0

    @property
    def mover(self) -> str:
        """ldmatrix, or stmatrix for a result."""
        return mover(self.operand.name)

    @cached_property
    def fragment(self) -> Fragment:
        """The same in cells of whole bytes."""
        cells, elements = self.held.layout, self.operand.elements
        return Fragment(cells.pack(elements) if elements > 1 else cells, self.operand.size)

    def tile(self, operand: Operand | None = None) -> Tile | None:
        """The operand by who holds it; None where its digits do not divide into instructions."""
        operand = operand or self.operand
        if operand.rows % self.fragment.rows or operand.columns % self.fragment.columns:
            return None
        blocks = operand.blocks(self.fragment.rows)
        if blocks is None:
            return None
        counts = operand.rows // self.fragment.rows, operand.columns // self.fragment.columns
        if any(count % many for count, many in zip(counts, self.warps, strict=True)):
            return None
        if self.warps == (1, 1):
            return tile_of(operand, self.fragment, blocks)
        own = counts[0] // self.warps[0], counts[1] // self.warps[1]
        return tile_of(operand, self.fragment, blocks, own).shared_by(self.warps, counts)

    def by_matrices(self, tile: Tile) -> Fill | None:
        """The form that moves the tile in the fewest instructions."""
        nearer = "column" if self.operand.name in "CD" else "row"
        found = (filled_by(tile, form, nearer) for form in self.usable)
        return _fewest(fill for fill in found if fill)

    @property
    def usable(self) -> tuple[Form, ...]:
        """The forms that are tried: those that unpack, where elements are packed."""
        return tuple(form for form in self.forms if form.kind.stored == (self.packed or form.bits))

    def by_vectors(self, tile: Tile) -> Fill:
        """The widest vectors that move it."""
        unit = max(REGISTER_BITS, 8 * tile.size)
        return filled_plainly(tile, "st" if self.operand.name == "D" else "ld", unit)

    def nearest(self, reasons: tuple[Reason, ...]) -> tuple[Near, ...]:
        """The nearest layouts that matrices move, the cheapest first."""
        from tilewise.check.feeding.near import nearest

        return nearest(self, reasons)


def _fewest(fills: Iterable[Fill]) -> Fill | None:
    return min(fills, key=lambda fill: fill.count, default=None)


def feed(
    layout: Layout,
    *,
    operand: str,
    shape: Shape | str,
    dtype: DType | str,
    arch: Architecture | str | None = None,
    form: str | None = None,
    base: int = 0,
    pattern: str = "tile",
    warps: tuple[int, int] = (1, 1),
    sparse: bool = False,
    products: tuple[int, int] = (2, 2),
) -> Feed | Mismatch:
    """How a warp moves a tile of shared memory to the registers of mma.sync, or from them.

    The layout counts elements of `dtype`, or what its unit says, from the tile's address `base`; its swizzle
    counts from there as well, or with the pattern "address" from address 0. `form` asks for matrices,
    vectors, or one form such as x2 alone, and `arch` for what that architecture has. Where `warps` share the
    rows, and the columns, each has neighbouring instructions, and the steps are those of the first.

    A of a `sparse` mma.sp is what is stored of it, [M, K/2]. Volta's m8n8k4 computes four products, so many
    of them along M and along N as `products` says; the operands of the four lie in one tile.

        requires       operand is A [M, K], B [N, K], C or D [M, N], of any whole number of instructions
        postcondition  a Feed iff no two elements share a byte, all are in shared memory, and the form that
                       was asked for moves every byte between the tile and the lane that holds it

    >>> from tilewise import S, Swizzle
    >>> found = feed(Swizzle(3, 3, 3) @ S[(16, 64) : (64, 1)], operand="A", shape="m16n8k16", dtype="f16")
    >>> print(found.form, found.addresses, [step.xor for step in found.steps])
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 Swizzle<3,4,3> o S[(2, 16) : (16, 128)] [0, 32, 64, 96]
    >>> print(feed(S[(16, 16) : (18, 1)], operand="A", shape="m16n8k16", dtype="f16").form)
    ld.shared.b32
    """
    layout = by_coordinates(as_layout(layout))
    _check_operand(operand)
    check_place(base, pattern)
    this = Instruction(Shape.of(shape), sparse, products)
    try:
        asked = _asked(form, mover(operand), arch)
        ways = held(operand, this, DType.of(dtype), arch)
        questions = [_question(layout, operand, this, way, asked, base, pattern) for way in ways]
    except Unreadable as no:
        return Mismatch(no.reasons)
    except Refused as no:
        return Mismatch((Reason("type", no.reason, no.witness, no.hint),))
    answers = [_answer(replace(question, arch=arch, form=form, warps=warps)) for question in questions]
    fed = [answer for answer in answers if isinstance(answer, Feed)]
    return min(fed, key=lambda answer: len(answer.steps), default=answers[0])


def mover(operand: str) -> str:
    """What moves the matrices of an operand."""
    return "stmatrix" if operand == "D" else "ldmatrix"


def _answer(question: Question) -> Feed | Mismatch:
    """What becomes of one question."""
    from tilewise.check.feeding.why import impossible, why_no_matrices

    never = impossible(question)
    tile = question.tile()
    if never or tile is None:
        return Mismatch(never, question)
    by_matrices, by_vectors = question.by_matrices(tile), question.by_vectors(tile)
    if by_matrices and not (question.plainly and by_vectors.count < by_matrices.count):
        return _feed(question, by_matrices)
    reasons = why_no_matrices(question, tile, by_matrices, by_vectors)
    if not question.plainly:
        return Mismatch(reasons, question)
    return _feed(question, by_vectors, reasons)


def _check_operand(operand: str) -> None:
    if operand not in OPERANDS:
        raise LayoutError("TW601", f"{operand!r} is no operand of mma.sync", hint="known: A B C D")


def _feed(question: Question, fill: Fill, reasons: tuple[Reason, ...] = ()) -> Feed:
    operand, fragment = question.operand, question.fragment
    return Feed(
        operand.name,
        operand.row.name,
        operand.row.dtype.bits,
        question.instruction.shape,
        fill.form,
        tuple(fill.steps()),
        (operand.rows // fragment.rows, operand.columns // fragment.columns),
        fill.addresses,
        question.held.layout,
        question.base,
        question.pattern,
        question.held.major,
        reasons,
        question,
        fill,
    )


# -- the question --------------------------------------------------------------------------------------


def _question(
    layout: Layout,
    name: str,
    this: Instruction,
    way: Held,
    asked: tuple[tuple[Form, ...], bool],
    base: int,
    pattern: str,
) -> Question:
    spread = _spread(layout, name, way)
    operand = operand_of(layout if spread is None else spread, name, way.element, MMA, base, pattern)
    wanted, plainly = asked
    question = Question(layout, operand, this, way, wanted, plainly, base=base, pattern=pattern)
    return question if spread is None else replace(question, packed=way.bits, plainly=False)


def _spread(layout: Layout, name: str, way: Held) -> Layout | None:
    """The layout of elements that ldmatrix unpacks with a byte for each; None of others."""
    from tilewise.check.feeding.packed import unpacked

    small = way.bits < way.element.dtype.bits and name in "AB"
    if not small or layout.unit != "bit" or len(extents_of(layout.shape)) != 2 or layout.replica:
        return None
    return unpacked(layout, way.bits)


def _asked(
    form: str | None, instruction: str, arch: Architecture | str | None
) -> tuple[tuple[Form, ...], bool]:
    """The forms to try, and whether vectors may do instead."""
    if form == "vectors":
        return (), True
    if form in (None, "matrices", instruction):
        known = [one for one in forms(instruction) if has(one, arch)]
        return tuple(sorted(known, key=lambda one: (-one.registers, one.trans))), form is None
    return (_wanted(Form.of(instruction, str(form)), arch),), False


def _wanted(form: Form, arch: Architecture | str | None) -> Form:
    """The one form that was asked for, where the architecture has it."""
    needs = form.kind.needs
    if arch is not None and not needs.met(arch):
        raise Refused(
            "TW602",
            f"{Architecture.of(arch)} has no {form}",
            witness={"form": str(form), "arch": str(arch)},
            hint=f"it is of {needs}",
        )
    return form


def has(form: Form, arch: Architecture | str | None) -> bool:
    """Whether an architecture has a form; without one, whether all later than some have, or it unpacks.

    >>> has(Form("stmatrix", 4), "sm_80"), has(Form("stmatrix", 4), None)
    (False, True)
    """
    needs = form.kind.needs
    unpacks = form.kind.stored != form.bits
    return unpacks or needs.since is not None if arch is None else needs.met(arch)


__all__ = ["Feed", "feed"]
