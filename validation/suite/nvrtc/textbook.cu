// Kernels of textbooks and samples, without a header.

extern "C" __global__ void transpose(const float *in, float *out, int width, int height)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (x < width && y + i < height) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        if (x < height && y + i < width) out[(y + i) * height + x] = tile[threadIdx.x][threadIdx.y + i];
}

// 25 points, four to each side, along z in registers.
extern "C" __global__ void stencil_25(const float *in, float *out, const float *weights, int nx, int ny, int nz)
{
    __shared__ float tile[8 + 8][32 + 8];
    const int x = blockIdx.x * 32 + threadIdx.x + 4, y = blockIdx.y * 8 + threadIdx.y + 4;
    const int pitch = nx + 8, plane = pitch * (ny + 8);
    float column[9];
    const float *at = in + y * pitch + x;
    for (int i = 0; i < 8; ++i) column[i] = at[i * plane];
    for (int z = 0; z < nz; ++z) {
        column[8] = at[(z + 8) * plane];
        const float *here = at + (z + 4) * plane;
        __syncthreads();
        tile[threadIdx.y + 4][threadIdx.x + 4] = column[4];
        if (threadIdx.x < 4) {
            tile[threadIdx.y + 4][threadIdx.x] = here[-4];
            tile[threadIdx.y + 4][threadIdx.x + 36] = here[32];
        }
        if (threadIdx.y < 4) {
            tile[threadIdx.y][threadIdx.x + 4] = here[-4 * pitch];
            tile[threadIdx.y + 12][threadIdx.x + 4] = here[8 * pitch];
        }
        __syncthreads();
        float sum = weights[0] * column[4];
        for (int i = 1; i <= 4; ++i)
            sum += weights[i] * (column[4 - i] + column[4 + i] + tile[threadIdx.y + 4 - i][threadIdx.x + 4] +
                                 tile[threadIdx.y + 4 + i][threadIdx.x + 4] + tile[threadIdx.y + 4][threadIdx.x + 4 -
                                     i] +
                                 tile[threadIdx.y + 4][threadIdx.x + 4 + i]);
        out[(z * ny + y - 4) * nx + x - 4] = sum;
        for (int i = 0; i < 8; ++i) column[i] = column[i + 1];
    }
}

__constant__ float kernel_taps[9];

// One direction of a separable convolution: along rows into the transposed image, so that twice makes both.
extern "C" __global__ void convolve_rows(const float *in, float *out, int n)
{
    extern __shared__ float row[];
    const int y = blockIdx.x;
    for (int x = threadIdx.x; x < n + 8; x += blockDim.x) {
        const int from = x - 4;
        row[x] = from >= 0 && from < n ? in[y * n + from] : 0;
    }
    __syncthreads();
    for (int x = threadIdx.x; x < n; x += blockDim.x) {
        float sum = 0;
        for (int tap = 0; tap < 9; ++tap) sum += kernel_taps[tap] * row[x + tap];
        out[x * n + y] = sum;
    }
}

extern "C" __global__ void reduce_blocks(const double *in, double *out, int n)
{
    __shared__ double sums[256];
    double sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += in[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 128; step > 0; step >>= 1) {
        if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

// Blelloch's scan of 512 words per block, with the sums of the blocks for a second launch.
extern "C" __global__ void scan_tree(const int *in, int *out, int *sums)
{
    __shared__ int tree[512];
    const int thread = threadIdx.x, at = blockIdx.x * 512;
    tree[thread] = in[at + thread];
    tree[thread + 256] = in[at + thread + 256];
    int offset = 1;
    for (int nodes = 256; nodes > 0; nodes >>= 1, offset *= 2) {
        __syncthreads();
        if (thread < nodes) tree[offset * (2 * thread + 2) - 1] += tree[offset * (2 * thread + 1) - 1];
    }
    if (thread == 0) {
        if (sums) sums[blockIdx.x] = tree[511];
        tree[511] = 0;
    }
    for (int nodes = 1; nodes < 512; nodes *= 2) {
        offset >>= 1;
        __syncthreads();
        if (thread < nodes) {
            const int left = offset * (2 * thread + 1) - 1, right = offset * (2 * thread + 2) - 1;
            const int kept = tree[left];
            tree[left] = tree[right];
            tree[right] += kept;
        }
    }
    __syncthreads();
    out[at + thread] = tree[thread];
    out[at + thread + 256] = tree[thread + 256];
}

extern "C" __global__ void add_sums(int *out, const int *sums)
{
    out[blockIdx.x * 512 + threadIdx.x] += sums[blockIdx.x];
    out[blockIdx.x * 512 + threadIdx.x + 256] += sums[blockIdx.x];
}

// One step of a bitonic sort in global memory.
extern "C" __global__ void bitonic_step(float *values, int distance, int size)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
    if (other > i) {
        const float a = values[i], b = values[other];
        if ((a > b) == ((i & size) == 0)) {
            values[i] = b;
            values[other] = a;
        }
    }
}

// Four bits of a radix sort: counts per block and digit, to be scanned, and the move to the places.
extern "C" __global__ void radix_count(const unsigned *keys, int *counts, int shift)
{
    __shared__ int digits[16];
    if (threadIdx.x < 16) digits[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&digits[keys[blockIdx.x * blockDim.x + threadIdx.x] >> shift & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = digits[threadIdx.x];
}

extern "C" __global__ void radix_move(const unsigned *keys, unsigned *out, const int *places, int shift)
{
    __shared__ unsigned char digits[256];
    const unsigned key = keys[blockIdx.x * 256 + threadIdx.x], digit = key >> shift & 15;
    digits[threadIdx.x] = digit;
    __syncthreads();
    int before = 0;
    for (int i = 0; i < threadIdx.x; ++i) before += digits[i] == digit;
    out[places[digit * gridDim.x + blockIdx.x] + before] = key;
}

extern "C" __global__ void spmv_csr(const int *starts, const int *columns, const double *values, const double *x,
    double *y, int rows)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (row >= rows) return;
    double sum = 0;
    for (int i = starts[row] + lane; i < starts[row + 1]; i += 32) sum += values[i] * x[columns[i]];
    for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void n_body(const float4 *bodies, float4 *forces, int n)
{
    extern __shared__ float4 tile[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 mine = bodies[i];
    float3 sum = make_float3(0, 0, 0);
    for (int start = 0; start < n; start += blockDim.x) {
        tile[threadIdx.x] = bodies[start + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < blockDim.x; ++j) {
            const float dx = tile[j].x - mine.x, dy = tile[j].y - mine.y, dz = tile[j].z - mine.z;
            const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            const float pull = tile[j].w * inverse * inverse * inverse;
            sum.x += dx * pull;
            sum.y += dy * pull;
            sum.z += dz * pull;
        }
        __syncthreads();
    }
    forces[i] = make_float4(sum.x, sum.y, sum.z, 0);
}

// Transforms of 1024 complex numbers, one per block, by Stockham's steps of four.
extern "C" __global__ void fft_1024(const float2 *in, float2 *out)
{
    __shared__ float2 line[1024];
    const int thread = threadIdx.x;
    float2 v[4];
    for (int i = 0; i < 4; ++i) v[i] = in[blockIdx.x * 1024 + thread + i * 256];
    for (int span = 1; span < 1024; span *= 4) {
        const int inner = thread % span;
        float sine, cosine;
        sincosf(-6.283185307f * inner / (4 * span), &sine, &cosine);
        const float2 w1 = make_float2(cosine, sine);
        const float2 w2 = make_float2(w1.x * w1.x - w1.y * w1.y, 2 * w1.x * w1.y);
        const float2 w3 = make_float2(w2.x * w1.x - w2.y * w1.y, w2.x * w1.y + w2.y * w1.x);
        const float2 a = v[0], b = make_float2(v[1].x * w1.x - v[1].y * w1.y, v[1].x * w1.y + v[1].y * w1.x);
        const float2 c = make_float2(v[2].x * w2.x - v[2].y * w2.y, v[2].x * w2.y + v[2].y * w2.x);
        const float2 d = make_float2(v[3].x * w3.x - v[3].y * w3.y, v[3].x * w3.y + v[3].y * w3.x);
        const float2 ac = make_float2(a.x + c.x, a.y + c.y), a_c = make_float2(a.x - c.x, a.y - c.y);
        const float2 bd = make_float2(b.x + d.x, b.y + d.y), b_d = make_float2(b.x - d.x, b.y - d.y);
        const int to = (thread - inner) * 4 + inner;
        __syncthreads();
        line[to] = make_float2(ac.x + bd.x, ac.y + bd.y);
        line[to + span] = make_float2(a_c.x + b_d.y, a_c.y - b_d.x);
        line[to + 2 * span] = make_float2(ac.x - bd.x, ac.y - bd.y);
        line[to + 3 * span] = make_float2(a_c.x - b_d.y, a_c.y + b_d.x);
        __syncthreads();
        for (int i = 0; i < 4; ++i) v[i] = line[thread + i * 256];
    }
    for (int i = 0; i < 4; ++i) out[blockIdx.x * 1024 + thread + i * 256] = v[i];
}

__device__ double normal_share(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

extern "C" __global__ void black_scholes(const double *spot, const double *strike, const double *years, double *call,
    double *put, double rate, double volatility, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const double root = volatility * sqrt(years[i]);
        const double d1 = (log(spot[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / root;
        const double discounted = strike[i] * exp(-rate * years[i]);
        call[i] = spot[i] * normal_share(d1) - discounted * normal_share(d1 - root);
        put[i] = discounted * normal_share(root - d1) - spot[i] * normal_share(-d1);
    }
}

extern "C" __global__ void histogram_shared(const unsigned char *in, unsigned *bins, int n)
{
    __shared__ unsigned counts[4][256];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) counts[i >> 8][i & 255] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        const unsigned word = reinterpret_cast<const unsigned *>(in)[i];
        for (int byte = 0; byte < 4; ++byte) atomicAdd(&counts[threadIdx.x & 3][word >> byte * 8 & 255], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        atomicAdd(&bins[i], counts[0][i] + counts[1][i] + counts[2][i] + counts[3][i]);
}

// Shortest ways by way of one more place.
extern "C" __global__ void shortest_ways(int *length, int n, int over)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) {
        const int way = length[y * n + over] + length[over * n + x];
        if (way < length[y * n + x]) length[y * n + x] = way;
    }
}

// Alignments of pairs of words, one pair per block, along the diagonals of the table.
extern "C" __global__ void align_pairs(const char *left, const char *right, int *scores, int length)
{
    extern __shared__ int table[];
    int *two_ago = table, *ago = table + length + 1, *now = table + 2 * (length + 1);
    const char *a = left + blockIdx.x * length, *b = right + blockIdx.x * length;
    for (int diagonal = 0; diagonal <= 2 * length; ++diagonal) {
        for (int i = threadIdx.x; i <= length; i += blockDim.x) {
            const int j = diagonal - i;
            if (j < 0 || j > length) continue;
            int best = -2 * (i + j);
            if (i > 0 && j > 0) {
                best = two_ago[i - 1] + (a[i - 1] == b[j - 1] ? 3 : -1);
                best = max(best, max(ago[i - 1], ago[i]) - 2);
            }
            now[i] = best;
        }
        __syncthreads();
        int *kept = two_ago;
        two_ago = ago;
        ago = now;
        now = kept;
    }
    if (threadIdx.x == 0) scores[blockIdx.x] = ago[length];
}

// One level of a search in breadth: who is reached from the present level gets the next one.
extern "C" __global__ void search_level(const int *starts, const int *edges, int *levels, int level, int n, int *found)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || levels[i] != level) return;
    for (int e = starts[i]; e < starts[i + 1]; ++e)
        if (atomicCAS(&levels[edges[e]], -1, level + 1) == -1) atomicAdd(found, 1);
}

// Keys put into a table of open places by compare and swap, then looked up.
extern "C" __global__ void table_insert(const unsigned *keys, unsigned *table, unsigned *values, int n, unsigned mask)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned place = keys[i] * 2654435761u & mask;
    while (true) {
        const unsigned before = atomicCAS(&table[place], 0u, keys[i]);
        if (before == 0 || before == keys[i]) break;
        place = place + 1 & mask;
    }
    atomicAdd(&values[place], i + 1);
}

extern "C" __global__ void table_find(const unsigned *keys, const unsigned *table, const unsigned *values,
    unsigned *out, int n, unsigned mask)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned place = keys[i] * 2654435761u & mask;
    while (table[place] != keys[i] && table[place] != 0) place = place + 1 & mask;
    out[i] = table[place] == keys[i] ? values[place] : ~0u;
}

__constant__ unsigned sha_words[64];

__device__ unsigned turned(unsigned x, int n) { return x >> n | x << (32 - n); }

// SHA-256 of messages of one block each, as its standard says.
extern "C" __global__ void sha_256(const unsigned *in, unsigned *out)
{
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned w[64];
#pragma unroll
    for (int i = 0; i < 16; ++i) w[i] = in[thread * 16 + i];
#pragma unroll
    for (int i = 16; i < 64; ++i)
        w[i] = w[i - 16] + w[i - 7] + (turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10);
    const unsigned start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
        0x5be0cd19};
    unsigned s[8];
    for (int i = 0; i < 8; ++i) s[i] = start[i];
#pragma unroll
    for (int i = 0; i < 64; ++i) {
        const unsigned t1 = s[7] + (turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4],
            25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + sha_words[i] + w[i];
        const unsigned t2 = (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0],
            22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (int j = 7; j > 0; --j) s[j] = s[j - 1];
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; ++i) out[thread * 8 + i] = start[i] + s[i];
}

// A layer of a neural network: filters of 3 x 3 over channels, bias,
// and the greater of that and 0; then of four the greatest.
extern "C" __global__ void layer_3x3(const float *in, const float *filters, const float *bias, float *out,
    int channels, int n)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, filter = blockIdx.z;
    float top = 0;
    for (int corner = 0; corner < 4; ++corner) {
        const int cx = 2 * x + (corner & 1), cy = 2 * y + (corner >> 1);
        float sum = bias[filter];
        for (int channel = 0; channel < channels; ++channel)
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx)
                    if (cx + dx >= 0 && cx + dx < n && cy + dy >= 0 && cy + dy < n)
                        sum += filters[((filter * channels + channel) * 3 + dy + 1) * 3 + dx + 1] * in[(channel * n +
                            cy + dy) * n + cx + dx];
        top = fmaxf(top, sum);
    }
    out[(filter * (n / 2) + y) * (n / 2) + x] = top;
}

// One head of attention in floats with a running maximum: a block of 64 queries, keys in tiles of 32.
extern "C" __global__ void attention(const float *q, const float *k, const float *v, float *out, int length,
    float scale)
{
    __shared__ float keys[32][64], values[32][64];
    const int row = blockIdx.x * 64 + threadIdx.x;
    float query[64], sum[64], top = -1e30f, total = 0;
    for (int i = 0; i < 64; ++i) {
        query[i] = q[row * 64 + i] * scale;
        sum[i] = 0;
    }
    for (int start = 0; start < length; start += 32) {
        __syncthreads();
        for (int i = threadIdx.x; i < 32 * 64; i += 64) {
            keys[i / 64][i % 64] = k[start * 64 + i];
            values[i / 64][i % 64] = v[start * 64 + i];
        }
        __syncthreads();
        for (int j = 0; j < 32; ++j) {
            float score = 0;
            for (int i = 0; i < 64; ++i) score += query[i] * keys[j][i];
            const float higher = fmaxf(top, score), fade = expf(top - higher), weight = expf(score - higher);
            total = total * fade + weight;
            for (int i = 0; i < 64; ++i) sum[i] = sum[i] * fade + weight * values[j][i];
            top = higher;
        }
    }
    for (int i = 0; i < 64; ++i) out[row * 64 + i] = sum[i] / total;
}

// Tridiagonal systems of 256 rows, one per block, by cyclic reduction in parallel.
extern "C" __global__ void tridiagonal(const double *below, const double *middle, const double *above,
    const double *right, double *out)
{
    __shared__ double a[256], b[256], c[256], d[256];
    const int i = threadIdx.x, at = blockIdx.x * 256 + i;
    a[i] = below[at];
    b[i] = middle[at];
    c[i] = above[at];
    d[i] = right[at];
    for (int step = 1; step < 256; step *= 2) {
        __syncthreads();
        double na = 0, nb = b[i], nc = 0, nd = d[i];
        if (i >= step) {
            const double factor = a[i] / b[i - step];
            na = -a[i - step] * factor;
            nb -= c[i - step] * factor;
            nd -= d[i - step] * factor;
        }
        if (i + step < 256) {
            const double factor = c[i] / b[i + step];
            nc = -c[i + step] * factor;
            nb -= a[i + step] * factor;
            nd -= d[i + step] * factor;
        }
        __syncthreads();
        a[i] = na;
        b[i] = nb;
        c[i] = nc;
        d[i] = nd;
    }
    out[at] = d[i] / b[i];
}

// A step of a fluid on a lattice with nine directions, periodic at its edges.
extern "C" __global__ void lattice_step(const float *from, float *to, int n, float relax)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float share[9] = {4 / 9.0f, 1 / 9.0f, 1 / 9.0f, 1 / 9.0f, 1 / 9.0f, 1 / 36.0f, 1 / 36.0f, 1 / 36.0f,
        1 / 36.0f};
    float f[9], density = 0, u = 0, v = 0;
    for (int i = 0; i < 9; ++i) {
        f[i] = from[(i * n + (y - cy[i] + n) % n) * n + (x - cx[i] + n) % n];
        density += f[i];
        u += cx[i] * f[i];
        v += cy[i] * f[i];
    }
    u /= density;
    v /= density;
    for (int i = 0; i < 9; ++i) {
        const float along = cx[i] * u + cy[i] * v;
        const float rest = share[i] * density * (1 + 3 * along + 4.5f * along * along - 1.5f * (u * u + v * v));
        to[(i * n + y) * n + x] = f[i] + relax * (rest - f[i]);
    }
}

// Cells that live on with two or three neighbours, 32 per word, by adding bits side by side.
extern "C" __global__ void life_words(const unsigned *from, unsigned *to, int words, int rows)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    unsigned ones = 0, twos = 0, fours = 0;
    for (int dy = -1; dy <= 1; ++dy) {
        const unsigned *row = from + (y + dy + rows) % rows * words;
        const unsigned here = row[x], left = __funnelshift_l(row[(x + words - 1) % words], here, 1);
        const unsigned right = __funnelshift_r(here, row[(x + 1) % words], 1);
        const unsigned side[3] = {left, right, dy == 0 ? 0 : here};
        for (int i = 0; i < 3; ++i) {
            const unsigned carry = ones & side[i];
            ones ^= side[i];
            fours |= twos & carry;
            twos ^= carry;
        }
    }
    to[y * words + x] = twos & ~fours & (ones | from[y * words + x]);
}

// Which of 16 centres is nearest, with sums per centre by atomics on doubles (sm_60).
extern "C" __global__ void nearest_centre(const double2 *points, const double2 *centres, int *nearest, double *sums,
    int n)
{
    __shared__ double2 local[16];
    if (threadIdx.x < 16) local[threadIdx.x] = centres[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double least = 1e300;
    int best = 0;
    for (int j = 0; j < 16; ++j) {
        const double dx = points[i].x - local[j].x, dy = points[i].y - local[j].y, distance = dx * dx + dy * dy;
        if (distance < least) {
            least = distance;
            best = j;
        }
    }
    nearest[i] = best;
    atomicAdd(&sums[best * 3], points[i].x);
    atomicAdd(&sums[best * 3 + 1], points[i].y);
    atomicAdd(&sums[best * 3 + 2], 1.0);
}
