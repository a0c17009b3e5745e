// Pointers without a space: functions and views that take shared, global and local memory alike.

#include <cuda_pipeline.h>

template <class T>
__device__ __noinline__ T taken(const T* from, int place) {
    return from[place];
}

template <class T>
__device__ __noinline__ void put(T* to, int place, T value) {
    to[place] = value;
}

template <int STEP>
__global__ void generic_shared(const float* in, float* out) {
    __shared__ float tile[128 * STEP];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    put(tile, t * STEP, in[i]);
    __syncthreads();
    out[i] = taken(tile, (t ^ 5) * STEP);
}

template __global__ void generic_shared<1>(const float*, float*);
template __global__ void generic_shared<8>(const float*, float*);

extern "C" __global__ void generic_global(const double* in, double* out, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    put(out, i, taken(in, i * stride));
}

// Each lane has its own space: the border of a tile is in shared memory, the rest in global memory.
extern "C" __global__ void generic_lanes(const float* in, float* out, int border) {
    __shared__ float halo[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    halo[t] = in[i];
    __syncthreads();
    const float* from = t % 32 < border ? halo + t * 2 % 256 : in + i * 3 % 512;
    out[i] = *(const volatile float*)from;
}

// Each warp has its own.
extern "C" __global__ void generic_warps(const float* in, float* out) {
    __shared__ float tile[32 * 33];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    for (int r = warp; r < 32; r += blockDim.x / 32) tile[r * 33 + lane] = in[r * 32 + lane];
    __syncthreads();
    const float* from = warp % 2 ? tile : in;
    int stride = warp % 2 ? 32 : 1;
    out[blockIdx.x * blockDim.x + t] = *(const volatile float*)(from + lane * stride);
}

// A store that goes to either.
extern "C" __global__ void generic_spill(const int* in, int* out, int room) {
    extern __shared__ int held[];
    int t = threadIdx.x;
    int* to = t < room ? held + t * 4 : out + t * 2;
    *(volatile int*)to = in[t];
    __syncthreads();
    if (t < room) out[t * 2] = held[t * 4];
}

extern "C" __global__ void generic_float4(const float4* in, float4* out, int n) {
    __shared__ float4 tile[128];
    int t = threadIdx.x;
    put(tile, (t * 5) % 128, taken(in, blockIdx.x * 128 + t));
    __syncthreads();
    if (t < n) put(out, blockIdx.x * 128 + t, taken((const float4*)tile, t ^ 3));
}

extern "C" __global__ void generic_bytes(const unsigned char* in, unsigned char* out) {
    __shared__ unsigned char tile[512];
    int t = threadIdx.x;
    put(tile, t * 4, taken(in, t));
    __syncthreads();
    put(out, t * 3, taken((const unsigned char*)tile, (127 - t) * 4));
}

// A view of rows, wherever they are.
struct View {
    float* rows;
    int stride;
};

__device__ __noinline__ float summed(View view, int row, int many) {
    float sum = 0.0f;
    for (int k = 0; k < many; ++k) sum += view.rows[row * view.stride + k];
    return sum;
}

extern "C" __global__ void generic_view(float* in, float* out, int padded) {
    __shared__ float tile[64 * 17];
    int t = threadIdx.x;
    for (int k = t; k < 1024; k += blockDim.x) tile[k / 16 * 17 + k % 16] = in[k];
    __syncthreads();
    float far = summed({in, 16}, t, 16), near = summed({tile, 17}, t, 16);
    out[t] = padded ? near - far : near + far;
}

// Arrays of a thread, and of the block.
extern "C" __global__ void generic_local(const int* in, int* out, int turn) {
    __shared__ int kept[128];
    int own[8], t = threadIdx.x;
    for (int k = 0; k < 8; ++k) own[(k + turn) % 8] = in[t * 8 + k];
    kept[t] = own[turn & 7];
    __syncthreads();
    out[t] = taken((const int*)own, (t + turn) % 8) + taken((const int*)kept, t ^ 1);
}

// The space is found out at run time.
__device__ __noinline__ float either(const float* from) {
    if (__isShared(from)) return 2.0f * *from;
    return *from;
}

extern "C" __global__ void generic_found(const float* in, float* out) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    out[t] = either(t % 4 ? tile + t : in + t * 2);
}

__device__ __noinline__ void added(int* to, int place) { atomicAdd(to + place, 1 + place); }

extern "C" __global__ void generic_atomics(int* out) {
    __shared__ int counts[64];
    int t = threadIdx.x;
    if (t < 64) counts[t] = 0;
    __syncthreads();
    added(counts, t * 7 % 64);
    added(out, t * 5 % 96);
    __syncthreads();
    if (t < 64) out[128 + t] = counts[t];
}

// Staged by asynchronous copies, read through a pointer that is one of two buffers.
extern "C" __global__ void generic_stages(const float* in, float* out, int turns) {
    __shared__ float first[256], second[256];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < turns; ++k) {
        float* stage = k % 2 ? second : first;
        __pipeline_memcpy_async(stage + t, in + k * 256 + t, 4);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        sum += taken(stage, t * 2 % 256);
        __syncthreads();
    }
    out[blockIdx.x * 256 + t] = sum;
}
