// What the lines of random kernels mean to a compiler of CUDA. Every access is on the line that has the macro.
#define AT(T, p, i) (((T *)(p))[i])
#define VOLATILE_AT(T, p, i) (((volatile T *)(p))[i])
#define ATOMIC(operation, T, p, i, ...) operation(&AT(T, p, i), __VA_ARGS__)
#define FENCE asm volatile("" ::: "memory")
#define FIXED(bytes) __shared__ __align__(16) unsigned char fixed[bytes]
#define GIVEN extern __shared__ __align__(16) unsigned char given[]

struct Two { unsigned a, b; };
struct Three { unsigned a, b, c; };
struct Four { unsigned a, b, c, d; };

static __device__ __forceinline__ unsigned folded(unsigned v) { return v; }
static __device__ __forceinline__ unsigned folded(int v) { return (unsigned)v; }
static __device__ __forceinline__ unsigned folded(unsigned long long v) { return (unsigned)v + 3u * (unsigned)(v >> 32); }
static __device__ __forceinline__ unsigned folded(float v) { return __float_as_uint(v); }
static __device__ __forceinline__ unsigned folded(uint2 v) { return v.x + 3u * v.y; }
static __device__ __forceinline__ unsigned folded(uint4 v) { return v.x + 3u * v.y + 5u * v.z + 7u * v.w; }
static __device__ __forceinline__ unsigned folded(Two v) { return v.a + 3u * v.b; }
static __device__ __forceinline__ unsigned folded(Three v) { return v.a + 3u * v.b + 5u * v.c; }
static __device__ __forceinline__ unsigned folded(Four v) { return v.a + 3u * v.b + 5u * v.c + 7u * v.d; }
static __device__ __forceinline__ uint2 made_uint2(unsigned v) { return make_uint2(v, v + 1u); }
static __device__ __forceinline__ uint4 made_uint4(unsigned v) { return make_uint4(v, v + 1u, v ^ 5u, ~v); }
static __device__ __forceinline__ Two made_Two(unsigned v) { Two it = {v, v + 1u}; return it; }
static __device__ __forceinline__ Three made_Three(unsigned v) { Three it = {v, v + 1u, ~v}; return it; }
static __device__ __forceinline__ Four made_Four(unsigned v) { Four it = {v, v + 1u, v ^ 5u, ~v}; return it; }

#define GET_Two(got, p, i) got = VOLATILE_AT(Two, p, i).a + 3u * VOLATILE_AT(Two, p, i).b
#define GET_Three(got, p, i) GET_Two(got, &AT(Three, p, i), 0); got += 5u * VOLATILE_AT(Three, p, i).c
#define GET_Four(got, p, i) GET_Three(got, &AT(Four, p, i), 0); got += 7u * VOLATILE_AT(Four, p, i).d
#define PUT_Two(p, i, v) VOLATILE_AT(Two, p, i).a = (v); VOLATILE_AT(Two, p, i).b = (v) + 1u
#define PUT_Three(p, i, v) PUT_Two(&AT(Three, p, i), 0, v); VOLATILE_AT(Three, p, i).c = ~(v)
#define PUT_Four(p, i, v) PUT_Three(&AT(Four, p, i), 0, v); VOLATILE_AT(Four, p, i).d = (v) ^ 5u

#define IN_SHARED(at) "r"((unsigned)__cvta_generic_to_shared(&(at)))
#define IN_GLOBAL(at) "l"(&(at))
#define GET_2(got, space, at) { unsigned a_, b_; \
    asm volatile("ld.volatile." space ".v2.u32 {%0, %1}, [%2];" : "=r"(a_), "=r"(b_) : at : "memory"); \
    got = a_ + 3u * b_; }
#define GET_4(got, space, at) { unsigned a_, b_, c_, d_; \
    asm volatile("ld.volatile." space ".v4.u32 {%0, %1, %2, %3}, [%4];" \
        : "=r"(a_), "=r"(b_), "=r"(c_), "=r"(d_) : at : "memory"); \
    got = a_ + 3u * b_ + 5u * c_ + 7u * d_; }
#define PUT_2(space, at, v) \
    asm volatile("st.volatile." space ".v2.u32 [%0], {%1, %2};" :: at, "r"(v), "r"((v) + 1u) : "memory")
#define PUT_4(space, at, v) \
    asm volatile("st.volatile." space ".v4.u32 [%0], {%1, %2, %1, %2};" :: at, "r"(v), "r"((v) + 1u) : "memory")
#define GET_uint2_GLOBAL(got, p, i) GET_2(got, "global", IN_GLOBAL(AT(uint2, p, i)))
#define GET_uint2_SHARED(got, p, i) GET_2(got, "shared", IN_SHARED(AT(uint2, p, i)))
#define GET_uint4_GLOBAL(got, p, i) GET_4(got, "global", IN_GLOBAL(AT(uint4, p, i)))
#define GET_uint4_SHARED(got, p, i) GET_4(got, "shared", IN_SHARED(AT(uint4, p, i)))
#define PUT_uint2_GLOBAL(p, i, v) PUT_2("global", IN_GLOBAL(AT(uint2, p, i)), v)
#define PUT_uint2_SHARED(p, i, v) PUT_2("shared", IN_SHARED(AT(uint2, p, i)), v)
#define PUT_uint4_GLOBAL(p, i, v) PUT_4("global", IN_GLOBAL(AT(uint4, p, i)), v)
#define PUT_uint4_SHARED(p, i, v) PUT_4("shared", IN_SHARED(AT(uint4, p, i)), v)

