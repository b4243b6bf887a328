#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <mma.h>
using namespace nvcuda;
__global__ void half_math(const half2 *a, half2 *b, const __nv_bfloat162 *c, __nv_bfloat162 *d, float *f) {
  int i = threadIdx.x;
  b[i] = __hfma2(a[i], a[i + 1], __hmul2(a[i], h2exp(a[i])));
  d[i] = __hfma2_relu(c[i], c[i + 1], c[i + 2]);
  f[i] = __half2float(__low2half(b[i])) + __bfloat162float(__high2bfloat16(d[i]));
  b[i + 32] = __hmax2(a[i], b[i]); b[i + 33] = __float2half2_rn(f[i]);
}
__global__ void double_math(double *x, float *y, long long *z, unsigned *u) {
  int i = threadIdx.x;
  x[i] = sqrt(x[i]) + 1.0 / x[i + 1] + fma(x[i], 2.5, -1e300) + rint(x[i]);
  y[i] = __expf(y[i]) + __sinf(y[i]) * __cosf(y[i]) + __logf(y[i]) + rsqrtf(y[i]) + tanhf(y[i]) + fdividef(y[i], 3.f) + __frcp_rz(y[i]) + powf(y[i], 1.7f);
  z[i] = z[i] / 10 + z[i + 1] % 7 + __mul64hi(z[i], z[i + 1]) + llrintf(y[i]) + __double_as_longlong(x[i]);
  u[i] = __umulhi(u[i], 77) + __funnelshift_l(u[i], u[i + 1], 5) + __byte_perm(u[i], u[i + 1], 0x3210) + __dp4a(u[i], u[i + 1], 3u) + __vabsdiffu4(u[i], u[i+1]) + __umul24(u[i], 3) + __sad(1, (int)u[i], u[i+1]);
  u[i + 1] = __ffs(u[i]) + __fns(u[i], 0, 3) + __reduce_add_sync(~0u, u[i]) + __match_any_sync(~0u, u[i]) + __ballot_sync(~0u, u[i] > 3) + __activemask();
}
__global__ void wmma_tile(const half *a, const half *b, float *c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.f);
  for (int k = 0; k < 4; k++) { wmma::load_matrix_sync(fa, a + 16 * k, 64); wmma::load_matrix_sync(fb, b + 16 * k, 64); wmma::mma_sync(fc, fa, fb, fc); }
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
__global__ void packed_add(unsigned long long *x, __int128 *y, char4 *c, short2 *s) {
  int i = threadIdx.x;
  y[i] = y[i] * y[i + 1] + (__int128)x[i];
  c[i].x += c[i].y * 3; s[i].x = s[i].y - 1;
  x[i] = __ldg(&x[i + 1]) + __ldcs(&x[i + 2]); __stcg(&x[i + 3], x[i]);
}
