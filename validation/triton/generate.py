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
# Parameters that are a multiple of 16 in every launch, as pointers are; Triton looks at each argument when it is called.
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
        """A launch of `how`, whose PTX goes to `file`; of a number of bytes per block, scratch is made."""
        function, types, _, options = how
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

    f16 = functools.partial(add, "f16", "fp16")
    f16((64, 64, 32), 4, 1, [1024])
    f16((64, 64, 32), 4, 2, [1024])
    f16((64, 64, 32), 4, 3, [1024, 2048, 4096])
    f16((64, 64, 32), 4, 4, [1024])
    # Two warps, or 32 rows, are too few for the instructions of a warp group.
    f16((64, 64, 32), 2, 3, [2048])
    f16((32, 64, 64), 4, 3, [1024])
    f16((128, 128, 32), 4, 1, [2048])
    f16((128, 128, 32), 4, 2, [2048])
    f16((128, 128, 32), 4, 3, [2048, 4096])
    f16((128, 128, 32), 4, 4, [2048])
    f16((128, 128, 32), 8, 2, [4096])
    f16((128, 128, 64), 4, 2, [2048])
    f16((128, 128, 64), 4, 3, [4096])
    f16((128, 128, 64), 8, 1, [2048])
    f16((128, 128, 64), 8, 3, [2048, 4096])
    f16((128, 128, 64), 8, 4, [4096])
    f16((128, 256, 64), 8, 1, [4096])
    f16((128, 256, 64), 8, 2, [2048])
    f16((128, 256, 64), 8, 3, [1024, 2048, 4096])
    f16((128, 256, 64), 8, 4, [4096])
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


PARTS = [products]

if __name__ == "__main__":
    main()
