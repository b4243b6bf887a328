// match.any and match.all on 32- and 64-bit values, and the mask of lanes on a branch.
extern "C" __global__ void match(const int* a, unsigned* any32, unsigned* any64, unsigned* all, int* agreed, unsigned* active) {
    int lane = threadIdx.x;
    int v = a[lane];
    any32[lane] = __match_any_sync(0xffffffffu, v);
    any64[lane] = __match_any_sync(0xffffffffu, ((unsigned long long)(v % 2) << 40) + 1);
    int same;
    all[lane] = __match_all_sync(0xffffffffu, v, &same);
    agreed[lane] = same;
    all[32 + lane] = __match_all_sync(0xffffffffu, v >= 0, &same);
    agreed[32 + lane] = same;
    // After a warp barrier and a plain branch the lanes of a side run together.
    __syncwarp();
    if (v % 2 == 0) active[lane] = __activemask() & 1u << lane ? 1 : 0;
    else active[lane] = __activemask() >> lane & 1 ? 2 : 0;
}
