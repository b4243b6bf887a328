"""Kernels in Triton at the sizes that people run, and how each is compiled; those of the suite are taken from there."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "suite"))

import kernels_triton as suite  # noqa: E402  (sets how Triton compiles)
import triton  # noqa: E402
import triton.language as tl  # noqa: E402


@triton.jit
def matmul(
    a,
    b,
    c,
    m,
    n,
    k,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    TILE_K: tl.constexpr,
    GROUP: tl.constexpr,
    TURNED: tl.constexpr,
    STAGES: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Tiles of the result go in groups of rows, so that those computed together share columns in the L2 cache.

    `TURNED` says that a row of `b` in memory is a column of the product's right side.
    """
    wide, high = tl.cdiv(n, TILE_N), tl.cdiv(m, TILE_M)
    group = tl.program_id(0) // (GROUP * wide)
    first = group * GROUP
    tall = min(high - first, GROUP)
    inside = tl.program_id(0) % (GROUP * wide)
    row, column = first + inside % tall, inside // tall
    rows, columns = row * TILE_M + tl.arange(0, TILE_M), column * TILE_N + tl.arange(0, TILE_N)
    depth = tl.arange(0, TILE_K)
    left = a + rows[:, None] * k + depth[None, :]
    if TURNED:
        right = b + depth[:, None] + columns[None, :] * k
    else:
        right = b + depth[:, None] * n + columns[None, :]
    kind: tl.constexpr = tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32
    total = tl.zeros((TILE_M, TILE_N), dtype=kind)
    for _ in tl.range(0, k, TILE_K, num_stages=STAGES):
        total = tl.dot(tl.load(left), tl.load(right), total, input_precision=PRECISION, out_dtype=kind)
        left += TILE_K
        if TURNED:
            right += TILE_K
        else:
            right += TILE_K * n
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty))


def product(element, tile, warps, stages, out=None, turned=False, precision="ieee", group=8):
    """How a product is compiled."""
    m, n, k = tile
    types = {"a": f"*{element}", "b": f"*{element}", "c": f"*{out or element}", "m": "i32", "n": "i32", "k": "i32"}
    values = dict(TILE_M=m, TILE_N=n, TILE_K=k, GROUP=group, TURNED=turned, STAGES=stages, PRECISION=precision)
    return matmul, types, values, dict(num_warps=warps)


@triton.jit
def softmax_long(x, out, width, TILE: tl.constexpr):
    """A row that does not fit into registers: greatest and sum in one pass, results in a second."""
    row, lanes = tl.program_id(0).to(tl.int64) * width, tl.arange(0, TILE)
    top = tl.full((TILE,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((TILE,), dtype=tl.float32)
    for start in range(0, width, TILE):
        value = tl.load(x + row + start + lanes).to(tl.float32)
        higher = tl.maximum(top, value)
        total = total * tl.exp(top - higher) + tl.exp(value - higher)
        top = higher
    highest = tl.max(top, axis=0)
    whole = tl.sum(total * tl.exp(top - highest), axis=0)
    for start in range(0, width, TILE):
        value = tl.load(x + row + start + lanes).to(tl.float32)
        tl.store(out + row + start + lanes, (tl.exp(value - highest) / whole).to(out.dtype.element_ty))


@triton.jit
def softmax_rows(x, out, width, ROWS: tl.constexpr, WIDE: tl.constexpr):
    """Several rows per program."""
    rows, columns = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDE)
    at = rows[:, None] * width + columns[None, :]
    values = tl.load(x + at, mask=columns[None, :] < width, other=-float("inf")).to(tl.float32)
    power = tl.exp(values - tl.max(values, axis=1)[:, None])
    result = power / tl.sum(power, axis=1)[:, None]
    tl.store(out + at, result.to(out.dtype.element_ty), mask=columns[None, :] < width)


@triton.jit
def layer_norm_row(x, scale, shift, out, means, factors, width, epsilon, WIDE: tl.constexpr):
    """A row in registers."""
    row, columns = tl.program_id(0), tl.arange(0, WIDE)
    inside = columns < width
    value = tl.load(x + row * width + columns, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(value, axis=0) / width
    apart = tl.where(inside, value - mean, 0.0)
    factor = tl.rsqrt(tl.sum(apart * apart, axis=0) / width + epsilon)
    tl.store(means + row, mean)
    tl.store(factors + row, factor)
    result = apart * factor * tl.load(scale + columns, mask=inside) + tl.load(shift + columns, mask=inside)
    tl.store(out + row * width + columns, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def layer_norm_back(
    x, slope, scale, means, factors, out, locks, scales, shifts, width, GROUP: tl.constexpr, WIDE: tl.constexpr
):
    """Slopes of the input; those of scale and shift are added up behind locks, `GROUP` of which there are."""
    row, columns = tl.program_id(0), tl.arange(0, WIDE)
    inside = columns < width
    value = tl.load(x + row * width + columns, mask=inside, other=0.0).to(tl.float32)
    given = tl.load(slope + row * width + columns, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(scale + columns, mask=inside, other=0.0)
    mean, factor = tl.load(means + row), tl.load(factors + row)
    normal = tl.where(inside, (value - mean) * factor, 0.0)
    weighted = given * weight
    along = tl.sum(normal * weighted, axis=0) / width
    level = tl.sum(weighted, axis=0) / width
    result = (weighted - (normal * along + level)) * factor
    tl.store(out + row * width + columns, result.to(out.dtype.element_ty), mask=inside)
    lock = row % GROUP
    at = lock * width + columns
    while tl.atomic_cas(locks + lock, 0, 1) == 1:
        pass
    count = tl.load(locks + GROUP + lock)
    part, other = given * normal, given
    if count == 0:
        tl.atomic_xchg(locks + GROUP + lock, 1)
    else:
        part += tl.load(scales + at, mask=inside)
        other += tl.load(shifts + at, mask=inside)
    tl.store(scales + at, part, mask=inside)
    tl.store(shifts + at, other, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(locks + lock, 0)


@triton.jit
def layer_norm_back_atomic(
    x, slope, means, factors, scales, shifts, height, width, ROWS: tl.constexpr, TILE: tl.constexpr
):
    """Slopes of scale and shift: each program adds its rows to all."""
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    first = tl.program_id(1) * ROWS
    part = tl.zeros((TILE,), dtype=tl.float32)
    other = tl.zeros((TILE,), dtype=tl.float32)
    for row in range(first, min(first + ROWS, height)):
        value = tl.load(x + row * width + columns).to(tl.float32)
        given = tl.load(slope + row * width + columns).to(tl.float32)
        part += given * (value - tl.load(means + row)) * tl.load(factors + row)
        other += given
    tl.atomic_add(scales + columns, part)
    tl.atomic_add(shifts + columns, other)


@triton.jit
def rms_norm(x, scale, out, width, epsilon, WIDE: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, WIDE)
    inside = columns < width
    value = tl.load(x + row * width + columns, mask=inside, other=0.0).to(tl.float32)
    factor = tl.rsqrt(tl.sum(value * value, axis=0) / width + epsilon)
    result = value * factor * tl.load(scale + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + columns, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def attention_tile(
    total, weights, top, query, k, v, rows, wide, start, TILE_N: tl.constexpr, HEAD: tl.constexpr, EDGE: tl.constexpr
):
    columns = start + tl.arange(0, TILE_N)
    keys = tl.load(k + columns[None, :] * HEAD + wide[:, None])
    scores = tl.dot(query, keys)
    if EDGE:
        scores = tl.where(rows[:, None] >= columns[None, :], scores, -float("inf"))
    higher = tl.maximum(top, tl.max(scores, axis=1))
    power = tl.exp2(scores - higher[:, None])
    fade = tl.exp2(top - higher)
    weights = weights * fade + tl.sum(power, axis=1)
    values = tl.load(v + columns[:, None] * HEAD + wide[None, :])
    total = tl.dot(power.to(tl.float16), values, total * fade[:, None])
    return total, weights, higher


@triton.jit
def attention(
    q,
    k,
    v,
    out,
    logs,
    length,
    scale,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    HEAD: tl.constexpr,
    CAUSAL: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Only tiles on the diagonal are masked; the scale has a factor 1 / ln 2 in it, as powers are of two."""
    first, head = tl.program_id(0) * TILE_M, tl.program_id(1)
    at = head * length * HEAD
    rows, wide = first + tl.arange(0, TILE_M), tl.arange(0, HEAD)
    query = tl.load(q + at + rows[:, None] * HEAD + wide[None, :])
    query = (query * scale).to(tl.float16)
    top = tl.full((TILE_M,), -float("inf"), dtype=tl.float32)
    weights = tl.zeros((TILE_M,), dtype=tl.float32)
    total = tl.zeros((TILE_M, HEAD), dtype=tl.float32)
    end = first if CAUSAL else length
    for start in tl.range(0, end, TILE_N, num_stages=STAGES):
        total, weights, top = attention_tile(
            total, weights, top, query, k + at, v + at, rows, wide, start, TILE_N, HEAD, False
        )
    if CAUSAL:
        for start in tl.range(first, first + TILE_M, TILE_N, num_stages=STAGES):
            total, weights, top = attention_tile(
                total, weights, top, query, k + at, v + at, rows, wide, start, TILE_N, HEAD, True
            )
    tl.store(logs + head * length + rows, top + tl.log2(weights))
    result = total / weights[:, None]
    tl.store(out + at + rows[:, None] * HEAD + wide[None, :], result.to(tl.float16))


@triton.jit
def add(x, y, out, n, TILE: tl.constexpr):
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def gelu(x, out, n, TILE: tl.constexpr):
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = at < n
    value = tl.load(x + at, mask=inside).to(tl.float32)
    result = 0.5 * value * (1.0 + tl.erf(value * 0.70710678))
    tl.store(out + at, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def gelu_tanh(x, out, n, TILE: tl.constexpr):
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = at < n
    value = tl.load(x + at, mask=inside).to(tl.float32)
    inner = 1.5957691216 * (value + 0.044715 * value * value * value)
    tl.store(out + at, (value * tl.sigmoid(inner)).to(out.dtype.element_ty), mask=inside)


@triton.jit
def gated(x, gate, out, n, TILE: tl.constexpr):
    """What stands in feed-forward layers: x sigmoid(x) times a gate."""
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = at < n
    value = tl.load(x + at, mask=inside).to(tl.float32)
    result = value * tl.sigmoid(value) * tl.load(gate + at, mask=inside).to(tl.float32)
    tl.store(out + at, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def adam(weight, slope, first, second, n, rate, epsilon, TILE: tl.constexpr):
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = at < n
    given = tl.load(slope + at, mask=inside)
    mean = 0.9 * tl.load(first + at, mask=inside) + 0.1 * given
    square = 0.999 * tl.load(second + at, mask=inside) + 0.001 * given * given
    tl.store(first + at, mean, mask=inside)
    tl.store(second + at, square, mask=inside)
    step = rate * mean / (tl.sqrt(square) + epsilon)
    tl.store(weight + at, tl.load(weight + at, mask=inside) - step, mask=inside)


@triton.jit
def sum_rows(x, out, width, TILE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    total = tl.zeros((TILE,), dtype=tl.float32)
    for start in range(0, width, TILE):
        columns = start + tl.arange(0, TILE)
        total += tl.load(x + row + columns, mask=columns < width, other=0.0).to(tl.float32)
    tl.store(out + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def sum_columns(x, out, width, PART: tl.constexpr, ROWS: tl.constexpr, TILE: tl.constexpr):
    """Each program adds up `PART` rows."""
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    total = tl.zeros((ROWS, TILE), dtype=tl.float32)
    for start in range(0, PART, ROWS):
        rows = tl.program_id(1) * PART + start + tl.arange(0, ROWS)
        total += tl.load(x + rows[:, None] * width + columns[None, :]).to(tl.float32)
    tl.atomic_add(out + columns, tl.sum(total, axis=0))


@triton.jit
def dropout_four(x, out, n, share, seed, TILE: tl.constexpr):
    """All four words that a round of Philox makes are taken."""
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    a, b, c, d = tl.rand4x(seed, at)
    first = tl.program_id(0) * TILE * 4 + tl.arange(0, TILE)
    scale = 1 / (1 - share)
    for part in tl.static_range(4):
        drawn = a if part == 0 else (b if part == 1 else (c if part == 2 else d))
        place = first + part * TILE
        inside = place < n
        values = tl.load(x + place, mask=inside)
        tl.store(out + place, tl.where(drawn > share, values * scale, 0.0), mask=inside)


@triton.jit
def embed(table, places, out, width, TILE: tl.constexpr):
    """Copies the row of a table for each place."""
    place = tl.load(places + tl.program_id(0))
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = columns < width
    values = tl.load(table + place * width + columns, mask=inside)
    tl.store(out + tl.program_id(0).to(tl.int64) * width + columns, values, mask=inside)


@triton.jit
def vector_product(matrix, vector, out, k, ROWS: tl.constexpr, TILE: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS, TILE), dtype=tl.float32)
    for start in range(0, k, TILE):
        columns = start + tl.arange(0, TILE)
        values = tl.load(matrix + rows[:, None] * k + columns[None, :]).to(tl.float32)
        total += values * tl.load(vector + columns).to(tl.float32)[None, :]
    tl.store(out + rows, tl.sum(total, axis=1))


@triton.jit
def grouped_vectors(matrices, vectors, owner, out, n, k, ROWS: tl.constexpr, TILE: tl.constexpr):
    """A vector for each program of the second axis, and the matrix that it belongs to, as of experts."""
    rows, vector = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.program_id(1)
    matrix = matrices + tl.load(owner + vector) * n * k
    total = tl.zeros((ROWS, TILE), dtype=tl.float32)
    for start in range(0, k, TILE):
        columns = start + tl.arange(0, TILE)
        values = tl.load(matrix + rows[:, None] * k + columns[None, :]).to(tl.float32)
        total += values * tl.load(vectors + vector * k + columns).to(tl.float32)[None, :]
    tl.store(out + vector * n + rows, tl.sum(total, axis=1))


@triton.jit
def small_batch(
    x, weights, out, n, k, BATCH: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr, STAGES: tl.constexpr
):
    """Few rows times a large matrix, whose rows lie along the depth."""
    rows, columns = tl.arange(0, BATCH), tl.program_id(0) * TILE_N + tl.arange(0, TILE_N)
    total = tl.zeros((BATCH, TILE_N), dtype=tl.float32)
    for start in tl.range(0, k, TILE_K, num_stages=STAGES):
        depth = start + tl.arange(0, TILE_K)
        left = tl.load(x + rows[:, None] * k + depth[None, :])
        total = tl.dot(left, tl.load(weights + columns[None, :] * k + depth[:, None]), total)
    tl.store(out + rows[:, None] * n + columns[None, :], total.to(tl.float16))


@triton.jit
def histogram_many(x, out, n, TILE: tl.constexpr, PARTS: tl.constexpr, BINS: tl.constexpr):
    """A histogram of several tiles, added to that of all at the end."""
    counts = tl.zeros((BINS,), dtype=tl.int32)
    for part in range(PARTS):
        at = (tl.program_id(0) * PARTS + part) * TILE + tl.arange(0, TILE)
        counts += tl.histogram(tl.load(x + at), BINS)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@triton.jit
def histogram_atomic(x, out, n, TILE: tl.constexpr):
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.atomic_add(out + tl.load(x + at), 1)


@triton.jit
def cross_entropy(x, wanted, out, width, TILE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    top = tl.full((TILE,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((TILE,), dtype=tl.float32)
    for start in range(0, width, TILE):
        columns = start + tl.arange(0, TILE)
        value = tl.load(x + row + columns, mask=columns < width, other=-1e30).to(tl.float32)
        higher = tl.maximum(top, value)
        total = total * tl.exp(top - higher) + tl.exp(value - higher)
        top = higher
    highest = tl.max(top, axis=0)
    whole = tl.sum(total * tl.exp(top - highest), axis=0)
    at = tl.load(x + row + tl.load(wanted + tl.program_id(0))).to(tl.float32)
    tl.store(out + tl.program_id(0), highest + tl.log(whole) - at)


@triton.jit
def rotate(x, cosines, sines, out, width, HALF: tl.constexpr, HEADS: tl.constexpr):
    """Turns pairs of a head's numbers by angles of its place."""
    place = tl.program_id(0)
    heads, columns = tl.arange(0, HEADS), tl.arange(0, HALF)
    at = place * width + heads[:, None] * (2 * HALF) + columns[None, :]
    cosine = tl.load(cosines + place * HALF + columns)[None, :]
    sine = tl.load(sines + place * HALF + columns)[None, :]
    a, b = tl.load(x + at).to(tl.float32), tl.load(x + at + HALF).to(tl.float32)
    tl.store(out + at, (a * cosine - b * sine).to(tl.float16))
    tl.store(out + at + HALF, (b * cosine + a * sine).to(tl.float16))


@triton.jit
def quantize(x, out, scales, width, WIDE: tl.constexpr):
    """Rows as bytes and a scale each."""
    row, columns = tl.program_id(0), tl.arange(0, WIDE)
    inside = columns < width
    value = tl.load(x + row * width + columns, mask=inside, other=0.0).to(tl.float32)
    most = tl.maximum(tl.max(tl.abs(value), axis=0), 1e-10)
    tl.store(scales + row, most / 127)
    turned = value * (127 / most)
    result = tl.where(turned < 0, turned - 0.5, turned + 0.5).to(tl.int8)
    tl.store(out + row * width + columns, result, mask=inside)
