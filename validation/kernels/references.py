"""What the kernels compute, in NumPy: each function has the name of its kernel and its arguments as they are before the
launch, and gives what those that are checked hold afterwards, in their order."""

import base64
import zlib

import numpy as np

WIDE = np.float64


def product(a, b, c, n):
    return [a.reshape(n, n).astype(WIDE) @ b.reshape(n, n).astype(WIDE)]


product_by_columns = matmul_naive = matmul_tiled = product_register_tile = product_vectors = product
product_two_buffers = product_stages = product_wmma_direct = product_wmma_shared = product_mma_stages = product


def abt_conflict(a, b, c, n):
    return [a.reshape(n, n).astype(WIDE) @ b.reshape(n, n).astype(WIDE).T]


abt_conflict_free = abt_conflict


def product_batched(a, b, c, count):
    return [np.matmul(a.reshape(count, 16, 16).astype(WIDE), b.reshape(count, 16, 16).astype(WIDE))]


def lud_internal(matrix, n, done):
    matrix = matrix.reshape(n, n).astype(WIDE)
    edge = done + 16
    matrix[edge:, edge:] -= matrix[edge:, done:edge] @ matrix[done:edge, edge:]
    return [matrix]


def gemv_warps(a, x, y, rows, columns):
    return [a.reshape(rows, columns).astype(WIDE) @ x]


def atax_rows(a, x, between, n):
    return [a.reshape(n, n).astype(WIDE) @ x]


def atax_columns(a, between, y, n):
    return [between @ a.reshape(n, n).astype(WIDE)]


def gesummv(a, b, x, y, alpha, beta, rows, columns):
    wide = lambda matrix: matrix.reshape(rows, columns).astype(WIDE)
    return [alpha * (wide(a) @ x) + beta * (wide(b) @ x)]


def sepia(data, out, width, height):
    weights = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]])
    return [np.minimum(data.reshape(-1, 3).astype(WIDE) @ weights.T, 255)]


def linear(data, out, width, height):
    picture, result = data.reshape(height, width, 3).astype(WIDE), np.zeros((height, width, 3))
    for dy in range(3):
        for dx in range(3):
            result[1:-1, 1:-1] += picture[dy : height - 2 + dy, dx : width - 2 + dx] / 9
    return [result]


def svm_naive(samples, vectors, weights, decision, gamma, n):
    samples, total = samples.reshape(25, n), np.zeros(n)
    for vector, weight in zip(vectors.reshape(16, 25), weights):
        distance = np.zeros(n)
        for feature in range(25):
            distance += (samples[feature] - WIDE(vector[feature])) ** 2
        total += weight * np.exp(-gamma * distance)
    return [total]


def normal(d):
    """The polynomial that the kernels have for the cumulative normal distribution."""
    k = 1 / (1 + 0.2316419 * abs(d))
    terms = (0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
    tail = 0.39894228 * np.exp(-0.5 * d * d) * sum(a * k ** (i + 1) for i, a in enumerate(terms))
    return np.where(d > 0, 1 - tail, tail)


def black_scholes(price, strike, years, call, put, rate, volatility, n):
    return black_scholes_7(price, strike, years, np.zeros(7 * n, np.float32), call, put, rate, volatility, n)


def black_scholes_7(price, strike, years, added, call, put, rate, volatility, n):
    s, x, t, more = price.astype(WIDE), strike.astype(WIDE), years.astype(WIDE), added.reshape(7, n)
    root = np.sqrt(t) + more[0]
    d1 = (np.log(s / x) + (rate + 0.5 * volatility**2) * t) / (volatility * root) + more[1]
    d2 = d1 - volatility * root + more[2]
    cnd1, cnd2, discounted = normal(d1) + more[3], normal(d2) + more[4], x * np.exp(-rate * t)
    return [s * cnd1 - discounted * cnd2 + more[5], discounted * (1 - cnd2) - s * (1 - cnd1) + more[6]]


def fmm_boxes(points, counts, potential, edge):
    capacity = 64
    points = points.reshape(edge, edge, edge, capacity, 4)
    counts = counts.reshape(edge, edge, edge)
    result = np.zeros((edge, edge, edge, capacity))
    for z, y, x in np.ndindex(edge, edge, edge):
        near = tuple(slice(max(i - 1, 0), i + 2) for i in (z, y, x))
        there = np.arange(capacity) < counts[near][..., None]
        sources = points[near][there].astype(WIDE)
        targets = points[z, y, x, : counts[z, y, x]].astype(WIDE)
        square = ((targets[:, None, :3] - sources[None, :, :3]) ** 2).sum(axis=2) + 1e-4
        result[z, y, x, : counts[z, y, x]] = (sources[:, 3] / np.sqrt(square)).sum(axis=1)
    return [result]


# Which spins the half spinors of each direction are made of, and with which powers of i.
HOPS = ((3, 1, 2, 1), (3, 0, 2, 2), (2, 1, 3, 3), (2, 0, 3, 0))


def hopping(spinors, links, edge):
    """The hopping matrix on arrays [t, z, y, x, spin, colour] and [t, z, y, x, direction, row, column]."""
    total = np.zeros_like(spinors)
    for direction, (o0, p0, o1, p1) in enumerate(HOPS):
        axis = 3 - direction
        for back in (False, True):
            turn0, turn1 = (1j ** ((p + 2 * back) % 4) for p in (p0, p1))
            from_there = np.roll(spinors, 1 if back else -1, axis)
            link = links[..., direction, :, :]
            link = np.roll(link, 1, axis).conj().swapaxes(-1, -2) if back else link
            half = np.stack(
                [
                    from_there[..., 0, :] + turn0 * from_there[..., o0, :],
                    from_there[..., 1, :] + turn1 * from_there[..., o1, :],
                ],
                axis=-2,
            )
            moved = np.einsum("...rc,...sc->...sr", link, half)
            total[..., 0, :] += moved[..., 0, :]
            total[..., 1, :] += moved[..., 1, :]
            total[..., o0, :] += moved[..., 0, :] / turn0
            total[..., o1, :] += moved[..., 1, :] / turn1
    return total


def hopping_structures(spinors, links, out, edge):
    lattice = (edge,) * 4
    spinors, links = spinors.view(np.complex128), links.view(np.complex128)
    result = hopping(spinors.reshape(*lattice, 4, 3), links.reshape(*lattice, 4, 3, 3), edge)
    return [result.reshape(-1).view(WIDE)]


def hopping_arrays(spinors, links, out, edge):
    def complex_of(field, *shape):
        parts = field.reshape(-1, 2, edge**4)
        return (parts[:, 0] + 1j * parts[:, 1]).T.reshape(*(edge,) * 4, *shape)

    result = hopping(complex_of(spinors, 4, 3), complex_of(links, 4, 3, 3), edge).reshape(-1, 12).T
    return [np.stack([result.real, result.imag], axis=1)]


def heartwall_track(frame, templates, point_x, point_y, correlation, width):
    frame, templates = frame.reshape(-1, width), templates.reshape(-1, 25, 25)
    result = np.empty((len(templates), 17, 17))
    for point, (x, y) in enumerate(zip(point_x, point_y)):
        window = frame[y : y + 41, x : x + 41].astype(WIDE)
        parts = np.lib.stride_tricks.sliding_window_view(window, (25, 25))
        result[point] = np.tensordot(parts, templates[point].astype(WIDE))
    return [result]


def leukocyte_score(gradient_x, gradient_y, score, width, height):
    margin, points = 24, 36
    gx, gy = (field.reshape(height + 2 * margin, width + 2 * margin) for field in (gradient_x, gradient_y))
    angles = (np.arange(points) + 0.33) * (2 * np.pi / points)
    cosine, sine = np.cos(angles), np.sin(angles)
    best = np.zeros((height, width))
    for radius in range(8, 22, 2):
        total, squares = np.zeros((height, width)), np.zeros((height, width))
        for c, s in zip(cosine, sine):
            # Whether an offset is rounded up or down must not hang on the last bit.
            assert all(abs(abs(radius * part % 1) - 0.5) > 1e-4 for part in (c, s))
            y, x = margin + round(radius * s), margin + round(radius * c)
            across = gx[y : y + height, x : x + width] * c + gy[y : y + height, x : x + width] * s
            total += across
            squares += across * across
        mean = total / points
        best = np.maximum(best, mean * mean / ((squares - points * mean * mean) / (points - 1)))
    return [best]


def nn_distances(places, distance, count, latitude, longitude):
    places = places.reshape(-1, 2).astype(WIDE)
    return [np.hypot(places[:, 0] - latitude, places[:, 1] - longitude)]


def nw_diagonal(scores, similarity, n, penalty):
    tile, tiles = 32, n // 32
    scores, similarity = scores.reshape(-1, n + 1, n + 1).copy(), similarity.reshape(-1, n, n)
    across = np.arange(tiles)
    # Parts of all tiles on the diagonal, one row and column more for what is there already.
    left, top = across * tile, (tiles - 1 - across) * tile
    for y in range(tile):
        for x in range(tile):
            row, column = top + y, left + x
            matched = scores[:, row, column] + similarity[:, row, column]
            gap = np.maximum(scores[:, row, column + 1], scores[:, row + 1, column]) - penalty
            scores[:, row + 1, column + 1] = np.maximum(matched, gap)
    return [scores]


def backprop_forward(inputs, weights, partial):
    products = weights.reshape(-1, 16, 16).astype(WIDE) * inputs.reshape(-1, 16, 1)
    return [products.sum(axis=1)]


def backprop_adjust(delta, inputs, weights, last, rate, momentum):
    move = rate * inputs[:, None].astype(WIDE) * delta + momentum * last.reshape(-1, 16)
    return [weights.reshape(-1, 16) + move, move]


def hpccg_matrix(values, x, y, nx, ny, nz):
    values, wide, result = values.reshape(27, nz, ny, nx), np.pad(x.reshape(nz, ny, nx), 1), np.zeros((nz, ny, nx))
    for k, (dz, dy, dx) in enumerate(np.ndindex(3, 3, 3)):
        result += values[k] * wide[dz : dz + nz, dy : dy + ny, dx : dx + nx]
    return [result]


def hpccg_waxpby(alpha, x, beta, y, w, n):
    return [alpha * x + beta * y]


def strided_parts(values, blocks, threads=256):
    """Elements by the block that visits them in a loop over the whole grid."""
    return values.reshape(-1, blocks, threads).swapaxes(0, 1).reshape(blocks, -1)


def hpccg_dot(x, y, partial, n):
    return [strided_parts(x * y, len(partial)).sum(axis=1)]


def row_sums(terms, shift, average):
    """Sums of the terms of the rows of a compressed matrix."""
    starts = np.arange(len(shift), dtype=np.int64) * average + shift
    return np.add.reduceat(np.append(terms, terms.dtype.type(0)), starts)[:-1]


def spmv_rows(shift, columns, values, x, y, rows, average):
    return [row_sums(values * x.astype(WIDE)[columns], shift, average)]


spmv_warps = spmv_rows


def spmv_ell(columns, values, x, y, rows, width):
    return [(values * x.astype(WIDE)[columns]).reshape(width, rows).sum(axis=0)]


def edges_of(shift, average, vertices):
    """Positions of all edges of vertices."""
    starts, ends = vertices * average + shift[vertices], (vertices + 1) * average + shift[vertices + 1]
    lengths = ends - starts
    first = np.repeat(starts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    return first + np.arange(lengths.sum())


def bfs_step(shift, neighbours, level, vertices, average, now):
    reached = neighbours[edges_of(shift, average, np.flatnonzero(level == now))]
    level = level.copy()
    level[reached[level[reached] > now + 1]] = now + 1
    return [level]


def bfs_queue(shift, neighbours, level, frontier, size, average, unreached, following, queue_size):
    reached = np.unique(neighbours[edges_of(shift, average, np.unique(frontier).astype(np.int64))])
    reached = reached[level[reached] == unreached]
    level = level.copy()
    level[reached] = following
    return [level, np.array([len(reached)], np.int32)]


def pagerank_step(shift, sources, share, rank, vertices, average, damping):
    return [(1 - damping) / vertices + damping * row_sums(share.astype(WIDE)[sources], shift, average)]


def softmax_rows(data, out, width):
    data = data.reshape(-1, width).astype(WIDE)
    power = np.exp(data - data.max(axis=1, keepdims=True))
    return [power / power.sum(axis=1, keepdims=True)]


def layer_norm(data, gain, bias, out, rows):
    data = data.reshape(rows, 1024).astype(WIDE)
    centred = data - data.mean(axis=1, keepdims=True)
    return [centred / np.sqrt(data.var(axis=1, keepdims=True) + 1e-5) * gain + bias]


def attention_forward(queries, keys, values, out, length, scale):
    queries, keys, values = (x.reshape(-1, length, 32) for x in (queries, keys, values))
    result = np.empty(queries.shape)
    for head in range(len(queries)):
        scores = scale * (queries[head].astype(WIDE) @ keys[head].astype(WIDE).T)
        power = np.exp(scores - scores.max(axis=1, keepdims=True))
        result[head] = power @ values[head] / power.sum(axis=1, keepdims=True)
    return [result]


def convolution_layer(data, filters, out, channels, width, height):
    data = data.reshape(channels, height + 2, width + 2)
    filters = filters.reshape(channels, channels, 3, 3).astype(WIDE)
    result = np.zeros((channels, height * width))
    for dy, dx in np.ndindex(3, 3):
        part = data[:, dy : dy + height, dx : dx + width].astype(WIDE).reshape(channels, -1)
        result += filters[:, :, dy, dx] @ part
    return [result]


def bias_gelu(data, bias, columns_4, count_4):
    v = data.reshape(-1, 4 * columns_4).astype(WIDE) + bias
    return [0.5 * v * (1 + np.tanh(0.79788456 * (v + 0.044715 * v**3)))]


def embedding_rows(table, tokens, out, count):
    return [table.reshape(-1, 256)[tokens]]


def bitonic_step(keys, distance, run):
    pairs = keys.reshape(-1, 2, distance)
    rising = (np.arange(len(pairs)) * 2 * distance & run) == 0
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    return [np.where(rising[:, None, None], np.stack([low, high], axis=1), np.stack([high, low], axis=1))]


def bitonic_block(keys):
    return [np.sort(keys.reshape(-1, 1024), axis=1)]


def radix_count(keys, counts, shift):
    digits = (keys >> np.uint32(shift) & np.uint32(15)).reshape(-1, 2048)
    return [np.stack([(digits == digit).sum(axis=1) for digit in range(16)]).astype(np.uint32)]


def radix_tiles(keys, out, shift):
    keys = keys.reshape(-1, 256)
    order = np.argsort((keys >> np.uint32(shift) & np.uint32(15)).astype(np.uint8), axis=1, kind="stable")
    return [np.take_along_axis(keys, order, 1)]


def scan_tiles(data, out, tile_sums):
    sums = np.cumsum(data.reshape(-1, 1024), axis=1, dtype=np.uint32)
    return [sums, sums[:, -1]]


def hash_probe(keys, shift, tags, payloads, found, count, buckets, average):
    bucket, tag = (keys % np.uint32(buckets)).astype(np.int64), keys // np.uint32(buckets)
    start, end = bucket * average + shift[bucket], (bucket + 1) * average + shift[bucket + 1]
    total = np.zeros(count, np.uint32)
    for k in range(2 * average):
        at = np.minimum(start + k, len(tags) - 1)
        total += np.where((start + k < end) & (tags[at] == tag), payloads[at], np.uint32(0))
    return [total]


def hash_build(keys, table, count, mask):
    return [np.concatenate([different := np.unique(keys), np.zeros(len(table) - len(different), np.uint32)])]


def reduction_shuffle(data, partial, n):
    return [strided_parts(data, len(partial)).sum(axis=1, dtype=WIDE)]


def histogram_atomics(data, bins, n):
    return [np.bincount(data, minlength=256).astype(np.uint32)]


def filter_direct(data, taps, out, width, height, reach):
    data, edge = data.reshape(height + 2 * reach, width + 2 * reach), 2 * reach + 1
    result = np.zeros((height, width))
    for (dy, dx), tap in np.ndenumerate(taps.reshape(edge, edge).astype(WIDE)):
        result += data[dy : dy + height, dx : dx + width] * tap
    return [result]


def filter_rows(data, taps, out, width):
    wide = np.pad(data.reshape(-1, width), ((0, 0), (8, 8)))
    return [sum(wide[:, i : i + width] * WIDE(tap) for i, tap in enumerate(taps))]


def filter_columns(data, taps, out, width, height):
    wide = np.pad(data.reshape(height, width), ((8, 8), (0, 0)))
    return [sum(wide[i : i + height] * WIDE(tap) for i, tap in enumerate(taps))]


def median_nine(data, out, width, height):
    data, rows = data.reshape(height + 2, width + 2), []
    for first in range(0, height, 64):
        part = data[first : min(first + 64, height) + 2]
        around = np.stack([part[dy : len(part) - 2 + dy, dx : dx + width] for dy, dx in np.ndindex(3, 3)])
        rows.append(np.partition(around, 4, axis=0)[4])
    return [np.concatenate(rows)]


def fft_1024(data, out):
    return [np.fft.fft(data.view(np.complex64).reshape(-1, 1024).astype(np.complex128)).reshape(-1).view(WIDE)]


def stencil_plane(data, out, width, height):
    data = data.reshape(height, width).astype(WIDE)
    result = data.copy()
    around = data[1:-1, :-2] + data[1:-1, 2:] + data[:-2, 1:-1] + data[2:, 1:-1]
    result[1:-1, 1:-1] = 0.5 * data[1:-1, 1:-1] + 0.125 * around
    return [result]


def stencil_tile(data, out, width, height):
    data = data.reshape(height, width).astype(WIDE)
    result = data.copy()
    weights = {0: 0.25, 1: 0.125, 2: 0.0625}
    result[1:-1, 1:-1] = sum(
        weights[abs(dy - 1) + abs(dx - 1)] * data[dy : height - 2 + dy, dx : width - 2 + dx]
        for dy, dx in np.ndindex(3, 3)
    )
    return [result]


def stencil_space(data, out, nx, ny, nz, centre, around):
    data = data.reshape(nz, ny, nx).astype(WIDE)
    result, inner = data.copy(), (slice(1, -1),) * 3
    sides = data[1:-1, 1:-1, :-2] + data[1:-1, 1:-1, 2:] + data[1:-1, :-2, 1:-1] + data[1:-1, 2:, 1:-1]
    sides += data[:-2, 1:-1, 1:-1] + data[2:, 1:-1, 1:-1]
    result[inner] = centre * data[inner] + around * sides
    return [result]


stencil_planes = stencil_space


def lattice_boltzmann(data, out, width, height, rate):
    dx, dy = (0, 1, 0, -1, 0, 1, -1, -1, 1), (0, 0, 1, 0, -1, 1, 1, -1, -1)
    weights = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4
    data = data.reshape(9, height, width).astype(WIDE)
    f = [np.roll(data[i], (dy[i], dx[i]), (0, 1)) for i in range(9)]
    density = sum(f)
    ux, uy = (sum(d[i] * f[i] for i in range(9)) / density for d in (dx, dy))
    square, result = 1.5 * (ux * ux + uy * uy), []
    for i in range(9):
        along = 3 * (dx[i] * ux + dy[i] * uy)
        result.append(f[i] + rate * (weights[i] * density * (1 + along + 0.5 * along**2 - square) - f[i]))
    return [np.stack(result)]


def life_bytes(data, out, width, height):
    cells = data.reshape(height, width)
    alive = sum(np.roll(cells, shift, (0, 1)) for shift in np.ndindex(3, 3) if shift != (1, 1))
    # Shifts of 0 to 2 are those of -1 to 1 around the cell next to each.
    own = np.roll(cells, (1, 1), (0, 1))
    return [np.roll((alive == 3) | ((alive == 2) & (own == 1)), (-1, -1), (0, 1)).astype(np.uint8)]


def nbody_tiles(bodies, acceleration, count):
    bodies = bodies.reshape(-1, 4).astype(WIDE)
    result = np.zeros((count, 4))
    for first in range(0, count, 64):
        own = bodies[first : first + 64]
        apart = bodies[None, :, :3] - own[:, None, :3]
        scale = bodies[:, 3] * ((apart**2).sum(axis=2) + 0.01) ** -1.5
        result[first : first + 64, :3] = np.einsum("ij,ijk->ik", scale, apart)
    return [result]


def lennard_jones(atoms, neighbours, energy, count, width, cutoff, lift):
    atoms = atoms.reshape(-1, 4)[:, :3].astype(WIDE)
    total = np.zeros(count)
    for row in neighbours.reshape(width, count):
        square = ((atoms[row] - atoms) ** 2).sum(axis=1) + 1
        sixth = square**-3
        total += np.where(square < cutoff, 4 * sixth * (sixth - 1) + lift, 0)
    return [total]


def xorshift(state):
    state = state ^ state << np.uint32(13)
    state = state ^ state >> np.uint32(17)
    return state ^ state << np.uint32(5)


def monte_carlo_paths(seeds, payoff, paths, steps, drift, spread, strike):
    state, logarithm, total = seeds, np.zeros(paths), np.zeros(paths)
    for _ in range(steps):
        state = xorshift(state)
        four = sum((state >> np.uint32(bit) & np.uint32(255)).astype(np.int32) for bit in (0, 8, 16, 24))
        logarithm += drift + spread * (four - 510)
        total += np.exp(logarithm)
    return [np.maximum(total / steps - strike, 0)]


def monte_carlo_disc(seeds, inside, draws):
    state, count = seeds, 0
    for _ in range(draws):
        state = xorshift(state)
        x, y = (state & np.uint32(0xFFFF)).astype(np.uint64), (state >> np.uint32(16)).astype(np.uint64)
        count += int((x * x + y * y < 2**32).sum())
    return [np.array([count], np.uint64)]


def ising_half(spins, drawn, thresholds, width, height, colour):
    spins, drawn = spins.reshape(height, width), drawn.reshape(height, width)
    total = sum(np.roll(spins, step, axis) for axis in (0, 1) for step in (-1, 1))
    agreeing = np.where(spins == 1, total, 4 - total)
    y, x = np.arange(height)[:, None], np.arange(width)
    turned = (drawn < thresholds.astype(np.int16)[agreeing]) & ((x + y) % 2 == colour)
    return [spins ^ turned]


def mandelbrot(steps, width, height, left, top, pixel, limit):
    single = np.float32
    cx = (np.arange(width) * WIDE(single(pixel)) + left).astype(single)
    cy = (np.arange(height) * -WIDE(single(pixel)) + top).astype(single)
    cx, cy = (part.reshape(-1).astype(WIDE) for part in np.meshgrid(cx, cy))
    count, at = np.full(width * height, limit, np.uint32), np.arange(width * height)
    x, y = np.zeros(len(at)), np.zeros(len(at))
    # Single precision where the kernel rounds: products and multiply-adds of floats are nearly exact in doubles.
    rounded = lambda value: value.astype(single).astype(WIDE)
    for step in range(limit):
        yy = rounded(y * y)
        gone = rounded(x * x + yy) > 4
        count[at[gone]] = step
        at, x, y, cx, cy, yy = (part[~gone] for part in (at, x, y, cx, cy, yy))
        x, y = rounded(rounded(x * x - yy) + cx), rounded(2 * x * y + cy)
    return [count]


def vector_add(a, b, c, n):
    return [a + b]


def axpy_vectors(x, y, alpha, count_4):
    return [alpha * x.astype(WIDE) + y]


def triad(b, c, a, scale, count):
    return [b + scale * c]


def copy_strided(data, out, count, stride):
    return [data[::stride]]


def moved(fields, ex, ey, ez, step):
    x, y, z, vx, vy, vz, charge, mass = fields.astype(WIDE)
    scale = charge * mass * step
    vx, vy, vz = vx + ex * scale, vy + ey * scale, vz + ez * scale
    return np.stack([x + vx * step, y + vy * step, z + vz * step, vx, vy, vz, charge, mass])


def layout_aos(particles, n, ex, ey, ez, step):
    return [moved(particles.reshape(n, 8).T, ex, ey, ez, step).T]


def layout_soa(fields, n, ex, ey, ez, step):
    return [moved(fields.reshape(8, n), ex, ey, ez, step)]


def transpose_direct(data, out, width, height):
    return [data.reshape(height, width).T]


transpose_conflicts = transpose_padded = transpose_direct


def gather_words(data, index, out, count):
    return [data[index]]


def scatter_words(data, out, factor, mask):
    result = np.empty_like(data)
    result[(np.arange(len(data)) * factor) & mask] = data
    return [result]


def load_chain(table, end, mask, steps):
    at = np.arange(len(end)) * 2654435769 & mask
    for step in range(steps):
        at = (table[at].astype(np.int64) + step) & mask
    return [at.astype(np.uint32)]


def atomic_counters(index, values, counters, count):
    return [np.bincount(index, values, len(counters)).astype(np.uint32)]


def atomic_largest(values, largest, count):
    return [values.max(keepdims=True)]


def text_capitals(text, out, count_16):
    return [np.where((text >= ord("a")) & (text <= ord("z")), text - np.uint8(32), text)]


def text_matches(text, pattern, is_match, count):
    result = np.ones(count, np.uint8)
    for i, letter in enumerate(pattern):
        result &= text[i : i + count] == letter
    return [result]


def text_spaces(text, spaces):
    return [((text == ord(" ")) | (text == ord("\n"))).reshape(-1, 4096).sum(axis=1).astype(np.uint32)]


def crc_records(records, crc, count):
    data = records.tobytes()
    return [np.array([zlib.crc32(data[i : i + 64]) for i in range(0, len(data), 64)], np.uint32)]


def base64_groups(data, out, groups):
    return [np.frombuffer(base64.b64encode(data.tobytes()), np.uint8)]
