"""Kernels in Triton, compiled without a GPU; `COMPILED` has what each is compiled for."""

import functools
import os

# Line tables name files by where they lie, which means nothing elsewhere.
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def product(
    a,
    b,
    c,
    n,
    k,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    TILE_K: tl.constexpr,
    STAGES: tl.constexpr,
    PRECISION: tl.constexpr,
):
    rows = tl.program_id(1) * TILE_M + tl.arange(0, TILE_M)
    columns = tl.program_id(0) * TILE_N + tl.arange(0, TILE_N)
    depth = tl.arange(0, TILE_K)
    left = a + rows[:, None] * k + depth[None, :]
    right = b + depth[:, None] * n + columns[None, :]
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for _ in tl.range(0, k, TILE_K, num_stages=STAGES):
        total = tl.dot(tl.load(left), tl.load(right), total, input_precision=PRECISION)
        left += TILE_K
        right += TILE_K * n
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty))


@triton.jit
def product_bytes(a, b, c, n, k, TILE: tl.constexpr, TILE_K: tl.constexpr):
    rows = tl.program_id(1) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    depth = tl.arange(0, TILE_K)
    total = tl.zeros((TILE, TILE), dtype=tl.int32)
    for start in range(0, k, TILE_K):
        left = tl.load(a + rows[:, None] * k + start + depth[None, :])
        right = tl.load(b + columns[None, :] * k + start + depth[:, None])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def product_split(a, b, c, n, k, part, TILE: tl.constexpr, TILE_K: tl.constexpr):
    """Each program adds its part of the depth to the result."""
    rows = tl.program_id(1) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    first = tl.program_id(2) * part
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(first, first + part, TILE_K):
        depth = start + tl.arange(0, TILE_K)
        total += tl.dot(
            tl.load(a + rows[:, None] * k + depth[None, :]), tl.load(b + depth[:, None] * n + columns[None, :])
        )
    tl.atomic_add(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def softmax(x, out, width, WIDE: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, WIDE)
    inside = columns < width
    values = tl.load(x + row * width + columns, mask=inside, other=-float("inf"))
    power = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * width + columns, power / tl.sum(power, axis=0), mask=inside)


@triton.jit
def layer_norm(x, scale, shift, out, means, width, epsilon, TILE: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((TILE,), dtype=tl.float32)
    for start in range(0, width, TILE):
        columns = start + tl.arange(0, TILE)
        total += tl.load(x + row * width + columns, mask=columns < width, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / width
    squares = tl.zeros((TILE,), dtype=tl.float32)
    for start in range(0, width, TILE):
        columns = start + tl.arange(0, TILE)
        value = tl.load(x + row * width + columns, mask=columns < width, other=0.0).to(tl.float32)
        apart = tl.where(columns < width, value - mean, 0.0)
        squares += apart * apart
    factor = tl.rsqrt(tl.sum(squares, axis=0) / width + epsilon)
    tl.store(means + row, mean)
    for start in range(0, width, TILE):
        columns = start + tl.arange(0, TILE)
        inside = columns < width
        value = tl.load(x + row * width + columns, mask=inside, other=0.0).to(tl.float32)
        result = (value - mean) * factor * tl.load(scale + columns, mask=inside) + tl.load(shift + columns, mask=inside)
        tl.store(out + row * width + columns, result.to(tl.float16), mask=inside)


@triton.jit
def attention(
    q, k, v, out, length, scale, TILE_M: tl.constexpr, TILE_N: tl.constexpr, HEAD: tl.constexpr, CAUSAL: tl.constexpr
):
    """The scale has a factor 1 / ln 2 in it, as powers are of two."""
    first, head = tl.program_id(0) * TILE_M, tl.program_id(1) * length * HEAD
    rows, wide = first + tl.arange(0, TILE_M), tl.arange(0, HEAD)
    query = tl.load(q + head + rows[:, None] * HEAD + wide[None, :])
    top = tl.full((TILE_M,), -float("inf"), dtype=tl.float32)
    weights = tl.zeros((TILE_M,), dtype=tl.float32)
    total = tl.zeros((TILE_M, HEAD), dtype=tl.float32)
    end = first + TILE_M if CAUSAL else length
    for start in range(0, end, TILE_N):
        columns = start + tl.arange(0, TILE_N)
        keys = tl.load(k + head + columns[None, :] * HEAD + wide[:, None])
        scores = tl.dot(query, keys) * scale
        if CAUSAL:
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -float("inf"))
        higher = tl.maximum(top, tl.max(scores, axis=1))
        power = tl.exp2(scores - higher[:, None])
        fade = tl.exp2(top - higher)
        weights = weights * fade + tl.sum(power, axis=1)
        values = tl.load(v + head + columns[:, None] * HEAD + wide[None, :])
        total = tl.dot(power.to(tl.float16), values, total * fade[:, None])
        top = higher
    result = total / weights[:, None]
    tl.store(out + head + rows[:, None] * HEAD + wide[None, :], result.to(tl.float16))


@triton.jit
def cumsum(x, out, width, WIDE: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, WIDE)
    values = tl.load(x + row * width + columns, mask=columns < width, other=0)
    tl.store(out + row * width + columns, tl.cumsum(values, axis=0), mask=columns < width)


@triton.jit
def recur(slope_a, offset_a, slope_b, offset_b):
    return slope_a * slope_b, slope_b * offset_a + offset_b


@triton.jit
def recurrence(slopes, offsets, out, width, ROWS: tl.constexpr, WIDE: tl.constexpr):
    rows, columns = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDE)
    at = rows[:, None] * width + columns[None, :]
    slope, offset = tl.load(slopes + at), tl.load(offsets + at)
    _, result = tl.associative_scan((slope, offset), 1, recur)
    tl.store(out + at, result)


@triton.jit
def sort_rows(x, out, WIDE: tl.constexpr):
    at = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    tl.store(out + at, tl.sort(tl.load(x + at), descending=True))


@triton.jit
def histogram(x, out, TILE: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.atomic_add(out + tl.arange(0, BINS), tl.histogram(tl.load(x + at), BINS))


@triton.jit
def greatest(x, places, values, width, WIDE: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, WIDE)
    line = tl.load(x + row * width + columns, mask=columns < width, other=-float("inf"))
    value, place = tl.max(line, axis=0, return_indices=True)
    tl.store(values + row, value)
    tl.store(places + row, place)


@triton.jit
def dropout(x, out, n, share, seed, TILE: tl.constexpr):
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = at < n
    keeps = tl.rand(seed, at) > share
    values = tl.load(x + at, mask=inside)
    tl.store(out + at, tl.where(keeps, values / (1 - share), 0.0), mask=inside)


@triton.jit
def gather_rows(table, places, out, width, ROWS: tl.constexpr, WIDE: tl.constexpr):
    rows, columns = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDE)
    place = tl.load(places + rows)
    values = tl.load(table + place[:, None] * width + columns[None, :], mask=columns[None, :] < width, other=0.0)
    tl.store(out + rows, tl.sum(values, axis=1))


@triton.jit
def transpose_tiles(x, out, height, width, TILE: tl.constexpr):
    rows, columns = tl.program_id(1) * TILE + tl.arange(0, TILE), tl.program_id(0) * TILE + tl.arange(0, TILE)
    tile = tl.load(
        x + rows[:, None] * width + columns[None, :],
        mask=(rows[:, None] < height) & (columns[None, :] < width),
        other=0.0,
    )
    tl.store(
        out + columns[:, None] * height + rows[None, :],
        tl.trans(tile),
        mask=(columns[:, None] < width) & (rows[None, :] < height),
    )


@triton.jit
def product_maps(a, b, c, k, TILE: tl.constexpr, TILE_K: tl.constexpr):
    """Tiles come and go by tensor maps of the host."""
    row, column = tl.program_id(1) * TILE, tl.program_id(0) * TILE
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, k, TILE_K):
        total = tl.dot(a.load([row, start]), b.load([start, column]), total)
    c.store([row, column], total.to(tl.float16))


def float_product(element, out="*fp32", precision="ieee", stages=3, tile=64, depth=32, warps=4):
    signature = {"a": f"*{element}", "b": f"*{element}", "c": out, "n": "i32", "k": "i32"}
    constants = dict(TILE_M=tile, TILE_N=tile, TILE_K=depth, STAGES=stages, PRECISION=precision)
    return product, signature, constants, dict(num_warps=warps)


# Name: function, types of parameters, constants, options.
COMPILED = {
    "product_f32": float_product("fp32", stages=2),
    "product_tf32": float_product("fp32", precision="tf32"),
    "product_f16_1": float_product("fp16", "*fp16", stages=1),
    "product_f16_2": float_product("fp16", "*fp16", stages=2),
    "product_f16_3": float_product("fp16", "*fp16", stages=3, tile=128),
    "product_f16_4": float_product("fp16", "*fp16", stages=4, tile=128, depth=64, warps=8),
    "product_bf16": float_product("bf16", stages=3),
    "product_e4m3": float_product("fp8e4nv", stages=3, depth=64),
    "product_e5m2": float_product("fp8e5", stages=2, depth=64),
    "product_bytes": (
        product_bytes,
        {"a": "*i8", "b": "*i8", "c": "*i32", "n": "i32", "k": "i32"},
        dict(TILE=64, TILE_K=64),
        {},
    ),
    "product_split": (
        product_split,
        {"a": "*fp16", "b": "*fp16", "c": "*fp32", "n": "i32", "k": "i32", "part": "i32"},
        dict(TILE=64, TILE_K=32),
        {},
    ),
    "product_maps": (
        product_maps,
        {"a": "tensordesc<fp16[64, 64]>", "b": "tensordesc<fp16[64, 64]>", "c": "tensordesc<fp16[64, 64]>", "k": "i32"},
        dict(TILE=64, TILE_K=64),
        {},
    ),
    "softmax": (softmax, {"x": "*fp32", "out": "*fp32", "width": "i32"}, dict(WIDE=1024), {}),
    "layer_norm": (
        layer_norm,
        {
            "x": "*fp16",
            "scale": "*fp32",
            "shift": "*fp32",
            "out": "*fp16",
            "means": "*fp32",
            "width": "i32",
            "epsilon": "fp32",
        },
        dict(TILE=512),
        {},
    ),
    "attention": (
        attention,
        {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "length": "i32", "scale": "fp32"},
        dict(TILE_M=64, TILE_N=64, HEAD=64, CAUSAL=False),
        dict(num_stages=3),
    ),
    "attention_causal": (
        attention,
        {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "length": "i32", "scale": "fp32"},
        dict(TILE_M=128, TILE_N=32, HEAD=64, CAUSAL=True),
        dict(num_stages=2),
    ),
    "cumsum": (cumsum, {"x": "*i32", "out": "*i32", "width": "i32"}, dict(WIDE=2048), {}),
    "recurrence": (
        recurrence,
        {"slopes": "*fp32", "offsets": "*fp32", "out": "*fp32", "width": "i32"},
        dict(ROWS=4, WIDE=512),
        {},
    ),
    "sort_rows": (sort_rows, {"x": "*i32", "out": "*i32"}, dict(WIDE=512), {}),
    "histogram": (histogram, {"x": "*i32", "out": "*i32"}, dict(TILE=1024, BINS=128), {}),
    "greatest": (greatest, {"x": "*fp32", "places": "*i32", "values": "*fp32", "width": "i32"}, dict(WIDE=1024), {}),
    "dropout": (
        dropout,
        {"x": "*fp32", "out": "*fp32", "n": "i32", "share": "fp32", "seed": "i32"},
        dict(TILE=1024),
        {},
    ),
    "gather_rows": (
        gather_rows,
        {"table": "*fp32", "places": "*i64", "out": "*fp32", "width": "i32"},
        dict(ROWS=8, WIDE=256),
        {},
    ),
    "transpose_tiles": (
        transpose_tiles,
        {"x": "*fp16", "out": "*fp16", "height": "i32", "width": "i32"},
        dict(TILE=64),
        {},
    ),
}


@functools.lru_cache(None)
def compiled(name, target):
    """A kernel for a target; pointers and what a row of a matrix has are multiples of 16, as when Triton is called."""
    function, types, constants, options = COMPILED[name]
    signature = types | {constant: "constexpr" for constant in constants}
    aligned = {
        (i,): [["tt.divisibility", 16]]
        for i, (name, kind) in enumerate(types.items())
        if kind.startswith("*") or name in ("n", "k", "length", "part")
    }
    source = ASTSource(
        fn=function,
        signature=signature,
        constexprs={(list(signature).index(c),): v for c, v in constants.items()},
        attrs=aligned,
    )
    gpu = GPUTarget("cuda", int(target.removeprefix("sm_").rstrip("a")), 32)
    return triton.compile(source, target=gpu, options=options)
