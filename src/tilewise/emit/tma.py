"""The call of cuTensorMapEncodeTiled as C++, every argument by its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewise.core.errors import LayoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.tma import Plan
    from tilewise.hardware.tma.tensor_map import TensorMap

_SUFFIX = "shared::cluster.global.mbarrier::complete_tx::bytes"


def encode_call(tensor_map: TensorMap, name: str = "map", address: str = "global") -> str:
    """Statements that make the map `name` of the tensor at `address`; dimensions are innermost first.

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
    strides = asked["globalStrides"] or [0]
    return "\n".join(
        [
            f"alignas(64) CUtensorMap {name};",
            f"const cuuint64_t {name}_globalDim[] = {_list(asked['globalDim'])};",
            f"const cuuint64_t {name}_globalStrides[] = {_list(strides)};"
            + (
                "  // bytes; the innermost dimension has none"
                if asked["globalStrides"]
                else "  // one dimension has none"
            ),
            f"const cuuint32_t {name}_boxDim[] = {_list(asked['boxDim'])};",
            f"const cuuint32_t {name}_elementStrides[] = {_list(asked['elementStrides'])};",
            f"CUresult {name}_made = cuTensorMapEncodeTiled(",
            f"    &{name}, {asked['tensorDataType']}, /* tensorRank */ {asked['tensorRank']}, {address},",
            f"    {name}_globalDim, {name}_globalStrides, {name}_boxDim, {name}_elementStrides,",
            f"    {asked['interleave']}, {asked['swizzle']},",
            f"    {asked['l2Promotion']}, {asked['oobFill']});",
        ]
    )


def copy_calls(plan: Plan, name: str = "map", *, stores: bool = False) -> str:
    """The instructions that one thread issues for a plan, as PTX in C++: what to expect, and every box.

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
    head = f"// tile: shared, a multiple of {plan.alignment}; {boxes}, {plan.bytes} bytes"
    if stores:
        return "\n".join([head, *_stores(plan, name)])
    lines = [
        head,
        f'asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], {plan.bytes};"'
        ' :: "r"(bar) : "memory");',
    ]
    for box in plan.boxes:
        rank = len(box.coordinates)
        places = ", ".join(f"%{2 + i}" for i in range(rank))
        numbers = ", ".join(f'"r"({coordinate})' for coordinate in box.coordinates)
        start = f"tile + {box.start}" if box.start else "tile"
        lines += [
            f'asm volatile("cp.async.bulk.tensor.{rank}d.{_SUFFIX}"',
            f'             " [%0], [%1, {{{places}}}], [%{2 + rank}];"',
            f'             :: "r"({start}), "l"(&{name}), {numbers}, "r"(bar) : "memory");',
        ]
    return "\n".join(lines)


def _stores(plan: Plan, name: str) -> Iterator[str]:
    yield "// what threads wrote is made known to the copy, before one of them issues it"
    yield 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'
    for box in plan.boxes:
        rank = len(box.coordinates)
        places = ", ".join(f"%{1 + i}" for i in range(rank))
        numbers = ", ".join(f'"r"({coordinate})' for coordinate in box.coordinates)
        start = f"tile + {box.start}" if box.start else "tile"
        yield f'asm volatile("cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group"'
        yield f'             " [%0, {{{places}}}], [%{1 + rank}];"'
        yield f'             :: "l"(&{name}), {numbers}, "r"({start}) : "memory");'
    yield 'asm volatile("cp.async.bulk.commit_group;" ::: "memory");'
    yield 'asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");  // the tile may be written again'


def _list(numbers: Sequence[int]) -> str:
    return "{" + ", ".join(map(_number, numbers)) + "}"


def _number(value: int) -> str:
    return str(value) if value < 1 << 31 else f"{value}ull"
