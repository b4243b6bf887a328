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
    "convert": (256, 256, ["OUT[65536]", "IN[INPUTS*65536]"]),
    "float_arith": (64, 256, [f"OUT[ROWS*{TILES}]", f"IN[3*{TILES}]"]),
    "half_arith": (64, 256, [f"OUT[ROWS*{TILES}]", f"IN[3*{TILES}]"]),
    "integer": (64, 256, [f"OUT[ROWS*{TILES}]", f"IN[4*{TILES}]"]),
    "video": (64, 256, [f"OUT[ROWS*{TILES}]", f"IN[3*{TILES}]"]),
    "warp": (32, 256, ["u32[12*8192]"]),
    "cluster_numbers": ("8, 4, 2", 64, ["u32[32*4096]"]),
    "cluster_memory": (32, 128, ["u32[9*4096]"]),
    "bulk": (32, 256, ["OUT[8192]", "OUT[2*8192]"]),
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
BY_ROWS = {"float_arith", "half_arith", "integer", "video"}


def textures():
    """Launches of the kernels of texture.cu, by name: kernel, grid, block and arguments."""
    out = "u32[4*4096]"
    found = {}
    for filter in ("point", "linear"):
        for address in ("clamp", "border", "wrap", "mirror"):
            for normalized in (False, True) if address in ("clamp", "border") else (True,):
                name = f"{filter}_{address}" + ("_normalized" if normalized else "")
                rest = f"filter={filter}, address={address}, normalized={str(normalized).lower()}"
                if address == "border":
                    rest += ", border=(0.5,-2,3,1)"

                def launch(kernel, texels, shape, extents):
                    scales = [1 / extent if normalized else 1 for extent in extents]
                    numbers = [str(float(number)) for number in [*extents, *scales]]
                    image = f"texture({texels}, {shape}, {rest})"
                    found[f"{kernel}_{name}"] = (kernel, 16, 256, [out, image, *numbers])

                launch("line", "f32[13]:uniform(-1,1,1)", "width=13, layout=array", [13])
                launch("plane", "f32[16*12]:uniform(-1,1,2)", "width=16, height=12", [16, 12])
                launch("volume", "f32[8*6*5]:uniform(-1,1,3)", "width=8, height=6, depth=5", [8, 6, 5])
                launch("layers", "f32[16*12*4]:uniform(-1,1,4)", "width=16, height=12, layers=4", [16, 12])
                launch("gather", "f32[16*12]:uniform(-1,1,5)", "width=16, height=12", [16, 12])
                if normalized:
                    for level_filter in ("point", "linear"):
                        shape = f"width=16, height=8, levels=5, level_filter={level_filter}"
                        launch("levels", "f32[171]:uniform(-1,1,6)", shape, [16, 8])
                        found[f"levels_{level_filter}_{name}"] = found.pop(f"levels_{name}")
    formats = {
        "u8": "u8[16*12]:uniform(0,255,7)",
        "s8": "s8[16*12]:uniform(-128,127,8)",
        "u16": "u16[16*12]:uniform(0,65535,9)",
        "s16x2": "s16[16*12*2]:uniform(-32768,32767,10)",
        "u8x4": "u8[16*12*4]:uniform(0,255,11)",
        "f16x4": "f16[16*12*4]:uniform(-2,2,12)",
        "f32x2": "f32[16*12*2]:uniform(-2,2,13)",
    }
    for kind, texels in formats.items():
        for filter in ("point", "linear"):
            read = "" if kind[0] == "f" else ", read=normalized"
            image = f"texture({texels}, width=16, height=12, format={kind}, filter={filter}{read})"
            found[f"plane_{kind}_{filter}"] = ("plane", 16, 256, [out, image, "16.0", "12.0", "1.0", "1.0"])
    for filter in ("point", "linear"):
        shape = "width=8, height=8, cube=true, normalized=true"
        image = f"texture(f32[8*8*6]:uniform(-1,1,14), {shape}, filter={filter})"
        found[f"cube_{filter}"] = ("cube", 16, 256, [out, image])
    found["linear"] = ("linear", 16, 256, [out, "texture(f32[100]:uniform(-1,1,15))", "100"])
    image = "surface(f32[16*12]:uniform(-1,1,16), width=16, height=12)"
    found["surface"] = ("surface", 16, 256, ["u32[2*4096]", image, "16", "12"])
    found["surface_stores"] = ("surface_stores", 1, 64, ["surface(u32[16*64], width=16, height=64)", "16"])
    return found


def main():
    for old in HERE.glob("*.toml"):
        old.unlink()
    for ptx in sorted(HERE.glob("sm_90*/*.ptx")):
        for name, (kernel, grid, block, args, rows) in launches(ptx).items():
            lines = [
                *rows,
                f'kernel = "{kernel}"',
                f'ptx = ["{ptx.parent.name}"]',
                f'source = "{ptx.stem}"',
                f"grid = [{grid}]",
                f"block = [{block}]",
                "args = [" + ", ".join(f'"{arg}"' for arg in args) + "]",
            ]
            (HERE / f"{ptx.stem}_{name}.toml").write_text("\n".join(lines) + "\n")


def launches(ptx):
    theme = ptx.stem
    if theme == "texture":
        return {name: (*launch, []) for name, launch in textures().items()}
    found = {}
    for body in ptx.read_text().split(".entry ")[1:]:
        kernel = re.match(r"\w+", body)[0]
        grid, block, args = SHAPES.get(f"{theme}_{kernel}") or SHAPES[theme]
        stores = [kind[1:] for kind in re.findall(r"st\.global(?:\.v\d)?\.([bsuf]\d+)", body)]
        assembly = re.findall(r"// begin inline asm\n\s*(.*?)\s*// end inline asm", body, re.S)
        inputs = len(stores) - 1
        words = {"INPUTS": str(inputs), "IN": f"u{stores[0]}", "OUT": f"u{stores[-1]}", "ROWS": str(len(assembly))}
        args = [re.sub("|".join(words), lambda word: words[word[0]], arg) for arg in args]
        rows = [f"# Row {row}: " + re.sub(r"%\w+", "_", text) for row, text in enumerate(assembly)]
        found[kernel] = (kernel, grid, block, args, rows if theme in BY_ROWS else [])
    return found


main()
