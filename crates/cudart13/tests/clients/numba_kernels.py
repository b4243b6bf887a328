"""Numba's CUDA target: kernels with shared memory, atomics, a device function and libdevice."""

import math

import numpy as np
from numba import cuda, float32

N = 1000
BLOCK = 128


@cuda.jit(device=True)
def cube(x):
    return x * x * x


@cuda.jit
def curve(y, x):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = math.sin(cube(x[i]))


@cuda.jit
def total(out, x):
    part = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = BLOCK // 2
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])


blocks = (N + BLOCK - 1) // BLOCK
x = np.linspace(-1, 1, N).astype(np.float32)
y = np.zeros_like(x)
curve[blocks, BLOCK](y, x)
assert np.allclose(y, np.sin(x**3), atol=1e-6)
stream = cuda.stream()
on_device = cuda.to_device(np.arange(N, dtype=np.float32), stream=stream)
out = cuda.device_array(1, np.float32, stream=stream)
out[:1] = 0
total[blocks, BLOCK, stream](out, on_device)
stream.synchronize()
assert out.copy_to_host()[0] == N * (N - 1) / 2
print("passed")
