// Thread: https://forums.developer.nvidia.com/t/utilize-registers/72090
extern "C" __global__ void digits_local(int* counts, const int* values, int each) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    int digits[10] = {};
    for (int i = 0; i < each; ++i) {
        int digit = values[i * threads + thread] % 10;
        digits[digit] += 1;
    }
    for (int digit = 0; digit < 10; ++digit) {
        counts[digit * threads + thread] = digits[digit];
    }
}
