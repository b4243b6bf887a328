// Matrices stored by stmatrix, plain and transposed, and loaded again: a transposition in registers on either way.
extern "C" __global__ void stored_matrices(unsigned* out) {
    __shared__ alignas(16) unsigned short rows[4 * 64];
    int lane = threadIdx.x;
    unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(rows + lane * 8));
    unsigned first = lane * 2, r0 = first | (first + 1) << 16, r1 = r0 + 0x00400040, r2 = r1 + 0x00400040, r3 = r2 + 0x00400040;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(place), "r"(r0), "r"(r1), "r"(r2),
                 "r"(r3));
    __syncwarp();
    const unsigned* words = reinterpret_cast<const unsigned*>(rows);
    for (int i = 0; i < 4; i++) out[32 * i + lane] = words[32 * i + lane];
    __syncwarp();
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(place), "r"(r3), "r"(r2));
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(place + 256), "r"(r1));
    __syncwarp();
    for (int i = 0; i < 4; i++) out[128 + 32 * i + lane] = words[32 * i + lane];
}
