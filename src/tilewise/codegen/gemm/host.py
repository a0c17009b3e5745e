"""The launch of a product in C++: tensor maps, clusters, and as many blocks as run at once."""

from __future__ import annotations

from tilewise.codegen.gemm.finish import parameters
from tilewise.codegen.gemm.kernel import cluster_slots, kernel_source
from tilewise.codegen.gemm.plan import HopperPlan
from tilewise.codegen.parts.copies import BYTE, Staged
from tilewise.codegen.parts.pipeline import tma_type
from tilewise.codegen.parts.template import check_free, filled

PROGRAM = """\
#include <cuda.h>
#include <cuda_runtime.h>

$kernel

// The host's part, for nvcc -gencode arch=compute_90a,code=sm_90a -lcuda. A, B and D are on the device.
cudaError_t launch_$name(
    const void *A, const void *B, void *D,
    $parameters
    $sizes, cudaStream_t stream)
{
    // Extents from the fastest, bytes from line to line, and the box of one request of TMA.
    const auto describe = [](CUtensorMap *map, const void *at, CUtensorMapDataType type, int fast, int slow,
                             int many, int bytes, unsigned box_fast, unsigned box_slow,
                             CUtensorMapSwizzle mode) {
        const cuuint64_t extents[] = {(cuuint64_t)fast, (cuuint64_t)slow, (cuuint64_t)many};
        const cuuint64_t line = (cuuint64_t)fast * bytes, strides[] = {line, line * slow};
        const cuuint32_t box[] = {box_fast, box_slow, 1}, each[] = {1, 1, 1};
        return cuTensorMapEncodeTiled(
            map, type, many ? 3 : 2, (void *)at, extents, strides, box, each, CU_TENSOR_MAP_INTERLEAVE_NONE,
            mode, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
    };
    CUtensorMap map_a, map_b, map_d;
    $maps
    int device, processors;
    cudaError_t failed = cudaGetDevice(&device);
    if (failed == cudaSuccess)
        failed = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (failed == cudaSuccess)
        failed = cudaFuncSetAttribute(
            $name, cudaFuncAttributeMaxDynamicSharedMemorySize, ${plan.first.shared_bytes});
    if (failed != cudaSuccess)
        return failed;
    cudaLaunchAttribute asked[2];
    asked[0].id = cudaLaunchAttributeClusterDimension;
    asked[0].val.clusterDim = {${plan.blocks}, 1, 1};
    asked[1].id = cudaLaunchAttributeProgrammaticStreamSerialization; // its begin runs beside another's end
    asked[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(processors / ${plan.blocks} * ${plan.blocks});
    config.blockDim = dim3(${plan.threads});
    config.dynamicSmemBytes = ${plan.first.shared_bytes};
    config.stream = stream;
    config.attrs = asked;
    config.numAttrs = 2;
    int clusters; // as many as run at once, or as there are tiles
    failed = cudaOccupancyMaxActiveClusters(&clusters, $name, &config);
    if (failed != cudaSuccess)
        return failed;
    $clusters
    config.gridDim = dim3(clusters * ${plan.blocks});
    $launched
}"""

LAUNCHED = """\
return cudaLaunchKernelEx(
    &config, $name, map_a, map_b, map_d,
    $arguments);"""

LAUNCHED_TWICE = """\
failed = cudaLaunchKernelEx(&config, $name, map_a, map_b, map_d, M, N, K, parts);
if (failed != cudaSuccess)
    return failed;
${name}_total<<<8 * processors, 256, 0, stream>>>(
    sums, (unsigned char *)D, $names M, N, parts, (long long)N * $size);
return cudaGetLastError();"""

CLUSTERS = """\
const int down = (M + $cluster_m_less) / $cluster_m, along = (N + $cluster_n_less) / $cluster_n;
const int tiles = down * along$times_batches;
if (tiles < clusters)
    clusters = tiles;"""

MAP = """\
if (!describe(&map_$letter, $name, $type, $fast, $slow, $many, $bytes, $box_fast, $box_slow,
              $mode))
    return cudaErrorInvalidValue;"""


def host_source(plan: HopperPlan) -> str:
    """Return kernel and host together, one .cu file.

    >>> from tilewise.codegen.gemm import planned
    >>> "&config, gemm_bf16_128x256x64, map_a, map_b, map_d" in host_source(planned((128, 256), "bf16"))
    True
    """
    extra = [word.replace("__restrict__ ", "") for word in parameters(plan)]
    ends: dict[str, object] = {
        **cluster_slots(plan),
        "times_batches": f" * {_many(plan)}" * plan.turns,
    }
    sizes = ["int M", "int N", "int K"] + [f"int {_many(plan)}"] * bool(_many(plan))
    given = [word.split()[-1] for word in sizes]
    if plan.grouped:
        given = ["ends", "(unsigned char *)D", *given, f"(long long)N * {plan.out.bits // BYTE}"]
    names = [word.split()[-1].lstrip("*") for line in extra for word in line.split(", ")]
    more = ["const int *ends"] * plan.grouped
    if plan.splits:  # room for a D of sums for each part
        more.append(f"{'float' if plan.accumulator.name == 'f32' else 'int'} *sums")
    launched = {
        "name": plan.called,
        "arguments": ", ".join([*names, *given]),
        "names": "".join(f"{name}, " for name in names),
        "size": plan.out.bits // BYTE,
    }
    slots: dict[str, object] = {
        "plan": plan,
        "kernel": "",
        "name": plan.called,
        "parameters": "\n".join(f"{line}," for line in [*extra, *more]),
        "sizes": ", ".join(sizes),
        "maps": "\n".join(_map(plan, own) for own in (*plan.operands, plan.first.d)),
        "clusters": "" if plan.grouped else filled(CLUSTERS, ends),
        "launched": filled(LAUNCHED_TWICE if plan.splits else LAUNCHED, launched),
    }
    check_free(plan.name, filled(PROGRAM, slots | {"name": "", "launched": ""}))
    return filled(PROGRAM, slots | {"kernel": kernel_source(plan)})


def _many(plan: HopperPlan) -> str:
    """Return the name of the number of matrices."""
    return "batches" * plan.batched + "groups" * plan.grouped + "parts" * plan.splits


def _map(plan: HopperPlan, own: Staged) -> str:
    rows = {"A": "M", "B": "N", "D": "M"}[own.name]
    line = "N" if own.name == "D" else "K"
    box, mode = plan.first.box_and_mode(own)
    fast, slow = (line, rows) if own.major == "k" else (rows, line)
    slots = {
        "letter": own.letter,
        "name": "sums" if own.name == "D" and plan.splits else own.name,
        "type": f"CU_TENSOR_MAP_DATA_TYPE_{tma_type(own.dtype)}",
        "fast": fast,
        "slow": slow,
        "many": _many(plan) if plan.is_many(own) else "0",
        "bytes": own.dtype.bits // BYTE,
        "box_fast": box[0],
        "box_slow": box[1],
        "mode": f"CU_TENSOR_MAP_SWIZZLE_{mode.name.upper()}",
    }
    return filled(MAP, slots)
