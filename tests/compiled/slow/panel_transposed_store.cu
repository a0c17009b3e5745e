// Thread: https://github.com/siboehm/SGEMM_CUDA/issues/8
constexpr int kHeight = 128;
constexpr int kDepth = 8;

extern "C" __global__ void panel_transposed_store(float* out, const float* matrix, int width) {
    __shared__ float panel[kDepth * kHeight];
    int row = threadIdx.x / 2;
    int column = threadIdx.x % 2 * 4;
    const float* start = matrix + (blockIdx.y * kHeight + row) * width + blockIdx.x * kDepth + column;
    float4 four = *reinterpret_cast<const float4*>(start);
    panel[(column + 0) * kHeight + row] = four.x;
    panel[(column + 1) * kHeight + row] = four.y;
    panel[(column + 2) * kHeight + row] = four.z;
    panel[(column + 3) * kHeight + row] = four.w;
    __syncthreads();
    float* block = out + (blockIdx.y * gridDim.x + blockIdx.x) * kHeight * kDepth;
    for (int i = threadIdx.x; i < kHeight * kDepth; i += blockDim.x) {
        block[i] = panel[i];
    }
}
