// One time step of charged particles in a uniform electric field, particles stored as a structure of arrays.
//
// Field f of particle i is at fields[f * n + i], so the 32 threads of a warp that read the same field touch 4 contiguous
// sectors and use every byte. layout_aos does the same arithmetic on 32-byte structures, where the same read touches 32.

enum Field { X, Y, Z, VX, VY, VZ, CHARGE, INVERSE_MASS };

extern "C" __global__ void layout_soa(float* fields, int n, float ex, float ey, float ez, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float* p = &fields[i];
    float scale = p[CHARGE * n] * p[INVERSE_MASS * n] * dt;
    float vx = fmaf(ex, scale, p[VX * n]);
    float vy = fmaf(ey, scale, p[VY * n]);
    float vz = fmaf(ez, scale, p[VZ * n]);
    p[VX * n] = vx;
    p[VY * n] = vy;
    p[VZ * n] = vz;
    p[X * n] = fmaf(vx, dt, p[X * n]);
    p[Y * n] = fmaf(vy, dt, p[Y * n]);
    p[Z * n] = fmaf(vz, dt, p[Z * n]);
}
