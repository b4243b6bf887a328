// 8- and 16-bit loads, stores, arithmetic and saturating narrowing.
// wide[op][lane] = op(a[lane], b[lane]); bytes[lane] and words[lane] get narrowed results.
#define PUT(op, value) wide[(op) * 32 + lane] = (int)(value)

extern "C" __global__ void int_small(const signed char* a, const unsigned short* b, int* wide, unsigned char* bytes,
                                     short* words) {
    int lane = threadIdx.x;
    signed char x = a[lane];
    unsigned short y = b[lane];
    short sy = (short)y;
    PUT(0, x);
    PUT(1, (unsigned char)x);
    PUT(2, sy);
    PUT(3, (short)(x * sy));
    PUT(4, (unsigned short)(y << 3));
    PUT(5, sy >> 5);
    PUT(6, (unsigned char)(x + 100));
    int product;
    asm("mul.wide.s16 %0, %1, %2;" : "=r"(product) : "h"((short)(x * 200)), "h"(sy));
    PUT(7, product);
    asm("mul.wide.u16 %0, %1, %2;" : "=r"(product) : "h"((unsigned short)(x * 200)), "h"(y));
    PUT(8, product);
    short high;
    asm("mul.hi.s16 %0, %1, %2;" : "=h"(high) : "h"(sy), "h"((short)(x * 200)));
    PUT(9, high);
    unsigned narrowed;
    asm("cvt.sat.u8.s32 %0, %1;" : "=r"(narrowed) : "r"((int)sy));
    PUT(10, narrowed);
    asm("cvt.sat.s8.s32 %0, %1;" : "=r"(narrowed) : "r"((int)sy));
    PUT(11, narrowed);
    asm("cvt.sat.s16.s32 %0, %1;" : "=r"(narrowed) : "r"(x * 1000));
    PUT(12, narrowed);
    asm("cvt.sat.u32.s32 %0, %1;" : "=r"(narrowed) : "r"((int)x));
    PUT(13, narrowed);
    bytes[lane] = (unsigned char)(y >> 4);
    words[lane] = (short)(x * 300);
}
