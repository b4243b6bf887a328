// nvcc: -jtd 50
// A dense switch that nvcc turns into an indirect branch through a table (brx.idx). Every lane takes another case.
extern "C" __global__ void switch_table(const int* selector, const int* value, int* out) {
    int lane = threadIdx.x;
    int v = value[lane];
    switch (selector[lane]) {
        case 0: v = v + 11; break;
        case 1: v = v * v; break;
        case 2: v = v / 3; break;
        case 3: v = v ^ 0x55; break;
        case 4: v = __popc(v); break;
        case 5: v = -v; out[32] = 77; break;
        case 6: v = v << 4; // falls through
        case 7: v = v - 1000; break;
        case 8: v = v % 7; break;
        case 9: v = __brev(v); break;
        default: v = -1;
    }
    out[lane] = v;
}
