// Calls of every kind, structures by value, packed and nested initial values. PTX: nvcc -ptx -arch=sm_80 calls.cu
#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
struct Big { int a[20]; double d; char c; short s[3]; };
struct Base { __device__ virtual int f(int x) = 0; int k; };
struct D1 : Base { __device__ int f(int x) override { return x * 3 + k; } };
struct D2 : Base { __device__ int f(int x) override { return x - k; } };
__device__ __noinline__ Big mk(Big b, int i) { b.a[i % 20] += i; b.c = (char)i; b.s[1] = -i; return b; }
__device__ __noinline__ long long fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
__device__ int (*table[2])(int);
__device__ __noinline__ int f0(int x) { return x + 1; }
__device__ __noinline__ int f1(int x) { return x * 2; }
__device__ int (*ctable[2])(int) = {f0, f1};
__constant__ float cw[8] = {1.f, 2.f, -3.f};
__device__ char msg[] = "hello";
__device__ const char* msgs[2] = {msg, msg + 2};
struct __attribute__((packed)) P { char c; const char* p; };
__device__ P packed[2] = {{1, msg}, {2, msg + 1}};
__shared__ int sh[32];
__global__ void big(Big b, Big* o, int i) { *o = mk(b, i); }
__global__ void virt(int* o, int sel) { D1 d1; D2 d2; d1.k = sel; d2.k = 7; Base* b = sel & 1 ? (Base*)&d1 : (Base*)&d2; o[threadIdx.x] = b->f(threadIdx.x); }
__global__ void fp(int* o, int s) { o[threadIdx.x] = ctable[s & 1](threadIdx.x) + (int)fact(s); }
__global__ void pr(int x, double d) { printf("%d %f %s\n", x, d, msgs[x & 1]); int* p = (int*)malloc(16); p[0] = x; free(p); if (x == 3) { __trap(); } }
__global__ void half_k(__half* a, __nv_bfloat162* b, __half2* c) { int i = threadIdx.x; a[i] = __hfma(a[i], a[i + 1], a[i + 2]); b[i] = __hmax2(b[i], b[i + 1]); c[i] = h2exp(c[i]); atomicAdd(&c[i + 5], c[i]); }
__global__ void coop(int* o) { auto w = cg::tiled_partition<16>(cg::this_thread_block()); int v = threadIdx.x > 3; o[threadIdx.x] = w.shfl_down(o[threadIdx.x], 1) + w.ballot(v) + w.any(threadIdx.x & 1); cg::this_thread_block().sync(); }
