// Thread: https://github.com/siboehm/SGEMM_CUDA/issues/7
extern "C" __global__ void product_rows_on_x(float* c, const float* a, const float* b, int n, int depth) {
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < depth; ++k) {
        float left = a[x * depth + k];
        sum += left * b[k * n + y];
    }
    c[x * n + y] = sum;
}
