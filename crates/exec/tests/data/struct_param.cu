// Kernel parameters by value: a structure with mixed members and padding, an array inside a structure, and small types.
struct Settings {
    char flag;
    double scale;
    short offset[3];
    float3 direction;
};

extern "C" __global__ void struct_param(Settings s, unsigned char small, int* integers, float* floats, bool enabled) {
    int lane = threadIdx.x;
    integers[lane] = s.flag * 1000 + s.offset[lane % 3] + small;
    floats[lane] = enabled ? (float)(s.scale * lane) + s.direction.y * s.direction.z : -1.0f;
}
