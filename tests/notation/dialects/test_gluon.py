"""Gluon's objects: each means what Triton's encoding of it means, and what is written is read back."""

from __future__ import annotations

from random import Random

import pytest
from tests.notation.dialects.test_triton import said_and_read
from tests.notation.dialects.triton_texts import TYPES, in_memory, in_registers

from tilewise import LayoutError, parse
from tilewise.notation.dialects import DIALECTS, Given, write

PAIRS = [
    (
        "BlockedLayout(size_per_thread=[1, 4], threads_per_warp=[8, 4], warps_per_cta=[4, 1], order=[1, 0], "
        "cga_layout=[[0, 1]])",
        "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], "
        "order = [1, 0], CGALayout = [[0, 1]]}>",
        (128, 128),
    ),
    (
        "gl.SliceLayout(1, gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0]))",
        "#ttg.slice<{dim = 1, parent = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], "
        "warpsPerCTA = [4, 1], order = [1, 0]}>}>",
        (128,),
    ),
    (
        "DotOperandLayout(operand_index=1, parent=NVMMADistributedLayout(version=[2, 0], "
        "warps_per_cta=[2, 2], instr_shape=[16, 8], cga_layout=[]), k_width=2)",
        "#ttg.dot_op<{opIdx = 1, parent = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, "
        "warpsPerCTA = [2, 2], instrShape = [16, 8]}>, kWidth = 2}>",
        (64, 64),
    ),
    (
        "AMDMFMALayout(version=4, instr_shape=[32, 32, 16], transposed=True, warps_per_cta=[2, 2], "
        "element_bitwidth=32, tiles_per_warp=[1, 1], cga_layout=[])",
        "#ttg.amd_mfma<{version = 4, warpsPerCTA = [2, 2], instrShape = [32, 32, 16], isTransposed = true}>",
        (128, 128),
    ),
    (
        "AMDWMMALayout(version=3, transposed=True, warp_bases=[[0, 1], [1, 0]], reg_bases=[], "
        "instr_shape=[16, 16, 32], cga_layout=[], rank=2)",
        "#ttg.amd_wmma<{version = 3, isTranspose = true, ctaLayout = {warp = [[0, 1], [1, 0]]}, "
        "instrShape = [16, 16, 32]}>",
        (128, 128),
    ),
    (
        "PaddedSharedLayout(interval_padding_pairs=[[64, 8]], offset_bases=[[0, 1], [0, 2], [1, 0]], "
        "cga_layout=[], shape=[2, 4])",
        "#ttg.padded_shared<[64:+8] {order = [1, 0], shape = [2, 4]}>",
        (2, 4),
    ),
    (
        "SharedLinearLayout(offset_bases=[[0, 1], [1, 1]], block_bases=[], alignment=16)",
        "#ttg.shared_linear<{offset = [[0, 1], [1, 1]], block = []}, alignment = 16>",
        (2, 2),
    ),
    (
        "TensorMemoryLayout(block=(128, 64), col_stride=1, cga_layout=[[1, 0]], two_ctas=True, "
        "fp4_padded=False)",
        "#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1, CGALayout = [[1, 0]], "
        "twoCTAs = true>",
        (256, 64),
    ),
    (
        "PartitionedSharedLayout(num_partitions=2, num_groups=2, partition_dim=0, "
        "partition_layout=SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[1, 0]))",
        "#ttg.partitioned_shared<{numPartitions = 2, numGroups = 2, partitionDim = 0, partitionLayout = "
        "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>}>",
        (16, 8),
    ),
]


@pytest.mark.parametrize(("gluon", "triton", "shape"), PAIRS)
def test_objects_mean_what_their_encodings_do(gluon, triton, shape):
    assert parse(gluon, shape=shape) == parse(triton, shape=shape)


def test_a_linear_layout_knows_its_shape():
    text = (
        "DistributedLinearLayout(reg_bases=[[0, 1]], lane_bases=[[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], "
        "warp_bases=[[8, 0]], block_bases=[], shape=[16, 8])"
    )
    assert str(parse(text)) == "S[((2, 8), (4, 2)) : ((1@warpid, 4@laneid), (1@laneid, 1@reg))]"


def test_what_is_written_is_read_as_the_same_map(times):
    rng = Random("written in Gluon")
    for _ in range(times(2000)):
        layout = in_registers(rng) if rng.random() < 0.5 else in_memory(rng)
        said_and_read("gluon", layout, rng.choice([None, *TYPES]))


@pytest.mark.parametrize("text", [example.text for example in DIALECTS["gluon"].module.EXAMPLES[:1]])
def test_an_object_is_written_as_python_prints_it(text):
    assert write(DIALECTS["gluon"], parse(text, shape=(64, 32)), Given()) == text


def test_rotating_rows_have_no_object_and_are_written_as_bases():
    text = "#ttg.amd_rotating_shared<{vec = 4, perPhase = 2, maxPhase = 4, order = [1, 0]}>"
    assert said_and_read("gluon", parse(text, shape=(64, 64)), None).startswith("SharedLinearLayout(")


def test_what_gluon_cannot_say_is_refused():
    with pytest.raises(LayoutError) as no:
        write(DIALECTS["gluon"], parse("S[8 : 2@laneid]"), Given())
    assert no.value.code == "TW008"
