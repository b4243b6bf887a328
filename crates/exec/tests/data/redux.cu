// Warp-wide reductions of integers (redux.sync), full warp and lower half.
extern "C" __global__ void redux(const int* a, unsigned* out) {
    int lane = threadIdx.x, v = a[lane];
    const unsigned all = 0xffffffffu;
    out[0 * 32 + lane] = __reduce_add_sync(all, v);
    out[1 * 32 + lane] = __reduce_min_sync(all, v);
    out[2 * 32 + lane] = __reduce_max_sync(all, v);
    out[3 * 32 + lane] = __reduce_min_sync(all, (unsigned)v);
    out[4 * 32 + lane] = __reduce_max_sync(all, (unsigned)v);
    out[5 * 32 + lane] = __reduce_and_sync(all, (unsigned)v | 3u);
    out[6 * 32 + lane] = __reduce_or_sync(all, (unsigned)v & 0xf0f0u);
    out[7 * 32 + lane] = __reduce_xor_sync(all, (unsigned)v);
    if (lane < 16) out[8 * 32 + lane] = __reduce_add_sync(0xffffu, v);
    else out[8 * 32 + lane] = __reduce_max_sync(0xffff0000u, v);
}
