// Dynamic shared memory, carved into an int array and a double array: out[t] = reversed int plus the neighbour's double.
extern __shared__ double dynamic[];

extern "C" __global__ void dynamic_shared(double* out) {
    int t = threadIdx.x, n = blockDim.x;
    double* values = dynamic;
    int* keys = (int*)(values + n);
    values[t] = t * 0.5;
    keys[t] = 10 * t;
    __syncthreads();
    out[t] = keys[n - 1 - t] + values[(t + 1) % n];
}
