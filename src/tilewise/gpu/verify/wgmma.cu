// A probe of one wgmma: every element of D spells, bit by bit, the index of the element that it read.
//
// LOG_PER_WORD, LOW, LAST, ONES_A and ONES_B come from the types: elements of a 32-bit word, masks of those
// whose number has a low bit set, the plane in which every element is one, and words of ones.

#define THREADS 128
#define STRANGE 0x80000000u

extern __shared__ uint4 memory[];

__device__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ unsigned dynamic_bytes() {
    unsigned bytes;
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    return bytes;
}

// The four bytes at an address, when each element holds bit `plane` of its index from address 0 on.
__device__ unsigned plane_word(unsigned address, int plane, unsigned ones) {
    if (plane >= LAST) return ones;
    if (plane < LOG_PER_WORD) return LOW[plane] & ones;
    return (address / 4) >> (plane - LOG_PER_WORD) & 1 ? ones : 0;
}

__device__ void fill(int plane, unsigned ones) {
    const unsigned base = shared_address(memory);
    const unsigned chunks = dynamic_bytes() / 16;
    for (unsigned chunk = threadIdx.x; chunk < chunks; chunk += THREADS) {
        const unsigned at = base + 16 * chunk;
        memory[chunk] = make_uint4(plane_word(at, plane, ones), plane_word(at + 4, plane, ones),
                                   plane_word(at + 8, plane, ones), plane_word(at + 12, plane, ones));
    }
}

__device__ void lay_over(const uint4* overlay, int chunks, unsigned at) {
    uint4* place = memory + (at - shared_address(memory)) / 16;
    for (int chunk = threadIdx.x; chunk < chunks; chunk += THREADS) place[chunk] = overlay[chunk];
}

// What one plane says of an element of D.
__device__ unsigned spelt(unsigned bits, unsigned one, int plane) {
    return bits == one ? 1u << plane : bits == 0 ? 0 : STRANGE;
}

template <class Wgmma>
__device__ void probe(const unsigned long long* a, const unsigned long long* b, const unsigned* selected,
                      int jobs, const uint4* registers, int registers_each, const uint4* overlay,
                      int overlay_chunks, int overlay_each, unsigned overlay_at, int planes,
                      int from_registers, unsigned* out) {
    for (int plane = 0; plane < planes; ++plane) {
        __syncthreads();
        fill(plane, from_registers ? ONES_B : ONES_A);
        __syncthreads();
        lay_over(overlay + static_cast<long long>(overlay_each) * plane, overlay_chunks, overlay_at);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        for (int job = blockIdx.x; job < jobs; job += gridDim.x) {
            typename Wgmma::Register d[Wgmma::registers] = {};
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            if (Wgmma::takes_registers && from_registers) {
                const long long which = static_cast<long long>(registers_each) * plane + selected[job];
                const uint4 row = registers[which * THREADS + threadIdx.x];
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                Wgmma::multiply(d, row, b[job]);
            } else {
                Wgmma::multiply(d, a[job], b[job]);
            }
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            Wgmma::settle(d);
            unsigned* words = out + static_cast<long long>(job) * Wgmma::elements * THREADS + threadIdx.x;
#pragma unroll
            for (int i = 0; i < Wgmma::elements; ++i) {
                const unsigned word = spelt(Wgmma::element(d, i), Wgmma::one, plane);
                words[i * THREADS] = plane ? words[i * THREADS] | word : word;
            }
        }
    }
}

// Where shared memory begins and how much of it there is: the host holds its addresses against them.
extern "C" __global__ void shared_memory(unsigned* out) {
    out[0] = shared_address(memory);
    out[1] = dynamic_bytes();
}
