"""One wgmma as CUDA source: a kernel whose every element of D spells bits.

The kernel knows nothing of layouts. For each bit plane it fills shared memory with one bit of each
element's own index, lays the plane's overlay (operands that the host wrote) over it, and runs its jobs:
a job is two descriptors, or registers of A and one descriptor. An element of D that comes out as one sets
the plane's bit of its word, one that comes out as zero does not, and any other value sets bit 31.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewise.gpu.probes.kernels import ONE
from tilewise.hardware.wgmma.descriptor import LIMIT
from tilewise.hardware.wgmma.instructions import Input

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
