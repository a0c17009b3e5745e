"""One wgmma as CUDA source: a kernel whose every element of D spells bits; and the questions to a device.

The kernel knows nothing of layouts. For each bit plane it fills shared memory with one bit of each
element's own index, lays the plane's overlay (operands that the host wrote) over it, and runs its jobs:
a job is two descriptors, or registers of A and one descriptor. An element of D that comes out as one sets
the plane's bit of its word, one that comes out as zero does not, and any other value sets bit 31.

The first question is D: the operands tell its rows and columns, and they lie in memory in the plainest way
that PTX has. Then A in registers, and what descriptors read, by the elements of D that show it. That plainest
way settles the names of rows and columns; the device tells everything else.

Operands lie in shared memory without a swizzle, K-major: core matrices of 8 rows of 16 bytes, the two of a
group of rows 128 bytes apart, the groups 256.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np

from tilewise.core.layout import Layout
from tilewise.gpu.launch import Array, Session
from tilewise.gpu.probes.kernels import ONE, Kernels, packed, places, planes
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.wgmma.descriptor import LIMIT, Descriptor
from tilewise.hardware.wgmma.fragments import a_fragment, d_fragment
from tilewise.hardware.wgmma.instructions import Input, M

THREADS = 128


@dataclass(frozen=True, slots=True)
class WgmmaProbe:
    """One wgmma: types of A, B and D, N, and the majors of what it reads from shared memory.

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
        """K of the instruction, in elements."""
        return Input.of(self.a).k

    @property
    def bits(self) -> int:
        """Bits of an element of A or B."""
        return Input.of(self.a).dtype.bits

    @property
    def types(self) -> str:
        """The types in words."""
        return f"{self.a} x {self.b} -> {self.d}"

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return f"probe_{self.a}_{self.b}_{self.d}_n{self.n}_{self.a_major}_{self.b_major}"

    @property
    def planes(self) -> int:
        """Bits of an element's index in the window of shared memory, and one plane in which all are one."""
        return (LIMIT * 8 // self.bits).bit_length()

    @property
    def elements(self) -> int:
        """Elements of D that a thread holds."""
        return self.n // 2

    def __str__(self) -> str:
        types = f"m64n{self.n}k{self.k}.{self.d}.{self.a}.{self.b}"
        return f"{types} A {self.a_major}, B {self.b_major}"


def source(group: Sequence[WgmmaProbe]) -> str:
    """CUDA C++ of a kernel for each of the instructions, which all multiply the same types."""
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


def _kernel(this: WgmmaProbe) -> str:
    packed = this.d == "f16"
    registers = this.n // 4 if packed else this.n // 2
    kind = "float" if this.d == "f32" else "unsigned"
    element = {
        "f32": "__float_as_uint(d[i])",
        "s32": "d[i]",
        "f16": "(d[i / 2] >> 16 * (i % 2)) & 0xffffu",
    }[this.d]
    one = {"f32": "0x3f800000u", "s32": "1u", "f16": "0x3c00u"}[this.d]
    takes_registers = this.a_major == "k"
    forms = [_multiply(this, kind, registers, from_registers=False)]
    forms.append(_multiply(this, kind, registers, from_registers=True) if takes_registers else _NO_FORM)
    return "\n".join(
        [
            f"struct {this.kernel}_wgmma {{",
            f"    using Register = {kind};",
            f"    static constexpr int registers = {registers}, elements = {this.elements};",
            f"    static constexpr unsigned one = {one};",
            f"    static constexpr bool takes_registers = {str(takes_registers).lower()};",
            f"    static __device__ unsigned element(const Register* d, int i) {{ return {element}; }}",
            *forms,
            "    static __device__ void settle(Register* d) {  // no use of D moves above the wait",
            f'        asm volatile("" : {_registers_of(kind, registers)} :: "memory");',
            "    }",
            "};",
            f'extern "C" __global__ void __launch_bounds__(THREADS, 1) {this.kernel}({_PARAMETERS}) {{',
            f"    probe<{this.kernel}_wgmma>({_ARGUMENTS});",
            "}",
        ]
    )


_NO_FORM = (
    "    static __device__ void multiply(Register*, uint4, unsigned long long) {}  // registers are K-major"
)
_PARAMETER_TYPES = {
    "a": "const unsigned long long*",
    "b": "const unsigned long long*",
    "selected": "const unsigned*",
    "jobs": "int",
    "registers": "const uint4*",
    "registers_each": "int",
    "overlay": "const uint4*",
    "overlay_chunks": "int",
    "overlay_each": "int",
    "overlay_at": "unsigned",
    "planes": "int",
    "from_registers": "int",
    "out": "unsigned*",
}
_PARAMETERS = ", ".join(f"{kind} {name}" for name, kind in _PARAMETER_TYPES.items())
_ARGUMENTS = ", ".join(_PARAMETER_TYPES)


def _registers_of(kind: str, count: int) -> str:
    """D as operands that are read and written."""
    letter = "f" if kind == "float" else "r"
    return ", ".join(f'"+{letter}"(d[{i}])' for i in range(count))


def _multiply(this: WgmmaProbe, kind: str, registers: int, *, from_registers: bool) -> str:
    outs = ", ".join(f"%{i}" for i in range(registers))
    wide = 4 if from_registers else 1
    a = ", ".join(f"%{registers + i}" for i in range(wide))
    a = f"{{{a}}}" if from_registers else a
    b, scale = f"%{registers + wide}", f"%{registers + wide + 1}"
    kinds = f"{this.d}.{this.a}.{this.b}" + (".and.popc" if this.a == "b1" else "")
    text = (
        f"wgmma.mma_async.sync.aligned.m64n{this.n}k{this.k}.{kinds} {{{outs}}}, {a}, {b}, p"
        f"{_immediates(this, from_registers)};"
    )
    takes = "uint4 a" if from_registers else "unsigned long long a"
    gives = [f'"r"(a.{part})' for part in "xyzw"] if from_registers else ['"l"(a)']
    gives += ['"l"(b)', '"r"(0)']
    results = _registers_of(kind, registers)
    return (
        f"    static __device__ void multiply(Register* d, {takes}, unsigned long long b) {{\n"
        f'        asm volatile("{{ .reg .pred p; setp.ne.b32 p, {scale}, 0; {text} }}"\n'
        f"            : {results}\n"
        f"            : {', '.join(gives)});\n"
        "    }"
    )


def _immediates(this: WgmmaProbe, from_registers: bool) -> str:
    """Scales of A and B, then transpose bits, as far as the types have them."""
    if this.d == "s32":
        return ""
    words = ["1", "1"]
    if "mn" in Input.of(this.a).majors:
        bits = {"k": "0", "mn": "1"}
        words += [bits[this.b_major]] if from_registers else [bits[this.a_major], bits[this.b_major]]
    return "".join(f", {word}" for word in words)


# -- the questions ---------------------------------------------------------------------------------

BASE = 1024
"""The address at which the driver puts dynamic shared memory; the probe checks it."""

END = BASE + SHARED_BYTES

AREA = END - 16 * 1024
"""The address of the B that picks columns of A: above all that descriptors of A read."""

ROW_BYTES, GROUP, CORE = 32, 256, 128
ROW_BITS, COLUMN_BITS = 6, 8
BLOCKS = 132

NOTHING = -1
"""An element, or a register, that spells no single place."""


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
        """Raise RuntimeError where shared memory begins elsewhere: descriptors are counted from there."""
        kernel = session.kernel(code, "shared_memory", shared=SHARED_BYTES)
        out = session.empty(8)
        kernel(1, 1, out)
        start, size = session.download(out, "<u4", (2,)).tolist()
        if (start, size) != (BASE, SHARED_BYTES):
            wanted = f"{BASE}, {SHARED_BYTES}"
            raise RuntimeError(f"shared memory begins at {start} with {size} bytes, not {wanted}")

    def d(self, this: WgmmaProbe) -> Array:
        """Return [thread, register]: the flat index of the element of D that each register holds.

        Row m of A and row n of B hold a bit of their code, at k = 0 alone: B is one there in the planes of
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
        """Return [descriptor, rows, K]: the index of each element that the operand is read from.

        Indices count from address 0 on; NOTHING where no single element was read.
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
        a: Sequence[int] | Array | None = None,
        rows: Array | None = None,
        *,
        planes: int,
        registers: Array | None = None,
        overlay: Array | None = None,
        at: int = BASE,
    ) -> Array:
        """Return the words of D, [job, register, thread].

        A job is a descriptor of B, and one of A or the number of a row of registers. `registers` are
        [row, thread, 4], or [plane, row, thread, 4]; `overlay` is [words], or [plane, words], and lies from
        the address `at` on.
        """
        jobs = len(b)
        held = np.zeros((1, THREADS, 4), np.uint32) if registers is None else registers
        laid = np.zeros(0, np.uint32) if overlay is None else overlay
        chunks = laid.shape[-1] // 4
        given = [
            np.asarray(np.zeros(jobs) if a is None else a, np.uint64),
            np.asarray(b, np.uint64),
            np.asarray(np.zeros(jobs) if rows is None else rows, np.uint32),
            np.int32(jobs),
            held,
            np.int32(held.shape[1] if held.ndim == 4 else 0),
            laid,
            np.int32(chunks),
            np.int32(chunks if laid.ndim == 2 else 0),
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

    Row n of the s-th has a one at k = n + N s, and nothing else; the last may have rows of nothing.
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
    """Return the thread and the register of every element, as the catalogue has it."""
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
    """Return the number that each word spells in `bits` planes; NOTHING where the last plane is not there.

    >>> spelled(np.array([0b1010, 0b0010, 0b11010]), 3).tolist()
    [2, -1, -1]
    """
    return np.where(words >> bits == 1, (words & (1 << bits) - 1).astype(np.int64), NOTHING)
