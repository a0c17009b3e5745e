// Thread: https://github.com/deepspeedai/DeepSpeed/pull/8055
constexpr int kSide = 16;

extern "C" __global__ void transpose_unused_pad(float* out, const float* in, int rows, int columns) {
    __shared__ float tile[kSide * (kSide + 1)];
    int column = blockIdx.x * kSide + threadIdx.x;
    int row = blockIdx.y * kSide + threadIdx.y;
    tile[threadIdx.y * kSide + threadIdx.x] = in[row * columns + column];
    __syncthreads();
    int outRow = blockIdx.x * kSide + threadIdx.y;
    int outColumn = blockIdx.y * kSide + threadIdx.x;
    float value = tile[threadIdx.x * kSide + threadIdx.y];
    out[outRow * rows + outColumn] = value;
}
