"""mfma's table, put to LLVM: what gfx942 has, in how many registers, and which builtin is which instruction.

Triton brings LLVM's assembler and its compiler for AMD's GPUs; a process of its own asks them.
"""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from itertools import product

import pytest

from tilewise.core.dtypes import DType
from tilewise.hardware.mfma.instructions import (
    ELSEWHERE,
    BlockInstruction,
    BlockShape,
    amd_name,
    instructions,
)

pytestmark = pytest.mark.oracle

SCRIPT = """
import json, sys
from triton._C import libtriton
from triton._C.libtriton import amd, llvm
llvm.init_targets()
asked = json.load(sys.stdin)
taken = [bool(amd.assemble_amdgcn(text, "amdgcn-amd-amdhsa", arch, "")) for arch, text in asked["assembled"]]
made = [llvm.translate_to_asm(text, "amdgcn-amd-amdhsa", "gfx942", "", [], False, False, False)
        for text in asked["compiled"]]
print(json.dumps([taken, made]))
"""

LLVM_TYPES = {
    ("f16", 64): "<4 x half>",
    ("bf16", 64): "<4 x i16>",
    ("f32", 32): "float",
    ("xf32", 64): "<2 x float>",
    ("f64", 64): "double",
    ("s8", 32): "i32",
    ("s8", 64): "i64",
    ("e4m3fnuz", 64): "i64",
    ("e5m2fnuz", 64): "i64",
}
"""{(type, bits of a lane): what the intrinsics take}."""


def llvm(assembled=(), compiled=()):
    """([whether (architecture, text) is assembled], [what texts of LLVM IR become])."""
    if find_spec("triton") is None:
        pytest.skip("triton, which brings LLVM, is not installed")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps({"assembled": [*assembled], "compiled": [*compiled]}),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def run(file, first, count):
    """So many registers of a file: v4, or a[4:7]."""
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"


def statement(this, counts=None, files="vvv", first=0):
    """The instruction with registers: D and C the same, then A, then B."""
    counts = counts or {operand: this.registers(operand) for operand in "ABD"}
    begin = {"D": first, "A": 64, "B": 72}
    d, a, b = (run(file, begin[name], counts[name]) for file, name in zip(files, "DAB", strict=True))
    return f"{this} {d}, {a}, {b}, {d}"


def test_gfx942_has_every_instruction_of_the_table():
    """And takes each operand in VGPRs or AccVGPRs."""
    files = ("vvv", "avv", "vaa", "aaa")
    every = [statement(this, files=those) for this in instructions() for those in files]
    taken, _ = llvm([("gfx942", text) for text in every])
    assert [text for text, good in zip(every, taken, strict=True) if not good] == []


def test_it_takes_as_many_registers_as_the_table_says():
    """Neither half as many nor twice as many, of any operand."""
    wrong = []
    for this, operand, factor in product(instructions(), "ABD", (0.5, 2)):
        counts = {name: this.registers(name) for name in "ABD"}
        counts[operand] = int(counts[operand] * factor)
        if counts[operand]:
            wrong.append(statement(this, counts))
    taken, _ = llvm([("gfx942", text) for text in wrong])
    assert [text for text, good in zip(wrong, taken, strict=True) if good] == []


def test_several_registers_begin_at_an_even_one_and_c_is_where_d_is():
    this = instructions("32x32x8", "f16")[0]
    apart = f"{this} v[0:15], v[64:65], v[66:67], a[0:15]"
    texts = [statement(this), statement(this, first=1), apart]
    assert llvm([("gfx942", text) for text in texts])[0] == [True, False, False]


def candidates():
    """Every shape and number of blocks with every type, and the registers that it would have."""
    shapes = [(m, k) for m in (4, 16, 32) for k in (1, 2, 4, 8, 16, 32, 64, 128)]
    types = {"f32": "f32", "f16": "f32", "bf16": "f32", "s8": "s32", "xf32": "f32", "f64": "f64"}
    types |= {"e4m3fnuz": "f32", "e5m2fnuz": "f32"}
    for (m, k), blocks, (dtype, result) in product(shapes, (1, 2, 4, 16), types.items()):
        this = BlockInstruction(BlockShape(m, m, k), blocks, dtype, dtype, result, 0)
        if all(this.registers(operand) for operand in "ABD") and this.registers("D") <= 64:
            yield this


def test_it_has_nothing_else():
    every = {str(this): this for this in candidates()}
    taken, _ = llvm([("gfx942", statement(this)) for this in every.values()])
    found = {name for name, good in zip(every, taken, strict=True) if good}
    assert found == {str(this) for this in instructions() if this.a == this.b}


def test_who_else_has_what_is_said_of_others():
    """gfx950 has what the table says of CDNA4, gfx90a what it says of CDNA2, in the spelling of its time."""
    asked = []
    for (word, dtype), said in ELSEWHERE.items():
        shape, old = BlockShape.of(word), "CDNA2" in said
        blocks = {32: 2, 16: 4, 4: 16}[shape.m] if shape.k == 2 else 1
        this = BlockInstruction(shape, blocks, dtype, dtype, "s32" if dtype == "s8" else "f32", 0)
        text = statement(this)
        if old:
            text = re.sub(r"^\S+", f"v_mfma_{amd_name(this.d)}_{shape}{amd_name(dtype)}", text)
        asked.append(("gfx90a" if old else "gfx950", text))
    taken, _ = llvm([*asked, *(("gfx942", text) for _, text in asked)])
    assert [text for text, good in zip(asked, taken, strict=False) if not good] == []
    assert not any(taken[len(asked) :])


def compiled(this):
    """A function that calls the intrinsic of a builtin."""
    name = this.builtin.replace("__builtin_amdgcn_mfma_", "")
    name = re.sub(r"_(?=1k$|[a-z]+\d*(_|$)|\d+x)", ".", name)
    bits = {operand: this.registers(operand) * 32 for operand in "AB"}
    a, b = LLVM_TYPES[this.a, bits["A"]], LLVM_TYPES[this.b, bits["B"]]
    element = {"f32": "float", "s32": "i32", "f64": "double"}[this.d]
    many = this.registers("D") * 32 // DType.of(this.d).bits
    d = f"<{many} x {element}>" if many > 1 else element
    call = f"@llvm.amdgcn.mfma.{name}({a} %a, {b} %b, {d} %c, i32 0, i32 0, i32 0)"
    declared = f"@llvm.amdgcn.mfma.{name}({a}, {b}, {d}, i32 immarg, i32 immarg, i32 immarg)"
    return (
        f"declare {d} {declared}\n"
        f"define amdgpu_kernel void @f(ptr addrspace(1) %p, {a} %a, {b} %b) {{\n"
        f"  %c = load {d}, ptr addrspace(1) %p\n  %d = call {d} {call}\n"
        f"  store {d} %d, ptr addrspace(1) %p\n  ret void\n}}\n"
    )


def test_builtins_are_the_instructions():
    """Clang's builtins are LLVM's intrinsics, with dots for some of the signs."""
    _, made = llvm(compiled=[compiled(this) for this in instructions()])
    assert [re.findall(r"v_mfma_\w+", text) for text in made] == [[str(this)] for this in instructions()]
