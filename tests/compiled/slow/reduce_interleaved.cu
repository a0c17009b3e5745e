// Thread: https://forums.developer.nvidia.com/t/reduction-optimization-1-not-agree-with-performances-explanation/4702
extern "C" __global__ void reduce_interleaved(int* sums, const int* in) {
    __shared__ int partial[256];
    int thread = threadIdx.x;
    partial[thread] = in[blockIdx.x * 256 + thread];
    __syncthreads();
    for (int distance = 1; distance < 256; distance *= 2) {
        if (thread % (2 * distance) == 0) {
            partial[thread] += partial[thread + distance];
        }
        __syncthreads();
    }
    if (thread == 0) {
        sums[blockIdx.x] = partial[0];
    }
}
