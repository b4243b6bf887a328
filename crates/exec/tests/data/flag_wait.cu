// Blocks that wait for each other: block b waits for the flag of block b + 1 and adds to its value, so that the last block
// must run while all others wait.
extern "C" __global__ void flag_wait(volatile int* flag, volatile int* value) {
    int b = blockIdx.x;
    if (threadIdx.x == 0) {
        int v = 1;
        if (b + 1 < gridDim.x) {
            while (flag[b + 1] == 0) {
            }
            __threadfence();
            v = value[b + 1] * 2 + 1;
        }
        value[b] = v;
        __threadfence();
        flag[b] = 1;
    }
}
