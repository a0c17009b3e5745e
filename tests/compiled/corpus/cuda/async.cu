// Copies that go from global to shared memory by themselves.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <cstdint>

// Two stages of tiles of 16 bytes a thread.
extern "C" __global__ void async_16_stages(const float4* in, float4* out, int tiles) {
    __shared__ float4 stages[2][128];
    int tid = threadIdx.x;
    const float4* mine = in + blockIdx.x * tiles * 128;
    __pipeline_memcpy_async(&stages[0][tid], &mine[tid], 16);
    __pipeline_commit();
    for (int t = 0; t < tiles; ++t) {
        if (t + 1 < tiles) __pipeline_memcpy_async(&stages[(t + 1) % 2][tid], &mine[(t + 1) * 128 + tid], 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 v = stages[t % 2][127 - tid];
        out[(blockIdx.x * tiles + t) * 128 + tid] = make_float4(v.w, v.z, v.y, v.x);
        __syncthreads();
    }
}

// Rows of a matrix of halves in tiles with a pitch of 72: the 16-byte copies of a matrix product.
extern "C" __global__ void async_16_rows(const __half* in, __half* out, int pitch) {
    __shared__ __align__(16) __half tile[64][72];
    const __half* from = in + blockIdx.y * 64 * pitch + blockIdx.x * 64;
    for (int i = threadIdx.x; i < 512; i += blockDim.x)
        __pipeline_memcpy_async(&tile[i / 8][i % 8 * 8], &from[i / 8 * pitch + i % 8 * 8], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int i = threadIdx.x; i < 4096; i += blockDim.x)
        out[(blockIdx.x * 64 + i / 64) * gridDim.y * 64 + blockIdx.y * 64 + i % 64] = tile[i % 64][i / 64];
}

extern "C" __global__ void async_8_strided(const double* in, double* out, int n, int stride) {
    __shared__ double tile[33 * 8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int at = threadIdx.x / 32 * 33 + threadIdx.x % 32;
    if (i * stride < n) __pipeline_memcpy_async(&tile[at], &in[i * stride], 8);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    if (i * stride < n) out[i] = tile[at];
}

// A transposed tile: words of a row of global memory go to a column of shared memory.
extern "C" __global__ void async_4_transposed(const float* in, float* out, int n) {
    __shared__ float tile[32][33];
    for (int row = threadIdx.y; row < 32; row += blockDim.y)
        __pipeline_memcpy_async(&tile[threadIdx.x][row], &in[(blockIdx.y * 32 + row) * n + blockIdx.x * 32 + threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int row = threadIdx.y; row < 32; row += blockDim.y)
        out[(blockIdx.x * 32 + row) * n + blockIdx.y * 32 + threadIdx.x] = tile[row][threadIdx.x];
}

// An image with a border of zeros: bytes beyond it are filled with zeros by the copy itself.
extern "C" __global__ void async_4_zfill(const float* in, float* out, int width, int height) {
    __shared__ float tile[10][34];
    for (int i = threadIdx.x; i < 340; i += blockDim.x) {
        int x = blockIdx.x * 32 + i % 34 - 1, y = blockIdx.y * 8 + i / 34 - 1;
        bool inside = x >= 0 && x < width && y >= 0 && y < height;
        const float* from = inside ? &in[y * width + x] : in;
        __pipeline_memcpy_async(&tile[i / 34][i % 34], from, 4, inside ? 0 : 4);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
    int x = blockIdx.x * 32 + tx, y = blockIdx.y * 8 + ty;
    if (x < width && y < height)
        out[y * width + x] = tile[ty][tx + 1] + tile[ty + 1][tx] + tile[ty + 1][tx + 2] + tile[ty + 2][tx + 1];
}

// Past the first level of cache, with a predicate, as a matrix product asks for its rows.
extern "C" __global__ void async_16_predicated(const __half* in, __half* out, int rows, int cols) {
    extern __shared__ __align__(16) __half window[];
    for (int i = threadIdx.x; i < 32 * 8; i += blockDim.x) {
        int row = blockIdx.x * 32 + i / 8, col = i % 8 * 8;
        unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&window[i / 8 * 64 + (i % 8 ^ i / 8 % 8) * 8]));
        int inside = row < rows && col < cols;
        asm volatile(
            "{\n.reg .pred p;\nsetp.ne.b32 p, %0, 0;\n@p cp.async.cg.shared.global [%1], [%2], 16;\n}\n" ::"r"(inside),
            "r"(to), "l"(in + row * cols + col)
            : "memory");
    }
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * 8; i += blockDim.x) {
        int row = blockIdx.x * 32 + i / 8, col = i % 8 * 8;
        if (row < rows && col < cols)
            *reinterpret_cast<uint4*>(&out[row * cols + col]) =
                *reinterpret_cast<const uint4*>(&window[i / 8 * 64 + (i % 8 ^ i / 8 % 8) * 8]);
    }
}

// One thread asks for a run of bytes; all wait at a barrier in shared memory until they are there.
extern "C" __global__ void bulk_mbarrier(const float* in, float* out, int count) {
    extern __shared__ __align__(128) float window_floats[];
    __shared__ __align__(8) uint64_t barrier;
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(window_floats));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(at) : "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(count * 4) : "memory");
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
            "l"(in + blockIdx.x * count), "r"(count * 4), "r"(at)
            : "memory");
    }
    asm volatile(
        "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@p bra done;\nbra again;\ndone:\n}\n" ::"r"(at)
        : "memory");
    for (int i = threadIdx.x; i < count; i += blockDim.x) out[blockIdx.x * count + i] = window_floats[count - 1 - i] * 2.0f;
}
