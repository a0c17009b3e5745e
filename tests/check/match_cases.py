"""Layouts for `match`, each with the answer that it must get: by hand, before the first run.

A legal one: mode, major, LBO, SBO (- where the field says nothing). An illegal one: the rule of the first
reason, and further rules that must be named.
"""

from __future__ import annotations

LEGAL = """
B bf16    128B k - 1024     Swizzle<3,3,3> o S[(128, 64) : (64, 1)]
B bf16    128B k - 1024     Swizzle<3,3,3> o S[((16, 8), (2, 64)) : ((512, 64), (8192, 1))]
B bf16    128B k - 2048     Swizzle<3,3,3> o S[((16, 8), (2, 64)) : ((1024, 64), (512, 1))]
B bf16    64B k - 512       Swizzle<2,3,3> o S[(128, 32) : (32, 1)]
B bf16    32B k - 256       Swizzle<1,3,3> o S[(128, 16) : (16, 1)]
B bf16    none k 2048 128   S[(128, (2, 8)) : (8, (1024, 1))]
B bf16    none k 128 256    S[((16, 8), (2, 8)) : ((128, 8), (64, 1))]
B bf16    128B k - -        Swizzle<3,3,3> o S[(8, 64) : (64, 1)]
B bf16    none k 128 -      S[(8, (2, 8)) : (8, (64, 1))]
B bf16    128B k - 1152     Swizzle<3,3,3> o S[((4, 8), 64) : ((576, 64), 1)]
B bf16    128B mn - 1024    Swizzle<3,3,3> o S[(64, 64) : (1, 64)]
B bf16    128B mn 8192 1024  Swizzle<3,3,3> o S[((2, 64), 64) : ((4096, 1), 64)]
B bf16    128B mn 1024 2048  Swizzle<3,3,3> o S[((2, 64), (2, 8)) : ((512, 1), (1024, 64))]
B bf16    64B mn 512 1024   Swizzle<2,3,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))
B bf16    32B mn 256 512    Swizzle<1,3,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))
B bf16    none mn 256 128   Swizzle<0,4,3> o ((8,1,2),(8,2)):((1,8,64),(8,128))
B bf16    none mn 128 -     S[(8, (2, 8)) : (1, (64, 8))]
B bf16    128B mn - 1024    Swizzle<3,3,3> o S[(32, 16) : (1, 64)]
B bf16    64B mn 512 1536    Swizzle<2,3,3> o S[((3, 32), (2, 8)) : ((256, 1), (768, 32))]
B tf32    none k 256 128    Swizzle<0,4,3> o ((8,2),(4,4)):((4,32),(1,64))
B tf32    128B k - 1024     Swizzle<3,2,3> o S[(64, 32) : (32, 1)]
B tf32    32B k - 256       Swizzle<1,2,3> o ((8,2),(8,2)):((8,64),(1,128))
B e4m3    128B k - 1024     Swizzle<3,4,3> o S[(96, 128) : (128, 1)]
B e5m2    64B k - 512       Swizzle<2,4,3> o S[(40, 64) : (64, 1)]
B s8      128B k - 1024     Swizzle<3,4,3> o S[(24, 128) : (128, 1)]
B u8      none k 128 256    S[((4, 8), (2, 16)) : ((256, 16), (128, 1))]
B b1      128B k - 1024     Swizzle<3,7,3> o S[(64, 1024) : (1024, 1)]
B b1      none k 128 256    S[((2, 8), (2, 128)) : ((2048, 128), (1024, 1))]
A f16     128B k - 1024     Swizzle<3,3,3> o S[(64, 64) : (64, 1)]
A f16     128B k - 1024     Swizzle<3,3,3> o S[(192, 64) : (64, 1)]
A f16     128B mn - 1024    Swizzle<3,3,3> o S[(64, 64) : (1, 64)]
A f16     128B mn - 1024    Swizzle<3,3,3> o S[((2, 64), 64) : ((4096, 1), 64)]
A f16     64B mn 4096 512   Swizzle<2,3,3> o S[((2, 32), 64) : ((2048, 1), 32)]
A f16     none mn 128 256   S[((8, 8), (2, 8)) : ((128, 1), (64, 8))]
A bf16    128B k - 1024     Sw<3,4,3> o smem_ptr[16b](0) o (64,64):(64,1)
A bf16    128B k - 1024     Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --base 0x37000
A bf16    128B k - 1024     SWIZZLE_128B o S[(64, 64) : (64, 1)]
A bf16    128B k - 1024     Swizzle<1,3,3> o Swizzle<1,4,3> o Swizzle<1,5,3> o S[(64, 64) : (64, 1)]
B bf16    128B k - 1024     Swizzle<3,3,3> o (S[(64, 16) : (64, 1)] + 16)
B bf16    128B k - 1024     Swizzle<3,3,3> o (S[(64, 64) : (64, 1)] + 4096)
B bf16    128B k - 1024     Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --base 0x400
B bf16    128B k - 1024     Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --base 0x480
B bf16    128B k - 1024     Swizzle<3,3,3> o S[(64, 16) : (64, 1)] --base 0x20 --pattern address
B bf16    none k 128 256    S[((16, 8), (2, 8)) : ((128, 8), (64, 1))] --base 0x10
B bf16    128B k - 1024     Swizzle<3,4,3> o S[(64, 64) : (128, 2)] --unit byte
B bf16    none k 128 256    S[((16, 8), (2, 8)) : ((256, 16), (128, 2))] --unit byte
B bf16    none k 128 256    S[((16, 8), (2, 8)) : ((2048, 128), (1024, 16))] --unit bit
B bf16    128B k - 1024     Swizzle<3,3,3> o S[(N, 64) : (64, 1)] --let N=80
B bf16    128B k - 1024     Swizzle<3,3,3> o S[(128, 64) : (64@stage, 1@stage)] --storage stage
B bf16    128B k - 1024     Swizzle<3,3,3> o S[((3, 80), 64) : ((8192, 64), 1)]
B bf16    128B k - 8192     Swizzle<3,3,3> o S[((4, 16, 8), 64) : ((512, 4096, 64), 1)] --n 128
B bf16    128B k - 1024     wgmma.smem(mode=128B, operand=B, major=k, dtype=bf16, rows=64, k=64)
B bf16    128B mn - 1024    Swizzle<3,3,3> o S[(64, 64) : (1, 64)] --major mn
B bf16    none k 256 128    S[((2, 8), (2, 8)) : ((64, 8), (128, 1))] + R[2 : 0]
"""

ILLEGAL = """
B tf32    overlap swizzle-unit      Swizzle<1,4,3> o ((8,2),(4,4)):((8,64),(1,4))
B bf16    overlap                   Swizzle<3,3,3> o S[(64, 128) : (64, 1)]
B bf16    overlap                   S[(64, 32) : (8, 1)]
A f16     overlap                   S[(64, 16) : (8, 1)]
B bf16    overlap                   S[(64, 64) : (0, 1)]
B bf16    overlap                   S[((2, 8), (2, 8)) : ((0, 8), (64, 1))]
B e4m3    overlap                   Swizzle<3,4,3> o S[(64, 128) : (64, 1)]
B bf16    copies                    S[(64, 64) : (64, 1)] + R[2 : 4096]
B bf16    axis                      S[(64, 64) : (1@laneid, 1)]
B bf16    axis                      S[(64, 64) : (64@reg, 1@reg)]
B bf16    axis                      S[(64, 64) : (1@TLane, 1@TCol)]
B bf16    axis                      S[(64, (2, 32)) : (32@u, (1@v, 1@u))] --storage u --storage v
B bf16    axis                      S[(64, 64) : (64, 1)] + 1@warpid
A bf16    axis                      wgmma.A(bf16)
B bf16    rank                      S[4096 : 1]
B bf16    rank                      S[(4, 64, 64) : (4096, 64, 1)]
B f32     type                      S[(64, 64) : (64, 1)]
B f64     type                      S[(64, 64) : (64, 1)]
B e2m1    type                      S[(64, 64) : (64, 1)]
B s16     type                      S[(64, 64) : (64, 1)]
B u4      type                      S[(64, 64) : (64, 1)]
B e4m3    major-type                Swizzle<3,4,3> o S[(128, 32) : (1, 128)]
B tf32    major-type                Swizzle<3,2,3> o S[(32, 16) : (1, 32)]
B s8      major-type                S[(64, 32) : (1, 64)]
B b1      chunk                     S[(64, 256) : (1, 64)]
B e4m3    major-type                Swizzle<3,4,3> o S[(128, 128) : (128, 1)] --major mn
B bf16    major                     Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --major mn
B bf16    major                     Swizzle<3,3,3> o S[(64, 64) : (1, 64)] --major k
A f16     major                     S[(64, 16) : (1, 64)] --major k
B bf16    n                         Swizzle<3,3,3> o S[(100, 64) : (64, 1)] --n 100
B bf16    n                         Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --n 0
B s8      n                         Swizzle<3,4,3> o S[(40, 128) : (128, 1)] --n 40
B bf16    rows                      Swizzle<3,3,3> o S[(100, 64) : (64, 1)]
B bf16    rows                      Swizzle<3,3,3> o S[(4, 64) : (64, 1)]
B bf16    rows                      Swizzle<3,3,3> o S[(96, 64) : (64, 1)] --n 64
A bf16    rows                      Swizzle<3,3,3> o S[(32, 64) : (64, 1)]
A bf16    rows                      Swizzle<3,3,3> o S[(100, 64) : (64, 1)]
B bf16    k                         Swizzle<3,3,3> o S[(64, 60) : (64, 1)]
B bf16    k                         Swizzle<1,3,3> o S[(64, 8) : (16, 1)]
B e4m3    k                         Swizzle<1,4,3> o S[(64, 16) : (32, 1)]
B b1      k                         S[(64, 128) : (128, 1)]
A tf32    k                         Swizzle<1,2,3> o S[(64, 4) : (8, 1)]
B bf16    k rows                    Swizzle<3,3,3> o S[(100, 60) : (64, 1)]
B bf16    k transposed              Swizzle<2,3,3> o S[(32, 24) : (1, 32)]
B bf16    k transposed              S[((2, 8), 24) : ((192, 1), 8)]
B e4m3    k transposed              Swizzle<3,4,3> o S[(128, 24) : (1, 128)]
B bf16    range                     Swizzle<3,3,3> o S[((4, 512), (4, 64)) : ((131072, 64), (32768, 1))]
B bf16    range                     S[((2, 8), (2, 8)) : ((131072, 8), (64, 1))] --n 16
B bf16    range                     S[(8, (2, 8)) : (8, (131072, 1))]
B bf16    range                     Swizzle<3,3,3> o S[((2, 64), 64) : ((131072, 64), 1)] --n 64
B bf16    range                     Swizzle<3,3,3> o (S[(64, 64) : (64, 1)] + 131072)
B bf16    range                     Swizzle<3,3,3> o (S[(64, 64) : (64, 1)] - 512)
B bf16    range                     Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --base 0x40000
B bf16    range                     Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --base 0x37400
B bf16    range                     Swizzle<3,3,3> o S[((2, 64), 64) : ((114688, 64), 1)] --n 64
B bf16    start                     S[(8, (2, 8)) : (8, (64, 1))] + 4
B bf16    start                     Swizzle<3,3,3> o (S[(64, 64) : (64, 1)] + 3)
B e4m3    start                     Swizzle<3,4,3> o (S[(64, 128) : (128, 1)] + 8)
B bf16    base                      Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --base 0x8
B bf16    base                      Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --base 0x40
B bf16    base                      S[((16, 8), (2, 8)) : ((128, 8), (64, 1))] --base 0x408
B bf16    base                      O[32] o Swizzle<2,3,3> o S[(64, 32) : (32, 1)]
B bf16    swizzle-unit              Swizzle<3,4,3> o S[(64, 64) : (64, 1)]
B bf16    swizzle-unit              Swizzle<2,4,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))
B bf16    swizzle-unit              Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))
B tf32    swizzle-unit              Swizzle<3,4,3> o S[(64, 32) : (32, 1)]
B bf16    swizzle-unit row-stride   Swizzle<3,4,3> o S[(64, 64) : (128, 1)]
B bf16    unit                      Swizzle<3,4,3> o S[(64, 64) : (128, 2)]
B tf32    unit                      Swizzle<3,4,3> o S[(64, 32) : (128, 4)]
B bf16    unit                      Swizzle<3,3,3> o S[(64, 64) : (64, 1)] --unit byte
B bf16    swizzle-unit              Swizzle<3,3,3> o S[(64, 64) : (128, 2)] --unit byte
B bf16    no-swizzle                S[(64, 64) : (64, 1)]
B bf16    no-swizzle                S[(64, 16) : (16, 1)]
B bf16    no-swizzle                S[(64, 64) : (1, 64)]
B e4m3    no-swizzle                S[(64, 128) : (128, 1)]
B tf32    no-swizzle                S[(64, 16) : (16, 1)]
B bf16    swizzle-strides           Swizzle<2,3,3> o S[(64, 64) : (64, 1)]
B bf16    swizzle-strides           Swizzle<1,3,3> o S[(64, 32) : (32, 1)]
B bf16    swizzle-strides           Swizzle<3,3,3> o S[(64, 32) : (32, 1)]
B bf16    swizzle-strides           Swizzle<3,3,3> o S[((8, 8), (2, 8)) : ((128, 8), (64, 1))]
B bf16    swizzle                   Swizzle<3,2,3> o S[(64, 64) : (64, 1)]
B bf16    swizzle                   Swizzle<3,3,4> o S[(64, 64) : (64, 1)]
B bf16    swizzle                   Swizzle<3,3,-3> o S[(64, 64) : (64, 1)]
B e4m3    swizzle                   Swizzle<3,3,3> o S[(64, 128) : (128, 1)]
B bf16    swizzle                   Swizzle<2,4,2> o S[(64, 64) : (64, 1)]
B bf16    swizzle                   Swizzle<4,3,4> o S[(64, 64) : (64, 1)]
B bf16    contiguous                S[(64, 64) : (128, 2)]
B bf16    contiguous                S[(64, 64) : (3, 192)]
B bf16    contiguous                S[(64, (32, 2)) : (64, (1, 32))]
B tf32    contiguous                S[(64, 32) : (64, 2)]
B bf16    negative                  S[(64, 64) : (64, -1)] + 63
B bf16    negative                  S[(64, 16) : (-16, 1)] + 1024
B bf16    negative                  S[((2, 8), (2, 8)) : ((-64, 8), (128, 1))] + 64 --n 16
B bf16    negative                  S[((2, 8), (2, 8)) : ((64, 8), (-128, 1))] + 128
B bf16    stride-16                 S[(64, 64) : (68, 1)]
B bf16    stride-16                 S[(64, 64) : (65, 1)]
B bf16    stride-16                 S[((2, 8), (2, 8)) : ((132, 8), (64, 1))]
B bf16    stride-16                 S[(8, (2, 8)) : (8, (68, 1))]
B e4m3    stride-16                 S[(64, 128) : (132, 1)]
B bf16    row-stride                S[(64, 64) : (72, 1)]
B bf16    row-stride                S[(64, 128) : (128, 1)]
B bf16    row-stride                S[(64, 64) : (1, 128)]
B bf16    row-stride                Swizzle<3,3,3> o S[(64, 128) : (128, 1)]
B tf32    row-stride                S[(64, 24) : (24, 1)]
A bf16    row-stride                S[(64, 256) : (256, 1)]
B bf16    chunk                     S[(64, (8, 4)) : (4, (256, 1))]
B bf16    chunk                     S[((8, 4), 16) : ((64, 1), 4)]
B bf16    core-matrix               S[((4, 2, 4), (2, 8)) : ((1024, 512, 8), (32, 1))]
B bf16    chunk-stride              Swizzle<1,3,3> o S[((2, 8), (2, 8)) : ((128, 16), (256, 1))] --n 16
B bf16    uneven                    Swizzle<3,3,3> o S[((2, 3, 8), 64) : ((8192, 512, 64), 1)] --n 48
A bf16    uneven                    Swizzle<3,3,3> o S[((2, 4, 8), 64) : ((8192, 512, 64), 1)]
A f16     uneven                    S[((8, 8), (2, 3, 8)) : ((64, 8), (4096, 512, 1))]
A e4m3    uneven                    Swizzle<3,4,3> o S[(64, (4, 24)) : (128, (32, 1))]
"""


def cases(table):
    """(operand, dtype, [expected words], layout and options) of every line."""
    for line in table.strip().splitlines():
        operand, dtype, rest = line.split(None, 2)
        expected, _, layout = rest.partition("  ")
        yield operand, dtype, expected.split(), layout.strip()
