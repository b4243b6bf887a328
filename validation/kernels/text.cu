// Work on bytes: text, checksums, encodings.

// Letters of ASCII become capitals, 16 bytes per thread, four bytes at a time within a word.
__device__ __forceinline__ unsigned capitals(unsigned four) {
    // Bit 7 of a byte tells whether its lower 7 bits are from 'a' on, and whether they are beyond 'z'.
    unsigned low = four & 0x7f7f7f7fu;
    unsigned from_a = low + 0x1f1f1f1fu, beyond_z = low + 0x05050505u;
    unsigned letters = from_a & ~beyond_z & ~four & 0x80808080u;
    return four - (letters >> 2);
}

extern "C" __global__ void text_capitals(const uint4* in, uint4* out, int count_16) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count_16) {
        uint4 own = in[i];
        out[i] = make_uint4(capitals(own.x), capitals(own.y), capitals(own.z), capitals(own.w));
    }
}

// Where a pattern of 8 bytes begins, for every byte of a text: a thread compares byte by byte until one differs.
extern "C" __global__ void text_matches(const unsigned char* text, const unsigned char* pattern,
                                        unsigned char* is_match, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    int length = 0;
    while (length < 8 && text[i + length] == pattern[length]) {
        ++length;
    }
    is_match[i] = length == 8;
}

// How many bytes of each line of 4096 bytes are spaces or line ends, by votes of warps.
extern "C" __global__ void text_spaces(const unsigned char* text, unsigned* spaces) {
    constexpr int LINE = 4096;
    __shared__ unsigned total;
    if (threadIdx.x == 0) {
        total = 0;
    }
    __syncthreads();
    unsigned count = 0;
    for (int i = threadIdx.x; i < LINE; i += blockDim.x) {
        unsigned char c = text[blockIdx.x * LINE + i];
        count += __popc(__ballot_sync(0xffffffffu, c == ' ' || c == '\n'));
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&total, count);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        spaces[blockIdx.x] = total;
    }
}

// The CRC-32 of records of 64 bytes, a thread per record; the block makes the table of all bytes in shared memory.
extern "C" __global__ void crc_records(const unsigned char* records, unsigned* crc, int count) {
    __shared__ unsigned table[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned value = i;
        for (int bit = 0; bit < 8; ++bit) {
            value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
        }
        table[i] = value;
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    unsigned value = 0xffffffffu;
    for (int k = 0; k < 64; ++k) {
        value = table[(value ^ records[(size_t)i * 64 + k]) & 255] ^ value >> 8;
    }
    crc[i] = ~value;
}

// Base64: three words of 32 bits become four, a thread per group of 12 bytes.
__device__ __forceinline__ unsigned letter(unsigned six) {
    if (six < 26) {
        return 'A' + six;
    }
    if (six < 52) {
        return 'a' + six - 26;
    }
    if (six < 62) {
        return '0' + six - 52;
    }
    return six == 62 ? '+' : '/';
}

// The four letters of the lower three bytes, of which the first byte is the lowest.
__device__ __forceinline__ unsigned letters(unsigned three) {
    unsigned ordered = (three & 255) << 16 | (three & 0xff00) | (three >> 16 & 255);
    return letter(ordered >> 18) | letter(ordered >> 12 & 63) << 8 | letter(ordered >> 6 & 63) << 16 |
           letter(ordered & 63) << 24;
}

extern "C" __global__ void base64_groups(const unsigned* bytes, uint4* out, int groups) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= groups) {
        return;
    }
    unsigned a = bytes[3 * i], b = bytes[3 * i + 1], c = bytes[3 * i + 2];
    out[i] = make_uint4(letters(a), letters(a >> 24 | b << 8), letters(b >> 16 | c << 16), letters(c >> 8));
}
