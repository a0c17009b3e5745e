// Thread: https://github.com/pytorch/pytorch/pull/5068
extern "C" __global__ void aliased_reload(float* out, float* in, float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * scale;
    out[i] += in[i] * in[i];
}
