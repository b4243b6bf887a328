"""PyCUDA: CUDA C++ that nvcc compiles to machine code, element by element, and reductions."""

import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel

N = 400
rng = np.random.default_rng(1)
a, b = (rng.standard_normal(N).astype(np.float32) for _ in range(2))

module = SourceModule(
    """
    __constant__ float scale;

    __global__ void product(float *out, const float *a, const float *b)
    {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        out[i] = scale * a[i] * b[i];
    }
    """
)
address, size = module.get_global("scale")
assert size == 4
drv.memcpy_htod(address, np.float32(2))
product = module.get_function("product")
assert product.num_regs > 0 and product.shared_size_bytes == 0
out = np.zeros_like(a)
product(drv.Out(out), drv.In(a), drv.In(b), block=(100, 1, 1), grid=(4, 1))
assert (out == 2 * a * b).all()

x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
assert np.allclose((x * y + 3 * x).get(), a * b + 3 * a)
linear = ElementwiseKernel("float factor, float *x, float *y, float *z", "z[i] = factor * x[i] + sinf(y[i])", "linear")
z = gpuarray.empty_like(x)
linear(5, x, y, z)
assert np.allclose(z.get(), 5 * a + np.sin(b), atol=1e-5)
dot = ReductionKernel(np.float32, "0", "a + b", "x[i] * y[i]", "float *x, float *y")
assert np.isclose(dot(x, y).get(), np.dot(a, b), rtol=1e-4)
print("passed")
