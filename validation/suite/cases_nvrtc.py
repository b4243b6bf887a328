"""Kernels in `nvrtc/`, compiled by NVRTC 12."""

import hashlib

import numpy as np
from case import Case, Launch, equal, kernel, near
from cases_numba import priced
from cases_nvcc import draw, eighths, product, sparse
from cases_triton import softened

BOTH = "sm_60 sm_70"


def textbook(feature, committed=""):
    return kernel("nvrtc", "textbook.cu", feature, BOTH, committed)


@textbook("transposition")
def transpose(size):
    height, width = size((1000, 700), (70, 50))
    x, out = eighths((height, width)), np.zeros((width, height), np.float32)
    grid = (-(-width // 32), -(-height // 32))
    return Case([Launch("transpose", grid, (32, 8), [x, out, width, height])], [equal(out, x.T)])


@textbook("stencil")
def stencil_25(size):
    nx, ny, nz = size((128, 64, 32), (32, 16, 5))
    x, weights = eighths((nz + 8, ny + 8, nx + 8)), eighths(5, 2)
    out = np.zeros((nz, ny, nx), np.float32)
    middle = lambda dz, dy, dx: x[4 + dz : nz + 4 + dz, 4 + dy : ny + 4 + dy, 4 + dx : nx + 4 + dx].astype(np.float64)
    wanted = weights[0] * middle(0, 0, 0)
    for i in range(1, 5):
        wanted += weights[i] * sum(
            middle(*(s * i * axis for axis in unit)) for s in (-1, 1) for unit in np.eye(3, dtype=int)
        )
    launch = Launch("stencil_25", (nx // 32, ny // 8), (32, 8), [x, out, weights, nx, ny, nz])
    return Case([launch], [equal(out, wanted.astype(np.float32))])


@textbook("convolution")
def convolve_rows(size):
    n = size(512, 48)
    image, taps = eighths((n, n)), eighths(9, 2)
    between = np.zeros((n, n), np.float32)
    one = lambda x: sum(taps[i].astype(np.float64) * np.pad(x, ((0, 0), (4, 4)))[:, i : i + n] for i in range(9))
    shared, symbols = (n + 8) * 4, {"kernel_taps": taps}
    first = Launch("convolve_rows", n, 128, [image, between, n], shared, symbols=symbols)
    second = Launch("convolve_rows", n, 128, [between, image, n], shared)
    # The second launch writes over the image, which the first one brings.
    return Case([first, second], [equal(image, one(one(image).T).T.astype(np.float32))])


@textbook("reduction")
def reduce_blocks(size):
    n, blocks = size(1 << 20, 5000), size(64, 3)
    x, sums = eighths(n, 1, np.float64), np.zeros(blocks)
    launches = [
        Launch("reduce_blocks", blocks, 256, [x, sums, n]),
        Launch("reduce_blocks", 1, 256, [sums, sums, blocks]),
    ]
    return Case(launches, [equal(sums, x.sum(keepdims=True), view=lambda found: found[:1])])


@textbook("scan of three launches", committed="sm_60")
def scan_tree(size):
    blocks = size(512, 2)
    n = blocks * 512
    x, out = draw().integers(-100, 100, n).astype(np.int32), np.zeros(n, np.int32)
    sums, scanned = np.zeros(512, np.int32), np.zeros(512, np.int32)
    launches = [
        Launch("scan_tree", blocks, 256, [x, out, sums]),
        Launch("scan_tree", 1, 256, [sums, scanned, None]),
        Launch("add_sums", blocks, 256, [out, scanned]),
    ]
    return Case(launches, [equal(out, np.cumsum(x, dtype=np.int32) - x)])


@textbook("bitonic sort")
def bitonic_step(size):
    n = size(1 << 15, 256)
    values = draw().normal(0, 1, n).astype(np.float32)
    launches, span = [], 2
    while span <= n:
        distance = span // 2
        while distance:
            launches.append(Launch("bitonic_step", max(n // 256, 1), 256, [values, distance, span]))
            distance //= 2
        span *= 2
    return Case(launches, [equal(values, np.sort(values))])


@textbook("radix sort")
def radix_move(size):
    n = size(8192, 1024)
    blocks = n // 256
    keys, other = draw().integers(0, 2**16, n, dtype=np.uint32), np.zeros(n, np.uint32)
    counts, places = np.zeros(512, np.int32), np.zeros(512, np.int32)
    launches, pair = [], (keys, other)
    for shift in range(0, 16, 4):
        launches += [
            Launch("radix_count", blocks, 256, [pair[0], counts, shift]),
            Launch("scan_tree", 1, 256, [counts, places, None]),
            Launch("radix_move", blocks, 256, [*pair, places, shift]),
        ]
        pair = pair[::-1]
    return Case(launches, [equal(keys, np.sort(keys))])


@textbook("sparse matrix")
def spmv_csr(size):
    rows = size(4096, 64)
    starts, columns, values = sparse(rows, rows, 40)
    x, y = eighths(rows, 2, np.float64), np.zeros(rows)
    sums = np.concatenate([[0], np.cumsum(values * x[columns])])
    launch = Launch("spmv_csr", rows // 8, 256, [starts, columns, values, x, y, rows])
    return Case([launch], [equal(y, sums[starts[1:]] - sums[starts[:-1]])])


@textbook("n bodies")
def n_body(size):
    n = size(2048, 256)
    bodies, forces = draw().uniform(0, 1, (n, 4)).astype(np.float32), np.zeros((n, 4), np.float32)
    wide = bodies.astype(np.float64)
    apart = wide[None, :, :3] - wide[:, None, :3]
    pull = wide[None, :, 3] * ((apart**2).sum(axis=2) + np.float64(np.float32(0.01))) ** -1.5
    wanted, size_of = np.zeros((n, 4)), np.zeros((n, 4))
    wanted[:, :3] = (apart * pull[:, :, None]).sum(axis=1)
    size_of[:, :3] = abs(apart * pull[:, :, None]).sum(axis=1)
    why = "a term is right to about ten roundings, and n of them are added in floats: n 2^-24 of their magnitudes"
    launch = Launch("n_body", n // 128, 128, [bodies, forces, n], 128 * 16)
    return Case([launch], [near(forces, wanted, why, absolute=(n / 4 + 10) * 2.0**-24 * size_of)])


@textbook("Fourier transform")
def fft_1024(size):
    rows = size(512, 2)
    x = eighths((rows, 1024, 2))
    out = np.zeros_like(x)
    result = np.fft.fft(x[..., 0].astype(np.float64) + 1j * x[..., 1])
    wanted = np.stack([result.real, result.imag], axis=2)
    why = "the error of a transform in floats grows with the logarithm of its length: 10 times 2^-22 of the norm"
    bound = 10 * 2.0**-22 * np.sqrt((x.astype(np.float64) ** 2).sum(axis=(1, 2)))[:, None, None]
    return Case([Launch("fft_1024", rows, 256, [x, out])], [near(out, wanted, why, absolute=bound)])


@textbook("Black and Scholes", committed="sm_60")
def black_scholes(size):
    n = size(1 << 15, 128)
    spot, strike, years = draw(1).uniform(5, 30, n), draw(2).uniform(1, 100, n), draw(3).uniform(0.25, 10, n)
    call, put = np.zeros(n), np.zeros(n)
    args = [spot, strike, years, call, put, 0.02, 0.3, n]
    why = "differences of numbers up to 100, each right to a few units in the last place"
    wanted = priced(spot, strike, years, 0.02, 0.3)
    return Case(
        [Launch("black_scholes", size(64, 2), 128, args)],
        [near(out, want, why, absolute=1e-12) for out, want in zip((call, put), wanted)],
    )


@textbook("histogram")
def histogram_shared(size):
    n = size(1 << 19, 4000)
    x, bins = draw().integers(0, 256, n).astype(np.uint8), np.zeros(256, np.uint32)
    launch = Launch("histogram_shared", size(64, 2), 256, [x, bins, n])
    return Case([launch], [equal(bins, np.bincount(x, minlength=256).astype(np.uint32))])


@textbook("shortest ways")
def shortest_ways(size):
    n = size(128, 32)
    length = draw().integers(1, 100, (n, n)).astype(np.int32)
    np.fill_diagonal(length, 0)
    wanted = length.copy()
    for over in range(n):
        wanted = np.minimum(wanted, wanted[:, over : over + 1] + wanted[over])
    launches = [Launch("shortest_ways", (n // 16, n // 16), (16, 16), [length, n, over]) for over in range(n)]
    return Case(launches, [equal(length, wanted)])


@textbook("alignment")
def align_pairs(size):
    pairs, length = size(64, 3), size(200, 50)
    left, right = (draw(seed).integers(65, 69, (pairs, length)).astype(np.int8) for seed in (1, 2))
    scores = np.zeros(pairs, np.int32)
    row = np.tile(-2 * np.arange(length + 1), (pairs, 1))
    for i in range(length):
        new = np.empty_like(row)
        new[:, 0] = -2 * (i + 1)
        for j in range(length):
            best = row[:, j] + np.where(left[:, i] == right[:, j], 3, -1)
            new[:, j + 1] = np.maximum(best, np.maximum(row[:, j + 1], new[:, j]) - 2)
        row = new
    launch = Launch("align_pairs", pairs, 64, [left, right, scores, length], 3 * (length + 1) * 4)
    return Case([launch], [equal(scores, row[:, -1].astype(np.int32))])


@textbook("search in breadth")
def search_level(size):
    n = size(1 << 14, 500)
    degree = draw(1).integers(0, 7, n)
    starts = np.concatenate([[0], np.cumsum(degree)]).astype(np.int32)
    edges = draw(2).integers(0, n, starts[-1]).astype(np.int32)
    levels, found = np.full(n, -1, np.int32), np.zeros(1, np.int32)
    levels[0] = 0
    wanted, front, depth = levels.copy(), [0], 0
    while front:
        depth += 1
        reached = {int(e) for i in front for e in edges[starts[i] : starts[i + 1]] if wanted[e] < 0}
        front = sorted(reached)
        wanted[front] = depth
    launches = [
        Launch("search_level", -(-n // 128), 128, [starts, edges, levels, level, n, found]) for level in range(depth)
    ]
    return Case(launches, [equal(levels, wanted), equal(found, np.array([(wanted > 0).sum()], np.int32))])


@textbook("hash table")
def table_insert(size):
    n, places = size(1 << 15, 500), size(1 << 17, 2048)
    keys = draw(1).integers(1, n, n, dtype=np.uint32)
    asked = draw(2).integers(1, 2 * n, n, dtype=np.uint32)
    table, values, out = np.zeros(places, np.uint32), np.zeros(places, np.uint32), np.zeros(n, np.uint32)
    sums = np.zeros(2 * n, np.int64)
    np.add.at(sums, keys, np.arange(1, n + 1))
    known = np.zeros(2 * n, bool)
    known[keys] = True
    wanted = np.where(known[asked], sums[asked] & 0xFFFFFFFF, 0xFFFFFFFF).astype(np.uint32)
    blocks = -(-n // 128)
    launches = [
        Launch("table_insert", blocks, 128, [keys, table, values, n, places - 1]),
        Launch("table_find", blocks, 128, [asked, table, values, out, n, places - 1]),
    ]
    return Case(launches, [equal(out, wanted)])


def primes():
    return [n for n in range(2, 320) if all(n % i for i in range(2, int(n**0.5) + 1))][:64]


@textbook("SHA-256", committed="sm_70")
def sha_256(size):
    n = size(1 << 13, 64)
    # Messages of 55 bytes fill one block with their end and length.
    messages = draw().integers(0, 256, (n, 55)).astype(np.uint8)
    tail = np.tile(np.frombuffer(bytes([0x80]) + (55 * 8).to_bytes(8, "big"), np.uint8), (n, 1))
    words = np.concatenate([messages, tail], axis=1).view(">u4").astype(np.uint32)
    out = np.zeros((n, 8), np.uint32)
    wanted = np.stack([np.frombuffer(hashlib.sha256(m.tobytes()).digest(), ">u4") for m in messages]).astype(np.uint32)
    # The constants are the first 32 bits behind the point of the cube roots of primes, here by whole numbers.
    roots = []
    for prime in primes():
        root, goal = 0, prime << 96
        for bit in reversed(range(36)):
            if (root | 1 << bit) ** 3 <= goal:
                root |= 1 << bit
        roots.append(root & 0xFFFFFFFF)
    symbols = {"sha_words": np.array(roots, np.uint32)}
    return Case([Launch("sha_256", n // 64, 64, [words, out], symbols=symbols)], [equal(out, wanted)])


@textbook("neural network")
def layer_3x3(size):
    channels, n, filters = size((16, 64, 16), (3, 16, 2))
    x, weights, bias = eighths((channels, n, n), 1), eighths((filters, channels, 3, 3), 2), eighths(filters, 3)
    out = np.zeros((filters, n // 2, n // 2), np.float32)
    wide = np.pad(x, ((0, 0), (1, 1), (1, 1))).astype(np.float64)
    sums = sum(
        np.einsum("fc,cyx->fyx", weights[:, :, i, j], wide[:, i : i + n, j : j + n]) for i in range(3) for j in range(3)
    )
    pooled = np.maximum(sums + bias[:, None, None], 0).reshape(filters, n // 2, 2, n // 2, 2).max(axis=(2, 4))
    launch = Launch("layer_3x3", (n // 16, n // 16, filters), (8, 8), [x, weights, bias, out, channels, n])
    return Case([launch], [equal(out, pooled.astype(np.float32))])


@kernel("nvrtc", "textbook.cu", "attention", BOTH)
def attention(size):
    length = size(512, 64)
    q, k, v = (draw(seed).normal(0, 1, (length, 64)).astype(np.float32) for seed in (1, 2, 3))
    out = np.zeros_like(q)
    wide = [x.astype(np.float64) for x in (q, k, v)]
    weights = softened(wide[0] @ wide[1].T / 8)
    why = "sums of 512 terms in floats, scores right to 64 roundings before they are exponents"
    bound = near(out, weights @ wide[2], why, absolute=2e-5)
    return Case([Launch("attention", length // 64, 64, [q, k, v, out, length, 0.125])], [bound])


@textbook("cyclic reduction")
def tridiagonal(size):
    systems = size(128, 2)
    random = draw()
    below, above, right = (random.uniform(-1, 1, (systems, 256)) for _ in range(3))
    middle = random.uniform(3, 4, (systems, 256))
    below[:, 0] = above[:, -1] = 0
    out = np.zeros((systems, 256))
    dense = np.zeros((systems, 256, 256))
    i = np.arange(256)
    dense[:, i, i] = middle
    dense[:, i[1:], i[:-1]] = below[:, 1:]
    dense[:, i[:-1], i[1:]] = above[:, :-1]
    wanted = np.linalg.solve(dense, right[..., None])[..., 0]
    why = "the systems are diagonally dominant, so that errors of doubles do not grow"
    return Case(
        [Launch("tridiagonal", systems, 256, [below, middle, above, right, out])],
        [near(out, wanted, why, absolute=1e-13)],
    )


@textbook("lattice of a fluid")
def lattice_step(size):
    n, steps = size(128, 16), size(6, 2)
    cx, cy = [0, 1, 0, -1, 0, 1, -1, -1, 1], [0, 0, 1, 0, -1, 1, 1, -1, -1]
    share = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    start = (share[:, None, None] * draw().uniform(0.9, 1.1, (9, n, n))).astype(np.float32)
    f, other = start.copy(), np.zeros_like(start)
    wide = start.astype(np.float64)
    relax = float(np.float32(0.8))
    for _ in range(steps):
        wide = np.stack([np.roll(wide[i], (cy[i], cx[i]), (0, 1)) for i in range(9)])
        density = wide.sum(axis=0)
        u = sum(cx[i] * wide[i] for i in range(9)) / density
        v = sum(cy[i] * wide[i] for i in range(9)) / density
        for i in range(9):
            along = cx[i] * u + cy[i] * v
            rest = share[i] * density * (1 + 3 * along + 4.5 * along**2 - 1.5 * (u**2 + v**2))
            wide[i] = wide[i] + relax * (rest - wide[i])
    pairs = [(f, other), (other, f)]
    launches = [Launch("lattice_step", (n // 16, n // 16), (16, 16), [*pairs[i % 2], n, 0.8]) for i in range(steps)]
    result = f if steps % 2 == 0 else other
    return Case(
        launches,
        [near(result, wide, "some twenty roundings of numbers up to 1 in each step", absolute=steps * 20 * 2.0**-24)],
    )


@textbook("cells in words")
def life_words(size):
    words, rows, steps = size((32, 512, 4), (32, 8, 2))
    cells = draw().integers(0, 2, (rows, words * 32)).astype(np.uint8)
    pack = lambda x: np.packbits(x, axis=1, bitorder="little").view(np.uint32)
    pair = [pack(cells), np.zeros((rows, words), np.uint32)]
    for _ in range(steps):
        around = sum(np.roll(cells, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1) if x or y)
        cells = ((around == 3) | ((around == 2) & (cells == 1))).astype(np.uint8)
    launches = [
        Launch("life_words", (1, rows), words, [pair[i % 2], pair[1 - i % 2], words, rows]) for i in range(steps)
    ]
    return Case(launches, [equal(pair[steps % 2], pack(cells))])


@textbook("clustering")
def nearest_centre(size):
    n = size(1 << 15, 500)
    points, centres = eighths((n, 2), 1, np.float64), draw(2).uniform(-1, 1, (16, 2))
    nearest, sums = np.zeros(n, np.int32), np.zeros((16, 3))
    best = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    wanted = np.zeros((16, 3))
    np.add.at(wanted, best, np.concatenate([points, np.ones((n, 1))], axis=1))
    launch = Launch("nearest_centre", -(-n // 128), 128, [points, centres, nearest, sums, n])
    return Case([launch], [equal(nearest, best.astype(np.int32)), equal(sums, wanted)])


@kernel("nvrtc", "volta.cu", "wmma", "sm_70", committed="sm_70")
def wmma_halves(size):
    n = size(512, 64)
    a, b = (draw(seed).integers(-1, 2, (n, n)).astype(np.float16) for seed in (1, 2))
    c = np.zeros((n, n), np.float16)
    launch = Launch("wmma_halves", (n // 64, n // 32), 128, [a, b, c, n, n, n])
    return Case([launch], [equal(c, (product(a.T, b.T) / 2).astype(np.float16))])


@kernel("nvrtc", "volta.cu", "lanes that wait", "sm_70")
def lane_relay(size):
    n = size(1 << 13, 256)
    x, out = draw().integers(-100, 100, n).astype(np.int32), np.zeros(n, np.int32)
    warps, wanted = x.reshape(-1, 32).astype(np.int64), np.zeros((n // 32, 32), np.int64)
    token = np.ones(n // 32, np.int64)
    for lane in range(32):
        token = (token * 3 + warps[:, lane]) & 0xFFFFFFFF
        wanted[:, lane] = token
    return Case(
        [Launch("lane_relay", n // 128, 128, [x, out])],
        [equal(out, wanted.astype(np.uint32).view(np.int32).reshape(-1))],
    )


@kernel("nvrtc", "volta.cu", "locks", "sm_70")
def locked_bins(size):
    n = size(1 << 13, 300)
    keys, weights = draw(1).integers(0, 64, n).astype(np.int32), eighths(n, 2)
    locks, bins, counts = np.zeros(64, np.int32), np.zeros(64, np.float32), np.zeros(64, np.int32)
    wanted = np.bincount(keys, weights.astype(np.float64), 64).astype(np.float32)
    launch = Launch("locked_bins", -(-n // 128), 128, [keys, weights, locks, bins, counts, n])
    return Case([launch], [equal(bins, wanted), equal(counts, np.bincount(keys, minlength=64).astype(np.int32))])
