__global__ void sample(cudaTextureObject_t tex, cudaTextureObject_t tex3, cudaSurfaceObject_t surf, float4 *out, int w) {
  int x = threadIdx.x, y = blockIdx.x;
  float4 a = tex2D<float4>(tex, x + .5f, y + .5f);
  float b = tex2DLod<float>(tex, x / 2.f, y / 2.f, 1.f);
  float c = tex3D<float>(tex3, x, y, 1.f);
  float4 d = tex2DGrad<float4>(tex, x, y, make_float2(1, 0), make_float2(0, 1));
  float4 g = tex2Dgather<float4>(tex, x, y, 2);
  float e = tex1Dfetch<float>(tex, x);
  unsigned char s = surf2Dread<unsigned char>(surf, x, y);
  surf2Dwrite(make_uchar4(s, s, s, 255), surf, x * 4, y);
  surf1Dwrite(3.0f, surf, x * 4, cudaBoundaryModeZero);
  out[y * w + x] = make_float4(a.x + b, a.y + c + g.w, d.z, e);
}
