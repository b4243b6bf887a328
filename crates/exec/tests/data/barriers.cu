// Named barriers for a producer warp and a consumer warp (arrive and sync with a thread count), a barrier over part of
// the block, and reductions across the barrier. 96 threads.
extern "C" __global__ void barriers(int* out, int* counted) {
    __shared__ int queue[32];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    if (warp == 0) {
        for (int round = 0; round < 4; ++round) {
            queue[lane] = round * 100 + lane;
            asm volatile("bar.arrive 1, 64;" ::: "memory"); // full
            asm volatile("bar.sync 2, 64;" ::: "memory");   // emptied
        }
    } else if (warp == 1) {
        int sum = 0;
        for (int round = 0; round < 4; ++round) {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            sum += queue[31 - lane];
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
        out[lane] = sum;
    }
    int all, any, count;
    asm volatile("{\n\t.reg .pred p, q;\n\tsetp.ne.s32 p, %1, 0;\n\tbarrier.red.popc.u32 %0, 3, p;\n\t}" : "=r"(count) : "r"((int)(t % 5 == 0)));
    asm volatile("{\n\t.reg .pred p, q;\n\tsetp.ne.s32 p, %1, 0;\n\tbarrier.red.and.pred q, 4, p;\n\tselp.s32 %0, 1, 0, q;\n\t}" : "=r"(all) : "r"((int)(t < 95)));
    asm volatile("{\n\t.reg .pred p, q;\n\tsetp.ne.s32 p, %1, 0;\n\tbarrier.red.or.pred q, 5, p;\n\tselp.s32 %0, 1, 0, q;\n\t}" : "=r"(any) : "r"((int)(t == 95)));
    counted[t] = count * 100 + all * 10 + any;
}
