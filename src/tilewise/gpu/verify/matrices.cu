// Probes of ldmatrix, stmatrix and movmatrix: which 16 bits of shared memory and of the registers meet.
//
// Each `Move` has one instruction of `registers` registers. A block is one case: 32 addresses, counted from
// where dynamic shared memory begins.

#define LANES 32
#define POISON 0xffffffffu

extern __shared__ uint4 memory[];

__device__ unsigned shared_address(unsigned offset) {
    return static_cast<unsigned>(__cvta_generic_to_shared(memory)) + offset;
}

// Shared memory holds `content`; what comes out are the registers of every lane.
template <class Move>
__device__ void load(const unsigned* addresses, const unsigned* content, int words, unsigned* out) {
    unsigned* shared = reinterpret_cast<unsigned*>(memory);
    for (int i = threadIdx.x; i < words; i += LANES) shared[i] = content[i];
    __syncwarp();
    const long long lane = blockIdx.x * LANES + threadIdx.x;
    unsigned held[Move::registers];
    Move::go(held, shared_address(addresses[lane]));
    for (int i = 0; i < Move::registers; ++i) out[lane * Move::registers + i] = held[i];
}

// Every lane holds its row of `content`; what comes out is shared memory, poisoned before.
template <class Move>
__device__ void store(const unsigned* addresses, const unsigned* content, int words, unsigned* out) {
    unsigned* shared = reinterpret_cast<unsigned*>(memory);
    for (int i = threadIdx.x; i < words; i += LANES) shared[i] = POISON;
    __syncwarp();
    unsigned held[Move::registers];
    for (int i = 0; i < Move::registers; ++i) held[i] = content[threadIdx.x * Move::registers + i];
    Move::go(held, shared_address(addresses[blockIdx.x * LANES + threadIdx.x]));
    __syncwarp();
    for (int i = threadIdx.x; i < words; i += LANES) out[blockIdx.x * words + i] = shared[i];
}

extern "C" __global__ void __launch_bounds__(LANES) probe_movmatrix(const unsigned* given, unsigned* out) {
    const int lane = blockIdx.x * LANES + threadIdx.x;
    unsigned moved;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(moved) : "r"(given[lane]));
    out[lane] = moved;
}
