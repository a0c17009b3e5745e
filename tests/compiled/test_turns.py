"""Loops whose turns are counted at once, against the same loops turn by turn."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from tests.compiled import ptx_texts, sass_texts

from tilewise.compiled.counts import Counts
from tilewise.compiled.lanes import Lanes
from tilewise.compiled.launch import Launch
from tilewise.compiled.machine import Trace
from tilewise.compiled.moving import Moving, NotAlike, Turns, made
from tilewise.compiled.program import KernelProgram
from tilewise.compiled.run import counted
from tilewise.compiled.trace import words_of

CODE = (
    "VIADD {d}, {a}, {n}",
    "IADD3 {d}, {a}, {b}, {c}",
    "IADD3 {d}, -{a}, {b}, RZ",
    "IADD3 {d}, P1, {a}, {n}, RZ",
    "IADD3.X {d}, {a}, {b}, RZ, P1, !PT",
    "IMAD {d}, {a}, {n}, {b}",
    "IMAD.WIDE {w}, {a}, 0x4, R12",
    "IMAD.WIDE.U32 {w}, {a}, {n}, R12",
    "IMAD.HI.U32 {d}, {a}, {n}, RZ",
    "LEA {d}, {a}, {b}, 0x2",
    "SHF.L.U32 {d}, {a}, {s}, RZ",
    "SHF.R.U32.HI {d}, RZ, {s}, {a}",
    "SHF.R.S32.HI {d}, RZ, {s}, {a}",
    "LOP3.LUT {d}, {a}, {m}, RZ, 0xc0, !PT",
    "LOP3.LUT {d}, {a}, {m}, {b}, 0xf8, !PT",
    "LOP3.LUT {d}, {a}, {m}, RZ, 0x3c, !PT",
    "LOP3.LUT {d}, {a}, R0, RZ, 0xfc, !PT",
    "ISETP.GE.AND P1, PT, {a}, {b}, PT",
    "ISETP.NE.U32.AND P1, P2, {a}, {n}, PT",
    "ISETP.EQ.AND P2, PT, {a}, {n}, PT",
    "SEL {d}, {a}, {b}, P1",
    "IMNMX {d}, {a}, {b}, P2",
    "IABS {d}, {a}",
    "PRMT {d}, {a}, 0x5410, {b}",
    "R2UR UR4, {a}",
    "SHFL.BFLY PT, {d}, {a}, 0x1, 0x1f",
    "MOV {d}, UR4",
    "MOV {d}, {a}",
    "LDS {d}, [R0.X4]",
    "@P1 VIADD {d}, {a}, {n}",
    "LDC {d}, c[0x3][{a}]",
    "LDS R20, [{a}]",
    "LDS.U8 R20, [{a}+0x1]",
    "LDS.128 R20, [R0.X16+{n}]",
    "STS [{a}+{b}], R20",
    "@P1 STS.U8 [{a}], R20",
    "LDG.E R20, [{w}.64]",
    "STG.E.U8 [{w}.64], R20",
    "ATOMS.ADD R20, [{a}], R0",
    "RED.E.ADD.STRONG.GPU [{w}.64], R0",
)
PARTS = (
    (),
    ("@P1 BRA `(.L_2)", "STS.U8 [{a}], R0", ".L_2:"),
    (
        "BSSY B0, `(.L_3)",
        "@P2 BRA `(.L_2)",
        "STS.U8 [{a}], R0",
        "BRA `(.L_3)",
        ".L_2:",
        "LDS.U8 R21, [{a}]",
        ".L_3:",
        "BSYNC B0",
    ),
    (
        "MOV R9, RZ",
        ".L_2:",
        "LDS.U8 R21, [R9]",
        "VIADD R9, R9, 0x3",
        "ISETP.LT.AND P3, PT, R9, 0x9, PT",
        "@P3 BRA `(.L_2)",
    ),
    ("@P1 EXIT",),
    (
        "VIADD R11, R11, 0x1",
        "ISETP.NE.AND P4, PT, R11, {k}, PT",
        "SEL R11, R11, RZ, P4",
        "LDS.U8 R20, [R11.X4]",
    ),
)

PTX = (
    "add.s32 {d}, {a}, {n}",
    "sub.u32 {d}, {a}, {b}",
    "mad.lo.s32 {d}, {a}, {n}, {b}",
    "mul.wide.u32 {w}, {a}, 4",
    "mul.hi.u32 {d}, {a}, {n}",
    "add.s64 {w}, %rd1, {w}",
    "cvt.s64.s32 {w}, {a}",
    "cvt.u32.u64 {d}, {w}",
    "div.u32 {d}, {a}, 24",
    "rem.s32 {d}, {a}, 24",
    "min.s32 {d}, {a}, {b}",
    "max.u32 {d}, {a}, {n}",
    "abs.s32 {d}, {a}",
    "neg.s32 {d}, {a}",
    "shl.b32 {d}, {a}, 3",
    "shr.s32 {d}, {a}, 5",
    "shr.u64 {w}, {w}, 3",
    "bfe.u32 {d}, {a}, 3, 8",
    "and.b32 {d}, {a}, {m}",
    "or.b32 {d}, {a}, {m}",
    "xor.b32 {d}, {a}, {m}",
    "not.b32 {d}, {a}",
    "lop3.b32 {d}, {a}, {b}, {m}, 0xf8",
    "setp.lt.s32 %p1, {a}, {b}",
    "setp.ne.u32 %p2, {a}, {n}",
    "selp.b32 {d}, {a}, {b}, %p1",
    "mov.b64 {w}, {{{a}, {b}}}",
    "mov.u32 {d}, {a}",
    "@%p2 add.s32 {d}, {a}, {n}",
    "ld.shared.u8 {d}, [{a}]",
    "ld.shared.u32 %r20, [{a}]",
    "@%p1 st.shared.u8 [{a}+1], %r20",
    "ld.global.u32 %r20, [{w}]",
    "st.global.u8 [{w}], %r20",
    "atom.shared.add.u32 %r20, [{a}], 1",
    "red.global.add.u32 [{w}], 1",
    "st.shared.v2.u32 [{a}], {{%r20, %r20}}",
)


def filled(rng: Random, line: str, register: str, wide: list[str]) -> str:
    """Return a line with random registers and numbers."""
    names = {name: f"{register}{rng.randint(1, 6)}" for name in "abcd"}
    numbers = [0, 1, 2, 4, 8, 16, 32, 100, 128, 512, -1, -4, -128, 1 << 31]
    masks = [1, 3, 7, 0x1F, 0xF0, 0xFFC, 0xFFFFFF80, 0x55]
    names |= {"n": hex(rng.choice(numbers)), "s": hex(rng.randint(0, 12)), "w": rng.choice(wide)}
    return line.format(**names, m=hex(rng.choice(masks)), k=hex(rng.randint(2, 9)))


def drawn(seed: int) -> KernelProgram:
    """Return a program with a loop of random instructions, of machine code or of PTX."""
    rng = Random(seed)
    turns, step = rng.randint(30, 250), rng.choice([1, 1, 2, 3])
    numbers = [rng.choice([0, 4, 64, 1000, 1 << 30, 0xFFFFFF00]) for _ in range(3)]
    in_ptx = seed % 2
    body = [rng.choice(PTX if in_ptx else CODE) for _ in range(rng.randint(1, 7))]
    if in_ptx:
        begin = ["mov.u32 %r4, %tid.x", "mul.lo.u32 %r5, %r4, 128", "shl.b32 %r6, %r4, 2", "mov.u32 %r8, 0"]
        begin += [f"mov.u32 %r{place}, {number}" for place, number in enumerate(numbers, 1)]
        begin += [f"mov.u64 %rd{place}, 0x7f00010000" for place in (1, 2, 3)]
        begin += [f"mad.lo.s32 %r7, %r4, 7, {turns}", f"mov.u32 %r18, {turns * step}"]
        most = rng.choice(["%r7", "%r18", "%r18"])
        end = [f"add.s32 %r8, %r8, {step}", f"setp.lt.s32 %p3, %r8, {most}", "@%p3 bra $L1", "ret"]
        lines = [
            filled(rng, line, "%r", ["%rd2", "%rd3"])
            for line in [*begin, "$L1:", *body, "st.shared.u8 [{a}], 0", *end]
        ]
        head = [".reg .pred %p<5>", ".reg .b32 %r<30>", ".reg .b64 %rd<9>"]
        return ptx_texts.program_of(*head, *lines)
    begin = ["S2R R0, SR_TID.X", "MOV R12, 0x10000", "MOV R13, 0x7f", "MOV R8, RZ", "MOV R11, RZ"]
    begin += [f"MOV R{place}, {hex(number)}" for place, number in enumerate(numbers, 1)]
    begin += [
        "SHF.L.U32 R4, R0, 0x2, RZ",
        "IMAD R5, R0, 0x80, RZ",
        "MOV R6, R0",
        "MOV R14, R12",
        "MOV R15, R13",
    ]
    begin += [
        "MOV R16, R12",
        "MOV R17, R13",
        f"IMAD R7, R0, 0x7, {hex(turns)}",
        f"MOV R18, {hex(turns * step)}",
    ]
    most = rng.choice(["R7", "R18", "R18"])
    body += rng.choice(PARTS)
    end = [f"VIADD R8, R8, {hex(step)}", f"ISETP.LT.AND P0, PT, R8, {most}, PT", "@P0 BRA `(.L_1)", "EXIT"]
    lines = [
        filled(rng, line, "R", ["R14", "R16"]) for line in [*begin, ".L_1:", *body, "STS.U8 [{a}], R0", *end]
    ]
    return sass_texts.program_of(*lines)


def run(program: KernelProgram, at_once: bool, launch: Launch) -> tuple[Trace, Lanes, Counts]:
    lanes = Lanes(launch, range(launch.blocks), words_of(program, launch))
    trace, counts = Trace(program, lanes, at_once=at_once), Counts()
    for event in trace:
        counts.add(event, lanes)
    return trace, lanes, counts


def same(program: KernelProgram, launch: Launch) -> int:
    """Hold the turns at once to those one by one; return the instructions that were counted at once."""
    (fast, ours, mine), (slow, theirs, others) = (run(program, one, launch) for one in (True, False))
    if slow.cut is not None:
        return 0
    assert fast.cut is None
    assert fast.guessed == slow.guessed
    sums, expected = (
        {
            (one.instruction.row, one.touch.space): [*one.sums(), one.targets, one.excess]
            for one in counts.tallies
        }
        for counts in (mine, others)
    )
    assert sums == expected
    assert ours.registers.keys() == theirs.registers.keys()
    threads = ours.threads < launch.threads
    for name, value in theirs.registers.items():
        found = ours.registers[name]
        unknown, blind = (
            ours.spread(False if one.unknown is None else one.unknown)[threads] for one in (value, found)
        )
        assert (unknown == blind).all()
        assert (ours.spread(value.bits == found.bits)[threads] | unknown).all()
    return fast.counted


def drawn_launch(seed: int) -> Launch:
    return Launch((1 + seed % 2, 1, 1), (40 if seed % 3 else 64, 1, 1))


def test_turns_at_once_are_those_one_by_one(times):
    found = [same(drawn(seed), drawn_launch(seed)) for seed in range(times(60))]
    assert sum(map(bool, found)) > len(found) // 2


def turned(line: str, turns: int, *before: str) -> KernelProgram:
    """Return a program that runs a line so many times."""
    count = ["VIADD R8, R8, 0x1", f"ISETP.LT.AND P0, PT, R8, {hex(turns)}, PT", "@P0 BRA `(.L_1)"]
    begin = ["S2R R0, SR_TID.X", "MOV R8, RZ", "IMAD.SHL.U32 R2, R0, 0x4, RZ", *before]
    return sass_texts.program_of(*begin, ".L_1:", *line.split("; "), *count, "EXIT")


ONE_WARP = Launch((1, 1, 1), (32, 1, 1))


def test_loop_of_a_million_turns_is_counted():
    run = counted(turned("LDS R4, [R2]; STS [R2+0x80], R4; VIADD R2, R2, 0x4", 1_000_000), ONE_WARP)
    assert run.cut is None
    assert [tally.requests for tally in run.tallies] == [1_000_000] * 2
    assert [tally.cost for tally in run.tallies] == [1_000_000] * 2


def test_nested_loops_of_a_thousand_turns_each():
    inner = ["MOV R1, RZ", ".L_2:", "LDS R4, [R2]", "VIADD R1, R1, 0x1", "ISETP.LT.AND P1, PT, R1, 0x3e8, PT"]
    run = counted(turned("; ".join([*inner, "@P1 BRA `(.L_2)"]), 500), ONE_WARP)
    assert [tally.requests for tally in run.tallies] == [500_000]


def test_stages_come_around():
    """The address of a buffer of three stages, and a phase that turns with it, are alike every six turns."""
    stage = "VIADD R3, R3, 0x1; ISETP.NE.AND P1, PT, R3, 0x3, PT; @!P1 LOP3.LUT R5, R5, 0x1, RZ, 0x3c, !PT"
    body = f"{stage}; SEL R3, R3, RZ, P1; IMAD R4, R3, 0x1004, R2; LDS.64 R20, [R4]"
    body += "; IMAD R6, R5, 0x80, R2; LDS R20, [R6]"
    run = counted(turned(body, 900_000, "MOV R3, RZ", "MOV R5, RZ"), ONE_WARP)
    assert run.cut is None
    first, second = run.tallies
    assert (first.requests, first.misaligned, second.requests, second.cost) == (
        900_000,
        900_000,
        900_000,
        900_000,
    )


def test_addresses_of_atomics_in_turns():
    run = counted(turned("ATOMS.ADD R4, [R2], R0; VIADD R2, R2, 0x80", 5000), ONE_WARP)
    (tally,) = run.tallies
    assert (tally.lanes, tally.requests) == (160_000, 5000)
    assert len(tally.targets) >= 32 * 1024


def test_branch_on_loaded_data_inside_of_many_turns():
    """The branch is noted for every turn, as it is turn by turn."""
    body = "LDS R4, [R2]; ISETP.NE.AND P1, PT, R4, RZ, PT; @P1 BRA `(.L_2); STS [R2], R4; .L_2:; LDS R5, [R2]"
    assert same(turned(body, 700), ONE_WARP) > 1000


def test_endless_loop_is_named():
    program = sass_texts.program_of("S2R R0, SR_TID.X", ".L_1:", "LDS R4, [R0.X4]", "BRA `(.L_1)", "EXIT")
    run = counted(program, ONE_WARP)
    assert run.endless
    assert "without an end" in run.left_out()[0]["reason"]


def test_turns_that_are_not_alike_are_cut_off():
    body = "IMAD R2, R2, 0x19660d, R0; LOP3.LUT R3, R2, 0xfffffc, RZ, 0xc0, !PT; STS [R3], R4"
    run = counted(turned(body, 1 << 20), ONE_WARP)
    assert not run.endless
    assert run.cut is not None
    assert "100,000 instructions" in run.left_out()[-1]["reason"]


# -- numbers that move -----------------------------------------------------------------------------------

KINDS = (np.uint32, np.uint64, np.int32, np.int64)
WITH_NUMBERS = {
    "add": lambda x, n: x + n,
    "subtract": lambda x, n: x - n,
    "subtracted": lambda x, n: n - x,
    "multiply": lambda x, n: x * n,
    "and": lambda x, n: x & n,
    "or": lambda x, n: x | n,
    "xor": lambda x, n: x ^ n,
    "up": lambda x, n: x << (n & n.dtype.type(31)),
    "down": lambda x, n: x >> (n & n.dtype.type(31)),
    "quotient": lambda x, n: x // np.maximum(n, n.dtype.type(1)),
    "remainder": lambda x, n: x % np.maximum(n, n.dtype.type(1)),
    "less": lambda x, n: np.less(x, n),
    "not greater": lambda x, n: np.less_equal(x, n),
    "greater": lambda x, n: np.greater(x, n),
    "not less": lambda x, n: np.greater_equal(x, n),
    "equal": lambda x, n: np.equal(x, n),
    "other": lambda x, n: np.not_equal(x, n),
    "least": lambda x, n: np.minimum(x, n),
    "most": lambda x, n: np.maximum(x, n),
    "chosen": lambda x, n: np.where(n > 5, x, n),
    "not": lambda x, n: ~x,
    "minus": lambda x, n: np.negative(x),
    "size": lambda x, n: np.abs(x),
    "narrow": lambda x, n: x.astype(np.uint8),
    "wide": lambda x, n: x.astype(np.uint64),
    "signs": lambda x, n: x.view(np.int32 if x.itemsize == 4 else np.int64).astype(np.int64),
    "two": lambda x, n: x.astype(np.uint64) | (x.astype(np.uint64) << np.uint64(32)),
    "with itself": lambda x, n: (x + n) - x,
}


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_numbers_that_move_are_those_of_each_turn(name):
    """Hold the answer of each rule to every turn that it promises."""
    rng, answered = np.random.default_rng(sum(name.encode())), 0
    function, ends = (
        WITH_NUMBERS[name],
        [0, 1, 7, 31, 96, 1 << 20, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 63) - 5],
    )
    for _ in range(250):
        kind = KINDS[rng.integers(4)]
        first = (rng.choice(ends, 4) + rng.integers(-3, 40, 4)).astype(np.int64).astype(kind)
        step = rng.choice([1, 2, 4, 32, 128, -1, -4, -128, 12, 1 << 20]) * rng.choice([0, 1, 1, 3], 4)
        number = np.repeat((rng.choice(ends, 1) + rng.integers(0, 9, 1)).astype(np.int64).astype(kind), 4)
        if rng.integers(2):
            number = rng.integers(0, 200, 4).astype(kind)
        turns = Turns(rng.choice([12, 100, 1000]), np.ones(4, np.bool_))
        try:
            x = made(first, step.astype(np.int64), turns)
            found = function(x, number)
        except NotAlike:
            continue
        answered += 1
        for turn in {*range(min(turns.most, 40)), turns.most - 1}:
            with np.errstate(all="ignore"):
                expected = function(x.at(turn) if isinstance(x, Moving) else x, number)
            here = found.at(turn) if isinstance(found, Moving) else found
            assert here.dtype == expected.dtype
            assert (here == expected).all(), (kind, first, step, number, turn)
    assert answered > 12


def test_functions_without_a_rule_are_refused():
    turns = Turns(100, np.ones(4, np.bool_))
    x, mask = Moving(np.arange(4), np.ones(4, np.int64), turns), np.ones(4, np.bool_)
    for function in (
        np.asarray,
        np.unique,
        np.ascontiguousarray,
        np.packbits,
        int,
        bool,
        list,
        len,
        lambda x: np.array([x, x]),
        lambda x: np.concatenate([x, x]),
        lambda x: mask.astype(np.int64).__setitem__(mask, x),
        lambda x: np.arange(9)[x],
        lambda x: x * x,
        lambda x: x.sum(),
        lambda x: x.view(np.uint8),
        lambda x: np.where(x, 1, 2),
        lambda x: np.frexp(x.astype(np.float64)),
    ):
        with pytest.raises(NotAlike):
            function(x)
