// Thread: https://github.com/gprMax/gprMax/issues/582
extern "C" __global__ void source_table(int* cells, const int* sources, int ny, int nz, int volume) {
    int source = blockIdx.x * blockDim.x + threadIdx.x;
    int i = sources[source * 4 + 0];
    int j = sources[source * 4 + 1];
    int k = sources[source * 4 + 2];
    int polarisation = sources[source * 4 + 3];
    cells[source] = polarisation * volume + (i * ny + j) * nz + k;
}
