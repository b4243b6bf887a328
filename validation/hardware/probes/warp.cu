// Lanes of a warp with each other: which lane is read, predicates, votes, matches, reductions. Results [row][thread].
#include "integers.cuh"

#define SETUP                                                                                                          \
    uint32_t index = thread_index(), count = thread_count();                                                           \
    [[maybe_unused]] uint32_t lane = threadIdx.x & 31, warp = index >> 5;                                              \
    [[maybe_unused]] uint32_t x = mix(index), y = mix(index + 1000003), z = mix(index + 2000003)
#define PUT(value) (out[index] = (value), out += count)

// Lanes and clamps beyond the warp, segments that overlap, other values of the upper bits.
#define SHUFFLE(mode)                                                                                                  \
    extern "C" __global__ void shfl_##mode(uint32_t* out) {                                                            \
        SETUP;                                                                                                         \
        uint32_t b[6] = {y & 31, y & 63, y, y & 3, y & 7, warp & 31};                                                  \
        uint32_t c[6] = {0x1f, 0, z & 0x1f1f, (z & 3) << 11 | 7, z, 0x181f};                                           \
        for (int i = 0; i < 6; i++) {                                                                                  \
            uint32_t d, p;                                                                                             \
            asm volatile("{ .reg .pred p; shfl.sync." #mode ".b32 %0|p, %2, %3, %4, -1; selp.u32 %1, 1, 0, p; }"       \
                         : "=r"(d), "=r"(p)                                                                            \
                         : "r"(x), "r"(b[i]), "r"(c[i]));                                                              \
            PUT(d), PUT(p);                                                                                            \
        }                                                                                                              \
    }
SHUFFLE(up)
SHUFFLE(down)
SHUFFLE(bfly)
SHUFFLE(idx)

// Some lanes of a warp take part; what they read from others is not defined and left out.
extern "C" __global__ void shfl_some(uint32_t* out) {
    SETUP;
    uint32_t members = mix(warp + 5) | 1u << (warp & 31);
    uint32_t from = y & 31, d = 0, p = 0;
    while (!(members >> from & 1)) from = (from + 1) & 31;
    if (members >> lane & 1)
        asm volatile("{ .reg .pred p; shfl.sync.idx.b32 %0|p, %2, %3, 31, %4; selp.u32 %1, 1, 0, p; }"
                     : "=r"(d), "=r"(p)
                     : "r"(x), "r"(from), "r"(members));
    PUT(d), PUT(p);
}

extern "C" __global__ void vote(uint32_t* out) {
    SETUP;
    uint32_t members = warp & 1 ? 0xffffffffu : mix(warp + 5) | 1u << (warp & 31);
    uint32_t test = (warp & 6) == 0 ? 1 : (warp & 6) == 2 ? 0 : (warp & 6) == 4 ? x & 1 : (x & 31) == 0;
    uint32_t all = 2, any = 2, uni = 2, ballot = 2;
    if (members >> lane & 1) {
        asm volatile(
            "{ .reg .pred p, q; setp.ne.u32 p, %4, 0; vote.sync.all.pred q, p, %5; selp.u32 %0, 1, 0, q; "
            "vote.sync.any.pred q, !p, %5; selp.u32 %1, 1, 0, q; vote.sync.uni.pred q, p, %5; selp.u32 %2, 1, 0, q; "
            "vote.sync.ballot.b32 %3, p, %5; }"
            : "=r"(all), "=r"(any), "=r"(uni), "=r"(ballot)
            : "r"(test), "r"(members));
    }
    PUT(all), PUT(any), PUT(uni), PUT(ballot);
}

extern "C" __global__ void match(uint32_t* out) {
    SETUP;
    uint32_t members = warp & 1 ? 0xffffffffu : mix(warp + 5) | 1u << (warp & 31);
    uint32_t small = warp & 2 ? x & 3 : warp & 4 ? 7 : x & 31;
    uint64_t large = uint64_t(y & 1) << 40 | small;
    uint32_t any = 1, any_long = 1, all = 1, p = 2, all_long = 1, q = 2;
    if (warp & 8) large = warp;
    if (members >> lane & 1) {
        asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(any) : "r"(small), "r"(members));
        asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(any_long) : "l"(large), "r"(members));
        asm volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %2, %3; selp.u32 %1, 1, 0, p; }"
                     : "=r"(all), "=r"(p)
                     : "r"(small), "r"(members));
        asm volatile("{ .reg .pred p; match.all.sync.b64 %0|p, %2, %3; selp.u32 %1, 1, 0, p; }"
                     : "=r"(all_long), "=r"(q)
                     : "l"(large), "r"(members));
    }
    PUT(any), PUT(any_long), PUT(all), PUT(p), PUT(all_long), PUT(q);
}

extern "C" __global__ void redux(uint32_t* out) {
    SETUP;
    uint32_t members = warp & 1 ? 0xffffffffu : mix(warp + 5) | 1u << (warp & 31), value = whole(index, 3);
#define REDUCE(op)                                                                                                     \
    {                                                                                                                  \
        uint32_t d = 0;                                                                                                \
        if (members >> lane & 1) asm volatile("redux.sync." op " %0, %1, %2;" : "=r"(d) : "r"(value), "r"(members));   \
        PUT(d);                                                                                                        \
    }
    REDUCE("add.s32") REDUCE("add.u32") REDUCE("min.s32") REDUCE("min.u32") REDUCE("max.s32") REDUCE("max.u32")
    REDUCE("and.b32") REDUCE("or.b32") REDUCE("xor.b32")
}

// Which lane is chosen, of all and of some.
extern "C" __global__ void elect(uint32_t* out) {
    SETUP;
    uint32_t members = warp & 1 ? 0xffffffffu : mix(warp + 5) | 1u << (warp & 31), chosen = 99, p = 2;
    if (members >> lane & 1)
        asm volatile("{ .reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p; }"
                     : "=r"(chosen), "=r"(p)
                     : "r"(members));
    PUT(chosen), PUT(p);
}

// Lanes that are active together in branches, in a loop that lanes leave one after the other, and after they met again.
extern "C" __global__ void activemask(uint32_t* out) {
    SETUP;
    uint32_t a = 0, b = 0, c;
    if (x & 1) {
        __syncwarp(__ballot_sync(__activemask(), 1));
        a = __activemask();
    } else {
        a = ~__activemask();
    }
    __syncwarp();
    for (uint32_t i = 0; i < (y & 7); i++) b = b * 31 + __activemask();
    __syncwarp();
    c = __activemask();
    PUT(a), PUT(b), PUT(c);
}

// Matrices of 8 by 8 elements of 16 bits, moved and turned.
extern "C" __global__ void matrices(uint32_t* out) {
    __shared__ alignas(16) uint32_t words[8][2][128];
    SETUP;
    uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(words[threadIdx.x / 32][0]));
    uint32_t other = base + 512, d[4];
    for (int i = 0; i < 4; i++) words[threadIdx.x / 32][0][i * 32 + lane] = mix(index * 4 + i);
    __syncwarp();
    uint32_t row = base + (x & 31 ^ lane) % 32 * 16, to = other + (lane ^ (warp & 31)) * 16;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d[0]) : "r"(x));
    PUT(d[0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(d[0]) : "r"(row));
    PUT(d[0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(d[0]), "=r"(d[1]) : "r"(row));
    PUT(d[0]), PUT(d[1]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(row));
    for (int i = 0; i < 4; i++) PUT(d[i]);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x), "r"(y),
                 "r"(z), "r"(d[0])
                 : "memory");
    __syncwarp();
    for (int i = 0; i < 4; i++) PUT(words[threadIdx.x / 32][1][i * 32 + lane]);
}

// Reductions at a barrier of a block.
extern "C" __global__ void barrier(uint32_t* out) {
    SETUP;
    uint32_t test = blockIdx.x % 3 == 0 ? x & 1 : blockIdx.x % 3 == 1, popc, all, any;
    asm volatile(
        "{ .reg .pred p, q; setp.ne.u32 p, %3, 0; barrier.cta.red.popc.aligned.u32 %0, 0, p; "
        "barrier.cta.red.and.pred q, 1, p; selp.u32 %1, 1, 0, q; bar.red.or.pred q, 2, 256, !p; selp.u32 %2, 1, 0, q; }"
        : "=r"(popc), "=r"(all), "=r"(any)
        : "r"(test));
    PUT(popc), PUT(all), PUT(any);
}
