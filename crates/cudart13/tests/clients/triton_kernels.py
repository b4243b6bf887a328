"""Triton: kernels that it compiles and launches itself, on memory of the driver's in place of tensors."""

import ctypes

import numpy as np
import triton
import triton.language as tl

driver = ctypes.CDLL("libcuda.so.1")


def check(code):
    assert code == 0, code


class Array:
    """An array on the device: what Triton asks of a tensor, and copies."""

    def __init__(self, values):
        self.values = np.ascontiguousarray(values)
        self.dtype = {"f4": tl.float32, "f2": tl.float16, "i4": tl.int32}[self.values.dtype.str[1:]]
        address = ctypes.c_uint64()
        check(driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(self.values.nbytes)))
        self.address = address.value
        host = ctypes.c_void_p(self.values.ctypes.data)
        check(driver.cuMemcpyHtoD_v2(address, host, ctypes.c_size_t(self.values.nbytes)))

    def data_ptr(self):
        return self.address

    def numpy(self):
        host = ctypes.c_void_p(self.values.ctypes.data)
        check(driver.cuMemcpyDtoH_v2(host, ctypes.c_uint64(self.address), ctypes.c_size_t(self.values.nbytes)))
        return self.values


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    values = tl.load(x + row + at, at < columns, other=float("-inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row + at, powers / tl.sum(powers, 0), at < columns)


@triton.jit
def multiply(a, b, c, n: tl.constexpr, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), tl.float32)
    for start in range(0, n, TILE):
        depth = start + tl.arange(0, TILE)
        left = tl.load(a + rows[:, None] * n + depth[None, :])
        right = tl.load(b + depth[:, None] * n + columns[None, :])
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


# Triton makes the primary context current where none is.
triton.runtime.driver.active.get_current_stream(0)
generator = np.random.default_rng(0)
x, y = (generator.standard_normal(1000).astype(np.float32) for _ in range(2))
out = Array(np.zeros_like(x))
add[(triton.cdiv(1000, 256),)](Array(x), Array(y), out, 1000, BLOCK=256)
assert (out.numpy() == x + y).all()

x = generator.standard_normal((20, 100)).astype(np.float32)
out = Array(np.zeros_like(x))
softmax[(20,)](Array(x), out, 100, BLOCK=128)
expected = np.exp(x - x.max(1, keepdims=True))
assert np.allclose(out.numpy(), expected / expected.sum(1, keepdims=True), atol=1e-6)

a, b = (generator.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
out = Array(np.zeros((64, 64), np.float32))
multiply[(2, 2)](Array(a), Array(b), out, 64, TILE=32)
assert np.allclose(out.numpy(), a.astype(np.float32) @ b.astype(np.float32), atol=1e-3)
print("passed")
