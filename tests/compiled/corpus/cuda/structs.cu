// Arrays of structures of 12, 16, 20 and 24 bytes, and structures of arrays.

struct Vector { float x, y, z; };
struct __align__(16) Particle { float x, y, z, mass; };
struct Pixel { int id; float r, g, b, a; };
struct Body { double x, y, z; };

extern "C" __global__ void scale_12_bytes(Vector* items, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        items[i].x *= factor;
        items[i].y *= factor;
        items[i].z *= factor;
    }
}

extern "C" __global__ void move_16_bytes(Particle* items, float step, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Particle one = items[i];
        one.x += step * one.mass;
        one.y -= step * one.mass;
        items[i] = one;
    }
}

extern "C" __global__ void blend_20_bytes(const Pixel* in, Pixel* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Pixel one = in[i];
    out[i].id = one.id;
    out[i].r = one.r * one.a;
    out[i].g = one.g * one.a;
    out[i].b = one.b * one.a;
}

extern "C" __global__ void norms_24_bytes(const Body* bodies, double* norms, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        const Body& one = bodies[i];
        norms[i] = sqrt(one.x * one.x + one.y * one.y + one.z * one.z);
    }
}

extern "C" __global__ void arrays_of_fields(const float* x, const float* y, const float* z, float* norms, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) norms[i] = sqrtf(x[i] * x[i] + y[i] * y[i] + z[i] * z[i]);
}

// All pairs of bodies, a tile of them in shared memory at a time.
extern "C" __global__ void forces(const float4* __restrict__ bodies, float3* __restrict__ found, int n) {
    __shared__ float4 tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = bodies[i];
    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
    for (int start = 0; start < n; start += blockDim.x) {
        tile[threadIdx.x] = bodies[start + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < blockDim.x; ++j) {
            float4 other = tile[j];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-6f);
            float s = other.w * r * r * r;
            sum.x += dx * s;
            sum.y += dy * s;
            sum.z += dz * s;
        }
        __syncthreads();
    }
    found[i] = sum;
}

// Structures of 12 bytes in shared memory, read by other threads than wrote them.
extern "C" __global__ void reversed_12_bytes(const Vector* in, Vector* out) {
    __shared__ Vector tile[96];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = in[at];
    __syncthreads();
    out[at] = tile[blockDim.x - 1 - threadIdx.x];
}
