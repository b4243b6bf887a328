// Generic addresses: one function reads through pointers that lead to global, shared, local or constant memory, chosen
// per lane; isspacep tells them apart.
__constant__ int constants[4] = {400, 401, 402, 403};
__device__ __noinline__ int read(const int* p, int i) { return p[i]; }

extern "C" __global__ void generic_pointers(const int* global, int* out, unsigned* space) {
    __shared__ int shared[4];
    int lane = threadIdx.x;
    if (lane < 4) shared[lane] = 200 + lane;
    int local[4];
    for (int i = 0; i < 4; ++i) local[i] = 300 + 10 * lane + i;
    __syncthreads();
    const int* p = lane % 4 == 0 ? global : lane % 4 == 1 ? shared : lane % 4 == 2 ? local : constants;
    out[lane] = read(p, lane / 8);
    space[lane] = __isGlobal(p) * 1 + __isShared(p) * 2 + __isLocal(p) * 4 + __isConstant(p) * 8;
    int* q = lane % 2 ? out + 32 + lane : &local[lane / 16];
    *q = lane;
    if (lane % 2 == 0) out[32 + lane] = local[lane / 16] + local[3];
}
