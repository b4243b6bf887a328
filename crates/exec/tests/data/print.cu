// printf from one thread with every kind of conversion, then from two lanes in lane order.
#include <cstdio>

extern "C" __global__ void print(int* out) {
    int t = threadIdx.x;
    if (t == 0) {
        printf("int %d unsigned %u hex %08x char %c\n", -5, 4000000000u, 0xbeef, 'w');
        printf("long %lld double %.3f string %s percent %%\n", -1234567890123LL, 2.5, "text");
    }
    __syncwarp();
    if (t == 1 || t == 2) out[t] = printf("lane %d\n", t);
    out[0] = 1;
}
