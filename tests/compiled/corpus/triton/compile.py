"""The Triton kernels of the corpus, as Triton compiles them without a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import triton
from tests.compiled.corpus.launch import Argument, Launch, f16, f32, i32, null, pointer, scalar, u8
from tests.compiled.corpus.triton import products, rows, vectors
from tests.compiled.corpus.unit import Unit, entries
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

CAPABILITY = 90
ARCH = "sm_90a"
DIVISIBLE = 16
"""The divisor of pointers and integers that Triton's own launcher tests."""

TYPES = {"f16": "fp16", "f32": "fp32", "f64": "fp64", "bf16": "bf16"}
INDICES = "the data are indices"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel, how it is specialised, and how it is launched."""

    function: Any
    grid: tuple[int, ...]
    args: tuple[Argument | int, ...]
    constants: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    warps: int = 4
    stages: int = 3
    note: str = ""


def kernels() -> list[Kernel]:
    """Return all of them."""
    m16, m32 = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}, {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}
    ln = f32(12 * 500)
    rows_of = i32(5, below=150, sorted=True)
    return [
        Kernel(vectors.vector_add, (3,), (f32(2896), f32(2896), f32(2896), 2896), {"BLOCK": 1024}),
        Kernel(
            vectors.vector_add,
            (3,),
            (f16(5003), f16(5003), f16(5003), 5003),
            {"BLOCK": 2048},
            name="vector_add_f16",
        ),
        Kernel(
            vectors.dropout, (3,), (f32(2500), f32(2500), 2500, scalar("f32", 0.5), 1234), {"BLOCK": 1024}
        ),
        Kernel(
            vectors.embedding,
            (12,),
            (f32(40 * 200), i32(12, below=40), f32(12 * 200), 200),
            {"BLOCK": 256},
            note=INDICES,
        ),
        Kernel(
            vectors.gather_elements,
            (4,),
            (f32(5000), i32(2000, below=5000), f32(2000), 2000),
            {"BLOCK": 512},
            note=INDICES,
        ),
        Kernel(
            vectors.histogram,
            (3,),
            (u8(3000), i32(256), 3000),
            {"BINS": 256, "BLOCK": 1024},
            note=INDICES,
        ),
        Kernel(vectors.swiglu, (6,), (f16(6 * 2 * 600), f16(6 * 600), 600), {"BLOCK": 256}),
        Kernel(
            vectors.quantise_rows,
            (8,),
            (f16(8 * 400), pointer("i8", 8 * 400), f32(8), 400),
            {"BLOCK": 512},
        ),
        Kernel(
            rows.softmax, (4,), (f32(10 * 300), f32(10 * 300), 300, 300, 10, 300), {"BLOCK": 512}, warps=8
        ),
        Kernel(
            rows.layer_norm,
            (12,),
            (ln, ln, f32(500), f32(500), f32(12), f32(12), 500, 500, scalar("f32", 1e-5)),
            {"BLOCK": 256},
        ),
        Kernel(
            rows.layer_norm_dx,
            (12,),
            (ln, ln, ln, f32(500), f32(12), f32(12), 500, 500),
            {"BLOCK": 512},
        ),
        Kernel(
            rows.layer_norm_dw,
            (8,),
            (ln, ln, f32(12), f32(12), f32(500), f32(500), 12, 500),
            {"ROWS": 8, "COLS": 64},
        ),
        Kernel(rows.row_sums, (4,), (f32(60 * 150), f32(60), 60, 150), {"ROWS": 16, "COLS": 64}),
        Kernel(rows.column_best, (3,), (f32(50 * 96), f32(96), i32(96), 50, 96), {"ROWS": 64, "COLS": 32}),
        Kernel(rows.cumsum_rows, (4,), (f32(16 * 200), f32(16 * 200), 200), {"ROWS": 4, "COLS": 256}),
        Kernel(rows.cumsum_columns, (4,), (f32(64 * 128), f32(64 * 128), 128), {"ROWS": 64, "COLS": 32}),
        Kernel(rows.sorted_rows, (4,), (i32(4 * 256), i32(4 * 256)), {"COLS": 256}),
        Kernel(rows.transpose, (2, 3), (f32(100 * 130), f32(100 * 130), 100, 130), {"BLOCK": 64}),
        Kernel(
            rows.transpose,
            (2, 2),
            (f16(128 * 128), f16(128 * 128), 128, 128),
            {"BLOCK": 64},
            name="transpose_f16",
        ),
        Kernel(
            rows.cross_entropy,
            (6,),
            (f32(6 * 1000), i32(6, below=1000), f32(6), 1000),
            {"BLOCK": 256},
            note=INDICES,
        ),
        Kernel(
            products.matmul,
            (4,),
            (f16(128 * 96), f16(96 * 128), f16(128 * 128), 128, 128, 96, 96, 128, 128),
            {**m16, "GROUP": 2},
            name="matmul_wgmma",
        ),
        Kernel(
            products.matmul,
            (16,),
            (f16(120 * 80), f16(80 * 128), f32(120 * 128), 120, 128, 80, 80, 128, 128),
            {**m32, "GROUP": 4},
            name="matmul_mma",
            warps=2,
        ),
        Kernel(
            products.matmul,
            (4,),
            (f32(64 * 64), f32(64 * 64), f32(64 * 64), 64, 64, 64, 64, 64, 64),
            {**m32, "GROUP": 2},
            name="matmul_tf32",
            warps=4,
            stages=2,
        ),
        Kernel(
            products.grouped_matmul,
            (5,),
            (f16(150 * 64), f16(4 * 64 * 64), f16(150 * 64), rows_of, 4, 64, 64),
            dict(m32),
            note="the groups' sizes are in the data",
        ),
        Kernel(
            products.persistent_matmul,
            (3,),
            (f16(130 * 64), f16(96 * 64), f32(96), f32(130 * 96), 130, 96, 64),
            {**m16},
        ),
        Kernel(
            products.attention,
            (2, 2),
            (*[f16(2 * 128 * 64)] * 4, 128, scalar("f32", 0.18)),
            {"BLOCK_M": 64, "BLOCK_N": 32, "WIDTH": 64, "CAUSAL": False},
        ),
        Kernel(
            products.attention,
            (3, 2),
            (*[f16(2 * 90 * 32)] * 4, 90, scalar("f32", 0.25)),
            {"BLOCK_M": 32, "BLOCK_N": 32, "WIDTH": 32, "CAUSAL": True},
            name="attention_causal",
            warps=2,
        ),
        Kernel(products.matvec, (5,), (f32(70 * 300), f32(300), f32(70), 70, 300), {"ROWS": 16, "COLS": 128}),
    ]


def units() -> Iterator[Unit]:
    """Yield what Triton makes of each kernel."""
    for kernel in kernels():
        yield unit("triton", kernel, ASTSource)


def unit(compiler: str, kernel: Kernel, make: Any) -> Unit:
    """Return what Triton makes of a kernel, and its launch with the arguments that Triton adds."""
    function = kernel.function
    plain = [name for name in function.arg_names if name not in kernel.constants]
    signature, attributes = dict.fromkeys(function.arg_names, "constexpr"), {}
    for name, arg in zip(plain, kernel.args, strict=True):
        signature[name] = type_of(arg)
        if divisible(arg):
            attributes[(function.arg_names.index(name),)] = [["tt.divisibility", DIVISIBLE]]
    source = make(fn=function, signature=signature, constexprs=kernel.constants, attrs=attributes)
    options = {"num_warps": kernel.warps, "num_stages": kernel.stages}
    made = triton.compile(source, target=GPUTarget("cuda", CAPABILITY, 32), options=options)
    ptx, name = made.asm["ptx"], kernel.name or function.__name__
    (entry,) = entries(ptx)
    added = len(re.findall(r"\.param\s", ptx[ptx.index(".entry") :].partition(")")[0])) - len(kernel.args)
    shared, threads = made.metadata.shared, 32 * made.metadata.num_warps
    args = (*kernel.args, *[null()] * added)
    launch = Launch(f"{compiler}_{name}", entry, kernel.grid, (threads,), args, shared, kernel.note)
    file = function.__module__.rpartition(".")[2]
    ttgir = re.sub(r'loc\("[^"]*/([^"/]+)"', r'loc("\1"', made.asm["ttgir"])
    return Unit(compiler, f"{compiler}/{file}.py", name, ARCH, ptx, [launch], ttgir, assembler())


def type_of(arg: Argument | int) -> str:
    """Return the type of an argument as a signature of Triton has it."""
    if isinstance(arg, int):
        return "i32"
    if arg["type"] != "ptr":
        return TYPES.get(arg["type"], arg["type"])
    return "*" + TYPES.get(arg["dtype"], arg["dtype"])


def divisible(arg: Argument | int) -> bool:
    """Return whether Triton's launcher would tell the compiler that 16 divides an argument."""
    return arg % DIVISIBLE == 0 if isinstance(arg, int) else arg["type"] == "ptr"


def assembler() -> tuple[str, ...]:
    """Return Triton's own assembler, with the options that Triton gives it."""
    from triton.backends.nvidia.compiler import get_ptxas

    return get_ptxas(CAPABILITY).path, "-lineinfo", "--regAllocOptLevel=2"


def version() -> str:
    """Return the compiler's version."""
    return f"triton {triton.__version__}"
