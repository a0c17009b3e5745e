"""Random tiled MMAs and tiled copies of CuTe's Python DSL, as it prints them, and its own layouts of them.

A line of JSON each: the text, and {part: (thread, value) -> element of the tile, as the DSL prints it}.

    CUTE_DSL_ARCH=sm_90a python tests/oracle/cute_dsl_blocks.py 300 7
"""

from __future__ import annotations

import json
import sys
from random import Random
from typing import Any

import cutlass
from cutlass import cute
from cutlass.cute import nvgpu
from cutlass.cute.nvgpu import cpasync, warp, warpgroup

F16, F32, U8 = cutlass.Float16, cutlass.Float32, cutlass.Uint8
K_MAJOR = nvgpu.OperandMajorMode.K
REGISTERS, SHARED = warpgroup.OperandSource.RMEM, warpgroup.OperandSource.SMEM


def operations() -> list[Any]:
    """MMAs of every kind: of threads, of warps, of warpgroups."""
    return [
        nvgpu.MmaUniversalOp(F32),
        warp.MmaF16BF16Op(F16, F32, (16, 8, 8)),
        warp.MmaF16BF16Op(F16, F32, (16, 8, 16)),
        warp.MmaFP8Op(cutlass.Float8E4M3FN, F32, (16, 8, 32)),
        warp.MmaTF32Op((16, 8, 8)),
        *[warpgroup.MmaF16BF16Op(F16, F32, (64, n, 16), REGISTERS, K_MAJOR, K_MAJOR) for n in (8, 24)],
        warpgroup.MmaF16BF16Op(F16, F32, (64, 8, 16), SHARED, K_MAJOR, K_MAJOR),
        warpgroup.MmaF8Op(
            cutlass.Float8E4M3FN, cutlass.Float8E4M3FN, F32, (64, 16, 32), REGISTERS, K_MAJOR, K_MAJOR
        ),
    ]


def ordered(rng: Random, extents: list[int]) -> Any:
    """A compact layout whose modes count in any order."""
    strides, step = [0] * len(extents), 1
    for mode in rng.sample(range(len(extents)), len(extents)):
        strides[mode] = step if extents[mode] > 1 else 0
        step *= extents[mode]
    return cute.make_layout(tuple(extents), stride=tuple(strides))


def permuted(rng: Random, atom: int, groups: int) -> Any:
    """Nothing, an extent of one or more atoms, or a permutation of it.

    CuTe composes a permutation with atoms and groups, which have to end where digits of it do.
    """
    repeats = rng.choice((1, 1, 2, 3))
    chosen = rng.random()
    if chosen < 0.3:
        return None
    digits = [digit for extent in (atom, groups, repeats) for digit in factors(rng, extent)]
    return atom * groups * repeats if chosen < 0.6 or not digits else ordered(rng, digits)


def factors(rng: Random, extent: int) -> list[int]:
    """Digits of an extent."""
    digits = []
    while extent > 1:
        digits.append(rng.choice([number for number in range(2, extent + 1) if extent % number == 0]))
        extent //= digits[-1]
    return digits


def tiled_mma(rng: Random) -> Any:
    """A tiled MMA."""
    operation = rng.choice(operations())
    largest = 8 if isinstance(operation, nvgpu.MmaUniversalOp) else 3
    shape = [int(extent) for extent in cute.make_mma_atom(operation).shape_mnk]
    largest = largest if shape[0] < 64 else 2
    groups = [rng.randint(1, largest), rng.randint(1, largest), rng.choice((1, 1, 1, 2))]
    tile = tuple(permuted(rng, *pair) for pair in zip(shape, groups, strict=True))
    return cute.make_tiled_mma(operation, ordered(rng, groups), permutation_mnk=tile)


def plain_copy(rng: Random) -> Any:
    """A tiled copy of threads and values, as kernels make it."""
    bits = rng.choice((16, 32, 64, 128))
    values = [rng.choice((1, 2, 3)), rng.choice((1, 2, 4))]
    fast = rng.randrange(2)
    values[fast] *= bits // 16
    strides = (1, values[0]) if fast == 0 else (values[1], 1)
    operation = nvgpu.CopyUniversalOp()
    if bits >= 32 and rng.random() < 0.3:
        operation = cpasync.CopyG2SOp()
    atom = cute.make_copy_atom(operation, F16, num_bits_per_copy=bits)
    threads = [rng.choice((1, 2, 3, 4, 8, 16)), rng.choice((1, 2, 4, 5, 8, 16))]
    return cute.make_tiled_copy_tv(
        atom, ordered(rng, threads), cute.make_layout(tuple(values), stride=strides)
    )


def matrix_copy(rng: Random) -> Any:
    """A tiled copy of an operand by ldmatrix, by stmatrix, or element by element."""
    operation = warp.MmaF16BF16Op(F16, F32, (16, 8, 16))
    groups = [rng.choice((1, 2, 4)), rng.choice((1, 2)), 1]
    tile = (16 * groups[0] * rng.choice((1, 2)), 16 * groups[1] * rng.choice((1, 2)), rng.choice((16, 32)))
    mma = cute.make_tiled_mma(operation, ordered(rng, groups), permutation_mnk=tile)
    count, turned = rng.choice((1, 2, 4)), rng.random() < 0.5
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(turned, count), F16)
    store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(turned, count), F16)
    one = cute.make_copy_atom(nvgpu.CopyUniversalOp(), F16, num_bits_per_copy=16)
    chosen = rng.randrange(4)
    if chosen == 0:
        return cute.make_tiled_copy_A(load, mma)
    if chosen == 1:
        return cute.make_tiled_copy_B(load, mma)
    return cute.make_tiled_copy_C(store if chosen == 2 else one, mma)


def own_copy(rng: Random) -> Any:
    """A tiled copy of a layout of one's own, with copies and with a tiler that permutes."""
    atom = cute.make_copy_atom(nvgpu.CopyUniversalOp(), F16, num_bits_per_copy=64)
    copies = rng.choice((1, 2, 4))
    whole = cute.make_layout(((copies, 32), (4, 2)), stride=((0, 8), (rng.choice(((1, 4), (2, 1))))))
    tilers = (8, 32), (32, 8), (256,), (cute.make_layout((4, 2), stride=(2, 1)), 32)
    return cute.make_tiled_copy(atom, whole, rng.choice(tilers))


def printed() -> None:
    """Print as many blocks as the first argument says."""
    rng = Random(int(sys.argv[2]))
    for _ in range(int(sys.argv[1])):
        make = rng.choice((tiled_mma, tiled_mma, tiled_mma, plain_copy, matrix_copy, own_copy))
        made = make(rng)
        if make is tiled_mma:
            parts = {part: getattr(made, f"tv_layout_{part}_tiled") for part in "ABC"}
        else:
            parts = {"source": made.layout_src_tv_tiled, "destination": made.layout_dst_tv_tiled}
        print(json.dumps({"text": str(made), "parts": {part: str(tv) for part, tv in parts.items()}}))


@cute.jit
def main() -> None:
    printed()


main()
