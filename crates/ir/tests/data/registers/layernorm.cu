// Layer normalisation of rows of 1024 values, four per thread.
extern "C" __global__ void layernorm(const float4* in, const float4* gain, const float4* bias, float4* out, float epsilon) {
    __shared__ float2 of_warp[8];
    int t = threadIdx.x;
    float4 v = in[blockIdx.x * 256 + t];
    float sum = v.x + v.y + v.z + v.w;
    float squares = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_xor_sync(~0u, sum, d);
        squares += __shfl_xor_sync(~0u, squares, d);
    }
    if (t % 32 == 0) of_warp[t / 32] = make_float2(sum, squares);
    __syncthreads();
    sum = squares = 0;
#pragma unroll
    for (int w = 0; w < 8; ++w) { sum += of_warp[w].x; squares += of_warp[w].y; }
    float mean = sum / 1024;
    float scale = rsqrtf(squares / 1024 - mean * mean + epsilon);
    float4 g = gain[t], b = bias[t];
    out[blockIdx.x * 256 + t] = make_float4((v.x - mean) * scale * g.x + b.x, (v.y - mean) * scale * g.y + b.y,
                                            (v.z - mean) * scale * g.z + b.z, (v.w - mean) * scale * g.w + b.w);
}
