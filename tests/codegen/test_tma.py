"""The calls for TMA, compiled: the host's against the driver's prototype, the device's by CUDA's compiler."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.codegen import nvrtc

from tilewise import LayoutError
from tilewise.check.tma import Plan, default_tile, plan_copy
from tilewise.codegen.tma import copy_calls, encode_call
from tilewise.hardware.modes import MODES
from tilewise.hardware.tma.tensor_map import TensorMap
from tilewise.hardware.tma.types import ELEMENT_TYPES, FILLS, INTERLEAVES, L2_PROMOTIONS, SWIZZLE_VALUES

MAPS = [
    TensorMap.of("bf16", (4096, 4096), (128, 64), mode="128B"),
    TensorMap.of("f32", (8,), (8,)),
    TensorMap.of("u8", (2, 1 << 32, 64), (1, 256, 32), mode="32B", l2="none", element_strides=(1, 2, 1)),
    TensorMap.of("f64", (3, 4, 5, 6, 8), (1, 1, 2, 3, 2), fill="nan", interleave="16B", l2="256B"),
    TensorMap.of("FLOAT32_FTZ", (1 << 20, 1 << 20), (8, 16), mode="64B"),
]

HEADER = """\
#include <cstdint>
#include <cstdio>
typedef uint64_t cuuint64_t; typedef uint32_t cuuint32_t;
struct alignas(64) CUtensorMap {{ cuuint64_t opaque[16]; }};
enum CUresult {{ CUDA_SUCCESS }};
{enums}
static void list(const char* name, const auto* numbers, unsigned count) {{
    printf("\\"%s\\": [", name);
    for (unsigned i = 0; i < count; ++i) printf(i ? ", %llu" : "%llu", (unsigned long long)numbers[i]);
    printf("], ");
}}
CUresult cuTensorMapEncodeTiled(CUtensorMap*, CUtensorMapDataType type, cuuint32_t rank, void*,
    const cuuint64_t* dim, const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* steps,
    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
    CUtensorMapFloatOOBfill fill) {{
    printf("{{\\"tensorDataType\\": %d, \\"tensorRank\\": %u, ", type, rank);
    list("globalDim", dim, rank); list("globalStrides", strides, rank - 1);
    list("boxDim", box, rank); list("elementStrides", steps, rank);
    printf("\\"interleave\\": %d, \\"swizzle\\": %d, \\"l2Promotion\\": %d, \\"oobFill\\": %d}}\\n",
        interleave, swizzle, l2, fill);
    return CUDA_SUCCESS;
}}
"""
"""The declarations of the driver's header, from the same tables, and a function that prints its arguments."""


def header() -> str:
    enums = {
        "CUtensorMapDataType": {row.name: row.value for row in ELEMENT_TYPES.values()},
        "CUtensorMapInterleave": dict(INTERLEAVES.values()),
        "CUtensorMapSwizzle": {mode.tma_name: SWIZZLE_VALUES[name] for name, mode in MODES.items()},
        "CUtensorMapL2promotion": dict(L2_PROMOTIONS.values()),
        "CUtensorMapFloatOOBfill": dict(FILLS.values()),
    }
    spelled = (
        f"enum {name} {{ {', '.join(f'{key} = {value}' for key, value in rows.items())} }};"
        for name, rows in enums.items()
    )
    return HEADER.format(enums="\n".join(spelled))


def test_the_host_s_call_passes_every_argument_in_its_place(tmp_path: Path) -> None:
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler is None:
        pytest.skip("there is no C++ compiler on this machine")
    calls = [f"{{\n{encode_call(made)}\n(void)map_made;\n}}" for made in MAPS]
    source = header() + "int main() {\nvoid* global = nullptr;\n" + "\n".join(calls) + "\n}\n"
    (tmp_path / "calls.cpp").write_text(source, encoding="utf-8")
    command = [compiler, "-std=c++20", "-Wall", "-Werror", "-o", "calls", "calls.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "calls"], capture_output=True, text=True, check=True).stdout
    assert [json.loads(line) for line in said.splitlines()] == [made.numbers for made in MAPS]


def plans() -> list[Plan]:
    shapes = [
        ((512,), (64,)),
        ((64, 512), (8, 128)),
        ((4, 64, 512), (2, 8, 64)),
        ((4, 8, 64, 512), (1, 2, 8, 128)),
    ]
    tiles = [(shape, default_tile(shape, tile, "bf16", "128B")) for shape, tile in shapes]
    return [
        plan_copy(shape, tile, dtype="bf16", at=(-8,) * len(shape) if len(shape) == 2 else None)
        for shape, tile in tiles
    ]


@pytest.mark.slow
def test_the_device_s_copies_are_compiled() -> None:
    library = nvrtc.load()
    if library is None:
        pytest.skip("there is no NVRTC on this machine; make .venv/ready-for-cuda")
    assert isinstance(library, ctypes.CDLL)
    source = "struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };\n"
    for number, plan in enumerate(plans()):
        body = copy_calls(plan)
        source += (
            f"__global__ void copy_{number}("
            "const __grid_constant__ CUtensorMap map, unsigned tile, unsigned bar)"
            f"\n{{\n{body}\n}}\n"
        )
    ptx = nvrtc.compile_to_ptx(library, source, "--gpu-architecture=sm_90a")
    assert ptx.count("cp.async.bulk.tensor.") == sum(plan.count for plan in plans())
    assert sorted({plan.tensor_map.rank for plan in plans()}) == [1, 2, 3, 5]
    assert ptx.count("expect_tx") == len(plans())


@pytest.mark.slow
def test_the_device_s_stores_are_compiled() -> None:
    library = nvrtc.load()
    if library is None:
        pytest.skip("there is no NVRTC on this machine; make .venv/ready-for-cuda")
    source = "struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };\n"
    for number, plan in enumerate(plans()):
        parameters = "const __grid_constant__ CUtensorMap map, unsigned tile"
        source += f"__global__ void store_{number}({parameters})\n{{\n{copy_calls(plan, stores=True)}\n}}\n"
    ptx = nvrtc.compile_to_ptx(library, source, "--gpu-architecture=sm_90a")
    stores = re.findall(r"cp\.async\.bulk\.tensor\.\dd\.global\.shared::cta\.bulk_group \[", ptx)
    assert len(stores) == sum(plan.count for plan in plans())
    assert ptx.count("fence.proxy.async.shared::cta") == ptx.count("commit_group") == len(plans())
    assert ptx.count("cp.async.bulk.wait_group.read \t0;") + ptx.count("wait_group.read 0;") == len(plans())
    assert "mbarrier" not in ptx


def test_every_box_is_stored_from_its_byte_to_its_coordinates() -> None:
    (plan,) = [plan for plan in plans() if plan.count == 2]
    fence, first, second, commit, wait = copy_calls(plan, "a", stores=True).split("asm volatile")[1:]
    assert "fence.proxy.async" in fence
    assert f'"l"(&a), {_given(plan, 0)}, "r"(tile) :' in first
    assert f'"l"(&a), {_given(plan, 1)}, "r"(tile + {plan.boxes[1].start}) :' in second
    assert ("commit_group" in commit, "wait_group.read 0" in wait) == (True, True)


def test_every_box_is_copied_from_its_coordinates_to_its_byte() -> None:
    (plan,) = [plan for plan in plans() if plan.count == 2]
    text = copy_calls(plan, "a")
    assert f'"r"(tile), "l"(&a), {_given(plan, 0)}' in text
    assert f'"r"(tile + {plan.boxes[1].start}), "l"(&a), {_given(plan, 1)}' in text


def _given(plan: Plan, box: int) -> str:
    return ", ".join(f'"r"({coordinate})' for coordinate in plan.boxes[box].coordinates)


def test_a_name_is_one_of_c() -> None:
    with pytest.raises(LayoutError, match="no name"):
        encode_call(MAPS[0], "a b")
