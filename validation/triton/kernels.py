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
