// An array of structures of which a kernel needs two members. Repaired: an array for each member.
struct Particle {
    float x, y, z, vx, vy, vz, mass, charge;
};

extern "C" __global__ void mistake(const Particle* __restrict__ particles, float* __restrict__ energy, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) energy[i] = 0.5f * particles[i].mass * particles[i].vx * particles[i].vx;  // here
}

extern "C" __global__ void repaired(const float* __restrict__ members, float* __restrict__ energy, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) energy[i] = 0.5f * members[6 * n + i] * members[3 * n + i] * members[3 * n + i];
}
