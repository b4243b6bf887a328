// Particles, spins and paths of prices.

// Accelerations of all bodies by all bodies, softened; a thread per body, tiles of bodies in shared memory.
extern "C" __global__ void nbody_tiles(const float4* bodies, float4* acceleration, int count) {
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = bodies[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int first = 0; first < count; first += blockDim.x) {
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < blockDim.x; ++j) {
            float4 other = tile[j];
            float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float scale = other.w * inverse * inverse * inverse;
            ax += dx * scale;
            ay += dy * scale;
            az += dz * scale;
        }
        __syncthreads();
    }
    acceleration[i] = make_float4(ax, ay, az, 0.0f);
}

// Energies by a Lennard-Jones potential, softened, cut off and lifted so that it ends at zero, from a list of
// neighbours per atom that lies list position by list position.
extern "C" __global__ void lennard_jones(const float4* atoms, const int* neighbours, float* energy, int count,
                                         int width, float cutoff_squared, float lift) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    float4 own = atoms[i];
    float sum = 0.0f;
    for (int k = 0; k < width; ++k) {
        float4 other = atoms[neighbours[k * count + i]];
        float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
        float square = dx * dx + dy * dy + dz * dz + 1.0f;
        if (square < cutoff_squared) {
            float inverse = 1.0f / square, sixth = inverse * inverse * inverse;
            sum += 4.0f * sixth * (sixth - 1.0f) + lift;
        }
    }
    energy[i] = sum;
}

// Prices of an option by random walks, one per thread: a 32-bit generator (xorshift) and sums of four of its bytes in
// place of normally distributed numbers; the payoff is what the mean of the price along the walk has above the strike.
extern "C" __global__ void monte_carlo_paths(const unsigned* seeds, float* payoff, int paths, int steps, float drift,
                                             float spread, float strike) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= paths) {
        return;
    }
    unsigned state = seeds[i];
    float logarithm = 0.0f, sum = 0.0f;
    for (int step = 0; step < steps; ++step) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        int four = (state & 255) + (state >> 8 & 255) + (state >> 16 & 255) + (state >> 24);
        logarithm += drift + spread * (four - 510);
        sum += expf(logarithm);
    }
    payoff[i] = fmaxf(sum / steps - strike, 0.0f);
}

// Points of a quarter of a disc, counted: each thread draws as many as it is told, warps add up by shuffles, and each
// block adds to the count once.
extern "C" __global__ void monte_carlo_disc(const unsigned* seeds, unsigned long long* inside, int draws) {
    unsigned state = seeds[blockIdx.x * blockDim.x + threadIdx.x], count = 0;
    for (int i = 0; i < draws; ++i) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        unsigned x = state & 0xffff, y = state >> 16;
        count += x * x <= 0xffffffffu - y * y;
    }
    __shared__ unsigned total;
    if (threadIdx.x == 0) {
        total = 0;
    }
    __syncthreads();
    for (int distance = 16; distance > 0; distance /= 2) {
        count += __shfl_down_sync(0xffffffffu, count, distance);
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&total, count);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(inside, (unsigned long long)total);
    }
}

// Half a sweep of the Ising model on a periodic square: spins (0 and 1) of one colour of the chessboard turn around
// where a drawn byte is below the threshold for as many agreeing neighbours. The width is a power of two.
extern "C" __global__ void ising_half(signed char* spins, const unsigned char* drawn, const int* thresholds, int width,
                                      int height, int colour) {
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 2, y = blockIdx.y;
    x += (y + colour) & 1;
    int above = y > 0 ? y - 1 : height - 1, below = y < height - 1 ? y + 1 : 0;
    int mask = width - 1, at = y * width + x;
    int sum = spins[y * width + ((x + 1) & mask)] + spins[y * width + ((x - 1) & mask)] + spins[above * width + x] +
              spins[below * width + x];
    int agreeing = spins[at] ? sum : 4 - sum;
    if (drawn[at] < thresholds[agreeing]) {
        spins[at] ^= 1;
    }
}
