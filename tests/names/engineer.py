"""A hundred questions of real kernels, each with the condition that an engineer would write for it.

They were written down before the tool was run on any of them, and none has been exchanged since. An entry has
the words of the command, the facts of `--where`, the answer that is wanted (`yes`, or a field and its value),
and the condition for it, in Python.
"""

from __future__ import annotations

from typing import NamedTuple


class Asked(NamedTuple):
    """A question, and the condition on which its answer is the one that is wanted."""

    words: str
    where: str
    wanted: str
    condition: str


GEMM = [
    Asked("same|S[(M, 96) : (96, 1)]|S[M*96 : 1]", "M", "yes", "True"),
    Asked("same|S[(M, K) : (lda, 1)]|S[(M, K) : (K, 1)]", "M >= 2, K >= 2, lda", "yes", "lda == K"),
    Asked("same|S[(M, K) : (lda, 1)]|S[M*K : 1]", "M >= 2, K >= 2, lda", "yes", "lda == K"),
    Asked("same|S[(M, N) : (N, 1)]|S[(M, N) : (1, M)]", "M >= 2, N >= 2", "yes", "False"),
    Asked("same|S[(M, 1) : (lda, 1)]|S[M : lda]", "M, lda", "yes", "True"),
    Asked("same|S[(2, M, 64) : (64*M, 64, 1)]|S[(2*M, 64) : (64, 1)]", "M", "yes", "True"),
    Asked("same|S[(2, M, 64) : (step, 64, 1)]|S[(2*M, 64) : (64, 1)]", "M, step", "yes", "step == 64*M"),
    Asked("same|S[(B, M, K) : (M*K, K, 1)]|S[(B*M, K) : (K, 1)]", "B, M, K", "yes", "True"),
    Asked("same|S[(B, M, K) : (s, K, 1)]|S[(B*M, K) : (K, 1)]", "B >= 2, M, K, s", "yes", "s == M*K"),
    Asked("info|S[(M, 80) : (lda, 1)]", "M >= 2, lda >= 80", "contiguous", "lda == 80"),
    Asked("info|S[(M, 64) : (lda, 1)]", "M >= 2, lda >= 1, lda <= 200", "injective", "lda >= 64"),
    Asked("info|S[(M, K) : (lda, 1)]", "M >= 2, K >= 2, lda >= K", "contiguous", "lda == K"),
    Asked("info|S[(M, K) : (lda, 1)]", "M >= 2, K >= 2, lda >= K", "onto", "lda == K"),
    Asked("info|S[(M, K) : (1, lda)]", "M >= 2, K >= 2, lda >= M", "onto", "lda == M"),
    Asked("info|S[(B, M, 64) : (s, 64, 1)]", "B >= 2, M >= 2, s >= 64*M", "onto", "s == 64*M"),
    Asked("info|S[(128, 64) : (lda, 1)]", "lda >= 64", "contiguous", "lda == 64"),
    Asked("logical_divide|S[(M, 64) : (64, 1)]|S[128 : 1]", "M", "yes", "M % 2 == 0"),
    Asked("logical_divide|S[M : 1]|S[128 : 1]", "M", "yes", "M % 128 == 0"),
    Asked("logical_divide|S[M*K : 1]|S[K : 1]", "M, K", "yes", "True"),
    Asked("zipped_divide|S[M : 1]|S[64 : 1]", "M", "yes", "M % 64 == 0"),
    Asked("logical_divide|S[(M, 32) : (32, 1)]|S[128 : 1]", "M", "yes", "M % 4 == 0"),
    Asked("reshape|S[(M, 64) : (64, 1)]|8,-1", "M", "yes", "True"),
    Asked("group|S[(M, 64) : (64, 1)]|2*M,32", "M", "yes", "True"),
    Asked("compose|S[(M, 64) : (64, 1)]|S[(16, 8) : (64, 1)]", "M", "yes", "M >= 16"),
    Asked("compose|S[M : 1]|S[128 : 1]", "M", "yes", "M >= 128"),
    Asked("compose|S[(M, 64) : (lda, 1)]|S[M : 64]", "M, lda", "yes", "True"),
    Asked("compose|S[M : 2]|S[N : 1]", "M, N", "yes", "N <= M"),
    Asked("compose|S[(M, K) : (K, 1)]|S[K : 1]", "M, K", "yes", "True"),
    Asked("right_inverse|S[(M, 64) : (1, M)]", "M", "yes", "True"),
    Asked("inverse|S[(M, 64) : (64, 1)]", "M", "yes", "True"),
]

VECTOR = [
    Asked("vector|S[(64, 64) : (lda, 1)]|--dtype|bf16|--access|row:16B", "lda >= 64", "yes", "lda % 8 == 0"),
    Asked("vector|S[(64, 64) : (lda, 1)]|--dtype|f32|--access|row:16B", "lda >= 64", "yes", "lda % 4 == 0"),
    Asked("vector|S[(64, 64) : (lda, 1)]|--dtype|f32|--access|row:8B", "lda >= 64", "yes", "lda % 2 == 0"),
    Asked("vector|S[(64, 64) : (lda, 1)]|--dtype|f16|--access|row:8B", "lda >= 64", "yes", "lda % 4 == 0"),
    Asked("vector|S[(64, 64) : (lda, 1)]|--dtype|f16|--access|row:4B", "lda >= 64", "yes", "lda % 2 == 0"),
    Asked("vector|S[(64, 64) : (lda, 1)]|--dtype|f16|--access|row:2B", "lda >= 64", "yes", "True"),
    Asked("vector|S[(64, 64) : (lda, 1)]|--dtype|e4m3|--access|row:16B", "lda >= 64", "yes", "lda % 16 == 0"),
    Asked("vector|S[(64, 64) : (lda, 1)]|--dtype|e4m3|--access|row:4B", "lda >= 64", "yes", "lda % 4 == 0"),
    Asked("vector|S[(64, 64) : (1, lda)]|--dtype|bf16|--access|col:16B", "lda >= 64", "yes", "lda % 8 == 0"),
    Asked("vector|S[(64, 64) : (1, lda)]|--dtype|f32|--access|col:16B", "lda >= 64", "yes", "lda % 4 == 0"),
    Asked("vector|S[(64, 64) : (8*p, 1)]|--dtype|bf16|--access|row:16B", "p >= 8", "yes", "True"),
    Asked("vector|S[(64, 64) : (64 + pad, 1)]|--dtype|bf16|--access|row:16B", "pad", "yes", "pad % 8 == 0"),
    Asked("vector|S[(64, 64) : (64 + pad, 1)]|--dtype|f32|--access|row:16B", "pad", "yes", "pad % 4 == 0"),
    Asked("vector|S[(64, 64) : (64, 1)] + o|--dtype|bf16|--access|row:16B", "o", "yes", "o % 8 == 0"),
    Asked("vector|S[(64, 64) : (64, 1)] + o|--dtype|f32|--access|row:8B", "o", "yes", "o % 2 == 0"),
    Asked(
        "vector|S[(64, 64) : (lda, 1)] + o|--dtype|bf16|--access|row:16B",
        "lda >= 64, lda % 8 == 0, o",
        "yes",
        "o % 8 == 0",
    ),
    Asked(
        "vector|S[(16, 128) : (lda, 1)]|--dtype|bf16|--access|row:16B", "lda >= 128", "yes", "lda % 8 == 0"
    ),
    Asked("vector|S[(32, 32) : (lda, 1)]|--dtype|f64|--access|row:16B", "lda >= 32", "yes", "lda % 2 == 0"),
    Asked(
        "vector|S[(32, 2, 32) : (a, b, 1)]|--dtype|f16|--access|row:16B",
        "a >= 64, b >= 32",
        "yes",
        "a % 8 == 0 and b % 8 == 0",
    ),
    Asked("vector|S[(64, 64) : (lda, 2)]|--dtype|bf16|--access|row:16B", "lda >= 128", "yes", "False"),
]

TMA = [
    Asked(
        "tma|--dtype|bf16|--shape|M,K|--tile|128,64|--mode|128B",
        "1 <= M <= 65536, 64 <= K <= 65536",
        "yes",
        "K % 8 == 0",
    ),
    Asked(
        "tma|--dtype|e4m3|--shape|M,K|--tile|128,128|--mode|128B",
        "1 <= M <= 65536, 128 <= K <= 65536",
        "yes",
        "K % 16 == 0",
    ),
    Asked(
        "tma|--dtype|f32|--shape|M,K|--tile|128,32|--mode|128B",
        "1 <= M <= 65536, 64 <= K <= 65536",
        "yes",
        "K % 4 == 0",
    ),
    Asked("tma|--dtype|bf16|--shape|M,64|--tile|128,64|--mode|128B", "1 <= M <= 65536", "yes", "True"),
    Asked("tma|--dtype|bf16|--shape|M,100|--tile|128,64|--mode|128B", "1 <= M <= 65536", "yes", "False"),
    Asked(
        "tma|--dtype|bf16|--shape|M,64|--strides|lda,1|--tile|128,64|--mode|128B",
        "1 <= M <= 65536, 64 <= lda <= 65536",
        "yes",
        "lda % 8 == 0",
    ),
    Asked(
        "tma|--dtype|e4m3|--shape|M,128|--strides|lda,1|--tile|128,128|--mode|128B",
        "1 <= M <= 65536, 128 <= lda <= 65536",
        "yes",
        "lda % 16 == 0",
    ),
    Asked(
        "tma|--dtype|f16|--shape|B,M,64|--strides|s,64,1|--tile|1,128,64|--mode|128B",
        "1 <= B <= 64, 1 <= M <= 4096, 64 <= s <= 1000000",
        "yes",
        "s % 8 == 0",
    ),
    Asked(
        "tma|--dtype|f16|--shape|B,M,K|--tile|1,128,64|--mode|128B",
        "1 <= B <= 64, 1 <= M <= 4096, 64 <= K <= 4096",
        "yes",
        "K % 8 == 0",
    ),
    Asked(
        "tma|--dtype|bf16|--shape|4096,64|--strides|64*h,1|--tile|64,64|--mode|128B",
        "1 <= h <= 128",
        "yes",
        "True",
    ),
    Asked(
        "tma|check|--dtype|bf16|--dims|100,64|--strides|s|--box|64,32",
        "16 <= s <= 1000000",
        "yes",
        "s % 16 == 0",
    ),
    Asked(
        "tma|check|--dtype|bf16|--dims|K,64|--strides|2*K|--box|64,32",
        "64 <= K <= 65536",
        "yes",
        "K % 8 == 0",
    ),
    Asked(
        "tma|check|--dtype|bf16|--dims|100,64|--strides|208|--box|b,32",
        "1 <= b <= 512",
        "yes",
        "b % 8 == 0 and b <= 256",
    ),
    Asked(
        "tma|check|--dtype|bf16|--dims|100,64|--strides|208|--box|64,b", "1 <= b <= 512", "yes", "b <= 256"
    ),
    Asked(
        "tma|check|--dtype|bf16|--dims|128,64|--strides|256|--box|b,32|--mode|128B",
        "8 <= b <= 256, b % 8 == 0",
        "yes",
        "b <= 64",
    ),
    Asked(
        "tma|check|--dtype|e4m3|--dims|128,64|--strides|128|--box|b,32|--mode|64B",
        "16 <= b <= 256, b % 16 == 0",
        "yes",
        "b <= 64",
    ),
    Asked(
        "tma|check|--dtype|f32|--dims|K,64|--strides|4*K|--box|32,32", "32 <= K <= 65536", "yes", "K % 4 == 0"
    ),
    Asked(
        "tma|check|--dtype|bf16|--dims|128,64|--strides|256|--box|64,32|--address|a",
        "0 <= a <= 65536",
        "yes",
        "a % 16 == 0",
    ),
    Asked(
        "tma|check|--dtype|bf16|--dims|128,64|--strides|256|--box|64,32|--mode|128B|--shared|a",
        "0 <= a <= 65536",
        "yes",
        "a % 128 == 0",
    ),
    Asked("tma|check|--dtype|bf16|--dims|N,64|--strides|256|--box|64,32", "1 <= N <= 128", "yes", "True"),
]

BANKS = [
    Asked(
        "banks|S[(32, 32) : (lda, 1)]|--dtype|f32|--access|col:4B", "lda >= 32", "excess=0", "lda % 2 == 1"
    ),
    Asked("banks|S[(32, 32) : (32 + pad, 1)]|--dtype|f32|--access|col:4B", "pad", "excess=0", "pad % 2 == 1"),
    Asked("banks|S[(32, 32) : (lda, 1)]|--dtype|f32|--access|row:4B", "lda >= 32", "excess=0", "True"),
    Asked(
        "banks|S[(8, 64) : (lda, 1)]|--dtype|bf16|--access|ldmatrix.x1",
        "lda >= 64, lda % 8 == 0",
        "excess=0",
        "lda % 16 == 8",
    ),
    Asked(
        "banks|S[(64, 64) : (lda, 1)]|--dtype|bf16|--access|ldmatrix.x4",
        "lda >= 64, lda % 8 == 0",
        "excess=0",
        "lda % 16 == 8",
    ),
    Asked(
        "banks|S[(64, 64) : (64 + pad, 1)]|--dtype|f16|--access|ldmatrix.x4",
        "pad, pad % 8 == 0",
        "excess=0",
        "pad % 16 == 8",
    ),
    Asked(
        "banks|S[(32, 32) : (1, lda)]|--dtype|f32|--access|row:4B", "lda >= 32", "excess=0", "lda % 2 == 1"
    ),
    Asked(
        "banks|S[(32, 32) : (lda, 1)]|--dtype|f32|--access|col:4B",
        "lda >= 32",
        "wavefronts=1024",
        "lda % 32 == 0",
    ),
    Asked(
        "banks|S[(32, 16) : (lda, 1)]|--dtype|f64|--access|col:8B", "lda >= 16", "excess=0", "lda % 2 == 1"
    ),
    Asked(
        "banks|S[(64, 64) : (lda, 1)]|--dtype|bf16|--access|row:16B",
        "lda >= 64, lda % 64 == 0",
        "excess=0",
        "True",
    ),
]

CACHES = [
    Asked("info|S[(P, 16, 8, 128) : (16384, 1024, 128, 1)]", "P", "contiguous", "True"),
    Asked("info|S[(P, 16, H, 128) : (2048*H, 128*H, 128, 1)]", "P, H", "contiguous", "True"),
    Asked(
        "info|S[(P, 16, H, 128) : (s, 128*H, 128, 1)]",
        "P >= 2, H >= 2, s >= 2048*H",
        "contiguous",
        "s == 2048*H",
    ),
    Asked("same|S[(P, 16, 128) : (2048, 128, 1)]|S[(P*16, 128) : (128, 1)]", "P", "yes", "True"),
    Asked("same|S[(P, T, 128) : (128*T, 128, 1)]|S[(P*T, 128) : (128, 1)]", "P, T", "yes", "True"),
    Asked("logical_divide|S[(T, 128) : (128, 1)]|S[2048 : 1]", "T", "yes", "T % 16 == 0"),
    Asked("vector|S[(16, 128) : (128*H, 1)]|--dtype|f16|--access|row:16B", "H >= 1", "yes", "True"),
    Asked(
        "vector|S[(16, 128) : (D*H, 1)]|--dtype|f16|--access|row:16B",
        "D >= 128, H >= 1, D % 8 == 0",
        "yes",
        "True",
    ),
    Asked("compose|S[(T, 128) : (128, 1)]|S[(16, 128) : (128, 1)]", "T", "yes", "T >= 16"),
    Asked("same|S[(T, H, 64) : (64*H, 64, 1)]|S[(T, H*64) : (64*H, 1)]", "T, H", "yes", "True"),
]

PADDED = [
    Asked("info|S[(H, W) : (W + 2, 1)]", "H >= 2, W >= 2", "injective", "True"),
    Asked("info|S[(H, W) : (W + 2, 1)]", "H >= 2, W >= 2", "contiguous", "False"),
    Asked("info|S[(H, 3) : (s, 1)]", "H >= 2, s >= 1, s <= 8", "injective", "s >= 3"),
    Asked("same|S[(H, W, C) : (W*C, C, 1)]|S[(H*W, C) : (C, 1)]", "H, W, C", "yes", "True"),
    Asked("same|S[(H, W, C) : (r, C, 1)]|S[(H*W, C) : (C, 1)]", "H >= 2, W >= 2, C, r", "yes", "r == W*C"),
    Asked("info|S[(H, W, C) : (W*C, C, 1)]", "H, W, C", "contiguous", "True"),
    Asked("info|S[(N, H, W) : (H*W, W, 1)]", "N, H, W", "onto", "True"),
    Asked("compose|S[(H, W) : (W, 1)]|S[(2, 2) : (W, 1)]", "H, W >= 2", "yes", "H >= 2"),
    Asked("same|S[(H, W) : (p, 1)]|S[(H, W) : (W, 1)]", "H >= 2, W, p", "yes", "p == W"),
    Asked("info|S[(M, 64) : (64 + pad, 1)]", "M >= 2, pad", "contiguous", "pad == 0"),
]

QUESTIONS = [*GEMM, *VECTOR, *TMA, *BANKS, *CACHES, *PADDED]
