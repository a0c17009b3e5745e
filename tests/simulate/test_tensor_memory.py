"""Tensor memory in the model: loads, stores and copies by the formulas of the manual, word by word."""

from __future__ import annotations

import numpy as np
import pytest
from tests.hardware.tcgen05_formulas import MOST, REGISTERS, ROWS, halves

from tilewise import LayoutError, Refused, parse
from tilewise.check.tensor_memory import plan
from tilewise.hardware.catalog import find
from tilewise.hardware.tcgen05.copies import COPIES, SOURCES
from tilewise.hardware.tcgen05.datapaths import DATA_PATHS
from tilewise.hardware.tcgen05.descriptor import Descriptor
from tilewise.simulate.faults import Step
from tilewise.simulate.memory import Memory
from tilewise.simulate.registers import Registers
from tilewise.simulate.scales import pack
from tilewise.simulate.tensor_memory import TensorMemory, cp, ld, st

INSTRUCTIONS = [
    (form, 1 << i, packed)
    for form, most in MOST.items()
    for i in range(8)
    if 1 << i <= most
    for packed in (False, True)
]
WORDS = parse("S[(128, 512) : (1@TLane, 1@TCol)]")


def filled(seed=1):
    memory = TensorMemory()
    memory.put(np.random.default_rng(seed).integers(0, 1 << 32, (128, 512)), WORDS, "u32")
    return memory


def span(form, repeat, packed):
    """Columns of one part."""
    columns = {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8, "16x32bx2": 1}[form]
    return columns * repeat * (2 if packed else 1)


def split_of(form, repeat, packed, extra=3):
    return (
        span(form, repeat, packed) + extra
        if form == "16x32bx2" and span(form, repeat, packed) < 200
        else None
    )


def parts(form, repeat, packed):
    split = split_of(form, repeat, packed)
    assumed = span(form, repeat, packed) if split is None else split
    for t in range(32):
        for r in range(repeat * REGISTERS[form]):
            yield t, r, halves(form, t, r, packed, assumed)


@pytest.mark.parametrize(("form", "repeat", "packed"), INSTRUCTIONS)
def test_loads(form, repeat, packed):
    memory, split = filled(), split_of(form, repeat, packed)
    for warp, column, slab in ((0, 0, 0), (3, 5, 16), (6, 2, 0)):
        if span(form, repeat, packed) * (2 if form == "16x32bx2" else 1) + column + 3 > 512:
            column = 0
        first = 32 * (warp % 4) + (0 if form == "32x32b" else slab)
        found = ld(memory, form, f"x{repeat}", first << 16 | column, packed=packed, split=split, warp=warp)
        assert found.words.shape == (1, 32, repeat * REGISTERS[form])
        assert (found.known == 0xFFFFFFFF).all()
        for t, r, places in parts(form, repeat, packed):
            wanted, at = 0, 0
            for lane, further, bits in places:
                wanted |= (int(memory.words[first + lane, column + further]) & (1 << bits) - 1) << at
                at += bits
            assert int(found.words[0, t, r]) == wanted


@pytest.mark.parametrize(("form", "repeat", "packed"), INSTRUCTIONS)
def test_stores(form, repeat, packed):
    memory, split, first = TensorMemory(), split_of(form, repeat, packed), 64
    words = np.random.default_rng(repeat).integers(0, 1 << 32, (32, repeat * REGISTERS[form]))
    st(memory, form, repeat, first << 16, Registers.of(words), packed=packed, split=split, warp=2)
    wanted, known = np.zeros((2, 128, 512), np.uint32)
    for t, r, places in parts(form, repeat, packed):
        at = 0
        for lane, column, bits in places:
            wanted[first + lane, column] = int(words[t, r]) >> at & (1 << bits) - 1
            known[first + lane, column] = (1 << bits) - 1
            at += bits
    assert (memory.known == known).all()
    assert (memory.words == wanted).all()
    again = ld(memory, form, repeat, first << 16, packed=packed, split=split, warp=2)
    assert (again.words[0] == words).all()
    assert (again.known == 0xFFFFFFFF).all()


def test_a_store_leaves_other_words_alone():
    memory = filled()
    before = memory.words.copy()
    st(memory, "16x256b", 1, 16 << 16 | 8, Registers.of(np.zeros((32, 4), int)))
    changed = np.argwhere(memory.words != before)
    assert {int(lane) for lane, _ in changed} == {*range(16, 32)}
    assert {int(column) for _, column in changed} == {*range(8, 16)}


def test_what_unpack_leaves_above_is_nothing():
    memory = filled()
    st(memory, "32x32b", 1, 0, Registers.of(np.full((32, 1), 0x20001)), packed=True)
    assert memory.words[3, :2].tolist() == [1, 2]
    assert memory.known[3, :3].tolist() == [0xFFFF, 0xFFFF, 0xFFFFFFFF]
    held = ld(memory, "32x32b", 2, 0)
    with pytest.raises(Refused, match="which nothing wrote"):
        held.held(Step("a use"))


# -- the plans -------------------------------------------------------------------------------------


def numbers_of(layout, dtype):
    rng = np.random.default_rng(3)
    found = rng.integers(-8, 8, [int(np.prod(mode)) for mode in layout.shape])
    return found.astype(float)


def warps_of(way):
    return [4 * number + warp for number in way.words.groups.numbers for warp in way.words.warps]


def loaded(memory, way):
    """The registers of all warps after a plan's loads."""
    warps = []
    for warp in warps_of(way):
        words, known = np.zeros((2, 1, 32, way.registers), np.uint32)
        for move in way.moves:
            found = ld(
                memory,
                move.form,
                move.repeat,
                move.address(warp),
                packed=move.way.packed,
                split=move.way.split,
                warp=warp,
            )
            own = slice(move.register, move.register + move.registers)
            words[:, :, own], known[:, :, own] = found.words, found.known
        warps.append((words, known))
    return Registers(*(np.concatenate([one[i] for one in warps]) for i in (0, 1)))


def stored(memory, way, registers):
    for warp in warps_of(way):
        for move in way.moves:
            own = registers.warp(warp)[move.register : move.register + move.registers]
            st(
                memory,
                move.form,
                move.repeat,
                move.address(warp),
                own,
                packed=move.way.packed,
                split=move.way.split,
                warp=warp,
            )


PATHS = [(path, slab) for path in DATA_PATHS.values() if path.cta_group == 1 for slab in path.slabs]


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize(("path", "slab"), PATHS)
def test_plans_bring_accumulators_to_registers_and_back(path, slab, dtype):
    """Executed: after the loads of a plan its fragment has the numbers, and the stores put them back."""
    layout = path.accumulator(64, 2 if dtype == "f16" else 1, slab)
    numbers, memory = numbers_of(layout, dtype), TensorMemory()
    memory.put(numbers, layout, dtype)
    for way in plan(layout, dtype).ways:
        held = loaded(memory, way)
        assert (held.numbers(way.fragment, dtype) == numbers).all()
    for way in plan(layout, dtype, store=True).ways:
        empty = TensorMemory()
        stored(empty, way, Registers.holding(numbers, way.fragment, dtype))
        assert (empty.take(layout, dtype) == numbers).all()
        assert ((empty.known == 0) | (memory.known != 0)).all()


def test_an_operand_goes_from_the_fragment_of_one_product_to_tensor_memory():
    """P of an attention: D of 16x256b, as bf16, stored as A."""
    layout, memory = find("tcgen05.A")("bf16", m=128, k=32).layout, TensorMemory()
    for way in plan(layout, "bf16", store=True).ways:
        stored(memory, way, Registers.holding(numbers_of(layout, "bf16"), way.fragment, "bf16"))
        assert (memory.take(layout, "bf16") == numbers_of(layout, "bf16")).all()


WANTED = [
    # (in tensor memory, the fragment, the registers that are loaded though nobody wants them)
    (
        "S[(128, 2, 8) : (1@TLane, 16@TCol, 1@TCol)]",
        "S[(128, 2, 8) : (1@tid_in_wg, 8@reg, 1@reg)]",
        (16, 17, 18, 19, 20, 21, 22, 23),
    ),
    (
        "S[(4, 16, 8) : (32@TLane, 1@TLane, 1@TCol)] + R[2 : 16@TLane]",
        "S[(4, 16, (2, 4)) : (1@wid_in_wg, 1@laneid, (16@laneid, 1@reg))]",
        (4, 5, 6, 7),
    ),
    (
        "S[(4, 16, 8) : (32@TLane, 1@TLane, 1@TCol)] + R[2 : 16@TLane]",
        "S[(4, 16, (2, 4)) : (1@wid_in_wg, 1@laneid, (16@laneid, 1@reg))] + R[2 : 4@reg]",
        (),
    ),
    (
        "S[(64, 8) : (1@TLane, 1@TCol)] + R[2 : 8@TCol]",
        "S[(64, 8) : (1@tid_in_wg, 1@reg)] + R[2 : 8@reg]",
        (),
    ),
    (
        "S[(64, 8) : (1@TLane, 1@TCol)] + R[2 : 64@TLane]",
        "S[(64, 8) : (1@tid_in_wg, 1@reg)] + 64@tid_in_wg",
        (),
    ),
    # two warpgroups, by columns, by every second 8 columns, by lanes, both with all of it
    (
        "S[(128, 32) : (1@TLane, 1@TCol)]",
        "S[(128, (2, 16)) : (1@tid_in_wg, (1@wgid, 1@reg))]",
        (),
    ),
    (
        "S[(128, 32) : (1@TLane, 1@TCol)]",
        "S[(128, (2, 2, 8)) : (1@tx, (8@reg, 128@tx, 1@reg))]",
        (16, 17, 18, 19, 20, 21, 22, 23),
    ),
    (
        "S[(128, 32) : (1@TLane, 1@TCol)]",
        "S[((4, 2, 2, 8), (4, 4, 2)) : ((1@warpid, 4@warpid, 2@reg, 4@laneid), (4@reg, 1@laneid, 1@reg))]",
        (),
    ),
    (
        "S[(128, 32) : (1@TLane, 1@TCol)]",
        "S[(128, 32) : (1@tid_in_wg, 1@reg)] + R[2 : 1@wgid]",
        (),
    ),
    (
        "S[(32, (4, 2)) : (1@TLane, (2@TCol, 1@TCol))] + R[4 : 32@TLane]",
        "S[(32, (4, 2)) : (1@laneid, (1@wid_in_wg + 2@reg, 1@reg))]",
        (),
    ),
]


@pytest.mark.parametrize(("held", "to", "spare"), WANTED)
def test_a_plan_fills_the_registers_of_the_wanted_fragment(held, to, spare):
    """With all copies that are wanted; what else an instruction loads comes behind."""
    layout, wanted = parse(held), parse(to)
    numbers, memory = numbers_of(layout, "f32"), TensorMemory(32)
    memory.put(numbers, layout, "f32")
    fit = plan(layout, "f32", to=wanted).fit
    came = loaded(memory, fit.way)
    order = np.argsort(fit.registers)
    assert sorted(fit.registers) == [*range(fit.way.registers)]
    assert fit.spare == spare
    named = Registers(came.words[:, :, order], came.known[:, :, order])
    assert (named.numbers(by_warps(wanted), "f32") == numbers).all()


def by_warps(layout):
    """The same with warpgroups as warps, four each."""
    if "wgid" not in {str(axis) for axis in layout.axes}:
        return layout
    if "tid_in_wg" in {str(axis) for axis in layout.axes}:
        layout = layout.split_axis("tid_in_wg")
    return layout.fuse_axes(("wgid", "wid_in_wg"))


def test_a_store_may_name_a_register_again():
    layout, held = parse(WANTED[3][0]), parse("S[(64, 8) : (1@tid_in_wg, 1@reg)]")
    numbers, memory = numbers_of(layout, "f32"), TensorMemory(16)
    fit = plan(layout, "f32", to=held, store=True).fit
    assert fit.registers == (*range(8), *range(8))
    given = Registers.holding(numbers, held, "f32")
    stored(memory, fit.way, Registers(*(part[:, :, fit.registers] for part in (given.words, given.known))))
    assert (memory.take(layout, "f32") == numbers).all()


# -- copies ----------------------------------------------------------------------------------------

MODES = {"none": 0, "32B": 32, "64B": 64, "128B": 128}


def source_byte(descriptor, width, row, byte):
    """Where byte [row, byte] of the source is, by the manual's words for K-major operands."""
    chunk, inside = byte // 16, byte % 16
    if not width:
        return descriptor.start + row % 8 * 16 + row // 8 * descriptor.sbo + chunk * descriptor.lbo + inside
    address = descriptor.start + row % 8 * width + row // 8 * descriptor.sbo + byte
    mask = width // 16 - 1
    return address ^ (address >> 7 & mask) << 4


def named(copy):
    return f"{copy.form}.{copy.multicast}".rstrip(".")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("copy", COPIES, ids=named)
def test_copies(copy, mode):
    rows, width, lanes = ROWS[named(copy)]
    shared = Memory(32 * 1024)
    shared.put(np.random.default_rng(5).integers(0, 256, 32 * 1024), "u8")
    descriptor = Descriptor(start=1024, lbo=4096, sbo=max(128, 8 * MODES[mode]), mode=mode)
    for lane, column in ((0, 0), (3, 40)) if copy.form == "4x256b" else ((0, 0), (0, 40)):
        memory = TensorMemory()
        cp(memory, shared, copy, descriptor, lane << 16 | column)
        wanted, known = np.zeros((2, 128, 512), np.uint32)
        for row in range(rows):
            for byte in range(width):
                value = int(shared.data[source_byte(descriptor, MODES[mode], row, byte)])
                for own in lanes(row):
                    wanted[lane + own, column + byte // 4] |= value << 8 * (byte % 4)
                    known[lane + own, column + byte // 4] |= 0xFF << 8 * (byte % 4)
        assert (memory.words == wanted).all()
        assert (memory.known == known).all()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("copy", COPIES, ids=named)
def test_copies_that_spread(copy, source):
    """16 elements lie in the first bytes of 16; each gets a byte, at the bits that its kind reads."""
    rows, width, lanes = ROWS[named(copy)]
    bits, taken = SOURCES[source]
    shared, rng = Memory(8192), np.random.default_rng(7)
    codes = rng.integers(0, 1 << bits, (rows, width))
    descriptor = Descriptor(start=0, lbo=4096, sbo=128)
    for row in range(rows):
        for chunk in range(width // 16):
            word = sum(int(codes[row, 16 * chunk + e]) << bits * e for e in range(16))
            at = source_byte(descriptor, 0, row, 16 * chunk)
            shared.put(list(word.to_bytes(taken, "little")), "u8", at=at)
    memory = TensorMemory(8)
    cp(memory, shared, copy, descriptor.value, source=source)
    data = np.ascontiguousarray(memory.words).view(np.uint8)
    for row in range(rows):
        for lane in lanes(row):
            assert (data[lane, :width] == codes[row] << (2 if bits == 4 else 0)).all()


def test_packed_scales_are_where_a_product_reads_them():
    """Blocks of 128 x 4, one copy of 32x128b.warpx4 each, are what tcgen05.sfa says."""
    scales = np.random.default_rng(2).integers(0, 256, (128, 8)).astype(np.uint8)
    shared, memory = Memory(1024), TensorMemory(32)
    shared.put(pack(scales), "u8")
    for block in range(2):
        cp(memory, shared, "32x128b", Descriptor(start=512 * block, sbo=128), 4 * block)
    sfa = find("tcgen05.sfa")("mxf8f6f4", rows=128, sf_k=8)
    assert (memory.take(sfa.layout, "u8") == scales).all()
    wrong = scales.copy()
    wrong[77, 5] ^= 1
    assert (memory.take(sfa.layout, "u8") != wrong).sum() == 1


def test_and_those_of_a_pair_whose_halves_compute_two_halves_of_n():
    """SFB of M = 128 and N = 256: two blocks, by 64x128b.warpx2::01_23 to each CTA."""
    scales = np.random.default_rng(4).integers(0, 256, (256, 4)).astype(np.uint8)
    shared, memory = Memory(1024), TensorMemory(32)
    shared.put(pack(scales), "u8")
    cp(memory, shared, "64x128b", Descriptor(sbo=128), multicast="warpx2::01_23")
    sfb = find("tcgen05.sfb")("mxf8f6f4", rows=256, m=128, cta_group=2).layout
    own = sfb.with_parts(
        sfb.shape, sfb.strides, tuple(it for it in sfb.replica if not it.stride["cbx"]), sfb.offset
    )
    assert (memory.take(own, "u8") == scales).all()
    other = TensorMemory(32)
    cp(other, shared, "64x128b", Descriptor(sbo=128), multicast="warpx2::02_13")
    with pytest.raises(Refused, match="hold different numbers"):
        other.take(own, "u8")


# -- what a program must not do --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: ld(filled(), "32x32b", 1, 32 << 16),
            "outside",
            "x1.b32, warp 0, lane 0, register 0 reads lane 32 of tensor memory, and warp 0 has lanes 0 to 31",
        ),
        (lambda: ld(filled(), "32x32b", 1, 16 << 16), "misaligned", "begins at lane 16 of tensor memory"),
        (
            lambda: ld(filled(), "16x64b", 1, 48 << 16),
            "outside",
            "reads lane 48 of tensor memory, and warp 0",
        ),
        (
            lambda: ld(TensorMemory(32), "16x256b", 4, 8),
            "outside",
            "reads column 32 of tensor memory, of which 32",
        ),
        (
            lambda: st(TensorMemory(), "32x32b", 1, 0, Registers.of(np.zeros((32, 1), int)), warp=1),
            "outside",
            "warp 1 has lanes 32 to 63",
        ),
        (lambda: st(TensorMemory(), "32x32b", 1, 0, Registers.empty(1)), "unwritten", "which nothing wrote"),
        (
            lambda: ld(TensorMemory(32), "16x64b", 1, 8 << 16),
            "misaligned",
            "16x64b.x1.b32, warp 0 begins at lane 8 of tensor memory, which is no multiple of 16",
        ),
        (
            lambda: ld(filled(), "16x256b", 1, 56 << 16, warp=1),
            "misaligned",
            "warp 1 begins at lane 56 of tensor memory, which is no multiple of 16",
        ),
        (
            lambda: st(TensorMemory(), "16x32bx2", 1, 1 << 16, Registers.of(np.zeros((32, 1), int))),
            "misaligned",
            "begins at lane 1 of tensor memory, which is no multiple of 16",
        ),
        (
            lambda: st(TensorMemory(), "16x32bx2", 2, 0, Registers.of(np.arange(64).reshape(32, 2)), split=1),
            "overlapping",
            "write different words to lane",
        ),
        (
            lambda: cp(TensorMemory(), Memory(512), "32x128b", Descriptor(sbo=128)),
            "unwritten",
            "tcgen05.cp.cta_group::1.32x128b.warpx4, row 0, chunk 0 reads byte 0 of shared memory, which",
        ),
        (lambda: TensorMemory().take(WORDS, "u32"), "unwritten", "lane 0, column 0, which nothing wrote"),
    ],
)
def test_faults(call, kind, message):
    with pytest.raises(Refused) as no:
        call()
    assert no.value.code == "TW612"
    assert no.value.witness["fault"] == kind
    assert message in no.value.message


def test_a_copy_past_the_last_lane_or_column():
    shared = Memory(4096)
    shared.put(np.zeros(4096, int), "u8")
    with pytest.raises(Refused, match="row 0, copy 3, column 0 writes lane 128"):
        cp(TensorMemory(), shared, "32x128b", Descriptor(sbo=128), 32 << 16)
    with pytest.raises(Refused, match="row 0, copy 0, column 4 writes column 32"):
        cp(TensorMemory(32), shared, "128x256b", Descriptor(lbo=2048, sbo=128), 28)


@pytest.mark.parametrize(
    ("descriptor", "message"),
    [
        (Descriptor(start=16, sbo=256, mode="32B"), "32 bytes from byte 16 of a row of 32 go on past it"),
        (Descriptor(sbo=1024, mode="128B", lbo_mode="absolute"), "LBO is an address"),
        (Descriptor(sbo=512, mode="128B_ATOM_32B"), "are no K-major ones"),
    ],
)
def test_sources_that_no_document_has(descriptor, message):
    with pytest.raises(Refused, match=message):
        cp(TensorMemory(), Memory(8192), "128x256b", descriptor)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TensorMemory(513), "513 columns"),
        (lambda: TensorMemory("x"), "the columns must be an integer, not"),
        (lambda: TensorMemory(1.5), "the columns must be an integer"),
        (lambda: TensorMemory(None), "the columns must be an integer"),
        (lambda: TensorMemory().put(0, parse("S[128 : 1@laneid]"), "u32"), "the axis laneid"),
        (
            lambda: TensorMemory().take(find("tcgen05.D")("f32", m=256, n=64, cta_group=2).layout, "f32"),
            "the axis cbx",
        ),
        (lambda: TensorMemory(32).put(0, parse("S[64 : 1@TCol]"), "u32"), "reaches TCol 63"),
        (
            lambda: st(TensorMemory(), "16x256b", 2, 0, Registers.of(np.zeros((32, 4), int))),
            "takes 8 registers of one warp",
        ),
    ],
)
def test_what_is_not_understood(call, message):
    with pytest.raises(LayoutError) as no:
        call()
    assert message in no.value.message
