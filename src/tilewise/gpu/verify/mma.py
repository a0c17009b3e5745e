"""The parts `mma.*`: the elements that mma.sync and mma.sp multiply, and the places of the sums.

The question is the structure of the whole product, free of any name for a row or a column: for each
place of A the places of D that it reaches, and the place of B that it meets there. The
catalogue answers it too: A[m, k] reaches D[m, n] by B[n, k], for every n.

The metadata of a sparse case are words of all 32 lanes, also of lanes that are not read.

A kernel of CUDA source has one mma.sync, which multiplies given registers. It knows nothing of fragments, nor
of the meaning of a register. A job is a row of A's registers, one of B's, one of C's and one of metadata; the
results are D's registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from tilewise.codegen.parts.template import each, filled, listed
from tilewise.core.dtypes import DType
from tilewise.core.layout import Layout
from tilewise.gpu.launch import Array
from tilewise.gpu.verify.kernels import ONE, Kernels, packed, places, planes
from tilewise.gpu.verify.part import Answered, Findings, Part, measured
from tilewise.hardware.limits import LANES, REGISTER_BITS
from tilewise.hardware.mma.fragments import a_fragment, b_fragment, d_fragment
from tilewise.hardware.mma.instructions import Instruction, Shape
from tilewise.hardware.mma.kinds import INDEX
from tilewise.hardware.mma.sparse import Sparse
from tilewise.tables import table

INTEGERS = {
    "s8": ((0xFE, -2), (0xFF, -1)),
    "u8": ((0xFE, 254), (0xFF, 255)),
    "s4": ((0xE, -2), (0xF, -1)),
    "u4": ((0xE, 14), (0xF, 15)),
}
"""Bits and number that A and B hold in place of one: each pair of types has a distinct product."""


@dataclass(frozen=True, slots=True)
class WarpOperand:
    """The part of an operand in each lane of a warp: elements of a type, in a number of 32-bit registers.

    >>> WarpOperand("f16", 4).places, WarpOperand("f64", 4).places
    (256, 64)
    """

    dtype: str
    registers: int

    @classmethod
    def of(cls, dtype: str, places: int) -> WarpOperand:
        """Return the registers that a warp needs for those places."""
        return cls(dtype, places * DType.of(dtype).bits // (LANES * REGISTER_BITS))

    @property
    def bits(self) -> int:
        """Return the bits of an element."""
        return DType.of(self.dtype).bits

    @property
    def places(self) -> int:
        """Return the elements that the warp holds: place E lane + element, of E elements a lane."""
        return LANES * self.registers * REGISTER_BITS // self.bits

    @property
    def word(self) -> tuple[str, str]:
        """Return the letter of a register in CUDA's assembly, and its type in C++."""
        return {"f32": ("f", "float"), "f64": ("d", "double")}.get(self.dtype, ("r", "unsigned"))

    @property
    def words(self) -> int:
        """Return the registers of that letter: one of a double is two of 32 bits."""
        return self.registers // max(1, self.bits // REGISTER_BITS)

    def words_of(self, ones: Array, value: int) -> Array:
        """Return rows of places, each with a value or zero, as registers: [row, lane, register]."""
        return packed(ones, self.bits, value).reshape(len(ones), LANES, self.registers)


@dataclass(frozen=True, slots=True)
class MmaProbe:
    """An instruction in the form of a kernel.

    >>> a, b, c = WarpOperand("f16", 4), WarpOperand("f16", 2), WarpOperand("f32", 4)
    >>> MmaProbe("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", a, b, c, c).kernel
    'probe_mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32'
    """

    opcode: str
    a: WarpOperand
    b: WarpOperand
    c: WarpOperand
    d: WarpOperand
    selector: int | None = None
    """The lanes whose metadata a sparse instruction reads; None for a dense one."""

    @property
    def kernel(self) -> str:
        """Return the kernel's name."""
        word = re.sub(r"\W+", "_", self.opcode)
        return f"probe_{word}" + ("" if self.selector is None else f"_{self.selector}")

    @property
    def differs(self) -> bool:
        """Return True if bits are compared, not multiplied: a pair of zeros then counts as a pair of ones."""
        return self.opcode.endswith(".xor.popc")

    def __str__(self) -> str:
        return self.opcode + ("" if self.selector is None else f", selector {self.selector}")


def factor(dtype: str, operand: str) -> tuple[int, int]:
    """Return the bits of a non-zero element of A or B, and their number.

    >>> factor("s8", "A"), factor("u8", "B"), factor("f16", "A")
    ((254, -2), (255, 255), (15360, 1))
    """
    if dtype not in INTEGERS:
        return ONE[dtype], 1
    return INTEGERS[dtype]["AB".index(operand)]


def source(group: Sequence[MmaProbe]) -> str:
    """Return CUDA C++ of a kernel for each of the instructions."""
    return "\n".join(_kernel(probe) for probe in group)


KERNEL = """\
extern "C" __global__ void __launch_bounds__(32) ${this.kernel}(\
const unsigned* a, const unsigned* b, const unsigned* c, const unsigned* metadata, const int4* jobs,\
 int count, unsigned* out) {
    const int lane = threadIdx.x;
    for (int job = blockIdx.x; job < count; job += gridDim.x) {
        const int4 at = jobs[job];
        $rows
        $kind d[$words];
        asm volatile("${this.opcode} $operands;"
            : $outputs
            : $inputs);
        $kind* to = reinterpret_cast<$kind*>(out) + (job * 32LL + lane) * $words;
        for (int i = 0; i < $words; ++i) to[i] = d[i];
    }
}"""

ROW = "const $kind* ${name}_row = reinterpret_cast<const $kind*>($name) + (at.$part * 32LL + lane) * $words;"


def _kernel(this: MmaProbe) -> str:
    letter, kind = this.d.word
    rows, inputs, braced, used = [], [], [_braced(0, this.d.words)], this.d.words
    for name, part, held in zip("abc", "xyz", (this.a, this.b, this.c), strict=True):
        rows.append(filled(ROW, {"kind": held.word[1], "name": name, "part": part, "words": held.words}))
        inputs += each(f'"{held.word[0]}"({name}_row[#])', range(held.words))
        braced.append(_braced(used, held.words))
        used += held.words
    if this.selector is not None:
        inputs.append('"r"(metadata[at.w * 32 + lane])')
        braced += [f"%{used}", f"{this.selector}"]
    slots = {
        "this": this,
        "rows": "\n".join(rows),
        "kind": kind,
        "words": this.d.words,
        "operands": ", ".join(braced),
        "outputs": listed(f'"=&{letter}"(d[#])', range(this.d.words)),
        "inputs": ", ".join(inputs),
    }
    return filled(KERNEL, slots)


def _braced(first: int, count: int) -> str:
    return f"{{{listed('%#', range(first, first + count))}}}"


# -- products --------------------------------------------------------------------------------------

BLOCKS = 132 * 16
NOTHING, STRANGE = -1, -2
"""A place of D that is not reached, and one that no single product explains."""

NO_METADATA = np.zeros((1, LANES), np.uint32)


class Products(Kernels[MmaProbe]):
    """Kernels of some mma.sync, ready on a device, which find the pairs that they multiply.

    A place is an element of a lane: E lane + element, where a lane holds E. A has a number other than zero
    in one place alone, and B spells its places bit by bit, one a plane, with one plane in which every place
    has a number. Every place of D then tells whether that place of A reaches it, and which place of B
    it met: for a product of M x N x K, each place of A has N such pairs. The kernel knows no meaning
    of a register.
    """

    together = 8
    source = staticmethod(source)

    @staticmethod
    def name(probe: MmaProbe) -> str:
        """Return the name of a probe's kernel."""
        return probe.kernel

    def pairs(self, this: MmaProbe, metadata: Array = NO_METADATA) -> Array:
        """Return [words of metadata, place of A, place of D]: the place of B, NOTHING or STRANGE."""
        count = this.a.places + 1
        alone, spelling = np.eye(count, this.a.places, dtype=bool), planes(this.b.places)
        a = this.a.words_of(alone, factor(this.a.dtype, "A")[0])
        b = this.b.words_of(spelling, factor(this.b.dtype, "B")[0])
        c = this.c.words_of(np.zeros((1, this.c.places), bool), 0)
        which, plane = np.divmod(np.arange(count * len(spelling)), len(spelling))
        found = []
        for row in range(len(metadata)):
            jobs = np.stack([which, plane, 0 * which, 0 * which + row], axis=1)
            out = self._launch(this, a, b, c, metadata, jobs).reshape(count, len(spelling), -1)
            found.append(spelt(out[:-1], out[-1], this))
        return np.stack(found)

    def passed(self, this: MmaProbe) -> Array:
        """Return [place of D]: the place of C whose number comes out there, if nothing is multiplied."""
        a, b = (held.words_of(np.zeros((1, held.places), bool), 0) for held in (this.a, this.b))
        spelling = planes(this.c.places)
        c = this.c.words_of(np.pad(spelling, ((0, 1), (0, 0))), ONE[this.c.dtype])
        jobs = np.zeros((len(spelling) + 1, 4), int)
        jobs[:, 2] = np.arange(len(jobs))
        out = self._launch(this, a, b, c, NO_METADATA, jobs)
        return _numbers(out[:-1] - out[-1] == 1, out[:-1] == out[-1])

    def _launch(self, this: MmaProbe, a: Array, b: Array, c: Array, metadata: Array, jobs: Array) -> Array:
        """Return D's numbers, [job, place], of jobs that have a row each of A, B, C and the metadata."""
        count = len(jobs)
        given = [a, b, c, np.asarray(metadata, np.uint32), np.asarray(jobs, np.int32), np.int32(count)]
        shape = (count, LANES, this.d.registers)
        words = self.reply(this, min(BLOCKS, count), LANES, given, "<u4", shape)
        kind = {"s32": "<i4", "f16": "<f2", "f32": "<f4", "f64": "<f8"}[this.d.dtype]
        numbers = words.view(kind).reshape(count, -1)
        return numbers.astype(np.int64 if this.d.dtype == "s32" else np.float64)


def spelt(out: Array, background: Array, this: MmaProbe) -> Array:
    """Return [place of A, place of D]: the place of B that numbers [place of A, plane, place of D] spell.

    `background` has the results without any number in A, [plane, place of D].
    """
    change = out - background
    if this.differs:
        # A's bit alone: a one of B goes with it, and a zero of B no longer
        return _numbers(change == -1, np.where(change[:, -1:] == 0, change == 0, change == 1))
    product = factor(this.a.dtype, "A")[1] * factor(this.b.dtype, "B")[1]
    return _numbers(change == product, change == 0)


def _numbers(one: Array, zero: Array) -> Array:
    """Return [..., place]: the number that [..., plane, place] spell; the last plane is set for all."""
    bits, there = one[..., :-1, :], one[..., -1, :]
    weights = 1 << np.arange(bits.shape[-2], dtype=np.int64)
    number = (bits * weights[:, None]).sum(axis=-2)
    clean = (one | zero).all(axis=-2) & (there | ~one.any(axis=-2))
    return np.where(clean, np.where(there, number, NOTHING), STRANGE)


@dataclass(frozen=True, slots=True)
class MmaCase:
    """An instruction, and the selector and the words of metadata of a sparse one."""

    instruction: Instruction
    selector: int | None = None
    metadata: tuple[int, ...] = ()
    """A word of each lane; empty if nothing is multiplied."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> MmaCase:
        """Return the case of a recorded row."""
        shape = Shape.of(row["shape"])
        if "selector" in row:
            a, b, d = row["types"]
            stored = Instruction(shape, a, b, d, sparse=True, ordered=row["ordered"])
            return cls(stored, row["selector"], tuple(row.get("metadata", ())))
        a, b, c, d = row["types"]
        return cls(Instruction(shape, a, b, d, row["op"], c, tuple(row["majors"])))

    @property
    def types(self) -> tuple[str, str, str, str]:
        """Return the types of A, B, C and D."""
        this = self.instruction
        return this.a, this.b, this.c, this.d

    @property
    def half(self) -> Sparse:
        """Return the form in which a sparse instruction stores A."""
        return Sparse.of(self.instruction.shape, self.instruction.a)

    @property
    def fragments(self) -> tuple[tuple[Layout, ...], ...]:
        """Return the catalogue's fragments of A, B, C and D, one for each product."""
        this = self.instruction
        if this.sparse:
            half = self.half
            return (half.a_fragment,), (half.b_fragment,), (half.d_fragment,), (half.d_fragment,)
        parts = (
            partial(a_fragment, this.shape, this.a, this.majors[0]),
            partial(b_fragment, this.shape, this.b, this.majors[1]),
            partial(d_fragment, this.shape, this.c),
            partial(d_fragment, this.shape, this.d),
        )
        return tuple(tuple(map(part, range(this.products))) for part in parts)

    @property
    def probe(self) -> MmaProbe:
        """Return the instruction in the form of a kernel."""
        sizes = [sum(fragment.size for fragment in every) for every in self.fragments]
        a, b, c, d = map(WarpOperand.of, self.types, sizes)
        return MmaProbe(str(self.instruction), a, b, c, d, self.selector)

    def places(self, operand: str) -> Array:
        """Return [product, rows, columns]: the place of every element of an operand."""
        fragments = self.fragments["ABCD".index(operand)]
        each = sum(fragment.size for fragment in fragments) // LANES
        return np.stack([places(fragment, each) for fragment in fragments])

    @property
    def columns(self) -> Array:
        """Return [M, K/2]: the column of each stored element of A by the metadata."""
        half, words = self.half, np.array(self.metadata, np.int64)
        where = table(half.metadata(self.selector or 0)).columns
        lane, place = (where[axis].reshape(half.shape.m, half.indices) for axis in ("laneid", "reg"))
        indices = words[lane] >> INDEX.bits * place & (1 << INDEX.bits) - 1
        return np.array([[half.column(s, row) for s in range(half.stored)] for row in indices.tolist()])

    @property
    def pairs(self) -> tuple[Array, Array]:
        """Return the pairs of every place of A in order: A[m, k] reaches D[m, n] by B[n, k]."""
        b = self.places("B").swapaxes(1, 2)[:, None]
        if self.metadata:
            b = b[0, 0][self.columns][None]
        return meeting(self.places("A"), self.places("D")[:, :, None], b)

    def __str__(self) -> str:
        return str(self.instruction) + ("" if self.selector is None else f", selector {self.selector}")


def meeting(a: Array, d: Array, b: Array) -> tuple[Array, Array]:
    """Return for every place of A in order the places of D that it reaches, in order, and those of B there.

    requires       d and b have one more dimension than a, of N places, and broadcast to it
    postcondition  both flat, N for each place of A
    """
    by_place = np.argsort(a.ravel())
    shape = (*a.shape, d.shape[-1])
    reached, met = (np.broadcast_to(one, shape).reshape(a.size, -1)[by_place] for one in (d, b))
    order = np.argsort(reached, axis=1)
    return np.take_along_axis(reached, order, axis=1).ravel(), np.take_along_axis(met, order, axis=1).ravel()


# -- the questions --------------------------------------------------------------------------------


def _ask_pairs(products: Products, some: list[MmaCase]) -> Iterator[Answered]:
    this, words = some[0], np.array([case.metadata or (0,) * LANES for case in some], np.uint32)
    return (as_recorded(pairs, this.instruction.shape.n) for pairs in products.pairs(this.probe, words))


def _ask_passed(products: Products, some: list[MmaCase]) -> Iterator[Answered]:
    return ({"c": products.passed(case.probe)} for case in some)


def as_recorded(pairs: Array, n: int) -> Answered:
    """Return the recorded answers of [place of A, place of D]: [place of A, N], places of D, and of B.

    NOTHING stands for a place of A that does not reach N places of D.
    """
    reached = pairs != NOTHING
    clean = (reached.sum(axis=1) == n) & (pairs >= NOTHING).all(axis=1)
    d, b = np.full((2, len(pairs), n), NOTHING, np.int64)
    d[clean] = np.nonzero(reached[clean])[1].reshape(-1, n)
    b[clean] = pairs[clean][reached[clean]].reshape(-1, n)
    return {"d": d, "b": b}


# -- judgements ------------------------------------------------------------------------------------


def judge_pairs(findings: Findings, case: MmaCase, row: Mapping[str, Any], d: Array, b: Array) -> None:
    """Compare every pair with the catalogue."""
    this, n = case.instruction, case.instruction.shape.n
    want, seen = np.stack(case.pairs, axis=1), np.stack([d, b], axis=1)

    def pair(places: Array) -> list[int] | None:
        return None if places[0] == NOTHING else [int(place) for place in places]

    findings.hold(case, want, seen, lambda number: {"place": number // n}, "places of D and B", pair)
    aspects: dict[str, object] = {"types": f"{this.a} x {this.b} -> {this.d}", "shape": this.shape}
    if this.sparse:
        metadata = "ordered" if this.ordered else "not said to be ordered"
        aspects |= {"selector": case.selector, "metadata": metadata}
    findings.count(d.size, **aspects)


def judge_passed(findings: Findings, case: MmaCase, row: Mapping[str, Any], came: Array) -> None:
    """Compare the places of C with the catalogue: C[m, n] comes out in D[m, n]."""
    c, d = case.places("C"), case.places("D")
    want = np.empty(d.size, np.int64)
    want[d.ravel()] = c.ravel()
    findings.hold(case, want, came, lambda place: {"place": place}, "place of C")
    this = case.instruction
    accumulators = this.d if this.sparse else f"{this.c} -> {this.d}"
    findings.count(len(came), accumulators=accumulators, shape=this.shape)


def _parts(pairs: str, passed: str, title: str, words: str) -> Iterator[Part]:
    ask = partial(measured, device=Products, probe=attrgetter("probe"))
    yield Part(pairs, f"{title}: {words}", ("d", "b"), MmaCase.of, partial(ask, ask=_ask_pairs), judge_pairs)
    where = f"{title}: where each element of the accumulator C comes out in D"
    yield Part(passed, where, ("c",), MmaCase.of, partial(ask, ask=_ask_passed), judge_passed)


PARTS = (
    *_parts(
        "mma.dense",
        "mma.accumulators",
        "mma",
        "the elements of D that each element of A reaches, and those of B that it meets",
    ),
    *_parts(
        "mma.sparse",
        "mma.sparse.accumulators",
        "mma.sp",
        "the elements of D and B that each stored element of A meets, by any metadata",
    ),
)
"""The dense instructions, then the sparse ones."""
