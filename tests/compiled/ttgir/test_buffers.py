"""Buffers: bytes, swizzles, who writes and reads them under which names, and whether engines can."""

from __future__ import annotations

import pytest
from tests.compiled.ttgir.recorded import recorded

from tilewise.compiled.ttgir.module import module_of

DUMPS = recorded("dumps")
HEAD = """\
#s = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#p = #ttg.padded_shared<[64:+8] {order = [1, 0], shape = [64, 64]}>
#row = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#m = #ttg.shared_memory
module {
"""
OF = "64x64xf16, {}, #m, mutable>"


def buffers(body):
    return module_of(HEAD + body).buffers()


def alloc(name, encoding="#s", extents="64x64"):
    return f"{name} = ttg.local_alloc : () -> !ttg.memdesc<{extents}xf16, {encoding}, #m, mutable>\n"


def test_bytes_and_swizzles():
    found = buffers(alloc("%0") + alloc("%1", "#p") + alloc("%2", "#row") + alloc("%3", "#s", "3x64x64"))
    assert [own.bytes for own in found] == [8192, 2 * (4096 + 8 * 63), 8192, 3 * 8192]
    assert [own.swizzle for own in found] == ["Swizzle<3,3,3>", "", "", "Swizzle<3,3,3>"]


def test_paddings_that_are_not_read_leave_the_bytes_of_the_elements():
    text = HEAD.replace("[64:+8]", "[64:+3]") + alloc("%0", "#p")
    (own,) = module_of(text).buffers()
    assert (own.bytes, own.type.layout) == (8192, None)
    assert "64:+3" in own.type.why_not


def test_names_of_a_buffer_are_followed():
    body = (
        alloc("%0", "#s", "2x64x64")
        + f"""\
%1 = ttg.memdesc_index %0[%a] : !ttg.memdesc<2x{OF.format("#s")} -> !ttg.memdesc<{OF.format("#s")}
%2 = ttg.memdesc_index %0[%b] : !ttg.memdesc<2x{OF.format("#s")} -> !ttg.memdesc<{OF.format("#s")}
ttg.local_store %x, %2 : tensor<64x64xf16, #mma> -> !ttg.memdesc<{OF.format("#s")} loc("f.py":1:1)
%3:2 = scf.for %i = %a to %b step %c iter_args(%n = %a, %4 = %1) -> (i32, !ttg.memdesc<{OF.format("#s")}) {{
  %5 = ttg.memdesc_trans %4 : !ttg.memdesc<{OF.format("#s")} -> !ttg.memdesc<{OF.format("#t")}
  %6 = ttg.local_load %5 : !ttg.memdesc<{OF.format("#t")} -> tensor<64x64xf16, #mma> loc("f.py":2:1)
  scf.yield %n, %2 : i32, !ttg.memdesc<{OF.format("#s")}
}}
%7 = ttg.local_load %3#1 : !ttg.memdesc<{OF.format("#s")} -> tensor<64x64xf16, #mma> loc("f.py":3:1)
%8 = arith.select %f, %2, %1 : !ttg.memdesc<{OF.format("#s")}
%9 = ttg.local_load %8 : !ttg.memdesc<{OF.format("#s")} -> tensor<64x64xf16, #mma> loc("f.py":4:1)
ttg.local_dealloc %0 : !ttg.memdesc<2x{OF.format("#s")}
"""
        + alloc("%10")
    )
    one, other = buffers(body)
    assert [use.line.number for use in one.writers] == [1]
    assert [(use.op, use.line.number) for use in one.readers] == [("ttg.local_load", n) for n in (2, 3, 4)]
    assert other.readers == other.writers == ()


def product(a, b):
    types = f"!ttg.memdesc<{OF.format(a)} * !ttg.memdesc<{OF.format(b)} -> tensor<64x64xf32, #mma>"
    return alloc("%0", a) + alloc("%1", b) + f"%2 = ttng.warp_group_dot %0, %1, %c : {types}\n"


@pytest.mark.parametrize(
    ("a", "b", "able", "said"),
    [
        ("#s", "#s", (True, True), ("k-major", "mn-major")),
        ("#t", "#t", (True, True), ("mn-major", "k-major")),
        ("#row", "#s", (False, True), ("", "mn-major")),
    ],
)
def test_engines_say_whether_they_can(a, b, able, said):
    uses = [use for own in buffers(product(a, b)) for use in own.readers]
    assert [(use.engine, use.operand) for use in uses] == [("wgmma", "A"), ("wgmma", "B")]
    assert tuple(use.able for use in uses) == able
    assert all(part in use.said for use, part in zip(uses, said, strict=True))
    assert all(use.said for use in uses)


def test_an_engine_is_not_asked_about_registers():
    operand = "tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>"
    types = f"{operand} * !ttg.memdesc<{OF.format('#s')} -> tensor<64x64xf32, #mma>"
    (own,) = buffers(alloc("%1") + f"%2 = ttng.warp_group_dot %a, %1, %c : {types}\n")
    assert [(use.operand, use.able) for use in own.readers] == [("B", True)]


@pytest.mark.parametrize("name", [name for name in DUMPS if "cuda" in name])
def test_products_of_dumps_can_read_their_operands(name):
    found = module_of(DUMPS[name]["ttgir"]).buffers()
    uses = [use for own in found for use in own.readers if use.engine]
    products = name.split(", ")[0] in ("matmul", "matmul fp8", "attention")
    assert bool(uses) == (products and name.endswith((":90", ":100")))
    assert all(use.able for use in uses)
    assert all(own.writers and own.readers for own in found)


def test_shared_memory_of_dumps_holds_all_buffers():
    """Buffers that live one after the other may share: so this holds of the largest one."""
    for name, dump in DUMPS.items():
        if dump["ptx"]:
            found = [own.bytes for own in module_of(dump["ttgir"]).buffers() if "tmem" not in own.type.name]
            assert max(found, default=0) <= dump["shared"], name
