"""Accesses: widths and counts, held against lists of every address."""

from __future__ import annotations

from random import Random

import pytest

from tilewise import LayoutError
from tilewise.check.banks import counted as bank_request
from tilewise.check.coalesce import counted as sector_request
from tilewise.compiled.ttgir.accesses import MOST_PLACES
from tilewise.compiled.ttgir.module import module_of

BLOCKED = (
    "#b = #ttg.blocked<{{sizePerThread = [1, {each}], threadsPerWarp = [{rows}, {columns}], "
    "warpsPerCTA = [4, 1], order = [1, 0]}}>\n"
)
MODULE = """\
#m = #ttg.shared_memory
module attributes {{"ttg.num-warps" = 4 : i32, ttg.target = "{target}", "ttg.threads-per-warp" = 32 : i32}} {{
"""


def held(layout):
    """{warp: {register: {lane: flat index}}} of a tensor's layout."""
    found = {}
    for index in range(layout.size):
        for place in layout.places(index):
            own = {axis: int(place[axis]) for axis in ("warpid", "reg", "laneid")}
            found.setdefault(own["warpid"], {}).setdefault(own["reg"], {})[own["laneid"]] = index
    return found


# -- shared memory --------------------------------------------------------------------------------------


def shared_module(each, rows, buffer, operation="ttg.local_load", target="cuda:90"):
    memory, tensor = "!ttg.memdesc<64x64xf16, #s, #m, mutable>", "tensor<64x64xf16, #b>"
    types = f"{memory} -> {tensor}" if operation.endswith("load") else f"{tensor} -> {memory}"
    blocked = BLOCKED.format(each=each, rows=rows, columns=32 // rows)
    return module_of(f"{blocked}#s = {buffer}\n{MODULE.format(target=target)}{operation} %0, %1 : {types}\n")


def drawn_buffer(random):
    vector, per_phase, phases = (1 << random.randint(0, 3) for _ in range(3))
    order = random.choice(([1, 0], [0, 1]))
    if random.random() < 0.3:
        return "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"
    keys = f"vec = {vector}, perPhase = {per_phase}, maxPhase = {phases}, order = {order}"
    return f"#ttg.swizzled_shared<{{{keys}}}>"


def test_wavefronts_are_those_of_all_addresses(times):
    random, wide = Random(1), set()
    for _ in range(times(60)):
        operation = random.choice(("ttg.local_load", "ttg.local_store"))
        each, rows = 1 << random.randint(0, 3), 1 << random.randint(0, 5)
        module = shared_module(each, rows, drawn_buffer(random), operation, "cuda:70")
        (access,) = module.accesses()
        tensor, buffer = (use.type.layout for use in sorted(module.layouts(), key=lambda use: use.name))
        places = [2 * int(buffer.places(index)[0]["m"]) for index in range(buffer.size)]
        wavefronts = ideal = requests = 0
        for registers in held(tensor).values():
            first = [
                register
                for register, lanes in registers.items()
                if all(places[index] % access.width == 0 for index in lanes.values())
            ]
            assert len(first) * access.width == 2 * len(registers)
            for register in first:
                addresses = [places[registers[register][lane]] for lane in range(32)]
                filled = {at + byte for at in addresses for byte in range(0, access.width, 2)}
                own = {places[registers[other][lane]] for other in registers for lane in range(32)}
                assert filled <= own
                request = bank_request(access.instruction, access.width, addresses)
                wavefronts, ideal = wavefronts + request.wavefronts, ideal + request.ideal
                requests += 1
        assert access.counts == {"wavefronts": wavefronts, "ideal": ideal}
        assert access.requests == requests
        wide.add(access.width)
    assert {2, 16} <= wide


@pytest.mark.parametrize(
    ("target", "operation", "instruction"),
    [
        ("cuda:90", "ttg.local_load", "ldmatrix"),
        ("cuda:90", "ttg.local_store", "stmatrix"),
        ("cuda:80", "ttg.local_store", "st"),
        ("cuda:70", "ttg.local_load", "ld"),
        ("hip:gfx942", "ttg.local_load", "ld"),
    ],
)
def test_matrices_are_moved_where_there_is_an_instruction(target, operation, instruction):
    rows = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
    (access,) = shared_module(2, 8, rows, operation, target=target).accesses()
    assert access.instruction == instruction
    nvidia, matrix = target.startswith("cuda"), "matrix" in instruction
    assert access.width == (16 if matrix else 4)
    assert access.counts == ({"wavefronts": 64, "ideal": 64} if nvidia else None)
    assert bool(access.reason) == (not nvidia)
    assert access.requests == (16 if matrix else 64)


def test_a_padded_buffer_has_vectors_no_wider_than_its_paddings():
    padded = "#ttg.padded_shared<[64:+2] {order = [1, 0], shape = [64, 64]}>"
    (access,) = shared_module(8, 4, padded, target="hip:gfx942").accesses()
    assert access.width == 4
    assert "are not counted here" in access.reason


def test_what_is_no_access_of_a_buffer_says_why():
    row = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
    text = BLOCKED.format(each=1, rows=32, columns=1) + f"#s = {row}\n" + MODULE.format(target="cuda:90")
    cases = {
        "!ttg.memdesc<32x64xf16, #s, #m> -> tensor<64x64xf16, #b>": "no part of the buffer",
        "!ttg.memdesc<64x64xf16, #s, #m> -> tensor<64x64xf16, #strange>": "#strange",
        "!ttg.memdesc<64x64xf16, #strange, #m> -> tensor<64x64xf16, #b>": "#strange",
        "!ttg.memdesc<64x64xf4E2M1FN, #s, #m> -> tensor<64x64xf4E2M1FN, #b>": "4 bits",
        "!ttg.memdesc<4096x4096xf16, #s, #m> -> tensor<4096x4096xf16, #b>": "too many",
    }
    for types, why in cases.items():
        (access,) = module_of(f"{text}%0 = ttg.local_load %1 : {types}\n").accesses()
        assert why in access.reason
        assert access.counts is None


# -- global memory --------------------------------------------------------------------------------------


KERNEL = """\
tt.func @f(%p: !tt.ptr<{element}> {{tt.divisibility = 16 : i32}}, %n: i32{n}, %k: i32{k}) {{
%m = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32, #down>
%c = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32, #along>
%m1 = tt.expand_dims %m {{axis = 1 : i32}} : tensor<64xi32, #down> -> tensor<64x1xi32, #b>
%c1 = tt.expand_dims %c {{axis = 0 : i32}} : tensor<64xi32, #along> -> tensor<1x64xi32, #b>
%s = tt.splat %n : i32 -> tensor<64x1xi32, #b>
%r = arith.muli %m1, %s : tensor<64x1xi32, #b>
%x = tt.splat %p : !tt.ptr<{element}> -> tensor<64x1x!tt.ptr<{element}>, #b>
%y = tt.addptr %x, %r : tensor<64x1x!tt.ptr<{element}>, #b>, tensor<64x1xi32, #b>
%z = tt.broadcast %y : tensor<64x1x!tt.ptr<{element}>, #b> -> tensor<64x64x!tt.ptr<{element}>, #b>
%w = tt.broadcast %c1 : tensor<1x64xi32, #b> -> tensor<64x64xi32, #b>
%a = tt.addptr %z, %w : tensor<64x64x!tt.ptr<{element}>, #b>, tensor<64x64xi32, #b>
%kk = tt.splat %k : i32 -> tensor<1x64xi32, #b>
%i = arith.cmpi {compare}, %c1, %kk : tensor<1x64xi32, #b>
%mask = tt.broadcast %i : tensor<1x64xi1, #b> -> tensor<64x64xi1, #b>
"""
SLICES = """\
#down = #ttg.slice<{dim = 1, parent = #b}>
#along = #ttg.slice<{dim = 0, parent = #b}>
"""
BY_16 = " {tt.divisibility = 16 : i32}"


def kernel(access, each=8, rows=4, *, element="f16", n=BY_16, k=BY_16, compare="slt", target="cuda:90"):
    head = BLOCKED.format(each=each, rows=rows, columns=32 // rows) + SLICES + MODULE.format(target=target)
    body = KERNEL.format(element=element, n=n, k=k, compare=compare)
    return module_of(f"{head}{body}{access} : tensor<64x64x!tt.ptr<{element}>, #b>\n")


@pytest.mark.parametrize(
    ("asked", "width"),
    [
        ({}, 16),
        ({"element": "f32", "each": 4}, 16),
        ({"element": "f32", "each": 2}, 8),
        ({"each": 1}, 2),
        ({"n": ""}, 2),
        ({"n": " {tt.divisibility = 4 : i32}"}, 8),
        ({"access": "%v = tt.load %a, %mask"}, 16),
        ({"access": "%v = tt.load %a, %mask", "compare": "sge"}, 16),
        ({"access": "%v = tt.load %a, %mask", "compare": "sle"}, 2),
        ({"access": "%v = tt.load %a, %mask", "compare": "eq"}, 2),
        ({"access": "%v = tt.load %a, %mask", "k": ""}, 2),
        ({"access": "%v = tt.load %a, %mask", "k": " {tt.divisibility = 4 : i32}"}, 8),
        ({"access": "tt.store %a, %v, %mask", "k": ""}, 2),
        ({"access": "tt.store %a, %v"}, 16),
    ],
)
def test_a_vector_is_as_wide_as_what_is_promised(asked, width):
    (access,) = kernel(**{"access": "%v = tt.load %a", **asked}).accesses()
    assert (access.width, access.reason) == (width, "")


def test_a_longer_step_of_a_loop_counts():
    for step, width in ((64, 16), (4, 8), (1, 2)):
        body = f"""\
%st = arith.constant dense<{step}> : tensor<64x64xi32, #b>
%o = arith.constant 0 : i32
%q = scf.for %j = %o to %n step %k iter_args(%b = %a) -> (tensor<64x64x!tt.ptr<f16>, #b>)  : i32 {{
%next = tt.addptr %b, %st : tensor<64x64x!tt.ptr<f16>, #b>, tensor<64x64xi32, #b>
scf.yield %next : tensor<64x64x!tt.ptr<f16>, #b>
%v = tt.load %b"""
        # the load stands after the yield, where nothing but its name matters
        (access,) = kernel(body).accesses()
        assert (access.width, access.loops) == (width, 1)


def test_sectors_are_those_of_all_addresses(times):
    random = Random(2)
    for _ in range(times(30)):
        n, k = 16 * random.randint(1, 20), 16 * random.randint(0, 5)
        each, rows = 1 << random.randint(0, 3), 1 << random.randint(0, 5)
        module = kernel("%v = tt.load %a, %mask", each, rows)
        (access,) = module.accesses({"n": n, "k": k})
        (layout,) = (use.type.layout for use in module.layouts() if use.type.text == access.type.text)
        sectors = ideal = requests = 0
        for registers in held(layout).values():
            for first in range(0, len(registers), access.width // 2):
                indices = [divmod(registers[first][lane], 64) for lane in range(32)]
                addresses = [2 * (row * n + column) if column < k else None for row, column in indices]
                request = sector_request("ld", access.width, addresses)
                sectors, ideal, requests = sectors + request.sectors, ideal + request.ideal, requests + 1
        assert access.counts == {"sectors": sectors, "ideal": ideal}
        assert access.requests == requests


def test_a_row_of_a_matrix_far_wider_than_the_tile():
    coalesced, scattered = (kernel("tt.store %a, %v", each, rows) for each, rows in ((8, 4), (2, 32)))
    assert coalesced.accesses()[0].counts == {"sectors": 256, "ideal": 256}
    assert scattered.accesses()[0].counts == {"sectors": 512, "ideal": 256}


def test_arguments_are_named_and_divided():
    module = kernel("%v = tt.load %a")
    assert module.accesses({"n": 64})[0].counts == {"sectors": 256, "ideal": 256}
    refusals = [
        ({"what": 1}, "TW007"),
        ({"p": 16}, "TW007"),
        ({"n": 24}, "TW401"),
        ({"n": 16 << 60}, "TW401"),
    ]
    for let, code in refusals:
        with pytest.raises(LayoutError) as refused:
            module.accesses(let)
        assert refused.value.code == code


def test_addresses_that_depend_on_memory_are_unknown():
    body = """\
%t = tt.load %z : tensor<64x64x!tt.ptr<f16>, #b>
%u = tt.addptr %a, %t : tensor<64x64x!tt.ptr<f16>, #b>, tensor<64x64xi32, #b>
%v = tt.load %u"""
    known, unknown = kernel(body).accesses()
    assert known.counts
    assert (unknown.counts, unknown.width) == (None, 0)
    assert "depend on memory" in unknown.reason


def test_sectors_of_other_machines_are_not_counted():
    (access,) = kernel("%v = tt.load %a", target="hip:gfx1100").accesses()
    assert (access.width, access.counts) == (16, None)
    assert "gfx1100" in access.reason


def test_copies_are_stored_once():
    text = """\
#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {ttg.target = "cuda:90"} {
tt.func @f(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
%r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32, #b>
%s = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>, #b>
%a = tt.addptr %s, %r : tensor<16x!tt.ptr<f32>, #b>, tensor<16xi32, #b>
%v = tt.load %a : tensor<16x!tt.ptr<f32>, #b>
tt.store %a, %v : tensor<16x!tt.ptr<f32>, #b>
"""
    load, store = module_of(text).accesses()
    assert (load.requests, load.counts) == (4, {"sectors": 8, "ideal": 8})
    assert (store.requests, store.counts) == (1, {"sectors": 2, "ideal": 2})


def test_too_many_places_are_not_listed():
    body = "\n".join(f"%v{n} = tt.load %a : tensor<64x64x!tt.ptr<f16>, #b>" for n in range(1 << 10))
    found = kernel(body + "\n%v = tt.load %a").accesses()
    assert {bool(access.counts) for access in found} == {True, False}
    assert found[0].counts
    assert "too many" in found[-1].reason
    assert MOST_PLACES >= 4096
