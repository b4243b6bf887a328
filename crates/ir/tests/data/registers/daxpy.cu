// y += alpha * x in double precision with a grid-stride loop.
extern "C" __global__ void daxpy(int n, double alpha, const double* x, double* y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = alpha * x[i] + y[i];
}
