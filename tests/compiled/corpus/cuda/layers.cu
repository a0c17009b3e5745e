// Softmax, layer norms, sorting: what a block does to a row.
#include <cfloat>

extern "C" __global__ void softmax_rows(const float* in, float* out, int cols) {
    extern __shared__ float scratch[];
    const float* row = in + blockIdx.x * cols;
    float best = -FLT_MAX;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) best = fmaxf(best, row[i]);
    scratch[threadIdx.x] = best;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) scratch[threadIdx.x] = fmaxf(scratch[threadIdx.x], scratch[threadIdx.x + s]);
        __syncthreads();
    }
    best = scratch[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(row[i] - best);
    scratch[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) scratch[threadIdx.x] += scratch[threadIdx.x + s];
        __syncthreads();
    }
    sum = scratch[0];
    for (int i = threadIdx.x; i < cols; i += blockDim.x) out[blockIdx.x * cols + i] = expf(row[i] - best) / sum;
}

extern "C" __global__ void layer_norm(const float4* in, const float4* gamma, const float4* beta, float4* out, int quads, float eps) {
    __shared__ float2 partial[8];
    const float4* row = in + blockIdx.x * quads;
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < quads; i += blockDim.x) {
        float4 v = row[i];
        sum += v.x + v.y + v.z + v.w;
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    for (int mask = 16; mask > 0; mask >>= 1) {
        sum += __shfl_xor_sync(0xffffffff, sum, mask);
        squares += __shfl_xor_sync(0xffffffff, squares, mask);
    }
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = make_float2(sum, squares);
    __syncthreads();
    sum = squares = 0.0f;
    for (int warp = 0; warp < blockDim.x / 32; ++warp) {
        sum += partial[warp].x;
        squares += partial[warp].y;
    }
    float mean = sum / (4 * quads);
    float scale = rsqrtf(squares / (4 * quads) - mean * mean + eps);
    for (int i = threadIdx.x; i < quads; i += blockDim.x) {
        float4 v = row[i], g = gamma[i], b = beta[i];
        out[blockIdx.x * quads + i] = make_float4((v.x - mean) * scale * g.x + b.x, (v.y - mean) * scale * g.y + b.y,
                                                  (v.z - mean) * scale * g.z + b.z, (v.w - mean) * scale * g.w + b.w);
    }
}

extern "C" __global__ void bitonic_sort(unsigned* keys, int n) {
    extern __shared__ unsigned block[];
    unsigned* mine = keys + blockIdx.x * n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) block[i] = mine[i];
    for (int size = 2; size <= n; size <<= 1)
        for (int stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
                int at = 2 * i - (i & (stride - 1));
                bool up = (at & size) == 0;
                unsigned a = block[at], b = block[at + stride];
                if ((a > b) == up) {
                    block[at] = b;
                    block[at + stride] = a;
                }
            }
        }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) mine[i] = block[i];
}

// Pairs of a head are turned: neighbours of one row, a thread each.
extern "C" __global__ void rotary(float* x, const float* cosines, const float* sines, int heads, int width) {
    int pos = blockIdx.x, half = width / 2;
    for (int i = threadIdx.x; i < heads * half; i += blockDim.x) {
        int head = i / half, k = i % half;
        float* row = x + (pos * heads + head) * width;
        float a = row[k], b = row[k + half];
        float c = cosines[pos * half + k], s = sines[pos * half + k];
        row[k] = a * c - b * s;
        row[k + half] = b * c + a * s;
    }
}

// Bytes to floats with a scale for each block of 32.
extern "C" __global__ void dequantized(const char4* quants, const float* scales, float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    char4 q = quants[i];
    float scale = scales[i / 8];
    out[i] = make_float4(q.x * scale, q.y * scale, q.z * scale, q.w * scale);
}
