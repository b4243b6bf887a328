// Bit operations: out[op][lane] from a[lane], b[lane], c[lane]. Shifts by more than the width clamp; bit-field
// extraction and insertion take position and length from the low bytes of b and c.
#define PUT(op, value) out[(op) * 32 + lane] = (unsigned)(value)
#define PUT_ASM3(op, text, x, y, z)                                                  \
    do {                                                                             \
        unsigned result;                                                             \
        asm(text " %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(z));        \
        PUT(op, result);                                                             \
    } while (0)
#define PUT_ASM2(op, text, x, y)                                         \
    do {                                                                 \
        unsigned result;                                                 \
        asm(text " %0, %1, %2;" : "=r"(result) : "r"(x), "r"(y));        \
        PUT(op, result);                                                 \
    } while (0)

extern "C" __global__ void int_bits(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out) {
    int lane = threadIdx.x;
    unsigned x = a[lane], y = b[lane], z = c[lane];
    PUT_ASM2(0, "shl.b32", x, z);
    PUT_ASM2(1, "shr.u32", x, z);
    PUT_ASM2(2, "shr.s32", x, z);
    PUT(3, __popc(x));
    PUT(4, __clz(x));
    PUT(5, __brev(x));
    PUT(6, __ffs(x));
    PUT_ASM3(7, "bfe.u32", x, y, z);
    PUT_ASM3(8, "bfe.s32", x, y, z);
    {
        unsigned result;
        asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(result) : "r"(x), "r"(0x5a5a5a5au), "r"(y), "r"(z));
        PUT(9, result);
    }
    PUT(10, __funnelshift_l(x, y, z));
    PUT(11, __funnelshift_r(x, y, z));
    PUT(12, __funnelshift_lc(x, y, z));
    PUT(13, __funnelshift_rc(x, y, z));
    PUT(14, __byte_perm(x, y, 0x5140));
    PUT_ASM3(15, "prmt.b32", x, y, z);
    PUT_ASM3(16, "prmt.b32.f4e", x, y, z);
    PUT_ASM3(17, "prmt.b32.b4e", x, y, z);
    PUT_ASM3(18, "prmt.b32.rc8", x, y, z);
    PUT_ASM3(19, "prmt.b32.ecl", x, y, z);
    PUT_ASM3(20, "prmt.b32.ecr", x, y, z);
    PUT_ASM3(21, "prmt.b32.rc16", x, y, z);
    {
        unsigned result;
        asm("lop3.b32 %0, %1, %2, %3, 0xd8;" : "=r"(result) : "r"(x), "r"(y), "r"(z));
        PUT(22, result);
    }
    {
        unsigned result;
        asm("bfind.u32 %0, %1;" : "=r"(result) : "r"(x));
        PUT(23, result);
        asm("bfind.s32 %0, %1;" : "=r"(result) : "r"(x));
        PUT(24, result);
        asm("bfind.shiftamt.u32 %0, %1;" : "=r"(result) : "r"(x));
        PUT(25, result);
        asm("cnot.b32 %0, %1;" : "=r"(result) : "r"(x));
        PUT(26, result);
        asm("fns.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y % 32), "r"((int)(z % 7) - 3));
        PUT(27, result);
        asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(result) : "r"(y % 40), "r"(z % 40));
        PUT(28, result);
        asm("szext.clamp.s32 %0, %1, %2;" : "=r"(result) : "r"(x), "r"(z % 40));
        PUT(29, result);
    }
}
