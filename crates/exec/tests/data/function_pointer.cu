// Indirect calls through a table of device functions; neighbouring lanes call different functions.
typedef int (*Operation)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int subtract(int a, int b) { return a - b; }
__device__ __noinline__ int multiply(int a, int b) { return a * b; }
__device__ __noinline__ int larger(int a, int b) { return a > b ? a : b; }
__device__ Operation table[4] = {add, subtract, multiply, larger};

extern "C" __global__ void function_pointer(const int* which, const int* a, const int* b, int* out) {
    int lane = threadIdx.x;
    out[lane] = table[which[lane]](a[lane], b[lane]);
}
