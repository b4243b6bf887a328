// Clocks only move forward: flags[0..3] say so for clock, clock64 and globaltimer; flags[3] that work took at least a cycle.
extern "C" __global__ void clocks(int* flags, float* sink) {
    unsigned long long timer0, timer1;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer0));
    unsigned start32 = (unsigned)clock();
    long long start = clock64();
    float v = 1.0f;
    for (int i = 0; i < 100; ++i) v = v * 1.0001f + 0.5f;
    sink[0] = v;
    __threadfence();
    long long stop = clock64();
    unsigned stop32 = (unsigned)clock();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer1));
    flags[0] = stop >= start;
    flags[1] = stop32 - start32 < 0x80000000u;
    flags[2] = timer1 >= timer0;
    flags[3] = stop - start >= 1;
}
