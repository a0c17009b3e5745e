"""The lines of a module: nesting, names, types, source lines; texts that are cut off, garbage, hostile."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.compiled.ttgir.recorded import recorded

from tilewise import LayoutError
from tilewise.compiled.lines import Line
from tilewise.compiled.ttgir.module import module_of
from tilewise.compiled.ttgir.text import MAX_MODULE, text_of

DUMPS = recorded("dumps")
SMALLEST = min((dump["ttgir"] for dump in DUMPS.values()), key=len)
LOOPS = """\
module {
  tt.func @f(%n: i32 loc("n"(#loc)), %p: !tt.ptr<f32>) {
    %0 = arith.constant 0 : i32
    %1:2 = scf.for %i = %0 to %n step %0 iter_args(%a = %0, %b = %p) -> (i32, !tt.ptr<f32>)  : i32 {
      %2 = arith.addi %a, %i : i32
      %3 = scf.if %c -> (i32) {
        %4 = arith.addi %2, %2 : i32
        scf.yield %4 : i32
      } else {
        %4 = arith.muli %2, %2 : i32
        scf.yield %4 : i32
      } loc("f.py":7:1)
      scf.for %j = %0 to %n step %0  : i32 {
        %4 = arith.subi %j, %i : i32
      }
      scf.yield %3, %b : i32, !tt.ptr<f32>
    } loc("f.py":3:1)
    %2 = arith.addi %1#0, %n : i32
    "tt.reduce"(%2) <{axis = 0 : i32}> ({
    ^bb0(%i: f32, %j: f32):
      %4 = arith.addf %i, %j : f32
      tt.reduce.return %4 : f32
    }) : (i32) -> i32 loc("f.py":9:1)
  }
}
"""


def test_regions_nest_and_loops_are_counted():
    text = text_of(LOOPS)
    seen = {(op.row, op.name): (op.loops, op.inside.name if op.inside else None) for op in text.ops}
    assert seen[4, "scf.for"] == (0, "tt.func")
    assert seen[5, "arith.addi"] == (1, "scf.for")
    assert seen[10, "arith.muli"] == (1, "scf.if")
    assert seen[14, "arith.subi"] == (2, "scf.for")
    assert seen[18, "arith.addi"] == (0, "tt.func")
    assert seen[21, "arith.addf"] == (0, "tt.reduce")
    assert not text.unread
    assert not text.open


def test_a_value_has_a_name_of_its_own():
    ops = {op.row: op for op in text_of(LOOPS).ops}
    assert ops[2].arguments == ("%n", "%p")
    assert ops[4].arguments == ("%i", "%a", "%b")
    assert ops[4].operands == ("%0", "%n", "%0", "%0", "%p")
    assert ops[4].results == ("%1#0", "%1#1")
    assert (ops[7].results, ops[10].results, ops[14].results) == (("%4",), ("%4'2",), ("%4'3",))
    assert ops[8].operands == ("%4",)
    assert ops[11].operands == ("%4'2",)
    assert ops[14].operands == ("%j", "%i")
    assert ops[16].operands == ("%3", "%b")
    assert (ops[18].results, ops[18].operands) == (("%2'2",), ("%1#0", "%n"))
    assert ops[21].operands == ("%i'2", "%j'2")


def test_the_line_of_an_operation_with_regions_stands_after_them():
    text = text_of(LOOPS)
    assert {op.name: text.line(op).number for op in text.ops if text.line(op)} == {
        "scf.if": 7,
        "scf.for": 3,
        "tt.reduce": 9,
    }


PLACES = """\
#loc = loc("/a/b/f.py":1:0)
#loc1 = loc(unknown)
#loc2 = loc("C:\\\\a\\\\g.py":20:3)
#loc3 = loc("x/triton/language/standard.py":5:1)
#loc4 = loc("total"(#loc2))
#loc5 = loc(callsite(#loc3 at #loc4))
#loc6 = loc(callsite(#loc at #loc2))
#loc7 = loc(callsite(#loc1 at #loc6))
#loc8 = loc(fused[#loc1, #loc4])
#loc9 = loc(#loc9)
#loc10 = loc("in"(#loc11))
#loc11 = loc("out"(#loc10))
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("#loc", Line("f.py", 1)),
        ("#loc1", None),
        ("#loc2", Line("g.py", 20)),
        ("#loc3", Line("standard.py", 5)),
        ("#loc4", Line("g.py", 20)),
        ("#loc5", Line("g.py", 20)),
        ("#loc6", Line("f.py", 1)),
        ("#loc7", Line("f.py", 1)),
        ("#loc8", Line("g.py", 20)),
        ("#loc9", None),
        ("#loc10", None),
        ("#loc99", None),
        ("unknown", None),
        ('"y/h.py":3:4', Line("h.py", 3)),
        ('callsite("s"("triton/language/core.py":1:1) at callsite("h.py":3:4 at #loc))', Line("h.py", 3)),
        ('"h.py":3:4 to :5', Line("h.py", 3)),
    ],
)
def test_places_lead_to_the_innermost_line_of_the_user(place, line):
    text = text_of(f"{PLACES}tt.return loc({place})\n")
    assert text.line(text.ops[0]) == line


def test_lines_that_are_no_operation_are_counted():
    module = module_of("tt.func @f() {\n  what is this\n  strange.op %0 : i32\n  what else\n}\n")
    assert module.unknown == {"strange.op": 1, "what": 2}
    assert module.text.unread == {2: "what is this", 4: "what else"}


def test_accesses_that_are_not_predicted_are_counted():
    names = [
        "tt.atomic_rmw",
        "ttng.async_tma_copy_global_to_local",
        "tt.descriptor_load",
        "tt.load",
        "tt.store",
    ]
    module = module_of("tt.func @f() {\n" + "".join(f"  %0 = {name} %1\n" for name in names) + "}\n")
    assert module.unknown == dict.fromkeys(names[:3], 1)


def test_types_that_are_not_read_are_counted():
    strange = "tensor<8xf32, #new.kind<{a = 1}>>"
    module = module_of(f"tt.func @f(%x: {strange}) {{\n  %0 = math.exp %x : {strange}\n}}\n")
    assert module.unknown == {strange: 2}
    (use,) = module.layouts()
    assert (use.layout, use.name) == (None, "#new.kind<{a = 1}>")
    assert "expected an encoding" in use.reason


def test_an_alias_that_is_not_read_says_why():
    text = "#a = #ttg.blocked<{order = [0], order = [0]}>\ntt.func @f(%x: tensor<8xf32, #a>) {\n}\n"
    (use,) = module_of(text).layouts()
    assert use.reason == "the key order stands here twice"


@pytest.mark.parametrize(
    "text", ["", "\n\n", "hello", "#a = 1\n\n<html>\n", "{}{}{", "module {\n}\n", "\x00"]
)
def test_a_text_without_operations_is_refused_at_its_first_line(text):
    with pytest.raises(LayoutError) as refused:
        module_of(text)
    assert refused.value.code == "TW001"
    assert refused.value.span[1] <= len(text)


def test_a_text_that_is_too_long_is_refused():
    with pytest.raises(LayoutError, match="characters") as refused:
        module_of("tt.return\n" * (MAX_MODULE // 10 + 1))
    assert refused.value.code == "TW005"


def test_a_text_that_is_cut_off_says_so():
    end = DUMPS["matmul, cuda:90"]["ttgir"].index("scf.yield")
    module = module_of(DUMPS["matmul, cuda:90"]["ttgir"][:end])
    assert module.as_dict()["cut_off"] == ["tt.func", "scf.for"]
    assert module.layouts()


# -- anything -------------------------------------------------------------------------------------------


def answered(text):
    """Return True for an answer, which is JSON; a refusal is a LayoutError with its code."""
    try:
        json.dumps(module_of(text).as_dict())
    except LayoutError as refused:
        if refused.code not in ("TW001", "TW005"):
            raise


@given(st.sampled_from(sorted(DUMPS)), st.floats(0, 1))
def test_dumps_that_are_cut_off(name, part):
    text = DUMPS[name]["ttgir"]
    answered(text[: int(part * len(text))])


@given(st.sampled_from(sorted(DUMPS)), st.data())
def test_dumps_with_changes(name, data):
    text = DUMPS[name]["ttgir"]
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(text)))
        size = data.draw(st.sampled_from([0, 1, 1, 4, 100]))
        new = data.draw(
            st.sampled_from(["", "0", "7", "<", ">", "{", "}", '"', "%0", " loc(", "\n", "x", "4096x"])
        )
        text = text[:at] + new + text[at + size :]
    answered(text)


@given(st.permutations(SMALLEST.splitlines()))
def test_dumps_with_their_lines_mixed(lines):
    answered("\n".join(lines))


PIECES = """
tt.func @f(|%0|%0:2 = |%a: i32|tensor<8xf32, #a>|tensor<|#a = #ttg.|blocked<{|scf.for %i = | to | step
| iter_args(%b = %0)|!ttg.memdesc<8x8xf16, #s, #smem>|scf.yield |loc(|#loc1|callsite(| at |{|}|})| -> | :
|ttg.local_alloc |tt.load |ttg.convert_layout |arith.muli |arith.constant dense<|4096|-1|^bb0(|module {
|order = [0]
""".replace("\n|", "|").split("|")


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join))
@example("scf.for {\n}")
@example("tt.load %0 : tensor<8x!tt.ptr<f32>, #a>")
def test_pieces_of_a_module(text):
    answered(text)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000 + "\ntt.return\n" * 1000,
        "{\n" * 50_000 + "tt.return\n" * 50_000,
        "tt.return " + "tensor<" * 50_000,
        "tt.return " + "tensor<8xf32, #a>" * 20_000,
        "tt.return " + "%0, " * 100_000,
        "tt.return " + "(" * 200_000 + " loc(" * 10_000 + ")" * 10_000,
        "\n".join(f"#a{n} = #ttg.slice<{{dim = 0, parent = #a{n - 1}}}>" for n in range(2_000))
        + "\ntt.return %0 : tensor<8xf32, #a1999>",
        "#loc1 = loc(fused[#loc1, #loc1])\n" + "tt.return loc(#loc1)\n" * 1_000 + "tt.func @f() {\n",
        "\n".join(f"%{n} = ttg.memdesc_index %{n - 1}[%c] : i32" for n in range(1, 20_000)),
        "%0 = ttg.local_alloc : () -> !ttg.memdesc<8xf16, #s, #smem>\n" * 5_000,
        "".join(
            f"%{n} = arith.{op} %{n - 1}, %{n - 1} : i32\n"
            for n in range(1, 5_000)
            for op in ("muli", "shli")
        ),
        "%9:9999 = arith.addi %0, %0 : i32\n" * 20,
        "tt.return " + "1" * 100_000,
        "#a = #ttg.blocked<{order = [" + "[" * 100_000,
        "module attributes {" + '"' * 100_001 + "\ntt.return",
    ],
    ids=range(15),
)
def test_hostile_texts_are_answered_soon(text):
    start = time.process_time()
    answered(text)
    assert time.process_time() - start < 3


OLD = """\
#blocked = #triton_gpu.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], \
order = [1, 0], CTAsPerCGA = [1, 1], CTASplitNum = [1, 1], CTAOrder = [1, 0]}>
#shared = #triton_gpu.shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], hasLeadingOffset = true}>
module attributes {"triton_gpu.num-warps" = 4 : i32, triton_gpu.target = "cuda:80"} {
  %1 = triton_gpu.local_alloc %0 : (tensor<64x64xf16, #blocked>) -> !tt.memdesc<64x64xf16, #shared>
  %2 = triton_gpu.local_load %1 : !tt.memdesc<64x64xf16, #shared> -> tensor<64x64xf16, #blocked>
  %3 = triton_gpu.convert_layout %2 : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #blocked>
}
"""


def test_the_names_of_older_tritons_are_read():
    module = module_of(OLD, triton="3.1")
    assert (module.target, module.unknown) == ("cuda:80", {})
    assert [one.kind for one in module.conversions()] == ["renamed"]
    assert [(own.swizzle, len(own.readers)) for own in module.buffers()] == [("Swizzle<3,3,3>", 1)]
    assert [access.width for access in module.accesses()] == [16, 16]
