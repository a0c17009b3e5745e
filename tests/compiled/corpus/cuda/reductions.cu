// Sums of a block, from the one with divergent branches to the one with shuffles and vectors.

extern "C" __global__ void reduce_interleaved(const float* in, float* out, int n) {
    extern __shared__ float data[];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + tid;
    data[tid] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0) data[tid] += data[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = data[0];
}

extern "C" __global__ void reduce_strided(const float* in, float* out, int n) {
    extern __shared__ float data[];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + tid;
    data[tid] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        unsigned index = 2 * s * tid;
        if (index < blockDim.x) data[index] += data[index + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = data[0];
}

extern "C" __global__ void reduce_sequential(const float* in, float* out, int n) {
    extern __shared__ float data[];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * (blockDim.x * 2) + tid;
    float sum = i < n ? in[i] : 0.0f;
    if (i + blockDim.x < n) sum += in[i + blockDim.x];
    data[tid] = sum;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s) data[tid] = sum = sum + data[tid + s];
        __syncthreads();
    }
    if (tid < 32) {
        if (blockDim.x >= 64) sum += data[tid + 32];
        for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    }
    if (tid == 0) out[blockIdx.x] = sum;
}

__inline__ __device__ float warp_sum(float value) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

__inline__ __device__ float block_sum(float value) {
    static __shared__ float sums[32];
    int lane = threadIdx.x % warpSize;
    int warp = threadIdx.x / warpSize;
    value = warp_sum(value);
    if (lane == 0) sums[warp] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / warpSize ? sums[lane] : 0.0f;
    if (warp == 0) value = warp_sum(value);
    return value;
}

extern "C" __global__ void reduce_shuffle(const float* in, float* out, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

extern "C" __global__ void reduce_float4(const float* in, float* out, int n) {
    float sum = 0.0f;
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += stride) {
        float4 four = reinterpret_cast<const float4*>(in)[i];
        sum += (four.x + four.y) + (four.z + four.w);
    }
    int tail = n / 4 * 4 + blockIdx.x * blockDim.x + threadIdx.x;
    if (tail < n) sum += in[tail];
    sum = block_sum(sum);
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

extern "C" __global__ void reduce_max_rows(const double* in, double* out, int rows, int cols) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    double best = -1e300;
    for (int col = threadIdx.x; col < cols; col += 32) best = fmax(best, in[row * cols + col]);
    for (int mask = 16; mask > 0; mask >>= 1) best = fmax(best, __shfl_xor_sync(0xffffffff, best, mask));
    if (threadIdx.x == 0) out[row] = best;
}
