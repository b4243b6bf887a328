#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void pipelined(const float4 *in, float *out, int n) {
  __shared__ float4 stage[2][128];
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline();
  for (int s = 0; s < 2; s++) { pipe.producer_acquire(); cuda::memcpy_async(&stage[s][threadIdx.x], &in[s * 128 + threadIdx.x], cuda::aligned_size_t<16>(16), pipe); pipe.producer_commit(); }
  float sum = 0;
  for (int i = 0; i < n; i++) { pipe.consumer_wait(); block.sync(); sum += stage[i & 1][127 - threadIdx.x].x; pipe.consumer_release(); }
  out[threadIdx.x] = sum;
}
__global__ void barriers(int *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  auto token = bar.arrive();
  out[threadIdx.x] = 1;
  bar.wait(std::move(token));
}
__global__ void scoped(cuda::atomic<int, cuda::thread_scope_device> *a, int *out) {
  out[0] = a->fetch_add(1, cuda::std::memory_order_acq_rel) + a->load(cuda::std::memory_order_acquire);
  a->store(3, cuda::std::memory_order_release);
}
#if __CUDA_ARCH__ >= 900
__global__ void __cluster_dims__(2, 1, 1) clustered(int *out) {
  __shared__ int value;
  auto cluster = cg::this_cluster();
  value = cluster.block_rank(); cluster.sync();
  out[threadIdx.x] = *cluster.map_shared_rank(&value, 1 - cluster.block_rank()); cluster.sync();
}
#endif
