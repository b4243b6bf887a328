"""Launches of the Triton kernels of the validation, as a user has them."""

import math
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "validation/triton"))

import kernels  # noqa: E402
import numpy as np  # noqa: E402

# The validation keeps PTX without lines; here they matter.
os.environ.pop("TRITON_DISABLE_LINE_INFO", None)


def product(size, tile=(64, 64, 32), warps=4, stages=3):
    """A product of two square matrices in halves: kernel, arguments, grid and constants."""
    m, n, k = tile
    draw = np.random.default_rng(1)
    a, b = (draw.uniform(-1, 1, (size, size)).astype(np.float16) for _ in range(2))
    constants = dict(TILE_M=m, TILE_N=n, TILE_K=k, GROUP=8, TURNED=False, STAGES=stages, PRECISION="ieee")
    grid = lambda meta: (math.ceil(size / meta["TILE_M"]) * math.ceil(size / meta["TILE_N"]),)
    return kernels.matmul, (a, b, np.zeros_like(a), size, size, size), grid, constants | {"num_warps": warps}


def softmax(rows, width):
    x = np.random.default_rng(2).normal(size=(rows, width)).astype(np.float32)
    return kernels.suite.softmax, (x, np.zeros_like(x), width), (rows,), {"WIDE": width, "num_warps": 4}


def layer_norm(rows, width):
    draw = np.random.default_rng(3)
    x = draw.normal(size=(rows, width)).astype(np.float16)
    scale, shift = draw.normal(size=(2, width)).astype(np.float32)
    args = (x, scale, shift, np.zeros_like(x), np.zeros(rows, np.float32), width, 1e-5)
    return kernels.suite.layer_norm, args, (rows,), {"TILE": 512, "num_warps": 4}


def attention(heads, length, head=64, causal=True):
    draw = np.random.default_rng(4)
    q, k, v = (draw.normal(size=(heads, length, head)).astype(np.float16) for _ in range(3))
    args = (q, k, v, np.zeros_like(q), length, head**-0.5 / math.log(2))
    constants = {"TILE_M": 64, "TILE_N": 64, "HEAD": head, "CAUSAL": causal, "num_warps": 4, "num_stages": 3}
    return kernels.suite.attention, args, (length // 64, heads), constants


CASES = {
    "product": lambda: product(256),
    "softmax": lambda: softmax(256, 1024),
    "layer_norm": lambda: layer_norm(256, 1024),
    "attention": lambda: attention(4, 256),
}
