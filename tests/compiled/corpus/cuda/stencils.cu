// Stencils in one, two and three dimensions, from global memory and with halos in shared memory.

constexpr int RADIUS = 3;
constexpr int BLOCK = 256;

__constant__ float weights[2 * RADIUS + 1];

extern "C" __global__ void stencil_1d_global(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < RADIUS || i >= n - RADIUS) return;
    float sum = 0.0f;
#pragma unroll
    for (int offset = -RADIUS; offset <= RADIUS; ++offset) sum += weights[offset + RADIUS] * in[i + offset];
    out[i] = sum;
}

extern "C" __global__ void stencil_1d_shared(const float* in, float* out, int n) {
    __shared__ float tile[BLOCK + 2 * RADIUS];
    int global = blockIdx.x * blockDim.x + threadIdx.x;
    int local = threadIdx.x + RADIUS;
    tile[local] = global < n ? in[global] : 0.0f;
    if (threadIdx.x < RADIUS) {
        tile[local - RADIUS] = global >= RADIUS ? in[global - RADIUS] : 0.0f;
        tile[local + BLOCK] = global + BLOCK < n ? in[global + BLOCK] : 0.0f;
    }
    __syncthreads();
    if (global >= n) return;
    float sum = 0.0f;
    for (int offset = -RADIUS; offset <= RADIUS; ++offset) sum += tile[local + offset];
    out[global] = sum;
}

extern "C" __global__ void stencil_2d_global(const float* in, float* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
        int at = y * width + x;
        out[at] = 0.25f * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width]) - in[at];
    }
}

extern "C" __global__ void stencil_2d_shared(const float* in, float* out, int width, int height) {
    __shared__ float tile[18][18];
    int x = blockIdx.x * 16 + threadIdx.x;
    int y = blockIdx.y * 16 + threadIdx.y;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    bool inside = x < width && y < height;
    tile[ty][tx] = inside ? in[y * width + x] : 0.0f;
    if (threadIdx.x == 0) tile[ty][0] = inside && x > 0 ? in[y * width + x - 1] : 0.0f;
    if (threadIdx.x == 15) tile[ty][17] = y < height && x + 1 < width ? in[y * width + x + 1] : 0.0f;
    if (threadIdx.y == 0) tile[0][tx] = inside && y > 0 ? in[(y - 1) * width + x] : 0.0f;
    if (threadIdx.y == 15) tile[17][tx] = x < width && y + 1 < height ? in[(y + 1) * width + x] : 0.0f;
    __syncthreads();
    if (inside)
        out[y * width + x] =
            0.2f * (tile[ty][tx] + tile[ty - 1][tx] + tile[ty + 1][tx] + tile[ty][tx - 1] + tile[ty][tx + 1]);
}

extern "C" __global__ void stencil_3d(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
    int at = (z * ny + y) * nx + x;
    out[at] = in[at] * -6.0f + in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - nx * ny] + in[at + nx * ny];
}

// Planes are marched along z: the middle one is in shared memory, its neighbours in registers.
extern "C" __global__ void stencil_3d_marching(const float* in, float* out, int nx, int ny, int nz) {
    __shared__ float plane[8 + 2][32 + 2];
    int x = blockIdx.x * 32 + threadIdx.x + 1;
    int y = blockIdx.y * 8 + threadIdx.y + 1;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int slice = nx * ny;
    int at = slice + y * nx + x;
    float below = in[at - slice], here = in[at], above;
    for (int z = 1; z < nz - 1; ++z) {
        above = in[at + slice];
        __syncthreads();
        plane[ty][tx] = here;
        if (threadIdx.y == 0) {
            plane[0][tx] = in[at - nx];
            plane[9][tx] = in[at + 8 * nx];
        }
        if (threadIdx.x == 0) {
            plane[ty][0] = in[at - 1];
            plane[ty][33] = in[at + 32];
        }
        __syncthreads();
        out[at] = below + above + plane[ty - 1][tx] + plane[ty + 1][tx] + plane[ty][tx - 1] + plane[ty][tx + 1] - 6.0f * here;
        below = here;
        here = above;
        at += slice;
    }
}

// A box of 3 x 3 pixels of one byte.
extern "C" __global__ void blur_bytes(const unsigned char* in, unsigned char* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int sum = 0, count = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            int px = x + dx, py = y + dy;
            if (px >= 0 && px < width && py >= 0 && py < height) {
                sum += in[py * width + px];
                ++count;
            }
        }
    out[y * width + x] = sum / count;
}
