"""Texts of PTX as programs: names, places, parameters, lines, the flow of control, accesses."""

from __future__ import annotations

import pytest
from tests.compiled.ptx_texts import ONE_WARP, addresses, numbers, program_of, ran, text_of, value_of

from tilewise.compiled.lanes import Lanes
from tilewise.compiled.launch import Launch
from tilewise.compiled.lines import Line
from tilewise.compiled.machine import Trace
from tilewise.compiled.ptx.reader import programs_of
from tilewise.compiled.run import counted
from tilewise.compiled.texts import programs_of as of_any
from tilewise.compiled.trace import pointer, traces, words_of

LANE = {"%r1": range(32)}


def first(lanes, *registers):
    """Return registers of the first lane."""
    return [numbers(lanes, register)[0] for register in registers]


# -- where things lie ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "base"), [("sm_90a", 1024), ("sm_100", 1024), ("sm_86", 0)])
def test_shared_variables_lie_in_order_and_dynamic_ones_behind(target, base):
    before = (
        ".shared .align 4 .b8 unused[28];\n.shared .align 4 .b8 used[12];\n"
        ".extern .shared .align 16 .b8 dynamic[];\n.shared .f64 pair[2];\n"
    )
    lines = [
        ".shared .align 1 .b8 a[5];",
        ".shared .align 128 .b8 b[36];",
        ".shared .u16 c[3];",
        "mov.u32 %r1, used",
        "mov.u32 %r2, pair",
        "mov.u32 %r3, a",
        "mov.u64 %rd4, b",
        "mov.u32 %r5, c+2",
        "mov.b32 %r6, dynamic",
    ]
    lanes, _, _ = ran(lines, before=before, target=target)
    found = first(lanes, "%r1", "%r2", "%r3", "%rd4", "%r5", "%r6")
    # ptxas 13.0 lays out these sizes and alignments so.
    assert [one - base for one in found] == [0, 16, 32, 128, 166, 176]


def test_parameters_have_names_places_and_pointers():
    parameters = (
        ".param .u64 .ptr .global .align 16 out, .param .u32 n, .param .align 8 .b8 pair[12],"
        ".param .u8 flag, .param .u16 half"
    )
    program = program_of("ret", parameters=parameters)
    begin = program.parameters[0].offset
    rows = [(one.name, one.offset - begin, one.size, one.pointer) for one in program.parameters]
    assert rows == [
        ("out", 0, 8, True),
        ("n", 8, 4, False),
        ("pair", 16, 12, False),
        ("flag", 28, 1, False),
        ("half", 30, 2, False),
    ]


def test_parameters_are_read_in_all_widths():
    parameters = (
        ".param .u64 out, .param .u32 n, .param .align 8 .b8 pair[16], .param .s8 flag, .param .u16 half"
    )
    lines = [
        "ld.param.u64 %rd1, [out]",
        "ld.param.u32 %r1, [n]",
        "ld.param.v2.b32 {%r2, %r3}, [pair]",
        "ld.param.u8 %rs1, [pair+5]",
        "ld.param.s8 %r4, [flag]",
        "ld.param.u16 %rs2, [half]",
        "mov.b64 %rd2, pair",
        "ld.param.u32 %r5, [%rd2+4]",
        "shl.b32 %r6, %r9, 2",
        "cvt.u64.u32 %rd3, %r6",
        "add.s64 %rd4, %rd2, %rd3",
        "ld.param::entry.u32 %r7, [%rd4]",
    ]
    args = [None, None, 0x1122334455667788, 0x80, 0xBEEF]
    launch = Launch((1, 1, 1), (32, 1, 1), args)
    lanes, _, trace = ran(lines, {"%r9": [0, 1] * 16}, launch, parameters=parameters)
    assert not trace.program.unread
    found = first(lanes, "%rd1", "%r1", "%r2", "%r3", "%rs1", "%r4", "%rs2", "%r5")
    assert found == [pointer(0), None, 0x55667788, 0x11223344, 0x33, (1 << 64) - 0x80, 0xBEEF, 0x11223344]
    assert numbers(lanes, "%r7")[:2] == [0x55667788, 0x11223344]


def test_parameter_fills_a_wider_register_with_its_sign():
    launch = Launch((1, 1, 1), (32, 1, 1), (-5, 0xFFFFFFFB))
    lines = ["ld.param.s32 %rd1, [n]", "ld.param.u32 %rd2, [m]", "add.s64 %rd3, %rd1, 3"]
    lanes, _, _ = ran(lines, launch=launch, parameters=".param .s32 n, .param .u32 m")
    assert [numbers(lanes, name)[0] for name in ("%rd1", "%rd2", "%rd3")] == [
        2**64 - 5,
        0xFFFFFFFB,
        2**64 - 2,
    ]


def test_constants_of_the_text_are_known_and_others_not():
    before = ".const .align 4 .b8 free[8];\n.const .u32 table[4] = {10, 20, 30, 40};\n"
    lines = [
        "shl.b32 %r2, %r1, 2",
        "cvt.u64.u32 %rd1, %r2",
        "mov.u64 %rd2, table",
        "add.s64 %rd3, %rd2, %rd1",
        "ld.const.u32 %r3, [%rd3]",
        "ld.const.u32 %r4, [free]",
        "ld.const.u8 %rs5, [table+4]",
    ]
    lanes, _, _ = ran(lines, {"%r1": [3, 0, None, 1] * 8}, before=before)
    assert numbers(lanes, "%r3")[:4] == [40, 10, None, 20]
    assert first(lanes, "%r4", "%rs5") == [None, 20]


def test_special_registers():
    lines = [
        "mov.u32 %r1, %tid.y",
        "mov.u32 %r2, %ctaid.x",
        "mov.u32 %r3, %ntid.x",
        "mov.u32 %r4, %nctaid.y",
        "mov.u32 %r5, %laneid",
        "mov.u32 %r6, %warpid",
        "mov.u32 %r7, %lanemask_lt",
        "mov.u32 %r8, %lanemask_ge",
        "mov.u32 %r9, %smid",
        "mov.u32 %r10, %dynamic_smem_size",
        "mov.u64 %rd1, %clock64",
        "cvt.u16.u32 %rs1, %tid.x",
    ]
    launch = Launch((3, 2, 1), (8, 8, 1), shared=512)
    lanes, _, _ = ran(lines, launch=launch)
    at = 5 * 64 + 37  # block 5 is (2, 1), thread 37 is (5, 4)
    names = [f"%r{n}" for n in range(1, 11)] + ["%rd1", "%rs1"]
    found = [numbers(lanes, name)[at] for name in names]
    assert found == [4, 2, 8, 2, 5, 1, 31, 0xFFFFFFFF ^ 31, None, 512, None, 5]


def test_clusters_of_the_text():
    text = text_of("mov.u32 %r1, %cluster_ctarank", "mov.u32 %r2, %clusterid.x", "mov.u32 %r3, %nclusterid.x")
    text = text.replace("kernel()\n", "kernel()\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n")
    program = next(programs_of(text))
    launch = Launch((6, 1, 1), (32, 1, 1))
    lanes = Lanes(launch, range(6), words_of(program, launch))
    assert [*Trace(program, lanes)] == []
    found = [[numbers(lanes, name)[32 * block] for block in range(6)] for name in ("%r1", "%r2", "%r3")]
    assert found == [[0, 1] * 3, [0, 0, 1, 1, 2, 2], [3] * 6]


def test_extents_that_a_kernel_requires():
    text = text_of("ret").replace(
        "kernel()\n", "kernel()\n.maxntid 256, 2\n.reqntid 128, 1, 1\n.minnctapersm 1\n"
    )
    program = next(programs_of(text))
    assert (program.threads, program.most_threads, program.target) == ((128, 1, 1), 512, "sm_90")
    assert program.source == "PTX"


# -- the text --------------------------------------------------------------------------------------------


def test_lines_are_the_innermost_of_the_users():
    text = text_of(
        ".loc 1 12 5",
        ".loc 2 69 9, function_name $L__info_string0, inlined_at 1 12 5",
        ".loc 3 20 1, function_name $L__info_string1, inlined_at 2 69 9",
        "ld.global.u32 %r1, [%rd1]",
        ".loc 1 0 5",
        "ld.global.u32 %r1, [%rd1]",
        ".loc 1 13 5",
        "ld.global.u32 %r1, [%rd1]",
        "",
    )
    text = text.replace("9\n;", "9\n").replace(";\n.loc", ";\n .loc")
    text += '.file 1 "a.cu"\n.file 2 "/usr/include/pipeline.h"\n.file 3 "sm_80_rt.hpp"\n'
    program = next(programs_of(text.replace("5;", "5").replace("9;", "9")))
    lines = [one.line for one in program.instructions]
    assert lines == [Line("a.cu", 12), Line("a.cu", 12), Line("a.cu", 13)]


def test_statements_scopes_and_comments():
    lines = [
        "mov.u32 %r1, 1; mov.u32 %r2, 2; // mov.u32 %r2, 9;",
        "/* mov.u32 %r1, 7;",
        "*/ @%p1 mov.u32 %r1, 5;",
        "{ .reg .b32 %r1; .reg .pred p, q<3>; mov.u32 %r1, 4; setp.eq.u32 p, %r1, 4; @!p mov.u32 %r3, 6; }",
        "{.reg .pred p; again: setp.eq.u32 p, 1, 1; @p bra done; bra again; done: }",
        "{.reg .pred p; again: setp.eq.u32 p, 1, 1; @p bra done; bra again; done: mov.u32 %r4, 8; }",
    ]
    lanes, _, trace = ran(["\n".join(lines) + "\n;"], {"%p1": 0, "%r3": 3})
    assert first(lanes, "%r1", "%r2", "%r3", "%r4") == [1, 2, 3, 8]
    rows = [one.row for one in trace.program.instructions]
    assert rows[:3] == [7, 7, 9]
    assert not trace.program.unread


def test_kernels_are_found_by_name():
    text = text_of("ret") + text_of("exit").split("\n", 3)[3].replace("kernel", "other")
    assert [program.name for program in programs_of(text)] == ["kernel", "other"]
    (program,) = of_any(text, "other")
    assert program.name == "other"
    assert [one.name for one in program.instructions] == ["exit"]


# -- the flow of control ---------------------------------------------------------------------------------


def test_lanes_part_and_meet():
    lines = [
        "setp.lt.u32 %p1, %r1, 10",
        "@%p1 bra low",
        "ld.shared.u32 %r2, [%r1+128]",
        "bra.uni end",
        "low:",
        "ld.shared.u32 %r2, [%r1]",
        "end:",
        "st.shared.u32 [%r1], %r2",
    ]
    _, events, trace = ran(lines, LANE)
    places = [addresses(event) for event in events]
    assert places == [
        {lane: lane + 128 for lane in range(10, 32)},
        {lane: lane for lane in range(10)},
        {lane: lane for lane in range(32)},
    ]
    assert not trace.guessed


def test_a_switch_goes_where_its_table_says():
    lines = [
        "table: .branchtargets zero, one, two;",
        "brx.idx %r1, table",
        "zero: mov.u32 %r2, 10",
        "bra end",
        "one: mov.u32 %r2, 11",
        "bra end",
        "two: mov.u32 %r2, 12",
        "end: st.shared.u32 [%r2], %r2",
    ]
    lanes, events, _ = ran(lines, {"%r1": [0, 1, 2, 1] * 8})
    assert numbers(lanes, "%r2")[:4] == [10, 11, 12, 11]
    assert int(events[-1].active.sum()) == 32


FUNCTIONS = """
.func (.param .b32 result) twice(.param .b64 wide, .param .align 4 .b8 pair[8])
{
    .reg .b32 %r<9>;
    ld.param.b32 %r1, [pair+4];
    ld.param.b64 %rd1, [wide];
    cvt.u32.u64 %r2, %rd1;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra out;
    shl.b32 %r1, %r1, 1;
out:
    st.param.b32 [result+0], %r1;
    ret;
}
.extern .func (.param .b32 back) elsewhere(.param .b32 one);
"""
CALL = """{
.param .b64 param0;
st.param.b64 [param0+0], %rd1;
.param .align 4 .b8 param1[8];
st.param.v2.b32 [param1+0], {%r9, %r1};
.param .b32 back;
call.uni (back), twice, (param0, param1);
ld.param.b32 %r2, [back+0];
}"""


def test_functions_return_to_each_caller():
    lines = [
        "setp.lt.u32 %p2, %r1, 4",
        "@%p2 bra first",
        CALL,
        "add.u32 %r2, %r2, 1000",
        "bra end",
        "first:",
        CALL,
        "end: st.shared.u32 [%r2], %r1",
    ]
    registers = {**LANE, "%rd1": [0, 1] * 16}
    lanes, events, trace = ran(
        ["\n".join(one + (";" if one[-1] not in ":}" else "") for one in lines)], registers, before=FUNCTIONS
    )
    assert not trace.program.unread
    twice = [lane * (lane % 2 + 1) for lane in range(32)]
    assert numbers(lanes, "%r2") == [n + (1000 if lane >= 4 else 0) for lane, n in enumerate(twice)]
    assert numbers(lanes, "%r1") == list(range(32))
    assert [int(event.active.sum()) for event in events] == [32]
    assert len([one for one in trace.program.instructions if one.name == "shl.b32"]) == 1


def test_calls_that_are_not_read_are_counted():
    lines = [
        "{",
        ".param .b32 a;",
        "st.param.b32 [a+0], %r1",
        ".param .b32 b;",
        "call (b), elsewhere, (a)",
        "ld.param.b32 %r2, [b+0]",
        "}",
        "call %rd1, (a), prototype",
    ]
    lanes, _, trace = ran(lines, {"%r1": 1, "%r2": 2}, before=FUNCTIONS)
    assert trace.program.unread == {"call": 2}
    assert first(lanes, "%r2") == [None]


def test_a_function_that_calls_itself_is_counted():
    before = ".func again()\n{\ncall again, ();\nret;\n}\n"
    program = program_of("call again, ()", before=before)
    assert program.unread == {"call": 1}


def test_a_wait_ends():
    lines = [
        "again: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0",
        "@%p1 bra done",
        "bra again",
        "done: st.shared.u32 [%r1], %r1",
    ]
    _, events, trace = ran(lines, LANE)
    assert len(events) == 1
    assert trace.cut is None


def test_a_loop_whose_exit_stands_before_it_ends():
    lines = [
        "bra middle",
        "out: st.shared.u32 [%r1], %r1",
        "exit",
        "middle: ld.shared.u32 %r2, [%r1]",
        "setp.eq.u32 %p1, %r2, 0",
        "@%p1 bra out",
        "bra middle",
    ]
    _, events, trace = ran(lines, LANE)
    assert trace.cut is None
    assert events[-1].instruction.name == "st.shared.u32"
    assert list(trace.guessed) == [5]


# -- accesses --------------------------------------------------------------------------------------------

TOUCHED = {
    "ld.global.u8 %rs1, [%rd1]": ("global", "ld", 1, 32),
    "ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16]": ("global", "ld", 16, 32),
    "ld.acquire.gpu.global.u64 %rd2, [%rd1]": ("global", "ld", 8, 32),
    "ld.global.L1::evict_last.L2::cache_hint.v8.b32 {%r2,%r3,%r4,%r5,%r6,%r7,%r8,%r9}, [%rd1], %rd5": (
        "global",
        "ld",
        32,
        32,
    ),
    "ld.shared.v2.b64 {%rd2, %rd3}, [%r1]": ("shared", "ld", 16, 32),
    "ld.shared::cta.b128 %x1, [%r1]": ("shared", "ld", 16, 32),
    "ldu.global.f32 %f1, [%rd1]": ("global", "ld", 4, 32),
    "st.local.v2.u16 [%rd1], {%rs1, %rs2}": ("local", "st", 4, 32),
    "st.global.cs.b16 [%rd1], 7": ("global", "st", 2, 32),
    "atom.relaxed.gpu.shared.add.u32 %r2, [%r1], 1": ("shared", "atom", 4, 32),
    "atom.global.cas.b64 %rd2, [%rd1], %rd3, %rd4": ("global", "atom", 8, 32),
    "atom.global.v4.f32.add {%f1, %f2, %f3, %f4}, [%rd1], {%f5, %f6, %f7, %f8}": ("global", "atom", 16, 32),
    "atom.shared.add.u32 _, [%r1], 1": ("shared", "red", 4, 32),
    "red.global.add.noftz.f16x2 [%rd1], %r2": ("global", "red", 4, 32),
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r2, %r3, %r4, %r5}, [%r1]": (
        "shared",
        "ldmatrix",
        16,
        32,
    ),
    "ldmatrix.sync.aligned.m8n8.x1.shared::cta.b16 {%r2}, [%r1]": ("shared", "ldmatrix", 16, 8),
    "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r2, %r3}, [%r1]": ("shared", "ldmatrix", 16, 16),
    "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r1], {%r2, %r3}": ("shared", "stmatrix", 16, 16),
}


@pytest.mark.parametrize("line", TOUCHED)
def test_accesses(line):
    _, (event,), trace = ran([line], {"%r1": 64, "%rd1": 4096})
    touch = event.touch
    assert (touch.space, touch.operation, touch.bytes, touch.supplied) == TOUCHED[line]
    assert not trace.program.unread
    offset = 16 if "+16" in line else 0
    assert set(addresses(event).values()) == {(64 if "[%r1" in line else 4096) + offset}


def test_what_is_loaded_is_not_known():
    lanes, _, _ = ran(["@%p1 ld.global.v2.u32 {%r2, _}, [%rd1]"], {"%rd1": 64, "%r2": 5, "%p1": [0, 1] * 16})
    assert numbers(lanes, "%r2") == [5, None] * 16


@pytest.mark.parametrize(
    ("more", "loads"),
    [("", 32), (", 16", 32), (", 0", 0), (", %r2", 16), (", %p1", 8), (", %r2, %rd5", 16)],
)
def test_asynchronous_copies(more, loads):
    hint = ".L2::cache_hint" if "%rd5" in more else ""
    line = f"cp.async.cg.shared.global.L2::128B{hint} [%r1], [%rd1], 0x10{more}"
    registers = {"%r1": 64, "%rd1": 4096, "%r2": [0, 16] * 16, "%p1": [1, 1, 1, 0] * 8}
    _, (stored, loaded), _ = ran([line], registers)
    assert (stored.touch.space, loaded.touch.space) == ("shared", "global")
    assert stored.touch.bytes == loaded.touch.bytes == 16
    assert (int(stored.active.sum()), int(loaded.active.sum())) == (32, loads)


def test_generic_addresses_go_to_their_space():
    before = ".shared .align 4 .b8 tile[128];\n"
    lines = [
        "mov.u64 %rd2, tile",
        "cvta.shared.u64 %rd3, %rd2",
        "selp.b64 %rd4, %rd3, %rd1, %p1",
        "mov.u32 %r2, 7",
        "ld.u32 %r2, [%rd4+4]",
        "cvta.to.shared.u64 %rd5, %rd3",
        "isspacep.shared %p2, %rd4",
        "isspacep.global %p3, %rd4",
    ]
    lanes, events, _ = ran(lines, {"%rd1": 4096, "%p1": [1, 0] * 16}, before=before)
    places = {event.touch.space: addresses(event) for event in events}
    assert places["shared"] == dict.fromkeys(range(0, 32, 2), 1028)
    assert places["global"] == dict.fromkeys(range(1, 32, 2), 4100)
    assert first(lanes, "%rd5", "%p2", "%p3") == [1024, 1, 0]
    assert set(numbers(lanes, "%r2")) == {None}


def test_generic_addresses_are_global_where_no_other_is_made_generic():
    _, (event,), _ = ran(["st.u32 [%rd1], %r1"], {"%rd1": 4096})
    assert event.touch.space == "global"


def test_trace_reads_ptx():
    text = text_of(
        "ld.param.u64 %rd1, [out]",
        "mov.u32 %r1, %tid.x",
        "mul.wide.u32 %rd2, %r1, 4",
        "add.s64 %rd3, %rd1, %rd2",
        "st.global.u32 [%rd3], %r1",
        parameters=".param .u64 out",
    )
    (run,) = traces(next(programs_of(text)), ONE_WARP, range(1))
    (store,) = run
    assert addresses(store) == {lane: pointer(0) + 4 * lane for lane in range(32)}


# -- other lanes -----------------------------------------------------------------------------------------


def test_shuffles():
    lines = [
        "shfl.sync.bfly.b32 %r2|%p2, %r1, 1, 31, -1",
        "shfl.sync.up.b32 %r3|%p3, %r1, 2, 0, -1",
        "shfl.sync.down.b32 %r4, %r1, 2, 0x1f, -1",
        "shfl.sync.idx.b32 %r5, %r1, 5, 0x181f, -1",
        "@%p1 shfl.sync.idx.b32 %r6, %r1, 1, 31, -1",
    ]
    lanes, _, _ = ran(lines, {**LANE, "%p1": [1, 0] * 16, "%r6": 99})
    assert numbers(lanes, "%r2") == [lane ^ 1 for lane in range(32)]
    assert numbers(lanes, "%r3") == [max(lane - 2, lane if lane < 2 else 0) for lane in range(32)]
    assert numbers(lanes, "%p3") == [lane >= 2 for lane in range(32)]
    assert numbers(lanes, "%r4") == [lane + 2 if lane < 30 else lane for lane in range(32)]
    assert numbers(lanes, "%r5") == [lane // 8 * 8 + 5 for lane in range(32)]
    assert numbers(lanes, "%r6") == [None, 99] * 16


def test_matches():
    lines = [
        "and.b32 %r2, %r1, 3",
        "match.any.sync.b32 %r3, %r2, -1",
        "match.all.sync.b32 %r4|%p4, %r2, -1",
        "@%p1 match.all.sync.b64 %r5|%p5, %rd1, -1",
        "match.any.sync.b32 %r6, %r9, -1",
    ]
    lanes, _, trace = ran(lines, {**LANE, "%rd1": 7, "%p1": [1, 0] * 16, "%r5": 0, "%p5": 0, "%r6": 1})
    assert not trace.program.unread
    assert numbers(lanes, "%r3") == [0x11111111 << lane % 4 for lane in range(32)]
    assert first(lanes, "%r4", "%p4", "%r6") == [0, 0, None]
    assert numbers(lanes, "%r5") == [0x55555555, 0] * 16
    assert numbers(lanes, "%p5") == [1, 0] * 16


def test_statements_of_one_line_are_counted_apart():
    text = text_of("ld.shared.u32 %r1, [0]; ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [0];")
    run = counted(next(programs_of(text)), ONE_WARP)
    assert [tally.touch.bytes for tally in run.tallies] == [4, 16]


def test_votes_reductions_and_elections():
    lines = [
        "setp.lt.u32 %p1, %r1, 3",
        "vote.sync.ballot.b32 %r2, %p1, -1",
        "vote.sync.any.pred %p2, %p1, -1",
        "vote.sync.all.pred %p3, !%p1, -1",
        "vote.sync.uni.pred %p4, %p1, -1",
        "@!%p1 activemask.b32 %r3",
        "redux.sync.add.s32 %r4, %r1, -1",
        "redux.sync.max.u32 %r5, %r1, -1",
        "redux.sync.xor.b32 %r6, %r1, -1",
        "elect.sync %r7|%p5, -1",
        "@!%p1 elect.sync _|%p6, -1",
    ]
    lanes, _, trace = ran(lines, {**LANE, "%p6": 0})
    assert not trace.program.unread
    assert first(lanes, "%r2", "%p2", "%p3", "%p4", "%r4", "%r5", "%r6", "%r7") == [7, 1, 0, 0, 496, 31, 0, 0]
    assert numbers(lanes, "%r3")[3] == 0xFFFFFFFF ^ 7
    assert numbers(lanes, "%p5") == [lane == 0 for lane in range(32)]
    assert numbers(lanes, "%p6") == [lane == 3 for lane in range(32)]


QUIET = [
    "bar.sync %r1",
    "bar.sync 0, 128",
    "barrier.cluster.arrive.aligned",
    "membar.gl",
    "fence.proxy.async.shared::cta",
    "cp.async.commit_group",
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r1}], [%r1]",
    "mbarrier.init.shared::cta.b64 [%r1], 1",
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 128",
    "griddepcontrol.wait",
    "setmaxnreg.inc.sync.aligned.u32 232",
    "wgmma.fence.sync.aligned",
    "wgmma.wait_group.sync.aligned 0",
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 128",
    "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd1, %r1, %p1",
    "prefetch.global.L2 [%rd1]",
    "nanosleep.u32 %r1",
]


@pytest.mark.parametrize("line", QUIET)
def test_what_writes_nothing_forgets_nothing(line):
    lanes, events, trace = ran([line], {"%r1": 5, "%rd1": 6, "%p1": 1})
    assert first(lanes, "%r1", "%rd1", "%p1") == [5, 6, 1]
    assert events == []
    assert not trace.program.unread


PRODUCTS = [
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r1}, {%r1}, {%f1,%f2,%f3,%f4}",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd1, 1, 1, 1, 0, 0",
    "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%f1, %f2, %f3, %f4}, [%r1]",
]


@pytest.mark.parametrize("line", PRODUCTS)
def test_products_forget_what_they_write(line):
    registers = {f"%f{place}": 7 for place in range(1, 6)}
    lanes, _, trace = ran([line], {**registers, "%r1": 1, "%rd1": 2})
    assert first(lanes, *registers) == [None] * 4 + [7]
    assert first(lanes, "%r1", "%rd1") == [1, 2]
    assert not trace.program.unread


def test_unknown_numbers_stay_with_their_lane():
    assert value_of("%r1", [None, 3] * 16).unknown is not None
    lanes, _, _ = ran(
        ["add.u32 %r2, %r1, 1", "div.u32 %r3, %r4, %r5"],
        {"%r1": [None, 3] * 16, "%r4": 9, "%r5": [0, 2] * 16},
    )
    assert numbers(lanes, "%r2") == [None, 4] * 16
    assert numbers(lanes, "%r3") == [None, 4] * 16
