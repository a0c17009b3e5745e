// Thread: https://github.com/NVIDIA/CUDALibrarySamples/issues/366
constexpr int kThreads = 128;
constexpr int kEach = 8;

extern "C" __global__ void fft_exchange(float2* out, const float2* in) {
    __shared__ float2 exchange[kThreads * kEach];
    int first = blockIdx.x * kThreads * kEach;
    float2 value[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        value[i] = in[first + i * kThreads + threadIdx.x];
    }
#pragma unroll
    for (int i = 0; i < kEach / 2; ++i) {
        float2 a = value[i];
        float2 b = value[i + kEach / 2];
        value[i] = make_float2(a.x + b.x, a.y + b.y);
        value[i + kEach / 2] = make_float2(a.x - b.x, a.y - b.y);
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        exchange[threadIdx.x * kEach + i] = value[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        out[first + i * kThreads + threadIdx.x] = exchange[i * kThreads + threadIdx.x];
    }
}
