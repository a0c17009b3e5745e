"""The plan of a kernel around an engine, and the refusals of all engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from tilewise.codegen.names import checked
from tilewise.codegen.parts.copies import BYTE, Staged
from tilewise.codegen.source import Source, source_of
from tilewise.core.axes import m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of
from tilewise.hardware.architectures import Architecture
from tilewise.hardware.limits import REGISTERS, THREAD_REGISTERS, THREADS, shared_bytes
from tilewise.hardware.operands.template import check_major_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.match import Mismatch

ALIGNED = 1024
"""The longest period of a swizzle: every tile begins at a multiple of it."""

SPARE_REGISTERS = 40
"""Registers of a thread beyond its fragments: addresses, counters, descriptors."""


@dataclass(frozen=True)
class GemmPlan:
    """A kernel for tiles M x N x K: D [M, N] += A [M, K] B [N, K]^T. An engine adds its part."""

    a: Staged
    b: Staged
    accumulator: DType
    """The type of the sums of products."""
    out: DType
    """The type of D in memory."""
    stages: int
    """Tiles in flight along K."""
    name: str
    """The given name of the kernel; empty if it follows from the tile."""

    @property
    def m(self) -> int:
        """Return the rows of D in the tile."""
        return self.a.rows

    @property
    def n(self) -> int:
        """Return the columns of D in the tile."""
        return self.b.rows

    @property
    def k(self) -> int:
        """Return the elements along K in the tile."""
        return self.a.k

    @property
    def called(self) -> str:
        """Return the kernel's name: the given one, or one of the types and the tile."""
        types = "_".join(dict.fromkeys((self.a.dtype.name, self.b.dtype.name)))
        return checked(self.name or f"gemm_{types}_{self.m}x{self.n}x{self.k}", "a kernel")

    @property
    def fragment(self) -> Layout:
        """Return the layout of D of one instruction: the thread of each element [row, column]."""
        raise NotImplementedError

    @property
    def d_index(self) -> Source:
        """Return the function from a register to its pair of D's columns, and its row."""
        return source_of(self.fragment.pack(2, "reg"), inverse=True, flat=False, name="d_index")

    @property
    def in_shared(self) -> tuple[Staged, ...]:
        """Return the operands that pass through shared memory."""
        return self.a, self.b

    @property
    def _rooms(self) -> list[int]:
        """Return the bytes of each operand's tile in a stage, rounded up to the alignment."""
        return [-(-own.room // ALIGNED) * ALIGNED for own in self.in_shared]

    @property
    def offsets(self) -> dict[str, int]:
        """Return the byte of a stage at which each operand begins."""
        names = [own.name for own in self.in_shared]
        return dict(zip(names, accumulate(self._rooms, initial=0), strict=False))

    @property
    def stage_bytes(self) -> int:
        """Return the bytes of one stage."""
        return sum(self._rooms)

    @property
    def shared_bytes(self) -> int:
        """Return the dynamic shared memory of a block."""
        return self.stages * self.stage_bytes


def most_registers(threads: int) -> int:
    """Return the largest number of 32-bit registers for each thread of a block.

    >>> most_registers(32), most_registers(512)
    (255, 128)
    """
    return min(THREAD_REGISTERS, REGISTERS // threads) if threads <= THREADS else 0


# -- refusals ----------------------------------------------------------------------------------------


def refused(reason: str, hint: str, code: str = "TW602", **witness: object) -> Refused:
    """Return a refusal with the values that explain it."""
    return Refused(code, reason, witness=witness, hint=hint)


def as_tile(name: str, dtype: DType, rows: int, k: int, layout: Layout) -> Layout:
    """Return a given layout on the axis m, in elements.

        refused  TW602 another shape than the tile of the operand

    >>> from tilewise import parse
    >>> asked = parse("S[(2, 4) : (16@buf, 2@buf)]", storage=["buf"], unit="byte")
    >>> print(as_tile("A", DType.of("f16"), 2, 4, asked))
    S[(2, 4) : (8, 1)]
    """
    extents = tuple(extents_of(layout.shape))
    if extents != (rows, k):
        raise refused(
            f"the layout of {name} is {' x '.join(map(str, extents))}, and its tile {rows} x {k}",
            "operands are A [M, K] and B [N, K], the result is D [M, N]",
            layout=list(extents),
            tile=[rows, k],
        )
    layout = by_coordinates(layout)
    plain = layout if layout.unit == "element" else layout.in_elements(dtype)
    return plain.relabel({plain.axes[0]: m})


def check_word(word: str, known: Sequence[str], what: str) -> None:
    """Refuse an unknown word."""
    if word not in known:
        raise LayoutError("TW601", f"{word!r} is no {what}", hint="known: " + " ".join(known))


def check_stages(stages: int, load: str, instead: str) -> None:
    """Refuse a number of stages below 1, and several stages of copies by threads."""
    if stages < 1:
        raise LayoutError("TW401", f"{stages} stages hold no tile", hint="one or more")
    if stages > 1 and load == "copy":
        raise refused(
            "copies by threads have one stage",
            f"threads that copy do not run ahead of themselves; --load {instead} does",
            stages=stages,
        )


def check_multiple(name: str, extent: int, each: int, of: str, witness: dict[str, object]) -> None:
    """Refuse an extent that is not a whole number of instructions."""
    if extent < each or extent % each:
        raise Refused(
            "TW602",
            f"{name} = {extent} is no multiple of the {each} of {of}",
            witness=witness,
            hint=f"the nearest is {max(1, round(extent / each)) * each}",
        )


def check_bytes(dtype: DType, major: str) -> None:
    """Refuse parts of a byte that lie along M or N in global memory."""
    if check_major_word(major) == "mn" and dtype.bits < BYTE:
        raise refused(
            f"{dtype} that is MN-major in global memory does not fill registers along K",
            "lay it out with K contiguous",
            dtype=dtype.name,
            major=major,
        )


def check_partner(a: str, b: str, partners: Sequence[str], engine: str) -> None:
    """Refuse a type of B by which an engine does not multiply A."""
    if b not in partners:
        raise refused(
            f"no {engine} multiplies {a} by {b}", f"{a} is multiplied by {' or '.join(partners)}", A=a, B=b
        )


def sum_type(a: str, wanted: DType | str | None, known: Sequence[str]) -> DType:
    """Return the type of the sums: the wanted one, or f32 if possible."""
    into = DType.of(wanted if wanted is not None else "f32" if "f32" in known else known[0])
    if into.name not in known:
        raise refused(
            f"{a} does not accumulate in {into}",
            f"it accumulates in {' or '.join(known)}",
            dtype=a,
            accumulator=into.name,
        )
    return into


def check_shared(plan: GemmPlan, arch: Architecture, more: str = "") -> None:
    """Refuse tiles larger than the shared memory of a block."""
    most = shared_bytes(arch)
    if plan.shared_bytes > most:
        fewer = "take fewer stages or a shorter K" if plan.stages > 1 else "take a shorter K"
        raise refused(
            f"the tiles take {plan.shared_bytes} bytes of shared memory, and a block of {arch} has {most}",
            fewer + more,
            shared_bytes=plan.shared_bytes,
            stages=plan.stages,
        )


class Unshared(Refused):
    """A refusal that another grid of warps may lift."""


def check_registers(threads: int, held: int, spare: int, hint: str) -> None:
    """Refuse fragments that, with some registers beside them, exceed the registers of a block's threads."""
    most = most_registers(threads)
    if held + spare > most:
        raise Unshared(
            "TW602",
            f"{threads} threads with fragments of {held} registers, and {spare} beside, are more than "
            + (f"a thread has: {most}" if most == THREAD_REGISTERS else "a multiprocessor holds"),
            witness={"threads": threads, "registers": held},
            hint=hint,
        )


def not_read(found: Mismatch, what: str, kind: type[Refused] = Refused) -> Refused:
    """Return the refusal of a layout that an engine does not read, with the nearest layout that it reads.

    A refusal that may be lifted has the reason's witness and hint.
    """
    first, near = found.reasons[0], found.nearest
    is_plain = kind is not Refused
    return kind(
        "TW605",
        f"{what}: {first.message}",
        witness=first.witness if is_plain else {"rule": first.rule, "witness": first.witness},
        hint=first.hint if is_plain or not near else f"the nearest that it reads: {near[0].layout}",
    )
