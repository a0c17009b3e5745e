"""The machine: lanes that part and meet, loops, calls, data that nobody knows, and what is cut off."""

from __future__ import annotations

from tests.compiled.sass_texts import number, program_of, ran, text_of

from tilewise.compiled.launch import Launch
from tilewise.compiled.run import counted
from tilewise.compiled.sass.reader import programs_of

LANES = {"R0": range(32)}


def addresses_of(events):
    """Return for each event {lane: address} of the lanes that take part."""
    return [
        {
            lane: int(event.address.bits[lane % len(event.address.bits)])
            for lane in range(32)
            if event.active[lane]
        }
        for event in events
    ]


def sizes(events):
    """Return each event by its instruction and the number of lanes that take part."""
    return [(event.instruction.name, int(event.active.sum())) for event in events]


def test_lanes_part_and_meet_at_their_barrier():
    lines = [
        "ISETP.GE.AND P0, PT, R0, 0xa, PT",
        "BSSY B0, `(.L_2)",
        "@P0 BRA `(.L_1)",
        "LDS R4, [R0.X4]",
        "BRA `(.L_2)",
        ".L_1:",
        "LDS R4, [R0.X4+0x80]",
        ".L_2:",
        "BSYNC B0",
        "STS [R0.X4], R1",
        "EXIT",
    ]
    _, events, trace = ran(lines, LANES)
    first, second, last = addresses_of(events)
    assert first == {lane: 4 * lane for lane in range(10)}
    assert second == {lane: 4 * lane + 128 for lane in range(10, 32)}
    assert last == {lane: 4 * lane for lane in range(32)}
    assert not trace.guessed


def test_lanes_that_leave_a_barrier_wait_where_the_whole_warp_meets():
    lines = [
        "UMOV UR4, 0x100",
        "ISETP.GE.AND P0, PT, R0, 0x1e, PT",
        "BSSY B0, `(.L_1)",
        "@P0 BRA `(.L_2)",
        "BSYNC B0",
        ".L_1:",
        "STS [R0.X4+UR4], R1",
        ".L_2:",
        "WARPSYNC.ALL",
        "UMOV UR4, 0x200",
        "LDS R4, [R0.X4+UR4]",
        "EXIT",
    ]
    _, events, _ = ran(lines, LANES)
    assert addresses_of(events) == [
        {lane: 4 * lane + 0x100 for lane in range(30)},
        {lane: 4 * lane + 0x200 for lane in range(32)},
    ]


def test_loop_runs_as_often_as_each_lane_says():
    lines = [
        "MOV R1, RZ",
        ".L_1:",
        "LDS R4, [R1.X4]",
        "VIADD R1, R1, 0x1",
        "ISETP.LE.AND P0, PT, R1, R0, PT",
        "@P0 BRA `(.L_1)",
        "EXIT",
    ]
    _, events, _ = ran(lines, LANES)
    assert [int(event.active.sum()) for event in events] == list(range(32, 0, -1))


def test_call_returns_to_each_caller():
    lines = [
        "ISETP.GE.AND P0, PT, R0, 0x5, PT",
        "MOV R3, RZ",
        "MOV R2, 0x60",
        "@P0 MOV R2, 0x80",
        "@P0 BRA `(.L_far)",
        "CALL.REL.NOINC `($f)",
        "LDS R4, [R0.X4]",
        "EXIT",
        "STS [R0.X4], R4",
        "EXIT",
        ".L_far:",
        "CALL.REL.NOINC `($f)",
        "$f:",
        "MOV R9, 0x1",
        "RET.REL.NODEC R2 `(kernel)",
    ]
    _, events, _ = ran(lines, LANES)
    assert [(event.instruction.name, int(event.active.sum())) for event in events] == [
        ("LDS", 5),
        ("STS", 27),
    ]


def test_early_exit_leaves_the_other_lanes():
    lines = ["ISETP.LT.AND P0, PT, R0, 0x4, PT", "@P0 EXIT", "LDS R4, [R0.X4]", "EXIT"]
    _, events, _ = ran(lines, LANES)
    assert [int(event.issued.sum()) for event in events] == [28]


def test_predicated_access_is_issued_by_all():
    lines = ["ISETP.LT.AND P0, PT, R0, 0x4, PT", "@P0 LDS R4, [R0.X4]", "EXIT"]
    _, (event,), _ = ran(lines, LANES)
    assert (int(event.issued.sum()), int(event.active.sum())) == (32, 4)


def test_address_out_of_loaded_data_is_not_known():
    lines = ["LDS R4, [R0.X4]", "LDS R5, [R4]", "EXIT"]
    _, (first, second), _ = ran(lines, LANES)
    assert first.address.unknown is None
    assert second.address.unknown is not None
    assert second.address.unknown.all()


def test_generic_addresses_go_to_their_space():
    """A lane's address says the space; lanes whose address hangs on data stay apart, and are not known."""
    lines = [
        "S2R R5, SR_SWINHI",
        "ISETP.LT.AND P0, PT, R0, 0x8, PT",
        "ISETP.LT.AND P1, PT, R0, 0x10, PT",
        "IMAD.SHL.U32 R4, R0, 0x80, RZ",
        "@!P0 MOV R5, 0x7f",
        "LDS R9, [RZ]",
        "@!P1 MOV R4, R9",
        "MOV R6, 0x1",
        "LD.E R6, [R4.64]",
        "ST.E [R6.64], R6",
        "EXIT",
    ]
    lanes, (_, *loads, store), _ = ran(lines, LANES)
    assert [(event.touch.space, int(event.issued.sum())) for event in loads] == [
        ("shared", 8),
        ("global", 8),
        ("generic", 16),
    ]
    assert int(loads[0].address.bits[3]) == 3 * 0x80
    assert (store.touch.space, int(store.active.sum())) == ("generic", 32)
    unknown = lanes.read("R6").unknown
    assert unknown is not None
    assert lanes.spread(unknown).all()


def test_generic_accesses_count_once_where_they_are():
    lines = [
        "S2R R5, SR_SWINHI",
        "S2R R0, SR_TID.X",
        "IMAD.SHL.U32 R4, R0, 0x80, RZ",
        "LD.E R6, [R4.64]",
        "EXIT",
    ]
    run = counted(program_of(*lines), Launch((1, 1, 1), (64, 1, 1)))
    (tally,) = run.tallies
    assert (tally.touch.space, tally.instructions, tally.requests, tally.cost) == ("shared", 2, 2, 64)


def test_window_of_shared_memory_in_constants():
    """Before sm_90 the begin of the window is a constant; that of local memory is one everywhere."""
    lines = [
        "MOV R4, 0x40",
        "MOV R5, c[0x0][0x1c]",
        "LD.E R6, [R4.64]",
        "MOV R5, c[0x0][0x24]",
        "ST.E [R4.64], R6",
    ]
    for target, spaces in (("sm_80", ["shared", "local"]), ("sm_90", ["generic", "local"])):
        text = text_of(*lines, "EXIT").replace("sm_90", target)
        run = counted(next(programs_of(text)), Launch((1, 1, 1), (32, 1, 1)))
        assert [tally.touch.space for tally in run.tallies] == spaces


def test_branch_on_loaded_data_runs_both_sides_once():
    lines = [
        "LDS R4, [R0.X4]",
        "ISETP.EQ.AND P0, PT, R4, RZ, PT",
        "@P0 BRA `(.L_1)",
        "LDS R5, [R0.X4]",
        ".L_1:",
        "STS [R0.X4], R5",
        "EXIT",
    ]
    _, events, trace = ran(lines, LANES)
    assert [event.instruction.name for event in events] == ["LDS", "LDS", "STS"]
    assert trace.guessed == {2: 1}


def test_return_on_loaded_data_is_a_guess():
    """The lanes go on behind it, and the trace says so: a return that is taken would end them."""
    lines = [
        "MOV R2, 0x70",
        "LDS R4, [R0.X4]",
        "ISETP.EQ.AND P0, PT, R4, RZ, PT",
        "MOV R3, RZ",
        "@P0 RET.REL.NODEC R2 `(kernel)",
        "STS [R0.X4], R4",
        "EXIT",
        "EXIT",
    ]
    _, events, trace = ran(lines, LANES)
    assert sizes(events) == [("LDS", 32), ("STS", 32)]
    assert trace.guessed == {4: 1}


def test_loop_on_loaded_data_ends():
    lines = [".L_1:", "LDS R4, [R0.X4]", "ISETP.NE.AND P0, PT, R4, RZ, PT", "@P0 BRA `(.L_1)", "EXIT"]
    _, events, trace = ran(lines, LANES)
    assert len(events) == 1
    assert trace.guessed


def test_endless_loop_is_cut_off():
    program = program_of(".L_1:", "VIADD R1, R1, 0x1", "BRA `(.L_1)", "EXIT")
    run = counted(program, Launch((1, 1, 1), (32, 1, 1)))
    assert run.cut is not None
    assert "cut off" in run.left_out()[0]["reason"]


def test_unknown_instruction_is_named_and_what_hangs_on_it():
    program = program_of("WHATEVER R4, R0", "LDS R5, [R4]", "EXIT")
    assert program.unread == {"WHATEVER": 1}
    (tally,) = counted(program, Launch((1, 1, 1), (32, 1, 1))).tallies
    assert (tally.unknown, tally.known) == (1, 0)


def test_switch_goes_where_its_table_says():
    lines = [
        'BRX R1 -0x10                                        (*"BRANCH_TARGETS .L_1,.L_2"*)',
        ".L_1:",
        "LDS R4, [R0.X4]",
        "EXIT",
        ".L_2:",
        "STS [R0.X4], R4",
        "EXIT",
    ]
    _, events, _ = ran(lines, {**LANES, "R1": [0x10 if lane % 2 else 0x30 for lane in range(32)]})
    assert [(event.instruction.name, int(event.active.sum())) for event in events] == [
        ("LDS", 16),
        ("STS", 16),
    ]


def test_lines_are_those_of_the_innermost_source():
    text = text_of(
        '\t//## File "lib.h", line 3 inlined at "a.cu", line 9',
        '\t//## File "a.cu", line 9',
        "LDS R4, [RZ]",
        '\t//## File "/usr/include/cuda_fp16.hpp", line 800 inlined at "a.cu", line 10',
        '\t//## File "a.cu", line 10',
        "LDS R5, [RZ]",
    )
    (program,) = programs_of(text)
    assert [str(instruction.line) for instruction in program.instructions] == ["lib.h:3", "a.cu:10"]


def test_text_of_cuobjdump():
    text = """
		Function : copy
	.headerflags	@"EF_CUDA_SM80 EF_CUDA_PTX_SM(EF_CUDA_SM80)"
        /*0000*/                   S2R R0, SR_TID.X ;                 /* 0x0000000000007919 */
                                                                      /* 0x000e240000002100 */
        /*0010*/                   ISETP.GE.AND P0, PT, R0, 0x8, PT ; /* 0x0000000000007919 */
        /*0020*/               @P0 BRA 0x40 ;                         /* 0x0000000000007919 */
        /*0030*/                   STS [R0.X4], R0 ;                  /* 0x0000000000007919 */
        /*0040*/                   EXIT ;                             /* 0x0000000000007919 */
"""
    (program,) = programs_of(text)
    assert (program.name, program.target) == ("copy", "sm_80")
    (tally,) = counted(program, Launch((1, 1, 1), (32, 1, 1))).tallies
    assert (tally.instructions, tally.lanes) == (1, 8)


def test_block_that_fills_no_warp():
    program = program_of("S2R R0, SR_TID.X", "S2R R1, SR_CTAID.X", "STS [R0.X4], R1", "EXIT")
    (tally,) = counted(program, Launch((3, 1, 1), (40, 1, 1))).tallies
    assert (tally.instructions, tally.lanes) == (6, 120)


def test_register_keeps_its_number_across_a_warp_vote():
    lanes, _, _ = ran(["R2UR UR4, R0", "MOV R1, UR4"], LANES)
    assert number(lanes, "R1", 17) == 0


def test_constants_that_the_host_may_write_are_not_known():
    text = text_of("LDC R4, c[0x3][0x0]", "LDC R5, c[0x2][0x0]", "LDS R6, [R4]", "LDS R7, [R5]", "EXIT")
    for bank in ("2", "3"):
        name = f".nv.constant{bank}.kernel"
        text += f"//--------------------- {name}  ---------\n{name}:\n"
        text += "        /*0000*/ .byte 0x10, 0x00, 0x00, 0x00\n"
    run = counted(next(programs_of(text)), Launch((1, 1, 1), (32, 1, 1)))
    assert [(tally.unknown, tally.known) for tally in run.tallies] == [(1, 0), (0, 1)]
