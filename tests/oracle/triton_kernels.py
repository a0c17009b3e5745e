"""Kernels as Triton compiles them for every target, down to TTGIR, printed as JSON by a process of its own.

The kernels are plain ones of every kind: products, softmax, the backward pass of a layer norm, attention, a
transposition, sums. It runs under every Triton since 3.0, for each prints something else. No GPU is needed.

    python tests/oracle/triton_kernels.py >dumps.json   {"triton": version, "dumps": {"kernel, target": text}}
    python tests/oracle/triton_kernels.py cuda:90 gfx942 >dumps.json
    python tests/oracle/triton_kernels.py "cuda:90 2 CTAs" >dumps.json
"""

# ruff: noqa: N803 - constants of kernels are capitals

from __future__ import annotations

import json
import os
import sys
import tempfile

os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
os.environ["TRITON_ALWAYS_COMPILE"] = "1"
os.environ.setdefault("TRITON_HIP_LLD_PATH", sys.executable)  # Triton wants a linker, which goes unused

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from triton.compiler.compiler import make_backend

TARGETS = (
    *(f"cuda:{version}" for version in (75, 80, 90, 100, 120)),
    *("cuda:90 2 CTAs", "cuda:100 2 CTAs"),
    *("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"),
)


@triton.jit
def matmul(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    pa, pb = a + m[:, None] * K + k[None, :], b + k[:, None] * N + n[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(pa), tl.load(pb), total)
        pa += BK
        pb += BK * N
    tl.store(c + m[:, None] * N + n[None, :], total.to(tl.float16))


@triton.jit
def softmax(x, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    row = tl.load(x + at)
    power = tl.exp(row - tl.max(row, axis=0))
    tl.store(y + at, power / tl.sum(power, axis=0))


@triton.jit
def layernorm_backward(dy, x, w, dx, dw, mean, rstd, M, N: tl.constexpr, ROWS: tl.constexpr):
    cols, total = tl.arange(0, N), tl.zeros((ROWS, N), dtype=tl.float32)
    for first in range(0, M, ROWS):
        rows = first + tl.arange(0, ROWS)
        at, inside = rows[:, None] * N + cols[None, :], rows[:, None] < M
        scale, shift = tl.load(rstd + rows), tl.load(mean + rows)
        hat = (tl.load(x + at, mask=inside, other=0.0).to(tl.float32) - shift[:, None]) * scale[:, None]
        grad = tl.load(dy + at, mask=inside, other=0.0).to(tl.float32)
        part = grad * tl.load(w + cols)[None, :]
        along, across = tl.sum(hat * part, axis=1) / N, tl.sum(part, axis=1) / N
        tl.store(dx + at, (part - hat * along[:, None] - across[:, None]) * scale[:, None], mask=inside)
        total += grad * hat
    tl.store(dw + cols, tl.sum(total, axis=0))


@triton.jit
def attention(q, k, v, o, L, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    query = tl.load(q + m[:, None] * D + d[None, :])
    most, norm = tl.full((M,), -1e30, tl.float32), tl.zeros((M,), tl.float32)
    total = tl.zeros((M, D), tl.float32)
    for first in range(0, L, N):
        at = (first + n)[:, None] * D + d[None, :]
        scores = tl.dot(query, tl.trans(tl.load(k + at)))
        highest = tl.maximum(most, tl.max(scores, axis=1))
        weights = tl.exp(scores - highest[:, None])
        fade = tl.exp(most - highest)
        norm = norm * fade + tl.sum(weights, axis=1)
        total = tl.dot(weights.to(tl.float16), tl.load(v + at), total * fade[:, None])
        most = highest
    tl.store(o + m[:, None] * D + d[None, :], (total / norm[:, None]).to(tl.float16))


@triton.jit
def transpose(x, y, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    tile = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(y + n[:, None] * M + m[None, :], tl.trans(tile))


@triton.jit
def sums(x, rows, columns, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    tile = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(rows + m, tl.sum(tile, axis=1))
    tl.store(columns + n, tl.sum(tile, axis=0))


KERNELS = {
    "matmul f16": (matmul, "a b c", "*fp16", {"M": 128, "N": 64, "BK": 32}),
    "matmul f32": (matmul, "a b c", "*fp32", {"M": 64, "N": 64, "BK": 32}),
    "matmul f8": (matmul, "a b c", "*fp8e5", {"M": 64, "N": 128, "BK": 64}),
    "softmax": (softmax, "x y", "*fp32", {"N": 2048}),
    "layernorm backward": (layernorm_backward, "dy x w dx dw mean rstd", "*fp32", {"N": 256, "ROWS": 16}),
    "attention": (attention, "q k v o", "*fp16", {"M": 64, "N": 64, "D": 64}),
    "transpose f16": (transpose, "x y", "*fp16", {"M": 64, "N": 64}),
    "transpose f32": (transpose, "x y", "*fp32", {"M": 32, "N": 128}),
    "sums": (sums, "x rows columns", "*fp32", {"M": 64, "N": 128}),
}
"""{name: (kernel, its pointers, their type, its constants)}."""


class Compiled(Exception):
    """The TTGIR: the compiler goes no further."""


def main() -> None:
    dumps = {}
    for name in KERNELS:
        for target in sys.argv[1:] or TARGETS:
            try:
                dumps[f"{name}, {target}"] = _ttgir(name, target)
            except Exception as error:
                print(f"{name}, {target}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    json.dump({"triton": triton.__version__, "dumps": dumps}, sys.stdout)


def _ttgir(name: str, target: str) -> str:
    kernel, pointers, kind, constants = KERNELS[name]
    types = dict.fromkeys(pointers.split(), kind) | {key: "i32" for key in kernel.arg_names if key in "KLM"}
    types |= dict.fromkeys(constants, "constexpr")
    source = ASTSource(kernel, {key: types[key] for key in kernel.arg_names}, constants)
    gpu, _, several = target.partition(" ")
    options = {"num_warps": 4, **({"num_ctas": 2} if several else {})}
    if gpu.startswith("cuda"):
        made = GPUTarget("cuda", int(gpu.removeprefix("cuda:")), 32)
    else:
        made = GPUTarget("hip", gpu, 32 if gpu.startswith("gfx1") else 64)
    backend = type(make_backend(made))
    add_stages = backend.add_stages

    def add_stages_to_ttgir(self, stages, *options):
        add_stages(self, stages, *options)
        lower = stages["ttgir"]

        def stop(*given):
            raise Compiled(str(lower(*given)))

        stages["ttgir"] = stop

    backend.add_stages = add_stages_to_ttgir
    try:
        compile(source, target=made, options=options)
    except Compiled as compiled:
        return str(compiled)
    finally:
        backend.add_stages = add_stages
    raise ValueError("compiled without TTGIR")


if __name__ == "__main__":
    main()
