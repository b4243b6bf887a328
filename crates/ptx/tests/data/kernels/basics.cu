#include <cstdio>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__constant__ float coefficients[16] = {1.f, 2.f, 0.5f};
__device__ int counter = 3;
__managed__ int shared_with_host = 7;
__device__ const char *names[2] = {"alpha", "beta"};

template <typename T> __device__ __noinline__ T horner(T x, int n) {
  T sum = 0;
  for (int i = 0; i < n; i++) sum = sum * x + (T)coefficients[i & 15];
  return sum;
}
template <typename T> __global__ void polynomial(const T *__restrict__ in, T *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = horner<T>(in[i], 9) / (T)3;
}
template __global__ void polynomial<float>(const float *, float *, int);
template __global__ void polynomial<double>(const double *, double *, int);

__global__ void dispatch(int *out, int op, int a, int b) {
  int r;
  switch (op) {
    case 0: r = a + b; break;
    case 1: r = a - b; break;
    case 2: r = a * b; break;
    case 3: r = b ? a / b : 0; break;
    case 4: r = a & b; break;
    case 5: r = a | b; break;
    case 6: r = a ^ b; break;
    case 7: r = __popc(a) + __clz(b); break;
    case 8: r = __brev(a) >> (b & 31); break;
    case 9: r = min(a, b); break;
    case 10: r = printf("op %d of %d\n", a, b); break;
    default: r = -1;
  }
  out[threadIdx.x] = r;
}
struct Shape { __device__ virtual float area() const { return 0; } };
struct Square : Shape { float side; __device__ Square(float s) : side(s) {} __device__ float area() const override { return side * side; } };
struct Disc : Shape { float r; __device__ Disc(float s) : r(s) {} __device__ float area() const override { return 3.14159f * r * r; } };
__global__ void areas(float *out, bool square, float size) {
  Square s(size); Disc d(size);
  const Shape *shape = square ? (const Shape *)&s : (const Shape *)&d;
  out[threadIdx.x] = shape->area();
}
typedef float (*unary)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ float half_of(float x) { return x / 2; }
__device__ unary table[2] = {twice, half_of};
__global__ void indirect(float *x, int which) { x[threadIdx.x] = table[which](x[threadIdx.x]); }

__global__ void block_sum(const float *in, float *out, int n) {
  extern __shared__ float scratch[];
  __shared__ int flags[32];
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? in[i] : 0.f;
  for (int d = 16; d; d /= 2) v += warp.shfl_down(v, d);
  if (warp.thread_rank() == 0) { scratch[threadIdx.x / 32] = v; flags[threadIdx.x / 32] = warp.any(v > 0); }
  block.sync();
  if (threadIdx.x == 0) { float s = 0; for (int w = 0; w < blockDim.x / 32; w++) s += scratch[w] * flags[w]; atomicAdd(out, s); }
}
__global__ void fences(volatile int *flag, int *data, unsigned long long *clocks) {
  data[threadIdx.x] = atomicCAS(&counter, 1, 2) + atomicExch(&shared_with_host, 4);
  __threadfence(); __threadfence_block(); __threadfence_system();
  *flag = 1; __syncthreads(); __syncwarp(0xff);
  clocks[0] = clock64(); clocks[1] = clock();
  unsigned smid; asm volatile("mov.u32 %0, %%smid;" : "=r"(smid)); clocks[2] = smid;
  asm volatile("{\n\t.reg .pred p, q;\n\tsetp.lt.and.s32 p|q, %1, %2, !p;\n\tselp.b32 %0, 1, 0, q;\n}" : "=r"(data[1]) : "r"(data[2]), "r"(data[3]));
  if (threadIdx.x > 900) __trap();
}
