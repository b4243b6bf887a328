// Recursive device functions: Ackermann of (lane % 3, lane / 3 % 4), Fibonacci of lane % 12 and factorial of lane % 13.
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ unsigned factorial(unsigned n) { return n == 0 ? 1 : n * factorial(n - 1); }

extern "C" __global__ void recursion(unsigned* out) {
    unsigned lane = threadIdx.x;
    out[lane] = ackermann(lane % 3, lane / 3 % 4);
    out[32 + lane] = fibonacci(lane % 12);
    out[64 + lane] = factorial(lane % 13);
}
