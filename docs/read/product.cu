#include <cuda.h>
#include <cstdint>

__device__ uint32_t at(const void *place) { return uint32_t(__cvta_generic_to_shared(place)); }

__device__ void load(uint32_t tile, const CUtensorMap &map, int x, int y, uint32_t full) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];" ::"r"(tile), "l"(&map), "r"(x), "r"(y), "r"(full) : "memory");
}

__device__ uint64_t descriptor(uint32_t tile) {  // 128B swizzle: 8 rows take 1024 bytes, which are 64 times 16
    return (tile & 0x3FFFF) >> 4 | 1ull << 16 | uint64_t(64 >> 4) << 32 | 1ull << 62;
}

__device__ void multiply(float (&d)[4], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(128)
product(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float2 *c, int depth) {
    __shared__ alignas(1024) char of_a[64 * 128], of_b[8 * 128];
    __shared__ uint64_t full;
    float d[4] = {};
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&full)));
    __syncthreads();
#pragma unroll 1
    for (int k = 0, phase = 0; k < depth; k += 64, phase ^= 1) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 9216;" ::"r"(at(&full)));
            load(at(of_a), a, k, blockIdx.x * 64, at(&full));
            load(at(of_b), b, k, blockIdx.y * 8, at(&full));
        }
        asm volatile("{\n.reg .pred done;\nagain: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                     "@!done bra again;\n}" ::"r"(at(&full)), "r"(phase));
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int step = 0; step < 4; step++)
            multiply(d, descriptor(at(of_a)) + 2 * step, descriptor(at(of_b)) + 2 * step);
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    for (int half = 0; half < 2; half++) {
        int row = blockIdx.x * 64 + threadIdx.x / 32 * 16 + half * 8 + threadIdx.x % 32 / 4;
        c[(row * gridDim.y + blockIdx.y) * 4 + threadIdx.x % 4] = make_float2(d[2 * half], d[2 * half + 1]);
    }
}
