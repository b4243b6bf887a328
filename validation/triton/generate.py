"""Compiles the kernels of `kernels.py` for sm_90 and writes their PTX, `sm_90/`, and their launches, `launches.csv`."""

import argparse
import csv
import functools
import math
import pathlib
import re

import kernels
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = pathlib.Path(__file__).resolve().parent
# Parameters that are a multiple of 16 in every launch, as pointers are; Triton looks at arguments when it is called.
MULTIPLES = {"m", "n", "k", "width", "length", "height", "part", "stride"}
COLUMNS = ["row", "gpu", "class", "kernel", "input", "grid", "block", "shared", "args", "read", "measured_us"]
# What a driver of CUDA 12.4 understands.
PTX_VERSION = 84


def compiled(function, types, constants, options):
    signature = types | {constant: "constexpr" for constant in constants}
    aligned = {
        (i,): [["tt.divisibility", 16]]
        for i, (name, kind) in enumerate(types.items())
        if kind.startswith("*") or name in MULTIPLES
    }
    values = {(list(signature).index(name),): value for name, value in constants.items()}
    source = ASTSource(fn=function, signature=signature, constexprs=values, attrs=aligned)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"ptx_version": PTX_VERSION} | options)


def plain(ptx):
    """PTX without comments and tables for debuggers."""
    ptx = re.sub(r"//[^\n]*", "", ptx)
    ptx = re.sub(r"(?m)^\s*\.(loc|file)\b.*\n", "", ptx)
    ptx = re.sub(r"(?ms)^\s*\.section\s.*?\}\s*\n", "", ptx)
    ptx = re.sub(r"[ \t]+\n", "\n", ptx)
    return re.sub(r"\n{2,}", "\n", ptx).lstrip()


class Table:
    """Launches, and the PTX that they need."""

    def __init__(self):
        self.rows = []
        self.built = {}

    def add(self, kind, file, how, grid, args, read, name=None):
        """A launch of `how`, whose PTX goes to `file`."""
        types = how[1]
        if file not in self.built:
            self.built[file] = how
        assert self.built[file] == how, file
        meta, hidden, _ = text(file, self)
        args = [str(argument) for argument in args]
        assert len(args) == len(types), (file, len(args))
        blocks = math.prod(grid) if isinstance(grid, tuple) else grid
        scratch = [f"u8[{meta.global_scratch_size * blocks}]" if meta.global_scratch_size else "none", "none"]
        args += scratch[:hidden]
        self.rows.append(
            {
                "row": name or file,
                "gpu": "h100-sxm",
                "class": f"triton {kind}",
                "kernel": meta.name,
                "input": f"sm_90/{file}.ptx",
                "grid": ",".join(map(str, grid)) if isinstance(grid, tuple) else grid,
                "block": meta.num_warps * 32,
                "shared": meta.shared or "",
                "args": ";".join(args),
                "read": read,
                "measured_us": "",
            }
        )


@functools.cache
def text(file, table):
    function, types, constants, options = table.built[file]
    made = compiled(function, types, constants, options)
    ptx = plain(made.asm["ptx"])
    parameters = len(re.findall(r"\.param\s+\.\w+", ptx.split(")")[0] + ")"))
    return made.metadata, parameters - len(types), ptx


def floats(kind, count, seed):
    return f"{kind}[{count}]:uniform(-1,1,{seed})"


# Numbers of a type in memory: how many they are and a seed give a buffer.
FILLS = {
    "fp16": lambda count, seed: floats("f16", count, seed),
    "bf16": lambda count, seed: floats("bf16", count, seed),
    "fp32": lambda count, seed: floats("f32", count, seed),
    # Codes from 2^-5 to 1.875, none of which is negative.
    "fp8e4nv": lambda count, seed: f"u8[{count}]:uniform(16,63,{seed})",
    "i8": lambda count, seed: f"s8[{count}]:uniform(-128,127,{seed})",
}
EMPTY = {"fp16": "f16", "bf16": "bf16", "fp32": "f32", "i32": "s32"}


def products(table):
    def add(kind, element, tile, warps, stages, sizes, out=None, **how):
        m, n, k = tile
        short = {"fp16": "f16", "fp8e4nv": "e4m3", "i8": "s8", "fp32": "f32"}.get(element, element)
        short = "tf32" if how.get("precision") == "tf32" else short
        turned = "_turned" if how.get("turned") and short in ("tf32",) else ""
        file = f"product_{short}{turned}_{m}x{n}x{k}_w{warps}_s{stages}"
        made = kernels.product(element, tile, warps, stages, out, **how)
        for size in sizes:
            fill = FILLS[element]
            args = [fill(size * size, 1), fill(size * size, 2), f"{EMPTY[out or element]}[{size * size}]"] + [size] * 3
            grid = -(-size // m) * -(-size // n)
            table.add(f"product {kind}", file, made, grid, args, "2:8", f"{file}_{size}")

    half = functools.partial(add, "f16", "fp16")
    half((64, 64, 32), 4, 1, [1024])
    half((64, 64, 32), 4, 2, [1024])
    half((64, 64, 32), 4, 3, [1024, 2048, 4096])
    half((64, 64, 32), 4, 4, [1024])
    # Two warps, or 32 rows, are too few for the instructions of a warp group.
    half((64, 64, 32), 2, 3, [2048])
    half((32, 64, 64), 4, 3, [1024])
    half((128, 128, 32), 4, 1, [2048])
    half((128, 128, 32), 4, 2, [2048])
    half((128, 128, 32), 4, 3, [2048, 4096])
    half((128, 128, 32), 4, 4, [2048])
    half((128, 128, 32), 8, 2, [4096])
    half((128, 128, 64), 4, 2, [2048])
    half((128, 128, 64), 4, 3, [4096])
    half((128, 128, 64), 8, 1, [2048])
    half((128, 128, 64), 8, 3, [2048, 4096])
    half((128, 128, 64), 8, 4, [4096])
    half((128, 256, 64), 8, 1, [4096])
    half((128, 256, 64), 8, 2, [2048])
    half((128, 256, 64), 8, 3, [1024, 2048, 4096])
    half((128, 256, 64), 8, 4, [4096])
    add("bf16", "bf16", (128, 128, 32), 4, 3, [2048])
    add("bf16", "bf16", (128, 256, 64), 8, 3, [4096])
    tf32 = functools.partial(add, "tf32", "fp32", precision="tf32")
    tf32((64, 64, 32), 4, 3, [1024])
    tf32((128, 128, 32), 4, 3, [2048], turned=True)
    tf32((128, 128, 32), 8, 4, [4096], turned=True)
    add("fp8", "fp8e4nv", (128, 128, 64), 4, 3, [2048], out="fp16", turned=True)
    add("fp8", "fp8e4nv", (128, 256, 128), 8, 3, [4096], out="fp16", turned=True)
    add("int8", "i8", (128, 128, 64), 8, 3, [4096], out="i32", turned=True)
    add("f32", "fp32", (64, 64, 16), 4, 2, [1024])


def f32(count, seed=1):
    return FILLS["fp32"](count, seed)


def f16(count, seed=1):
    return FILLS["fp16"](count, seed)


def softmaxes(table):
    for width, warps, rows in (
        (512, 1, 32768),
        (1024, 4, 16384),
        (2048, 4, 8192),
        (4096, 4, 4096),
        (4096, 8, 4096),
        (8192, 8, 2048),
        (8192, 16, 2048),
    ):
        types = {"x": "*fp32", "out": "*fp32", "width": "i32"}
        how = kernels.suite.softmax, types, dict(WIDE=width), dict(num_warps=warps)
        args = [f32(rows * width), f"f32[{rows * width}]", width]
        table.add("softmax", f"softmax_{width}_w{warps}", how, rows, args, "1:8")
    types = {"x": "*fp16", "out": "*fp16", "width": "i32"}
    how = kernels.softmax_rows, types, dict(ROWS=4, WIDE=1024), dict(num_warps=4)
    args = [f16(16384 * 1008), f"f16[{16384 * 1008}]", 1008]
    table.add("softmax", "softmax_rows_4x1024_w4", how, 4096, args, "1:8")
    how = kernels.softmax_long, types, dict(TILE=2048), dict(num_warps=8)
    args = [f16(1024 * 32768), f"f16[{1024 * 32768}]", 32768]
    table.add("softmax", "softmax_long_2048_w8", how, 1024, args, "1:8")


def norms(table):
    rows, width = 8192, 2048
    types = {"x": "*fp16", "scale": "*fp32", "shift": "*fp32", "out": "*fp16", "means": "*fp32"}
    last = {"width": "i32", "epsilon": "fp32"}
    how = kernels.suite.layer_norm, types | last, dict(TILE=512), dict(num_warps=4)
    args = [f16(rows * width), f32(width, 2), f32(width, 3), f"f16[{rows * width}]", f"f32[{rows}]", width, 1e-5]
    table.add("layer norm", "layer_norm_512_w4", how, rows, args, "3:8")
    for width, warps in ((1024, 2), (4096, 8), (8192, 8)):
        rows = (1 << 24) // width
        how = kernels.layer_norm_row, types | {"factors": "*fp32"} | last, dict(WIDE=width), dict(num_warps=warps)
        args = [f16(rows * width), f32(width, 2), f32(width, 3), f"f16[{rows * width}]"]
        args += [f"f32[{rows}]", f"f32[{rows}]", width, 1e-5]
        table.add("layer norm", f"layer_norm_row_{width}_w{warps}", how, rows, args, "3:8")
    for element, width, warps in (("fp16", 4096, 4), ("bf16", 8192, 8)):
        rows = (1 << 24) // width
        types = {"x": f"*{element}", "scale": f"*{element}", "out": f"*{element}", "width": "i32", "epsilon": "fp32"}
        how = kernels.rms_norm, types, dict(WIDE=width), dict(num_warps=warps)
        fill = FILLS[element]
        args = [fill(rows * width, 1), fill(width, 2), f"{EMPTY[element]}[{rows * width}]", width, 1e-5]
        table.add("rms norm", f"rms_norm_{EMPTY[element]}_{width}_w{warps}", how, rows, args, "2:8")
    rows, width, group = 4096, 2048, 128
    names = "x slope scale means factors out locks scales shifts".split()
    kinds = ["*fp16", "*fp16", "*fp32", "*fp32", "*fp32", "*fp16", "*i32", "*fp32", "*fp32"]
    types = dict(zip(names, kinds)) | {"width": "i32"}
    how = kernels.layer_norm_back, types, dict(GROUP=group, WIDE=width), dict(num_warps=8)
    args = [f16(rows * width), f16(rows * width, 2), f32(width, 3), f32(rows, 4), f"f32[{rows}]:uniform(1,2,5)"]
    args += [f"f16[{rows * width}]", f"s32[{2 * group}]", f"f32[{group * width}]", f"f32[{group * width}]", width]
    table.add("layer norm backward", "layer_norm_back_2048_w8", how, rows, args, "5:8")
    types = {"x": "*fp16", "slope": "*fp16", "means": "*fp32", "factors": "*fp32", "scales": "*fp32", "shifts": "*fp32"}
    types |= {"height": "i32", "width": "i32"}
    how = kernels.layer_norm_back_atomic, types, dict(ROWS=64, TILE=512), dict(num_warps=4)
    args = [f16(rows * width), f16(rows * width, 2), f32(rows, 4), f"f32[{rows}]:uniform(1,2,5)"]
    args += [f"f32[{width}]", f"f32[{width}]", rows, width]
    table.add("layer norm backward", "layer_norm_back_atomic", how, (width // 512, rows // 64), args, "4:8")


def attentions(table):
    def arrays(heads, length, head):
        return [f16(heads * length * head, seed) for seed in (1, 2, 3)] + [f"f16[{heads * length * head}]"]

    def add(head, causal, tile, warps, stages, sizes):
        m, n = tile
        types = {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "logs": "*fp32", "length": "i32"}
        values = dict(TILE_M=m, TILE_N=n, HEAD=head, CAUSAL=causal, STAGES=stages)
        how = kernels.attention, types | {"scale": "fp32"}, values, dict(num_warps=warps)
        file = f"attention_{head}_{'causal_' if causal else ''}{m}x{n}_w{warps}_s{stages}"
        for length, heads in sizes:
            scale = head**-0.5 / math.log(2)
            args = [*arrays(heads, length, head), f"f32[{heads * length}]", length, f"{scale:.7g}"]
            table.add(f"attention {head}", file, how, (length // m, heads), args, "3:8", f"{file}_{length}")

    add(64, False, (128, 64), 4, 3, [(1024, 64), (2048, 64), (4096, 32)])
    add(64, True, (128, 64), 4, 3, [(1024, 64), (2048, 64), (4096, 32)])
    add(64, False, (64, 64), 4, 2, [(2048, 32)])
    add(64, True, (64, 32), 4, 2, [(2048, 32)])
    add(128, False, (128, 128), 8, 2, [(1024, 32), (4096, 16)])
    add(128, True, (128, 128), 8, 2, [(2048, 32), (4096, 16)])
    add(128, False, (128, 64), 8, 3, [(2048, 32)])
    add(128, True, (64, 64), 4, 3, [(4096, 16)])
    types = {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "length": "i32", "scale": "fp32"}
    values = dict(TILE_M=64, TILE_N=64, HEAD=64, CAUSAL=True)
    how = kernels.suite.attention, types, values, dict(num_warps=4, num_stages=3)
    args = [*arrays(32, 2048, 64), 2048, "0.1803369"]
    table.add("attention 64", "attention_masked_64_64x64_w4_s3", how, (32, 32), args, "3:8")


def elementwise(table):
    types = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
    for tile, warps, n in ((1024, 4, 1 << 26), (4096, 8, 1 << 25)):
        how = kernels.add, types, dict(TILE=tile), dict(num_warps=warps)
        table.add("elementwise", f"add_{tile}_w{warps}", how, n // tile, [f32(n), f32(n, 2), f"f32[{n}]", n], "2:8")
    types = {"x": "*fp16", "out": "*fp16", "n": "i32"}
    for name, tile, warps, n in (
        ("gelu", 1024, 4, 1 << 26),
        ("gelu", 512, 1, 1 << 25),
        ("gelu_tanh", 2048, 8, 1 << 25),
    ):
        how = getattr(kernels, name), types, dict(TILE=tile), dict(num_warps=warps)
        table.add("elementwise", f"{name}_{tile}_w{warps}", how, n // tile, [f16(n), f"f16[{n}]", n], "1:8")
    n = 1 << 25
    types = {"x": "*bf16", "gate": "*bf16", "out": "*bf16", "n": "i32"}
    how = kernels.gated, types, dict(TILE=1024), dict(num_warps=4)
    args = [FILLS["bf16"](n, 1), FILLS["bf16"](n, 2), f"bf16[{n}]", n]
    table.add("elementwise", "gated_1024_w4", how, n // 1024, args, "2:8")
    n = 1 << 24
    types = {"weight": "*fp32", "slope": "*fp32", "first": "*fp32", "second": "*fp32", "n": "i32"}
    how = kernels.adam, types | {"rate": "fp32", "epsilon": "fp32"}, dict(TILE=1024), dict(num_warps=4)
    args = [f32(n), f32(n, 2), f32(n, 3), f"f32[{n}]:uniform(0,1,4)", n, 0.001, 1e-8]
    table.add("elementwise", "adam_1024_w4", how, n // 1024, args, "0:8")
    rows, heads, half = 8192, 32, 64
    types = {"x": "*fp16", "cosines": "*fp32", "sines": "*fp32", "out": "*fp16", "width": "i32"}
    how = kernels.rotate, types, dict(HALF=half, HEADS=heads), dict(num_warps=4)
    count = rows * heads * half * 2
    args = [f16(count), f32(rows * half, 2), f32(rows * half, 3), f"f16[{count}]", heads * half * 2]
    table.add("elementwise", "rotate_64_w4", how, rows, args, "3:8")
    rows, width = 8192, 4096
    how = kernels.quantize, {"x": "*fp16", "out": "*i8", "scales": "*fp32", "width": "i32"}, dict(WIDE=width), {}
    table.add(
        "elementwise",
        "quantize_4096_w4",
        how,
        rows,
        [f16(rows * width), f"s8[{rows * width}]", f"f32[{rows}]", width],
        "1:8",
    )
    n = 1 << 24
    types = {"x": "*fp32", "out": "*fp32", "n": "i32", "share": "fp32", "seed": "i32"}
    for name, tile, count in (("dropout", 1024, n), ("dropout_four", 512, n // 4)):
        function = kernels.dropout_four if name == "dropout_four" else kernels.suite.dropout
        how = function, types, dict(TILE=tile), dict(num_warps=4)
        table.add("dropout", f"{name}_{tile}_w4", how, count // tile, [f32(n), f"f32[{n}]", n, 0.5, 1234], "1:8")


def reductions(table):
    types = {"x": "*fp32", "out": "*fp32", "width": "i32"}
    for rows, width, tile, warps in ((4096, 8192, 2048, 8), (65536, 512, 512, 2)):
        how = kernels.sum_rows, types, dict(TILE=tile), dict(num_warps=warps)
        table.add(
            "reduction", f"sum_rows_{tile}_w{warps}", how, rows, [f32(rows * width), f"f32[{rows}]", width], "1:8"
        )
    rows, width = 8192, 4096
    how = kernels.sum_columns, types, dict(PART=256, ROWS=16, TILE=128), dict(num_warps=4)
    args = [f32(rows * width), f"f32[{width}]", width]
    table.add("reduction", "sum_columns_128_w4", how, (width // 128, rows // 256), args, "1:8")
    types = {"x": "*fp32", "places": "*i32", "values": "*fp32", "width": "i32"}
    for rows, width, warps in ((16384, 1024, 4), (4096, 8192, 8)):
        how = kernels.suite.greatest, types, dict(WIDE=width), dict(num_warps=warps)
        args = [f32(rows * width), f"s32[{rows}]", f"f32[{rows}]", width]
        table.add("argmax", f"argmax_{width}_w{warps}", how, rows, args, "1:8")
    rows, width = 2048, 32000
    types = {"x": "*fp16", "wanted": "*i64", "out": "*fp32", "width": "i32"}
    how = kernels.cross_entropy, types, dict(TILE=2048), dict(num_warps=8)
    args = [f16(rows * width), f"s64[{rows}]:uniform(0,{width - 1},2)", f"f32[{rows}]", width]
    table.add("cross entropy", "cross_entropy_2048_w8", how, rows, args, "2:8")
    n, bins = 1 << 24, 256
    given = f"s32[{n}]:uniform(0,{bins - 1},1)"
    how = kernels.suite.histogram, {"x": "*i32", "out": "*i32"}, dict(TILE=1024, BINS=bins), {}
    table.add("histogram", "histogram_256", how, n // 1024, [given, f"s32[{bins}]"], "1:8")
    types = {"x": "*i32", "out": "*i32", "n": "i32"}
    how = kernels.histogram_many, types, dict(TILE=1024, PARTS=16, BINS=bins), dict(num_warps=8)
    table.add("histogram", "histogram_many_256_w8", how, n // 16384, [given, f"s32[{bins}]", n], "1:8")
    how = kernels.histogram_atomic, types, dict(TILE=1024), {}
    given = f"s32[{n // 4}]:uniform(0,65535,1)"
    table.add("histogram", "histogram_atomic", how, n // 4096, [given, "s32[65536]", n // 4], "1:8")


def scans(table):
    types = {"x": "*i32", "out": "*i32", "width": "i32"}
    for rows, width, warps in ((16384, 1024, 4), (4096, 4096, 8)):
        how = kernels.suite.cumsum, types, dict(WIDE=width), dict(num_warps=warps)
        args = [f"s32[{rows * width}]:uniform(-1000,1000,1)", f"s32[{rows * width}]", width]
        table.add("scan", f"cumsum_{width}_w{warps}", how, rows, args, "1:8")
    rows, width = 16384, 512
    types = {"slopes": "*fp32", "offsets": "*fp32", "out": "*fp32", "width": "i32"}
    how = kernels.suite.recurrence, types, dict(ROWS=4, WIDE=width), {}
    args = [f32(rows * width), f32(rows * width, 2), f"f32[{rows * width}]", width]
    table.add("scan", "recurrence_512", how, rows // 4, args, "2:8")
    how = kernels.suite.sort_rows, {"x": "*i32", "out": "*i32"}, dict(WIDE=512), {}
    count = 8192 * 512
    args = [f"s32[{count}]:uniform(-2147483648,2147483647,1)", f"s32[{count}]"]
    table.add("sort", "sort_rows_512", how, 8192, args, "1:8")


def movements(table):
    height, width = 8192, 4096
    types = {"x": "*fp16", "out": "*fp16", "height": "i32", "width": "i32"}
    how = kernels.suite.transpose_tiles, types, dict(TILE=64), {}
    args = [f16(height * width), f"f16[{height * width}]", height, width]
    table.add("transpose", "transpose_f16_64_w4", how, (width // 64, height // 64), args, "1:8")
    size = 4096
    types = types | {"x": "*fp32", "out": "*fp32"}
    how = kernels.suite.transpose_tiles, types, dict(TILE=32), {}
    args = [f32(size * size), f"f32[{size * size}]", size, size]
    table.add("transpose", "transpose_f32_32_w4", how, (size // 32, size // 32), args, "1:8")
    rows, height, width = 32768, 32000, 1024
    types = {"table": "*fp16", "places": "*i64", "out": "*fp16", "width": "i32"}
    how = kernels.embed, types, dict(TILE=1024), {}
    places = f"s64[{rows}]:uniform(0,{height - 1},2)"
    args = [f16(height * width), places, f"f16[{rows * width}]", width]
    table.add("gather", "embed_1024_w4", how, (rows, 1), args, "2:8")
    rows, height, width = 65536, 100000, 208
    types = {"table": "*fp32", "places": "*i64", "out": "*fp32", "width": "i32"}
    how = kernels.suite.gather_rows, types, dict(ROWS=8, WIDE=256), {}
    args = [f32(height * width), f"s64[{rows}]:uniform(0,{height - 1},2)", f"f32[{rows}]", width]
    table.add("gather", "gather_rows_8x256", how, rows // 8, args, "2:8")


def vectors(table):
    n, k = 8192, 8192
    types = {"matrix": "*fp16", "vector": "*fp16", "out": "*fp32", "k": "i32"}
    for rows, tile, warps in ((4, 1024, 4), (16, 256, 8)):
        how = kernels.vector_product, types, dict(ROWS=rows, TILE=tile), dict(num_warps=warps)
        args = [f16(n * k), f16(k, 2), f"f32[{n}]", k]
        table.add("matrix vector", f"vector_product_{rows}x{tile}_w{warps}", how, n // rows, args, "2:8")
    n, k, experts, batch = 2048, 1024, 16, 32
    types = {"matrices": "*fp16", "vectors": "*fp16", "owner": "*i32", "out": "*fp32", "n": "i32", "k": "i32"}
    how = kernels.grouped_vectors, types, dict(ROWS=8, TILE=512), dict(num_warps=4)
    args = [
        f16(experts * n * k),
        f16(batch * k, 2),
        f"s32[{batch}]:uniform(0,{experts - 1},3)",
        f"f32[{batch * n}]",
        n,
        k,
    ]
    table.add("matrix vector", "grouped_vectors_8x512_w4", how, (n // 8, batch), args, "3:8")
    n, k = 8192, 4096
    types = {"x": "*fp16", "weights": "*fp16", "out": "*fp16", "n": "i32", "k": "i32"}
    for batch, tile, stages in ((16, 32, 4), (64, 64, 3)):
        values = dict(BATCH=batch, TILE_N=tile, TILE_K=128, STAGES=stages)
        how = kernels.small_batch, types, values, dict(num_warps=4)
        args = [f16(batch * k), f16(n * k, 2), f"f16[{batch * n}]", n, k]
        table.add("small batch", f"small_batch_{batch}x{tile}_s{stages}", how, n // tile, args, "2:8")
    n, k, parts = 512, 8192, 8
    types = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "n": "i32", "k": "i32", "part": "i32"}
    how = kernels.suite.product_split, types, dict(TILE=64, TILE_K=32), {}
    args = [f16(n * k), f16(n * k, 2), f"f32[{n * n}]", n, k, k // parts]
    table.add("product f16", "product_split_64x64x32", how, (n // 64, n // 64, parts), args, "2:8")


PARTS = [products, softmaxes, norms, attentions, elementwise, reductions, scans, movements, vectors]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=pathlib.Path, default=HERE, help="where to write")
    folder = parser.parse_args().folder
    table = Table()
    for part in PARTS:
        part(table)
    (folder / "sm_90").mkdir(parents=True, exist_ok=True)
    for file in table.built:
        (folder / f"sm_90/{file}.ptx").write_text(text(file, table)[2])
    with (folder / "launches.csv").open("w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table.rows)
    print(f"{len(table.built)} kernels, {len(table.rows)} launches")


if __name__ == "__main__":
    main()
