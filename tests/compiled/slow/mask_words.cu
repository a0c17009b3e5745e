// Thread: https://github.com/sonots/cumo/pull/313
extern "C" __global__ void mask_words(long long* out, const unsigned int* mask) {
    int word = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int bits = mask[word];
    for (int bit = 0; bit < 32; ++bit) {
        long long index = word * 32LL + bit;
        out[index] = bits >> bit & 1 ? index : -1;
    }
}
