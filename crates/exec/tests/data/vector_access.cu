// Vector loads and stores of every width, in global and shared memory.
extern "C" __global__ void vector_access(const float4* f4, const double2* d2, const uchar4* c4, const short2* s2,
                                         const longlong2* l2, float4* out4, double2* out_d2, int4* mixed, float2* out2) {
    __shared__ float4 tile[32];
    int lane = threadIdx.x;
    float4 f = f4[lane];
    tile[lane] = make_float4(f.w, f.z, f.y, f.x);
    __syncthreads();
    out4[lane] = tile[31 - lane];
    double2 d = d2[lane];
    out_d2[lane] = make_double2(d.y, d.x + d.y);
    uchar4 c = c4[lane];
    short2 s = s2[lane];
    longlong2 l = l2[lane];
    mixed[lane] = make_int4(c.x + c.y * 2 + c.z * 3 + c.w * 4, s.x - s.y, (int)(l.x >> 32), (int)(l.y & 0xffff));
    out2[lane] = make_float2(tile[lane].x, tile[(lane + 1) % 32].w);
}
