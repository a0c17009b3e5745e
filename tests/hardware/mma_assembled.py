"""mma.sync put to the assembler: every shape with every pair of types, and what becomes of them."""

import re
import struct
from collections import Counter
from dataclasses import dataclass
from itertools import product

from tests.codegen import nvrtc

BITS = {"f64": 64, "f32": 32, "s32": 32, "tf32": 32, "f16": 16, "bf16": 16, "b1": 1}
BITS |= dict.fromkeys(("e4m3", "e5m2", "s8", "u8", "e3m2", "e2m3"), 8) | dict.fromkeys(
    ("s4", "u4", "e2m1"), 4
)
SHAPES = [(8, 8, k) for k in (4, 8, 16, 32, 64, 128)] + [(16, 8, k) for k in (4, 8, 16, 32, 64, 128, 256)]
PAIRS = [
    *((name, name) for name in ("f16", "bf16", "tf32", "f64", "b1", "f32", "e3m2", "e2m1")),
    *product(("e4m3", "e5m2"), repeat=2),
    *product(("s8", "u8"), repeat=2),
    *product(("s4", "u4"), repeat=2),
    *(("f16", "bf16"), ("bf16", "tf32"), ("s8", "s4"), ("e4m3", "e3m2")),
]
FLOATS = [("f16", "f16"), ("f16", "f32"), ("f32", "f16"), ("f32", "f32")]


@dataclass(frozen=True)
class Candidate:
    """One mma.sync that may exist or not."""

    shape: tuple[int, int, int]
    a: str
    b: str
    d: str
    c: str
    majors: tuple[str, str] = ("row", "col")
    op: str = ""

    def __str__(self):
        m, n, k = self.shape
        words = f"m{m}n{n}k{k}.{self.majors[0]}.{self.majors[1]}.{self.d}.{self.a}.{self.b}.{self.c}"
        return f"mma.sync.aligned.{words}" + (f".{self.op}" if self.op else "")

    def registers(self, operand):
        """Return the number of registers that an operand takes, and their kind."""
        m, n, k = self.shape
        dtype = getattr(self, operand)
        kind = "f64" if dtype == "f64" else "f32" if dtype == "f32" and operand in "dc" else "b32"
        if self.shape == (8, 8, 4) and self.a == "f16":
            return kind, 2 if operand in "ab" else {"f16": 4, "f32": 8}.get(dtype, 4)
        elements = {"a": m * k, "b": n * k, "c": m * n, "d": m * n}[operand] // 32
        return kind, max(1, elements * min(BITS[dtype], 32) // 32)


def candidates():
    """Every shape with every pair, each with every result that anything of its kind has."""
    for shape, (a, b) in product(SHAPES, PAIRS):
        integers = a in ("s8", "u8", "s4", "u4", "b1")
        results = [("s32", "s32")] if integers else [("f64", "f64")] if a == "f64" else FLOATS
        results = [*results, ("bf16", "bf16")] if a == "bf16" else results
        volta = shape == (8, 8, 4) and a in ("f16", "f64")
        majors = list(product(("row", "col"), repeat=2)) if volta else [("row", "col")]
        ops = ("xor.popc", "and.popc", "or.popc") if a == "b1" else ("",)
        for (d, c), major, op in product(results, majors, ops):
            yield Candidate(shape, a, b, d, c, major, op)


def statement(this):
    """One candidate on registers of its own, whose values are whatever they are."""
    declared, operands = [], []
    for operand in "dabc":
        kind, count = this.registers(operand)
        declared.append(f".reg .{kind} {operand}<{count}>;")
        operands.append("{" + ", ".join(f"{operand}{i}" for i in range(count)) + "}")
    return f'asm volatile("{{ {" ".join(declared)} {this} {", ".join(operands)}; }}");'


LINE = re.compile(r"line (\d+); error")
NUMBER = re.compile(r"// candidate (\d+)")


def taken(library, arch, some, statement=statement):
    """Return those of some candidates that an architecture has: the assembler names the lines of all others.

    It tells some faults only where there are no others, so it runs until it finds none. The lines are
    those of the PTX; where a library warns of an old architecture, it is that of the next. All stand in one
    kernel, each with its number beside it, for a kernel takes a compiler longer than what is in it.
    """
    left = list(some)
    while left:
        lines = "\n".join(numbered(statement(this), number) for number, this in enumerate(left))
        source = f"__global__ void kernel() {{\n{lines}\n}}"
        try:
            nvrtc.compile_to_cubin(library, source, f"--gpu-architecture={arch}")
        except AssertionError as error:
            said = str(error)
        else:
            return left
        virtual = {"sm_70": "compute_75", "sm_72": "compute_75"}.get(arch, arch.replace("sm", "compute"))
        ptx = nvrtc.compile_to_ptx(library, source, f"--gpu-architecture={virtual}").splitlines()
        bad = {int(NUMBER.search(ptx[int(line) - 1])[1]) for line in LINE.findall(said)}
        assert bad, said
        left = [this for number, this in enumerate(left) if number not in bad]
    return left


def numbered(statement, number):
    """A statement with a number in a comment that stays on its line of the PTX."""
    head, end, tail = statement.rpartition('");')
    assert end
    assert not tail
    return f"{head} // candidate {number}{end}"


# -- what the machine is told ----------------------------------------------------------------------

UNITS = {0x236: "HMMA", 0x23C: "HMMA", 0x237: "IMMA", 0x23D: "BMMA", 0x23F: "DMMA", 0x27A: "QMMA"}
"""Opcodes of the tensor cores, the low 12 bits of an instruction's 16 bytes."""
_TYPES = {"b32": ("unsigned", "r"), "f32": ("float", "f"), "f64": ("double", "d")}
"""{register: (its type in C, its letter in a constraint)}."""


def whole_kernel(number, this):
    """A kernel that multiplies what it reads and writes what comes out, so that nothing is dropped."""
    held, read, write, names, bound = [], [], [], [], {"d": [], "abc": []}
    for at, operand in enumerate("dabc"):
        kind, count = this.registers(operand)
        word, letter = _TYPES[kind]
        slots = range(sum(map(len, bound.values())), sum(map(len, bound.values())) + count)
        names.append("{" + ", ".join(f"%{slot}" for slot in slots) + "}")
        held.append(f"{word} {operand}[{count}];")
        for i in range(count):
            if operand == "d":
                write.append(f"((volatile {word}*)to)[{i}] = d[{i}];")
                bound["d"].append(f'"={letter}"(d[{i}])')
            else:
                read.append(f"{operand}[{i}] = ((volatile {word}*)from)[{64 * at + i}];")
                bound["abc"].append(f'"{letter}"({operand}[{i}])')
    asm = f'asm volatile("{this} {", ".join(names)};" : {", ".join(bound["d"])} : {", ".join(bound["abc"])});'
    body = " ".join([*held, *read, asm, *write])
    return f'extern "C" __global__ void kernel{number}(void* to, void* from) {{ {body} }}'


def units(library, arch, some):
    """[{unit of the tensor cores: how many instructions}] of candidates that the architecture has."""
    return [Counter(unit_of(code)) for code in codes(library, arch, some)]


def codes(library, arch, some, whole_kernel=whole_kernel):
    """[the machine code of a kernel around it] of candidates that the architecture has."""
    source = "\n".join(map(whole_kernel, range(len(some)), some))
    cubin, _ = nvrtc.compile_to_cubin(library, source, f"--gpu-architecture={arch}")
    code = dict(sections(cubin))
    return [code[f".text.kernel{number}"] for number in range(len(some))]


def unit_of(code):
    """The units of the instructions of a section, in order, those of the tensor cores alone."""
    opcodes = (int.from_bytes(code[at : at + 2], "little") & 0xFFF for at in range(0, len(code), 16))
    return [UNITS[opcode] for opcode in opcodes if opcode in UNITS]


def sections(elf):
    """(name, bytes) of every section of an ELF file of 64 bits."""
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<3H", elf, 0x3A)
    heads = [struct.unpack_from("<2I4Q", elf, table + size * number) for number in range(count)]
    start = heads[names][4]
    for name, _, _, _, offset, length in heads:
        end = elf.index(b"\0", start + name)
        yield elf[start + name : end].decode(), elf[offset : offset + length]
