// Prefix sums of a block.

extern "C" __global__ void scan_hillis_steele(const int* in, int* out, int n) {
    extern __shared__ int buffers[];
    int tid = threadIdx.x, at = blockIdx.x * blockDim.x + tid;
    int from = 0, to = 1;
    buffers[tid] = at < n ? in[at] : 0;
    __syncthreads();
    for (int offset = 1; offset < blockDim.x; offset *= 2) {
        int value = buffers[from * blockDim.x + tid];
        if (tid >= offset) value += buffers[from * blockDim.x + tid - offset];
        buffers[to * blockDim.x + tid] = value;
        from = 1 - from;
        to = 1 - to;
        __syncthreads();
    }
    if (at < n) out[at] = buffers[from * blockDim.x + tid];
}

template <bool PADDED>
__device__ int place(int i) {
    return PADDED ? i + (i >> 5) : i;
}

template <bool PADDED>
__global__ void scan_blelloch(const int* in, int* out, int n) {
    extern __shared__ int temp[];
    int tid = threadIdx.x, offset = 1;
    const int* mine = in + blockIdx.x * n;
    temp[place<PADDED>(2 * tid)] = mine[2 * tid];
    temp[place<PADDED>(2 * tid + 1)] = mine[2 * tid + 1];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (tid < d) {
            int a = place<PADDED>(offset * (2 * tid + 1) - 1);
            int b = place<PADDED>(offset * (2 * tid + 2) - 1);
            temp[b] += temp[a];
        }
        offset *= 2;
    }
    if (tid == 0) temp[place<PADDED>(n - 1)] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (tid < d) {
            int a = place<PADDED>(offset * (2 * tid + 1) - 1);
            int b = place<PADDED>(offset * (2 * tid + 2) - 1);
            int t = temp[a];
            temp[a] = temp[b];
            temp[b] += t;
        }
    }
    __syncthreads();
    out[blockIdx.x * n + 2 * tid] = temp[place<PADDED>(2 * tid)];
    out[blockIdx.x * n + 2 * tid + 1] = temp[place<PADDED>(2 * tid + 1)];
}

template __global__ void scan_blelloch<false>(const int*, int*, int);
template __global__ void scan_blelloch<true>(const int*, int*, int);

extern "C" __global__ void scan_warps(const int* in, int* out, int* totals, int n) {
    __shared__ int sums[32];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int value = at < n ? in[at] : 0;
    for (int d = 1; d < 32; d <<= 1) {
        int other = __shfl_up_sync(0xffffffff, value, d);
        if (lane >= d) value += other;
    }
    if (lane == 31) sums[warp] = value;
    __syncthreads();
    if (warp == 0) {
        int sum = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int d = 1; d < 32; d <<= 1) {
            int other = __shfl_up_sync(0xffffffff, sum, d);
            if (lane >= d) sum += other;
        }
        sums[lane] = sum;
    }
    __syncthreads();
    if (warp > 0) value += sums[warp - 1];
    if (at < n) out[at] = value;
    if (threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = value;
}
