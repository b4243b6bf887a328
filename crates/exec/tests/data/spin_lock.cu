// A lock contended by the lanes of one warp and by several warps and blocks. It finishes only if a lane that holds the
// lock can run on while its neighbours spin: independent thread scheduling.
extern "C" __global__ void spin_lock(int* lock, volatile int* counter, int* tickets) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    int ticket = *counter;
    *counter = ticket + 1;
    tickets[ticket] = thread + 1 > 0;
    __threadfence();
    atomicExch(lock, 0);
}
