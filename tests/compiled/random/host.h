// What the lines of random kernels mean to a compiler of C++: each access is written to stdout, none is made.
// Each thread is a context of its own. It waits where threads do something together.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>
#include <ucontext.h>

struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
struct Two { unsigned a, b; };
struct Three { unsigned a, b, c; };
struct Four { unsigned a, b, c, d; };
struct Triple { unsigned x, y, z; };
typedef unsigned long long u64;

static unsigned char *const SHARED = (unsigned char *)(u64(1) << 60);
static Triple threadIdx, blockIdx, blockDim, gridDim;
static unsigned static_bytes;

struct Row { int kernel, block, thread, line, kind, bytes; u64 address; };
static int kernel_now, block_now, thread_now;

static void told(int line, int kind, const void *p, int bytes)
{
    Row row = {kernel_now, block_now, thread_now, line, kind, bytes, (u64)p};
    fwrite(&row, sizeof row, 1, stdout);
}

static unsigned byte_at(u64 a) { return (unsigned)((a * 167 + (a >> 8) * 59 + 13) & 255); }
static u64 bytes_at(const void *p, int count)
{
    u64 v = 0;
    for (int i = 0; i < count; i++) v |= (u64)byte_at((u64)p + i) << (8 * i);
    return v;
}

template <class T> struct Place {
    T *p; int line;
    void operator=(const T &) const { told(line, 1, p, sizeof(T)); }
};
template <class T> Place<T> place(int line, T *p) { return {p, line}; }
#define PLAIN(T) static unsigned folded(Place<T> at) { told(at.line, 0, at.p, sizeof(T)); return (unsigned)(T)bytes_at(at.p, sizeof(T)); }
PLAIN(unsigned char) PLAIN(signed char) PLAIN(unsigned short) PLAIN(short) PLAIN(unsigned) PLAIN(int)
template <class T> unsigned folded(Place<T> at) { told(at.line, 0, at.p, sizeof(T)); return 0; }
static unsigned folded(unsigned) { return 0; }
template <class T> unsigned atomic(int line, T *p) { told(line, 2, p, sizeof(T)); return 0u; }
#define PLACE(T, p, i) place(__LINE__, (T *)(p) + (i))
#define AT(T, p, i) PLACE(T, p, i)
#define VOLATILE_AT(T, p, i) PLACE(T, p, i)
#define ATOMIC(operation, T, p, i, ...) atomic(__LINE__, (T *)(p) + (i))
#define GET(T, got, p, i) got = folded(PLACE(T, p, i))
#define PUT(T, p, i) PLACE(T, p, i) = T()
#define GET_Two(got, p, i) GET(Two, got, p, i)
#define GET_Three(got, p, i) GET(Three, got, p, i)
#define GET_Four(got, p, i) GET(Four, got, p, i)
#define GET_uint2_GLOBAL(got, p, i) GET(uint2, got, p, i)
#define GET_uint2_SHARED(got, p, i) GET(uint2, got, p, i)
#define GET_uint4_GLOBAL(got, p, i) GET(uint4, got, p, i)
#define GET_uint4_SHARED(got, p, i) GET(uint4, got, p, i)
#define PUT_Two(p, i, v) PUT(Two, p, i)
#define PUT_Three(p, i, v) PUT(Three, p, i)
#define PUT_Four(p, i, v) PUT(Four, p, i)
#define PUT_uint2_GLOBAL(p, i, v) PUT(uint2, p, i)
#define PUT_uint2_SHARED(p, i, v) PUT(uint2, p, i)
#define PUT_uint4_GLOBAL(p, i, v) PUT(uint4, p, i)
#define PUT_uint4_SHARED(p, i, v) PUT(uint4, p, i)
static uint2 made_uint2(unsigned) { return {}; }
static uint4 made_uint4(unsigned) { return {}; }
static Two made_Two(unsigned) { return {}; }
static Three made_Three(unsigned) { return {}; }
static Four made_Four(unsigned) { return {}; }
#define FENCE
#define FIXED(bytes) unsigned char *const fixed = SHARED
#define GIVEN unsigned char *const given = SHARED + static_bytes

template <class A, class B> auto min(A a, B b) -> decltype(a + b) { return b < a ? b : a; }
template <class A, class B> auto max(A a, B b) -> decltype(a + b) { return a < b ? b : a; }
static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((u64)a * b >> 32); }
static int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static u64 __umul64hi(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
static int __popc(unsigned a) { return __builtin_popcount(a); }
static int __popcll(u64 a) { return __builtin_popcountll(a); }
static int __clz(int a) { return a ? __builtin_clz((unsigned)a) : 32; }
static int __clzll(long long a) { return a ? __builtin_clzll((u64)a) : 64; }
static int __ffs(int a) { return __builtin_ffs(a); }
static u64 __brevll(u64 a) { u64 r = 0; for (int i = 0; i < 64; i++) r |= (a >> i & 1) << (63 - i); return r; }
static unsigned __brev(unsigned a) { return (unsigned)(__brevll(a) >> 32); }
static unsigned __byte_perm(unsigned x, unsigned y, unsigned s)
{
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        unsigned c = s >> (4 * i);
        r |= (((c & 4) ? y : x) >> (8 * (c & 3)) & 255) << (8 * i);
    }
    return r;
}
static unsigned __funnelshift_l(unsigned l, unsigned h, unsigned s) { s &= 31; return s ? h << s | l >> (32 - s) : h; }
static unsigned __funnelshift_r(unsigned l, unsigned h, unsigned s) { s &= 31; return s ? h << (32 - s) | l >> s : l; }
static unsigned __funnelshift_lc(unsigned l, unsigned h, unsigned s) { return s >= 32 ? l : __funnelshift_l(l, h, s); }

// -- threads that wait for each other: what one offers stays for a round, while it may offer the next
static std::vector<ucontext_t> contexts;
static std::vector<std::vector<char>> stacks;
static std::vector<bool> ended;
static ucontext_t scheduler;
static std::function<void()> body_now;
static u64 offered[2][1024];
static std::vector<unsigned> rounds;

static const u64 *exchanged(u64 mine)
{
    int me = thread_now;
    u64 *all = offered[rounds[me]++ & 1];
    all[me] = mine;
    swapcontext(&contexts[me], &scheduler);
    return all + me / 32 * 32;
}
static int lane() { return thread_now % 32; }
static void __syncthreads() { exchanged(0); }
template <class T> T shuffled(T v, int from, bool outside) { const u64 *all = exchanged((u64)v); return (T)all[outside ? lane() : from]; }
template <class T> T __shfl_sync(unsigned, T v, int from, int width = 32) { return shuffled(v, lane() / width * width + (from & (width - 1)), false); }
template <class T> T __shfl_up_sync(unsigned, T v, unsigned d, int width = 32) { int from = lane() - (int)d; return shuffled(v, from, from < lane() / width * width); }
template <class T> T __shfl_down_sync(unsigned, T v, unsigned d, int width = 32) { int from = lane() + (int)d; return shuffled(v, from, from >= lane() / width * width + width); }
template <class T> T __shfl_xor_sync(unsigned, T v, int mask, int = 32) { return shuffled(v, lane() ^ mask, false); }
static unsigned __ballot_sync(unsigned, int v) { const u64 *all = exchanged(v != 0); unsigned r = 0; for (int i = 0; i < 32; i++) r |= (unsigned)all[i] << i; return r; }
static int __any_sync(unsigned m, int v) { return __ballot_sync(m, v) != 0; }
static int __all_sync(unsigned m, int v) { return __ballot_sync(m, v) == 0xffffffffu; }
static unsigned __match_any_sync(unsigned, unsigned v) { const u64 *all = exchanged(v); unsigned r = 0; for (int i = 0; i < 32; i++) r |= (unsigned)(all[i] == v) << i; return r; }
#define REDUCE(name, step) static unsigned name(unsigned, unsigned v) { const u64 *all = exchanged(v); unsigned r = (unsigned)all[0]; for (int i = 1; i < 32; i++) { unsigned o = (unsigned)all[i]; r = step; } return r; }
REDUCE(__reduce_add_sync, r + o) REDUCE(__reduce_min_sync, r < o ? r : o) REDUCE(__reduce_max_sync, r > o ? r : o)
REDUCE(__reduce_and_sync, r & o) REDUCE(__reduce_or_sync, r | o) REDUCE(__reduce_xor_sync, r ^ o)

static void entry() { body_now(); ended[thread_now] = true; swapcontext(&contexts[thread_now], &scheduler); }

static void launch(int number, Triple grid, Triple block, unsigned fixed_bytes, std::function<void()> body)
{
    int threads = block.x * block.y * block.z;
    kernel_now = number; gridDim = grid; blockDim = block; static_bytes = fixed_bytes; body_now = body;
    contexts.resize(threads); stacks.resize(threads);
    for (block_now = 0; block_now < (int)(grid.x * grid.y * grid.z); block_now++) {
        blockIdx = {block_now % grid.x, block_now / grid.x % grid.y, block_now / grid.x / grid.y};
        ended.assign(threads, false); rounds.assign(threads, 0);
        for (int t = 0; t < threads; t++) {
            stacks[t].resize(1 << 16);
            getcontext(&contexts[t]);
            contexts[t].uc_stack.ss_sp = stacks[t].data(); contexts[t].uc_stack.ss_size = 1 << 16; contexts[t].uc_link = nullptr;
            makecontext(&contexts[t], entry, 0);
        }
        for (bool more = true; more;) {
            more = false;
            for (thread_now = 0; thread_now < threads; thread_now++) {
                if (ended[thread_now]) continue;
                more = true;
                unsigned t = thread_now;
                threadIdx = {t % block.x, t / block.x % block.y, t / block.x / block.y};
                swapcontext(&scheduler, &contexts[thread_now]);
            }
        }
    }
}

#define __device__ static
#define __noinline__ __attribute__((noinline))
#define __global__
#define __restrict__
