"""Runs the kernels on the emulator at small sizes, and compares what they leave with NumPy."""

import argparse
import csv
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "suite"))

from cases_nvcc import philox  # noqa: E402
from formats import E4M3  # noqa: E402


def wide(array):
    return array.astype(np.float64)


def of_bfloat(array):
    if array.dtype.kind == "f":
        return wide(array)
    return wide((array.astype(np.uint32) << 16).view(np.float32))


def softened(x):
    power = np.exp(x - x.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)


CHECKS = {}


def check(prefix):
    """Adds a check of the files that begin so: from a file's name to grid, arguments and what to compare.

    The last is a function from the buffers after the launch to triples: found, wanted, bound of the error.
    """

    def add(make):
        CHECKS[prefix] = make
        return make

    return add


def numbers(file):
    """The words of a name: `product_f16_64x32x16_w4_s2` has tile, warps and stages."""
    tile = next(word for word in file.split("_") if "x" in word and word[0].isdigit())
    return [int(n) for n in tile.split("x")]


@check("product_split")
def product_split(file):
    n, k = 64, 256
    args = [f"f16[{n * k}]:uniform(-1,1,1)", f"f16[{n * k}]:uniform(-1,1,2)", f"f32[{n * n}]", n, k, k // 2]

    def found(b):
        return [(b[2].reshape(n, n), wide(b[0]).reshape(n, k) @ wide(b[1]).reshape(k, n), 1e-4)]

    return "1,1,2", args, found


@check("product")
def product(file):
    kind = file.split("_")[1]
    m, n, k = numbers(file)
    # Not the same numbers on both sides, and a depth that is no multiple of all stages.
    m, n, k = 2 * m, 2 * n, max(5 * k, 160)
    k = -(-k // 64) * 64 if "128x256x128" not in file else 640
    left, right, out = {
        "f16": ("f16[{}]:uniform(-1,1,1)", "f16[{}]:uniform(-1,1,2)", "f16"),
        "bf16": ("bf16[{}]:uniform(-1,1,1)", "bf16[{}]:uniform(-1,1,2)", "bf16"),
        "tf32": ("f32[{}]:uniform(-1,1,1)", "f32[{}]:uniform(-1,1,2)", "f32"),
        "f32": ("f32[{}]:uniform(-1,1,1)", "f32[{}]:uniform(-1,1,2)", "f32"),
        # Multiples of 2^-9, of which the sums fit into the 14 bits that the units keep.
        "e4m3": ("u8[{}]:uniform(0,3,1)", "u8[{}]:uniform(0,3,2)", "f16"),
        "s8": ("s8[{}]:uniform(-128,127,1)", "s8[{}]:uniform(-128,127,2)", "s32"),
    }[kind]
    args = [left.format(m * k), right.format(k * n), f"{out}[{m * n}]", m, n, k]
    turned = "turned" in file or kind in ("e4m3", "s8")

    def found(b):
        a, c = b[0], b[1]
        if kind == "e4m3":
            a, c = (np.asarray(E4M3)[array.view(np.uint8)] for array in (a, c))
        elif kind == "bf16":
            a, c = of_bfloat(a), of_bfloat(c)
        a, c = wide(a).reshape(m, k), wide(c).reshape((n, k) if turned else (k, n))
        c = c.T if turned else c
        result = (of_bfloat(b[2]) if kind == "bf16" else wide(b[2])).reshape(m, n)
        exact = a @ c
        # What the result is rounded to, and what the inputs are; sums in single precision.
        share = {"f16": 2**-11, "bf16": 2**-8, "tf32": 1e-5, "f32": 1e-6, "e4m3": 2**-11, "s8": 0}[kind]
        loss = {"tf32": 2**-9, "s8": 0, "e4m3": 0}.get(kind, 1e-6)
        return [(result, exact, 1.01 * share * abs(exact) + loss * (abs(a) @ abs(c)))]

    return 4, args, found


@check("softmax")
def softmax(file):
    half = "rows" in file or "long" in file
    width = {"rows": 1008, "long": 4096}.get(file.split("_")[1]) or int(file.split("_")[1])
    rows = 8
    kind = "f16" if half else "f32"
    args = [f"{kind}[{rows * width}]:uniform(-4,4,1)", f"{kind}[{rows * width}]", width]

    def found(b):
        wanted = softened(wide(b[0]).reshape(rows, width))
        return [(b[1].reshape(rows, width), wanted, wanted * (2**-10 if half else 5e-6) + (2e-7 if half else 0))]

    return rows // 4 if "rows" in file else rows, args, found


@check("layer_norm_back_2048")
def layer_norm_back(file):
    rows, width, group = 260, 2048, 128
    args = [
        f"f16[{rows * width}]:uniform(-1,1,1)",
        f"f16[{rows * width}]:uniform(-1,1,2)",
        f"f32[{width}]:uniform(-1,1,3)",
    ]
    args += [f"f32[{rows}]:uniform(-1,1,4)", f"f32[{rows}]:uniform(1,2,5)", f"f16[{rows * width}]", f"s32[{2 * group}]"]
    args += [f"f32[{group * width}]", f"f32[{group * width}]", width]

    def found(b):
        x, given = wide(b[0]).reshape(rows, width), wide(b[1]).reshape(rows, width)
        normal = (x - wide(b[3])[:, None]) * wide(b[4])[:, None]
        weighted = given * wide(b[2])
        along, level = (normal * weighted).mean(axis=1)[:, None], weighted.mean(axis=1)[:, None]
        wanted = (weighted - normal * along - level) * wide(b[4])[:, None]
        parts = [(b[i].reshape(group, width).sum(axis=0), w.sum(axis=0)) for i, w in ((7, given * normal), (8, given))]
        return [(b[5].reshape(rows, width), wanted, 2**-10 * abs(wanted) + 1e-4)] + [(f, w, 1e-3) for f, w in parts]

    return rows, args, found


@check("layer_norm_back_atomic")
def layer_norm_back_atomic(file):
    rows, width = 128, 1024
    args = [
        f"f16[{rows * width}]:uniform(-1,1,1)",
        f"f16[{rows * width}]:uniform(-1,1,2)",
        f"f32[{rows}]:uniform(-1,1,4)",
    ]
    args += [f"f32[{rows}]:uniform(1,2,5)", f"f32[{width}]", f"f32[{width}]", rows, width]

    def found(b):
        x, given = wide(b[0]).reshape(rows, width), wide(b[1]).reshape(rows, width)
        normal = (x - wide(b[2])[:, None]) * wide(b[3])[:, None]
        return [(b[4], (given * normal).sum(axis=0), 1e-3), (b[5], given.sum(axis=0), 1e-3)]

    return "2,2", args, found


@check("layer_norm")
def layer_norm(file):
    short = "row" not in file
    width, rows = 1024 if short else int(file.split("_")[3]), 3
    args = [f"f16[{rows * width}]:uniform(-1,1,1)", f"f32[{width}]:uniform(-1,1,2)", f"f32[{width}]:uniform(-1,1,3)"]
    args += [f"f16[{rows * width}]", f"f32[{rows}]"] + ([] if short else [f"f32[{rows}]"]) + [width, 1e-5]

    def found(b):
        x = wide(b[0]).reshape(rows, width)
        wanted = (x - x.mean(axis=1)[:, None]) / np.sqrt(x.var(axis=1) + 1e-5)[:, None] * wide(b[1]) + wide(b[2])
        return [(b[3].reshape(rows, width), wanted, 2**-10 * abs(wanted) + 1e-5), (b[4], x.mean(axis=1), 1e-5)]

    return rows, args, found


@check("rms_norm")
def rms_norm(file):
    kind, width, rows = file.split("_")[2], int(file.split("_")[3]), 3
    args = [
        f"{kind}[{rows * width}]:uniform(-1,1,1)",
        f"{kind}[{width}]:uniform(-1,1,2)",
        f"{kind}[{rows * width}]",
        width,
        1e-5,
    ]

    def found(b):
        x, scale, result = (of_bfloat(array) if kind == "bf16" else wide(array) for array in b[:3])
        x = x.reshape(rows, width)
        wanted = x / np.sqrt((x * x).mean(axis=1) + 1e-5)[:, None] * scale
        return [(result.reshape(rows, width), wanted, (2**-8 if kind == "bf16" else 2**-10) * abs(wanted) + 1e-5)]

    return rows, args, found


@check("attention")
def attention(file):
    head = int(next(word for word in file.split("_") if word in ("64", "128")))
    causal, masked = "causal" in file or "masked" in file, "masked" in file
    m, _ = numbers(file)
    heads, length = 2, 256
    count = heads * length * head
    args = [f"f16[{count}]:uniform(-2,2,{seed})" for seed in (1, 2, 3)] + [f"f16[{count}]"]
    args += ([] if masked else [f"f32[{heads * length}]"]) + [length, f"{head**-0.5 / math.log(2):.7g}"]

    def found(b):
        q, k, v, out = (wide(array).reshape(heads, length, head) for array in b[:4])
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(head)
        if causal:
            scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
        weights = softened(scores)
        # Weights and scaled queries are rounded to 11 bits.
        faults = [(out, weights @ v, 2**-9 * (weights @ abs(v)) + 5e-4)]
        if not masked:
            faults.append((b[4].reshape(heads, length), np.log2(np.exp(scores).sum(axis=-1)), 5e-3))
        return faults

    return f"{length // m},{heads}", args, found


def pairs(kinds, count, wanted, tile=1, share=1e-6, extra=(), out=None, ranges=None):
    """A check of an elementwise kernel."""
    out = len(kinds) - 1 if out is None else out
    ranges = ranges or ["-3,3"] * len(kinds)
    args = [f"{kind}[{count}]:uniform({r},{i + 1})" for i, (kind, r) in enumerate(zip(kinds, ranges))]
    args += [count, *extra]

    def found(b):
        values = [of_bfloat(array) if kind == "bf16" else wide(array) for kind, array in zip(kinds, b)]
        exact = wanted(*values)
        return [(values[out], exact, share * abs(exact) + 1e-6)]

    return -(-count // tile), args, found


@check("add")
def add(file):
    return pairs(["f32"] * 3, 5000, lambda x, y, _: x + y, int(file.split("_")[1]))


@check("gelu_tanh")
def gelu_tanh(file):
    def wanted(x, _):
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    return pairs(["f16"] * 2, 5000, wanted, 2048, 2**-10)


@check("gelu")
def gelu(file):
    def wanted(x, _):
        return 0.5 * x * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))

    return pairs(["f16"] * 2, 5000, wanted, int(file.split("_")[1]), 2**-10)


@check("gated")
def gated(file):
    return pairs(["bf16"] * 3, 5000, lambda x, y, _: x * y / (1 + np.exp(-x)), 1024, 2**-8)


@check("adam")
def adam(file):
    # The buffers are those after the launch; that the weights moved by a step of the right size can be seen from them.
    count = 3000
    args = [f"f32[{count}]", f"f32[{count}]:uniform(-1,1,2)", f"f32[{count}]", f"f32[{count}]:uniform(0,1,4)"]

    def found(b):
        step = -0.001 * wide(b[2]) / (np.sqrt(wide(b[3])) + 1e-8)
        return [(b[2], 0.1 * wide(b[1]), 1e-6), (b[0], step, 1e-7 + 1e-5 * abs(step))]

    return 3, [*args, count, 0.001, 1e-8], found


@check("rotate")
def rotate(file):
    rows, heads, half = 4, 32, 64
    count = rows * heads * half * 2
    args = [
        f"f16[{count}]:uniform(-1,1,1)",
        f"f32[{rows * half}]:uniform(-1,1,2)",
        f"f32[{rows * half}]:uniform(-1,1,3)",
    ]

    def found(b):
        x, cosine, sine = wide(b[0]).reshape(rows, heads, 2, half), *(wide(b[i]).reshape(rows, 1, half) for i in (1, 2))
        first, second = x[:, :, 0], x[:, :, 1]
        wanted = np.stack([first * cosine - second * sine, second * cosine + first * sine], axis=2)
        return [(b[3].reshape(wanted.shape), wanted, 2**-10)]

    return rows, [*args, f"f16[{count}]", heads * half * 2], found


@check("quantize")
def quantize(file):
    rows, width = 3, 4096
    args = [f"f16[{rows * width}]:uniform(-1,1,1)", f"s8[{rows * width}]", f"f32[{rows}]", width]

    def found(b):
        x = wide(b[0]).reshape(rows, width)
        most = abs(x).max(axis=1)
        return [(b[1].reshape(rows, width), x * 127 / most[:, None], 0.501), (b[2], most / 127, 1e-7)]

    return rows, args, found


@check("dropout")
def dropout(file):
    count, seed, four = 4096, 1234, "four" in file
    args = [f"f32[{count}]:uniform(1,2,1)", f"f32[{count}]", count, 0.5, seed]

    def found(b):
        at = np.arange(count // 4 if four else count)
        zero = np.zeros(at.size, np.uint64)
        words = philox([at, zero, zero, zero], [np.full(at.size, seed), zero])
        words = [word.view(np.int32).astype(np.int64) for word in words[: 4 if four else 1]]
        drawn = [np.where(w < 0, -w - 1, w).astype(np.float32) * np.float32(4.6566127342e-10) for w in words]
        drawn = np.stack([part.reshape(-1, 512) for part in drawn], axis=1).ravel() if four else drawn[0]
        return [(b[1], np.where(drawn > 0.5, wide(b[0]) * 2, 0), 0)]

    return 2 if four else 4, args, found


@check("sum_rows")
def sum_rows(file):
    rows, width = 5, 4096
    args = [f"f32[{rows * width}]:uniform(-1,1,1)", f"f32[{rows}]", width]
    return rows, args, lambda b: [(b[1], wide(b[0]).reshape(rows, width).sum(axis=1), 1e-3)]


@check("sum_columns")
def sum_columns(file):
    rows, width = 512, 256
    args = [f"f32[{rows * width}]:uniform(-1,1,1)", f"f32[{width}]", width]
    return "2,2", args, lambda b: [(b[1], wide(b[0]).reshape(rows, width).sum(axis=0), 1e-3)]


@check("argmax")
def argmax(file):
    rows, width = 5, int(file.split("_")[1])
    args = [f"f32[{rows * width}]:uniform(-1,1,1)", f"s32[{rows}]", f"f32[{rows}]", width]

    def found(b):
        x = b[0].reshape(rows, width)
        return [(b[1], x.argmax(axis=1), 0), (b[2], x.max(axis=1), 0)]

    return rows, args, found


@check("cross_entropy")
def cross_entropy(file):
    rows, width = 3, 5008
    args = [f"f16[{rows * width}]:uniform(-3,3,1)", f"s64[{rows}]:uniform(0,{width - 1},2)", f"f32[{rows}]", width]

    def found(b):
        x = wide(b[0]).reshape(rows, width)
        return [(b[2], np.log(np.exp(x).sum(axis=1)) - x[np.arange(rows), b[1]], 1e-4)]

    return rows, args, found


@check("histogram")
def histogram(file):
    count = 16384
    atomic, many = "atomic" in file, "many" in file
    bins = 65536 if atomic else 256
    args = [f"s32[{count}]:uniform(0,{bins - 1},1)", f"s32[{bins}]"] + ([count] if atomic or many else [])
    return 1 if many else 16, args, lambda b: [(b[1], np.bincount(b[0], minlength=bins), 0)]


@check("cumsum")
def cumsum(file):
    rows, width = 3, int(file.split("_")[1])
    args = [f"s32[{rows * width}]:uniform(-1000,1000,1)", f"s32[{rows * width}]", width]
    return rows, args, lambda b: [(b[1].reshape(rows, width), np.cumsum(b[0].reshape(rows, width), axis=1), 0)]


@check("recurrence")
def recurrence(file):
    rows, width = 8, 512
    args = [f"f32[{rows * width}]:uniform(-1,1,{seed})" for seed in (1, 2)] + [f"f32[{rows * width}]", width]

    def found(b):
        slopes, offsets = (wide(array).reshape(rows, width) for array in b[:2])
        value, wanted = np.zeros(rows), np.zeros((rows, width))
        for i in range(width):
            value = value * slopes[:, i] + offsets[:, i]
            wanted[:, i] = value
        return [(b[2].reshape(rows, width), wanted, 1e-5)]

    return rows // 4, args, found


@check("sort_rows")
def sort_rows(file):
    rows = 3
    args = [f"s32[{rows * 512}]:uniform(-2147483648,2147483647,1)", f"s32[{rows * 512}]"]
    return rows, args, lambda b: [(b[1].reshape(rows, 512), np.sort(b[0].reshape(rows, 512), axis=1)[:, ::-1], 0)]


@check("transpose")
def transpose(file):
    kind, height, width = file.split("_")[1], 80, 144
    tile = int(file.split("_")[2])
    args = [f"{kind}[{height * width}]:uniform(-1,1,1)", f"{kind}[{height * width}]", height, width]
    grid = f"{-(-width // tile)},{-(-height // tile)}"
    return grid, args, lambda b: [(b[1].reshape(width, height), b[0].reshape(height, width).T, 0)]


@check("embed")
def embed(file):
    rows, height, width = 9, 50, 1008
    args = [
        f"f16[{height * width}]:uniform(-1,1,1)",
        f"s64[{rows}]:uniform(0,{height - 1},2)",
        f"f16[{rows * width}]",
        width,
    ]
    return f"{rows},1", args, lambda b: [(b[2].reshape(rows, width), b[0].reshape(height, width)[b[1]], 0)]


@check("gather_rows")
def gather_rows(file):
    rows, height, width = 16, 50, 208
    args = [f"f32[{height * width}]:uniform(-1,1,1)", f"s64[{rows}]:uniform(0,{height - 1},2)", f"f32[{rows}]", width]
    return rows // 8, args, lambda b: [(b[2], wide(b[0]).reshape(height, width)[b[1]].sum(axis=1), 1e-4)]


@check("vector_product")
def vector_product(file):
    n, k = 32, 2048
    args = [f"f16[{n * k}]:uniform(-1,1,1)", f"f16[{k}]:uniform(-1,1,2)", f"f32[{n}]", k]
    return n // numbers(file)[0], args, lambda b: [(b[2], wide(b[0]).reshape(n, k) @ wide(b[1]), 1e-3)]


@check("grouped_vectors")
def grouped_vectors(file):
    n, k, experts, batch = 16, 1024, 3, 4
    args = [f"f16[{experts * n * k}]:uniform(-1,1,1)", f"f16[{batch * k}]:uniform(-1,1,2)"]
    args += [f"s32[{batch}]:uniform(0,{experts - 1},3)", f"f32[{batch * n}]", n, k]

    def found(b):
        wanted = np.einsum("bnk,bk->bn", wide(b[0]).reshape(experts, n, k)[b[2]], wide(b[1]).reshape(batch, k))
        return [(b[3].reshape(batch, n), wanted, 1e-3)]

    return f"{n // 8},{batch}", args, found


@check("small_batch")
def small_batch(file):
    batch, tile = numbers(file)
    n, k = 2 * tile, 640
    args = [f"f16[{batch * k}]:uniform(-1,1,1)", f"f16[{n * k}]:uniform(-1,1,2)", f"f16[{batch * n}]", n, k]

    def found(b):
        wanted = wide(b[0]).reshape(batch, k) @ wide(b[1]).reshape(n, k).T
        return [(b[2].reshape(batch, n), wanted, 2**-10 * abs(wanted) + 1e-4)]

    return 2, args, found


def run(warplens, file, row, folder):
    """What is wrong with a kernel, or nothing."""
    make = next(CHECKS[prefix] for prefix in sorted(CHECKS, key=len, reverse=True) if file.startswith(prefix))
    grid, args, found = make(file)
    hidden = len(row["args"].split(";")) - len(args)
    if hidden not in (0, 1, 2):
        return f"{hidden} hidden arguments"
    command = [
        warplens,
        "run",
        HERE / row["input"],
        "--kernel",
        row["kernel"],
        "--grid",
        str(grid),
        "--block",
        row["block"],
    ]
    command += ["--shared", row["shared"] or "0", "-q", "--force"]
    for argument in args + ["none"] * hidden:
        command += ["--arg", str(argument)]
    kept = [i for i, argument in enumerate(args) if "[" in str(argument)]
    for i in kept:
        command += ["--save", f"{i}={folder / f'{i}.npy'}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return " ".join(done.stderr.split())[:300]
    buffers = {i: np.load(folder / f"{i}.npy") for i in kept}
    buffers = [buffers.get(i) for i in range(len(args))]
    for number, (given, wanted, bound) in enumerate(found(buffers)):
        error = abs(wide(np.asarray(given)) - wanted)
        wrong = ~(error <= bound)
        if wrong.any():
            return f"result {number}: {wrong.sum()} of {wrong.size} wrong, by up to {error.max():.3g}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warplens", type=pathlib.Path, required=True, help="the program")
    parser.add_argument("files", nargs="*", help="beginnings of names; all unless given")
    options = parser.parse_args()
    with (HERE / "launches.csv").open() as table:
        rows = {pathlib.Path(row["input"]).stem: row for row in csv.DictReader(table)}
    bad = 0
    for file, row in rows.items():
        if options.files and not file.startswith(tuple(options.files)):
            continue
        with tempfile.TemporaryDirectory() as folder:
            fault = run(options.warplens, file, row, pathlib.Path(folder))
        bad += bool(fault)
        print(f"{file}: {fault or 'right'}", flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
