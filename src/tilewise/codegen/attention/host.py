"""The launch of attention in C++: tensor maps, and a block for each tile of rows, head and batch."""

from __future__ import annotations

from tilewise.codegen.attention.kernel import kernel_source
from tilewise.codegen.attention.plan import PANEL, AttentionPlan
from tilewise.codegen.parts.pipeline import tma_type
from tilewise.codegen.parts.template import check_free, filled
from tilewise.hardware.wgmma.instructions import M

PROGRAM = """\
#include <cuda.h>
#include <cuda_runtime.h>

$kernel

// The host's part, for nvcc -gencode arch=compute_90a,code=sm_90a -lcuda. On the device are Q and O,
// [batches, heads, M, $head], and K and V, [batches, heads / sharing, N, $head].
cudaError_t launch_$name(
    const void *Q, const void *K, const void *V, void *O,
    float scale, int batches, int heads, int sharing, int M, int N, cudaStream_t stream)
{
    const auto describe = [&](CUtensorMap *map, const void *at, int rows, int heads, unsigned box_rows) {
        const cuuint64_t row = $head * 2, matrix = row * rows;
        const cuuint64_t extents[] = {$head, (cuuint64_t)rows, (cuuint64_t)heads, (cuuint64_t)batches};
        const cuuint64_t strides[] = {row, matrix, matrix * heads};
        const cuuint32_t box[] = {$panel, box_rows, 1, 1}, each[] = {1, 1, 1, 1};
        return cuTensorMapEncodeTiled(
            map, CU_TENSOR_MAP_DATA_TYPE_$type, 4, (void *)at, extents, strides, box, each,
            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
    };
    CUtensorMap map_q, map_k, map_v, map_o;
    if (!(scale > 0) ||
        !describe(&map_q, Q, M, heads, $rows) || !describe(&map_o, O, M, heads, $rows) ||
        !describe(&map_k, K, N, heads / sharing, $keys) || !describe(&map_v, V, N, heads / sharing, $keys))
        return cudaErrorInvalidValue;
    const cudaError_t failed = cudaFuncSetAttribute(
        $name, cudaFuncAttributeMaxDynamicSharedMemorySize, ${plan.shared_bytes});
    if (failed != cudaSuccess)
        return failed;
    const dim3 grid((M + $rows_less) / ${plan.rows}, heads, batches);
    $name<<<grid, ${plan.threads}, ${plan.shared_bytes}, stream>>>(
        map_q, map_k, map_v, map_o, scale, M, N, sharing);
    return cudaGetLastError();
}"""


def host_source(plan: AttentionPlan) -> str:
    """Return kernel and host together, one .cu file.

    >>> from tilewise.codegen.attention import planned
    >>> "launch_attention_f16_64(" in host_source(planned(64, "f16"))
    True
    """
    slots: dict[str, object] = {
        "plan": plan,
        "kernel": "",
        "name": plan.called,
        "head": plan.head,
        "panel": PANEL,
        "type": tma_type(plan.dtype),
        "rows": M,
        "rows_less": plan.rows - 1,
        "keys": plan.keys,
    }
    check_free(plan.name, filled(PROGRAM, slots | {"name": ""}))
    return filled(PROGRAM, slots | {"kernel": kernel_source(plan)})
