// Packed dot products and byte/half-word SIMD: out[op][lane] from a[lane], b[lane], accumulated onto c[lane].
#define PUT(op, value) out[(op) * 32 + lane] = (unsigned)(value)

extern "C" __global__ void int_dot(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out) {
    int lane = threadIdx.x;
    unsigned x = a[lane], y = b[lane], z = c[lane];
    PUT(0, __dp4a((int)x, (int)y, (int)z));
    PUT(1, __dp4a(x, y, z));
    PUT(2, __dp2a_lo((int)x, (int)y, (int)z));
    PUT(3, __dp2a_hi((int)x, (int)y, (int)z));
    PUT(4, __dp2a_lo(x, y, z));
    PUT(5, __dp2a_hi(x, y, z));
    unsigned mixed;
    asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(mixed) : "r"(x), "r"(y), "r"(z));
    PUT(6, mixed);
    PUT(7, __vadd4(x, y));
    PUT(8, __vsub2(x, y));
    PUT(9, __vmaxs2(x, y));
    PUT(10, __vavgu4(x, y));
    PUT(11, __vcmpgtu4(x, y));
}
