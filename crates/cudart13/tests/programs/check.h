/* What the test programs have in common: functions of CUDA as its headers declare them, and a check. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);         \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

/* A kernel that scales n values and adds a constant of the module, one that stores where it should not, and a variable. */
static const char PTX[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .const .align 4 .f32 offset = 0f00000000;\n"
    ".visible .global .align 4 .u32 launches = 0;\n"
    ".visible .entry scale(.param .u64 data, .param .f32 factor, .param .u32 n) {\n"
    "  .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<5>; .reg .f32 %f<5>;\n"
    "  ld.param.u64 %rd1, [data]; ld.param.f32 %f1, [factor]; ld.param.u32 %r1, [n];\n"
    "  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "  setp.ge.u32 %p, %r5, %r1; @%p bra DONE;\n"
    "  mul.wide.u32 %rd2, %r5, 4; add.u64 %rd3, %rd1, %rd2;\n"
    "  ld.global.f32 %f2, [%rd3]; ld.const.f32 %f3, [offset]; fma.rn.f32 %f4, %f2, %f1, %f3;\n"
    "  st.global.f32 [%rd3], %f4;\n"
    "DONE: ret;\n}\n";
