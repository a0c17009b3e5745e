// Thread: https://forums.developer.nvidia.com/t/can-i-avoid-using-atomicadd-with-this-kernel/36499
extern "C" __global__ void moments_atomic(float* moments, const float4* bodies, int orders) {
    float4 body = bodies[blockIdx.x * blockDim.x + threadIdx.x];
    float distance = sqrtf(body.x * body.x + body.y * body.y + body.z * body.z);
    float term = body.w;
    for (int order = 0; order < orders; ++order) {
        atomicAdd(&moments[order], term);
        term *= distance;
    }
}
