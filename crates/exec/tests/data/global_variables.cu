// Module-scope global variables: initialised, zero-filled, a pointer to another variable, and one written by the kernel.
__device__ int numbers[6] = {10, 20, 30, 40};
__device__ int* second = &numbers[1];
__device__ unsigned counter;
__device__ const char message[] = "warp";

extern "C" __global__ void global_variables(int* out) {
    int lane = threadIdx.x;
    out[lane] = second[lane % 3] + numbers[4] + message[lane % 5];
    atomicAdd(&counter, lane);
    __syncthreads();
    out[32 + lane] = counter;
}
