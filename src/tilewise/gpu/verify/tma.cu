// One TMA load of one box into poisoned shared memory; the whole window goes back to the host as it is.
// Nothing here waits without a bound: a copy that never completes is told of, not waited for.

struct alignas(64) TensorMap {
    unsigned char bytes[128];
};

struct Request {
    int rank;
    int corner[5];    // the driver's order: fastest dimension first
    unsigned start;   // bytes after an address that is a multiple of 1024
    unsigned window;  // bytes that are poisoned and copied back
    unsigned bytes;   // bytes that the barrier is told to expect
    unsigned poison;
};

__device__ bool passed(unsigned barrier) {
    unsigned yes;
    asm volatile(
        "{\n"
        "  .reg .pred p;\n"
        "  mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;\n"
        "  selp.u32 %0, 1, 0, p;\n"
        "}\n"
        : "=r"(yes)
        : "r"(barrier)
        : "memory");
    return yes != 0;
}

__device__ bool passed_within(unsigned barrier, long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
        if (passed(barrier)) return true;
    }
    return passed(barrier);
}

__device__ void load(const TensorMap* map, const Request& r, unsigned to, unsigned barrier) {
    const int *c = r.corner;
    switch (r.rank) {
        case 1:
            asm volatile(
                "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                " [%0], [%1, {%3}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(c[0]) : "memory");
            break;
        case 2:
            asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                " [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(c[0]), "r"(c[1]) : "memory");
            break;
        case 3:
            asm volatile(
                "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(c[0]), "r"(c[1]),
                "r"(c[2]) : "memory");
            break;
        case 4:
            asm volatile(
                "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(c[0]), "r"(c[1]),
                "r"(c[2]), "r"(c[3]) : "memory");
            break;
        default:
            asm volatile(
                "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(c[0]),
                "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]) : "memory");
    }
}

// told[0]  1 where the expected bytes came, 0 where they did not
// told[1]  bytes that were missing, -1 where no number of missing bytes explains it
extern "C" __global__ void tilewise_land(const __grid_constant__ TensorMap map, const Request request,
                                         unsigned char* out, long long* told) {
    extern __shared__ unsigned char memory[];
    __shared__ alignas(8) unsigned long long state;
    const unsigned raw = static_cast<unsigned>(__cvta_generic_to_shared(memory));
    unsigned char* const base = memory + (1024 - raw % 1024) % 1024;
    const unsigned barrier = static_cast<unsigned>(__cvta_generic_to_shared(&state));
    for (unsigned i = threadIdx.x; i < request.window; i += blockDim.x) {
        base[i] = static_cast<unsigned char>(request.poison);
    }
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(base)) + request.start;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(request.bytes)
                     : "memory");
        load(&map, request, to, barrier);
        bool done = passed_within(barrier, 1 << 21);
        told[0] = done;
        long long missing = 0;
        while (!done && missing < request.bytes) {
            asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
            ++missing;
            done = passed(barrier);
        }
        told[1] = done ? missing : -1;
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < request.window; i += blockDim.x) {
        out[i] = base[i];
    }
}
