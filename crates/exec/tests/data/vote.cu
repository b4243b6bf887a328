// Votes by a whole warp and by the part of it that took a branch.
extern "C" __global__ void vote(const int* a, unsigned* out) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = a[threadIdx.x];
    unsigned* r = out + warp * 8 * 32 + lane;
    const unsigned all = 0xffffffffu;
    r[0 * 32] = __all_sync(all, v > 0);
    r[1 * 32] = __any_sync(all, v > 90);
    r[2 * 32] = __ballot_sync(all, v % 3 == 0);
    unsigned uniform;
    asm("{\n\t.reg .pred p, q;\n\tsetp.gt.s32 p, %1, 50;\n\tvote.sync.uni.pred q, p, 0xffffffff;\n\tselp.u32 %0, 1, 0, q;\n\t}"
        : "=r"(uniform)
        : "r"(v));
    r[3 * 32] = uniform;
    if (lane % 3 == 0) {
        r[4 * 32] = __ballot_sync(0x49249249u, v % 2);
        r[5 * 32] = __all_sync(0x49249249u, v > 0);
    } else {
        r[4 * 32] = __ballot_sync(~0x49249249u, v % 5 == 0);
        r[5 * 32] = __any_sync(~0x49249249u, v == 0);
    }
    __syncwarp();
    r[6 * 32] = __syncthreads_count(v > 40);
    r[7 * 32] = __syncthreads_and(v >= 0) * 2 + __syncthreads_or(v > 1000);
}
