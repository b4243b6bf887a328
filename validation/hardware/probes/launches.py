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
    # IN and OUT: unsigned integers of the width that the kernel stores first and last; ROWS: its instructions.
    "convert": (64, 256, [f"OUT[{TILES}]", f"IN[{2 * TILES}]"]),
    "float_arith": (64, 256, [f"OUT[ROWS*{TILES}]", f"IN[3*{TILES}]"]),
    "half_arith": (64, 256, [f"OUT[ROWS*{TILES}]", f"IN[3*{TILES}]"]),
    "integer": (64, 256, [f"OUT[ROWS*{TILES}]", f"IN[4*{TILES}]"]),
    "video": (64, 256, [f"OUT[ROWS*{TILES}]", f"IN[3*{TILES}]"]),
    "warp": (32, 256, ["u32[12*8192]"]),
    "atomics": (32, 256, ["OUT[3*8192]", "OUT[3*8192]", "OUT[8192]"]),
    **{f"atomics_{name}_b128": (32, 256, ["u64[2*8192]", "u64[2*8192]"]) for name in ("cas", "exch")},
    **{
        f"atomics_v4_{name}": (32, 256, ["u32[4*8192]", "u32[8*8192]", "u32[8*8192]"])
        for name in ("f32", "f16x2", "f16x2_min", "bf16x2", "bf16x2_max")
    },
    **{f"atomics_red_{name}": (32, 256, ["OUT[8192]"]) for name in ("f32", "f64", "f16x2", "bf16")},
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
# Themes whose results come row by row, in the order of the instructions.
ROWS = {"integer", "video"}


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
            assembly = re.findall(r"// begin inline asm\n\s*(.*?)\s*// end inline asm", body, re.S)
            args = [arg.replace("ROWS", str(len(assembly))) for arg in args]
            rows = [re.sub(r"%\w+", "_", text) for text in assembly]
            lines = [f"# Row {row}: {text}" for row, text in enumerate(rows)] if "arith" in theme or theme in ROWS else []
            lines += [
                f'kernel = "{kernel}"',
                f'ptx = ["{ptx.parent.name}"]',
                f'source = "{theme}"',
                f"grid = [{grid}]",
                f"block = [{block}]",
                "args = [" + ", ".join(f'"{arg}"' for arg in args) + "]",
            ]
            (HERE / f"{theme}_{kernel}.toml").write_text("\n".join(lines) + "\n")


main()
