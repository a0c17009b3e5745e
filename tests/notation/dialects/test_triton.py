"""Triton's encodings, held to plain definitions of what they mean; versions, aliases, and writing."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from tests.notation.dialects.triton_texts import TYPES, blocked, in_memory, in_registers, order, split

from tilewise import DType, LayoutError, Refused, parse
from tilewise.core.shapes import extents_of
from tilewise.notation.dialects import DIALECTS, Given, write
from tilewise.notation.read import reading

SHAPES = ((64, 64), (128, 32), (16, 256))


def places(layout, *index):
    """All places of an element, as {axis: steps} without zeros."""
    found = layout.places(*index)
    return {tuple(sorted((axis.name, steps) for axis, steps in place.terms if steps)) for place in found}


def at(**steps):
    return tuple(sorted((axis, number) for axis, number in steps.items() if number))


# -- registers -------------------------------------------------------------------------------------


def blocked_owners(keys, shape):
    """{element: places}, thread by thread: sizes, lanes and warps in one order, over and over."""
    each, lanes, warps, order_ = keys
    rank = len(shape)
    tile = [a * b * c for a, b, c in zip(each, lanes, warps, strict=True)]
    repeats = [max(1, extent // size) for extent, size in zip(shape, tile, strict=True)]
    found = {}

    def number(coordinates, extents):
        """The number of coordinates that run in the order, the fastest dimension first."""
        total, step = 0, 1
        for dimension in order_:
            total += coordinates[dimension] * step
            step *= extents[dimension]
        return total

    def everywhere(extents):
        return product(*map(range, extents))

    registers = 1
    for extent in each:
        registers *= extent
    for again, warp, lane, own in product(*map(everywhere, (repeats, warps, lanes, each))):
        element = tuple(
            (((again[d] * warps[d] + warp[d]) * lanes[d] + lane[d]) * each[d] + own[d]) % shape[d]
            for d in range(rank)
        )
        register = number(again, repeats) * registers + number(own, each)
        place = at(reg=register, laneid=number(lane, lanes), warpid=number(warp, warps))
        found.setdefault(element, set()).add(place)
    return found


def test_blocked_is_registers_lanes_and_warps_in_one_order(times):
    rng = Random("blocked")
    for _ in range(times(60)):
        rank = rng.randint(1, 3)
        keys = [split(rng, bits, rank) for bits in (rng.randrange(4), 5, rng.randrange(3))]
        keys.append(order(rng, rank))
        shape = tuple(1 << rng.randrange(6) for _ in range(rank))
        names = ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order")
        text = ", ".join(f"{name} = {value}" for name, value in zip(names, keys, strict=True))
        layout = parse(f"#ttg.blocked<{{{text}}}>", shape=shape, triton="3.8")
        wanted = blocked_owners(keys, shape)
        for index in product(*map(range, shape)):
            assert places(layout, *index) == wanted[index], (text, shape)


def test_accumulators_of_mma_sync_are_those_of_the_instruction():
    """PTX ISA, m16n8: row = lane / 4 + 8 (i / 2), column = 2 (lane % 4) + i % 2."""
    text = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 1], instrShape = [16, 8]}>"
    layout = parse(text, shape=(32, 16))
    for warp, lane, i, tile in product(range(2), range(32), range(4), range(2)):
        row, column = 16 * warp + lane // 4 + 8 * (i // 2), 8 * tile + lane % 4 * 2 + i % 2
        assert places(layout, row, column) == {at(warpid=warp, laneid=lane, reg=4 * tile + i)}


def test_accumulators_of_wgmma_are_those_of_the_instruction():
    """PTX ISA, m64nNk16: a warp has 16 rows, and d[i] is at row + 8 ((i / 2) % 2), column + 8 (i / 4).

    Warps run along M first. Where the shape ends before the instruction, elements are held again.
    """
    for across, columns in product((1, 2), (16, 32, 64)):
        text = (
            f"#ttg.nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, {across}], "
            "instrShape = [16, 32, 16]}>"
        )
        layout = parse(text, shape=(64, columns))
        again = max(1, columns // (32 * across))
        wanted = {}
        for tile, n, m, lane, i in product(range(again), range(across), range(4), range(32), range(16)):
            row = 16 * m + lane // 4 + 8 * (i // 2 % 2)
            column = 32 * (across * tile + n) + lane % 4 * 2 + 8 * (i // 4) + i % 2
            place = at(warpid=4 * n + m, laneid=lane, reg=16 * tile + i)
            wanted.setdefault((row, column % columns), set()).add(place)
        for index in product(range(64), range(columns)):
            assert places(layout, *index) == wanted[index], (across, columns)


def test_operands_of_mma_sync_are_copied_to_the_warps_along_the_other_dimension():
    """PTX ISA, A of m16n8k16: row = lane / 4 + 8 (i / 2 % 2), column = 2 (lane % 4) + i % 2 + 8 (i / 4)."""
    mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 2], instrShape = [16, 8]}>"
    layout = parse(f"#ttg.dot_op<{{opIdx = 0, parent = {mma}, kWidth = 2}}>", shape=(16, 16))
    for lane, i in product(range(32), range(8)):
        row, column = lane // 4 + 8 * (i // 2 % 2), lane % 4 * 2 + i % 2 + 8 * (i // 4)
        copies = {at(warpid=warp, laneid=lane, reg=i) for warp in range(2)}
        assert places(layout, row, column) == copies


@pytest.mark.parametrize(
    "spelled", ["#ttg.amd_mfma<{version = 3, ", "#triton_gpu.amd_mfma<{versionMajor = 3, "]
)
def test_accumulators_of_mfma_are_those_of_the_instruction(spelled):
    """AMD's calculator, v_mfma_f32_32x32: row = 8 (i / 4) + 4 (lane / 32) + i % 4, column = lane % 32."""
    extents = "[32, 32, 8]" if "#ttg" in spelled else "[32, 32]"
    text = f"{spelled}warpsPerCTA = [1, 1], instrShape = {extents}, isTransposed = false}}>"
    layout = parse(text, shape=(32, 32))
    for lane, i in product(range(64), range(16)):
        assert places(layout, 8 * (i // 4) + 4 * (lane // 32) + i % 4, lane % 32) == {at(laneid=lane, reg=i)}


def test_a_slice_has_the_elements_of_the_owners_of_a_row():
    """A slice along a dimension leaves the lanes that differ along it as copies."""
    parent = (
        "#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [8, 4], warpsPerCTA = [2, 1], "
        "order = [1, 0]}>"
    )
    whole = parse(parent, shape=(16, 8))
    layout = parse(f"#ttg.slice<{{dim = 1, parent = {parent}}}>", shape=(16,))
    for row in range(16):
        owners = {
            tuple(term for term in place if term[0] != "reg")
            for column in range(8)
            for place in places(whole, row, column)
        }
        assert places(layout, row) == owners


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (
            "#ttg.amd_wmma<{version = 3, isTranspose = true, ctaLayout = {warp = [[0, 1], [1, 1]]}, "
            "instrShape = [16, 16, 32]}>",
            (64, 64),
        ),
        (
            "#ttg.generic_linear<{register = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], "
            "warp = [[8, 0], [16, 8]], block = []}>",
            (32, 16),
        ),
    ],
)
def test_xors_over_two_owners_are_refused_with_an_element_that_shows_it(text, shape):
    with pytest.raises(Refused) as no:
        parse(text, shape=shape)
    assert no.value.code == "TW510"
    assert no.value.witness == (16, 16) if "wmma" in text else (16, 8)


# -- memory ----------------------------------------------------------------------------------------


def test_swizzled_rows_have_their_vectors_xored_with_the_phase(times):
    rng = Random("swizzled")
    for _ in range(times(80)):
        vector, per_phase, phases = (1 << rng.randrange(n) for n in (4, 4, 4))
        rows, columns = 1 << rng.randrange(7), 1 << rng.randrange(3, 7)
        text = f"#ttg.swizzled_shared<{{vec = {vector}, perPhase = {per_phase}, maxPhase = {phases}, order = "
        by_rows = parse(f"{text}[1, 0]}}>", shape=(rows, columns))
        by_columns = parse(f"{text}[0, 1]}}>", shape=(columns, rows))
        for row, column in product(range(rows), range(columns)):
            phase = row // per_phase % phases
            address = row * columns + (column ^ vector * phase % columns)
            assert places(by_rows, row, column) == places(by_columns, column, row) == {at(m=address)}


def test_rotating_rows_have_the_block_of_phases_xored_too():
    text = "#ttg.amd_rotating_shared<{vec = 4, perPhase = 2, maxPhase = 4, order = [1, 0]}>"
    layout = parse(text, shape=(64, 64))
    assert len(layout.swizzles) == 2
    for row, column in product(range(64), range(64)):
        phase = row // 2 % 4 ^ row // 8 % 4
        assert places(layout, row, column) == {at(m=row * 64 + (column ^ 4 * phase))}


@pytest.mark.parametrize("width", [32, 64, 128])
def test_tiles_of_tma_have_the_hardwares_swizzle(width):
    """Bits 4 to 6 of a byte's address are XORed with bits 7 to 9, as many as the mode has."""
    text = f"#ttg.nvmma_shared<{{swizzlingByteWidth = {width}, transposed = false, elementBitWidth = 16}}>"
    layout = parse(text, shape=(64, 128))
    across = width // 2
    for row, column in product(range(64), range(128)):
        address = 2 * ((column // across * 64 + row) * across + column % across)
        address ^= (address >> 7 & width // 16 - 1) << 4
        assert places(layout, row, column) == {at(m=address // 2)}


def test_fp4_is_padded_with_holes_and_no_copies():
    text = (
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8, "
        "fp4Padded = true}>"
    )
    layout = parse(text, shape=(8, 64))
    for row, column in product(range(8), range(64)):
        address = row * 128 + (column // 8 * 16 + column % 8 ^ 16 * row)
        assert places(layout, row, column) == {at(m=address)}


def test_paddings_add_up():
    text = "#ttg.padded_shared<[32:+4, 128:+8] {order = [1, 0], shape = [16, 64]}>"
    layout = parse(text, shape=(16, 64))
    for row, column in product(range(16), range(64)):
        offset = row * 64 + column
        assert places(layout, row, column) == {at(m=offset + offset // 32 * 4 + offset // 128 * 8)}


def test_paddings_after_xors_are_refused():
    text = "#ttg.padded_shared<[4:+1] {offset = [[0, 1], [1, 0], [2, 1]], block = []}>"
    with pytest.raises(Refused, match="pads after it has XORed"):
        parse(text, shape=(4, 2))


def test_a_view_lies_in_its_allocation():
    """The last shape of a descriptor is the allocation's, whose rows are longer than the view's."""
    encoding = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
    text = f"!ttg.memdesc<32x32xf16, {encoding}, #ttg.shared_memory, mutable, 64x128>"
    found, whole = reading(text), parse(encoding, shape=(64, 128))
    assert found.dtype == DType.of("f16")
    assert found.notes == ("a view of an allocation of 64x128, from its beginning",)
    for row, column in product(range(32), range(32)):
        assert places(found.layout, row, column) == places(whole, row, column)


def test_dimensions_before_the_encodings_are_buffers():
    encoding = "#ttg.padded_shared<[64:+8] {order = [1, 0], shape = [64, 64]}>"
    layout = parse(f"!ttg.memdesc<3x64x64xf16, {encoding}, #ttg.shared_memory, mutable>")
    one = parse(encoding, shape=(64, 64))
    for buffer, row, column in product(range(3), range(0, 64, 7), range(0, 64, 5)):
        offset = buffer * 64 * 64 + buffer * 64 * 8
        assert layout.place(buffer, row, column)["m"] == offset + one.place(row, column)["m"]


def test_tensor_memory_has_64_rows_on_half_of_its_lanes():
    """Row 16 a + b is on lane 32 a + b; the other 16 lanes of each warp hold nothing."""
    text = "#ttng.tensor_memory_encoding<blockM = 64, blockN = 32, colStride = 1>"
    layout = parse(text, shape=(64, 32))
    for row, column in product(range(64), range(32)):
        assert places(layout, row, column) == {at(TLane=row // 16 * 32 + row % 16, TCol=column)}


def test_scales_are_on_the_lanes_of_all_warps():
    layout = parse("#ttng.tensor_memory_scales_encoding<>", shape=(64, 4))
    for row, column in product(range(64), range(4)):
        copies = {at(TLane=row % 32 + 32 * warp, TCol=column + 4 * (row // 32)) for warp in range(4)}
        assert places(layout, row, column) == copies


ANSWERED = [
    (
        "#ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = true, elementBitWidth = 8, rank = 3}>",
        "S[(4, 4, 8) : (4, 1, 32)]",
    ),
    (
        "#ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = true, elementBitWidth = 32, rank = 3}>",
        "Swizzle<1,2,3> o S[(8, 8, (2, 8)) : (1, 16, (8, 128))]",
    ),
    (
        "#ttg.linear<{register = [[0, 1, 0]], lane = [[1, 0, 0], [0, 0, 1], [0, 2, 0]], warp = []}>",
        "S[((2, 2), (2, 2, 2), 2) : ((4@reg, 1@laneid), (2@reg, 4@laneid, 1@reg), 2@laneid)]",
    ),
    (
        "#ttg.linear<{register = [], lane = [[1, 0, 0], [0, 1, 0]], warp = [], block = []}>",
        "S[((2, 2), (2, 2), 4) : ((8@reg, 1@laneid), (4@reg, 2@laneid), 1@reg)]",
    ),
]
"""Texts, and what Triton 3.9.0 itself makes of them, where one would guess otherwise."""


@pytest.mark.parametrize(("text", "layout"), ANSWERED)
def test_tritons_own_order_is_kept(text, layout):
    wanted = parse(layout)
    assert parse(text, shape=tuple(extents_of(wanted.shape))).same(wanted).answer is True


def test_blocks_that_split_k_split_it_in_operands_of_mfma_alone():
    """mfmaDotToLinearLayout takes the parent's blocks as they are; other operands have copies along K."""
    mfma = (
        "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true, "
        "CGALayout = [[0, 1]]}>"
    )
    mma = (
        "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], CGALayout = [[0, 1]], "
        "instrShape = [16, 8]}>"
    )
    split_k = parse(f"#ttg.dot_op<{{opIdx = 0, parent = {mfma}, kWidth = 4}}>", shape=(64, 32))
    copied = parse(f"#ttg.dot_op<{{opIdx = 0, parent = {mma}, kWidth = 2}}>", shape=(64, 32))
    assert {place["cbx"] for place in split_k.places(0, 0)} == {0}
    assert {place["cbx"] for place in split_k.places(0, 16)} == {1}
    assert {place["cbx"] for place in copied.places(0, 0)} == {0, 1}


# -- spelling of other versions --------------------------------------------------------------------

OLD_AND_NEW = [
    (
        "#triton_gpu.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], "
        "order = [1, 0], CTAsPerCGA = [2, 2], CTASplitNum = [1, 2], CTAOrder = [1, 0]}>",
        "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], "
        "order = [1, 0], CGALayout = [[0, 1], [0, 0]]}>",
        None,
    ),
    (
        "#triton_gpu.shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [0, 1], hasLeadingOffset = false}>",
        "#ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [0, 1]}>",
        None,
    ),
    (
        "#triton_gpu.shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], hasLeadingOffset = true}>",
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>",
        None,
    ),
    (
        "#triton_gpu.shared<{vec = 4, perPhase = 2, maxPhase = 4, order = [0, 1], hasLeadingOffset = true}>",
        "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 32}>",
        None,
    ),
    (
        "#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, unpacked = true>",
        "#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 2>",
        "f16",
    ),
    (
        "#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, unpacked = true, CTASplitM = 2>",
        "#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1, CGALayout = [[1, 0]]>",
        "f32",
    ),
    (
        "#triton_gpu.amd_wmma<{version = 2, warpsPerCTA = [2, 4]}>",
        "#ttg.amd_wmma<{version = 2, isTranspose = false, ctaLayout = {warp = [[0, 1], [0, 2], [1, 0]]}}>",
        None,
    ),
]


@pytest.mark.parametrize(("old", "new", "dtype"), OLD_AND_NEW)
def test_old_spellings_mean_what_new_ones_do(old, new, dtype):
    shape = (256, 128)
    layout = parse(old, shape=shape, dtype=dtype, triton="3.2")
    assert layout.same(parse(new, shape=shape, dtype=dtype)).answer is True


def test_registers_beyond_the_shape_depend_on_the_version():
    text = (
        "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], "
        "order = [1, 0]}>"
    )
    newest, old, unknown = (reading(text, shape=(8, 2), triton=given) for given in ("3.9", "3.2", None))
    assert newest.notes == ()
    assert "--triton 3.8" in unknown.notes[0]
    assert "before 3.9" in old.notes[0]
    assert unknown.layout == newest.layout
    assert len(old.layout.places(0, 0)) == 2 * len(newest.layout.places(0, 0))


def test_what_is_no_version_is_refused():
    with pytest.raises(LayoutError, match="no version of Triton"):
        parse("#ttg.shared_memory", shape=(8,), triton="three")


# -- aliases ---------------------------------------------------------------------------------------

MODULE = """#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], \
order = [1, 0]}>
#loc = loc("kernel.py":1:2)
#smem = #ttg.shared_memory
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
  tt.func public @kernel(%p: !tt.ptr<f32>) {
    %0 = tt.make_range {end = 64 : i32} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>> loc(#loc)
    %1 = ttg.local_alloc : () -> !ttg.memdesc<2x64x64xf16, #shared, #smem, mutable> loc(#loc)
    %2 = tt.splat %p : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>, #blocked> loc(#loc)
  }
}
"""


def test_a_text_with_aliases_has_parts():
    layout = parse(MODULE, part="#blocked", shape=(64, 64))
    pointers = reading(MODULE, part="tensor<64x64x!tt.ptr<f32>, #blocked>")
    assert pointers.layout == layout
    assert pointers.dtype == DType.of("b64")
    buffers = parse(MODULE, part="!ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>")
    assert tuple(extents_of(buffers.shape)) == (2, 64, 64)
    with pytest.raises(LayoutError) as no:
        parse(MODULE)
    assert no.value.message.startswith("the text has 5 layouts: #blocked, #shared, tensor<64xi32")


def test_one_type_after_its_aliases_is_read():
    first = MODULE.splitlines()[0]
    text = f"{first}\ntensor<64x64xf16, #blocked>"
    assert parse(text) == parse(MODULE, part="#blocked", shape=(64, 64))


# -- writing ---------------------------------------------------------------------------------------


def said_and_read(name, layout, dtype):
    text = write(DIALECTS[name], layout, Given(dtype=dtype))
    read = parse(text, dialect=name, shape=tuple(extents_of(layout.shape)), dtype=dtype)
    assert read.same(layout).answer is True, text
    return text


def test_what_is_written_is_read_as_the_same_map(times):
    rng = Random("written in Triton")
    kinds = set()
    for _ in range(times(2000)):
        layout = in_registers(rng) if rng.random() < 0.5 else in_memory(rng)
        kinds.add(said_and_read("triton", layout, rng.choice([None, *TYPES])).partition("<")[0])
    assert {"#ttg.blocked", "#ttg.linear", "#ttg.swizzled_shared", "#ttg.shared_linear"} <= kinds


def test_blocked_is_written_as_blocked(times):
    rng = Random("blocked again")
    for _ in range(times(200)):
        rank = rng.randint(1, 3)
        shape = tuple(1 << rng.randrange(7) for _ in range(rank))
        layout = parse(blocked(rng, rank), shape=shape)
        assert said_and_read("triton", layout, None).startswith("#ttg.blocked<")


@pytest.mark.parametrize(
    ("text", "shape", "dtype"),
    [
        ("#ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>", (64, 64), None),
        ("#ttg.amd_rotating_shared<{vec = 4, perPhase = 2, maxPhase = 4, order = [1, 0]}>", (64, 64), None),
        ("#ttg.padded_shared<[32:+4, 128:+8] {order = [1, 0], shape = [16, 64]}>", (16, 64), None),
        (
            "#ttg.padded_shared<[8:+1] {offset = [[0, 1], [2, 0], [4, 0], [0, 2], [1, 0]], block = []}>",
            (8, 4),
            None,
        ),
        (
            "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 16}>",
            (64, 64),
            "f16",
        ),
        ("#ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 2>", (128, 64), "f16"),
        ("#ttng.tensor_memory_scales_encoding<>", (128, 4), None),
    ],
)
def test_encodings_are_written_as_they_are_printed(text, shape, dtype):
    layout = parse(text, shape=shape, dtype=dtype)
    element = None if dtype is None else DType.of(dtype)
    assert write(DIALECTS["triton"], layout, Given(dtype=element)) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("S[48 : 1@laneid]", "extent 48 is no power of two"),
        ("S[8 : 2@laneid]", "no element is at 1@laneid"),
        ("S[8 : 1@laneid] + 4@laneid", "an offset of 4@laneid"),
        ("S[(8, 8) : (1@laneid, 1@m)]", "no encoding over the axes laneid m"),
        ("S[(8, 8) : (8, 1)] + R[2 : 64]", "copies in memory"),
        ("S[(4, 8) : (0, 1)]", "a step of 0 moves no single bit"),
        ("S[8 : 1@gpuid_x]", "no encoding over the axes gpuid_x"),
        ("Swizzle<1,0,1>@reg o S[8 : 1@reg]", "registers are XORed here"),
    ],
)
def test_what_triton_cannot_say_is_refused_with_the_reason(text, why):
    with pytest.raises(LayoutError, match=why) as no:
        write(DIALECTS["triton"], parse(text), Given())
    assert no.value.code == "TW008"


def test_an_operand_of_wgmma_printed_without_its_width_fills_registers():
    """3.0 to 3.2 printed no kWidth beside Hopper's products: two of 16 bits lie in a register of 32."""
    mma = (
        "#triton_gpu.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], "
        "instrShape = [16, 64, 16]}>"
    )
    text = f"tensor<64x64xf16, #triton_gpu.dot_op<{{opIdx = 0, parent = {mma}}}>>"
    with_width = text.replace("}>}>>", "}>, kWidth = 2}>>")
    assert parse(text) == parse(with_width)
    assert reading(text, triton="3.2").notes == ()
    assert "as 3.2 defines them" in reading(text, triton="3.0").notes[0]
    encoding = text[len("tensor<64x64xf16, ") : -1]
    with pytest.raises(LayoutError) as no:
        parse(encoding, shape=(64, 64))
    assert (no.value.code, no.value.hint) == ("TW105", "--dtype f16")


@pytest.mark.parametrize(
    ("name", "ours"), [("f8E8M0FNU", "ue8m0"), ("f4E2M1FN", "e2m1"), ("ui8", "u8"), ("i1", "b1")]
)
def test_types_of_mlir_are_read(name, ours):
    encoding = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>"
    assert reading(f"tensor<32x{name}, {encoding}>").dtype == DType.of(ours)
