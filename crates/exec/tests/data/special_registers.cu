// Indices in three dimensions and the per-lane registers: one record of 16 words per thread, in linear order.
extern "C" __global__ void special_registers(unsigned* out) {
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned* r = out + 16 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
    unsigned lane, lt, le, eq, ge, gt, nwarp;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(le));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(gt));
    asm("mov.u32 %0, %%nwarpid;" : "=r"(nwarp));
    r[0] = threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16;
    r[1] = blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16;
    r[2] = blockDim.x | blockDim.y << 8 | blockDim.z << 16;
    r[3] = gridDim.x | gridDim.y << 8 | gridDim.z << 16;
    r[4] = lane;
    r[5] = lt;
    r[6] = le;
    r[7] = eq;
    r[8] = ge;
    r[9] = gt;
    r[10] = warpSize;
    r[11] = nwarp >= 2; // at least the warps of this block
    r[12] = __activemask() >> lane & 1;
}
