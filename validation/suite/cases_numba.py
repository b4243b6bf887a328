"""Kernels of `kernels_numba.py`."""

import math

import numpy as np
from case import Case, Launch, equal, kernel, near
from cases_nvcc import draw, eighths, escapes, product

ALL = "sm_75 sm_80 sm_90"


def launch(name, target, grid, block, args, shared=0):
    """A launch as numba makes it: an array is its owners, sizes, address, extents and strides."""
    import kernels_numba

    flat = []
    for arg in args:
        if isinstance(arg, np.ndarray):
            flat += [0, 0, arg.size, arg.itemsize, arg, *arg.shape, *arg.strides]
        else:
            flat.append(arg)
    return Launch(kernels_numba.entry(name, target), grid, block, flat, shared)


@kernel("numba", "product", "shared tiles", ALL)
def product_python(size):
    n = size(512, 32)
    a, b = eighths((n, n), 1), eighths((n, n), 2)
    c = np.zeros((n, n), np.float32)
    made = launch("product", size.target, (n // 16, n // 16), (16, 16), [a, b, c])
    return Case([made], [equal(c, product(a, b).astype(np.float32))])


@kernel("numba", "reduce_rows", "shuffles", ALL, committed="sm_80")
def reduce_rows(size):
    rows, width = size(512, 4), size(5000, 500)
    x = eighths((rows, width), 1, np.float64)
    out = np.zeros(rows)
    return Case([launch("reduce_rows", size.target, rows, 128, [x, out])], [equal(out, x.sum(axis=1))])


@kernel("numba", "histogram", "atomics", ALL)
def histogram_python(size):
    n = size(1 << 18, 3000)
    x = (draw().normal(128, 30, n).clip(0, 255)).astype(np.uint8)
    bins = np.zeros(256, np.int32)
    made = launch("histogram", size.target, size(64, 3), 128, [x, bins])
    return Case([made], [equal(bins, np.bincount(x, minlength=256).astype(np.int32))])


@kernel("numba", "mandelbrot", "complex numbers", ALL)
def mandelbrot(size):
    n, limit = size(256, 32), 60
    out = np.zeros((n, n), np.int32)
    (left, top, step), count = escapes(n, limit)
    allowed = n * n // 500
    differing = lambda found: np.array([(found.reshape(n, n) != count).sum()], np.float64)
    why = "products and sums are fused, and at the edge the last bit decides on a step more or less"
    made = launch("mandelbrot", size.target, (n // 16, n // 16), (16, 16), [out, left, top, step, limit])
    return Case([made], [near(out, np.zeros(1), why, absolute=allowed, view=differing)])


@kernel("numba", "black_scholes", "libdevice", ALL)
def black_scholes_python(size):
    n = size(1 << 15, 500)
    spot, strike, years = draw(1).uniform(5, 30, n), draw(2).uniform(1, 100, n), draw(3).uniform(0.25, 10, n)
    call, put = np.zeros(n), np.zeros(n)
    rate, volatility = 0.02, 0.3
    wanted = priced(spot, strike, years, rate, volatility)
    made = launch("black_scholes", size.target, size(64, 2), 128, [spot, strike, years, call, put, rate, volatility])
    why = "differences of numbers up to 100, each right to a few units in the last place"
    return Case([made], [near(out, want, why, absolute=1e-12) for out, want in zip((call, put), wanted)])


def priced(spot, strike, years, rate, volatility):
    """Prices of options to buy and to sell, by Black and Scholes."""
    erfc = np.vectorize(math.erfc)
    root = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / root
    share = lambda x: 0.5 * erfc(-x * math.sqrt(0.5))
    discounted = strike * np.exp(-rate * years)
    return spot * share(d1) - discounted * share(d1 - root), discounted * share(root - d1) - spot * share(-d1)


@kernel("numba", "sieve", "nested loops", ALL)
def sieve(size):
    n = size(200000, 3000)
    flags = np.ones(n, np.uint8)
    wanted = np.ones(n, np.uint8)
    for i in range(2, int(n**0.5) + 1):
        wanted[i * i :: i] = 0
    return Case([launch("sieve", size.target, 4, 64, [flags])], [equal(flags, wanted)])


@kernel("numba", "walks", "64-bit integers", ALL)
def walks(size):
    n, steps = size(1 << 13, 256), size(100, 20)
    states, ends = draw().integers(0, 2**63, (n, 2)).astype(np.uint64), np.zeros(n, np.int32)
    s0, s1 = states[:, 0].copy(), states[:, 1].copy()
    left = lambda x, k: x << np.uint64(k) | x >> np.uint64(64 - k)
    at = np.zeros(n, np.int32)
    for _ in range(steps):
        drawn = ((s0 + s1) >> np.uint64(11)).astype(np.float32) * np.float32(2.0**-53)
        at += np.where(drawn < 0.5, 1, -1).astype(np.int32)
        s1 ^= s0
        s0, s1 = left(s0, 55) ^ s1 ^ s1 << np.uint64(14), left(s1, 36)
    return Case([launch("walks", size.target, n // 128, 128, [states, ends, steps])], [equal(ends, at)])


@kernel("numba", "edit_distance", "local arrays", ALL)
def edit_distance(size):
    n = size(2048, 128)
    left, right = (draw(seed).integers(0, 4, (n, 32)).astype(np.uint8) for seed in (1, 2))
    out = np.zeros(n, np.int32)
    row = np.tile(np.arange(33), (n, 1))
    for y in range(32):
        new = np.empty_like(row)
        new[:, 0] = y + 1
        for x in range(32):
            swapped = row[:, x] + (left[:, x] != right[:, y])
            new[:, x + 1] = np.minimum(swapped, np.minimum(row[:, x + 1], new[:, x]) + 1)
        row = new
    made = launch("edit_distance", size.target, n // 64, 64, [left, right, out])
    return Case([made], [equal(out, row[:, 32].astype(np.int32))])


@kernel("numba", "best_place", "64-bit atomics", ALL)
def best_place(size):
    n = size(1 << 17, 1000)
    x = draw().integers(-(2**30), 2**30, n).astype(np.int32)
    best = np.zeros(1, np.int64)
    place = int(x.argmax())
    wanted = np.array([int(x[place]) << 32 | place], np.int64)
    return Case([launch("best_place", size.target, -(-n // 128), 128, [x, best])], [equal(best, wanted)])


@kernel("numba", "dynamic_reverse", "dynamic shared memory", ALL)
def dynamic_reverse(size):
    rows, width = size(512, 3), 777
    x = draw().integers(-32768, 32768, (rows, width)).astype(np.int16)
    out = np.zeros_like(x)
    return Case([launch("dynamic_reverse", size.target, rows, 64, [x, out], 2 * width)], [equal(out, x[:, ::-1])])


@kernel("numba", "vote", "votes, match", ALL, committed="sm_75")
def vote(size):
    n = size(1 << 16, 256)
    x = draw().integers(-50, 101, n).astype(np.int32)
    out = np.zeros(n, np.int32)
    warps = x.reshape(-1, 32)
    positive = (warps > 0).sum(axis=1, keepdims=True)
    same = ((warps & 7)[:, :, None] == (warps & 7)[:, None, :]).sum(axis=2)
    every = (warps < 100).all(axis=1, keepdims=True)
    wanted = positive * 1000 + same + np.where(every, 500, 0)
    return Case(
        [launch("vote", size.target, n // 128, 128, [x, out])], [equal(out, wanted.astype(np.int32).reshape(-1))]
    )
