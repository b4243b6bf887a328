#!/usr/bin/env python3
"""Writes THEME_KERNEL.toml for each kernel of sm_90*/THEME.ptx: 64 blocks of 256 threads, unless told otherwise here."""
import pathlib
import re

HERE = pathlib.Path(__file__).parent
TILES = 512 * 32
# Grid, block and buffers of a theme, or of one of its kernels.
SHAPES = {
    "mma_half": (64, 256, [f"u32[{8 * TILES}]", f"u32[{12 * TILES}]"]),
    "mma_byte": (64, 256, [f"u32[{4 * TILES}]", f"u32[{10 * TILES}]"]),
    "mma_integer": (64, 256, [f"u32[{4 * TILES}]", f"u32[{10 * TILES}]"]),
    "mma_sparse": (64, 256, [f"u32[{4 * TILES}]", f"u32[{13 * TILES}]"]),
    "mma_double": (32, 256, [f"u64[{2 * TILES}]", f"u64[{8 * TILES}]"]),
    # IN and OUT: unsigned integers of the width that the kernel stores first and last.
    "convert": (64, 256, [f"OUT[{TILES}]", f"IN[{2 * TILES}]"]),
    "approx": (1024, 256, ["OUT[262144]"]),
    **{f"approx_{name}_f64": (512, 256, ["u64[131072]"]) for name in ("rcp", "rsqrt", "rsqrt_ftz", "arguments")},
    **{
        f"approx_{name}_{kind}": (256, 256, ["OUT[65536]"])
        for name in ("ex2", "tanh")
        for kind in ("f16", "f16x2", "bf16", "bf16x2")
    },
    "wmma": (64, 256, [f"u32[{8 * TILES}]", f"u32[{18 * TILES}]"]),
    "wgmma": (128, 128, [f"u32[{8 * TILES}]", f"u32[{13 * TILES}]"]),
}


def main():
    for old in HERE.glob("*.toml"):
        old.unlink()
    for ptx in sorted(HERE.glob("sm_90*/*.ptx")):
        theme = ptx.stem
        for body in ptx.read_text().split(".entry ")[1:]:
            kernel = re.match(r"\w+", body)[0]
            grid, block, args = SHAPES.get(f"{theme}_{kernel}") or SHAPES[theme]
            stores = [kind[1:] for kind in re.findall(r"st\.global(?:\.v\d)?\.([bsuf]\d+)", body)]
            args = [arg.replace("IN", f"u{stores[0]}").replace("OUT", f"u{stores[-1]}") for arg in args]
            lines = [
                f'kernel = "{kernel}"',
                f'ptx = ["{ptx.parent.name}"]',
                f'source = "{theme}"',
                f"grid = [{grid}]",
                f"block = [{block}]",
                "args = [" + ", ".join(f'"{arg}"' for arg in args) + "]",
            ]
            (HERE / f"{theme}_{kernel}.toml").write_text("\n".join(lines) + "\n")


main()
