// Dense switch with bodies that differ in shape, so that the compiler makes a jump table.
__device__ __noinline__ float step(float x, int k) { for (int i = 0; i < k; i++) x = x * 1.5f + i; return x; }
__global__ void interpret(const int *program, float *stack, int n) {
  float a = stack[0], b = stack[1];
  for (int pc = 0; pc < n; pc++) {
    switch (program[pc]) {
      case 0: a += b; break;
      case 1: a = step(a, 3); break;
      case 2: stack[pc] = a; break;
      case 3: b = stack[pc] * a; __syncthreads(); break;
      case 4: a = sqrtf(b); break;
      case 5: atomicAdd(stack, b); break;
      case 6: if (a > b) return; break;
      case 7: b = step(b, program[pc + 1]); break;
      case 8: a = __shfl_sync(~0u, a, 3); break;
      case 9: { float t = a; a = b; b = t; } break;
      case 10: stack[threadIdx.x] = b; break;
      case 11: asm volatile("bar.warp.sync 15;"); break;
    }
  }
  stack[2] = a - b;
}
