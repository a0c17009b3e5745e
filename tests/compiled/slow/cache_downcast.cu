// Thread: https://github.com/sgl-project/sglang/pull/19103
#include <cuda_bf16.h>
#include <cuda_fp8.h>

extern "C" __global__ void cache_downcast(__nv_fp8_e4m3* out, const __nv_bfloat16* in, float scale, int heads) {
    int first = blockIdx.x * heads * 128;
    for (int head = 0; head < heads; ++head) {
        int index = first + head * 128 + threadIdx.x;
        float value = __bfloat162float(in[index]);
        out[index] = __nv_fp8_e4m3(value * scale);
    }
}
