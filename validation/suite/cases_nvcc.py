"""Kernels in `cuda/`, compiled by nvcc 13."""

import numpy as np
from case import Case, Launch, Object, equal, kernel, near, tensor_map
from formats import E4M3, E5M2, from_bfloat, to_bfloat, to_e4m3, to_tf32

ALL = "sm_75 sm_80 sm_90"


def draw(seed=1):
    return np.random.default_rng(seed)


def eighths(shape, seed=1, kind=np.float32):
    """Multiples of 1/8 up to 1: sums of products of a few thousand of them are exact in single precision."""
    return (draw(seed).integers(-8, 9, shape) / 8).astype(kind)


def product(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def escapes(n, limit):
    """Left, top and step of a picture of the plane, and after how many steps each of its points leaves the circle."""
    left, top, step = -2.0, -1.25, 2.5 / n
    y, x = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    cx, cy = left + x * step, top + y * step
    zx, zy, count = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n), np.int32)
    for _ in range(limit):
        going = zx * zx + zy * zy < 4
        count += going
        zx, zy = np.where(going, zx * zx - zy * zy + cx, zx), np.where(going, zx * zy + zy * zx + cy, zy)
    return (left, top, step), count


def product_case(
    name, block, tile, size, kind=np.float32, out=np.float32, column_major=False, shared=0, per_row=1, depth=None
):
    """A product of square matrices whose results are exact; `tile` is what a block makes, (rows, columns)."""
    n = size(512, 64 * per_row)
    k = depth or n
    a, b = eighths((n, k), 1, kind), eighths((k, n), 2, kind)
    c = np.zeros((n, n), out)
    given = np.ascontiguousarray(b.T) if column_major else b
    launch = Launch(name, (n // tile[1], n // tile[0]), block, [a, given, c, n, k], shared)
    return Case([launch], [equal(c, product(a, b).astype(out))])


@kernel("nvcc", "products.cu", "shared tiles", ALL)
def product_tiled(size):
    return product_case("product_tiled", (16, 16), (64, 64), size)


@kernel("nvcc", "products.cu", "doubles", ALL)
def product_double(size):
    return product_case("product_double", (16, 16), (16, 16), size, np.float64, np.float64)


@kernel("nvcc", "products.cu", "wmma", ALL, committed="sm_75")
def product_wmma(size):
    return product_case("product_wmma", 128, (64, 64), size, np.float16)


@kernel("nvcc", "products.cu", "wmma, integers", ALL)
def product_wmma_bytes(size):
    n = size(512, 64)
    a, b = (draw(seed).integers(-128, 128, (n, n)).astype(np.int8) for seed in (1, 2))
    c = np.zeros((n, n), np.int32)
    launch = Launch("product_wmma_bytes", (n // 64, n // 32), 256, [a, b, c, n, n])
    return Case([launch], [equal(c, a.astype(np.int32) @ b.T.astype(np.int32))])


def staged(stages):
    shared = stages * (64 * 40 + 32 * 72) * 2

    def make(size):
        return product_case(f"product_stages_{stages}", 128, (64, 64), size, np.float16, np.float16, shared=shared)

    make.__name__ = f"product_stages_{stages}"
    return make


for stages in (1, 2, 4):
    kernel("nvcc", "products_80.cu", "cp.async, ldmatrix", "sm_80 sm_90", "sm_80" if stages == 4 else "")(
        staged(stages)
    )


@kernel("nvcc", "products_80.cu", "mma.sync, bfloat16", "sm_80 sm_90")
def product_bfloat(size):
    n = size(512, 64)
    a, b = eighths((n, n), 1), eighths((n, n), 2)
    c = np.zeros((n, n), np.float32)
    launch = Launch("product_bfloat", (n // 64, n // 64), 128, [to_bfloat(a), to_bfloat(b), c, n, n])
    return Case([launch], [equal(c, product(a, b.T).astype(np.float32))])


@kernel("nvcc", "products_80.cu", "mma.sync, tf32", "sm_80 sm_90")
def product_tf32(size):
    n = size(512, 64)
    a, b = (draw(seed).uniform(-1, 1, (n, n)).astype(np.float32) for seed in (1, 2))
    c = np.zeros((n, n), np.float32)
    a2, b2 = to_tf32(a), to_tf32(b)
    bound = n * 2.0**-22 * product(abs(a2), abs(b2.T))
    launch = Launch("product_tf32", (n // 64, n // 16), 256, [a, b, c, n, n])
    why = "sums of n terms in single precision, which the units may cut: n 2^-22 |a| |b|"
    return Case([launch], [near(c, product(a2, b2.T), why, absolute=bound)])


@kernel("nvcc", "products_80.cu", "mma.sync, doubles", "sm_80 sm_90")
def product_mma_double(size):
    return product_case("product_mma_double", 256, (8, 64), size, np.float64, np.float64, column_major=True)


@kernel("nvcc", "products_80.cu", "mma.sync, bytes", "sm_80 sm_90")
def product_mma_bytes(size):
    n = size(512, 64)
    a, b = draw(1).integers(-128, 128, (n, n)).astype(np.int8), draw(2).integers(0, 256, (n, n)).astype(np.uint8)
    c = np.zeros((n, n), np.int32)
    launch = Launch("product_mma_bytes", (n // 64, n // 16), 256, [a, b, c, n, n // 4])
    return Case([launch], [equal(c, a.astype(np.int32) @ b.T.astype(np.int32))])


@kernel("nvcc", "products_80.cu", "mma.sync, bits", "sm_80 sm_90")
def product_mma_bits(size):
    n, words = size(512, 64), size(64, 16)
    a, b = (draw(seed).integers(0, 2, (n, words * 32)).astype(np.uint8) for seed in (1, 2))
    packed = [np.packbits(bits, axis=1, bitorder="little").view(np.uint32) for bits in (a, b)]
    c = np.zeros((n, n), np.int32)
    launch = Launch("product_mma_bits", (n // 64, n // 16), 256, [*packed, c, n, words])
    return Case([launch], [equal(c, a.astype(np.int32) @ b.T.astype(np.int32))])


def small_fp8(shape, seed, table):
    """Bytes of fp8 numbers that are quarters up to 1: Hopper adds their products with 13 bits, which do for 512."""
    size = np.nan_to_num(abs(table), nan=9, posinf=9)
    codes = np.flatnonzero((size <= 1) & (size * 4 % 1 == 0))
    return draw(seed).choice(codes, shape).astype(np.uint8)


@kernel("nvcc", "products_90.cu", "mma.sync, fp8", "sm_90")
def product_mma_fp8(size):
    n = size(512, 64)
    a, b = small_fp8((n, n), 1, E4M3), small_fp8((n, n), 2, E5M2)
    c = np.zeros((n, n), np.float32)
    launch = Launch("product_mma_fp8", (n // 64, n // 16), 256, [a, b, c, n, n // 4])
    return Case([launch], [equal(c, product(E4M3[a], E5M2[b].T).astype(np.float32))])


def by_tensor_maps(name, a, b, wanted, depth, element, size):
    """A product of what a pair of warpgroups makes, 128 x 64; rows of 128 bytes of both matrices are boxes."""
    n, k = a.shape
    c = np.zeros((n, n), wanted.dtype)
    args = [tensor_map(a, (depth, 128), 128, element), tensor_map(b, (depth, 64), 128, element), c, n, k]
    shared = 4 * (128 + 64) * 128 + 1024
    return Case([Launch(name, (n // 64, n // 128), 384, args, shared)], [equal(c, wanted)])


@kernel("nvcc", "products_90a.cu", "wgmma, TMA", "sm_90a")
def wgmma_half(size):
    n = size(512, 128)
    a, b = eighths((n, n), 1, np.float16), eighths((n, n), 2, np.float16)
    return by_tensor_maps("wgmma_half", a, b, product(a, b.T).astype(np.float32), 64, "f16", size)


@kernel("nvcc", "products_90a.cu", "wgmma, tf32", "sm_90a")
def wgmma_tf32(size):
    n = size(512, 128)
    a, b = eighths((n, n), 1), eighths((n, n), 2)
    return by_tensor_maps("wgmma_tf32", a, b, product(a, b.T).astype(np.float32), 32, "f32", size)


@kernel("nvcc", "products_90a.cu", "wgmma, fp8", "sm_90a")
def wgmma_fp8(size):
    n = size(512, 128)
    a, b = small_fp8((n, n), 1, E4M3), small_fp8((n, n), 2, E5M2)
    return by_tensor_maps("wgmma_fp8", a, b, product(E4M3[a], E5M2[b].T).astype(np.float32), 128, "u8", size)


@kernel("nvcc", "products_90a.cu", "wgmma, bytes", "sm_90a")
def wgmma_bytes(size):
    n = size(512, 128)
    a, b = (draw(seed).integers(-128, 128, (n, n)).astype(np.int8) for seed in (1, 2))
    return by_tensor_maps("wgmma_bytes", a, b, a.astype(np.int32) @ b.T.astype(np.int32), 128, "u8", size)


@kernel("nvcc", "products_90a.cu", "wgmma, registers", "sm_90a")
def wgmma_registers(size):
    n = size(512, 64)
    a, b = eighths((n, n), 1, np.float16), eighths((n, n), 2, np.float16)
    c = np.zeros((n, n), np.float32)
    launch = Launch("wgmma_registers", (n // 64, n // 64), 128, [a, tensor_map(b, (64, 64), 128), c, n, n])
    return Case([launch], [equal(c, product(a, b).astype(np.float32))])


@kernel("nvcc", "products_90a.cu", "TMA multicast", "sm_90a", committed="sm_90a")
def wgmma_multicast(size):
    m, n, k = size((512, 512, 512), (128, 64, 64))
    a, b = eighths((m, k), 1, np.float16), eighths((n, k), 2, np.float16)
    c = np.zeros((m, n), np.float32)
    args = [tensor_map(a, (64, 64), 128), tensor_map(b, (64, 32), 128), c, n, k]
    launch = Launch("wgmma_multicast", (n // 64, m // 64), 160, args, 4 * 64 * 128 + 1024)
    return Case([launch], [equal(c, product(a, b.T).astype(np.float32))])


@kernel("nvcc", "async.cu", "cuda::pipeline", ALL, committed="sm_80")
def pipeline_sums(size):
    blocks, rows = size(64, 2), size(16, 1)
    data = draw().integers(0, 2**32, (blocks * rows, 4, 256), dtype=np.uint32)
    out = np.zeros(blocks * rows, np.uint32)
    wanted = (data * np.arange(1, 257, dtype=np.uint32)).sum(axis=(1, 2), dtype=np.uint32)
    return Case([Launch("pipeline_sums", blocks, 128, [data, out, rows])], [equal(out, wanted)])


@kernel("nvcc", "async.cu", "cuda::pipeline roles", ALL)
def pipeline_roles(size):
    blocks, tiles = size(64, 3), size(16, 3)
    data = eighths((blocks * tiles, 512))
    out = np.zeros_like(data)
    return Case([Launch("pipeline_roles", blocks, 256, [data, out, tiles])], [equal(out, data + data[:, ::-1])])


@kernel("nvcc", "async.cu", "cuda::barrier", ALL)
def barrier_stencil(size):
    n = size(1 << 18, 1024)
    data = draw().integers(-1000, 1000, n + 4).astype(np.int32)
    out = np.zeros(n, np.int32)
    wanted = sum(w * data[i : n + i] for i, w in enumerate([1, -4, 6, -4, 1])).astype(np.int32)
    return Case([Launch("barrier_stencil", size(128, 3), 128, [data, out, n])], [equal(out, wanted)])


@kernel("nvcc", "async.cu", "memcpy_async", ALL)
def group_reverse(size):
    rows, width = size(512, 3), 1003
    data = draw().integers(-32768, 32768, (rows, width)).astype(np.int16)
    out = np.zeros_like(data)
    return Case([Launch("group_reverse", rows, 64, [data, out, width], 2 * width)], [equal(out, data[:, ::-1])])


@kernel("nvcc", "bulk.cu", "bulk copies", "sm_90", committed="sm_90")
def bulk_axpy(size):
    blocks, tiles = size(64, 1), size(16, 3)
    x, y = eighths((blocks * tiles, 1024), 1), eighths((blocks * tiles, 1024), 2)
    return Case([Launch("bulk_axpy", blocks, 128, [2.5, x, y, tiles])], [equal(y, 2.5 * x + y)])


@kernel("nvcc", "bulk.cu", "bulk reductions", "sm_90")
def bulk_histogram(size):
    blocks, each = size(64, 3), size(8192, 1000)
    data = draw().integers(0, 256, blocks * each).astype(np.uint8)
    bins = np.zeros(256, np.uint32)
    wanted = np.bincount(data, minlength=256).astype(np.uint32)
    return Case([Launch("bulk_histogram", blocks, 256, [data, bins, each])], [equal(bins, wanted)])


@kernel("nvcc", "bulk.cu", "tensor maps", "sm_90", committed="sm_90")
def tensor_transpose(size):
    height, width = size(512, 32), size(1024, 64)
    data, out = eighths((height, width)), np.zeros((width, height), np.float32)
    args = [tensor_map(data, (32, 32)), tensor_map(out, (32, 32))]
    return Case([Launch("tensor_transpose", (width // 32, height // 32), 256, args)], [equal(out, data.T)])


@kernel("nvcc", "bulk.cu", "tensor maps, 3-d", "sm_90")
def tensor_stencil(size):
    nz, ny, nx = size((60, 60, 100), (5, 9, 20))
    data, out = eighths((nz, ny, nx)), np.zeros((nz, ny, nx), np.float32)
    wide = np.pad(data, 1)
    around = sum(np.roll(wide, step, axis) for axis in range(3) for step in (-1, 1))
    wanted = (around - 6 * wide)[1:-1, 1:-1, 1:-1]
    grid = (-(-nx // 16), -(-ny // 8), -(-nz // 4))
    launch = Launch("tensor_stencil", grid, 256, [tensor_map(data, (20, 10, 6)), out, nx, ny, nz])
    return Case([launch], [equal(out, wanted)])


@kernel("nvcc", "clusters.cu", "shared memory of others", "sm_90", committed="sm_90")
def cluster_bins(size):
    n, bins, blocks = size(1 << 18, 3000), 2048, size(32, 8)
    data = (draw().normal(1024, 300, n).clip(0, bins - 1)).astype(np.uint16)
    counts = np.zeros(bins, np.uint32)
    args = [data, counts, n, bins // 4]
    launch = Launch("cluster_bins", blocks, 256, args, bins, cluster=(4,))
    return Case([launch], [equal(counts, np.bincount(data, minlength=bins).astype(np.uint32))])


@kernel("nvcc", "clusters.cu", "clusters", "sm_90")
def cluster_softmax(size):
    rows, width = size(32, 2), size(8192, 1024)
    data = draw().normal(0, 3, (rows, width)).astype(np.float32)
    out = np.zeros_like(data)
    power = np.exp(data.astype(np.float64) - data.max(axis=1, keepdims=True))
    wanted = power / power.sum(axis=1, keepdims=True)
    why = "expf is right to 2 units in the last place of an argument rounded below 2^-20, sums of 8192 terms in floats"
    return Case(
        [Launch("cluster_softmax", rows * 4, 256, [data, out, width], width)], [near(out, wanted, why, relative=1e-5)]
    )


@kernel("nvcc", "clusters.cu", "st.async", "sm_90", committed="sm_90")
def cluster_relay(size):
    blocks = size(256, 16)
    data = draw().integers(-1000, 1000, (blocks // 8, 8, 64)).astype(np.int32)
    out = np.zeros_like(data)
    wanted = np.cumsum(data, axis=1, dtype=np.int32)
    return Case([Launch("cluster_relay", blocks, 64, [data, out], cluster=(8,))], [equal(out, wanted)])


@kernel("nvcc", "clusters.cu", "clusters, 2-d", "sm_90")
def cluster_neighbours(size):
    width, height = size((32, 16), (4, 2))
    out = np.zeros((height, width, 32), np.int32)
    y, x, i = np.meshgrid(np.arange(height), np.arange(width), np.arange(32), indexing="ij")
    across, down = y * width + (x ^ 1), (y ^ 1) * width + x
    rank = (y % 2 ^ 1) * 2 + x % 2
    wanted = across * 100 + i + 3 * (down * 100 + 31 - i) + 7 * rank
    return Case([Launch("cluster_neighbours", (width, height), 32, [out, 7])], [equal(out, wanted.astype(np.int32))])


@kernel("nvcc", "groups.cu", "grid.sync", ALL, committed="sm_80")
def grid_jacobi(size):
    n, steps = size(256, 48), size(20, 5)
    start = np.zeros((n, n), np.float32)
    start[0], start[:, -1] = 1, 0.5
    a, b = start.copy(), np.zeros_like(start)
    wanted = start.copy()
    for _ in range(steps):
        inside = (wanted[1:-1, :-2] + wanted[1:-1, 2:]) + wanted[:-2, 1:-1] + wanted[2:, 1:-1]
        wanted = wanted.copy()
        wanted[1:-1, 1:-1] = np.float32(0.25) * inside
    result = b if steps % 2 else a
    return Case([Launch("grid_jacobi", size(32, 4), 256, [a, b, n, steps])], [equal(result, wanted)])


@kernel("nvcc", "groups.cu", "cooperative groups", ALL, committed="sm_75")
def tile_sums(size):
    n = size(1 << 17, 512)
    data = draw().integers(-1000, 1000, n).astype(np.int32)
    outs = [np.zeros(n, np.int32) for _ in range(4)]
    four = data.reshape(-1, 4).sum(axis=1).repeat(4)
    eight = data.reshape(-1, 8).min(axis=1).repeat(8) + np.arange(n) // 8 % 16
    sixteen = np.bitwise_xor.reduce(data.reshape(-1, 16), axis=1).repeat(16)
    lines = data.reshape(-1, 32)
    wanted = [four, eight, sixteen, np.cumsum(lines, axis=1) - lines]
    expected = [equal(out, want.astype(np.int32).reshape(-1)) for out, want in zip(outs, wanted)]
    return Case([Launch("tile_sums", n // 128, 128, [data, *outs])], expected)


@kernel("nvcc", "groups.cu", "partitions by value", ALL)
def label_groups(size):
    n = size(1 << 16, 512)
    data = draw().integers(0, 1 << 16, n).astype(np.uint32)
    by_label, by_parity = np.zeros(n, np.uint32), np.zeros(n, np.uint32)
    wanted, parity = np.zeros(n, np.uint32), np.zeros(n, np.uint32)
    for start in range(0, n, 32):
        warp = data[start : start + 32]
        for label in range(8):
            lanes = np.flatnonzero(warp % 8 == label)
            wanted[start + lanes] = warp[lanes].sum() * 32 + np.arange(lanes.size)
        for bit in range(2):
            lanes = np.flatnonzero(warp % 2 == bit)
            if lanes.size:
                parity[start + lanes] = lanes.size * 1000 + warp[lanes[-1]] % 1000
    launch = Launch("label_groups", n // 128, 128, [data, by_label, by_parity])
    return Case([launch], [equal(by_label, wanted), equal(by_parity, parity)])


@kernel("nvcc", "groups.cu", "coalesced groups", ALL)
def coalesced_filter(size):
    n = size(1 << 18, 5000)
    data = draw().integers(-1000, 1000, n).astype(np.int32)
    out, count = np.zeros(n, np.int32), np.zeros(1, np.uint32)
    kept = np.sort(data[data > 0])
    launch = Launch("coalesced_filter", size(64, 3), 256, [data, n, out, count])
    in_order = equal(out, np.concatenate([np.zeros(n - kept.size, np.int32), kept]), view=np.sort)
    return Case([launch], [in_order, equal(count, np.array([kept.size], np.uint32))])


@kernel("nvcc", "groups.cu", "match", ALL)
def match_counts(size):
    n = size(1 << 18, 3001)
    keys = (draw().geometric(0.2, n).clip(1, 64) - 1).astype(np.int32)
    counts = np.zeros(64, np.int32)
    args = [keys, n, counts]
    # `all` says whether the lanes agree on keys[i] < 1000, which holds for every key.
    return Case(
        [Launch("match_counts", -(-n // 256), 256, args)],
        [equal(counts, np.bincount(keys, minlength=64).astype(np.int32))],
    )


@kernel("nvcc", "groups.cu", "ballots", ALL)
def ballot_compact(size):
    rows, width = size(128, 2), size(4096, 600)
    data = draw().normal(0, 1, (rows, width)).astype(np.float32)
    out, kept = np.zeros_like(data), np.zeros(rows, np.int32)
    wanted, counts = np.zeros_like(data), np.zeros(rows, np.int32)
    for row, line in enumerate(data):
        chosen = line[line < np.float32(0.25)]
        wanted[row, : chosen.size] = chosen
        counts[row] = -chosen.size if chosen.size > width // 2 else chosen.size
    launch = Launch("ballot_compact", rows, 256, [data, width, 0.25, out, kept])
    return Case([launch], [equal(out, wanted), equal(kept, counts)])


@kernel("nvcc", "redux.cu", "redux", "sm_80 sm_90", committed="sm_80")
def redux_rows(size):
    rows, width = size(512, 3), size(4096, 256)
    data = draw().integers(-(2**31), 2**31, (rows, width)).astype(np.int32)
    out = np.zeros((rows, 5), np.int32)
    parts = [data.sum(axis=1, dtype=np.int32), data.min(axis=1), data.max(axis=1)]
    parts += [np.bitwise_or.reduce(data, axis=1), np.bitwise_xor.reduce(data, axis=1)]
    return Case([Launch("redux_rows", rows, 128, [data, out, width])], [equal(out, np.stack(parts, axis=1))])


def fixed(weight):
    """The weights of linear filters have eight bits behind the point."""
    return np.round(weight * 256) / 256


def texel(image, y, x):
    """Zero outside."""
    height, width = image.shape
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return np.where(inside, image[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)], 0)


@kernel("nvcc", "textures.cu", "textures", ALL, committed="sm_75")
def texture_turn(size):
    n = size(512, 32)
    image, out = eighths((n, n)), np.zeros((n, n), np.float32)
    cosine, sine = np.float32(0.8), np.float32(0.6)
    y, x = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    u, v = x + 0.5 - n / 2, y + 0.5 - n / 2
    tx, ty = (
        np.float64(cosine) * u - np.float64(sine) * v + n / 2 - 0.5,
        np.float64(sine) * u + np.float64(cosine) * v + n / 2 - 0.5,
    )
    i, j = np.floor(tx).astype(int), np.floor(ty).astype(int)
    a, b = tx - i, ty - j
    wanted = (1 - b) * ((1 - a) * texel(image, j, i) + a * texel(image, j, i + 1))
    wanted += b * ((1 - a) * texel(image, j + 1, i) + a * texel(image, j + 1, i + 1))
    args = [Object("texture", image, f"width={n}, height={n}, filter=linear, address=border"), out, n, cosine, sine]
    why = "weights have 8 bits behind the point, each of two may be half of 1/256 off, texels differ by up to 2"
    launch = Launch("texture_turn", (n // 16, n // 16), (16, 16), args)
    return Case([launch], [near(out, wanted, why, absolute=2 * 2 / 512 + 1e-4)])


@kernel("nvcc", "textures.cu", "textures, normalised", ALL)
def texture_channels(size):
    n = size(256, 32)
    image = draw().integers(0, 256, (n, n, 4)).astype(np.uint8)
    out = np.zeros((n, n, 4), np.float32)
    # (i + 0.5) / n * 2 - 0.5 lies in the middle of texel 2 i - n / 2 but half of one further.
    at = np.floor((np.arange(n) + 0.5) / n * 2 * n - n / 2 + 1e-9).astype(int)
    mirrored = np.where(at < 0, -1 - at, np.where(at >= n, 2 * n - 1 - at, at))
    wanted = image[mirrored][:, mirrored].astype(np.float32) / np.float32(255)
    settings = f"width={n}, height={n}, format=u8x4, read=normalized, normalized=true, address=mirror"
    launch = Launch("texture_channels", (n // 16, n // 16), (16, 16), [Object("texture", image, settings), out, n])
    return Case([launch], [near(out, wanted, "a byte is divided by 255 in single precision", relative=2e-7)])


@kernel("nvcc", "textures.cu", "textures, 3-d", ALL)
def texture_volume(size):
    n, depth = size(128, 16), size(32, 5)
    volume, out = eighths((depth, n, n)), np.zeros((n, n), np.float32)
    # Between planes z - 1 and z, three quarters of the way.
    below = np.concatenate([volume[:1], volume[:-1]])
    wanted = (0.25 * below + 0.75 * volume).sum(axis=0, dtype=np.float64)
    args = [Object("texture", volume, f"width={n}, height={n}, depth={depth}, filter=linear"), out, n, depth]
    launch = Launch("texture_volume", (n // 16, n // 16), (16, 16), args)
    return Case([launch], [equal(out, wanted.astype(np.float32))])


@kernel("nvcc", "textures.cu", "layers, gather", ALL)
def texture_layers(size):
    n, count = size(128, 16), 5
    layers, image = draw().integers(-100, 100, (count, n, n)).astype(np.int32), eighths((n, n))
    out, gathered = np.zeros((n, n), np.int32), np.zeros((n, n), np.float32)
    columns = np.arange(n)
    wanted = sum((i + 1) * layers[i][:, np.minimum(columns + i, n - 1)] for i in range(count))
    # The four texels around a corner, counterclockwise from the lower left.
    right = np.minimum(columns + 1, n - 1)
    four = image[right] + 2 * image[right][:, right] + 4 * image[:, right] + 8 * image
    args = [
        Object("texture", layers, f"width={n}, height={n}, layers={count}"),
        Object("texture", image, f"width={n}, height={n}, filter=linear"),
        out, gathered, n, count,
    ]  # fmt: skip
    launch = Launch("texture_layers", (n // 16, n // 16), (16, 16), args)
    return Case([launch], [equal(out, wanted.astype(np.int32)), equal(gathered, four)])


def sparse(rows, columns, per_row, seed=1):
    """A matrix in rows of uneven length: where rows start, columns and values."""
    random = draw(seed)
    lengths = random.integers(0, 2 * per_row, rows)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    where = random.integers(0, columns, starts[-1]).astype(np.int32)
    return starts, where, random.integers(-8, 9, starts[-1]) / 8


@kernel("nvcc", "textures.cu", "linear textures", ALL)
def texture_rows(size):
    rows = size(4096, 64)
    starts, columns, values = sparse(rows, rows, 40)
    values, vector = values.astype(np.float32), eighths(rows)
    out = np.zeros(rows, np.float32)
    products = values.astype(np.float64) * vector[columns]
    sums = np.concatenate([[0], np.cumsum(products)])
    wanted = (sums[starts[1:]] - sums[starts[:-1]]).astype(np.float32)
    args = [starts, columns, values, Object("texture", vector, "layout=linear"), out, rows]
    return Case([Launch("texture_rows", rows // 8, 256, args)], [equal(out, wanted)])


@kernel("nvcc", "textures.cu", "surfaces", ALL, committed="sm_80")
def surface_edges(size):
    n = size(512, 32)
    image, out = draw().integers(0, 256, (n, n)).astype(np.uint8), np.zeros((n, n), np.uint8)
    wide = np.pad(image.astype(int), 1, mode="edge")
    at = lambda dx, dy: wide[1 + dy : n + 1 + dy, 1 + dx : n + 1 + dx]
    across = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1)
    down = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1)
    wanted = np.minimum((abs(across) + abs(down)) // 4, 255).astype(np.uint8)
    args = [Object("surface", each, f"width={n}, height={n}") for each in (image, out)] + [n]
    return Case([Launch("surface_edges", (n // 16, n // 16), (16, 16), args)], [equal(out, wanted)])


@kernel("nvcc", "numbers.cu", "half2", ALL, committed="sm_80")
def half_gate(size):
    n = size(1 << 18, 1024)
    data = draw().uniform(-4, 4, n).astype(np.float16)
    out = np.zeros(n, np.float16)
    wide = data.astype(np.float64)
    wanted = wide / (1 + np.exp(-1.702 * wide))
    why = "five steps rounded to 11 bits; the exponent is off by up to 1.702 * 4 * 2^-11 before exp"
    launch = Launch("half_gate", size(64, 2), 256, [data, out, n // 2])
    return Case([launch], [near(out, wanted, why, relative=(2 * 6.8 + 5) * 2.0**-11)])


@kernel("nvcc", "numbers.cu", "bfloat16", ALL)
def bfloat_norm(size):
    rows, width = size(256, 6), size(1024, 64)
    data, scale = draw(1).normal(1, 2, (rows, width)), draw(2).uniform(0.5, 2, width)
    data, scale = to_bfloat(data), to_bfloat(scale)
    out = np.zeros((rows, width), np.uint16)
    wide = from_bfloat(data).astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    wanted = centred / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5) * from_bfloat(scale)
    why = "the result is rounded to 8 bits; the mean of floats is right to 1e-6"
    args = [data, scale, out, rows, width]
    expected = near(out, wanted, why, absolute=1e-5, relative=1.01 * 2.0**-8, view=from_bfloat)
    return Case([Launch("bfloat_norm", -(-rows // 4), 128, args)], [expected])


@kernel("nvcc", "bfloat.cu", "bfloat16 pairs", "sm_80 sm_90")
def bfloat_polynomial(size):
    n = size(1 << 17, 1000)
    data = to_bfloat(draw().uniform(-1, 1, n))
    out = np.zeros(n, np.uint16)
    x = from_bfloat(data).astype(np.float64)
    rounded = lambda value: from_bfloat(to_bfloat_once(value)).astype(np.float64)
    y = np.full(n, 0.25)
    for term in range(1, 6):
        y = rounded(y * x + rounded(np.float64(np.float32(1) / np.float32(term))))
    wanted = np.maximum(rounded(y * y), rounded(x - y))
    launch = Launch("bfloat_polynomial", -(-n // 512), 256, [data, out, n // 2])
    return Case([launch], [equal(out, wanted.astype(np.float32), view=from_bfloat)])


def to_bfloat_once(value):
    """Bits of the nearest bfloat16 of doubles, without a rounding to floats on the way."""
    nearest = to_bfloat(value.astype(np.float32))
    best, error = nearest, abs(from_bfloat(nearest).astype(np.float64) - value)
    for step in (-1, 1):
        other = (nearest.astype(np.int32) + step).astype(np.uint16)
        wrong = abs(from_bfloat(other).astype(np.float64) - value)
        best = np.where((wrong < error) | ((wrong == error) & (other % 2 == 0) & (best % 2 == 1)), other, best)
        error = np.minimum(error, wrong)
    return best


@kernel("nvcc", "numbers.cu", "fp8", ALL, committed="sm_90")
def fp8_rows(size):
    rows, width = size(256, 1), 1024
    data = draw().normal(0, 1, (rows, width)).astype(np.float32)
    top = abs(data).max(axis=1)
    scaled = data * (np.float32(256) / top)[:, None]
    wanted = to_e4m3(scaled)
    bytes_, scales, back = (
        np.zeros((rows, width), np.uint8),
        np.zeros(rows, np.float32),
        np.zeros((rows, width), np.float16),
    )
    expected = [equal(bytes_, wanted), equal(scales, top), equal(back, E4M3[wanted].astype(np.float16))]
    return Case([Launch("fp8_rows", rows, 128, [data, bytes_, scales, back, width])], expected)


@kernel("nvcc", "numbers.cu", "complex doubles", ALL)
def complex_escape(size):
    n, limit = size(256, 32), size(100, 50)
    out = np.zeros((n, n), np.int32)
    (left, top, step), count = escapes(n, limit)
    launch = Launch("complex_escape", (n // 16, n // 16), (16, 16), [out, n, left, top, step, limit])
    # nvcc contracts products and sums, and where the orbit is chaotic the last bit decides on a step more or less.
    allowed = n * n // 500
    return Case(
        [launch],
        [
            near(
                out,
                np.zeros(1),
                f"{allowed} points at the edge, where the last bit decides",
                absolute=allowed,
                view=lambda found: np.array([(found.reshape(n, n) != count).sum()], np.float64),
            )
        ],
    )


@kernel("nvcc", "numbers.cu", "128-bit integers", ALL, committed="sm_80")
def wide_powers(size):
    n, power = size(1 << 14, 256), 0x123456789ABCDEF
    data = draw().integers(0, 2**63, n).astype(np.uint64)
    out = np.zeros(n, np.uint64)
    prime = 2**61 - 1
    wanted = np.array([pow(int(x), power, prime) for x in data], np.uint64)
    return Case([Launch("wide_powers", n // 128, 128, [data, out, power])], [equal(out, wanted)])


@kernel("nvcc", "numbers.cu", "dp4a, bytes", ALL)
def byte_filter(size):
    n = size(1 << 17, 1000)
    data = draw().integers(0, 2**32, n, dtype=np.uint32)
    out = np.zeros(n, np.int32)
    following = np.roll(data, -1)
    own, other = data.view(np.uint8).reshape(n, 4).astype(int), following.view(np.uint8).reshape(n, 4).astype(int)
    both = np.concatenate([own, other], axis=1)
    signed = np.where(both > 127, both - 256, both)
    four = np.array([-1, 3, -2, 1])
    total = np.zeros(n, np.int64)
    for shift in range(4):
        # Four products of bytes, then two of 16 bits with the lower two bytes.
        window = signed[:, shift : shift + 4]
        pairs = both[:, shift : shift + 4 : 2] + 256 * window[:, 1::2]
        total += window @ four + pairs @ four[:2]
    apart = abs(own - other)
    packed = (apart * 256 ** np.arange(4)).sum(axis=1)
    total += apart.sum(axis=1) + packed
    wanted = (total & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
    return Case([Launch("byte_filter", -(-n // 256), 256, [data, out, n])], [equal(out, wanted)])


@kernel("nvcc", "services.cu", "printf", ALL, committed="sm_75")
def print_squares(size):
    n = size(300, 40)
    data = np.arange(n, dtype=np.int32) * 3
    told = ""
    for i, value in enumerate(data.tolist()):
        root = value**0.5
        if root == int(root):
            # C writes no prefix before a zero.
            hexadecimal = f"{value:#x}" if value else "0"
            told += f"{i}: {value:5d} is {root:g} squared "
            told += f"(exact, y, {hexadecimal}, {1 << 40 | i}, {root / 7:8.3f}%)\n"
    return Case([Launch("print_squares", 64, 64, [data, n])], [], stdout=told)


@kernel("nvcc", "services.cu", "malloc, assert", ALL, committed="sm_80")
def heap_lists(size):
    threads, each = size(4096, 128), 12
    keys = draw().integers(0, 10000, (threads, each)).astype(np.int32)
    out = np.zeros(threads, np.int64)
    wanted = np.sort(keys, axis=1).astype(np.int64) @ np.arange(1, each + 1)
    return Case([Launch("heap_lists", threads // 64, 64, [keys, out, each])], [equal(out, wanted)])


@kernel("nvcc", "services.cu", "atomics", ALL, committed="sm_90")
def atomic_kinds(size):
    n = size(1 << 17, 4096)
    data = eighths(n)
    i = np.arange(n)
    sums, precise, pairs = np.zeros(64, np.float32), np.zeros(32), np.zeros((512, 2), np.float16)
    wide, least, ring = np.zeros(16, np.uint64), np.zeros(8, np.int32), np.zeros(6, np.uint32)
    folded = lambda count: data.reshape(-1, count).sum(axis=0, dtype=np.float64)
    magnitudes = i.astype(np.uint64) << np.uint64(32) | np.abs(data).view(np.uint32).astype(np.uint64)
    xor = np.bitwise_xor.reduce((i * 2654435761 & 0xFFFFFFFF).astype(np.uint32))
    expected = [
        equal(sums, folded(64).astype(np.float32)), equal(precise, folded(32)),
        equal(pairs, np.stack([folded(512), -folded(512)], axis=1).astype(np.float16)),
        equal(wide, magnitudes.reshape(-1, 16).max(axis=0)),
        equal(least, np.minimum(0, (data * 64).astype(np.int32).reshape(-1, 8).min(axis=0))),
        equal(ring, np.array([n % 1001, xor, 0, 1, 2, 3], np.uint32)),
    ]  # fmt: skip
    args = [data, n, sums, precise, pairs, wide, least, ring]
    return Case([Launch("atomic_kinds", size(32, 2), 256, args)], expected)


@kernel("nvcc", "services.cu", "cuda::atomic_ref", ALL)
def atomic_least(size):
    n = size(1 << 17, 4096)
    data = draw().normal(0, 1, n)
    best, counters = np.array([np.inf]).view(np.uint64), np.zeros(2, np.int32)
    expected = [
        equal(best, data.min(keepdims=True).view(np.uint64)),
        equal(counters, np.array([1012, (data < 0).sum()], np.int32)),
    ]
    return Case([Launch("atomic_least", size(64, 4), 128, [data, n, best, counters])], expected)


@kernel("nvcc", "services.cu", "blocks that wait", ALL)
def scan_one_pass(size):
    tiles = size(512, 10)
    data = draw().integers(0, 2**32, tiles * 256, dtype=np.uint32)
    out, state, ticket = np.zeros_like(data), np.zeros(tiles, np.uint64), np.zeros(1, np.uint32)
    launch = Launch("scan_one_pass", tiles, 256, [data, out, state, ticket])
    return Case([launch], [equal(out, np.cumsum(data, dtype=np.uint32))])


@kernel("nvcc", "services.cu", "virtual functions", ALL)
def virtual_areas(size):
    n = size(1 << 14, 512)
    kinds, sizes = draw(1).integers(0, 99, n).astype(np.int32), eighths(n, 2)
    out = np.zeros(n, np.float32)
    square = sizes * sizes
    wanted = np.choose(kinds % 3, [square, 3 * square, 5 * square - sizes])
    return Case([Launch("virtual_areas", n // 128, 128, [kinds, sizes, out])], [equal(out, wanted)])


@kernel("nvcc", "services.cu", "recursion", ALL)
def recursive_sort(size):
    threads, each = size(4096, 64), 50
    values = draw().integers(-1000, 1000, (threads, each)).astype(np.int32)
    return Case([Launch("recursive_sort", threads // 64, 64, [values, each])], [equal(values, np.sort(values, axis=1))])


@kernel("nvcc", "services.cu", "constants, variables", ALL)
def constant_filter(size):
    n = size(1 << 18, 3000)
    data, taps = eighths(n, 1), eighths(17, 2)
    out = np.zeros(n, np.float32)
    wide = np.pad(data, 8, mode="edge").astype(np.float64)
    wanted = sum(taps[i] * wide[i : i + n] for i in range(17)).astype(np.float32)
    launch = Launch("constant_filter", -(-n // 256), 256, [data, out, n], symbols={"taps": taps})
    first = wanted[:64].reshape(32, 2).T
    history = np.concatenate([first, np.zeros((2, 32), np.float32)], axis=1)
    expected = [
        equal(out, wanted),
        equal("overflows", np.array([(wanted > 1).sum()])),
        equal("history", history, view=lambda found: found.view(np.float32)),
    ]
    return Case([launch], expected)


@kernel("nvcc", "blocks.cu", "CUB", ALL)
def cub_reduce(size):
    blocks = size(256, 2)
    data = eighths((blocks, 1024))
    sums, tops = np.zeros(blocks, np.float32), np.zeros(blocks, np.float32)
    launch = Launch("cub_reduce", blocks, 128, [data, sums, tops])
    return Case(
        [launch], [equal(sums, data.sum(axis=1, dtype=np.float64).astype(np.float32)), equal(tops, data.max(axis=1))]
    )


@kernel("nvcc", "blocks.cu", "CUB", ALL)
def cub_scan(size):
    blocks = size(256, 2)
    data = draw().integers(-1000, 1000, (blocks, 2048)).astype(np.int32)
    out = np.zeros_like(data)
    return Case([Launch("cub_scan", blocks, 256, [data, out])], [equal(out, np.cumsum(data, axis=1, dtype=np.int32))])


@kernel("nvcc", "blocks.cu", "CUB", ALL, committed="sm_80")
def cub_radix_sort(size):
    blocks = size(128, 1)
    keys = draw().integers(0, 2**32, (blocks, 1024), dtype=np.uint32)
    values = np.arange(blocks * 1024, dtype=np.uint32).reshape(blocks, 1024)
    order = np.argsort(keys, axis=1, kind="stable")
    expected = [equal(keys, np.take_along_axis(keys, order, 1)), equal(values, np.take_along_axis(values, order, 1))]
    return Case([Launch("cub_radix_sort", blocks, 128, [keys, values])], expected)


@kernel("nvcc", "blocks.cu", "CUB", ALL)
def cub_merge_sort(size):
    blocks = size(256, 2)
    keys = draw().normal(0, 1, (blocks, 512))
    return Case([Launch("cub_merge_sort", blocks, 128, [keys])], [equal(keys, -np.sort(-keys, axis=1))])


@kernel("nvcc", "blocks.cu", "CUB", ALL)
def cub_runs(size):
    blocks = size(128, 2)
    data = np.sort(draw().integers(0, 256, (blocks, 512)), axis=1).astype(np.uint8)
    bins, heads, steps = (
        np.zeros((blocks, 256), np.uint32),
        np.zeros((blocks, 512), np.int32),
        np.zeros((blocks, 512), np.int32),
    )
    words = data.astype(np.int32)
    before = np.concatenate([words[:, :1] - 1, words[:, :-1]], axis=1)
    differences = np.concatenate([words[:, :1], np.diff(words, axis=1)], axis=1)
    wanted = np.stack([np.bincount(row, minlength=256) for row in data]).astype(np.uint32)
    expected = [equal(bins, wanted), equal(heads, (words != before).astype(np.int32)), equal(steps, differences)]
    return Case([Launch("cub_runs", blocks, 128, [data, bins, heads, steps])], expected)


@kernel("nvcc", "blocks.cu", "CUB", ALL)
def cub_warps(size):
    n = size(1 << 15, 512)
    slopes, offsets = draw(1).choice([-1.0, 1.0], n).astype(np.float32), eighths(n, 2)
    keys = draw(3).integers(-1000, 1000, 2 * n).astype(np.int32)
    out = np.zeros(n, np.float32)
    wanted = np.zeros((n // 32, 32))
    value = np.zeros(n // 32)
    for lane in range(32):
        value = value * slopes.reshape(-1, 32)[:, lane] + offsets.reshape(-1, 32)[:, lane]
        wanted[:, lane] = value
    expected = [
        equal(out, wanted.reshape(-1).astype(np.float32)),
        equal(keys, np.sort(keys.reshape(-1, 64), axis=1).reshape(-1)),
    ]
    return Case([Launch("cub_warps", n // 128, 128, [slopes, offsets, out, keys])], expected)


def philox(counter, key):
    """Ten rounds of Philox with four words, as its paper has them; arrays of shape (4, n) and (2, n)."""
    c, k = [x.astype(np.uint64) for x in counter], [x.astype(np.uint64) for x in key]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ k[0], p1 & low, (p0 >> np.uint64(32)) ^ c[3] ^ k[1], p0 & low]
        k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]
    return np.stack(c).astype(np.uint32)


@kernel("nvcc", "random.cu", "cuRAND, Philox", ALL, committed="sm_80")
def random_disc(size):
    blocks, each, seed = size(64, 2), size(64, 8), 0x1234567887654321
    n = blocks * 256
    counts, first = np.zeros(blocks, np.uint32), np.zeros((n, 4), np.uint32)
    thread, zero = np.arange(n), np.zeros(n, np.uint64)
    key = [np.full(n, seed & 0xFFFFFFFF), np.full(n, seed >> 32)]
    words = [philox([zero + np.uint64(i), zero, thread, zero], key) for i in range(each + 1)]
    inside = sum(
        ((w[0] >> 16).astype(np.uint64) ** 2 + (w[1] >> 16).astype(np.uint64) ** 2 < 2**32).astype(int)
        for w in words[1:]
    )
    expected = [
        equal(first, words[0].T.copy()),
        equal(counts, inside.reshape(blocks, 256).sum(axis=1).astype(np.uint32)),
    ]
    return Case([Launch("random_disc", blocks, 256, [seed, each, counts, first])], expected)


def xorwow(state):
    """A step of Marsaglia's generator: the state, and the word it gives."""
    v, d = state
    t = v[0] ^ (v[0] >> np.uint32(2))
    last = (v[4] ^ (v[4] << np.uint32(4))) ^ (t ^ (t << np.uint32(1)))
    d = d + np.uint32(362437)
    return ([*v[1:], last], d), last + d


@kernel("nvcc", "random.cu", "cuRAND, XORWOW", ALL)
def random_xorwow(size):
    n, seed = size(1 << 14, 256), 1234
    outs = [np.zeros((n, 2), np.uint32), np.zeros(n, np.float32), np.zeros((n, 2), np.float32)]
    seeds = seed + np.arange(n, dtype=np.uint64)
    with np.errstate(over="ignore"):
        # How the library makes a state of a seed stands in its header curand_kernel.h.
        t0 = (((seeds & np.uint64(0xFFFFFFFF)).astype(np.uint32)) ^ np.uint32(0xAAD26B49)) * np.uint32(1099087573)
        t1 = (((seeds >> np.uint64(32)).astype(np.uint32)) ^ np.uint32(0xF7DCEFDD)) * np.uint32(2591861531)
        v = [
            np.uint32(123456789) + t0,
            np.uint32(362436069) ^ t0,
            np.uint32(521288629) + t1,
            np.uint32(88675123) ^ t1,
            np.uint32(5783321) + t0,
        ]
        state, words = (v, np.uint32(6615241) + t1 + t0), []
        for _ in range(5):
            state, word = xorwow(state)
            words.append(word)
    uniform = lambda word: word.astype(np.float64) * 2.0**-32 + 2.0**-33
    u, angle = uniform(words[3]), uniform(words[4]) * 2 * np.pi
    radius = np.sqrt(-2 * np.log(u))
    normal = np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=1)
    expected = [
        equal(outs[0], np.stack(words[:2], axis=1)),
        near(outs[1], uniform(words[2]), "a word becomes a float, twice rounded", relative=2.0**-22),
        near(outs[2], normal, "logarithm, root and sine of floats", absolute=2e-5, relative=1e-5),
    ]
    return Case([Launch("random_xorwow", n // 128, 128, [seed, *outs])], expected)
