// Thread: https://github.com/pytorch/pytorch/pull/152375
extern "C" __global__ void select_rows(short* out, const short* table, const int* rows, int columns) {
    const short* source = table + static_cast<long long>(rows[blockIdx.x]) * columns;
    short* target = out + static_cast<long long>(blockIdx.x) * columns;
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        target[column] = source[column];
    }
}
