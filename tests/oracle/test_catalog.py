"""The catalogue against TIRx's shared-memory tiles, and what tensor-layouts has of CUTLASS's fragments."""

from __future__ import annotations

from itertools import product

import pytest

from tilewise import parse
from tilewise.hardware.catalog import find

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

MODES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
DTYPES = {"f16": "float16", "bf16": "bfloat16", "tf32": "float32", "e4m3": "float8_e4m3fn", "s8": "int8"}


@pytest.mark.parametrize(("mode", "dtype"), [*product(MODES, DTYPES)])
@pytest.mark.parametrize(("rows", "steps"), [(64, 4), (128, 8), (24, 16)])
def test_tiles_are_as_tirx_makes_them(mode, dtype, rows, steps):
    """K-major, atoms down the rows first."""
    utils = pytest.importorskip("tvm.backend.cuda.tile_primitive.tma_utils", reason="no apache-tvm")
    k = steps * find("wgmma.shapes")(dtype).facts["k"]
    theirs = utils.mma_shared_layout(DTYPES[dtype], MODES[mode], [rows, k])
    ours = find("wgmma.smem")("B", "k", mode, dtype, rows, k).layout
    for row, column in product(range(0, rows, 3), range(0, k, 5)):
        there = theirs.apply(row, column, shape=[rows, k])
        assert ours.place(row, column)["m"] == int(there["m"])


@pytest.mark.parametrize("n", range(8, 257, 8))
def test_d_is_as_cutlass_has_it(n):
    """(thread, value) to row + 64 column."""
    atoms = pytest.importorskip("tensor_layouts.atoms_nv", reason="tensor-layouts is not installed")
    theirs = atoms.gmma_c_layout(n)
    ours = find("wgmma.D")("f32", n).layout
    for thread, value in product(range(128), range(n // 2)):
        at = theirs(thread, value)
        place = ours.place(at % 64, at // 64)
        assert (place["wid_in_wg"], place["laneid"], place["reg"]) == (thread // 32, thread % 32, value)


def test_calls_are_spelled_for_cute():
    """The text of `say` for a tile, read by pycute as CuTe reads it."""
    pycute = pytest.importorskip("pycute", reason="nvidia-cutlass is not installed")
    ours = parse("wgmma.smem(B, mn, none, bf16, 128, 64)")
    from tilewise.notation import to_cute

    shape, stride = to_cute(ours).split(":")
    theirs = pycute.Layout(eval(shape), eval(stride))
    for row, column in product(range(0, 128, 7), range(0, 64, 5)):
        assert ours.place(row, column)["m"] == theirs(row, column)
