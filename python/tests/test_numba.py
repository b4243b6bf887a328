"""Kernels of numba-cuda, compiled and predicted without a GPU."""

import numpy as np
import pytest

import warplens as wl

numba = pytest.importorskip("numba")
cuda = pytest.importorskip("numba.cuda", exc_type=Exception)
wn = pytest.importorskip("warplens.numba")

TILE = 16


@cuda.jit
def saxpy(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


def product(a, b, c):
    left = cuda.shared.array((TILE, TILE), numba.float32)
    right = cuda.shared.array((TILE, TILE), numba.float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = numba.float32(0)
    for tile in range(a.shape[1] // TILE):
        left[y, x] = a[row, tile * TILE + x]
        right[y, x] = b[tile * TILE + y, column]
        cuda.syncthreads()
        for i in range(TILE):
            total += left[y, i] * right[i, x]
        cuda.syncthreads()
    c[row, column] = total


def arrays(n=4096):
    draw = np.random.default_rng(5)
    return draw.normal(size=n).astype(np.float32), draw.normal(size=n).astype(np.float32), np.zeros(n, np.float32)


def test_kernels_are_predicted_for_each_target():
    results = wn.predict(saxpy, np.float32(2), *arrays(), grid=16, block=256, gpus=["h200", "a100-80"])
    assert [entry.gpu for entry in results.predictions] == ["h200", "a100-80"]
    assert all(entry.time_us > 0 for entry in results.predictions)


def test_they_compute_what_they_should():
    x, y, out = arrays()
    left = wl.run(wn.kernel(saxpy, np.float32(2), x, y, out, grid=16, block=256)).arrays[3]
    assert np.allclose(left, 2 * x + y, atol=1e-6)
    a = np.random.default_rng(6).normal(size=(64, 64)).astype(np.float32)
    kernel = wn.kernel(product, a, a.copy(), np.zeros_like(a), grid=(4, 4), block=(16, 16))
    assert np.allclose(wl.run(kernel).arrays[2], a @ a, atol=1e-4)


def test_listings_are_of_the_python_source():
    texts = wl.annotate(wn.kernel(saxpy, np.float32(2), *arrays(), grid=16, block=256)).annotations[0].texts
    assert any("a * x[i] + y[i]" in line.text for text in texts for line in text.lines)


def test_mistakes():
    with pytest.raises(wl.UsageError, match="numba does not compile"):
        wn.kernel(saxpy, 2.0, *arrays()[:2], grid=16, block=256)
    with pytest.raises(wl.UsageError, match="not contiguous"):
        wn.kernel(saxpy, 2.0, arrays()[0][::2], *arrays()[1:], grid=16, block=256)
