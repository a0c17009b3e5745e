"""Emitted mma kernels: the addresses that they use, against the layouts; what is refused; their texts."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, reduce
from operator import or_
from typing import Any

import pytest
from tests.codegen import mma_on_device
from tests.codegen.mma_cases import CASES, INSTRUCTIONS, LATER, PAIRS, Case, Drawn

from tilewise import Layout, LayoutError, NotDecided, Refused, parse
from tilewise.codegen import source_of
from tilewise.codegen.mma import Operand, kernel_source, planned
from tilewise.codegen.mma.kernel import host_source
from tilewise.codegen.mma.moves import Moves
from tilewise.codegen.parts.copies import WIDTHS, chunks, copies, widest
from tilewise.core.dtypes import DType
from tilewise.core.shapes import extents_of
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.matrices.forms import Form
from tilewise.hardware.mma.instructions import FAMILIES

KERNELS = (*CASES, *LATER, *(Drawn(24, seed=6, number=number) for number in range(24)))
ALL = pytest.mark.parametrize("case", KERNELS, ids=str)
LANES = 32


def test_there_are_sixty_pairs_and_each_kind_is_among_them() -> None:
    pairs = [line for line in PAIRS.splitlines() if line and not line.startswith("#")]
    assert len(set(pairs)) == len(pairs) >= 60
    plans = [case.plan for case in CASES]
    forms = {str(own.fill.form) for plan in plans for own in (plan.a, plan.b, plan.result) if own}
    matrices = itertools.product(("ld", "st"), ("", ".trans"))
    assert {f"{verb}matrix.sync.aligned.m8n8.x4{trans}.shared.b16" for verb, trans in matrices} <= forms
    assert {f"ld.shared.b{bits}" for bits in (8, 16, 32, 64)} <= forms
    assert {
        "st.shared.b16",
        "st.shared.b32",
        "st.shared.b64",
        "st.shared.v2.b32",
        "st.shared.v2.b64",
    } <= forms
    assert {plan.load for plan in plans} == {"cp.async", "copy"}
    assert {plan.ahead for plan in plans} == {True, False}
    assert {own.major for plan in plans for own in (plan.a, plan.b)} == {"k", "mn"}


def test_every_family_has_its_kernel() -> None:
    plans = [case.plan for case in INSTRUCTIONS]
    have = {(plan.shape, plan.a.dtype.name, plan.b.dtype.name) for plan in plans}
    wanted = {(family.shape, *pair) for family in FAMILIES if family.products == 1 for pair in family.inputs}
    assert have == wanted


# -- addresses --------------------------------------------------------------------------------------


def tiles() -> Iterator[Any]:
    """Every tile that warps move, with the warps of its rows and of its columns, and the turns along K."""
    for case in KERNELS:
        for name, rows in (("A", "down"), ("B", "along")):
            yield pytest.param(case, name, (rows, ""), id=f"{case} {name}")
        if case.stores:
            yield pytest.param(case, "D", ("down", "along"), id=f"{case} D")


def test_every_tile_of_a_result_is_among_them() -> None:
    for case in KERNELS:
        assert (case.plan.result is not None) == case.stores


@pytest.mark.parts(3)
@pytest.mark.parametrize(("case", "name", "names"), list(tiles()))
def test_each_load_and_store_moves_what_the_fragment_holds(
    case: Case | Drawn, name: str, names: tuple[str, str]
) -> None:
    """The addresses of the text, for some warps and turns, against the layout and the fragment alone."""
    plan = case.plan
    own = {"A": plan.a, "B": plan.b, "D": plan.result}[name]
    assert own is not None
    moves, each, warps = plan.moves(own), own.each, own.warps
    fragment = plan.fragment if name == "D" else own.fragment
    down, along = (
        extent // one // many for extent, one, many in zip((own.rows, own.k), each, warps, strict=True)
    )
    span = min(moves.span, along)
    known: dict[tuple[int, int], int] = {}
    held, moved, places = holders(fragment, own.dtype), set(), list(ends(*warps, along // span))
    for warp_row, warp_column, turn in places:
        for address, parts in texts(moves, {names[0]: warp_row, names[1]: warp_column, "s": turn}):
            for lane, where, part, byte in landed(moves, address, parts):
                row, column, inside = held[lane, part.byte + byte]
                i = (warp_row * down + part.row) * each[0] + row
                j = (warp_column * along + turn * span + part.column) * each[1] + column
                if (i, j) not in known:
                    known[i, j] = own.tile.place(i, j)["m"] * own.dtype.bits // 8
                assert where == known[i, j] + inside
                moved.add((warp_row, warp_column, turn, part.row, part.column, lane, part.byte + byte))
    assert len(moved) == len(places) * down * span * len(held)


def ends(*extents: int) -> Iterator[tuple[int, ...]]:
    """The first of everything, the last, and each other number of one of them alone."""
    alone = {
        tuple(number if own == at else 0 for own in range(len(extents)))
        for at, many in enumerate(extents)
        for number in range(many)
    }
    yield from sorted({tuple(extent - 1 for extent in extents), *alone})


def texts(moves: Moves, place: dict[str, int]) -> Iterator[tuple[list[int], Any]]:
    """For every load or store of a turn: the address that each lane gives by the text, and what it moves."""
    function, first = f"{moves.own.letter}_at", f"{moves.own.letter}_first"
    names: dict[str, Any] = {}
    exec(source_of(moves.place_by(moves.given), "python", name=function, arguments=moves.given).code, names)
    for parts, numbers in moves.all():
        counts = {own: int(number) for own, number in numbers.items()}
        text, in_loops = (
            compile(moves.address(own).replace("/", "//"), "<address>", "eval") for own in (numbers, {})
        )
        found = []
        for lane in range(LANES):
            values = {**place, **counts, "lane": lane}
            values[first] = names[function](*(values[own] for own in moves.given))
            found.append(eval(text, names, values))
            assert found[-1] == eval(in_loops, names, values)
        yield found, parts


def landed(moves: Moves, address: list[int], parts: Any) -> Iterator[tuple[int, int, Any, int]]:
    """(lane, byte of memory, part, byte of the part): where each lane's registers come from or go to."""
    if not isinstance(moves.form, Form):
        for lane, start in enumerate(address):
            for number, part in enumerate(parts):
                for byte in range(part.bytes):
                    yield lane, start + number * part.bytes + byte, part, byte
        return
    size = moves.form.bits // 8
    for column, lane, register, giver in elements_of(moves.form):
        for byte in range(size):
            part, inside = divmod(register * size + byte, 4)
            yield lane, address[giver] + column * size + byte, parts[part], inside


@cache
def elements_of(form: Form) -> list[tuple[int, int, int, int]]:
    """Of every element: its column, the lane and the register that hold it, whose address its row has."""
    found = []
    for j, r, c in itertools.product(range(form.count), range(form.rows), range(form.columns)):
        place = form.layout.place(j, r, c)
        found.append((c, place["laneid"], place["reg"], form.addresses.place(j, r)["laneid"]))
    return found


@cache
def holders(fragment: Layout, dtype: DType) -> dict[tuple[int, int], tuple[int, int, int]]:
    """{(lane, byte of its registers): (row, column, byte of the element)}; of those in one byte the first."""
    found: dict[tuple[int, int], tuple[int, int, int]] = {}
    rows, columns = extents_of(fragment.shape)
    for row, column in itertools.product(range(rows), reversed(range(columns))):
        place = fragment.place(row, column)
        first = place["reg"] * dtype.bits // 8
        for byte in range(max(1, dtype.bits // 8)):
            found[place["laneid"], first + byte] = row, column, byte
    copied = (LANES - 1) & ~reduce(or_, (lane for lane, _ in found))  # Volta's products share rows
    return found | {(lane | copied, byte): place for (lane, byte), place in found.items()}


def test_a_wrong_address_would_be_seen() -> None:
    plan = planned((64, 64, 32), "bf16")
    moves = plan.moves(plan.a)
    (address, parts), *_ = texts(moves, {"down": 0, "s": 1})
    (lane, where, part, byte), *_ = landed(moves, [0, *address], parts)
    row, column, inside = holders(plan.a.fragment, plan.a.dtype)[lane, part.byte + byte]
    assert where != plan.a.tile.place(row, 16 + column)["m"] * 2 + inside


@ALL
def test_threads_put_every_chunk_where_the_tile_has_it(case: Case | Drawn) -> None:
    plan = case.plan
    for own in (plan.a, plan.b, *filter(None, [plan.result])):
        names: dict[str, Any] = {}
        each, bits = own.width * 8 // own.dtype.bits, own.dtype.bits
        exec(source_of(chunks(own, own.width), "python", name="place").code, names)
        for row, k in itertools.product(samples(own.rows), samples(own.k)):
            line, along = (row, k) if own.major == "k" else (k, row)
            byte = names["place"](line, along // each) * own.width + along % each * bits // 8
            assert byte == own.tile.place(row, k)["m"] * bits // 8


@pytest.mark.parametrize("majors", [("k", "k"), ("mn", "mn")], ids="/".join)
@pytest.mark.parametrize("dtype", ["bf16", "f64", "s8", "tf32"])
def test_lines_that_are_copied_together_are_those_that_are_copied_one_by_one(
    majors: tuple[str, str], dtype: str
) -> None:
    """From which byte of global memory each chunk (i, j) comes, by the two texts."""
    plan = planned((64, 64, 32), dtype, majors=majors, warps=(2, 2), load="copy")
    for own in (plan.a, plan.b):
        together = copies(own, plan.threads, "to", width=own.width, by_lines=True)
        one_by_one = copies(own, plan.threads, "to", width=own.width)
        assert "round" in together
        assert "round" not in one_by_one
        assert copied(together, own, plan.threads) == copied(one_by_one, own, plan.threads)


def copied(text: str, own: Operand, threads: int) -> dict[tuple[int, int], int]:
    """{(i, j): the first byte of global memory} of a loop of copies, for one tile."""
    text = text.replace("(size_t)", "").replace(" / ", " // ")
    types = "|".join(WIDTHS.values())
    start = re.search(rf"from = \(const (?:{types}) \*\)\((.*)\)( \+ j)?;", text)
    index = re.search(r"const unsigned i = (.*), j = (.*);", text)
    line = re.search(r"_line =\s+(.*);", text)
    assert start
    assert index
    values = {"A": 0, "B": 0, "row": 192, "column": 256, "t": 3, "M": 1024, "N": 2048, "K": 4096}
    chunks_of_tile = own.rows * own.k * own.dtype.bits // 8 // own.width
    found = {}
    for x in range(chunks_of_tile):
        values |= {"x": x, "thread": x % threads, "round": x // threads}
        if line:
            values[f"{own.name.lower()}_line"] = eval(line[1], {}, values)
        i, j = (eval(word, {}, values) for word in index.groups())
        values |= {"i": i, "j": j}
        found[i, j] = eval(start[1], {}, values) + (j * own.width if start[2] else 0)
    return found


def samples(extent: int) -> list[int]:
    """Some of so many."""
    return sorted({0, extent - 1, *(x * 7 % extent for x in range(5))})


# -- tiles that are not asked for ---------------------------------------------------------------------


def both_ways() -> Iterator[Any]:
    """Every instruction with K-major tiles, and MN-major ones: not of parts of a byte, which lie along K."""
    for case in INSTRUCTIONS:
        for major in ("k", "mn") if DType.of(case.dtypes[0]).bits >= 8 else ("k",):
            yield pytest.param(case, (major, major), id=f"{case} {major}")


@pytest.mark.parametrize(("case", "majors"), list(both_ways()))
def test_usual_tiles_have_no_bank_conflicts(case: Case, majors: tuple[str, str]) -> None:
    """Of what one instruction asks for at once, no two words lie in one bank, unless they are the same."""
    plan = case.plan
    k = max(plan.shape.k, 128 * 8 // plan.a.dtype.bits)
    asked = {"shape": plan.shape, "op": plan.instruction.op, "majors": majors, "warps": (2, 2)}
    wide = planned((64, 64, k), *case.dtypes, **asked)
    for own in (wide.a, wide.b):
        moves = wide.moves(own)
        for address, _ in texts(moves, {"down": 0, "along": 0, "s": 0}):
            for words in asked_at_once(moves, address):
                banks = Counter(word % 32 for word in words)
                assert max(banks.values()) == 1, (own.tile, moves.form)


def asked_at_once(moves: Moves, address: list[int]) -> Iterator[set[int]]:
    """The words of 4 bytes that one wavefront brings: 8 rows of a matrix, or 128 bytes of vectors."""
    if isinstance(moves.form, Form):
        lanes, each = moves.form.rows, 16
    else:
        assert moves.vector
        each = moves.vector.bits // 8
        lanes = min(LANES, 128 // each)
    for start in range(0, LANES, lanes):
        yield {
            (at + byte) // 4 for at in address[start : start + lanes] for byte in range(0, each, min(4, each))
        }


def test_stages_and_operands_do_not_overlap_and_begin_where_patterns_do() -> None:
    for case in KERNELS:
        plan = case.plan
        starts = [plan.offsets[own.name] for own in (plan.a, plan.b)]
        assert all(start % 1024 == 0 for start in starts)
        assert starts[0] + plan.a.room <= starts[1] <= plan.stage_bytes - plan.b.room
        assert plan.stage_bytes % 1024 == 0
        assert plan.stages * plan.stage_bytes <= plan.shared_bytes <= SHARED_BYTES
        assert plan.result is None or plan.result.room <= plan.shared_bytes


# -- texts ------------------------------------------------------------------------------------------


@ALL
def test_kernels_are_readable_and_complete(case: Case | Drawn) -> None:
    plan = case.plan
    source = kernel_source(plan)
    assert "$" not in source
    assert "#include" not in source
    assert max(len(line) for line in source.splitlines() if "return" not in line) <= 180
    assert source.count("__syncthreads()") == 2 + 2 * (plan.result is not None) - (
        plan.stages > 1 and not plan.ahead
    )
    assert ("cp.async" in source) == (plan.load == "cp.async")
    assert ("wait_group" in source) == (plan.stages > 1)
    assert str(plan.instruction) in source
    for own in (plan.a, plan.b):
        assert str(own.tile) in source
        assert str(own.fill.form) in source


def test_larger_tiles_have_more_warps() -> None:
    warps = {tile: planned(tile, "bf16").warps for tile in ((64, 64, 32), (128, 128, 32), (128, 256, 32))}
    assert warps == {(64, 64, 32): (2, 2), (128, 128, 32): (2, 2), (128, 256, 32): (2, 4)}
    assert planned((64, 64, 32), "bf16", warps=(4, 1)).threads == 128
    assert planned((64, 64, 32), "f16", accumulator="f16").registers == 2


def test_the_architecture_decides_what_there_is() -> None:
    assert str(planned((64, 64, 32), "f16").arch) == "sm_80"
    turing = planned((64, 64, 32), "f16", arch="sm_75")
    assert (str(turing.shape), turing.load, str(turing.arch)) == ("m16n8k8", "copy", "sm_75")
    assert "cvt.rn.f16.f32 lo" in kernel_source(planned((64, 64, 32), "f16", arch="sm_75", out="f16"))
    assert "cvt.rn.f16x2.f32" in kernel_source(planned((64, 64, 32), "f16", out="f16"))
    hopper = planned((64, 64, 32), "f16", accumulator="f16", arch="sm_90", store="shared")
    assert str(hopper.result.fill.form).startswith("stmatrix")
    assert str(planned((32, 32, 16), "f64", arch="sm_80").shape) == "m8n8k4"
    assert str(planned((64, 64, 32), "f16", out="f16", store="stmatrix").arch) == "sm_90"


def test_the_matrix_lies_as_more_bytes_come_at_once() -> None:
    rows, columns = parse("S[(64, 32) : (40, 1)]"), parse("S[(64, 32) : (1, 72)]")
    assert planned((64, 64, 32), "f16", layouts=(rows, columns)).a.major == "k"
    assert planned((64, 64, 32), "f16", layouts=(rows, columns)).b.major == "mn"
    asked = planned((64, 64, 32), "f16", layouts=(rows, columns), majors=("mn", None))
    assert (asked.a.major, asked.a.width, asked.load) == ("mn", 2, "copy")


def test_the_host_launches_the_grid_with_its_bytes() -> None:
    text = host_source(planned((128, 64, 32), "bf16", name="mine", out="bf16", store="stmatrix", stages=1))
    assert "#include <cuda_runtime.h>" in text
    assert "nvcc -arch=sm_90, or a later one." in text
    assert "mine<<<dim3(N / 64, M / 128), 128, 16384, stream>>>" in text
    assert "(const unsigned char *)A, (const unsigned char *)B, (unsigned short *)D, M, N, K)" in text
    assert "cuda.h>" not in text


def test_the_script_that_needs_a_gpu_can_be_called() -> None:
    assert callable(mma_on_device.main)
    source = kernel_source(planned((64, 64, 32), "bf16"))
    for side, warp in (("a", "down"), ("b", "along")):
        wrong = mma_on_device.with_a_wrong_lane(source, side)
        assert f"{side}_first = {side}_at({warp}, lane == 5 ? 4 : lane)" in wrong


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "bf16", "s4", "u4", "b1", "s8", "f64"])
def test_numbers_become_bytes_and_stay_what_they_are(name: str) -> None:
    import numpy as np

    values = np.array([[1, 0, 1, 1, 0, 0, 0, 1]]) if name == "b1" else np.array([[1, 2, 3, 4, 5, 6, 7, 0]])
    found = mma_on_device.encoded(values, name)
    assert len(found) * 8 == 8 * DType.of(name).bits
    if name == "b1":
        assert found == bytes([0b10001101])
    if name in ("s4", "u4"):
        assert found == bytes([0x21, 0x43, 0x65, 0x07])
    if name == "bf16":
        assert (mma_on_device.decoded(found, name) == values.ravel()).all()
    if name in ("e4m3", "e5m2"):
        assert mma_on_device._eights(name)[found[5]] == 6


# -- refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tile", "dtypes", "asked", "code", "words"),
    [
        ((60, 64, 32), ("bf16",), {}, "TW602", "M = 60 is no multiple of the 16 of m16n8k16"),
        ((64, 60, 32), ("bf16",), {}, "TW602", "N = 60 is no multiple of the 8"),
        ((64, 64, 40), ("bf16",), {}, "TW602", "K = 40 is no multiple of the 16"),
        ((64, 64, 32), ("f32",), {}, "TW602", "no mma.sync multiplies f32"),
        ((64, 64, 32), ("f16", "bf16"), {}, "TW602", "no mma.sync multiplies f16 by bf16"),
        ((64, 64, 32), ("bf16",), {"shape": "m16n8k32"}, "TW602", "no mma.sync m16n8k32 multiplies bf16"),
        ((64, 64, 32), ("bf16",), {"accumulator": "f16"}, "TW602", "bf16 does not accumulate in f16"),
        ((64, 64, 32), ("bf16",), {"arch": "sm_75"}, "TW602", "sm_75 has no mma.sync that multiplies bf16"),
        ((64, 64, 32), ("f16",), {"op": "xor.popc"}, "TW602", "no mma.sync does xor.popc on f16"),
        ((64, 64, 32), ("s8",), {"out": "f16"}, "TW602", "D is summed in s32, and is not stored as f16"),
        ((64, 64, 32), ("bf16",), {"warps": (3, 1)}, "TW602", "M = 64 is no multiple of the 48 of 3 warps"),
        ((64, 64, 32), ("bf16",), {"load": "copy", "stages": 2}, "TW602", "copies by threads have one stage"),
        ((64, 64, 32), ("f16",), {"load": "cp.async", "arch": "sm_75"}, "TW602", "sm_75 has no cp.async"),
        (
            (64, 64, 512),
            ("bf16",),
            {"stages": 2},
            "TW602",
            "262144 bytes of shared memory, and a block of sm_80 has 166912",
        ),
        ((256, 256, 32), ("bf16",), {"warps": (1, 1)}, "TW602", "more than a thread has: 255"),
        (
            (64, 64, 128),
            ("s4",),
            {"majors": ("mn", None)},
            "TW602",
            "s4 that is MN-major in global memory does not fill",
        ),
        ((64, 64, 32), ("f16",), {"store": "stmatrix", "arch": "sm_80"}, "TW602", "sm_80 has no stmatrix"),
        ((64, 64, 32), ("f16",), {"store": "stmatrix"}, "TW605", "stmatrix stores elements of 16 bits"),
    ],
)
def test_what_is_refused_and_why(tile, dtypes, asked, code, words) -> None:
    with pytest.raises(Refused) as no:
        planned(tile, *dtypes, **asked)
    assert no.value.code == code
    assert words in no.value.reason


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"load": "tma"}, "TW601"),
        ({"store": "tma"}, "TW601"),
        ({"majors": ("row", "k")}, "TW601"),
        ({"shape": "16x8x16"}, "TW601"),
        ({"arch": "sm_79"}, "TW601"),
        ({"stages": 0}, "TW401"),
        ({"warps": (0, 1)}, "TW401"),
        ({"layout_d": parse("S[(64, 64) : (64, 1)]")}, "TW401"),
        ({"stages": 2.0}, "TW101"),
    ],
)
def test_what_is_not_understood(asked, code) -> None:
    with pytest.raises(LayoutError) as error:
        planned((64, 64, 32), "bf16", **asked)
    assert error.value.code == code
    assert not isinstance(error.value, Refused)


@pytest.mark.parametrize(
    ("text", "asked", "code", "words"),
    [
        ("S[(64, 16) : (64, 1)]", {}, "TW602", "the layout of A is 64 x 16, and its tile 64 x 32"),
        ("S[(64, 32) : (32, 1)] + R[2 : 4096]", {}, "TW605", "copies"),
        ("S[(64, 32) : (16, 1)]", {}, "TW605", "no warp moves this layout of A"),
        ("S[(64, 32) : (33, 1)]", {"stages": 2}, "TW602", "cp.async brings 4 bytes or more, and A keeps 2"),
        ("S[(64, 32) : (-32, 1)]", {}, "TW605", "no warp moves this layout of A"),
    ],
)
def test_layouts_that_no_warp_reads(text, asked, code, words) -> None:
    with pytest.raises(Refused) as no:
        planned((64, 64, 32), "bf16", layouts=(parse(text), None), **asked)
    assert no.value.code == code
    assert words in no.value.reason


@pytest.mark.parametrize("name", ["shared", "float2", "size_t", "multiply", "M", "stage", "a_first"])
def test_a_name_is_not_one_that_the_kernel_has_already(name: str) -> None:
    plan = replace(planned((64, 64, 32), "bf16", layouts=(parse("S[(64, 32) : (34, 1)]"), None)), name=name)
    with pytest.raises(LayoutError, match="its own text uses the word"):
        kernel_source(plan)


def test_a_width_of_copies_that_is_not_decided_is_a_width_that_is_not_taken() -> None:
    layout = parse("Swizzle<3,0,4> o S[((2, 48), 16) : ((1568, 32), 1)]")
    plan = planned((96, 8, 16), "tf32", layouts=(layout, None), warps=(2, 1), stages=1)
    with pytest.raises(NotDecided):
        chunks(plan.a, 8)
    assert widest(plan.a) == 4
