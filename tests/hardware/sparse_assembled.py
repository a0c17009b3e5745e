"""Sparse and block-scaled mma put to the assembler: what there is and what there might be."""

from dataclasses import dataclass
from itertools import chain, product

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s4": 4, "u4": 4, "f32": 32, "s32": 32}
PLAIN = ("f16", "bf16", "tf32", "s8", "u8", "s4", "u4")
FLOAT8 = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
KINDS = ("f8f6f4", "mxf8f6f4", "mxf4", "mxf4nvf4")


@dataclass(frozen=True)
class Candidate:
    """One mma that may exist or not: with sparse A, of a kind, with scales, or all of them."""

    k: int
    a: str
    b: str
    d: str
    sparse: str = ""
    kind: str = ""
    vector: str = ""
    scales: str = ""
    selector: int = 0
    selectors: tuple[int, int, int, int] = (0, 0, 0, 0)

    def __str__(self):
        words = f"mma{self.sparse}.sync.aligned.m16n8k{self.k}.row.col"
        words += f".kind::{self.kind}" * bool(self.kind) + f".block_scale.scale_vec::{self.vector}" * bool(
            self.vector
        )
        return f"{words}.{self.d}.{self.a}.{self.b}.{self.d}" + f".{self.scales}" * bool(self.scales)

    def registers(self, operand):
        """32-bit registers of an operand."""
        taken = 8 if self.kind in ("f8f6f4", "mxf8f6f4") else 4 if self.a == "e2m1" else BITS.get(self.a, 8)
        return {
            "a": 16 * self.k * taken // (2 if self.sparse else 1) // 1024,
            "b": 8 * self.k * taken // 1024,
            "d": 2 if self.d == "f16" else 4,
            "c": 2 if self.d == "f16" else 4,
        }[operand]


def statement(this):
    """One candidate on registers of its own, whose values are whatever they are."""
    declared, operands = [".reg .b32 e; .reg .b32 s<2>;"], []
    for operand in "dabc":
        word = "f32" if operand in "dc" and this.d == "f32" else "b32"
        count = max(1, this.registers(operand))
        declared.append(f".reg .{word} {operand}<{count}>;")
        operands.append("{" + ", ".join(f"{operand}{i}" for i in range(count)) + "}")
    if this.sparse:
        operands += ["e", str(this.selector)]
    if this.vector:
        byte_a, thread_a, byte_b, thread_b = this.selectors
        operands += ["s0", f"{{{byte_a}, {thread_a}}}", "s1", f"{{{byte_b}, {thread_b}}}"]
    return f'asm volatile("{{ {" ".join(declared)} {this} {", ".join(operands)}; }}");'


def whole_kernel(number, this):
    """A kernel that multiplies what it reads and writes what comes out, so that nothing is dropped."""
    lines, into, read, names = [], [], [], []
    for operand in "dabc":
        word, letter = ("float", "f") if operand in "dc" and this.d == "f32" else ("unsigned", "r")
        count = max(1, this.registers(operand))
        for i in range(count):
            one = f"{operand}{i}"
            lines.append(f"{word} {one} = *(volatile {word}*)from;")
            (into if operand == "d" else read).append(f'"{"=" * (operand == "d")}{letter}"({one})')
        names.append([f"{operand}{i}" for i in range(count)])
    lines += [f"unsigned {one} = *(volatile unsigned*)from;" for one in ("e0", "s0", "s1")]
    read += ['"r"(e0)', '"r"(s0)', '"r"(s1)']
    at = {one: f"%{number}" for number, one in enumerate([*chain(*names), "e0", "s0", "s1"])}
    operands = ["{" + ", ".join(at[one] for one in several) + "}" for several in names]
    operands += [at["e0"], "0"] * bool(this.sparse)
    operands += [at["s0"], "{0, 0}", at["s1"], "{0, 0}"] * bool(this.vector)
    asm = f'asm volatile("{this} {", ".join(operands)};" : {", ".join(into)} : {", ".join(read)});'
    write = [f"*(volatile {'float' if this.d == 'f32' else 'unsigned'}*)to = {one};" for one in names[0]]
    body = " ".join([*lines, asm, *write])
    return f'extern "C" __global__ void kernel{number}(void* to, void* from) {{ {body} }}'


def without_kind():
    """Every K with every type, sparse."""
    for sparse, name in product((".sp", ".sp::ordered_metadata"), (*PLAIN, *FLOAT8)):
        pairs = [(name, name)]
        pairs += [("s8", "u8")] if name == "s8" else [("s4", "u4")] if name == "s4" else []
        pairs += [("e4m3", "e5m2")] if name == "e4m3" else [("f16", "bf16")] if name == "f16" else []
        results = ("s32",) if name in ("s8", "u8", "s4", "u4") else ("f16", "f32")
        for k, (a, b), d in product((8, 16, 32, 64, 128), pairs, results):
            yield Candidate(k, a, b, d, sparse)


def of_kinds():
    """Every kind with types of each width, every scaling and result, dense and sparse."""
    scalings = [("", ""), *product(("1X", "2X", "4X"), ("ue8m0", "ue4m3"))]
    for sparse, kind, (vector, scales) in product(("", ".sp", ".sp::ordered_metadata"), KINDS, scalings):
        for k, (a, b), d in product((32, 64, 128), some_pairs(), ("f16", "f32")):
            yield Candidate(k, a, b, d, sparse, kind, vector, scales)


def some_pairs():
    """Pairs of types: of each width one with itself, or with another of it, and one of two widths."""
    return [("e4m3", "e4m3"), ("e2m1", "e2m1"), ("e3m2", "e2m3"), ("e2m1", "e5m2")]


def takes_words_in_vain(this):
    """Return whether an assembler takes words of it that it does not heed, and that no manual has.

    Where A and B are of 8 bits and nothing scales, it takes any kind for none, also for sm_100a; and f16
    results of sparse products without the kind that has them.
    """
    eight = this.a in ("e4m3", "e5m2") and this.b in ("e4m3", "e5m2")
    return eight and not this.vector and (this.kind != "" or (this.sparse != "" and this.d == "f16"))
