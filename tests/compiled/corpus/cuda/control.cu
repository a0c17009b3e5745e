// Branches and loops: early ends, trip counts of arguments and of data, switches, calls, arrays of a thread.

extern "C" __global__ void branches(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = in[i];
    if (threadIdx.x % 4 == 0) {
        out[i] = value * 2.0f;
    } else if (threadIdx.x % 4 == 1) {
        out[i] = value + in[(i + 7) % n];
    } else {
        if (i & 8) return;
        out[i] = -value;
    }
}

extern "C" __global__ void nested_loops(const float* in, float* out, int rows, int cols, int depth) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int r = 0; r < rows; ++r)
        for (int c = r; c < cols; c += 2)
            for (int d = 0; d < depth; ++d) sum += in[(r * cols + c) * depth + d] * (i + 1);
    out[i] = sum;
}

extern "C" __global__ void triangle(const float* in, float* out, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    float sum = 0.0f;
    for (int col = 0; col <= row; ++col) sum += in[row * n + col];
    out[row] = sum;
}

extern "C" __global__ void collatz(int* steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned value = i + 1;
    int count = 0;
    while (value != 1) {
        value = value % 2 ? 3 * value + 1 : value / 2;
        ++count;
    }
    steps[i] = count;
}

extern "C" __global__ void binary_search(const int* sorted, const int* wanted, int* found, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    int key = wanted[i], low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    found[i] = low;
}

extern "C" __global__ void operations(const float* a, const float* b, float* out, int n, int mode) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        switch ((i / 8 + mode) % 6) {
            case 0: out[i] = a[i] + b[i]; break;
            case 1: out[i] = a[i] - b[n - 1 - i]; break;
            case 2: out[i] = a[i / 2] * 3.0f; break;
            case 3: out[i] = b[i]; break;
            case 4: out[i] = a[i] * b[i] + a[(i + 1) % n]; break;
            default: out[i] = 0.0f;
        }
    }
}

extern "C" __global__ void divided(const int* in, int* out, int n, int width, int pitch, int period) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int row = i / width, col = i % width;
    out[row * pitch + col] = in[row * pitch + col % period];
}

extern "C" __global__ void divided_long(const float* in, float* out, long long n, long long width) {
    long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long rows = n / width;
    out[i % width * rows + i / width] = in[i];
}

extern "C" __global__ void local_array(const int* in, int* out, int n, int turns) {
    int window[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < 32; ++j) window[j] = in[(i + j) % n];
    for (int j = 0; j < turns; ++j) {
        int at = (i * 5 + j * 11) & 31;
        window[at] += window[(at + 3) & 31];
    }
    out[i] = window[i & 31] + window[turns & 31];
}

__noinline__ __device__ float weighed(const float* row, int length, float weight) {
    float sum = 0.0f;
    for (int i = 0; i < length; ++i) sum += row[i] * weight;
    return sum;
}

__noinline__ __device__ void put(float* tile, int at, float value) {
    tile[at ^ (at >> 3 & 3)] = value;
}

extern "C" __global__ void calls(const float* in, float* out, int length) {
    __shared__ float tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    put(tile, threadIdx.x, weighed(in + i * length, length, 0.5f));
    __syncthreads();
    out[i] = tile[threadIdx.x] + weighed(in + blockIdx.x, 3, 2.0f);
}

// 10 x 6 threads: a block that is no multiple of a warp, in two dimensions.
extern "C" __global__ void odd_block(const float* in, float* out, int width, int height) {
    __shared__ float tile[6][11];
    int x = blockIdx.x * 10 + threadIdx.x, y = blockIdx.y * 6 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = x < width && y < height ? in[y * width + x] : 0.0f;
    __syncthreads();
    if (x < width && y < height) out[y * width + x] = tile[5 - threadIdx.y][9 - threadIdx.x];
}

extern "C" __global__ void cubes(const int* in, int* out, int nx, int ny, int nz) {
    __shared__ int cube[4][4][9];
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z * 4 + threadIdx.z;
    int at = (z * ny + y) * nx + x;
    if (x < nx && y < ny && z < nz) cube[threadIdx.z][threadIdx.y][threadIdx.x] = in[at];
    __syncthreads();
    if (x < nx && y < ny && z < nz) out[at] = cube[threadIdx.y][threadIdx.z][threadIdx.x];
}
