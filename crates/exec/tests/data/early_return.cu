// Threads that leave early do not hold up the others: odd lanes of each warp return, then a whole warp, and the rest still
// use a barrier, a ballot and an atomic. 96 threads; out is -1 where a thread left.
extern "C" __global__ void early_return(int* out, unsigned* ballot, int* count) {
    int t = threadIdx.x;
    out[t] = -1;
    if (t >= 64) return;
    __shared__ int shared[64];
    shared[t] = t * t;
    __syncthreads();
    if (t % 2 == 1) return;
    out[t] = shared[63 - t];
    atomicAdd(count, 1);
    unsigned votes = __ballot_sync(0x55555555u, t % 4 == 0);
    if (t == 0) *ballot = votes;
}
