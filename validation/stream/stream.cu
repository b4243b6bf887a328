// Six streaming kernels over arrays of doubles, an element per thread: what memory bandwidth is measured with.
// The stencils leave their edges out. Make the PTX with: nvcc -ptx -arch=sm_80 -o sm_80.ptx stream.cu

extern "C" __global__ void init(double *a, double value, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = value;
}

extern "C" __global__ void read(double *a, const double *b, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) {
        double value = b[i];
        // Never true; without it nothing would be read.
        if (value == 123.0)
            a[i] = value;
    }
}

extern "C" __global__ void scale(double *a, const double *b, double factor, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = factor * b[i];
}

extern "C" __global__ void triad(double *a, const double *b, const double *c, double factor, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = b[i] + factor * c[i];
}

extern "C" __global__ void stencil3(double *a, const double *b, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i > 0 && i + 1 < n)
        a[i] = 0.5 * (b[i - 1] - 2.0 * b[i] + b[i + 1]);
}

extern "C" __global__ void stencil5(double *a, const double *b, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i > 1 && i + 2 < n)
        a[i] = 0.25 * (b[i - 2] - 0.5 * b[i - 1] - b[i] - 0.5 * b[i + 1] + b[i + 2]);
}
