// Ordered and cached forms of memory access: relaxed, acquire, release, volatile, cache hints, read-only loads, fences.
extern "C" __global__ void memory_order(const int* __restrict__ in, int* mail, unsigned* flag, int* out) {
    int t = threadIdx.x;
    // Lane 0 of warp 0 sends, lane 0 of warp 1 receives.
    if (t == 0) {
        mail[0] = 42;
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
    } else if (t == 32) {
        unsigned seen;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        } while (seen == 0);
        out[64] = mail[0];
    }
    int v;
    asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(v) : "l"(in + t));
    int w;
    asm volatile("ld.global.cg.s32 %0, [%1];" : "=r"(w) : "l"(in + (t ^ 1)));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in + t));
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("membar.cta;" ::: "memory");
    asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(out + t), "r"(v * 1000 + w) : "memory");
    int old;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], %2;" : "=r"(old) : "l"(mail + 1), "r"(t) : "memory");
    asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(mail + 2), "r"(old >= 0 ? 1 : 0) : "memory");
}
