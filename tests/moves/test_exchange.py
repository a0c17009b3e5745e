"""Moves between registers: every text is run, in all threads, and held to what the layouts say."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.codegen import nvrtc
from tests.moves.exchange_machine import wrong

from tilewise import Axis, Layout, LayoutError, R, S, laneid, parse, reg, tx, warpid
from tilewise.check.banks import counted
from tilewise.check.registers.question import question
from tilewise.check.registers.search import Candidates, one_by_one
from tilewise.check.registers.shared import ThroughMemory, follows, in_turns
from tilewise.core.dtypes import DType
from tilewise.core.errors import Refused
from tilewise.moves.exchange import Exchange, exchange, of_registers
from tilewise.moves.exchange.source import function

CASES = {
    "product to rows": (
        "wgmma.D(f32, n=64)",
        "S[(64, 2, 32) : (1@tid_in_wg, 64@tid_in_wg, 1@reg)]",
        "f16",
        "shared",
        1,
    ),
    "turned, 16 bits": ("S[(64, 64) : (1@reg, 1@tx)]", "S[(64, 64) : (1@tx, 1@reg)]", "f16", "shared", 1),
    "turned, bytes": ("S[(64, 32) : (1@reg, 1@tx)]", "S[(64, 32) : (1@tx, 1@reg)]", "u8", "shared", 1),
    "turned, a warp": (
        "S[(32, 32) : (1@reg, 1@laneid)]",
        "S[(32, 32) : (1@laneid, 1@reg)]",
        "f32",
        "shared",
        0,
    ),
    "three warps": (
        "S[(96, 32) : (1@tx, 1@reg)]",
        "S[(3, 32, 32) : (32@reg, 1@reg, 1@tx)]",
        "f32",
        "shared",
        1,
    ),
    "n=96": (
        "wgmma.D(f32, n=96)",
        "S[(64, 2, 48) : (1@tid_in_wg, 64@tid_in_wg, 1@reg)]",
        "f16",
        "shared",
        1,
    ),
    "primes": (
        "S[(5, 7, 13) : (1@reg, 13@tx, 1@tx)]",
        "S[(5, 7, 13) : (7@tx, 1@tx, 1@reg)]",
        "f32",
        "shared",
        1,
    ),
    "25 lanes": ("S[(4, 25) : (1@reg, 1@laneid)]", "S[(4, 25) : (1@laneid, 1@reg)]", "f16", "shared", 0),
    "copies in both": (
        "S[(32, 16) : (1@laneid, 1@reg)] + R[4 : 1@warpid]",
        "S[(32, 4, 4) : (1@reg, 1@laneid, 1@warpid)] + R[8 : 4@laneid]",
        "f16",
        "shared",
        0,
    ),
    "a warp's copies": (
        "S[(32, 16) : (1@laneid, 1@reg)] + R[4 : 1@warpid]",
        "S[(32, 16) : (1@reg, 1@laneid)] + R[4 : 1@warpid]",
        "f16",
        "shared",
        0,
    ),
    "doubles": (
        "S[(32, 8) : (1@laneid, 1@reg)]",
        "S[(32, 4, 2) : (1@laneid, 1@reg, 1@warpid)]",
        "f64",
        "shared",
        1,
    ),
    "scores to A": ("wgmma.D(f32, n=32)", "wgmma.A(e4m3)", "e4m3", "shuffles", 0),
    "two bits": (
        "S[(32, 32) : (1@reg, 1@laneid)]",
        "S[(2, 16, 2, 16) : (1@laneid, 1@reg, 16@reg, 2@laneid)]",
        "f32",
        "shuffles",
        0,
    ),
    "pairs parted": (
        "S[(32, 2, 2) : (1@laneid, 2@reg, 1@reg)]",
        "S[(32, 2, 2) : (1@laneid, 1@reg, 2@reg)]",
        "f16",
        "registers",
        0,
    ),
    "names alone": ("wgmma.D(f32, n=16)", "wgmma.A(f16)", "f16", "view", 0),
    "a broadcast": ("S[(32, 4) : (1@laneid, 0)]", "S[(32, 4) : (1@tx, 1@reg)]", "f32", "view", 0),
}  # fmt: skip


def planned(name: str) -> Exchange:
    source, target, dtype = CASES[name][:3]
    return exchange(parse(source), parse(target), dtype)


def alone(name: str) -> ThroughMemory:
    """Return the way through memory."""
    way = planned(name).way
    assert isinstance(way, ThroughMemory)
    return way


@pytest.mark.parametrize("name", CASES)
def test_the_text_moves_every_element_to_all_its_places(name: str) -> None:
    plan = planned(name)
    assert (plan.kind, plan.barriers) == CASES[name][3:]
    assert wrong(plan) == 0


def test_without_stmatrix() -> None:
    plan = exchange(parse("wgmma.D(f32, n=32)"), parse("S[(64, 32) : (1@reg, 1@tx)]"), "f16", arch="sm_80")
    assert "stmatrix" not in plan.kernel
    assert wrong(plan) == 0


@pytest.mark.parametrize("sm", [80, 90])
def test_lanes_pick_their_bytes_of_what_they_load_together(sm: int) -> None:
    """A turn of bytes, of which neither side has words."""
    turn = S[(32, 32) : (1 @ reg, 1 @ laneid)], S[(32, 32) : (1 @ laneid, 1 @ reg)]
    plan = exchange(*turn, "u8", arch=sm)
    assert any("loaded by two lanes" in step for step in plan.steps)
    assert wrong(plan) == 0
    assert wrong(plan, text=function(plan).replace(" ^ picked", "")) > 0


def test_a_wrong_text_is_noticed() -> None:
    plan = planned("turned, 16 bits")
    text = function(plan)
    for old, new in (
        ("0x5410u", "0x5411u"),
        ("^ 0x20", "^ 0x40"),
        ("[%4 + 4096]", "[%4 + 2048]"),
        (".trans.shared", ".shared"),
    ):
        assert old in text
        noticed = False
        try:
            noticed = wrong(plan, text=text.replace(old, new, 1)) > 0
        except AssertionError:
            noticed = True
        assert noticed, old


def test_a_text_without_its_wait_is_noticed() -> None:
    plan = planned("doubles")
    with pytest.raises(AssertionError):
        wrong(plan, text=function(plan).replace("__syncthreads();", ""))


def test_wavefronts_are_those_of_the_definition() -> None:
    """The addresses of every request, counted phase by phase."""
    for name in ("turned, bytes", "three warps", "n=96", "25 lanes", "copies in both", "turned, 16 bits"):
        way = alone(name)
        for side, found in zip((way.stores, way.loads), way.wavefronts, strict=True):
            total = 0
            for access in side.each:
                addresses = access.addresses(side.threads)
                taking = access.taking(side.active)
                lanes = 8 * len(access.words) if access.reach.matrix else 32
                for warp in range(0, side.threads, 32):
                    asked = [
                        int(addresses[warp + lane]) if taking[warp + lane] and lane < lanes else None
                        for lane in range(32)
                    ]
                    width = 16 if access.reach.matrix else access.reach.bytes
                    total += counted(side.operation, width, asked).wavefronts
            assert total == found, name


def test_powers_of_two_meet_no_conflicts() -> None:
    for name in ("product to rows", "turned, 16 bits", "turned, a warp", "three warps"):
        plan = planned(name)
        words = max(plan.registers[0], 1) * plan.threads // 32
        assert plan.wavefronts[0] == words, name


@pytest.mark.parametrize("dtype", ["f32", "f16", "u8"])
@pytest.mark.parametrize(
    ("rows", "columns", "most"),
    [(64, 48, 1), (256, 160, 1), (128, 96, 1), (96, 80, 2), (192, 64, 1), (100, 60, 2)],
)
def test_other_extents_meet_few_conflicts(rows: int, columns: int, most: int, dtype: str) -> None:
    """Rows of memory have gaps after which they begin in other banks."""
    turn = S[(rows, columns) : (1 @ tx, 1 @ reg)], S[(columns, rows) : (1 @ reg, 1 @ tx)]
    for source, target in (turn, turn[::-1]):
        plan = exchange(source, target, dtype)
        requests = columns * -(-rows // 32)
        assert plan.swizzle is None
        assert max(plan.wavefronts) <= most * requests
        assert plan.shared_bytes <= 1.3 * rows * columns * DType.of(dtype).bits // 8


@pytest.mark.parametrize(("rows", "columns", "dtype"), [(64, 48, "u8"), (64, 24, "f32"), (64, 40, "f16")])
def test_what_lies_with_gaps_is_moved(rows: int, columns: int, dtype: str) -> None:
    plan = exchange(S[(rows, columns) : (1 @ tx, 1 @ reg)], S[(columns, rows) : (1 @ reg, 1 @ tx)], dtype)
    assert plan.shared_bytes > rows * columns * DType.of(dtype).bits // 8 + 16
    assert wrong(plan) == 0


def test_gaps_are_left_out_where_memory_is_small() -> None:
    turn = S[(96, 4) : (1 @ tx, 1 @ reg)], S[(4, 96) : (1 @ reg, 1 @ tx)]
    asked = question(*turn, "f32")
    roomy = one_by_one(asked, 1 << 16)
    assert roomy is not None
    tight = one_by_one(asked, 96 * 4 * 4)
    assert tight is not None
    assert tight.bytes == 96 * 4 * 4 <= roomy.bytes


@pytest.mark.parametrize("name", ["turned, bytes", "turned, a warp", "copies in both", "doubles"])
def test_no_way_that_was_left_out_is_cheaper(name: str) -> None:
    """All ways, made one by one, against the search that ends early."""
    way = alone(name)
    both = way.asked.sides
    assert both is not None
    candidates, tried = Candidates(way.asked, *both), 0
    for bound, pair in candidates.bounds(frozenset()):
        found = candidates.made(*pair)
        if found is not None:
            assert bound <= found.cycles + 1e-9, pair
            assert way.cycles <= found.cycles or not follows(in_turns(found))
            tried += 1
    assert tried > 3


@pytest.mark.parametrize(
    ("source", "target", "dtype", "code", "said"),
    [
        (S[32 : 1 @ laneid], S[64 : 1 @ laneid], "f32", "TW702", "64"),
        (S[32 : 1 @ laneid], S[32 : 1 @ Axis("gpuid_x")], "f32", "TW609", "gpuid_x"),
        (S[32 : 1 @ laneid], S[32 : 1 @ reg] + 300 @ reg, "f32", "TW203", "0 to 254"),
        (
            S[(32, 2) : (1 @ laneid, 1 @ reg)],
            S[(32, 2) : (1 @ laneid, 0 @ reg)],
            "f32",
            "TW703",
            "two elements",
        ),
        (S[32 : 1 @ laneid], S[32 : 1 @ warpid] + 1 @ warpid, "f32", "TW609", "1024"),
        (S[32 : 1 @ laneid], S[32 : 1 @ laneid], "e2m3", "TW106", "6 bits"),
        (
            S[(32, 8) : (1 @ laneid, 1 @ reg)],
            S[(32, 8) : (1 @ reg, 1 @ warpid)],
            "b1",
            "TW609",
            "units of 1 bit",
        ),
        (S[32 : 1 @ laneid] + 1 @ tx, S[32 : 1 @ laneid], "f32", "TW203", "part"),
    ],
)
def test_what_is_refused(source: Layout, target: Layout, dtype: str, code: str, said: str) -> None:
    with pytest.raises(LayoutError, match=said) as refused:
        exchange(source, target, dtype)
    assert refused.value.code == code


TURNS = {
    "operand to rows": (
        S[(4, 2, 8, 4, 4) : (8 @ reg, 1 @ reg, 4 @ laneid, 2 @ reg, 1 @ laneid)],
        S[(8, 8, 4, 4) : (4 @ reg, 4 @ laneid, 1 @ laneid, 1 @ reg)],
        "f32",
        ((1, 1),) * 8,
        512,
    ),
    "matrices of other bits": (
        S[(32, 16) : (1 @ laneid, 1 @ reg)],
        S[(2, 4, 4, 8, 2) : (8 @ reg, 8 @ laneid, 2 @ reg, 1 @ laneid, 1 @ reg)],
        "f32",
        ((2, 2),) * 2,
        1024,
    ),
    "words made before, two warps": (
        S[(2, 2, 2, 8, 2, 4, 2) : (1 @ warpid, 1 @ reg, 8 @ reg, 4 @ laneid, 4 @ reg, 1 @ laneid, 2 @ reg)],
        S[(2, 32, 2, 4, 2) : (1 @ warpid, 1 @ laneid, 8 @ reg, 2 @ reg, 1 @ reg)],
        "f16",
        ((1, 1),) * 2,
        1024,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TURNS)
def test_a_warp_alone_stores_and_loads_in_turns(name: str) -> None:
    source, target, dtype, turns, room = TURNS[name]
    plan = exchange(source, target, dtype)
    way = plan.way
    assert isinstance(way, ThroughMemory)
    assert (way.turns, plan.shared_bytes, plan.barriers) == (turns, room, 0)
    assert wrong(plan) == 0
    text, wait = function(plan), "__syncwarp();"
    assert text.count(f" {wait}\n") == 2 * len(turns) - 1
    for at in (text.index(f" {wait}\n"), text.rindex(f" {wait}\n", 0, text.rindex(f" {wait}\n"))):
        with pytest.raises(AssertionError):
            wrong(plan, text=text[:at] + text[at + len(wait) + 1 :])


def test_turns_that_are_not_followed_are_noticed() -> None:
    """They share bytes: all at once, the last ones are all that is there."""
    source, target, dtype = TURNS["operand to rows"][:3]
    plan = exchange(source, target, dtype)
    way = plan.way
    assert isinstance(way, ThroughMemory)
    assert follows(way)
    assert not follows(replace(way, turns=()))


def test_warps_that_wait_for_one_another_take_no_turns() -> None:
    source = S[(2, 16, 4, 4, 2) : (1 @ warpid, 1 @ reg, 1 @ laneid, 4 @ laneid, 16 @ laneid)]
    target = S[(2, 16, 4, 4, 2) : (16 @ laneid, 1 @ reg, 4 @ laneid, 1 @ laneid, 1 @ warpid)]
    plan = exchange(source, target, "f32")
    assert isinstance(plan.way, ThroughMemory)
    assert (plan.way.turns, plan.barriers, wrong(plan)) == ((), 1, 0)


def test_too_much_for_shared_memory() -> None:
    large = S[(1024, 64) : (1 @ tx, 1 @ reg)], S[(64, 16, 64) : (1 @ reg, 64 @ tx, 1 @ tx)]
    with pytest.raises(LayoutError, match="262144 bytes") as refused:
        exchange(*large, "f32")
    assert refused.value.code == "TW609"


def test_which_layouts_are_of_registers() -> None:
    assert of_registers(S[32 : 1 @ laneid])
    assert of_registers(S[4 : 1 @ reg])
    assert not of_registers(S[4])


# -- drawn -----------------------------------------------------------------------------------------


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Layout, Layout, str]:
    """Two layouts of one tensor: digits dealt to registers, lanes and warps on either side, and copies."""
    extents = draw(st.lists(st.sampled_from([2, 2, 2, 2, 4, 4, 8, 3, 5]), min_size=1, max_size=5))
    dtype = draw(st.sampled_from(["b8", "b16", "b32", "b64"]))
    return _dealt(draw, extents), _dealt(draw, extents), dtype


def _dealt(draw: st.DrawFn, extents: list[int]) -> Layout:
    room = {reg: 64, laneid: 32, warpid: 4}
    used = dict.fromkeys(room, 1)
    strides: list[object] = [0] * len(extents)
    for at in draw(st.permutations(range(len(extents)))):
        free = [axis for axis in room if used[axis] * extents[at] <= room[axis]]
        axis = draw(st.sampled_from(free)) if free else reg
        strides[at] = used[axis] @ axis
        used[axis] *= extents[at]
    found = S[tuple(extents) : tuple(strides)]
    copied = draw(st.sampled_from([None, None, laneid, warpid]))
    if copied is not None and used[copied] * 2 <= room[copied]:
        found = found + R[2 : used[copied] @ copied]
    return found


@settings(max_examples=24, deadline=None)
@given(pairs(), st.integers(0, 1 << 20))
def test_any_two_layouts(asked: tuple[Layout, Layout, str], seed: int) -> None:
    """All of them move, or are refused as what has no sums of digits."""
    plan = None
    with contextlib.suppress(Refused):
        plan = exchange(*asked)
    assert plan is None or wrong(plan, seed) == 0


# -- compiled --------------------------------------------------------------------------------------

_PTX = {
    "product to rows": ("st.shared.v4", "ld.shared.v4", "bar.sync"),
    "turned, 16 bits": ("st.shared.v4", "ldmatrix", "bar.sync"),
    "turned, bytes": ("st.shared.b16", "ld.shared.v4", "prmt"),
    "primes": ("st.shared.b32", "ld.shared.b32", "bar.sync"),
    "two bits": ("shfl.sync", "shfl.sync", "selp"),
}


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_functions_compile(arch: str) -> None:
    parts = []
    for at, name in enumerate(_PTX):
        source, target, dtype = CASES[name][:3]
        plan = exchange(parse(source), parse(target), dtype, arch="sm_80")
        parts += [function(plan, f"move_{at}"), _kernel(plan, at)]
    library = nvrtc.load()
    if library is None:
        pytest.skip("no NVRTC on this machine")
    ptx = nvrtc.compile_to_ptx(library, "\n".join(parts), f"-arch={arch.replace('sm', 'compute')}")
    for at, words in enumerate(_PTX.values()):
        body = ptx[ptx.index(f"kernel_{at}(") :]
        body = body[: body.index("ret;")]
        assert all(word in body for word in words), (arch, words)


def _kernel(plan: Exchange, at: int) -> str:
    before, after = plan.registers
    pointer = ", room" if plan.shared_bytes else ""
    room = (
        f"    __shared__ __align__(16) unsigned char room[{plan.shared_bytes}];\n"
        if plan.shared_bytes
        else ""
    )
    return f"""
extern "C" __global__ void kernel_{at}(unsigned *data)
{{
{room}    unsigned from[{before}], to[{after}];
    for (int i = 0; i < {before}; i++) from[i] = data[i * {plan.threads} + threadIdx.x];
    move_{at}(from, to{pointer});
    for (int i = 0; i < {after}; i++) data[i * {plan.threads} + threadIdx.x] = to[i];
}}"""
