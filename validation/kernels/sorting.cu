// Steps of sorting, scanning and joining; words are unsigned integers of 32 bits.

// A step of a bitonic sort in global memory: pairs `distance` apart, in runs of `run` that rise and fall in turns.
extern "C" __global__ void bitonic_step(unsigned* keys, unsigned distance, unsigned run) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned low = i / distance * 2 * distance + i % distance, high = low + distance;
    unsigned a = keys[low], b = keys[high];
    bool rising = (low & run) == 0;
    if ((a > b) == rising) {
        keys[low] = b;
        keys[high] = a;
    }
}

// Sorts 1024 keys per block in shared memory, 512 threads.
extern "C" __global__ void bitonic_block(unsigned* keys) {
    constexpr int COUNT = 1024;
    __shared__ unsigned own[COUNT];
    unsigned* part = keys + blockIdx.x * COUNT;
    int thread = threadIdx.x;
    own[thread] = part[thread];
    own[thread + COUNT / 2] = part[thread + COUNT / 2];
    for (int run = 2; run <= COUNT; run *= 2) {
        for (int distance = run / 2; distance > 0; distance /= 2) {
            __syncthreads();
            int low = thread / distance * 2 * distance + thread % distance, high = low + distance;
            unsigned a = own[low], b = own[high];
            bool rising = (low & run) == 0;
            if ((a > b) == rising) {
                own[low] = b;
                own[high] = a;
            }
        }
    }
    __syncthreads();
    part[thread] = own[thread];
    part[thread + COUNT / 2] = own[thread + COUNT / 2];
}

// How many keys of each tile of 2048 have which value of a digit of 4 bits; counts lie digit by digit.
extern "C" __global__ void radix_count(const unsigned* keys, unsigned* counts, int shift) {
    constexpr int DIGITS = 16, TILE = 2048;
    __shared__ unsigned own[DIGITS];
    if (threadIdx.x < DIGITS) {
        own[threadIdx.x] = 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < TILE; i += blockDim.x) {
        atomicAdd(&own[keys[blockIdx.x * TILE + i] >> shift & (DIGITS - 1)], 1u);
    }
    __syncthreads();
    if (threadIdx.x < DIGITS) {
        counts[threadIdx.x * gridDim.x + blockIdx.x] = own[threadIdx.x];
    }
}

// Sorts the tiles of 256 keys of a block of 256 threads by a digit of 4 bits, stably: a key's place is what smaller
// digits take, plus equal digits of earlier warps, plus those of earlier lanes.
extern "C" __global__ void radix_tiles(const unsigned* keys, unsigned* out, int shift) {
    constexpr int DIGITS = 16, WARPS = 8;
    __shared__ unsigned counts[DIGITS * WARPS];
    int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    unsigned key = keys[blockIdx.x * 256 + thread];
    unsigned digit = key >> shift & (DIGITS - 1);
    unsigned equal = 0xffffffffu;
#pragma unroll
    for (int bit = 0; bit < 4; ++bit) {
        unsigned with = __ballot_sync(0xffffffffu, digit >> bit & 1);
        equal &= digit >> bit & 1 ? with : ~with;
    }
    if (thread < DIGITS * WARPS) {
        counts[thread] = 0;
    }
    __syncthreads();
    unsigned before = __popc(equal & ((1u << lane) - 1));
    if (before == 0) {
        counts[digit * WARPS + warp] = __popc(equal);
    }
    __syncthreads();
    // The first warp makes the sums of all counts before each, four per lane.
    if (warp == 0) {
        unsigned each[4], sum = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            each[i] = sum;
            sum += counts[4 * lane + i];
        }
        unsigned scan = sum;
        for (int distance = 1; distance < 32; distance *= 2) {
            unsigned lower = __shfl_up_sync(0xffffffffu, scan, distance);
            scan += lane >= distance ? lower : 0;
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            counts[4 * lane + i] = scan - sum + each[i];
        }
    }
    __syncthreads();
    out[blockIdx.x * 256 + counts[digit * WARPS + warp] + before] = key;
}

// Inclusive sums within tiles of 1024 words, four per thread of 256, and the sum of each tile.
extern "C" __global__ void scan_tiles(const uint4* in, uint4* out, unsigned* tile_sums) {
    __shared__ unsigned of_warp[8];
    int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    uint4 own = in[blockIdx.x * 256 + thread];
    own.y += own.x;
    own.z += own.y;
    own.w += own.z;
    unsigned sum = own.w;
    for (int distance = 1; distance < 32; distance *= 2) {
        unsigned lower = __shfl_up_sync(0xffffffffu, sum, distance);
        sum += lane >= distance ? lower : 0;
    }
    if (lane == 31) {
        of_warp[warp] = sum;
    }
    __syncthreads();
    unsigned before = sum - own.w;
    for (int i = 0; i < warp; ++i) {
        before += of_warp[i];
    }
    out[blockIdx.x * 256 + thread] = make_uint4(own.x + before, own.y + before, own.z + before, own.w + before);
    if (thread == 255) {
        tile_sums[blockIdx.x] = own.w + before;
    }
}

// The probing side of a hash join: a key's remainder is its bucket, the quotient its tag. Entries of a bucket lie
// together, from bucket * average + shift[bucket] on (see sparse.cu); payloads of those with the key's tag are added.
extern "C" __global__ void hash_probe(const unsigned* keys, const int* shift, const unsigned char* tags,
                                      const unsigned* payloads, unsigned* found, int count, int buckets, int average) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    unsigned bucket = keys[i] % buckets, tag = keys[i] / buckets, sum = 0;
    int end = (bucket + 1) * average + shift[bucket + 1];
    for (int entry = bucket * average + shift[bucket]; entry < end; ++entry) {
        if (tags[entry] == tag) {
            sum += payloads[entry];
        }
    }
    found[i] = sum;
}

// Puts keys into a table of 2 * count slots that are empty at first (zero), by compare-and-swap and linear probing.
// Which key lies where depends on the order, which keys lie in the table does not.
extern "C" __global__ void hash_build(const unsigned* keys, unsigned* table, int count, unsigned mask) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    unsigned key = keys[i], slot = key * 2654435769u >> 7 & mask;
    for (;;) {
        unsigned there = atomicCAS(&table[slot], 0u, key);
        if (there == 0 || there == key) {
            return;
        }
        slot = slot + 1 & mask;
    }
}
