// Histograms of bytes: counters in shared memory, counters of each warp, and counters in global memory.

constexpr int BINS = 256;

extern "C" __global__ void histogram_shared(const unsigned char* data, unsigned* bins, int n) {
    __shared__ unsigned counts[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&counts[data[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) atomicAdd(&bins[i], counts[i]);
}

extern "C" __global__ void histogram_privatised(const uchar4* data, unsigned* partial, int n) {
    constexpr int WARPS = 4;
    __shared__ unsigned counts[WARPS][BINS];
    for (int i = threadIdx.x; i < WARPS * BINS; i += blockDim.x) counts[0][i] = 0;
    __syncthreads();
    unsigned* mine = counts[threadIdx.x / 32];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        uchar4 four = data[i];
        atomicAdd(&mine[four.x], 1u);
        atomicAdd(&mine[four.y], 1u);
        atomicAdd(&mine[four.z], 1u);
        atomicAdd(&mine[four.w], 1u);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
        unsigned sum = 0;
        for (int warp = 0; warp < WARPS; ++warp) sum += counts[warp][bin];
        partial[blockIdx.x * BINS + bin] = sum;
    }
}

extern "C" __global__ void histogram_global(const int* data, int* bins, int n, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int bin = data[i] % count;
        atomicAdd(&bins[bin < 0 ? bin + count : bin], 1);
    }
}
