// Transposes of a matrix: plain, through a tile of shared memory, padded, and swizzled.
#include <cuda_fp16.h>

constexpr int TILE = 32;
constexpr int ROWS = 8;

extern "C" __global__ void transpose_naive(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows) out[x * rows + y] = in[y * cols + x];
}

template <typename T, int PAD>
__global__ void transpose_tile(const T* __restrict__ in, T* __restrict__ out, int rows, int cols) {
    __shared__ T tile[TILE][TILE + PAD];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < cols && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < rows && y + j < cols) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

template __global__ void transpose_tile<float, 0>(const float*, float*, int, int);
template __global__ void transpose_tile<float, 1>(const float*, float*, int, int);
template __global__ void transpose_tile<__half, 1>(const __half*, __half*, int, int);
template __global__ void transpose_tile<__half, 2>(const __half*, __half*, int, int);
template __global__ void transpose_tile<unsigned char, 1>(const unsigned char*, unsigned char*, int, int);
template __global__ void transpose_tile<unsigned char, 4>(const unsigned char*, unsigned char*, int, int);
template __global__ void transpose_tile<double, 1>(const double*, double*, int, int);

extern "C" __global__ void transpose_swizzled(const float* __restrict__ in, float* __restrict__ out, int n) {
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS) {
        int row = threadIdx.y + j;
        tile[row][threadIdx.x ^ row] = in[(y + j) * n + x];
    }
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS) {
        int col = threadIdx.y + j;
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.x ^ col];
    }
}

// 64 x 64 halves, two of them a thread at a time.
extern "C" __global__ void transpose_half2(const __half2* __restrict__ in, __half2* __restrict__ out, int n) {
    __shared__ __half tile[64][66];
    int pairs = n / 2;
    for (int row = threadIdx.y; row < 64; row += blockDim.y) {
        __half2 two = in[(blockIdx.y * 64 + row) * pairs + blockIdx.x * 32 + threadIdx.x];
        *reinterpret_cast<__half2*>(&tile[row][2 * threadIdx.x]) = two;
    }
    __syncthreads();
    for (int row = threadIdx.y; row < 64; row += blockDim.y) {
        __half2 two = __halves2half2(tile[2 * threadIdx.x][row], tile[2 * threadIdx.x + 1][row]);
        out[(blockIdx.x * 64 + row) * pairs + blockIdx.y * 32 + threadIdx.x] = two;
    }
}
