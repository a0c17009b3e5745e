"""`match --engine mma`: tiles that matrices move, that vectors move, and that nothing moves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.check.feeding_cases import MATRICES, REFUSED, VECTORS, cases
from tests.check.naive_feeding import Asked, addresses, held, moved, rows_of, wanted
from tests.codegen import nvrtc

from tilewise import S, Swizzle, parse
from tilewise.check.feeding import feed
from tilewise.check.feeding.why import COSTS
from tilewise.check.match import match
from tilewise.codegen.feeding import code_of
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.hardware.limits import sm_shared_bytes

GOLDENS = Path(__file__).parent / "goldens"


def words(operand, shape, dtype, spelled):
    """The words of a command for one case."""
    text, _, options = spelled.partition(" --")
    more = f"--{options}".split() if options else []
    about = ("--engine", "mma", "--operand", operand, "--shape", shape, "--dtype", dtype)
    return "match", text.strip(), *about, *more


def ids(table):
    return ["-".join((*case[:3], case[4])) for case in cases(table)]


@pytest.mark.parametrize("case", [*cases(MATRICES)], ids=ids(MATRICES))
def test_matrices_move_the_tile(case, tilewise):
    *asked, (form, count), spelled = case
    run = tilewise(*words(*asked, spelled), "--json")
    assert run.code == 0, run.out
    found = run.json
    mover = "stmatrix" if asked[0] == "D" else "ldmatrix"
    assert found["kind"] == mover
    assert found["trans"] == ("trans" in form)
    assert set(form.split(".")) <= set(found["form"].split("."))
    assert found["instructions"] == len(found["steps"]) == int(count)
    assert found["alignment"] == 16
    assert found["reasons"] == found["nearest"] == []
    registers = [(*part.values(),) for step in found["steps"] for part in step["parts"]]
    assert len(set(registers)) == len(registers) == found["registers"]
    assert all((step["add"], step["xor"]) != (None, None) or "addresses" in step for step in found["steps"])


@pytest.mark.parametrize("case", [*cases(VECTORS)], ids=ids(VECTORS))
def test_vectors_move_what_matrices_do_not(case, tilewise):
    *asked, (bits, count, rule), spelled = case
    run = tilewise(*words(*asked, spelled), "--json")
    assert run.code == 0, run.out
    found = run.json
    assert (found["kind"], found["bits"], found["instructions"]) == ("vector", int(bits), int(count))
    assert found["alignment"] == int(bits) // 8
    assert found["reasons"][0]["rule"] == rule
    only = tilewise(*words(*asked, spelled), "--form", "matrices", "--json")
    assert (only.code, only.json["legal"], only.json["reasons"][0]["rule"]) == (1, False, rule)
    check_nearest(asked, only.json["nearest"])


@pytest.mark.parametrize("case", [*cases(REFUSED)], ids=ids(REFUSED))
def test_what_nothing_moves_has_its_reason(case, tilewise):
    *asked, rules, spelled = case
    run = tilewise(*words(*asked, spelled), "--json")
    assert run.code == 1, run.out
    found = run.json
    assert found["legal"] is False
    assert [reason["rule"] for reason in found["reasons"]][: len(rules)] == rules
    assert found["reason"] == found["reasons"][0]["message"]
    check_nearest(asked, found["nearest"])


def check_nearest(asked, nearest):
    """Each is moved by matrices, the cheapest first."""
    operand, shape, dtype = asked
    costs = [COSTS.index(near["cost"]) for near in nearest]
    assert costs == sorted(costs)
    for near in nearest:
        again = feed(parse(near["layout"]), operand=operand, shape=shape, dtype=dtype, form="matrices")
        assert again.legal, near


@pytest.mark.slow
def test_what_is_said_of_all_of_them(tilewise, golden):
    said = []
    for table in (MATRICES, VECTORS, REFUSED):
        for operand, shape, dtype, _, spelled in cases(table):
            run = tilewise(*words(operand, shape, dtype, spelled))
            said.append(
                f"$ tilewise match {spelled} --operand {operand} --shape {shape} --dtype {dtype}\n{run.out}"
            )
    golden(GOLDENS / "feeding.txt", "\n".join(said))


def test_every_rule_of_the_page_has_a_case():
    page = (Path(__file__).parents[2] / "docs/match.md").read_text(encoding="utf-8")
    table = page.partition("## Every rule of mma.sync")[2].partition("##")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {rule for row in rows for rule in re.findall("`([a-z0-9-]+)`", row)}
    shown = {expected[2] for _, _, _, expected, _ in cases(VECTORS)}
    shown |= {rule for _, _, _, rules, _ in cases(REFUSED) for rule in rules}
    assert named - shown == {"fewer", "differs"}
    assert shown <= named


# -- what it means ---------------------------------------------------------------------------------------


def test_a_step_is_a_constant_or_an_xor_of_the_first_address():
    swizzled = Swizzle(3, 3, 3) @ S[(32, 64) : (64, 1)]
    found = feed(swizzled, operand="A", shape="m16n8k16", dtype="f16")
    assert [(step.row, step.column, step.add, step.xor) for step in found.steps] == [
        (0, 0, 0, 0),
        (0, 1, None, 32),
        (0, 2, None, 64),
        (0, 3, None, 96),
        (1, 0, 2048, 2048),
        (1, 1, None, 2080),
        (1, 2, None, 2112),
        (1, 3, None, 2144),
    ]
    padded = feed(S[(16, 32) : (40, 1)], operand="A", shape="m16n8k16", dtype="f16")
    assert [(step.add, step.xor) for step in padded.steps] == [(0, 0), (32, None)]
    carrying = Swizzle(1, 3, 3) @ S[(16, (3, 16)) : (48, (16, 1))]
    neither = feed(carrying, operand="A", shape="m16n8k16", dtype="f16").steps[1]
    assert (neither.add, neither.xor, neither.addresses.size) == (None, None, 32)


def test_a_tile_in_the_order_of_the_registers_takes_vectors_of_16_bytes():
    """Weights that were shuffled for mma: four registers of a lane follow one another."""
    shuffled = S[((2, 8), (2, 4, 2)) : ((2, 32), (4, 8, 1))]
    found = feed(shuffled, operand="A", shape="m16n8k16", dtype="f16")
    assert str(found.form) == "ld.shared.v4.b32"
    assert [(part.byte, part.bytes) for part in found.steps[0].parts] == [(0, 4), (4, 4), (8, 4), (12, 4)]
    crossed = S[((2, 8), (2, 4, 2)) : ((4, 32), (2, 8, 1))]
    found = feed(crossed, operand="A", shape="m16n8k16", dtype="f16")
    assert [part.register for part in found.steps[0].parts] == [0, 2, 1, 3]
    apart = S[((2, 8), (2, 4, 2)) : ((1, 32), (4, 8, 2))]
    found = feed(apart, operand="A", shape="m16n8k16", dtype="f16")
    assert str(found.form) == "ld.shared.v4.b32"
    assert [(part.byte, part.bytes) for part in found.steps[0].parts][:4] == [(0, 2), (4, 2), (2, 2), (6, 2)]


@pytest.mark.parametrize("products", [(4, 1), (2, 2), (1, 4)])
@pytest.mark.parametrize("major", ["k", "mn"])
def test_volta_takes_either_major_and_four_products(products, major):
    down, along = (8 * many for many in products)
    for operand, rows in (("A", down), ("B", along)):
        tile = S[(rows, 8) : (8, 1)] if major == "k" else S[(rows, 8) : (1, rows)]
        found = feed(tile, operand=operand, shape="m8n8k4", dtype="f16", products=products)
        rowwise = major == ("k" if operand == "A" else "mn")
        assert found.major == ("row" if rowwise else "col")
        assert found.form.bits in (64, 128)
        seen = {found.addresses.place(lane)["m"] for lane in range(32)}
        assert len(seen) == 2 * products["AB".index(operand)] * 4
    result = feed(S[(down, along) : (along, 1)], operand="D", shape="m8n8k4", dtype="f32", products=products)
    assert result.counts == (1, 1)
    with pytest.raises(LayoutError, match="no 4 products"):
        feed(S[(8, 8) : (8, 1)], operand="D", shape="m8n8k4", dtype="f32", products=(3, 1))


@pytest.mark.parametrize(
    ("text", "dtype", "bits"),
    [
        ("Swizzle<1,7,3> o S[(32, (4, 16)) : (512, (128, 4))]", "e2m1", 4),
        ("S[(32, (4, 16)) : (640, (128, 6))]", "e2m3", 6),
        ("S[((2, 16), 64) : ((128, 4), 256)]", "e2m1", 4),
    ],
)
def test_elements_are_unpacked_from_where_they_lie(text, dtype, bits):
    """Bit by bit: element x of a row begins x * bits after the address that a lane gives."""
    layout = parse(text, unit="bit")
    for operand in "AB":
        found = feed(layout, operand=operand, shape="m16n8k32", dtype=dtype, arch="sm_120a")
        holds, asked = rows_of(found.form), Asked(operand, "m16n8k32", "u8")
        seen = set()
        for step in found.steps:
            here = addresses(step.addresses)
            for lane in range(32):
                for number, part in enumerate(step.parts):
                    for byte in range(4):
                        supplier, column = holds[lane, 4 * number + byte]
                        row, at = held(asked, lane, part.byte + byte)
                        element = part.row * asked.extents[0] + row, part.column * 32 + at
                        assert layout.place(*element)["m"] == 8 * here[supplier] + bits * column
                        seen.add(element)
        assert len(seen) == layout.size


@pytest.mark.parametrize(
    ("dtype", "shape", "text"),
    [
        ("b1", "m8n8k128", "Swizzle<2,7,5> o S[(8, 128) : (128, 1)]"),
        ("s4", "m8n8k32", "Swizzle<2,5,5> o S[(8, 32) : (32, 1)]"),
        ("u8", "m8n8k16", "Swizzle<2,4,5> o S[(8, 16) : (16, 1)]"),
    ],
)
def test_a_swizzle_that_does_nothing_at_0_does_what_it_does_at_the_base(dtype, shape, text):
    """It counts from address 0: bits 9 and 10 of the tile's address go to bits 4 and 5 of each byte's."""
    asked = {"operand": "A", "shape": shape, "dtype": dtype, "base": 1024, "pattern": "address"}
    found, layout = feed(parse(text), **asked), parse(text)
    bits = DType.of(dtype).bits
    assert str(found.form) == "ldmatrix.sync.aligned.m8n8.x1.shared.b16"
    for row, at in enumerate(addresses(found.addresses)[:8]):
        assert at * 8 == layout.swizzles[0](1024 * 8 // bits + 128 // bits * row) * bits


@pytest.mark.parametrize("rows", [16, 32, 48])
def test_a_swizzle_that_mends_the_strides_is_seen_whatever_the_extents(rows):
    """Bit 3 comes with bit 7, which the swizzle takes away again: rows are contiguous in the end."""
    mended = parse(f"Swizzle<1,3,-4> o S[({rows}, (2, 2, 4)) : (256, (16, 136, 2))]").counted("byte")
    plain = parse(f"S[({rows}, (2, 2, 4)) : (256, (16, 8, 2))]").counted("byte")
    found, wanted = (feed(one, operand="A", shape="m16n8k16", dtype="f16") for one in (mended, plain))
    assert (found.form, len(found.steps)) == (wanted.form, len(wanted.steps))
    assert all(
        one.addresses.same(other.addresses).answer
        for one, other in zip(found.steps, wanted.steps, strict=True)
    )


@pytest.mark.parametrize(
    ("text", "byte"),
    [
        ("Swizzle<1,0,4> o S[(16, 16) : (32, 2)]", 16),
        ("Swizzle<1,4,4> o (S[(16, 16) : (32, 2)] + 1)", 255),
        ("Swizzle<3,4,3> o (S[(16, 16) : (128, 2)] + 15)", 143),
    ],
)
def test_an_element_that_a_swizzle_parts_is_in_no_one_place(text, byte):
    """By the layout it is whole where its first byte is, and by the swizzle its bytes are apart."""
    found = feed(parse(text).counted("byte"), operand="A", shape="m16n8k16", dtype="f16")
    (reason,) = found.reasons
    assert (reason.rule, reason.witness["byte"]) == ("swizzle", byte)
    plain = parse(text.partition(" o ")[2].strip("()")).counted("byte")
    assert feed(plain, operand="A", shape="m16n8k16", dtype="f16").legal


@pytest.mark.parametrize(
    ("operand", "shape", "dtype", "arch", "said"),
    [
        ("A", "m16n8k32", "f16", "sm_75", "sm_75 has no mma.sp m16n8k32"),
        ("B", "m16n8k64", "e4m3", "sm_80", "sm_80 has no mma.sp m16n8k64"),
        ("D", "m16n8k32", "f32", "sm_75", "sm_75 has no mma.sp m16n8k32"),
        ("A", "m16n8k128", "e2m1", "sm_90", "sm_90 has no mma.sp m16n8k128"),
        ("D", "m16n8k4", "f32", None, "there is no mma.sp m16n8k4"),
        ("D", "m8n8k4", "f32", None, "there is no mma.sp m8n8k4"),
    ],
)
def test_a_sparse_product_that_there_is_not_has_no_operand(operand, shape, dtype, arch, said):
    asked = {"operand": operand, "shape": shape, "dtype": dtype, "sparse": True}
    found = feed(S[(64, 128) : (128, 1)], **asked, arch=arch)
    assert [(reason.rule, reason.message) for reason in found.reasons] == [("type", said)]
    if arch is not None:
        later = "sm_89" if arch == "sm_80" else "sm_80" if arch == "sm_75" else "sm_120a"
        assert feed(S[(64, 128) : (128, 1)], **asked, arch=later).legal


def test_warps_share_a_tile():
    layout = Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)]
    one = feed(layout, operand="A", shape="m16n8k16", dtype="f16", warps=(2, 1))
    assert len(one.steps) == 8
    assert {part.row for step in one.steps for part in step.parts} == {0, 1}


@pytest.mark.parametrize("rows", [80, 96, 160, 192])
def test_warps_share_rows_that_are_no_power_of_two(rows):
    """Twice as many rows as a warp has, in one digit of the layout."""
    layout = parse(f"Swizzle<3,3,3> o S[({rows}, 64) : (64, 1)]")
    for operand in "AB":
        if rows // 2 % (16 if operand == "A" else 8):
            continue
        found = feed(layout, operand=operand, shape="m16n8k16", dtype="f16", warps=(2, 1))
        (digit,) = found.fill.tile.warps
        assert (digit.extent, digit.stride) == (2, rows // 2 * 128)


@pytest.mark.parametrize("warps", [(2, 1), (1, 2), (4, 1)])
def test_a_tile_that_warps_cannot_share_says_so(warps):
    """Three instructions down and one along."""
    found = feed(S[(48, 16) : (16, 1)], operand="A", shape="m16n8k16", dtype="f16", warps=warps)
    (reason,) = found.reasons
    assert (reason.rule, reason.witness) == ("warps", {"warps": [*warps]})
    assert reason.message == f"the tile does not divide between {warps[0]} x {warps[1]} warps"


def test_words_that_are_of_another_engine_are_refused():
    layout = S[(64, 64) : (64, 1)]
    for asked in ({"n": 8, "shape": "m16n8k16"}, {"major": "k", "shape": "m16n8k16"}, {}):
        with pytest.raises(LayoutError, match="TW601"):
            match(layout, engine="mma", operand="A", dtype="f16", **asked)
    with pytest.raises(LayoutError, match="wgmma takes no shape"):
        match(layout, engine="wgmma", operand="A", dtype="f16", shape="m16n8k16")
    with pytest.raises(LayoutError, match="no operand of mma"):
        feed(layout, operand="E", shape="m16n8k16", dtype="f16")


MMA = ("--engine", "mma", "--shape", "m16n8k16", "--dtype", "f16", "--operand", "A")


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ((*MMA, "--n", "8"), 2, "mma takes no n"),
        ((*MMA, "--major", "k"), 2, "mma takes no major"),
        ((*MMA, "--products", "4y1"), 2, "--products"),
        ((*MMA, "--products", "3x1"), 2, "3 x 1 are no 4 products"),
        ((*MMA, "--arch", "sm_99"), 2, "sm_99"),
        ((*MMA, "--form", "x3"), 1, "no 3 matrices"),
        ((*MMA, "--form", "anything"), 2, "no form of ldmatrix"),
        ((*MMA, "--shape", "16x8"), 2, "no shape of an mma"),
        ((*MMA, "--base", "-16"), 2, "no address"),
        (("--engine", "mma", "--dtype", "f16", "--operand", "A"), 2, "match needs --shape"),
        (("--operand", "C", "--dtype", "f16"), 2, "no operand in shared memory"),
        (("--operand", "A", "--dtype", "f16", "--sparse"), 2, "wgmma takes no sparse"),
    ],
)
def test_words_that_are_no_question_are_refused(options, code, words, tilewise):
    run = tilewise("match", "S[(64, 64) : (64, 1)]", *options)
    assert run.code == code, run.out + run.err
    assert words in run.out + run.err


def test_a_near_layout_goes_on_to_the_next_command(tilewise):
    refused = tilewise("match", "S[(64, 64) : (68, 1)]", *MMA, "--form", "matrices", "--json")
    assert refused.code == 1
    again = tilewise("match", "-", *MMA, "--json", stdin=refused.out)
    assert (again.code, again.json["name"]) == (0, "ldmatrix.x4")


# -- code ------------------------------------------------------------------------------------------------

LIBRARY = nvrtc.load()

PROGRAM = """{code}
extern "C" __global__ void check(unsigned* out, unsigned tile)
{{
    {type} r[{count}] = {{}};
    {name}(r, tile + {operand}_address(threadIdx.x));
    for (int i = 0; i < {count}; ++i) out[i] = (unsigned)r[i];
}}
"""


@pytest.mark.slow
@pytest.mark.skipif(LIBRARY is None, reason="needs NVRTC")
@pytest.mark.parametrize(
    ("operand", "shape", "dtype", "arch", "type"),
    [
        ("A", "m16n8k16", "f16", "sm_80", "unsigned"),
        ("D", "m16n8k16", "f16", "sm_90", "unsigned"),
        ("D", "m16n8k16", "f32", "sm_80", "unsigned"),
        ("A", "m8n8k4", "f64", "sm_80", "unsigned long long"),
        ("D", "m8n8k4", "f64", "sm_80", "unsigned long long"),
        ("D", "m16n8k32", "s8", "sm_80", "unsigned short"),
    ],
)
def test_the_assembler_takes_the_instruction(operand, shape, dtype, arch, type):
    found = feed(S[(64, 64) : (64, 1)], operand=operand, shape=shape, dtype=dtype, arch=arch)
    name = f"{operand.lower()}_{'store' if operand == 'D' else 'load'}"
    program = PROGRAM.format(
        code=code_of(found), type=type, count=found.form.registers, name=name, operand=operand.lower()
    )
    binary, _ = nvrtc.compile_to_cubin(LIBRARY, program, f"--gpu-architecture={arch}")
    assert binary


def test_the_code_gives_the_addresses():
    """The function as Python has it, for every lane; it is the same expression that CUDA gets."""
    from tilewise.codegen import source_of

    layout = Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)]
    for operand in "AB":
        found = feed(layout, operand=operand, shape="m16n8k16", dtype="f16")
        space = {}
        exec(str(source_of(found.addresses, "python", flat=True, name="address")), space)
        assert [space["address"](lane) for lane in range(32)] == [
            found.addresses.place(lane)["m"] for lane in range(32)
        ]
        assert moved(found) == wanted(layout, Asked(operand, "m16n8k16", "f16"))


@pytest.mark.parametrize(
    ("arch", "legal"), [("sm_75", False), ("sm_86", False), ("sm_80", True), (None, True)]
)
def test_shared_memory_ends_where_it_does_on_the_architecture(arch, legal):
    asked = {"operand": "A", "shape": "m16n8k8", "dtype": "f16", "base": 120_000, "arch": arch}
    found = feed(S[(16, 16) : (16, 1)], **asked)
    assert found.legal is legal
    if not legal:
        (reason,) = found.reasons
        assert (reason.rule, reason.witness["limit"]) == ("range", sm_shared_bytes(arch))
