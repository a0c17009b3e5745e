"""Layouts for `match` of tcgen05, each with the answer that it must get: by hand, as in `match_cases`.

A legal one: mode, major, LBO, SBO (- where the field says nothing, @ where each step has its own), then the
instruction. An illegal one: the rule of the first reason, and further rules that must be named.
"""

from __future__ import annotations

LEGAL = """
A bf16  128B k - 1024 m128nNk16  Swizzle<3,3,3> o S[(128, 64) : (64, 1)]
A bf16  128B k - 1024 m64nNk16  Swizzle<3,3,3> o S[(64, 64) : (64, 1)]
A bf16  128B k - 1024 m64nNk16  Swizzle<3,3,3> o S[(192, 64) : (64, 1)]
A bf16  128B k - 1024 m64nNk16  Swizzle<3,3,3> o S[(128, 64) : (64, 1)] --m 64
A bf16  128B k - 1024 m128n96k16  Swizzle<3,3,3> o S[(128, 64) : (64, 1)] --n 96
A bf16  128B k - 1024 m256nNk16  Swizzle<3,3,3> o S[(128, 64) : (64, 1)] --cta-group 2
A bf16  128B k - 1024 m128nNk16  Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --cta-group 2
A bf16  128B k - 1024 m128nNk16  Swizzle<3,3,3> o S[(128, 64) : (64, 1)] --cta-group 2 --m 128
A bf16  128B k - 1024 m32nNk16  Swizzle<3,3,3> o S[(32, 64) : (64, 1)] --ws
A bf16  128B k - 1024 m32nNk16  Swizzle<3,3,3> o S[(96, 64) : (64, 1)] --ws
B bf16  128B k - 1024 mMn128k16  Swizzle<3,3,3> o S[(128, 64) : (64, 1)]
B bf16  128B k - 1024 mMn256k16  Swizzle<3,3,3> o S[(128, 64) : (64, 1)] --cta-group 2
B bf16  128B k - 1024 mMn64k16  Swizzle<3,3,3> o S[(128, 64) : (64, 1)] --cta-group 2 --n 64
B bf16  128B k - - mMn16k16  Swizzle<3,3,3> o S[(8, 64) : (64, 1)] --cta-group 2
B bf16  128B k - 1024 m256n256k16  Swizzle<3,3,3> o S[(128, 64) : (64, 1)] --cta-group 2 --m 256
B f16   none k 128 256 mMn128k16  S[((16, 8), (2, 8)) : ((128, 8), (64, 1))]
B f16   64B mn 512 1024 mMn64k16  Swizzle<2,3,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))
B f16   128B k - 1024 mMn80k16  Swizzle<3,3,3> o S[(80, 64) : (64, 1)] --let N=80
B f16   128B k - 1024 mMn64k16  Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --base 0x480
B f16   128B k - 1024 mMn64k16  Swizzle<3,3,3> o S[(64, 16) : (64, 1)] --base 0x20 --pattern address
A e4m3  128B mn - 1024 m128nNk32  Swizzle<3,4,3> o S[(128, 32) : (1, 128)]
A e5m2  64B mn 2048 512 m128nNk32  Swizzle<2,4,3> o S[((2, 64), 32) : ((2048, 1), 64)]
A s8    none mn 128 1024 m64nNk32  S[((4, 16), (4, 8)) : ((1024, 1), (128, 16))]
B u8    32B mn - 256 mMn32k32  Swizzle<1,4,3> o S[(32, 32) : (1, 32)]
B s8    32B mn 2048 256 mMn96k32  Swizzle<1,4,3> o S[((3, 32), 64) : ((2048, 1), 32)]
B s8    128B k - 1024 mMn24k32  Swizzle<3,4,3> o S[(24, 128) : (128, 1)]
A tf32  128B_ATOM_32B mn 4096 512 m128nNk8  Swizzle<2,3,2> o S[((4, 32), 32) : ((1024, 1), 32)]
A tf32  128B_ATOM_32B mn 512 2048 m128nNk8  Swizzle<2,3,2> o S[((4, 32), (8, 4)) : ((128, 1), (512, 32))]
B tf32  128B_ATOM_32B mn - 512 mMn32k8  Swizzle<2,3,2> o S[(32, 32) : (1, 32)]
B tf32  128B_ATOM_32B mn - 512 mMn16k8  Swizzle<2,3,2> o S[(16, 32) : (1, 32)]
B tf32  128B_ATOM_32B mn - 512 mMn32k8  Swizzle<2,5,2> o S[(32, 32) : (4, 128)] --unit byte --atomicity 32
B tf32  128B k - 1024 mMn64k8  Swizzle<3,2,3> o S[(64, 32) : (32, 1)]
B tf32  128B k - 1024 mMn64k8  Swizzle<3,2,3> o S[(64, 32) : (32, 1)] --atomicity 16
A e2m1  128B k - 1024 m128nNk64  Swizzle<3,5,3> o S[(128, 256) : (256, 1)] --kind mxf4
A e2m1  64B k - 512 m256nNk64  Swizzle<2,5,3> o S[(128, 128) : (128, 1)] --kind mxf4nvf4 --cta-group 2
A e2m1  128B k - 1024 m128nNk32  Swizzle<3,4,3> o S[(128, 128) : (128, 1)]
A e3m2  128B k - 1024 m128nNk32  Swizzle<3,4,3> o S[(128, 128) : (128, 1)] --kind mxf8f6f4
A e2m1  128B k @ 1024 m128nNk96  Swizzle<3,5,3> o S[(128, (3, 256)) : (256, (32768, 1))] --kind mxf4 --k 96
B e2m1  128B k @ 1024 mMn64k96  Sw<3,5,3> o (64,(256,3)):(256,(1,16384)) --kind mxf4 --lbo-mode absolute
B e2m1  128B k @ 1024 mMn64k96  Swizzle<3,5,3> o S[(64, 192) : (256, 1)] --kind mxf4 --k 96
B e2m1  128B k @ 3072 mMn64k96  Sw<3,5,3> o ((8,8),(256,3)):((256,6144),(1,2048)) --kind mxf4 --k 96
A f16   128B k - 1024 m128nNk32  Swizzle<3,3,3> o S[(128, 64) : (64, 1)] --sparse
B f16   128B k - 1024 mMn128k32  Swizzle<3,3,3> o S[(128, 64) : (64, 1)] --sparse
B f16   64B k - 512 mMn128k32  Swizzle<2,3,3> o S[(128, 32) : (32, 1)] --sparse
B f16   none k 2048 128 mMn128k32  S[(128, (4, 8)) : (8, (1024, 1))] --sparse
"""

ILLEGAL = """
A bf16  rows  Swizzle<3,3,3> o S[(96, 64) : (64, 1)]
A bf16  rows  Swizzle<3,3,3> o S[(32, 64) : (64, 1)]
A bf16  rows  Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --cta-group 2 --m 256
A bf16  rows  Swizzle<3,3,3> o S[(16, 64) : (64, 1)] --ws
A e2m1  rows  Swizzle<3,5,3> o S[(64, 256) : (256, 1)] --kind mxf4
B bf16  rows  Swizzle<3,3,3> o S[(100, 64) : (64, 1)]
B bf16  rows  Swizzle<3,3,3> o S[(32, 64) : (64, 1)] --ws
B e4m3  rows  S[(24, 32) : (1, 24)]
B s8    rows  Swizzle<1,4,3> o S[(8, 32) : (1, 32)]
A bf16  m  Swizzle<3,3,3> o S[(128, 64) : (64, 1)] --m 96
A bf16  m  Swizzle<3,3,3> o S[(128, 64) : (64, 1)] --m 256
B bf16  n  Swizzle<3,3,3> o S[(128, 64) : (64, 1)] --n 24 --cta-group 2
B s8    n  Swizzle<3,4,3> o S[(40, 128) : (128, 1)] --n 40
B bf16  k  Swizzle<3,3,3> o S[(64, 60) : (64, 1)]
B e2m1  k  Swizzle<3,5,3> o S[(64, 256) : (256, 1)] --kind mxf4 --k 96
B f32   type  S[(64, 64) : (64, 1)]
B bf16  type  S[(64, 64) : (64, 1)] --kind tf32
B bf16  type  S[(64, 64) : (64, 1)] --kind f16 --k 96
B bf16  type  S[(64, 64) : (64, 1)] --lbo-mode absolute
B e2m1  type  S[(64, 64) : (64, 1)] --kind mxf4 --ws
B bf16  type  S[(64, 64) : (64, 1)] --atomicity 32
B e2m1  major-type  S[(64, 32) : (1, 64)]
B e2m1  chunk  S[(64, 64) : (1, 64)] --kind mxf4
B tf32  major-type  Swizzle<2,3,2> o S[(32, 32) : (1, 32)] --atomicity 16
B tf32  swizzle-strides  Swizzle<3,2,3> o S[(32, 32) : (1, 32)]
B tf32  no-swizzle  S[(32, 32) : (1, 32)]
B tf32  swizzle-unit  Swizzle<2,5,2> o S[(32, 32) : (1, 32)]
B tf32  row-stride  Swizzle<1,2,3> o S[((4, 8), 32) : ((256, 1), 8)]
B tf32  row-stride  Swizzle<2,3,2> o S[(128, 32) : (1, 128)]
B bf16  swizzle-strides  Swizzle<2,4,2> o S[(64, 64) : (64, 1)]
B bf16  swizzle-strides  Swizzle<2,4,2> o S[(64, 64) : (1, 64)]
B bf16  swizzle  Swizzle<3,3,4> o S[(64, 64) : (64, 1)]
A bf16  major  Swizzle<3,3,3> o S[(128, 64) : (64, 1)] --major mn
A e4m3  major  Swizzle<3,4,3> o S[(128, 32) : (1, 128)] --major k
A bf16  start  Swizzle<3,3,3> o (S[(64, 16) : (64, 1)] + 56)
B e4m3  start  Swizzle<3,4,3> o (S[(64, 128) : (128, 1)] + 8)
A bf16  axis  S[(128, 64) : (1@TLane, 1@TCol)]
B bf16  overlap  Swizzle<3,3,3> o S[(64, 128) : (64, 1)]
B e2m1  base  Swizzle<3,5,3> o S[(64, 192) : (256, 1)] --kind mxf4 --k 96 --base 0x480
B bf16  range  Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --base 0x40000
"""


def cases(table):
    """(operand, dtype, [expected words], layout and options) of every line."""
    for line in table.strip().splitlines():
        operand, dtype, rest = line.split(None, 2)
        expected, _, layout = rest.partition("  ")
        yield operand, dtype, expected.split(), layout.strip()
