// Collective operations of blocks and warps as CUB has them.

#include <cub/cub.cuh>

// Sum and greatest of each 1024 words.
extern "C" __global__ void __launch_bounds__(128) cub_reduce(const float *in, float *sums, float *tops)
{
    using Load = cub::BlockLoad<float, 128, 8, cub::BLOCK_LOAD_VECTORIZE>;
    using Reduce = cub::BlockReduce<float, 128, cub::BLOCK_REDUCE_RAKING>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Reduce::TempStorage reduce;
    } scratch;
    float items[8];
    Load(scratch.load).Load(in + blockIdx.x * 1024, items);
    __syncthreads();
    const float sum = Reduce(scratch.reduce).Sum(items);
    __syncthreads();
    const float top = Reduce(scratch.reduce).Reduce(items, cuda::maximum<>{});
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
        tops[blockIdx.x] = top;
    }
}

// Running sums of each 2048 words, loaded and stored through shared memory.
extern "C" __global__ void __launch_bounds__(256) cub_scan(const int *in, int *out)
{
    using Load = cub::BlockLoad<int, 256, 8, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Store = cub::BlockStore<int, 256, 8, cub::BLOCK_STORE_TRANSPOSE>;
    using Scan = cub::BlockScan<int, 256, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Scan::TempStorage scan;
    } scratch;
    int items[8];
    Load(scratch.load).Load(in + blockIdx.x * 2048, items);
    __syncthreads();
    Scan(scratch.scan).InclusiveSum(items, items);
    __syncthreads();
    Store(scratch.store).Store(out + blockIdx.x * 2048, items);
}

// Each 1024 pairs of key and value in the order of the keys.
extern "C" __global__ void __launch_bounds__(128) cub_radix_sort(unsigned *keys, unsigned *values)
{
    using Sort = cub::BlockRadixSort<unsigned, 128, 8, unsigned>;
    __shared__ typename Sort::TempStorage scratch;
    unsigned key[8], value[8];
    cub::LoadDirectBlocked(threadIdx.x, keys + blockIdx.x * 1024, key);
    cub::LoadDirectBlocked(threadIdx.x, values + blockIdx.x * 1024, value);
    Sort(scratch).SortBlockedToStriped(key, value);
    cub::StoreDirectStriped<128>(threadIdx.x, keys + blockIdx.x * 1024, key);
    cub::StoreDirectStriped<128>(threadIdx.x, values + blockIdx.x * 1024, value);
}

struct Later {
    __device__ bool operator()(double a, double b) const { return a > b; }
};

// Each 512 doubles from the greatest to the least, by merging.
extern "C" __global__ void __launch_bounds__(128) cub_merge_sort(double *keys)
{
    using Sort = cub::BlockMergeSort<double, 128, 4>;
    __shared__ typename Sort::TempStorage scratch;
    double key[4];
    cub::LoadDirectBlocked(threadIdx.x, keys + blockIdx.x * 512, key);
    Sort(scratch).Sort(key, Later{});
    cub::StoreDirectBlocked(threadIdx.x, keys + blockIdx.x * 512, key);
}

// Histograms of bytes by sorting, where runs of equal values begin, and differences of neighbours.
extern "C" __global__ void __launch_bounds__(128) cub_runs(const unsigned char *in, unsigned *bins, int *heads,
    int *steps)
{
    using Histogram = cub::BlockHistogram<unsigned char, 128, 4, 256, cub::BLOCK_HISTO_SORT>;
    using Heads = cub::BlockDiscontinuity<unsigned char, 128>;
    using Steps = cub::BlockAdjacentDifference<int, 128>;
    __shared__ union {
        typename Histogram::TempStorage histogram;
        typename Heads::TempStorage heads;
        typename Steps::TempStorage steps;
    } scratch;
    __shared__ unsigned counts[256];
    unsigned char items[4];
    int flags[4], words[4], differences[4];
    cub::LoadDirectBlocked(threadIdx.x, in + blockIdx.x * 512, items);
    for (int i = 0; i < 4; ++i) words[i] = items[i];
    Heads(scratch.heads).FlagHeads(flags, items, cuda::std::not_equal_to<>{});
    cub::StoreDirectBlocked(threadIdx.x, heads + blockIdx.x * 512, flags);
    __syncthreads();
    Steps(scratch.steps).SubtractLeft(words, differences, cuda::std::minus<>{});
    cub::StoreDirectBlocked(threadIdx.x, steps + blockIdx.x * 512, differences);
    __syncthreads();
    Histogram(scratch.histogram).Histogram(items, counts);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += 128) bins[blockIdx.x * 256 + i] = counts[i];
}

struct Line {
    float slope, offset;
};

struct Then {
    __device__ Line operator()(const Line &first, const Line &second) const
    {
        return {first.slope * second.slope, second.slope * first.offset + second.offset};
    }
};

// A linear recurrence as a scan of functions by warps, and sorted pieces of 64 words per warp.
extern "C" __global__ void __launch_bounds__(128) cub_warps(const float *slopes, const float *offsets, float *out,
    int *keys)
{
    using Scan = cub::WarpScan<Line>;
    using Sort = cub::WarpMergeSort<int, 2, 32>;
    __shared__ typename Scan::TempStorage scan[4];
    __shared__ typename Sort::TempStorage sort[4];
    const int i = blockIdx.x * 128 + threadIdx.x, warp = threadIdx.x / 32;
    Line line{slopes[i], offsets[i]};
    Scan(scan[warp]).InclusiveScan(line, line, Then{});
    out[i] = line.offset;
    int pair[2] = {keys[2 * i], keys[2 * i + 1]};
    Sort(sort[warp]).Sort(pair, cuda::std::less<>{});
    keys[2 * i] = pair[0];
    keys[2 * i + 1] = pair[1];
}
