"""Kernels of `kernels_triton.py`."""

import numpy as np
from case import Case, Launch, equal, kernel, near, tensor_map
from cases_nvcc import draw, eighths, philox, product, small_fp8
from formats import E4M3, E5M2, to_bfloat, to_tf32

BOTH = "sm_80 sm_90"


def launch(name, target, grid, args):
    """A launch as Triton makes it: two arguments for scratch memory, which no kernel here asks for, come last."""
    import kernels_triton

    meta = kernels_triton.compiled(name, target).metadata
    return Launch(meta.name, grid, meta.num_warps * 32, [*args, None, None], meta.shared)


def constants(name):
    import kernels_triton

    return kernels_triton.COMPILED[name][2]


def exact_product(name, feature, targets=BOTH, kind=np.float16, out=np.float32, given=None, make=None, committed=""):
    """A product whose sums are exact; `given` is what the kernel gets of a matrix, `make` makes one."""

    def case(size):
        tile = constants(name)["TILE_M"]
        n = size(512, tile)
        a, b = make(n) if make else (eighths((n, n), 1, kind), eighths((n, n), 2, kind))
        c = np.zeros((n, n), out)
        pair, values = (map(given, (a, b)), (a, b)) if not make else ((a[0], b[0]), (a[1], b[1]))
        args = [*pair, c, n, n]
        wanted = product(*values).astype(out)
        return Case([launch(name, size.target, (n // tile, n // tile), args)], [equal(c, wanted)])

    case.__name__ = name
    kernel("triton", name, feature, targets, committed)(case)


same = lambda x: x
exact_product("product_f32", "fp32", kind=np.float32, given=same)
for stages in (1, 2, 3, 4):
    exact_product(
        f"product_f16_{stages}",
        f"fp16, {stages} stage" + "s" * (stages > 1),
        out=np.float16,
        given=same,
        committed="sm_90" if stages == 2 else "",
    )
exact_product("product_bf16", "bf16", kind=np.float32, given=to_bfloat)


def fp8_matrices(table):
    def make(n):
        codes = [small_fp8((n, n), seed, table) for seed in (1, 2)]
        return [(code, table[code]) for code in codes]

    return make


exact_product("product_e4m3", "fp8 e4m3", "sm_90", make=fp8_matrices(E4M3))
exact_product("product_e5m2", "fp8 e5m2", make=fp8_matrices(E5M2))


@kernel("triton", "product_tf32", "tf32", BOTH, committed="sm_80")
def product_tf32(size):
    n, k = size((512, 512), (64, 32))
    a, b = (to_tf32(draw(seed).uniform(-1, 1, shape)) for seed, shape in ((1, (n, k)), (2, (k, n))))
    c = np.zeros((n, n), np.float32)
    why = "sums of k terms in single precision, which the units may cut: k 2^-22 |a| |b|"
    expected = near(c, product(a, b), why, absolute=k * 2.0**-22 * product(abs(a), abs(b)))
    return Case([launch("product_tf32", size.target, (n // 64, n // 64), [a, b, c, n, k])], [expected])


@kernel("triton", "product_bytes", "int8", BOTH)
def product_bytes(size):
    n = size(512, 64)
    a, b = (draw(seed).integers(-128, 128, (n, n)).astype(np.int8) for seed in (1, 2))
    c = np.zeros((n, n), np.int32)
    wanted = a.astype(np.int32) @ b.T.astype(np.int32)
    return Case([launch("product_bytes", size.target, (n // 64, n // 64), [a, b, c, n, n])], [equal(c, wanted)])


@kernel("triton", "product_split", "split depth, atomics", BOTH)
def product_split(size):
    n, parts = size(512, 64), 4
    k = 1024
    a, b = eighths((n, k), 1, np.float16), eighths((k, n), 2, np.float16)
    c = np.zeros((n, n), np.float32)
    args = [a, b, c, n, k, k // parts]
    return Case(
        [launch("product_split", size.target, (n // 64, n // 64, parts), args)],
        [equal(c, product(a, b).astype(np.float32))],
    )


@kernel("triton", "product_maps", "tensor maps, wgmma", "sm_90", committed="sm_90")
def product_maps(size):
    n = size(512, 64)
    a, b = eighths((n, n), 1, np.float16), eighths((n, n), 2, np.float16)
    c = np.zeros((n, n), np.float16)
    args = []
    for matrix in (a, b, c):
        args += [tensor_map(matrix, (64, 64), 128), n, n, n, 1]
    return Case(
        [launch("product_maps", size.target, (n // 64, n // 64), [*args, n])],
        [equal(c, product(a, b).astype(np.float16))],
    )


def softened(x):
    power = np.exp(x - x.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)


@kernel("triton", "softmax", "softmax", BOTH, committed="sm_80")
def softmax(size):
    rows, width = size(512, 2), size(1000, 700)
    x = draw().normal(0, 3, (rows, width)).astype(np.float32)
    out = np.zeros_like(x)
    why = "exponents of up to 20 are rounded before ex2.approx, 20 log2(e) 2^-24, which has an error of 2^-22"
    return Case(
        [launch("softmax", size.target, rows, [x, out, width])],
        [near(out, softened(x.astype(np.float64)), why, relative=5e-6)],
    )


@kernel("triton", "layer_norm", "layer norm", BOTH, committed="sm_80")
def layer_norm(size):
    rows, width = size(256, 2), size(2000, 600)
    x = draw(1).normal(1, 2, (rows, width)).astype(np.float16)
    scale, shift = eighths(width, 2), eighths(width, 3)
    out, means = np.zeros((rows, width), np.float16), np.zeros(rows, np.float32)
    wide = x.astype(np.float64)
    mean = wide.mean(axis=1)
    wanted = (wide - mean[:, None]) / np.sqrt(wide.var(axis=1) + 1e-5)[:, None] * scale + shift
    args = [x, scale, shift, out, means, width, 1e-5]
    expected = [
        near(
            out, wanted, "the result is rounded to 11 bits; floats before that", absolute=1e-5, relative=1.01 * 2.0**-11
        ),
        near(means, mean, "sums of 2000 terms up to 10 in single precision", absolute=1e-5),
    ]
    return Case([launch("layer_norm", size.target, rows, args)], expected)


def attended(name, causal, committed=""):
    def case(size):
        heads, length, wide = size(4, 1), size(512, 64 if name == "attention" else 128), 64
        q, k, v = (2 * eighths((heads, length, wide), seed, np.float16) for seed in (1, 2, 3))
        out = np.zeros_like(q)
        scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / 8
        if causal:
            scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
        weights = softened(scores)
        wanted = weights @ v.astype(np.float64)
        size_of = weights @ abs(v.astype(np.float64))
        why = "weights are rounded to 11 bits before they are multiplied, and so is the result"
        bound = near(out, wanted, why, absolute=2.0**-11 * size_of + 1e-4, relative=1.01 * 2.0**-11)
        tile = constants(name)["TILE_M"]
        args = [q, k, v, out, length, 0.125 / np.log(2)]
        return Case([launch(name, size.target, (length // tile, heads), args)], [bound])

    case.__name__ = name
    kernel("triton", name, "attention", BOTH, committed)(case)


attended("attention", False, committed="sm_80")
attended("attention_causal", True)


@kernel("triton", "cumsum", "scan", BOTH, committed="sm_90")
def cumsum(size):
    rows, width = size(256, 3), size(1999, 1500)
    x = draw().integers(-1000, 1000, (rows, width)).astype(np.int32)
    out = np.zeros_like(x)
    return Case(
        [launch("cumsum", size.target, rows, [x, out, width])], [equal(out, np.cumsum(x, axis=1, dtype=np.int32))]
    )


@kernel("triton", "recurrence", "scan of functions", BOTH)
def recurrence(size):
    rows, width = size(256, 4), 512
    slopes, offsets = draw(1).choice([-1.0, 1.0], (rows, width)).astype(np.float32), eighths((rows, width), 2)
    out, wanted = np.zeros_like(offsets), np.zeros((rows, width))
    value = np.zeros(rows)
    for i in range(width):
        value = value * slopes[:, i] + offsets[:, i]
        wanted[:, i] = value
    return Case(
        [launch("recurrence", size.target, rows // 4, [slopes, offsets, out, width])],
        [equal(out, wanted.astype(np.float32))],
    )


@kernel("triton", "sort_rows", "sort", BOTH)
def sort_rows(size):
    rows = size(256, 3)
    x = draw().integers(-(2**31), 2**31, (rows, 512)).astype(np.int32)
    out = np.zeros_like(x)
    return Case([launch("sort_rows", size.target, rows, [x, out])], [equal(out, np.sort(x, axis=1)[:, ::-1])])


@kernel("triton", "histogram", "histogram", BOTH)
def histogram(size):
    blocks = size(128, 3)
    x = draw().integers(0, 128, blocks * 1024).astype(np.int32)
    out = np.zeros(128, np.int32)
    return Case(
        [launch("histogram", size.target, blocks, [x, out])],
        [equal(out, np.bincount(x, minlength=128).astype(np.int32))],
    )


@kernel("triton", "greatest", "reduction with places", BOTH)
def greatest(size):
    rows, width = size(512, 4), 1000
    x = eighths((rows, width))
    x[:, ::97] += draw(2).integers(0, 3, x[:, ::97].shape).astype(np.float32)
    places, values = np.zeros(rows, np.int32), np.zeros(rows, np.float32)
    expected = [equal(places, x.argmax(axis=1).astype(np.int32)), equal(values, x.max(axis=1))]
    return Case([launch("greatest", size.target, rows, [x, places, values, width])], expected)


@kernel("triton", "dropout", "random numbers", BOTH)
def dropout(size):
    n, seed = size(100000, 3000), 1234
    x, out = eighths(n), np.zeros(n, np.float32)
    at, zero = np.arange(n), np.zeros(n, np.uint64)
    words = philox([at, zero, zero, zero], [np.full(n, seed), zero])[0].view(np.int32).astype(np.int64)
    # A signed word becomes a number from 0 to 1: what is below zero is turned over.
    drawn = np.where(words < 0, -words - 1, words).astype(np.float32) * np.float32(4.6566127342e-10)
    wanted = np.where(drawn > np.float32(0.5), x / np.float32(0.5), 0).astype(np.float32)
    return Case([launch("dropout", size.target, -(-n // 1024), [x, out, n, 0.5, seed])], [equal(out, wanted)])


@kernel("triton", "gather_rows", "gathers", BOTH)
def gather_rows(size):
    rows, height, width = size(4096, 64), size(1000, 50), 200
    table, places = eighths((height, width)), draw(2).integers(0, height, rows)
    out = np.zeros(rows, np.float32)
    return Case(
        [launch("gather_rows", size.target, rows // 8, [table, places, out, width])],
        [equal(out, table[places].sum(axis=1, dtype=np.float64).astype(np.float32))],
    )


@kernel("triton", "transpose_tiles", "transposition", BOTH)
def transpose_tiles(size):
    height, width = size((500, 700), (70, 90))
    x = eighths((height, width), 1, np.float16)
    out = np.zeros((width, height), np.float16)
    grid = (-(-width // 64), -(-height // 64))
    return Case([launch("transpose_tiles", size.target, grid, [x, out, height, width])], [equal(out, x.T)])
