// Copies: of bytes, of doubles, of vectors, with strides, not aligned, and with indices.

extern "C" __global__ void copy_bytes(const unsigned char* in, unsigned char* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

extern "C" __global__ void copy_doubles(const double* in, double* out, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = in[i];
}

extern "C" __global__ void copy_float4(const float4* __restrict__ in, float4* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

extern "C" __global__ void copy_strided(const float* in, float* out, int n, int stride) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
    if (i < n) out[i] = in[i];
}

extern "C" __global__ void copy_offset(const float* in, float* out, int n, int offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + offset;
    if (i < n) out[i] = in[i];
}

extern "C" __global__ void saxpy_grid_stride(int n, float a, const float* x, float* y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void copy_shorts_reversed(const short* in, short* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[n - 1 - i] = in[i];
}

extern "C" __global__ void gather_rows(const float* table, const int* indices, float* out, int width) {
    int row = indices[blockIdx.x];
    for (int col = threadIdx.x; col < width; col += blockDim.x) out[blockIdx.x * width + col] = table[row * width + col];
}

extern "C" __global__ void gather_elements(const float* table, const int* indices, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[indices[i]];
}

extern "C" __global__ void scatter_elements(const double* in, const int* indices, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[indices[i]] = in[i];
}

// Interleaved channels apart: NHWC to NCHW.
extern "C" __global__ void channels_first(const float* in, float* out, int height, int width, int channels) {
    int total = height * width * channels;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        int x = i % width, y = i / width % height, c = i / (width * height);
        out[i] = in[(y * width + x) * channels + c];
    }
}
