// 32-bit atomics in global and shared memory. 64 threads; each location's result does not depend on the order, and the
// values returned are summed, which does not depend on it either.
__device__ void all(int* s, unsigned* u, int t) {
    atomicAdd(&s[0], t - 20);
    atomicSub(&s[1], t);
    atomicMin(&s[2], (t * 37) % 64 - 50);
    atomicMax(&s[3], (t * 37) % 64 - 50);
    atomicAdd(&u[0], 0x08000000u + t);
    atomicMin(&u[1], (t * 11u) % 64 + 5);
    atomicMax(&u[2], (t * 11u) % 64 + 0x80000000u);
    atomicAnd(&u[3], ~(1u << (t % 20)));
    atomicOr(&u[4], 1u << (t % 27));
    atomicXor(&u[5], t * 0x01010101u);
    atomicInc(&u[6], 9);
    atomicDec(&u[7], 9);
}

extern "C" __global__ void atomics_int(int* s, unsigned* u, int* shared_s, unsigned* shared_u, unsigned* returned) {
    __shared__ int ss[4];
    __shared__ unsigned su[8];
    int t = threadIdx.x;
    if (t < 4) ss[t] = shared_s[t];
    if (t < 8) su[t] = shared_u[t];
    __syncthreads();
    all(s, u, t);
    all(ss, su, t);
    __syncthreads();
    if (t < 4) shared_s[t] = ss[t];
    if (t < 8) shared_u[t] = su[t];
    // Returned old values: 64 increments by one hand out the tickets 0..63 once each.
    atomicAdd(&returned[1], atomicAdd(&returned[0], 1u));
    atomicAdd(&returned[2], atomicInc(&returned[3], 3));
    // A chain of exchanges: the sum of everything handed out and the last value is the sum of what went in.
    atomicAdd(&returned[5], atomicExch(&returned[4], t + 1u));
    // Exactly one thread wins the compare-and-swap.
    if (atomicCAS(&returned[6], 0u, t + 1u) == 0u) atomicAdd(&returned[7], 1u);
    __syncthreads();
    if (t == 0) returned[5] += returned[4], returned[6] = returned[6] >= 1 && returned[6] <= 64;
}
