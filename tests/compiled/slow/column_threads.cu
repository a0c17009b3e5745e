// Thread: https://github.com/NVIDIA/cutlass/issues/1882
constexpr int kRows = 128;
constexpr int kPairs = 16;

extern "C" __global__ void column_threads(unsigned int* out, const unsigned int* in) {
    __shared__ unsigned int tile[kRows * kPairs];
    int row = threadIdx.x % 16;
    int pair = threadIdx.x / 16;
    int first = blockIdx.x * kRows * kPairs;
    for (int pass = 0; pass < kRows / 16; ++pass) {
        unsigned int halves = in[first + pass * 256 + threadIdx.x];
        tile[(pass * 16 + row) * kPairs + pair] = halves;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kRows * kPairs; i += 256) {
        out[first + i] = tile[i];
    }
}
