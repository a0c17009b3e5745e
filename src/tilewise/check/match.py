"""Whether an engine reads a tile of shared memory, and how: through descriptors, or mma.sync by its warp.

`match` asks any of them. Of an engine with descriptors it gives these, or why none reads the tile and what is
nearest.

A tile is recognised by what it maps, however it is written: from a few addresses follows the only descriptor
that may read it, and `same` proves that it does, part by part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import overload

from tilewise.check.fitting import Fit, fits
from tilewise.check.grouped import with_groupings
from tilewise.check.operand import Operand, Reason, Unreadable, known_hint, operand_of, pair_notes, reader_of
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout, as_layout
from tilewise.core.orders import by_coordinates
from tilewise.hardware.engines import ENGINES as WITH_DESCRIPTORS
from tilewise.hardware.engines import engine as engine_of
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.operands.majors import MAJORS, check_operand
from tilewise.hardware.operands.stepping import PATTERNS, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from tilewise.check.feeding import Feed
    from tilewise.check.nearest import Near
    from tilewise.hardware.engines import Descriptor, Engine, Intake, Shape

ENGINES = (*WITH_DESCRIPTORS, "mma")


@dataclass(frozen=True)
class Match:
    """A tile that an engine reads through descriptors.

    postcondition  for every step, `reads(step.descriptor, ...)` places each element of the step's part of
                   [rows, K] where the layout has it, at `base` and more
    """

    operand: str
    dtype: str
    mode: Mode
    major: str
    lbo: int | None
    """Bytes; None where the field is ignored or free, and where each step has its own."""
    sbo: int | None
    ignored: tuple[str, ...]
    instruction: Shape
    """(m, n, k); None for what the other operand says, where it was not asked."""
    steps: tuple[Step[Any], ...] = field(repr=False)
    base: int = 0
    pattern: str = "tile"
    engine: str = "wgmma"
    product: str = ""
    """What reads it, in words, where that is more than the engine's name."""
    lbo_mode: str = "relative"
    """relative, or absolute: LBO is an address, and each step has its own."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What the instructions were asked for, their sizes aside."""
    notes: tuple[str, ...] = ()

    legal = True

    def __str__(self) -> str:
        fields = {name: getattr(self, name) for name in ("lbo", "sbo")}
        lacking = {name: "ignored" if name in self.ignored else "by step" for name in fields}
        said = ", ".join(
            f"{name} {lacking[name] if value is None else value}" for name, value in fields.items()
        )
        return f"{self.mode}, {self.major}-major, {said}: {self.value:#018x}, {len(self.steps)} steps"

    @property
    def descriptor(self) -> Descriptor:
        """The descriptor of the first step."""
        found: Descriptor = self.steps[0].descriptor
        return found

    @property
    def value(self) -> int:
        """Its 64 bits."""
        return self.descriptor.value

    @property
    def trans(self) -> int:
        """The transpose bit of the operand: 0 for K-major, 1 for MN-major."""
        return MAJORS.index(self.major)

    @property
    def k_steps(self) -> int:
        """How many instructions go along K."""
        return 1 + max(step.k for step in self.steps)

    @property
    def mn_steps(self) -> int:
        """How many go down the rows."""
        return 1 + max(step.mn for step in self.steps)

    @property
    def alignment(self) -> int:
        """What the tile's address must be a multiple of for base offset 0."""
        return CHUNK if self.pattern == "address" else self.mode.period


@dataclass(frozen=True)
class Mismatch:
    """A tile that an engine does not take: why, and the nearest ones that it does."""

    reasons: tuple[Reason, ...]
    question: Any = field(default=None, repr=False, compare=False)
    """What was asked, for `nearest`: None where the layout is no operand at all."""
    order: str = "row"
    """The order in which the tile was given."""

    legal = False

    def __str__(self) -> str:
        return "\n".join(f"{reason.rule}: {reason.message}" for reason in self.reasons)

    @cached_property
    def nearest(self) -> tuple[Near, ...]:
        """The nearest layouts that work, the cheapest first."""
        found = self.question.nearest(self.reasons) if self.question else ()
        return tuple([replace(near, layout=near.layout.in_order(self.order)) for near in found])


@dataclass(frozen=True)
class Question:
    """What was asked, once the layout is understood as an operand."""

    engine: Engine
    layout: Layout
    operand: Operand
    intake: Intake
    """What the instructions that were asked for take of the operand."""
    free: Intake
    """The same without a size that was asked for."""
    majors: tuple[str, ...]
    options: Mapping[str, Any]
    """What was asked of the instruction, sizes aside."""
    said: tuple[Reason, ...] = ()
    """What was asked for and no instruction has."""
    folded: bool = False
    """Whether the tile's address is in the layout, which then counts from address 0."""

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of one instruction that divide the tile, the most first."""
        return instruction_rows(self.operand, self.intake)

    @property
    def any_size(self) -> Question:
        """The same question without a size that was asked for."""
        return replace(self, intake=self.free)

    def fit(self, operand: Operand | None = None, majors: tuple[str, ...] | None = None) -> Fit | None:
        """The fit of the operand, or of another in its place."""
        operand = operand or self.operand
        if operand.rows * operand.columns * operand.size > self.engine.limit:
            return None
        rows = instruction_rows(operand, self.intake)
        return fits(self.engine, self.intake, operand, rows, majors or self.majors)

    def nearest(self, reasons: tuple[Reason, ...]) -> tuple[Near, ...]:
        """The nearest layouts that work, the cheapest first."""
        from tilewise.check.nearest import nearest

        return nearest(self, reasons)


def instruction_rows(operand: Operand, intake: Intake) -> tuple[int, ...]:
    """Rows of one instruction that divide the operand's, the most first; none where K does not divide."""
    if operand.columns % operand.k:
        return ()
    return tuple(rows for rows in reversed(intake.rows) if operand.rows % rows == 0)


@overload
def match(
    layout: Layout,
    *,
    engine: Literal["wgmma", "tcgen05"] = "wgmma",
    operand: str,
    dtype: DType | str,
    major: str | None = None,
    n: int | None = None,
    base: int = 0,
    pattern: str = "tile",
    **asked: Any,
) -> Match | Mismatch: ...


@overload
def match(
    layout: Layout,
    *,
    engine: str,
    operand: str,
    dtype: DType | str,
    major: str | None = None,
    n: int | None = None,
    base: int = 0,
    pattern: str = "tile",
    **asked: Any,
) -> Match | Feed | Mismatch: ...


def match(
    layout: Layout,
    *,
    engine: str = "wgmma",
    operand: str,
    dtype: DType | str,
    major: str | None = None,
    n: int | None = None,
    base: int = 0,
    pattern: str = "tile",
    **asked: Any,
) -> Match | Feed | Mismatch:
    """Whether an engine reads a tile [rows, K] of shared memory, and with which descriptors.

    The layout counts elements of `dtype`, or what its unit says, from the tile's address `base`. Its swizzle
    counts from there as well, or with the pattern "address" from address 0, as TMA's does. Of several sizes
    of the instruction the largest is taken that reads the tile.

    Of the engine tcgen05 `asked` are kind, m, cta_group, sparse, ws, k, lbo_mode and atomicity, and the tile
    is that of one CTA: of a pair each has half of the rows of A and of B.

    Of the engine mma it tells how a warp moves the tile to its registers, or from them: `asked` is what
    `tilewise.check.feeding.feed` takes, `shape` always, and `arch` or `form`.

        requires       operand is A [M, K] or B [N, K]
        postcondition  a Match iff no two elements share a byte, all are in shared memory, and descriptors
                       of one mode, major, LBO and SBO read every element where the layout has it
        not decided    whether two elements of so many share a byte, or `same` of so many

    >>> from tilewise import S, Swizzle
    >>> found = match(Swizzle(3, 3, 3) @ S[(128, 64) : (64, 1)], operand="B", dtype="bf16")
    >>> found.mode.name, found.major, found.lbo, found.sbo, hex(found.value), found.instruction
    ('128B', 'k', None, 1024, '0x4000004000010000', (64, 128, 16))
    >>> [step.bytes for step in found.steps]
    [0, 32, 64, 96]
    >>> print(found)
    128B, k-major, lbo ignored, sbo 1024: 0x4000004000010000, 4 steps
    >>> print(match(S[(128, 64) : (64, 1)], operand="B", dtype="bf16"))
    no-swizzle: rows are 128 B apart, as in 128B mode, but the addresses are not swizzled
    """
    if engine == "mma":
        _check_absent("mma", {"major": major, "n": n})

        def ask(tile: Layout) -> Match | Feed | Mismatch:
            return _fed(tile, operand=operand, dtype=dtype, base=base, pattern=pattern, **asked)

    else:
        _check_names(engine, operand, major, base, pattern)
        of = engine_of(engine)
        _check_absent(engine, {name: value for name, value in asked.items() if name not in of.options})
        known = {name: value for name, value in {"n": n, **asked}.items() if name in of.options}
        options = {name: value for name, value in known.items() if value is not None}

        def ask(tile: Layout) -> Match | Feed | Mismatch:
            return _read(of, tile, operand, dtype, major, base, pattern, options)

    order = as_layout(layout).order
    layout = by_coordinates(layout)
    found = ask(layout)
    if not isinstance(found, Mismatch):
        return found
    found = replace(found, order=order)
    if found.reasons[0].rule != "rank":
        return found
    return with_groupings(found, layout, lambda tile: bool(ask(tile).legal))


def _read(
    engine: Engine,
    layout: Layout,
    operand: str,
    dtype: DType | str,
    major: str | None,
    base: int,
    pattern: str,
    options: Mapping[str, Any],
) -> Match | Mismatch:
    """What an engine makes of a tile."""
    try:
        question = _question(engine, layout, operand, dtype, major, base, pattern, options)
    except Unreadable as no:
        return Mismatch(no.reasons)
    from tilewise.check.diagnose import overlap, past_the_end, shape_reasons

    shape = shape_reasons(question)
    shared = overlap(question.operand)
    fit = None if question.said or shape or shared else question.fit()
    if fit is not None:
        bool(question.operand.layout.injective)  # NotDecided, where that is open
        beyond = past_the_end(engine, question.operand)
        if beyond is not None:
            return Mismatch((beyond,), question)
        return replace(_matched(question, fit), base=base, pattern=pattern)
    from tilewise.check.diagnose import diagnose

    return Mismatch(diagnose(question, shape, shared), question)


def _fed(layout: Layout, **asked: Any) -> Feed | Mismatch:
    """How mma.sync is fed with a tile."""
    from tilewise.check.feeding import feed

    if asked.get("shape") is None:
        raise LayoutError("TW601", "mma has many shapes, and none was said", hint='such as shape="m16n8k16"')
    return feed(layout, **asked)


def _check_absent(engine: str, asked: Mapping[str, Any]) -> None:
    """Refuse what is asked of another engine."""
    for name, value in asked.items():
        if value:
            owners = (own for own in WITH_DESCRIPTORS if name in engine_of(own).options)
            other = "" if engine == "mma" else f', or ask engine="{next(owners, "mma")}"'
            raise LayoutError("TW601", f"{engine} is not asked for {name}", hint=f"leave {name} out{other}")


def _check_names(engine: str, operand: str, major: str | None, base: int, pattern: str) -> None:
    """Refuse names that nothing has, and addresses that are none."""
    check_operand(operand)
    for name, known, what in (
        (engine, ENGINES, "engine that match knows"),
        (major, (None, *MAJORS), "major direction"),
    ):
        if name not in known:
            hint = known_hint(name, filter(None, known))
            raise LayoutError("TW601", f"{name!r} is no {what}", hint=hint)
    check_place(base, pattern)


def check_place(base: int, pattern: str) -> None:
    """Refuse addresses that are none, and patterns that start nowhere."""
    if pattern not in PATTERNS:
        raise LayoutError(
            "TW601", f"{pattern!r} is no origin of a pattern", hint="known: " + " ".join(PATTERNS)
        )
    if as_int(base, "a base") < 0:
        raise LayoutError("TW604", f"a base of {base} is no address", hint="addresses are 0 and more")


def _question(
    engine: Engine,
    layout: Layout,
    name: str,
    dtype: DType | str,
    major: str | None,
    base: int,
    pattern: str,
    options: Mapping[str, Any],
) -> Question:
    general = {name: value for name, value in options.items() if name not in engine.sizes}
    try:
        intake = free = engine.intake(dtype, name, **general)
    except Refused as no:
        raise Unreadable(Reason("type", no.reason, no.witness, no.hint)) from None
    intake, said = _sized(engine, dtype, name, general, options)
    if major is not None and major not in intake.majors:
        witness = {"dtype": intake.name, "major": major}
        said.append(Reason("major-type", intake.no_major[0], witness, intake.no_major[1]))
        major = None
    majors = intake.majors if major is None else (major,)
    operand = operand_of(layout, name, intake, reader_of(engine), base, pattern)
    folded = pattern == "address" and base > 0
    return Question(engine, layout, operand, intake, free, majors, general, tuple(said), folded)


def _sized(
    engine: Engine, dtype: DType | str, operand: str, general: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[Intake, list[Reason]]:
    """The intake with the sizes that were asked for, one after another, and why some are passed over."""
    taken, said = dict(general), []
    for name in engine.sizes:
        if name in options:
            try:
                engine.intake(dtype, operand, **taken, **{name: options[name]})
            except Refused as no:
                said.append(Reason(name, no.reason, no.witness, no.hint))
            else:
                taken[name] = options[name]
    return engine.intake(dtype, operand, **taken), said


def _matched(question: Question, fit: Fit) -> Match:
    form, first = fit.form, fit.descriptor
    ignored = form.ignored
    return Match(
        question.operand.name,
        question.operand.row.name,
        form.mode,
        form.major,
        None if "lbo" in ignored or form.absolute else first.lbo,
        None if "sbo" in ignored else first.sbo,
        ignored,
        question.intake.shape(form.rows),
        tuple(
            Step(part.mn, part.k, part.descriptor.start - first.start, part.descriptor) for part in fit.parts
        ),
        engine=question.engine.name,
        product=question.intake.product,
        lbo_mode="absolute" if form.absolute else "relative",
        asked=question.options,
        notes=pair_notes(question.intake, question.operand.rows, form.rows),
    )


__all__ = ["Match", "Mismatch", "match"]
