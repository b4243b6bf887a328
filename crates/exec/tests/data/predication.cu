// Guarded instructions and predicate logic: guards on loads, stores and arithmetic, setp with a combined predicate, two
// destinations, selp and slct, predicate and/or/xor/not.
extern "C" __global__ void predication(const int* a, const int* b, int* out) {
    int lane = threadIdx.x, x = a[lane], y = b[lane], r0 = -7, r1 = -7, r2, r3, r4;
    asm volatile(
        "{\n\t"
        ".reg .pred p, q, r, s;\n\t"
        "setp.lt.s32 p|q, %5, %6;\n\t"
        "@p add.s32 %0, %5, 100;\n\t"
        "@!p sub.s32 %0, %6, 100;\n\t"
        "setp.gt.and.s32 r, %5, 0, q;\n\t"
        "@r ld.global.u32 %1, [%7];\n\t"
        "xor.pred s, p, r;\n\t"
        "selp.s32 %2, 1, 2, s;\n\t"
        "not.pred s, s;\n\t"
        "or.pred s, s, r;\n\t"
        "and.pred s, s, q;\n\t"
        "selp.s32 %3, 10, 20, s;\n\t"
        "slct.s32.s32 %4, %5, %6, %6;\n\t"
        "}"
        : "+r"(r0), "+r"(r1), "=r"(r2), "=r"(r3), "=r"(r4)
        : "r"(x), "r"(y), "l"(b + 31 - lane));
    out[lane] = r0;
    out[32 + lane] = r1;
    out[64 + lane] = r2;
    out[96 + lane] = r3;
    out[128 + lane] = r4;
}
