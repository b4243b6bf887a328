// All lanes of a warp read the same vectors of shared memory: 16 bytes a lane, of which a GPU that packs what lanes share
// serves twice as many at once.
//
// nvcc -arch=sm_75 -ptx -o broadcast.ptx broadcast.cu
extern "C" __global__ void broadcast(float *out, const float4 *from, int rounds)
{
    __shared__ float4 vectors[128];
    vectors[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    float4 sum = make_float4(0, 0, 0, 0);
    for (int round = 0; round < rounds; round++)
        for (int at = 0; at < 128; at++) {
            float4 next = vectors[at];
            sum.x += next.x;
            sum.y += next.y;
            sum.z += next.z;
            sum.w += next.w;
        }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum.x + sum.y + sum.z + sum.w;
}
