// Video instructions: scalar with byte selectors and packed byte sums: out[op][lane] from a[lane], b[lane], c[lane].
#define PUT(op, text)                                                                    \
    do {                                                                                 \
        unsigned result;                                                                 \
        asm(text : "=r"(result) : "r"(x), "r"(y), "r"(z));                               \
        out[(op) * 32 + lane] = result;                                                  \
    } while (0)

extern "C" __global__ void int_video(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out) {
    int lane = threadIdx.x;
    unsigned x = a[lane], y = b[lane], z = c[lane];
    PUT(0, "vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;");
    PUT(1, "vadd.s32.u32.s32.sat %0, %1.b1, %2.h1;  // %3");
    PUT(2, "vmin.u32.u32.u32 %0, %1.b0, %2.b3;  // %3");
    PUT(3, "vmad.s32.s32.s32 %0, %1.h0, %2.h1, %3;");
}
