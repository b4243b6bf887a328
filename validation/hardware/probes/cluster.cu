// Blocks of a cluster: their numbers, memory of others, and where addresses belong. Results [row][thread].
#include "probe.cuh"

#define PUT(value) (out[thread_index()] = (value), out += thread_count())
#define NUMBER(name)                                                                                                   \
    {                                                                                                                  \
        uint32_t d;                                                                                                    \
        asm volatile("mov.u32 %0, %%" name ";" : "=r"(d));                                                             \
        PUT(d);                                                                                                        \
    }
#define AXES(name) NUMBER(name ".x") NUMBER(name ".y") NUMBER(name ".z")

extern "C" __global__ __cluster_dims__(2, 2, 1) void numbers(uint32_t* out) {
    AXES("clusterid") AXES("nclusterid") AXES("cluster_ctaid") AXES("cluster_nctaid")
    NUMBER("cluster_ctarank") NUMBER("cluster_nctarank") AXES("ctaid") AXES("nctaid")
    NUMBER("lanemask_lt") NUMBER("lanemask_ge") NUMBER("laneid") NUMBER("total_smem_size") NUMBER("dynamic_smem_size")
    NUMBER("aggr_smem_size")
    uint32_t p;
    asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(p));
    PUT(p);
}

extern "C" __global__ __cluster_dims__(4, 1, 1) void memory(uint32_t* out) {
    __shared__ alignas(512) uint32_t near[128];
    uint32_t t = threadIdx.x, rank, there, back, d, e, p, q;
    near[t] = mix(thread_index());
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
    uint32_t here = static_cast<uint32_t>(__cvta_generic_to_shared(near + t));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank + t & 3));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(back) : "r"(there));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(d) : "r"(there) : "memory");
    PUT(back), PUT(d);
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    // Old values would depend on the order of those that add to a word, sums do not.
    uint32_t to = mix(thread_index() + 1) & 3;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here ^ 4), "r"(to));
    asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(there), "r"(mix(thread_index() + 2)) : "memory");
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
    PUT(near[t]);
    asm volatile("{ .reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(p) : "l"(near + t));
    asm volatile("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(q) : "l"(near + t));
    PUT(p), PUT(q);
    uint64_t other;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(other) : "l"(near + t), "r"(rank ^ 1));
    asm volatile("{ .reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(p) : "l"(other));
    asm volatile("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(q) : "l"(other));
    asm volatile("ld.u32 %0, [%1];" : "=r"(e) : "l"(other) : "memory");
    PUT(p), PUT(q), PUT(e);
    asm volatile("{ .reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(p) : "l"(other));
    PUT(p);
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}
