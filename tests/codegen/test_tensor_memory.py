"""Loads and stores of tensor memory as code: run in the model as they are written, and assembled."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.codegen import nvrtc

from tilewise import LayoutError, parse
from tilewise.check.tensor_memory import plan
from tilewise.codegen.tensor_memory import cuda_source
from tilewise.hardware.catalog import find
from tilewise.hardware.tcgen05.datapaths import DATA_PATHS
from tilewise.simulate.registers import Registers
from tilewise.simulate.tensor_memory import TensorMemory, ld, st

FUNCTION = re.compile(
    r"void (\w+)\(unsigned d, unsigned warp, (?:const )?unsigned \(&(?:to|from)\)\[(\d+)\]\)"
)
INSTRUCTION = re.compile(
    r'"tcgen05\.(ld|st)\.sync\.aligned\.(\w+)\.x(\d+)(\.(?:un)?pack::16b)?\.b32 (.*);\\n"'
)


BEGINNING = re.compile(r"const unsigned at = d \+ (.*);")


def functions(source):
    """[(name, registers, its instructions, its operands)] of a source, as they are written."""
    for part in re.split(r"(?=__device__)", re.sub(r'(?<!\\n)"\n +"', "", source))[1:]:
        name, count = FUNCTION.search(part).groups()
        slots = [int(at) for at in re.findall(r'"=?r"\((?:to|from)\[(\d+)\]\)', part)]
        places = [int(more or "0", 16) for more in re.findall(r'"r"\(at(?: \+ (0x[0-9a-f]+))?\)', part)]
        moves = []
        for verb, form, repeat, packed, text in INSTRUCTION.findall(part):
            held = [int(at) for at in re.findall(r"%(\d+)", re.search(r"\{(.*)\}", text)[1])]
            address = int(re.search(r"\[%(\d+)\]", text)[1])
            split = re.search(r"\], (\d+)", text)
            first = len(places) if verb == "st" else 0
            where = places[address if verb == "st" else address - len(slots)]
            own = [slots[at - first] for at in held]
            moves.append((verb, form, int(repeat), bool(packed), where, split and int(split[1]), own))
        yield name, int(count), moves


def run(source, memory, warps=range(4), registers=None):
    """Run the functions, warp by warp; return the registers of loads [function, warp, lane, register]."""
    found = []
    begins = BEGINNING.search(source)[1].replace("/", "//")
    for _, count, moves in functions(source):
        words = np.zeros((max(warps) + 1, 32, count), np.uint32)
        for warp in warps:
            for verb, form, repeat, packed, where, split, own in moves:
                more = {"packed": packed, "split": split, "warp": warp}
                address = eval(begins, {"warp": warp}) + where  # the expression as it is written
                if verb == "ld":
                    words[warp][:, own] = ld(memory, form, repeat, address, **more).words[0]
                else:
                    given = Registers.of(registers.words[warp][:, own])
                    st(memory, form, repeat, address, given, **more)
        found.append(words)
    return found


CASES = [
    (path, slab, dtype)
    for path in DATA_PATHS.values()
    if path.cta_group == 1
    for slab in path.slabs
    for dtype in ("f32", "f16")
]


@pytest.mark.parametrize(("path", "slab", "dtype"), CASES)
def test_code_does_what_the_plan_says(path, slab, dtype):
    layout = path.accumulator(48 if path.folds == 1 else 64, 2 if dtype == "f16" else 1, slab)
    rng = np.random.default_rng(1)
    numbers = rng.integers(-8, 8, [int(np.prod(mode)) for mode in layout.shape]).astype(float)
    memory = TensorMemory(64)
    memory.put(numbers, layout, dtype)
    for one in plan(layout, dtype).ways:
        found = plan(layout, dtype, form=one.form, to=one.fragment)
        (words,) = run(cuda_source(found), memory)
        assert (Registers.of(words).numbers(one.fragment, dtype) == numbers).all()
    for one in plan(layout, dtype, store=True).ways:
        found, empty = plan(layout, dtype, form=one.form, to=one.fragment, store=True), TensorMemory(64)
        run(cuda_source(found), empty, registers=Registers.holding(numbers, one.fragment, dtype))
        assert (empty.take(layout, dtype) == numbers).all()


def test_registers_are_those_of_the_wanted_fragment():
    layout, to = find("tcgen05.D")("f32", m=128, n=16).layout, parse("S[(128, 16) : (1@tx, -1@reg)] + 17@reg")
    memory, numbers = TensorMemory(32), np.arange(128 * 16).reshape(128, 16).astype(float)
    memory.put(numbers, layout, "f32")
    (words,) = run(cuda_source(plan(layout, "f32", to=to)), memory)
    assert words.shape == (4, 32, 18)
    assert (Registers.of(words).numbers(to, "f32") == numbers).all()


SHARED = [
    (
        "S[(128, 32) : (1@TLane, 1@TCol)]",
        "S[(128, (2, 16)) : (1@tx, (128@tx, 1@reg))]",
        "(warp % 4 << 21) + warp / 4 * 0x10",
    ),
    (
        "S[(128, 64) : (1@TLane, 1@TCol)]",
        "S[(128, (2, 2, 16)) : (1@tx, (128@tx, 256@tx, 1@reg))]",
        "(warp % 4 << 21) + warp / 4 % 2 * 0x20 + warp / 4 / 2 * 0x10",
    ),
    (
        "S[(128, 32) : (1@TLane, 1@TCol)]",
        "S[((4, 2, 2, 8), (4, 4, 2)) : ((32@tx, 128@tx, 2@reg, 4@tx), (4@reg, 1@tx, 1@reg))]",
        "(warp % 4 << 21) + warp / 4 * 0x100000",
    ),
    (
        "S[(128, 32) : (1@TLane, 1@TCol)]",
        "S[(128, (2, 16)) : (1@tx, (128@tx, 1@reg))] + 128@tx",
        "(warp % 4 << 21) + (warp / 4 - 1) * 0x10",
    ),
    (
        "S[(128, 32) : (1@TLane, 1@TCol)] + 8@TCol",
        "S[(128, (2, 16)) : (1@tx, (256@tx, 1@reg))] + 384@tx",
        "(warp % 4 << 21) + (warp / 4 - 3) / 2 * 0x10",
    ),
]


@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize(("held", "to", "begins"), SHARED)
def test_warpgroups_begin_at_their_own_columns(held, to, begins, store):
    layout, wanted = parse(held), parse(to)
    numbers = np.arange(layout.size).reshape([int(np.prod(mode)) for mode in layout.shape])
    source = cuda_source(plan(layout, "f32", to=wanted, store=store))
    assert f"const unsigned at = d + {begins};" in source
    assert "its number in the block: threadIdx.x / 32; warp % 4 says its lanes" in source
    warps = sorted({place["tx"] // 32 for flat in range(wanted.size) for place in wanted.places(flat)})
    memory = TensorMemory(64)
    if store:
        run(source, memory, warps, Registers.holding(numbers, wanted, "f32"))
        assert (memory.take(layout, "f32") == numbers).all()
    else:
        memory.put(numbers, layout, "f32")
        (words,) = run(source, memory, warps)
        assert (Registers.of(words).numbers(wanted, "f32") == numbers).all()


def test_a_warpgroup_that_is_not_the_first():
    d = parse("S[(128, 32) : (1@TLane, 1@TCol)]")
    alone = cuda_source(plan(d, "f32", to=parse("S[(128, 32) : (1@tx, 1@reg)] + 128@tx")))
    assert "const unsigned at = d + (warp << 21);" in alone


def test_warps_of_a_warpgroup_in_between_are_not_among_those_that_load():
    d, to = parse("S[(128, 32) : (1@TLane, 1@TCol)]"), parse("S[(128, (2, 16)) : (1@tx, (256@tx, 1@reg))]")
    said = "// warp is 0 to 3, 8 to 11, its number in the block"
    assert said in cuda_source(plan(d, "f32", to=to))


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("S[(64, 32) : (1@tx, 1@reg)] + 64@tx", "// warp is 2 to 3, its number in the warpgroup"),
        ("S[(64, (2, 16)) : (1@tx, (128@tx, 1@reg))] + 64@tx", "// warp is 2 to 3, 6 to 7, its number in"),
    ],
)
def test_warps_without_elements_do_not_call_it(to, said):
    """A store of theirs would write what no element has."""
    upper = parse("S[(64, 32) : (1@TLane, 1@TCol)] + 64@TLane")
    for store in (False, True):
        assert said in cuda_source(plan(upper, "f32", to=parse(to), store=store))


def test_rounds_are_functions_of_their_own():
    layout = find("tcgen05.D")("f32", m=128, n=256).layout
    memory, numbers = TensorMemory(), np.arange(128 * 256).reshape(128, 256).astype(float)
    memory.put(numbers, layout, "f32")
    source = cuda_source(plan(layout, "f32", form="16x256b"), "epilogue")
    assert [(name, count) for name, count, _ in functions(source)] == [
        ("epilogue_0", 128),
        ("epilogue_1", 128),
    ]
    words = np.concatenate(run(source, memory), axis=2)
    fragment = plan(layout, "f32", form="16x256b").best.fragment
    assert (Registers.of(words).numbers(fragment, "f32") == numbers).all()


@pytest.mark.parametrize("store", [False, True])
def test_no_instruction_is_on_a_line_too_long(store):
    """Literals side by side are one: the words are those of the instruction, unbroken."""
    source = cuda_source(plan(find("tcgen05.D")("f32", m=128, n=128), form="32x32b", store=store))
    columns = parse("S[(128, 252) : (1@TLane, 1@TCol)]")
    many = cuda_source(plan(columns, "f32", form="16x64b", store=store))
    assert len(re.findall("0x00100", many)) == 6
    lines = [line for line in (source + many).splitlines() if not line.startswith("//")]
    assert max(map(len, lines)) <= 100
    text = "".join(re.findall(r'^ +"(.*?)"$', source, re.MULTILINE))
    names = ", ".join(f"%{at + store}" for at in range(128))
    place = "[%0]" if store else "[%128]"
    operands = f"{place}, {{{names}}}" if store else f"{{{names}}}, {place}"
    verb = "st" if store else "ld"
    wait = f"tcgen05.wait::{verb}.sync.aligned;"
    assert text == rf"tcgen05.{verb}.sync.aligned.32x32b.x128.b32 {operands};\n{wait}"


def test_what_is_not_there():
    with pytest.raises(LayoutError, match="nothing moves it"):
        cuda_source(plan(parse("S[(128, 2, 8) : (1@TLane, 16@TCol, 1@TCol)]"), "f32", store=True))
    with pytest.raises(LayoutError, match="a function"):
        cuda_source(plan(parse("S[(128, 8) : (1@TLane, 1@TCol)]"), "f32"), "no name")


@pytest.mark.slow
def test_it_is_assembled():
    library = nvrtc.load(13)
    if library is None:
        pytest.skip("there is no NVRTC 13 on this machine; make .venv/ready-for-cuda")
    calls, parts = [], []
    each = "for (int i = 0; i < {n}; ++i)"
    call = f"unsigned r[{{n}}]; {each} r[i] = out[i]; {{name}}(d, threadIdx.x / 32, r); {each} out[i] = r[i];"
    for path in (DATA_PATHS["D"], DATA_PATHS["F"]):
        for store in (False, True):
            for n, step in ((256, 1), (64, 2)):
                layout, dtype = path.accumulator(n, step), "f32" if step == 1 else "f16"
                for way in plan(layout, dtype, store=store).ways:
                    name = f"move{len(parts)}"
                    source = cuda_source(
                        plan(layout, dtype, form=way.form, to=way.fragment, store=store), name
                    )
                    parts.append(source)
                    calls += [call.format(name=called, n=count) for called, count, _ in functions(source)]
    for held, to, _ in SHARED:
        for store in (False, True):
            source = cuda_source(plan(parse(held), "f32", to=parse(to), store=store), f"move{len(parts)}")
            parts.append(source)
            calls += [call.format(name=called, n=count) for called, count, _ in functions(source)]
    source = "\n".join(parts)
    kernels = [
        f"__global__ void kernel{at}(unsigned d, unsigned *out) {{ {call} }}" for at, call in enumerate(calls)
    ]
    code, said = nvrtc.compile_to_cubin(
        library, source + "\n" + "\n".join(kernels), "--gpu-architecture=sm_100a"
    )
    assert code.startswith(b"\x7fELF")
    assert said == ""
    assert len(calls) > 50
