"""Kernels in Python, compiled by numba without a GPU; `COMPILED` has their types."""

import functools
import math
import re

import numba
import numpy as np
from numba import cuda

TILE = 16


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


def reduce_rows(x, out):
    """One block per row: lanes by shuffles, warps by shared memory."""
    sums = cuda.shared.array(32, numba.float64)
    total = 0.0
    for i in range(cuda.threadIdx.x, x.shape[1], cuda.blockDim.x):
        total += x[cuda.blockIdx.x, i]
    step = 16
    while step > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
        step //= 2
    if cuda.laneid == 0:
        sums[cuda.threadIdx.x // 32] = total
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        total = 0.0
        for i in range(cuda.blockDim.x // 32):
            total += sums[i]
        out[cuda.blockIdx.x] = total


def histogram(x, bins):
    local = cuda.shared.array(256, numba.int32)
    for i in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        local[i] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(local, x[i], 1)
    cuda.syncthreads()
    for i in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        cuda.atomic.add(bins, i, local[i])


def mandelbrot(out, left, top, step, limit):
    x, y = cuda.grid(2)
    if x < out.shape[1] and y < out.shape[0]:
        c = complex(left + x * step, top + y * step)
        z = 0j
        count = 0
        while count < limit and z.real * z.real + z.imag * z.imag < 4:
            z = z * z + c
            count += 1
        out[y, x] = count


def black_scholes(spot, strike, years, call, put, rate, volatility):
    for i in range(cuda.grid(1), spot.size, cuda.gridsize(1)):
        root = volatility * math.sqrt(years[i])
        d1 = (math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / root
        first, second = 0.5 * math.erfc(-d1 * math.sqrt(0.5)), 0.5 * math.erfc(-(d1 - root) * math.sqrt(0.5))
        discounted = strike[i] * math.exp(-rate * years[i])
        call[i] = spot[i] * first - discounted * second
        put[i] = discounted * (1 - second) - spot[i] * (1 - first)


def sieve(flags):
    """Each thread strikes out the multiples of its numbers."""
    n = flags.size
    for i in range(cuda.grid(1) + 2, n, cuda.gridsize(1)):
        if i * i < n:
            for multiple in range(i * i, n, i):
                flags[multiple] = 0


def walks(states, ends, steps):
    """Walks at random by xoroshiro128+, with one state per thread."""
    i = cuda.grid(1)
    s0, s1 = states[i, 0], states[i, 1]
    at = 0
    for _ in range(steps):
        at += 1 if numba.float32((s0 + s1) >> np.uint64(11)) * numba.float32(2.0**-53) < 0.5 else -1
        s1 ^= s0
        s0 = (s0 << np.uint64(55) | s0 >> np.uint64(9)) ^ s1 ^ (s1 << np.uint64(14))
        s1 = s1 << np.uint64(36) | s1 >> np.uint64(28)
    ends[i] = at


def edit_distance(left, right, out):
    """Of pairs of words, one per thread, with the table's row in local memory."""
    i = cuda.grid(1)
    row = cuda.local.array(33, numba.int32)
    for x in range(33):
        row[x] = x
    for y in range(32):
        corner = row[0]
        row[0] = y + 1
        for x in range(32):
            best = corner + (0 if left[i, x] == right[i, y] else 1)
            best = min(best, min(row[x], row[x + 1]) + 1)
            corner = row[x + 1]
            row[x + 1] = best
    out[i] = row[32]


def best_place(x, best):
    """The greatest value with its place, by compare and swap on 64 bits."""
    i = cuda.grid(1)
    if i < x.size:
        key = (np.int64(x[i]) << 32) | i
        cuda.atomic.max(best, 0, key)


def dynamic_reverse(x, out):
    row = cuda.shared.array(0, numba.int16)
    width = x.shape[1]
    for i in range(cuda.threadIdx.x, width, cuda.blockDim.x):
        row[i] = x[cuda.blockIdx.x, i]
    cuda.syncthreads()
    for i in range(cuda.threadIdx.x, width, cuda.blockDim.x):
        out[cuda.blockIdx.x, i] = row[width - 1 - i]


def vote(x, out):
    i = cuda.grid(1)
    positive = cuda.ballot_sync(0xFFFFFFFF, x[i] > 0)
    same = cuda.match_any_sync(0xFFFFFFFF, x[i] & 7)
    out[i] = cuda.popc(positive) * 1000 + cuda.popc(same) + (500 if cuda.all_sync(0xFFFFFFFF, x[i] < 100) else 0)


i4, i8, f4, f8 = numba.int32, numba.int64, numba.float32, numba.float64

# Name: function and the types of its parameters.
COMPILED = {
    "product": (product, (f4[:, ::1], f4[:, ::1], f4[:, ::1])),
    "reduce_rows": (reduce_rows, (f8[:, ::1], f8[::1])),
    "histogram": (histogram, (numba.uint8[::1], i4[::1])),
    "mandelbrot": (mandelbrot, (i4[:, ::1], f8, f8, f8, i4)),
    "black_scholes": (black_scholes, (f8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8, f8)),
    "sieve": (sieve, (numba.uint8[::1],)),
    "walks": (walks, (numba.uint64[:, ::1], i4[::1], i4)),
    "edit_distance": (edit_distance, (numba.uint8[:, ::1], numba.uint8[:, ::1], i4[::1])),
    "best_place": (best_place, (i4[::1], i8[::1])),
    "dynamic_reverse": (dynamic_reverse, (numba.int16[:, ::1], numba.int16[:, ::1])),
    "vote": (vote, (i4[::1], i4[::1])),
}


@functools.lru_cache(None)
def compiled(name, target):
    number = int(target.removeprefix("sm_"))
    function, types = COMPILED[name]
    ptx, _ = cuda.compile_ptx(function, types, cc=divmod(number, 10))
    return ptx


def entry(name, target):
    """The name of the kernel in the PTX, which has the types in it."""
    return re.search(r"\.entry (\w+)\(", compiled(name, target))[1]
