// Thread: https://github.com/camenduru/simple-knn/pull/14
extern "C" __global__ void nearest_three(float* distances, const float3* points, int count) {
    int query = blockIdx.x * blockDim.x + threadIdx.x;
    float3 own = points[query];
    float first = 1e30f, second = 1e30f, third = 1e30f;
    for (int i = 0; i < count; ++i) {
        float3 other = points[i];
        float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
        float square = i == query ? 1e30f : dx * dx + dy * dy + dz * dz;
        third = fminf(third, fmaxf(second, square));
        second = fminf(second, fmaxf(first, square));
        first = fminf(first, square);
    }
    distances[query] = (first + second + third) / 3.0f;
}
