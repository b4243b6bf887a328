// Shuffles in all four modes with full and narrow segments: out[op][lane], values are a[lane].
#define PUT(op, value) out[(op) * 32 + lane] = (value)

extern "C" __global__ void shuffle(const int* a, int* out, unsigned* inside, double* wide) {
    int lane = threadIdx.x, v = a[lane];
    const unsigned all = 0xffffffffu;
    PUT(0, __shfl_sync(all, v, 5));
    PUT(1, __shfl_sync(all, v, lane * 7));
    PUT(2, __shfl_up_sync(all, v, 3));
    PUT(3, __shfl_down_sync(all, v, 5));
    PUT(4, __shfl_xor_sync(all, v, 9));
    PUT(5, __shfl_sync(all, v, 2, 8));
    PUT(6, __shfl_up_sync(all, v, 1, 4));
    PUT(7, __shfl_down_sync(all, v, 2, 16));
    PUT(8, __shfl_xor_sync(all, v, 3, 8));
    PUT(9, __shfl_xor_sync(all, v, 8, 8));
    PUT(10, __shfl_sync(all, v, lane + 3, 16));
    // The predicate says whether the source lane was inside the segment.
    unsigned result, ok;
    asm("{\n\t.reg .pred p;\n\tshfl.sync.down.b32 %0|p, %2, 6, 31, 0xffffffff;\n\tselp.u32 %1, 1, 0, p;\n\t}"
        : "=r"(result), "=r"(ok)
        : "r"(v));
    PUT(11, result);
    inside[lane] = ok;
    asm("{\n\t.reg .pred p;\n\tshfl.sync.up.b32 %0|p, %2, 2, 0x1800, 0xffffffff;\n\tselp.u32 %1, 1, 0, p;\n\t}"
        : "=r"(result), "=r"(ok)
        : "r"(v));
    PUT(12, result);
    inside[32 + lane] = ok;
    wide[lane] = __shfl_xor_sync(all, v * 0.5, 1);
    // Only half of the warp takes part.
    if (lane < 16) PUT(13, __shfl_xor_sync(0x0000ffffu, v, 15));
    else PUT(13, __shfl_down_sync(0xffff0000u, v, 1));
}
