"""The parts `fragments.*` and `descriptors.*`: elements in wgmma's registers, and bytes of descriptors.

Some descriptors are legal, as in kernels, and some are odd, as no kernel should have them. Those of
`descriptors.end` end with shared memory or go past it, each in a separate process.

A kernel of CUDA source has one wgmma, and every element of its D spells bits. It knows nothing of layouts.
For each bit plane it fills shared memory with one bit of each element's index, and lays the plane's overlay
over it: operands that the host wrote. Then it runs its jobs: a job is two descriptors, or registers of A and
one descriptor. A one in D sets the plane's bit of its word, a zero does not, and any other value sets bit 31.

The first question is D: the operands give its rows and columns, and they lie in memory in PTX's plainest way.
Then come A in registers, and the reads of descriptors, by the elements of D that show them. The plainest
way settles the names of rows and columns; the device tells everything else.

Operands lie in shared memory without a swizzle, K-major: core matrices of 8 rows of 16 bytes, the two of a
group of rows 128 bytes apart, the groups 256.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from tilewise.codegen.parts.template import filled, listed
from tilewise.core.layout import Layout
from tilewise.gpu.launch import Array, Session
from tilewise.gpu.verify.kernels import ONE, Kernels, Progress, alone, packed, places, planes, result_name
from tilewise.gpu.verify.part import Answered, Findings, Part, measured, of_row
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.modes import CHUNK, ROWS
from tilewise.hardware.operands.template import BASE_UNIT, LIMIT
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.engine import Operand
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import INPUTS, Input, M
from tilewise.tables import table

THREADS = 128


@dataclass(frozen=True, slots=True)
class WgmmaProbe:
    """One wgmma: types of A, B and D, N, and the majors of its operands in shared memory.

    >>> print(WgmmaProbe("f16", "f16", "f32", 64, "k", "mn"))
    m64n64k16.f32.f16.f16 A k, B mn
    """

    a: str
    b: str
    d: str
    n: int
    a_major: str = "k"
    b_major: str = "k"

    def __post_init__(self) -> None:
        Input.of(self.a).check_product(self.b, self.d, self.n, self.a_major, self.b_major)

    @property
    def k(self) -> int:
        """Return K of the instruction, in elements."""
        return Input.of(self.a).k

    @property
    def bits(self) -> int:
        """Return the bits of an element of A or B."""
        return Input.of(self.a).dtype.bits

    @property
    def types(self) -> str:
        """Return the types in words."""
        return f"{self.a} x {self.b} -> {self.d}"

    @property
    def kernel(self) -> str:
        """Return the kernel's name."""
        return f"probe_{self.a}_{self.b}_{self.d}_n{self.n}_{self.a_major}_{self.b_major}"

    @property
    def planes(self) -> int:
        """Return the bits of an element's index in the window of shared memory, and a plane of ones."""
        return (LIMIT * 8 // self.bits).bit_length()

    @property
    def elements(self) -> int:
        """Return the elements of D that a thread holds."""
        return self.n // 2

    def __str__(self) -> str:
        types = f"m64n{self.n}k{self.k}.{self.d}.{self.a}.{self.b}"
        return f"{types} A {self.a_major}, B {self.b_major}"


def source(group: Sequence[WgmmaProbe]) -> str:
    """Return CUDA C++ of a kernel for each of the instructions, which all multiply the same types."""
    first = group[0]
    if any((i.a, i.b, i.d) != (first.a, first.b, first.d) for i in group):
        raise ValueError("the instructions of one source multiply the same types")
    shared = Path(__file__).with_name("wgmma.cu").read_text(encoding="utf-8")
    return "\n".join([_constants(first), shared, *map(_kernel, group)])


def _constants(first: WgmmaProbe) -> str:
    each, bits = 32 // first.bits, first.bits
    log = each.bit_length() - 1
    mask = (1 << bits) - 1
    low = [sum(mask << bits * place for place in range(each) if place >> bit & 1) for bit in range(log)]
    words = ", ".join(f"{word:#x}u" for word in [*low, 0])
    ones = {
        name: sum(ONE[dtype] << bits * place for place in range(each))
        for name, dtype in zip("AB", (first.a, first.b), strict=True)
    }
    return (
        f"#define LOG_PER_WORD {log}\n#define LAST {first.planes - 1}\n"
        f"#define ONES_A {ones['A']:#x}u\n#define ONES_B {ones['B']:#x}u\n"
        f"__constant__ unsigned LOW[] = {{{words}}};\n"
    )


KERNEL = """\
struct ${this.kernel}_wgmma {
    using Register = $kind;
    static constexpr int registers = $registers, elements = ${this.elements};
    static constexpr unsigned one = $one;
    static constexpr bool takes_registers = $takes_registers;
    static __device__ unsigned element(const Register* d, int i) { return $element; }
    $by_descriptors
    $from_registers
    static __device__ void settle(Register* d) {  // no use of D moves above the wait
        asm volatile("" : $outputs :: "memory");
    }
};
extern "C" __global__ void __launch_bounds__(THREADS, 1) ${this.kernel}($parameters) {
    probe<${this.kernel}_wgmma>($arguments);
}"""

MULTIPLY = """\
static __device__ void multiply(Register* d, $given a, unsigned long long b) {
    asm volatile("{ .reg .pred p; setp.ne.b32 p, $scale, 0; $instruction; }"
        : $outputs
        : $inputs);
}"""

NO_FORM = "static __device__ void multiply(Register*, uint4, unsigned long long) {}  // registers are K-major"

PARAMETERS = (
    "const unsigned long long* a, const unsigned long long* b, const unsigned* selected, int jobs,"
    " const uint4* registers, int registers_each, const uint4* overlay, int overlay_chunks,"
    " int overlay_each, unsigned overlay_at, int planes, int from_registers, unsigned* out"
)
ARGUMENTS = (
    "a, b, selected, jobs, registers, registers_each, overlay, overlay_chunks, overlay_each, overlay_at,"
    " planes, from_registers, out"
)

SUMS = {
    "f32": ("float", "f", "0x3f800000u", "__float_as_uint(d[i])"),
    "s32": ("unsigned", "r", "1u", "d[i]"),
    "f16": ("unsigned", "r", "0x3c00u", "(d[i / 2] >> 16 * (i % 2)) & 0xffffu"),
}
"""{type of D: its register in C++ and its letter in asm, the bits of one, and of element i}."""


def _kernel(this: WgmmaProbe) -> str:
    kind, letter, one, element = SUMS[this.d]
    registers = this.n // 4 if this.d == "f16" else this.n // 2
    outputs = listed(f'"+{letter}"(d[#])', range(registers))
    takes_registers = this.a_major == "k"
    slots = {
        "this": this,
        "kind": kind,
        "registers": registers,
        "one": one,
        "takes_registers": str(takes_registers).lower(),
        "element": element,
        "outputs": outputs,
        "by_descriptors": _multiply(this, registers, outputs, from_registers=False),
        "from_registers": (
            _multiply(this, registers, outputs, from_registers=True) if takes_registers else NO_FORM
        ),
        "parameters": PARAMETERS,
        "arguments": ARGUMENTS,
    }
    return filled(KERNEL, slots)


def _multiply(this: WgmmaProbe, registers: int, outputs: str, *, from_registers: bool) -> str:
    wide = 4 if from_registers else 1
    a = listed("%#", range(registers, registers + wide))
    kinds = f"{this.d}.{this.a}.{this.b}" + ".and.popc" * (this.a == "b1")
    operands = [
        f"{{{listed('%#', range(registers))}}}",
        f"{{{a}}}" if from_registers else a,
        f"%{registers + wide}",
        "p",
        *_immediates(this, from_registers),
    ]
    held = [f'"r"(a.{part})' for part in "xyzw"] if from_registers else ['"l"(a)']
    slots = {
        "given": "uint4" if from_registers else "unsigned long long",
        "scale": f"%{registers + wide + 1}",
        "instruction": f"wgmma.mma_async.sync.aligned.m64n{this.n}k{this.k}.{kinds} {', '.join(operands)}",
        "outputs": outputs,
        "inputs": ", ".join([*held, '"l"(b)', '"r"(0)']),
    }
    return filled(MULTIPLY, slots)


def _immediates(this: WgmmaProbe, from_registers: bool) -> list[str]:
    """Return scales of A and B, then transpose bits, if the types have them."""
    if this.d == "s32":
        return []
    majors = [this.b_major] if from_registers else [this.a_major, this.b_major]
    turned = [str(int(major == "mn")) for major in majors] if "mn" in Input.of(this.a).majors else []
    return ["1", "1", *turned]


# -- the questions ---------------------------------------------------------------------------------

BASE = 1024
"""The address where the driver puts dynamic shared memory; the probe checks it."""

END = BASE + SHARED_BYTES

AREA = END - 16 * 1024
"""The address of the B that picks columns of A: above all reads by descriptors of A."""

ROW_BYTES, GROUP, CORE = 32, 256, 128
ROW_BITS, COLUMN_BITS = 6, 8
BLOCKS = 132

NOTHING = -1
"""An element, or a register, that spells no single place."""


NO_REGISTERS, NOTHING_LAID = np.zeros((1, THREADS, 4), np.uint32), np.zeros(0, np.uint32)


class Bench(Kernels[WgmmaProbe]):
    """Kernels of some wgmma, ready on a device."""

    shared, together = SHARED_BYTES, 4
    source = staticmethod(source)

    @staticmethod
    def name(probe: WgmmaProbe) -> str:
        """Return the name of a probe's kernel."""
        return probe.kernel

    @classmethod
    def programs(cls, wanted: Iterable[WgmmaProbe]) -> list[tuple[WgmmaProbe, ...]]:
        """Return the probes in groups of the same types, the longest to compile first."""
        kinds: dict[tuple[str, ...], list[WgmmaProbe]] = {}
        for this in sorted(set(wanted), key=cls.name):
            kinds.setdefault((this.a, this.b, this.d), []).append(this)
        groups = chain.from_iterable(map(super().programs, kinds.values()))
        return sorted(groups, key=lambda group: -sum(this.n for this in group))

    @classmethod
    def check(cls, session: Session, code: bytes) -> None:
        """Raise RuntimeError if shared memory does not begin at BASE, from which descriptors count."""
        kernel = session.kernel(code, "shared_memory", shared=SHARED_BYTES)
        out = session.empty(8)
        kernel(1, 1, out)
        start, size = session.download(out, "<u4", (2,)).tolist()
        if (start, size) != (BASE, SHARED_BYTES):
            wanted = f"{BASE}, {SHARED_BYTES}"
            raise RuntimeError(f"shared memory begins at {start} with {size} bytes, not {wanted}")

    def d(self, this: WgmmaProbe) -> Array:
        """Return [thread, register]: the flat index of the element of D that each register holds.

        Row m of A and row n of B hold a bit of their code, only at k = 0: there B is one in the planes of
        m, and A in the planes of n.
        """
        bits = ROW_BITS + COLUMN_BITS
        a, b = np.zeros((bits + 1, M, this.k), bool), np.zeros((bits + 1, this.n, this.k), bool)
        a[..., 0], b[..., 0] = True, True
        a[:ROW_BITS, :, 0] = planes(M)[:ROW_BITS]
        b[ROW_BITS:bits, :, 0] = planes(1 << COLUMN_BITS)[:COLUMN_BITS, : this.n]
        overlay = np.concatenate([core_matrices(a, this.a), core_matrices(b, this.b)], axis=-1)
        jobs = [canonical(BASE + M * ROW_BYTES)]
        words = self._launch(this, jobs, [canonical(BASE)], planes=bits + 1, overlay=overlay)
        code = spelled(words[0].T, bits)
        row, column = code & (1 << ROW_BITS) - 1, code >> ROW_BITS
        return np.where((code != NOTHING) & (column < this.n), row * this.n + column, NOTHING)

    def a(self, this: WgmmaProbe) -> Array:
        """Return [thread, element]: the flat index of the element of A that each place of registers holds."""
        size = M * this.k
        held = planes(size)
        overlay, starts = select_k(this)
        words = self._launch(
            this,
            [canonical(AREA + start) for start in starts],
            planes=len(held),
            registers=packed(held.reshape(len(held), 1, THREADS, -1), this.bits, ONE[this.a]),
            overlay=overlay,
            at=AREA,
        )
        place = spelled(_of_a(words, this), len(held) - 1).ravel()
        owned = np.full(size, NOTHING, np.int64)
        owned[place[place != NOTHING]] = np.flatnonzero(place != NOTHING)
        return owned.reshape(THREADS, -1)

    def reads(self, this: WgmmaProbe, operand: str, descriptors: Sequence[int]) -> Array:
        """Return [descriptor, rows, K]: the index of the element that the operand read at each place.

        Indices count from address 0; NOTHING stands where no single element was read.
        """
        values = np.array(descriptors, np.uint64)
        if operand == "A":
            overlay, starts = select_k(this)
            many = len(starts)
            jobs = np.tile([canonical(AREA + start) for start in starts], len(values))
            words = self._launch(
                this, jobs, np.repeat(values, many), planes=this.planes, overlay=overlay, at=AREA
            )
        else:
            picks = select_registers(this)
            many = len(picks)
            rows = np.tile(np.arange(many), len(values))
            words = self._launch(
                this, np.repeat(values, many), rows=rows, planes=this.planes, registers=picks
            )
        words = words.reshape(len(values), many, *words.shape[1:])
        return spelled((_of_a if operand == "A" else _of_b)(words, this), this.planes - 1)

    def _launch(
        self,
        this: WgmmaProbe,
        b: Sequence[int] | Array,
        a: Sequence[int] | Array | int = 0,
        rows: Array | int = 0,
        *,
        planes: int,
        registers: Array | None = None,
        overlay: Array = NOTHING_LAID,
        at: int = BASE,
    ) -> Array:
        """Return the words of D, [job, register, thread].

        A job is a descriptor of B, and one of A or the number of a row of registers. `registers` are
        [row, thread, 4], or [plane, row, thread, 4]; `overlay` is [words], or [plane, words], and begins at
        the address `at`.
        """
        jobs, chunks = len(b), overlay.shape[-1] // 4
        held = NO_REGISTERS if registers is None else registers
        given = [
            np.broadcast_to(np.asarray(a, np.uint64), jobs),
            np.asarray(b, np.uint64),
            np.broadcast_to(np.asarray(rows, np.uint32), jobs),
            np.int32(jobs),
            held,
            np.int32(held.shape[1] if held.ndim == 4 else 0),
            overlay,
            np.int32(chunks),
            np.int32(chunks if overlay.ndim == 2 else 0),
            np.uint32(at),
            np.int32(planes),
            np.int32(registers is not None),
        ]
        shape = (jobs, this.elements, THREADS)
        return self.reply(this, min(BLOCKS, jobs), THREADS, given, "<u4", shape)


def core_matrices(ones: Array, dtype: str) -> Array:
    """Return [..., words] of [..., rows, K]: an instruction's K as it lies without a swizzle."""
    words = packed(ones, Input.of(dtype).dtype.bits, ONE[dtype])
    *outer, rows, _ = words.shape
    cut = words.reshape(*outer, rows // 8, 8, 2, 4)
    return np.ascontiguousarray(np.swapaxes(cut, -3, -2)).reshape(*outer, rows * ROW_BYTES // 4)


def canonical(start: int) -> int:
    """Return the descriptor of core matrices from `start` on."""
    return Descriptor(start=start, lbo=CORE, sbo=GROUP).value


def select_k(this: WgmmaProbe) -> tuple[Array, list[int]]:
    """Return B that picks columns of A, and the bytes at which each of them starts.

    Row n of the s-th has a one at k = n + N s, and nothing else; the last may have empty rows.
    """
    starts = range(0, this.k, this.n)
    ones = np.eye(len(starts) * this.n, this.k, dtype=bool)
    return core_matrices(ones, this.b), [row * ROW_BYTES for row in starts]


def select_registers(this: WgmmaProbe) -> Array:
    """Return A in registers that picks rows of K: row m of the s-th has a one at k = m + 64 s.

    It is [s, thread, four registers], by the catalogue's fragment.
    """
    many = -(-this.k // M)
    ones = np.eye(many * M, this.k, dtype=bool).reshape(many, M, this.k)
    thread, element = _holders(a_fragment(this.a))
    held = np.zeros((many, THREADS, M * this.k // THREADS), bool)
    held[:, thread, element] = ones
    return packed(held, this.bits, ONE[this.a])


@cache
def _holders(fragment: Layout) -> tuple[Array, Array]:
    """Return the thread and the register of every element by the catalogue."""
    thread, register = np.divmod(places(fragment), fragment.size // THREADS)
    return thread, register


def _of_d(words: Array, this: WgmmaProbe) -> Array:
    """Return the words of jobs [..., register, thread] as D [..., 64, N]."""
    thread, register = _holders(d_fragment(this.d, this.n))
    return words[..., register, thread]


def _of_b(words: Array, this: WgmmaProbe) -> Array:
    """Return the jobs of one descriptor of B, [..., select, register, thread], as B [..., N, K]."""
    rows = _of_d(words, this)[..., : min(M, this.k), :]
    *outer, many, count, n = rows.shape
    return np.swapaxes(rows.reshape(*outer, many * count, n), -1, -2)


def _of_a(words: Array, this: WgmmaProbe) -> Array:
    """Return the jobs of one descriptor of A, [..., select, register, thread], as A [..., 64, K]."""
    columns = np.moveaxis(_of_d(words, this), -3, -2)
    *outer, rows, many, n = columns.shape
    return columns.reshape(*outer, rows, many * n)[..., : this.k]


def spelled(words: Array, bits: int) -> Array:
    """Return the number that each word spells in `bits` planes; NOTHING if its last plane is not one.

    >>> spelled(np.array([0b1010, 0b0010, 0b11010]), 3).tolist()
    [2, -1, -1]
    """
    return np.where(words >> bits == 1, (words & (1 << bits) - 1).astype(np.int64), NOTHING)


# -- fragments -------------------------------------------------------------------------------------


def owners(fragment: Layout) -> Array:
    """Return the flat index of the element in each register of each thread in turn by the catalogue."""
    owned = np.full(fragment.size, NOTHING, np.int64)
    owned[places(fragment).ravel()] = np.arange(fragment.size)
    return owned


def judge_fragment(findings: Findings, probe: WgmmaProbe, row: Mapping[str, Any], owned: Array) -> None:
    """Compare the owner of every element with the catalogue's fragment."""
    fragment = a_fragment(probe.a) if row["operand"] == "A" else d_fragment(probe.d, probe.n)
    width = fragment.size // M

    def element(index: int) -> list[int] | None:
        return None if index == NOTHING else list(divmod(int(index), width))

    def register(place: int) -> dict[str, int]:
        return dict(zip(("thread", "element"), divmod(place, fragment.size // THREADS), strict=True))

    case = f"{row['operand']} of m64n{probe.n}, {probe.types}"
    findings.hold(case, owners(fragment), owned, register, "element", element)
    findings.count(len(owned), types=probe.types, n=probe.n)


def _fragments(operand: str) -> Part:
    def ask(bench: Bench, probes: list[WgmmaProbe]) -> Iterator[Answered]:
        return ({"owned": (bench.a if operand == "A" else bench.d)(probe)} for probe in probes)

    return Part(
        f"fragments.{operand.lower()}",
        f"wgmma: the element of {operand} in each register of each thread, every type at every N",
        ("owned",),
        partial(of_row, WgmmaProbe),
        partial(measured, device=Bench, probe=lambda probe: probe, ask=ask),
        judge_fragment,
    )


# -- descriptors -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DescriptorCase:
    """A descriptor by which an instruction reads an operand."""

    instruction: WgmmaProbe
    operand: str
    descriptor: Descriptor
    reserved: int = 0
    """Bits that are set outside the descriptor's fields."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> DescriptorCase:
        """Return the case of a recorded row."""
        majors = (row["major"], "k") if row["operand"] == "A" else ("k", row["major"])
        (a, b, d), value = row["types"], int(row["value"], 16)
        descriptor = Descriptor.decode(value)
        instruction = WgmmaProbe(a, b, d, row["n"], *majors)
        return cls(instruction, row["operand"], descriptor, value ^ descriptor.value)

    @property
    def value(self) -> int:
        """Return the 64 bits of the instruction's operand."""
        return self.descriptor.value | self.reserved

    @property
    def dtype(self) -> str:
        """Return the operand's type."""
        return self.instruction.a if self.operand == "A" else self.instruction.b

    @property
    def major(self) -> str:
        """Return the operand's major direction."""
        return self.instruction.a_major if self.operand == "A" else self.instruction.b_major

    @property
    def rows(self) -> int:
        """Return the operand's rows: M of A, N of B."""
        return M if self.operand == "A" else self.instruction.n

    @property
    def chunk(self) -> int:
        """Return the elements of 16 bytes."""
        return CHUNK * 8 // self.instruction.bits

    def __str__(self) -> str:
        d = self.descriptor
        return (
            f"{self.instruction}: {self.operand} by {self.value:#018x}, mode {d.mode}, start {d.start},"
            f" LBO {d.lbo}, SBO {d.sbo}, base offset {d.base_offset}"
        )


def expected(case: DescriptorCase) -> Array:
    """Return [rows, K]: the index of the element at each byte that the tables read, from address 0 on."""
    bits, this = case.instruction.bits, case.instruction
    byte = np.empty((case.rows, this.k), np.int64)
    for piece in Operand(case.dtype, case.major, case.operand, this.n).pieces(case.descriptor):
        (top, below), (left, right) = piece.box
        byte[top:below, left:right] = table(piece.layout).array.reshape(below - top, right - left)
    if bits >= 8:
        return byte // (bits // 8)
    each = 8 // bits
    return byte * each + np.arange(this.k) % each


def chunks(read: Array, case: DescriptorCase) -> Array | None:
    """Return the 16-byte chunks of shared memory that are read, in order; None if some are not whole.

    They run along the major direction: [rows, 2] K-major, [rows / T, K] MN-major, T elements each.
    """
    along = read if case.major == "k" else read.T
    whole = along.reshape(len(along), -1, case.chunk)
    numbers = whole[..., 0] // case.chunk
    if not np.array_equal(whole, numbers[..., None] * case.chunk + np.arange(case.chunk)):
        return None
    return numbers if case.major == "k" else numbers.T


def spread(numbers: Array, case: DescriptorCase) -> Array:
    """Return the elements of chunks, row by row: the inverse of `chunks`."""
    lines = numbers.reshape(case.rows, -1) if case.major == "k" else numbers.reshape(-1, case.instruction.k).T
    elements = (lines[..., None] * case.chunk + np.arange(case.chunk)).reshape(len(lines), -1)
    return (elements if case.major == "k" else elements.T).ravel()


def places_read(bench: Bench, cases: Sequence[DescriptorCase]) -> list[Array]:
    """Return [rows, K] for each case, all of one instruction: the index of each element read."""
    return [
        read
        for operand, some in groupby(cases, attrgetter("operand"))
        for read in bench.reads(cases[0].instruction, operand, [case.value for case in some])
    ]


def kept(case: DescriptorCase, read: Array) -> Answered:
    """Return the recorded answers: chunks of 16 bytes if all were read whole, else single elements."""
    whole = chunks(read, case)
    return {"places": read if whole is None else whole, "whole": whole is not None}


def judge_descriptor(findings: Findings, case: DescriptorCase, row: Mapping[str, Any], read: Array) -> None:
    """Compare the place of every element with the catalogue's reads."""
    want = expected(case).ravel()

    def element(place: int) -> dict[str, list[int]]:
        return {"element": list(divmod(place, case.instruction.k))}

    def byte(index: int) -> int | None:
        return None if index == NOTHING else int(index) * case.instruction.bits // 8

    findings.hold(case, want, spread(read, case) if row["whole"] else read, element, "byte", byte)
    descriptor, this = case.descriptor, case.instruction
    unit = descriptor.mode.period
    past = descriptor.start % max(unit, BASE_UNIT)
    inside = past % descriptor.mode.width
    odd = descriptor.sbo % unit or (descriptor.lbo % unit and descriptor.lbo > CHUNK)
    findings.count(
        want.size,
        types=this.types,
        operand=f"{case.operand}, {case.major}-major",
        mode=descriptor.mode.name,
        n=this.n,
        start=f"{'inside a row of' if inside else 'at a row of'} the atom" if past else "at the pattern",
        base_offset=descriptor.base_offset,
        strides=f"{'not ' if odd else ''}multiples of the pattern",
        reserved_bits="some set" if case.reserved else "none set",
    )


def _ask(bench: Bench, cases: list[DescriptorCase]) -> Iterator[Answered]:
    return map(kept, cases, places_read(bench, cases))


# -- the end of shared memory ----------------------------------------------------------------------

OUTSIDE = 700
"""The CUresult of an address outside every block."""

INSIDE, PAST, WHOLE = "inside", "past with a part of a core matrix", "past with a whole core matrix"


def reach(case: DescriptorCase) -> str:
    """Return INSIDE, PAST the end with a part of a core matrix, or past it with a WHOLE one."""
    past = expected(case) * case.instruction.bits // 8 >= END
    deep, wide = (ROWS, case.chunk) if case.major == "k" else (case.chunk, ROWS)
    rows, columns = past.shape
    whole = past.reshape(rows // deep, deep, columns // wide, wide).all(axis=(1, 3))
    return WHOLE if whole.any() else PAST if past.any() else INSIDE


def read_alone(case: DescriptorCase) -> Array:
    """Return [rows, K] of one case; a fault may end the process."""
    return places_read(Bench.of([case.instruction], told=lambda done, total: None), [case])[0]


def _ask_at_the_end(cases: Sequence[DescriptorCase], told: Progress) -> Iterator[Answered]:
    for result, read in alone(read_alone, cases, told):
        if result not in (0, OUTSIDE):
            raise RuntimeError(f"it ends with {result_name(result)}")
        yield {"places": [] if read is None else read, "faults": read is None}


def judge_end(findings: Findings, case: DescriptorCase, row: Mapping[str, Any], read: Array) -> None:
    """Compare reads and faults at the end of shared memory with the tables.

    If only a part of a core matrix is past the end, the device may fault or not: no document specifies it.
    """
    faults = row["faults"]
    want, far = expected(case), reach(case)
    byte = want * case.instruction.bits // 8
    wrong = {
        (WHOLE, False): "it goes past the end of shared memory, and the device did not fault",
        (INSIDE, True): "it stays inside shared memory, and the device faulted",
    }
    if (far, faults) in wrong:
        findings.differs(case, wrong[far, faults], last=int(byte.max()), end=END)
    elif not faults and not np.array_equal(np.where(byte < END, want, NOTHING).ravel(), read):
        findings.differs(case, "other elements are read than the catalogue has")
    fault = f"{far}: {'a fault' if faults else 'no fault'}"
    findings.count(max(1, len(read)), mode=case.descriptor.mode.name, reach=fault)


def _descriptors(name: str, title: str, ask: Any, judge: Any) -> Part:
    return Part(f"descriptors.{name}", f"wgmma{title}", ("places",), DescriptorCase.of, ask, judge)


PARTS = (
    *map(_fragments, "DA"),
    *(
        _descriptors(
            dtype,
            f", {dtype}: the byte that is read for every element, by descriptors legal and odd",
            partial(measured, device=Bench, probe=attrgetter("instruction"), ask=_ask),
            judge_descriptor,
        )
        for dtype in INPUTS
    ),
    _descriptors(
        "end",
        ": what ends with shared memory is read, what goes past it faults, nothing wraps around",
        _ask_at_the_end,
        judge_end,
    ),
)
"""D and A in registers, descriptors by the type of A, and descriptors at the end of shared memory."""
