"""The call of cuTensorMapEncodeTiled as C++, every argument by its name."""

from __future__ import annotations

from collections.abc import Sequence

from tilewise.codegen.parts.template import filled, listed, plus
from tilewise.core.errors import LayoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.tma import Plan
    from tilewise.hardware.tma.tensor_map import TensorMap

ENCODE = """\
alignas(64) CUtensorMap $name;
const cuuint64_t ${name}_globalDim[] = {$dims};
const cuuint64_t ${name}_globalStrides[] = {$strides};  // $which
const cuuint32_t ${name}_boxDim[] = {$box};
const cuuint32_t ${name}_elementStrides[] = {$steps};
CUresult ${name}_made = cuTensorMapEncodeTiled(
    &$name, $tensorDataType, /* tensorRank */ $tensorRank, $address,
    ${name}_globalDim, ${name}_globalStrides, ${name}_boxDim, ${name}_elementStrides,
    $interleave, $swizzle,
    $l2Promotion, $oobFill);"""

EXPECT = """\
asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], ${plan.bytes};" \
:: "r"(bar) : "memory");"""

LOAD = """\
asm volatile("cp.async.bulk.tensor.${rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"
             " [%0], [%1, {$places}], [%$last];"
             :: "r"($start), "l"(&$name), $numbers, "r"(bar) : "memory");"""

FENCE = """\
// what threads wrote is made known to the copy, before one of them issues it
asm volatile("fence.proxy.async.shared::cta;" ::: "memory");"""

STORE = """\
asm volatile("cp.async.bulk.tensor.${rank}d.global.shared::cta.bulk_group"
             " [%0, {$places}], [%$last];"
             :: "l"(&$name), $numbers, "r"($start) : "memory");"""

STORED = """\
asm volatile("cp.async.bulk.commit_group;" ::: "memory");
asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");  // the tile may be written again"""


def encode_call(tensor_map: TensorMap, name: str = "map", address: str = "global") -> str:
    """Return statements that make the map `name` of the tensor at `address`; dimensions are innermost first.

    >>> from tilewise.hardware.tma.tensor_map import TensorMap
    >>> print(encode_call(TensorMap.of("bf16", (4096, 4096), (128, 64), mode="128B")))
    alignas(64) CUtensorMap map;
    const cuuint64_t map_globalDim[] = {4096, 4096};
    const cuuint64_t map_globalStrides[] = {8192};  // bytes; the innermost dimension has none
    const cuuint32_t map_boxDim[] = {64, 128};
    const cuuint32_t map_elementStrides[] = {1, 1};
    CUresult map_made = cuTensorMapEncodeTiled(
        &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, /* tensorRank */ 2, global,
        map_globalDim, map_globalStrides, map_boxDim, map_elementStrides,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    """
    if not name.isidentifier():
        raise LayoutError("TW401", f"{name!r} is no name in C++", hint="letters, digits and _")
    asked = tensor_map.arguments
    slots = asked | {
        "name": name,
        "address": address,
        "dims": _numbers(asked["globalDim"]),
        "strides": _numbers(asked["globalStrides"] or [0]),
        "which": ("bytes; the innermost" if asked["globalStrides"] else "one") + " dimension has none",
        "box": _numbers(asked["boxDim"]),
        "steps": _numbers(asked["elementStrides"]),
    }
    return filled(ENCODE, slots)


def copy_calls(plan: Plan, name: str = "map", *, stores: bool = False) -> str:
    """Return the instructions of the thread that issues a plan, as PTX in C++: expected bytes, and every box.

    `tile` is the 32-bit shared address of the tile, `bar` that of its mbarrier; the map is a parameter of
    the kernel, const __grid_constant__. With `stores` the boxes go out, and one group waits for them.

    >>> from tilewise.check.tma import default_tile, plan_copy
    >>> tile = default_tile((4096, 4096), (128, 64), "bf16", "128B")
    >>> print(copy_calls(plan_copy((4096, 4096), tile, dtype="bf16", at=(256, 64))))
    // tile: shared, a multiple of 1024; 1 box, 16384 bytes
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16384;" :: "r"(bar) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(tile), "l"(&map), "r"(64), "r"(256), "r"(bar) : "memory");
    """
    boxes = "1 box" if plan.count == 1 else f"{plan.count} boxes"
    lines = [f"// tile: shared, a multiple of {plan.alignment}; {boxes}, {plan.bytes} bytes"]
    lines.append(FENCE if stores else filled(EXPECT, {"plan": plan}))
    first = 1 if stores else 2
    for box in plan.boxes:
        rank = len(box.coordinates)
        slots = {
            "name": name,
            "rank": rank,
            "places": listed("%#", range(first, first + rank)),
            "last": first + rank,
            "numbers": listed('"r"(#)', box.coordinates),
            "start": plus("tile", box.start),
        }
        lines.append(filled(STORE if stores else LOAD, slots))
    return "\n".join([*lines, *([STORED] if stores else [])])


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) if number < 1 << 31 else f"{number}ull" for number in numbers)
