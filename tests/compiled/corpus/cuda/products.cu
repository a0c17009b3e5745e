// Matrix products: tiles of scalars and of vectors, and tensor cores.
#include <cuda_fp16.h>
#include <mma.h>

constexpr int TILE = 16;

extern "C" __global__ void matmul_tiled(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
        int k = t * TILE + threadIdx.x;
        As[threadIdx.y][threadIdx.x] = row < M && k < K ? A[row * K + k] : 0.0f;
        k = t * TILE + threadIdx.y;
        Bs[threadIdx.y][threadIdx.x] = k < K && col < N ? B[k * N + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i) sum += As[threadIdx.y][i] * Bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

// 64 x 64 of C by 256 threads, 4 x 4 of them each; A is stored transposed, and both are read as vectors.
extern "C" __global__ void __launch_bounds__(256)
matmul_float4(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K) {
    __shared__ float As[16][64 + 4];
    __shared__ float Bs[16][64];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const float* a = A + (blockIdx.y * 64 + threadIdx.x / 4) * K + threadIdx.x % 4 * 4;
    const float* b = B + threadIdx.x / 16 * N + blockIdx.x * 64 + threadIdx.x % 16 * 4;
    float sums[4][4] = {};
    for (int k = 0; k < K; k += 16) {
        float4 four = *reinterpret_cast<const float4*>(a);
        As[threadIdx.x % 4 * 4 + 0][threadIdx.x / 4] = four.x;
        As[threadIdx.x % 4 * 4 + 1][threadIdx.x / 4] = four.y;
        As[threadIdx.x % 4 * 4 + 2][threadIdx.x / 4] = four.z;
        As[threadIdx.x % 4 * 4 + 3][threadIdx.x / 4] = four.w;
        *reinterpret_cast<float4*>(&Bs[threadIdx.x / 16][threadIdx.x % 16 * 4]) = *reinterpret_cast<const float4*>(b);
        __syncthreads();
        a += 16;
        b += 16 * N;
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            float4 x = *reinterpret_cast<const float4*>(&As[i][ty * 4]);
            float4 y = *reinterpret_cast<const float4*>(&Bs[i][tx * 4]);
            const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int r = 0; r < 4; ++r)
#pragma unroll
                for (int c = 0; c < 4; ++c) sums[r][c] += xs[r] * ys[c];
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; ++r) {
        float4 row = make_float4(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
        *reinterpret_cast<float4*>(&C[(blockIdx.y * 64 + ty * 4 + r) * N + blockIdx.x * 64 + tx * 4]) = row;
    }
}

__device__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void ldmatrix_x4(unsigned (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)));
}

__device__ void ldmatrix_x2_trans(unsigned (&r)[2], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(row)));
}

__device__ void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// 64 x 64 of C by four warps, 32 x 32 each; rows are padded by 8 halves.
template <bool SWIZZLED>
__global__ void matmul_mma(const __half* A, const __half* B, float* C, int N, int K) {
    constexpr int PITCH_A = SWIZZLED ? 32 : 40, PITCH_B = SWIZZLED ? 64 : 72;
    __shared__ __align__(128) __half As[64 * PITCH_A];
    __shared__ __align__(128) __half Bs[32 * PITCH_B];
    auto at_a = [](int row, int col) { return row * PITCH_A + (SWIZZLED ? col ^ (row / 2 % 4) * 8 : col); };
    auto at_b = [](int row, int col) { return row * PITCH_B + (SWIZZLED ? col ^ (row % 8) * 8 : col); };
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int warp_row = warp / 2 * 32, warp_col = warp % 2 * 32;
    float sums[2][4][4] = {};
    for (int k = 0; k < K; k += 32) {
        for (int i = threadIdx.x; i < 64 * 32 / 8; i += blockDim.x) {
            int row = i / 4, col = i % 4 * 8;
            *reinterpret_cast<uint4*>(&As[at_a(row, col)]) =
                *reinterpret_cast<const uint4*>(&A[(blockIdx.y * 64 + row) * K + k + col]);
            row = i / 8, col = i % 8 * 8;
            *reinterpret_cast<uint4*>(&Bs[at_b(row, col)]) =
                *reinterpret_cast<const uint4*>(&B[(k + row) * N + blockIdx.x * 64 + col]);
        }
        __syncthreads();
        for (int step = 0; step < 32; step += 16) {
            unsigned a[2][4], b[4][2];
            for (int m = 0; m < 2; ++m)
                ldmatrix_x4(a[m], &As[at_a(warp_row + m * 16 + lane % 16, step + lane / 16 * 8)]);
            for (int n = 0; n < 4; ++n) ldmatrix_x2_trans(b[n], &Bs[at_b(step + lane % 16, warp_col + n * 8)]);
            for (int m = 0; m < 2; ++m)
                for (int n = 0; n < 4; ++n) mma(sums[m][n], a[m], b[n]);
        }
        __syncthreads();
    }
    for (int m = 0; m < 2; ++m)
        for (int n = 0; n < 4; ++n) {
            int row = blockIdx.y * 64 + warp_row + m * 16 + lane / 4;
            int col = blockIdx.x * 64 + warp_col + n * 8 + lane % 4 * 2;
            *reinterpret_cast<float2*>(&C[row * N + col]) = make_float2(sums[m][n][0], sums[m][n][1]);
            *reinterpret_cast<float2*>(&C[(row + 8) * N + col]) = make_float2(sums[m][n][2], sums[m][n][3]);
        }
}

template __global__ void matmul_mma<false>(const __half*, const __half*, float*, int, int);
template __global__ void matmul_mma<true>(const __half*, const __half*, float*, int, int);

// One warp: 16 x 16 halves of a product go through shared memory by stmatrix and leave as vectors.
extern "C" __global__ void epilogue_stmatrix(const __half* A, const __half* B, __half* C, int K) {
    __shared__ __align__(16) __half tile[16][24];
    int lane = threadIdx.x;
    float low[4] = {}, high[4] = {};
    for (int k = 0; k < K; k += 16) {
        unsigned a[4], b[2], c[2];
        const __half* row = A + (blockIdx.x * 16 + lane / 4) * K + k + lane % 4 * 2;
        a[0] = *reinterpret_cast<const unsigned*>(row);
        a[1] = *reinterpret_cast<const unsigned*>(row + 8 * K);
        a[2] = *reinterpret_cast<const unsigned*>(row + 8);
        a[3] = *reinterpret_cast<const unsigned*>(row + 8 * K + 8);
        const __half* col = B + lane / 4 * K + k + lane % 4 * 2;
        b[0] = *reinterpret_cast<const unsigned*>(col);
        b[1] = *reinterpret_cast<const unsigned*>(col + 8);
        c[0] = *reinterpret_cast<const unsigned*>(col + 8 * K);
        c[1] = *reinterpret_cast<const unsigned*>(col + 8 * K + 8);
        mma(low, a, b);
        mma(high, a, c);
    }
    unsigned packed[4];
    const float* sums[4] = {low, low + 2, high, high + 2};
    for (int i = 0; i < 4; ++i) {
        __half2 two = __floats2half2_rn(sums[i][0], sums[i][1]);
        packed[i] = *reinterpret_cast<unsigned*>(&two);
    }
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     shared_address(&tile[lane % 16][lane / 16 * 8])),
                 "r"(packed[0]), "r"(packed[1]), "r"(packed[2]), "r"(packed[3])
                 : "memory");
    __syncwarp();
    *reinterpret_cast<uint4*>(C + (blockIdx.x * 16 + lane / 2) * 16 + lane % 2 * 8) =
        *reinterpret_cast<const uint4*>(&tile[lane / 2][lane % 2 * 8]);
}

extern "C" __global__ void matmul_wmma(const __half* A, const __half* B, float* C, int M, int N, int K) {
    using namespace nvcuda;
    __shared__ __align__(32) float tile[4][16][20];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = (blockIdx.y * 2 + warp / 2) * 16, col = (blockIdx.x * 2 + warp % 2) * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * K + k, K);
        wmma::load_matrix_sync(b, B + k * N + col, N);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(&tile[warp][0][0], c, 20, wmma::mem_row_major);
    __syncwarp();
    for (int i = lane; i < 256; i += 32)
        if (row + i / 16 < M && col + i % 16 < N) C[(row + i / 16) * N + col + i % 16] = fmaxf(tile[warp][i / 16][i % 16], 0.0f);
}

extern "C" __global__ void matvec_rows(const float* A, const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int col = lane; col < cols; col += 32) sum += A[row * cols + col] * x[col];
    for (int offset = 16; offset; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void matvec_threads(const float* A, const float* x, float* y, int rows, int cols) {
    extern __shared__ float part[];
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < cols; start += blockDim.x) {
        part[threadIdx.x] = start + threadIdx.x < cols ? x[start + threadIdx.x] : 0.0f;
        __syncthreads();
        int end = min(blockDim.x, cols - start);
        if (row < rows)
            for (int i = 0; i < end; ++i) sum += A[row * cols + start + i] * part[i];
        __syncthreads();
    }
    if (row < rows) y[row] = sum;
}

// Rows of a sparse matrix: how many elements each has is in the data.
extern "C" __global__ void spmv_csr(const int* starts, const int* cols, const float* values, const float* x, float* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = starts[row]; i < starts[row + 1]; ++i) sum += values[i] * x[cols[i]];
    y[row] = sum;
}
