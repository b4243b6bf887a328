// One time step of charged particles in a uniform electric field, particles stored as an array of structures.
//
// A particle is 32 bytes, so the 32 threads of a warp that read the same field touch 32 different sectors and use 4 bytes
// of each. layout_soa does the same arithmetic on one array per field, where the same read touches 4 sectors.

struct Particle {
    float x, y, z;
    float vx, vy, vz;
    float charge;
    float inverse_mass;
};

extern "C" __global__ void layout_aos(Particle* particles, int n, float ex, float ey, float ez, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    Particle* p = &particles[i];
    float scale = p->charge * p->inverse_mass * dt;
    float vx = fmaf(ex, scale, p->vx);
    float vy = fmaf(ey, scale, p->vy);
    float vz = fmaf(ez, scale, p->vz);
    p->vx = vx;
    p->vy = vy;
    p->vz = vz;
    p->x = fmaf(vx, dt, p->x);
    p->y = fmaf(vy, dt, p->y);
    p->z = fmaf(vz, dt, p->z);
}
