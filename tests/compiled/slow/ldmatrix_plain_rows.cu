// Thread: https://github.com/NVIDIA/Fuser/pull/155
constexpr int kRows = 64;
constexpr int kRowBytes = 128;

extern "C" __global__ void ldmatrix_plain_rows(uint4* out, const uint4* in) {
    __shared__ __align__(128) unsigned char tile[kRows * kRowBytes];
    uint4* packed = reinterpret_cast<uint4*>(tile);
    int first = blockIdx.x * (kRows * kRowBytes / 16);
    for (int i = threadIdx.x; i < kRows * kRowBytes / 16; i += blockDim.x) {
        packed[i] = in[first + i];
    }
    __syncthreads();
    int lane = threadIdx.x % 32;
    int row = threadIdx.x / 32 * 16 + lane % 16;
    unsigned int base = static_cast<unsigned int>(__cvta_generic_to_shared(tile));
    for (int step = 0; step < kRowBytes / 32; ++step) {
        unsigned int address = base + row * kRowBytes + step * 32 + lane / 16 * 16;
        uint4 f;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(f.x), "=r"(f.y), "=r"(f.z), "=r"(f.w) : "r"(address));
        out[first + step * blockDim.x + threadIdx.x] = f;
    }
}
