#include <cuda.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
__global__ void tma_load(const __grid_constant__ CUtensorMap map, float *out) {
  __shared__ alignas(128) float tile[32 * 32];
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    int c[2] = {0, (int)blockIdx.x * 32};
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, c, &bar);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof(tile));
  }
  __syncthreads();
  while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
  out[threadIdx.x] = tile[threadIdx.x];
  asm volatile("griddepcontrol.wait;"); asm volatile("griddepcontrol.launch_dependents;");
}
#if __CUDA_ARCH_FEAT_SM90_ALL
__global__ void wgmma(float *d, uint64_t a, uint64_t b) {
  float r[4] = {0};
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0;\n wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;}" : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3]) : "l"(a), "l"(b));
  asm volatile("wgmma.commit_group.sync.aligned;"); asm volatile("wgmma.wait_group.sync.aligned 0;");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  for (int i = 0; i < 4; i++) d[threadIdx.x + i] = r[i];
}
#endif
#if __CUDA_ARCH_FEAT_SM100_ALL
__global__ void tensor_memory(uint64_t a, uint64_t b, uint32_t idesc, float *out) {
  __shared__ uint32_t taddr; __shared__ uint64_t bar;
  ptx::tcgen05_alloc(ptx::cta_group_1, &taddr, 32);
  asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0;\n tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;}" :: "r"(taddr), "l"(a), "l"(b), "r"(idesc));
  ptx::tcgen05_commit(ptx::cta_group_1, &bar);
  uint32_t r[4]; ptx::tcgen05_ld_32x32b(r, taddr); ptx::tcgen05_wait_ld();
  out[threadIdx.x] = r[0]; ptx::tcgen05_dealloc(ptx::cta_group_1, taddr, 32);
}
#endif
