"""tinygrad: tensors on its CUDA device, whose kernels NVRTC compiles to PTX."""

import os

os.environ["DEV"] = "CUDA"

import numpy as np
from tinygrad import Tensor, TinyJit

generator = np.random.default_rng(0)
a, b = (generator.standard_normal((48, 48)).astype(np.float32) for _ in range(2))
assert np.allclose((Tensor(a) @ Tensor(b)).numpy(), a @ b, atol=1e-4)
assert np.allclose(Tensor(a).softmax(1).numpy().sum(1), 1, atol=1e-5)
x = Tensor([1.0, 2.0, 3.0]).realize()
assert (x.sum().numpy(), x.max().numpy()) == (6, 3)


@TinyJit
def step(x):
    return (x * 2 + 1).realize()


# The first call is watched, the second kept, the third replayed.
for n in range(4):
    assert (step(Tensor([float(n), 1.0]).contiguous().realize()).numpy() == [2 * n + 1, 3]).all()
print("passed")
