// Thread: https://github.com/csarofeen/pytorch/issues/1089
constexpr int kVector = 16;

extern "C" __global__ void shifted_vector(float* out, const float* in, int shift) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    float vector[kVector] = {};
#pragma unroll 1
    for (int i = 0; i < shift; ++i) {
        vector[i] = in[i * threads + thread];
    }
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
        vector[i] = fmaxf(vector[i], 0.0f);
    }
#pragma unroll 1
    for (int i = 0; i < shift; ++i) {
        out[i * threads + thread] = vector[i];
    }
}
