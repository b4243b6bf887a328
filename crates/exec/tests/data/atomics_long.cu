// 64-bit atomics in global and shared memory, 64 threads.
typedef unsigned long long u64;
__device__ void all(long long* s, u64* u, int t) {
    atomicMin(&s[0], (long long)((t * 37) % 64 - 50) * 10000000000LL);
    atomicMax(&s[1], (long long)((t * 37) % 64 - 50) * 10000000000LL);
    atomicAdd(&u[0], 0x100000001ull * t);
    atomicMin(&u[1], (t * 11ull % 64 + 5) << 40);
    atomicMax(&u[2], (t * 11ull % 64) << 58);
    atomicAnd(&u[3], ~(1ull << (t % 60)));
    atomicOr(&u[4], 1ull << (t % 50));
    atomicXor(&u[5], t * 0x0101010101010101ull);
}

extern "C" __global__ void atomics_long(long long* s, u64* u, long long* shared_s, u64* shared_u, u64* returned) {
    __shared__ long long ss[2];
    __shared__ u64 su[6];
    int t = threadIdx.x;
    if (t < 2) ss[t] = shared_s[t];
    if (t < 6) su[t] = shared_u[t];
    __syncthreads();
    all(s, u, t);
    all(ss, su, t);
    __syncthreads();
    if (t < 2) shared_s[t] = ss[t];
    if (t < 6) shared_u[t] = su[t];
    atomicAdd(&returned[1], atomicAdd(&returned[0], 1ull << 33));
    atomicAdd(&returned[3], atomicExch(&returned[2], t + 1ull));
    if (atomicCAS(&returned[4], 0ull, t + 1ull) == 0ull) atomicAdd(&returned[5], 1ull);
    __syncthreads();
    if (t == 0) returned[3] += returned[2], returned[4] = returned[4] >= 1 && returned[4] <= 64;
}
