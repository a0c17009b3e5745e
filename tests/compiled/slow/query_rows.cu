// Thread: https://github.com/kekzl/imp/pull/484
constexpr int kHead = 128;
constexpr int kRows = 64;

extern "C" __global__ void query_rows(int* scores, const uint4* queries, const int* key) {
    __shared__ __align__(16) unsigned char query[kRows * kHead];
    uint4* packed = reinterpret_cast<uint4*>(query);
    for (int i = threadIdx.x; i < kRows * kHead / 16; i += blockDim.x) {
        packed[i] = queries[blockIdx.x * (kRows * kHead / 16) + i];
    }
    __syncthreads();
    int lane = threadIdx.x % 32;
    int row = threadIdx.x / 32 * 16 + lane / 4;
    int score = 0;
    for (int step = 0; step < kHead / 16; ++step) {
        int fragment = *reinterpret_cast<const int*>(&query[row * kHead + step * 16 + lane % 4 * 4]);
        score = __dp4a(fragment, key[step * 4 + lane % 4], score);
    }
    scores[blockIdx.x * blockDim.x + threadIdx.x] = score;
}
