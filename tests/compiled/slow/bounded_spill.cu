// Thread: https://github.com/halide/Halide/pull/9284
constexpr int kSide = 8;

extern "C" __global__ void __launch_bounds__(1024)
bounded_spill(float* c, const float* a, const float* b, int n, int depth) {
    int column = blockIdx.x * blockDim.x * kSide + threadIdx.x;
    int row = blockIdx.y * blockDim.y * kSide + threadIdx.y;
    float sum[kSide][kSide] = {};
    for (int k = 0; k < depth; ++k) {
        float left[kSide];
        float right[kSide];
        for (int i = 0; i < kSide; ++i) left[i] = a[k * n + row + i * 2];
        for (int j = 0; j < kSide; ++j) right[j] = b[k * n + column + j * 16];
        for (int i = 0; i < kSide; ++i)
            for (int j = 0; j < kSide; ++j) sum[i][j] += left[i] * right[j];
    }
    for (int i = 0; i < kSide; ++i)
        for (int j = 0; j < kSide; ++j) c[(row + i * 2) * n + column + j * 16] = sum[i][j];
}
