// Loops with a different trip count per lane: steps of the Collatz sequence from 1 + global thread index, and its peak.
extern "C" __global__ void divergence_loop(int* steps, unsigned* peak) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = thread + 1, top = v;
    int count = 0;
    while (v != 1) {
        if (v % 2 == 0) {
            v /= 2;
        } else {
            v = 3 * v + 1;
        }
        top = max(top, v);
        ++count;
    }
    steps[thread] = count;
    peak[thread] = top;
}
