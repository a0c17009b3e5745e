"""Decide whether an engine reads a tile of shared memory: through descriptors, or mma.sync by its warp.

`match` takes any of these engines. For an engine with descriptors it returns them, or the reasons why no
descriptor reads the tile, and the nearest tiles.

A tile is recognised by its map, not by its spelling: as the fewest digits of its bytes, grouped to the
engine's template. The strides that the template leaves free are the fields of the descriptor.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from tilewise.check.diagnose import diagnose, far_beyond, past_the_end, shape_reasons
from tilewise.check.fitting import Question
from tilewise.check.nearest import nearest
from tilewise.check.operand import (
    Mismatch,
    Reason,
    Unreadable,
    cells_of,
    check_place,
    known_hint,
    overlap,
    pair_notes,
)
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout, as_layout
from tilewise.core.orders import by_coordinates
from tilewise.hardware.engines import ENGINES as WITH_DESCRIPTORS
from tilewise.hardware.engines import engine as engine_of
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.operands.stepping import Step
from tilewise.hardware.operands.template import MAJORS, check_operand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tilewise.check.feeding import Feed
    from tilewise.hardware.engines import Engine, MatrixDescriptor, Shape

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
    """Bytes; None where the field is ignored or free, or where each step has its own."""
    sbo: int | None
    ignored: tuple[str, ...]
    instruction: Shape
    """(m, n, k); None for a size of the other operand that the user did not give."""
    steps: tuple[Step[Any], ...] = field(repr=False)
    base: int
    pattern: str
    engine: str
    product: str
    """The instruction that reads it, in words, where that is more than the engine's name."""
    lbo_mode: str
    """"relative", or "absolute": then LBO is an address, and each step has its own."""
    asked: Mapping[str, Any]
    """The options of the instructions, their sizes aside."""
    notes: tuple[str, ...]

    legal = True

    def __str__(self) -> str:
        words = [
            f"{name} {'ignored' if name in self.ignored else 'by step' if value is None else value}"
            for name, value in (("lbo", self.lbo), ("sbo", self.sbo))
        ]
        fields, steps = ", ".join(words), len(self.steps)
        return f"{self.mode}, {self.major}-major, {fields}: {self.value:#018x}, {steps} steps"

    @property
    def descriptor(self) -> MatrixDescriptor:
        """Return the descriptor of the first step."""
        found: MatrixDescriptor = self.steps[0].descriptor
        return found

    @property
    def value(self) -> int:
        """Return the descriptor's 64 bits."""
        return self.descriptor.value

    @property
    def trans(self) -> int:
        """Return the transpose bit of the operand: 0 for K-major, 1 for MN-major."""
        return MAJORS.index(self.major)

    @property
    def k_steps(self) -> int:
        """Return the number of instructions along K."""
        return 1 + max(step.k for step in self.steps)

    @property
    def mn_steps(self) -> int:
        """Return the number of instructions down the rows."""
        return 1 + max(step.mn for step in self.steps)

    @property
    def alignment(self) -> int:
        """Return the number that must divide the tile's address for base offset 0."""
        return CHUNK if self.pattern == "address" else self.mode.period


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
    """Return the descriptors by which an engine reads a tile [rows, K] of shared memory, or why none does.

    The layout counts elements of `dtype`, or its unit, from the tile's address `base`. Its swizzle counts
    from there as well, or with the pattern "address" from address 0, as TMA's does. The largest size of the
    instruction that reads the tile is taken.

    For tcgen05, `asked` may have kind, m, cta_group, sparse, ws, k, lbo_mode and atomicity. The tile is that
    of one CTA: each CTA of a pair has half of the rows of A and of B.

    For D of wgmma the answer is the store from a warpgroup's registers: by stmatrix, or by plain vectors.

    For mma the answer is the move between the tile and a warp's registers. `asked` has the arguments of
    `tilewise.check.feeding.feed`: always `shape`, and `arch` or `form`.

        requires       operand is A [M, K] or B [N, K]
        postcondition  a Match iff no two elements share a byte, all are in shared memory, and descriptors
                       of one mode, major, LBO and SBO read every element where the layout has it
        not decided    if there are too many elements to compare their bytes, or for `same`

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
    stored = engine == "wgmma" and operand == "D"
    if engine == "mma" or stored:
        from tilewise.check.feeding import feed

        others = {name: value for name, value in asked.items() if stored and name != "form"}
        _check_absent(engine, {"major": major, "n": n, **others})
        if stored:
            asked = {"arch": "sm_90a", "form": asked.get("form"), "group": True}
        ask: Callable[[Layout], Match | Feed | Mismatch] = partial(
            feed, operand=operand, dtype=dtype, base=base, pattern=pattern, **asked
        )
    else:
        check_operand(operand)
        for name, known, what in (
            (engine, ENGINES, "engine that match knows"),
            ("k" if major is None else major, MAJORS, "major direction"),
        ):
            if name not in known:
                raise LayoutError("TW601", f"{name!r} is no {what}", hint=known_hint(name, known))
        check_place(base, pattern)
        of = engine_of(engine)
        _check_absent(engine, {name: value for name, value in asked.items() if name not in of.options})
        options = {"n": n, **asked}
        options = {name: options[name] for name in of.options if options.get(name) is not None}
        ask = partial(_read, of, operand, dtype, major, base, pattern, options)
    order = layout.order if isinstance(layout, Layout) else as_layout(layout).order
    if order != "row":
        layout = by_coordinates(layout)
    found = ask(layout)
    if not isinstance(found, Mismatch):
        return found
    found = replace(found, order=order)
    if found.reasons[0].rule != "rank":
        return found
    from tilewise.check.grouped import with_groupings

    return with_groupings(found, layout, lambda tile: bool(ask(tile).legal))


def _check_absent(engine: str, asked: Mapping[str, Any]) -> None:
    """Refuse options of another engine."""
    for name, value in asked.items():
        if value:
            owners = (own for own in WITH_DESCRIPTORS if name in engine_of(own).options)
            other = "" if engine == "mma" else f', or ask engine="{next(owners, "mma")}"'
            raise LayoutError("TW601", f"{engine} takes no {name} here", hint=f"leave {name} out{other}")


def _read(
    engine: Engine,
    operand: str,
    dtype: DType | str,
    major: str | None,
    base: int,
    pattern: str,
    options: Mapping[str, Any],
    layout: Layout,
) -> Match | Mismatch:
    """Return the answer of an engine about a tile; an illegal size becomes a reason of the mismatch."""
    general = {name: value for name, value in options.items() if name not in engine.sizes}
    try:
        intake = free = engine.intake(dtype, operand, **general)
    except Refused as no:
        return Mismatch((Reason.of("type", no),))
    taken, said = general, []
    for name in engine.sizes:
        if name in options:
            try:
                intake = engine.intake(dtype, operand, **taken, **{name: options[name]})
            except Refused as no:
                said.append(Reason.of(name, no))
            else:
                taken = {**taken, name: options[name]}
    if major is not None and major not in intake.majors:
        witness = {"dtype": intake.name, "major": major}
        said.append(Reason("major-type", intake.no_major[0], witness, intake.no_major[1]))
        major = None
    majors = intake.majors if major is None else (major,)
    try:
        cells = cells_of(layout, operand, intake, (engine.other_home, engine.registers), base, pattern)
    except Unreadable as no:
        return Mismatch(no.reasons)
    if layout.has_names and (far := far_beyond(engine, cells)):  # others are few: one by one
        return Mismatch((far,))
    question = Question(engine, layout.unit, cells, intake, free, majors, general, tuple(said))
    shape, shared = shape_reasons(question), overlap(cells)
    fit = None if said or shape or shared else question.fit()
    beyond = None
    if fit is not None:
        cells.check_apart()
        beyond = past_the_end(engine, cells)
    if fit is None or beyond is not None:
        reasons = diagnose(question, shape, shared) if beyond is None else (beyond,)
        return Mismatch(reasons, partial(nearest, question, reasons), pattern == "address" and base > 0)
    form, absolute, first = fit.form, intake.absolute, fit.parts[0][2]
    return Match(
        operand,
        intake.name,
        form.mode,
        form.major,
        None if "lbo" in form.ignored or absolute else first.lbo,
        None if "sbo" in form.ignored else first.sbo,
        form.ignored,
        intake.shape(form.rows),
        tuple([Step(mn, k, found.start - first.start, found) for mn, k, found in fit.parts]),
        base,
        pattern,
        engine.name,
        intake.product,
        "absolute" if absolute else "relative",
        general,
        pair_notes(intake, cells.rows, form.rows),
    )


__all__ = ["Match", "Mismatch", "match"]
