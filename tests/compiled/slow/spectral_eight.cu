// Thread: https://github.com/ExtremeFLOW/neko/issues/549
constexpr int kPoints = 8;

extern "C" __global__ void spectral_eight(double* out, const double* field, const double* derivative) {
    __shared__ double slope[kPoints * kPoints];
    __shared__ double plane[kPoints * kPoints];
    int i = threadIdx.x;
    int j = threadIdx.y;
    int point = i + j * kPoints;
    int element = blockIdx.x * kPoints * kPoints;
    slope[point] = derivative[point];
    plane[point] = field[element + point];
    __syncthreads();
    double sum = 0.0;
#pragma unroll 1
    for (int k = 0; k < kPoints; ++k) {
        double factor = slope[k + i * kPoints];
        sum += factor * plane[k + j * kPoints];
    }
    out[element + point] = sum;
}
