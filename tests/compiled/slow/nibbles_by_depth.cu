// Thread: https://github.com/microsoft/onnxruntime/pull/31349
#include <cuda_fp16.h>

extern "C" __global__ void nibbles_by_depth(__half* out, const unsigned char* packed, float scale, int n, int depth) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    int k = index % depth;
    int row = index / depth;
    unsigned int two = packed[k * (n / 2) + row / 2];
    unsigned int code = row % 2 ? two >> 4 : two & 15;
    unsigned int exponent = code >> 1 & 3;
    float size = exponent ? (1.0f + 0.5f * (code & 1)) * (1 << (exponent - 1)) : 0.5f * (code & 1);
    out[index] = __float2half((code & 8 ? -size : size) * scale);
}
