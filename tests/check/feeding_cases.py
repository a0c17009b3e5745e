"""Layouts for `match --engine mma`, each with the answer that it must get: by hand, before the first run.

Operand, shape and dtype come first. Of what matrices move: the form, and how many instructions. Of what
vectors move: bits, how many instructions, and the rule that says why no matrices do. Else the rules.
"""

from __future__ import annotations

MATRICES = """
A m16n8k16 f16    x4 1         S[(16, 16) : (16, 1)]
A m16n8k16 f16    x4 32        Swizzle<3,3,3> o S[(128, 64) : (64, 1)]
A m16n8k16 bf16   x4 32        Swizzle<3,4,3> o S[(128, 64) : (128, 2)] --unit byte
A m16n8k16 bf16   x4 32        Sw<3,4,3> o smem_ptr[16b](0) o (128,64):(64,1)
A m16n8k16 f16    x4 16        S[(64, 64) : (72, 1)]
A m16n8k16 f16    x4 16        Swizzle<2,3,3> o S[(128, 32) : (32, 1)]
A m16n8k16 f16    x4 8         Swizzle<1,3,3> o S[(128, 16) : (16, 1)]
A m16n8k16 f16    x4 8         Swizzle<3,3,4> o S[(16, 128) : (128, 1)]
A m16n8k16 f16    x4 8         S[((4, 8), (4, 2, 8)) : ((512, 8), (128, 64, 1))]
A m16n8k16 f16    x4.trans 16  S[(64, 64) : (1, 64)]
A m16n8k16 f16    x4.trans 16  Swizzle<3,3,3> o S[(64, 64) : (1, 64)]
A m16n8k16 f16    x4.trans 16  S[(64, 64) : (1, 72)]
A m16n8k16 bf16   x4.trans 4   S[((2, 16), 32) : ((512, 1), 16)]
A m16n8k8 f16     x4 16        S[(64, 64) : (64, 1)]
A m16n8k8 bf16    x2 1         S[(16, 8) : (8, 1)]
A m16n8k8 f16     x2.trans 1   S[(16, 8) : (1, 16)]
A m16n8k8 f16     x2 3         S[(48, 8) : (8, 1)]
A m16n8k16 f16    x4 3         S[(48, 16) : (16, 1)]
A m16n8k16 f16    x2 2         S[(16, 16) : (16, 1)] --form x2
A m16n8k16 f16    x1 4         S[(16, 16) : (16, 1)] --form x1
B m16n8k16 f16    x2 1         S[(8, 16) : (16, 1)]
B m16n8k16 f16    x4 1         S[(16, 16) : (16, 1)]
B m16n8k16 f16    x4 32        Swizzle<3,3,3> o S[(128, 64) : (64, 1)]
B m16n8k16 f16    x4 2         S[(8, 64) : (64, 1)]
B m16n8k16 bf16   x4.trans 16  Swizzle<3,3,3> o S[(64, 64) : (1, 64)]
B m16n8k16 f16    x4.trans 32  Swizzle<3,3,3> o S[((2, 64), 64) : ((4096, 1), 64)]
B m16n8k16 f16    x2 3         S[(24, 16) : (16, 1)]
B m16n8k8 f16     x4 8         Swizzle<3,3,3> o S[(32, 64) : (64, 1)]
B m16n8k16 bf16   x4 32        wgmma.smem(mode=128B, operand=B, major=k, dtype=bf16, rows=128, k=64)
B m16n8k16 bf16   x4.trans 32  wgmma.smem(mode=64B, operand=B, major=mn, dtype=bf16, rows=128, k=64)
B m16n8k16 f16    x4 16        S[((8, 8), (8, 8)) : ((512, 8), (64, 1))]
A m16n8k8 tf32    x4 16        Swizzle<3,2,3> o S[(64, 32) : (32, 1)]
A m16n8k4 tf32    x2 1         S[(16, 4) : (4, 1)]
B m16n8k8 tf32    x4 16        Swizzle<3,2,3> o S[(64, 32) : (32, 1)]
A m16n8k32 s8     x4 8         Swizzle<2,4,3> o S[(64, 64) : (64, 1)]
A m16n8k32 e4m3   x4 16        Swizzle<3,4,3> o S[(64, 128) : (128, 1)]
A m16n8k16 u8     x4 4         S[(32, 64) : (80, 1)]
B m16n8k32 e5m2   x4 16        Swizzle<3,4,3> o S[(64, 128) : (128, 1)]
B m8n8k16 s8      x4 2         S[(64, 16) : (16, 1)]
A m8n8k16 s8      x4 6         S[(48, 64) : (64, 1)]
A m16n8k64 s4     x4 8         Swizzle<2,5,3> o S[(64, 128) : (128, 1)]
B m16n8k32 u4     x4 8         S[(64, 128) : (128, 1)]
A m8n8k32 s4      x1 1         S[(8, 32) : (32, 1)]
A m16n8k256 b1    x4 8         Swizzle<2,7,3> o S[(64, 512) : (512, 1)]
B m16n8k256 b1    x4 8         S[(64, 512) : (512, 1)]
A m8n8k128 b1     x4 2         S[(64, 128) : (128, 1)]
A m16n8k32 e2m1   x4 2         S[(32, 32) : (32, 1)] --arch sm_120a
A m16n8k64 e2m1   x4 2         S[(32, 64) : (64, 1)] --arch sm_120a
A m16n8k32 e2m1   m8n16.x4.b4x16_p64 4   S[(64, (2, 16)) : (256, (128, 4))] --unit bit --arch sm_120a
B m16n8k32 e3m2   m8n16.x4.b6x16_p32 4   Swizzle<1,7,3> o S[(64, (2, 16)) : (256, (128, 6))] --unit bit
A m16n8k32 e2m1   m16n16.x2.trans.b4x16_p64 4   S[((4, 16), 32) : ((128, 4), 512)] --unit bit
A m16n8k32 f16    x4 4         S[(32, 32) : (32, 1)] --sparse
B m16n8k32 f16    x4 4         S[(32, 32) : (32, 1)] --sparse
A m16n8k32 e4m3   m16n16.x2.trans.b8 4   S[(32, 64) : (1, 32)] --arch sm_100a
B m16n8k32 e4m3   m16n16.x2.trans.b8 8   S[(64, 64) : (1, 64)] --arch sm_120a
A m16n8k16 f16    x4 16        Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --base 0x410
A m16n8k16 f16    x4 16        Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --base 0x410 --pattern address
A m16n8k16 f16    x4 16        Swizzle<3,5,3> o S[(64, 64) : (64, 1)]
A m16n8k16 f16    x4 16        Swizzle<1,3,3> o Swizzle<1,4,3> o Swizzle<1,5,3> o S[(64, 64) : (64, 1)]
C m16n8k16 f16    x4 16        Swizzle<3,3,3> o S[(64, 64) : (64, 1)]
D m16n8k16 f16    x4 16        Swizzle<3,3,3> o S[(64, 64) : (64, 1)]
D m16n8k16 bf16   x4 16        S[(64, 64) : (72, 1)]
D m16n8k16 f16    x4.trans 16  Swizzle<3,3,3> o S[(64, 64) : (1, 64)]
D m16n8k16 f16    x2 1         S[(16, 8) : (8, 1)]
D m16n8k32 e4m3   m16n8.x4.trans.b8 8   S[(64, 64) : (1, 64)] --arch sm_100a
"""

VECTORS = """
A m16n8k16 f16    32 64 stride-16      S[(64, 64) : (68, 1)]
A m16n8k16 f16    16 128 stride-16     S[(64, 64) : (1, 68)]
A m16n8k16 f16    32 64 base           S[(64, 64) : (64, 1)] --base 8
A m16n8k16 f16    32 64 start          S[(64, 64) : (64, 1)] + 4
A m16n8k16 f16    32 64 swizzle        Swizzle<3,2,3> o S[(64, 64) : (64, 1)]
A m16n8k16 f16    16 128 unit          S[(64, 64) : (128, 2)]
A m16n8k16 f16    16 128 contiguous    S[(64, 64) : (192, 3)]
A m16n8k16 f16    128 1 chunk          S[((2, 8), (2, 4, 2)) : ((2, 32), (4, 8, 1))]
B m16n8k16 f16    128 2 chunk          S[((2, 8), (2, 2, 4, 2)) : ((8, 64), (4, 2, 16, 1))]
A m16n8k8 tf32    32 128 major-type    S[(64, 64) : (1, 64)]
B m16n8k32 s8     8 128 major-type     S[(64, 64) : (1, 64)]
A m8n8k4 f64      64 128 lanes         S[(64, 64) : (64, 1)]
B m16n8k16 f64    64 128 lanes         S[(64, 64) : (1, 64)]
D m16n8k16 f32    64 64 lanes          S[(64, 64) : (64, 1)]
D m16n8k16 f32    32 128 lanes         S[(64, 64) : (1, 64)]
D m8n8k4 f64      128 64 lanes         S[(64, 64) : (64, 1)]
D m16n8k32 s8     16 64 lanes          S[(64, 64) : (64, 1)]
D m16n8k16 f16    32 64 arch           S[(64, 64) : (64, 1)] --arch sm_80
C m16n8k16 f32    64 64 lanes          S[(64, 64) : (64, 1)]
A m8n8k4 f16      128 8 lanes          S[(64, 16) : (16, 1)] --arch sm_70
"""

REFUSED = """
A m16n8k16 f16    k                 S[(64, 60) : (64, 1)]
A m16n8k16 f16    rows              S[(60, 64) : (64, 1)]
A m16n8k16 f16    rows k            S[(60, 60) : (64, 1)]
D m16n8k16 f16    columns           S[(64, 60) : (64, 1)]
A m16n8k8 f16     rows transposed   S[(8, 32) : (1, 8)]
A m16n8k16 f16    overlap           S[(64, 64) : (32, 1)]
A m16n8k16 f16    range             S[(64, 64) : (4096, 1)]
A m16n8k16 f16    range             S[(64, 64) : (64, 1)] --base 0x38000
B m16n8k16 f16    digits            S[((4, 6), 16) : ((97, 16), 1)]
A m16n8k16 f16    copies            S[(64, 64) : (64, 1)] + R[2 : 4096]
A m16n8k16 f16    axis              S[(64, 64) : (64@reg, 1@reg)]
A m16n8k16 f16    rank              S[(2, 64, 64) : (4096, 64, 1)]
A m16n8k32 f16    type              S[(64, 64) : (64, 1)]
A m16n8k16 f16    type              S[(64, 64) : (64, 1)] --arch sm_75
D m16n8k16 f16    type              S[(64, 64) : (64, 1)] --form x4 --arch sm_80
A m16n8k64 e2m1   type              S[(64, 64) : (64, 1)] --arch sm_90
A m16n8k32 e2m1   padding           S[(64, 32) : (128, 4)] --unit bit
A m16n8k32 e2m1   unit              S[(64, (2, 16)) : (264, (132, 4))] --unit bit
D m16n8k64 s4     type              S[(64, 64) : (64, 1)]
A m16n8k64 s4     chunk             S[(64, 64) : (1, 64)]
A m16n8k256 b1    chunk             S[(64, 256) : (1, 64)]
A m16n8k16 f16    stride-16         S[(64, 64) : (68, 1)] --form matrices
A m16n8k16 f16    form              S[(64, 64) : (64, 1)] --form x4.trans
"""


def cases(table):
    """(operand, shape, dtype, [expected words], layout and options) of every line."""
    for line in table.strip().splitlines():
        operand, shape, dtype, rest = line.split(None, 3)
        expected, _, layout = rest.partition("  ")
        yield operand, shape, dtype, expected.split(), layout.strip()
