#!/usr/bin/env python3
"""Writes launches.csv: the launches of the micro-benchmarks, whose times are to be filled in.

    validation/microbenchmarks/tables.py

The estimates of cycles below only choose how often something is repeated, so that a launch takes some ten microseconds
to a few milliseconds. `steps` says how often what a row tells of happens between the two reads of the clock of a warp.
"""

import csv
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
GPU = "h100-sxm"
SMS = 132
ROWS = []


def row(file, what, kernel, grid, block, args, shared=0, steps=""):
    """A launch; `args` as `warplens` reads them."""
    text = ";".join(str(arg) for arg in args)
    ROWS.append([GPU, what, kernel, f"sm_90/{file}.ptx", grid, block, shared, text, "", steps])


def out(grid, block):
    """The buffer with two words for each warp."""
    return f"u64[{grid * ((block + 31) // 32) * 2}]"


def rounds(cycles, wanted):
    """How many rounds of so many cycles take about so many cycles."""
    return max(2, round(wanted / cycles))


# Instructions in chains: name, instructions a round, estimated cycles from one to the next, and of a multiprocessor for
# one warp instruction.
CHAINS = [
    ("iadd", 64, 4, 0.5), ("imul16", 64, 9, 0.75), ("imad16", 64, 9, 0.75), ("imul24", 16, 9, 1), ("imad24", 16, 9, 1),
    ("fadd", 64, 4, 0.25), ("fmul", 64, 4, 0.25), ("ffma", 64, 4, 0.25),
    ("dadd", 64, 8, 0.5), ("dmul", 64, 8, 0.5), ("dfma", 64, 8, 0.5),
    ("imad", 64, 4, 0.5), ("imad_wide", 64, 5, 0.5), ("lop3", 64, 4, 0.5), ("shf", 64, 4, 0.5), ("popc", 64, 12, 2),
    ("clz", 64, 17, 2), ("bfind", 64, 12, 2), ("brev_xor", 64, 17, 2), ("prmt", 64, 5, 0.5), ("iabs_sub", 64, 9, 1),
    ("imin", 64, 5, 0.5), ("imin_imax", 64, 10, 1), ("isetp_sel", 64, 17, 1), ("fsetp_sel", 64, 17, 1),
    ("fmnmx", 64, 5, 0.5), ("iadd64", 64, 9, 1), ("imul64", 64, 15, 2), ("imul_hi", 64, 6, 1), ("dp4a", 64, 5, 0.5),
    ("idiv_or", 16, 150, 20), ("udiv_or", 16, 120, 16), ("bfe", 64, 9, 1),
    ("hadd2", 64, 5, 0.25), ("hfma2", 64, 5, 0.25), ("hfma2_bf16", 64, 5, 0.25),
    ("div_full", 16, 45, 3), ("div_rn", 16, 60, 6), ("rcp_add", 64, 27, 2), ("rsqrt", 64, 23, 2), ("sqrt", 64, 23, 2),
    ("ex2", 64, 23, 2), ("lg2", 64, 23, 2), ("sin", 64, 27, 2), ("cos", 64, 27, 2), ("tanh", 64, 23, 2),
    ("rcp_rn", 16, 60, 6), ("sqrt_rn", 16, 60, 6), ("ddiv", 16, 200, 12), ("dsqrt", 16, 200, 12),
    ("cvt_s32", 64, 24, 4), ("cvt_f64", 64, 50, 8), ("cvt_f16", 64, 10, 2), ("cvt_s32_f64", 64, 50, 8),
    ("cvt_bf16", 64, 10, 2), ("shfl", 64, 24, 1), ("shfl_idx", 64, 24, 1), ("vote", 64, 16, 1), ("match", 16, 200, 32),
    ("redux_add", 64, 30, 2), ("redux_min", 64, 30, 2),
]
# Those whose throughput is measured with 4, 8, 16 and 32 warps; the others with 16.
OFTEN = {"iadd", "fadd", "ffma", "dfma", "imad", "lop3", "rsqrt", "hfma2", "shfl", "iadd64", "cvt_s32", "popc"}


def teg():
    for name, times, latency, cost in CHAINS:
        turns = rounds(times * latency, 30_000)
        row("teg", f"teg latency {name}", f"latency_{name}", 1, 32, [out(1, 32), 64, turns], steps=times * turns)
        for warps in [4, 8, 16, 32] if name in OFTEN else [16]:
            cycles = times * max(cost * warps, latency / 8)
            turns = rounds(cycles, 60_000)
            what = f"teg throughput {name} {warps} warps"
            args = [out(SMS, 32 * warps), 64, turns]
            row("teg", what, f"throughput_{name}", SMS, 32 * warps, args, steps=times * turns)
    row("teg", "teg clock reads", "additions_0", 1, 32, [out(1, 32), 1], steps=0)
    row("teg", "teg 21 additions", "additions_21", 1, 32, [out(1, 32), 1], steps=21)
    for name, latency in [("fadd", 4), ("dfma", 8), ("rsqrt", 23)]:
        for lanes in [1, 8, 16, 32]:
            turns = rounds(64 * latency, 30_000)
            what = f"teg masked {name} {lanes} lanes"
            row("teg", what, f"masked_{name}", 1, 32, [out(1, 32), 64, turns, lanes], steps=64 * turns)
    for warps in [1, 2, 4, 8, 16, 32]:
        turns = rounds(16 * 30, 40_000)
        args = [out(1, 32 * warps), f"u32[{32 * warps}]", turns]
        row("teg", f"teg barrier {warps} warps", "latency_barrier", 1, 32 * warps, args, steps=16 * turns)
    for name, latency in [("cta", 10), ("gpu", 600), ("system", 1000)]:
        for store in ["", "store_"]:
            turns = rounds(16 * latency, 60_000)
            what = f"teg {store}fence_{name}".replace("_", " ")
            args = [out(1, 32), "u32[32]", turns]
            row("teg", what, f"latency_{store}fence_{name}", 1, 32, args, steps=16 * turns)
    for name, strides in [
        ("ld_shared", [0, 4, 8, 16, 32, 64, 128]), ("ld_shared_64", [8, 16, 64, 128]),
        ("ld_shared_128", [16, 32, 128]), ("st_ld_shared", [4, 8, 128]), ("add_shared", [4, 64, 128]),
    ]:
        for stride in strides:
            turns = rounds(64 * max(30, stride // 4 * 2), 40_000)
            what = f"teg {name} {stride} bytes apart"
            row("teg", what, f"latency_{name}", 1, 32, [out(1, 32), stride, turns], steps=64 * turns)
    for lanes in [1, 8, 16]:
        for stride in [4, 128]:
            turns = rounds(64 * 30, 40_000)
            what = f"teg masked ld_shared {lanes} lanes {stride} bytes apart"
            row("teg", what, "masked_ld_shared", 1, 32, [out(1, 32), stride, turns, lanes], steps=64 * turns)
    for name in ["ldmatrix_x1", "ldmatrix_x2", "ldmatrix_x4"]:
        turns = rounds(64 * 33, 40_000)
        row("teg", f"teg latency {name}", f"latency_{name}", 1, 32, [out(1, 32), 0, turns], steps=64 * turns)
    for stride, size in [(0, 64), (64, 2048), (64, 32768), (256, 65536)]:
        turns = rounds(64 * 60, 80_000)
        what = f"teg ld_const {stride} bytes further in {size}"
        args = [out(1, 32), stride, size - 4, turns]
        row("teg", what, "latency_ld_const", 1, 32, args, steps=64 * turns)
    for name, latency in [("ld_global_l1", 35), ("ld_generic_l1", 40), ("ld_global_l2", 270), ("st_ld_global", 300)]:
        for spread in [0, 8, 32, 128]:
            turns = rounds(16 * latency, 60_000)
            what = f"teg {name} {spread} bytes apart"
            args = [out(1, 32), "u64[512]", spread, turns]
            row("teg", what, f"latency_{name}", 1, 32, args, steps=16 * turns)
    turns = rounds(16 * 35, 60_000)
    row("teg", "teg latency ld_local", "latency_ld_local", 1, 32, [out(1, 32), 3, turns], steps=16 * turns)
    for name, latency in [
        ("atom_shared_add", 60), ("atom_shared_add_f32", 100), ("atom_shared_exch", 60), ("atom_shared_cas", 60),
        ("red_shared_add", 20),
    ]:
        for spread in [0, 4, 128]:
            turns = rounds(16 * latency * (8 if spread == 0 else 1), 60_000)
            what = f"teg {name} " + (f"{spread} bytes apart" if spread else "same word")
            args = [out(1, 32), 1, spread, turns]
            row("teg", what, f"latency_{name}", 1, 32, args, steps=16 * turns)
    for name, latency in [("add", 700), ("add_f32", 700), ("exch", 700)]:
        for spread in [0, 4, 32, 128]:
            turns = rounds(16 * latency, 90_000)
            what = f"teg atom_global_{name} " + (f"{spread} bytes apart" if spread else "same word")
            args = [out(1, 32), ("f32" if name == "add_f32" else "u32") + "[1024]", 1, spread, turns]
            row("teg", what, f"latency_atom_global_{name}", 1, 32, args, steps=16 * turns)
    for spread in [0, 4, 128]:
        turns = rounds(16 * 40, 60_000)
        what = "teg red_global_add " + (f"{spread} bytes apart" if spread else "same word")
        row("teg", what, "latency_red_global_add", 1, 32, [out(1, 32), "u32[1024]", 1, spread, turns], steps=16 * turns)
    for warps in [1, 4, 16, 32]:
        turns = rounds(16 * 400, 80_000)
        args = [out(1, 32 * warps), f"u32[{4 * 32 * warps}]", turns]
        row("teg", f"teg cp_async {warps} warps", "latency_cp_async", 1, 32 * warps, args, steps=16 * turns)
    for name, latency, cost in [
        ("f16", 33, 2), ("bf16", 33, 2), ("tf32", 33, 4), ("s8", 33, 2), ("f64", 30, 4)
    ]:
        turns = rounds(16 * latency, 40_000)
        row("teg", f"teg latency mma_{name}", f"latency_mma_{name}", 1, 32, [out(1, 32), 1, turns], steps=16 * turns)
        for warps in [1, 2, 4, 8, 16]:
            turns = rounds(16 * max(latency / 4, cost * warps), 60_000)
            what = f"teg throughput mma_{name} {warps} warps"
            args = [out(SMS, 32 * warps), 1, turns]
            row("teg", what, f"throughput_mma_{name}", SMS, 32 * warps, args, steps=16 * turns)


def x_model():
    words = 1 << 25  # of 4 bytes: 128 MiB an array, more than the L2 cache holds
    waves = 4
    for warps in [1, 2, 4, 8, 16, 32, 48, 64]:
        # One block on a multiprocessor, or two of them; dynamic shared memory keeps others out.
        block, each, shared = (32 * warps, 1, 120_000) if warps <= 32 else (16 * warps, 2, 80_000)
        grid = SMS * each * waves
        for name, size, ilp in [("4", 1, 1), ("8", 2, 1), ("16", 4, 1), ("4_ilp2", 1, 2), ("4_ilp4", 1, 4)]:
            turns = words // size // ilp // (grid * block)
            if turns < 2:
                continue
            kind, buffer = ("f32", f"f32[{words}]")
            row("x_model", f"x copy {name} {warps} warps", f"copy_{name}", grid, block, [buffer, buffer, turns], shared, turns)
            if "ilp" not in name or name == "4_ilp4":
                args = [buffer, buffer, buffer, 3, turns]
                row("x_model", f"x triad {name} {warps} warps", f"triad_{name}", grid, block, args, shared, turns)
    for name, latency, cost in [("ffma", 4, 0.25), ("dfma", 8, 0.5), ("imad", 4, 0.5)]:
        for ilp in [1, 2, 4]:
            for warps in [1, 2, 4, 8, 12, 16, 32, 64] if name == "ffma" else [1, 4, 16, 32]:
                block, each = (32 * warps, 1) if warps <= 32 else (16 * warps, 2)
                turns = rounds(64 * max(latency / ilp, warps * cost), 60_000)
                what = f"x compute {name} ilp {ilp} {warps} warps"
                args = [out(SMS * each, block), 2, turns]
                row("x_model", what, f"compute_{name}_ilp{ilp}", SMS * each, block, args, steps=64 * turns)


KIB, MIB = 1 << 10, 1 << 20


def chips():
    for size in [4 * KIB, 16 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, 512 * KIB]:
        args = [out(1, 1024), f"u32[{size // 4}]", size - 1, 128, size, 64]
        row("chips", f"chip chase l1 {size // KIB} KiB", "chase_l1", 1, 1024, args, steps=1024)
    for size in [16 * KIB, 256 * KIB, MIB, 4 * MIB, 8 * MIB, 16 * MIB, 32 * MIB, 64 * MIB, 128 * MIB, 256 * MIB, 1024 * MIB]:
        strides = [128] + ([4224] if size >= 4 * MIB else []) + ([2 * MIB + 128] if size >= 256 * MIB else [])
        for stride in strides:
            args = [out(1, 1024), f"u32[{size // 4}]", size - 1, stride, min(size, 128 * MIB), 256]
            row("chips", f"chip chase l2 {size // MIB or size / MIB:g} MiB by {stride}", "chase_l2", 1, 1024, args, steps=4096)
    # Powers of two only: the mask keeps a set within its buffer.
    for level, size in [("l1", 16 * KIB), ("l1", 64 * KIB), ("l1", 128 * KIB), ("l1", 256 * KIB)]:
        for width in [4, 8, 16] if size == 64 * KIB else [16]:
            block = 1024
            turn = 8 * width * block
            args = [out(SMS, block), f"u32[{SMS * size // 4}]", size - 1, width, size, 0, turn & (size - 1), 100]
            row("chips", f"chip read {level} {width} bytes {size // KIB} KiB a block", f"read_{level}_{width}", SMS, block, args, steps=800)
    for size in [MIB, 4 * MIB, 16 * MIB, 32 * MIB, 64 * MIB, 256 * MIB]:
        for width in [4, 8, 16] if size in (16 * MIB, 256 * MIB) else [16]:
            block, grid = 512, SMS * 4
            start = 8 * width * block
            turns = max(16, 128 * MIB // (grid * start)) if size < 256 * MIB else 512 * MIB // (grid * start)
            args = [out(grid, block), f"u32[{size // 4}]", size - 1, width, 0, start, start * grid & (size - 1), turns]
            row("chips", f"chip read l2 {width} bytes {size // MIB} MiB", f"read_l2_{width}", grid, block, args, steps=8 * turns)
    for size in [16 * MIB, 256 * MIB]:
        block, grid = 512, SMS * 4
        start = 8 * 16 * block
        turns = 256 * MIB // (grid * start)
        args = [out(grid, block), f"u32[{size // 4}]", size - 1, 16, 0, start, start * grid & (size - 1), turns]
        row("chips", f"chip write 16 bytes {size // MIB} MiB", "write_16", grid, block, args, steps=8 * turns)
    for warps in [1, 2, 4, 8, 16, 32]:
        # Memory by so many warps of each multiprocessor, eight loads of 16 bytes each under way.
        block, start = 32 * warps, 8 * 16 * 32 * warps
        turns = min(256 * MIB // (SMS * start), 400)
        args = [out(SMS, block), f"u32[{256 * MIB // 4}]", 256 * MIB - 1, 16, 0, start, start * SMS, turns]
        row("chips", f"chip read dram {warps} warps", "read_l2_16", SMS, block, args, steps=8 * turns)
    for words in [1, 2, 4, 8, 16, 32]:
        block, width = 256, 4 * words
        size = 64 * KIB
        args = [out(SMS, block), f"u32[{SMS * size // 4}]", size - 1, width, size, 0, 8 * width * block & (size - 1), 64]
        row("chips", f"chip stride l1 {words} words", "read_l1_4", SMS, block, args, steps=512)
        for name, size in [("l2", 16 * MIB), ("dram", 512 * MIB)]:
            grid, start = SMS * 8, 8 * width * block
            turns = 16 if name == "l2" else max(8, 256 * MIB // (grid * start))
            args = [out(grid, block), f"u32[{size // 4}]", size - 1, width, 0, start, start * grid & (size - 1), turns]
            row("chips", f"chip stride {name} {words} words", "read_l2_4", grid, block, args, steps=8 * turns)
    for width in [4, 8, 16]:
        for ways in [1, 2, 4, 8, 16, 32]:
            if width * ways > 128:
                continue
            for kind in ["load", "store"]:
                if kind == "store" and ways not in (1, 4, 32):
                    continue
                turns = rounds(32 * 32 * ways * width / 4, 120_000)
                what = f"chip shared {kind} {width} bytes {width * ways} apart"
                args = [out(SMS, 1024), width * ways, turns]
                row("chips", what, f"shared_{kind}_{width}", SMS, 1024, args, steps=32 * turns)
    for warps in [1, 2, 4, 8, 16]:
        for width in [4, 16]:
            turns = rounds(32 * max(warps * width / 4, 8), 60_000)
            what = f"chip shared load {width} bytes by {warps} warps"
            args = [out(SMS, 32 * warps), width, turns]
            row("chips", what, f"shared_load_{width}", SMS, 32 * warps, args, steps=32 * turns)
    for kind in ["red_u32", "atom_u32", "red_f32", "atom_chain_u32"]:
        for places in [1, 2, 8, 32, 256, 4096, 65536]:
            if kind in ("red_f32", "atom_chain_u32") and places not in (1, 32, 65536):
                continue
            block, turns = 256, 1 if places < 32 else 4
            buffer = ("f32" if kind == "red_f32" else "u32") + f"[{places}]"
            args = [out(SMS, block), buffer, 1, places - 1, 4, turns]
            row("chips", f"chip {kind} on {places} places", f"atomics_{kind}", SMS, block, args, steps=16 * turns)
    for spread in [32, 128]:
        args = [out(SMS, 256), f"u32[{65536 * spread // 4}]", 1, 65535, spread, 4]
        row("chips", f"chip red_u32 {spread} bytes apart", "atomics_red_u32", SMS, 256, args, steps=64)
    for grid in [1, 132, 1056, 4224, 33792, 262144, 1_000_000]:
        for block in [32, 256, 1024]:
            if grid >= 262144 and block == 1024:
                continue
            row("chips", f"chip empty {grid} blocks of {block}", "empty", grid, block, [])
    for shared in [1024, 16384, 49152, 102400, 232448]:
        row("chips", f"chip empty with {shared} bytes", "empty", 33792 if shared < 232448 else 8448, 128, [], shared)
    # A block less, as many and a block more than one on each multiprocessor, and than all that fit.
    for block, each in [(1024, 2), (128, 16)]:
        slots = SMS * each
        for grid in sorted({1, SMS - 1, SMS, SMS + 1, slots - 1, slots, slots + 1, slots + SMS // 2, 2 * slots, 2 * slots + 1, 5 * slots + 7}):
            args = [out(grid, block), 1, 100]
            row("chips", f"chip tail {grid} blocks of {block}", "work", grid, block, args, steps=6400)
    for shared in [0, 32768, 49152, 65536, 114688, 232448]:
        args = [out(SMS * 12, 128), 1, 100]
        row("chips", f"chip work with {shared} bytes", "work", SMS * 12, 128, args, shared, 6400)
    for grid, block in [(264, 1024), (1056, 256), (300, 256), (528, 64)]:
        row("chips", f"chip places of {grid} blocks of {block}", "places", grid, block, [f"u64[{2 * grid}]", 1, 20])


def hong_kim():
    words = 1 << 27  # of 4 bytes

    def launch(number, scale, grid, block):
        form = "UC" if scale > 1 else "C"
        threads = grid * block
        args = [f"f32[{threads}]", f"f32[{words}]", words - 1, threads, scale, 0, 0, 1, 601]
        what = f"hong-kim Mb{number}_{form} {grid} blocks of {block}"
        row("hong_kim", what, f"mb{number}", grid, block, args, steps=601)

    for number in range(1, 8):
        for scale in [1, 32] if number > 1 else [1]:
            launch(number, scale, 4 * SMS, 256)
    for number in [2, 4, 7]:
        for block in [32, 128, 1024]:
            for scale in [1, 32]:
                launch(number, scale, SMS, block)


def thesis():
    loads = 400
    for grid, block in [(120, 256), (120, 512), (512, 120)]:
        # The last warp of a block that is no multiple of 32 threads begins where the next block does.
        warps = grid * (block // 32) + 1
        for pattern, step, size in [
            ("scalar_32_apart", 32, warps * loads * 32), ("scalar_64_apart", 32, warps * loads * 32),
            ("scalar_128_apart", 64, warps * loads * 64), ("scalar_32_merging", 32, grid * block + loads * 32),
            ("scalar_64_merging", 32, grid * block + loads * 32),
            ("vector_apart", 2, 4 * warps * loads * 2), ("vector_merging", 2, 4 * (warps * loads * 2 + block)),
        ]:
            args = ["f32[1]", f"f32[{size + 256}]:fill({step})", 1, 100]
            row("thesis", f"thesis {pattern} {grid} blocks of {block}", pattern, grid, block, args, steps=loads)
        row("thesis", f"thesis no_loads {grid} blocks of {block}", "no_loads", grid, block, ["f32[1]", 1, 100], steps=4000)


def luo_suda():
    identity = 0x3210
    names = [f"{name}_int_{kind}" for name in "add sub mul div min max and or xor".split() for kind in ["constant", "register"]]
    for name in ["without_int", *names, "neg_int", "not_int"]:
        args = [out(1, 32), "s32[32]:fill(3)", 0, identity, 625]
        row("luo_suda", f"luo-suda {name}", name, 1, 32, args, steps=10_000)
    names = [f"{name}_float_{kind}" for name in "add sub mul div min max".split() for kind in ["constant", "register"]]
    for name in ["without_float", *names, "neg_float"]:
        args = [out(1, 32), "f32[32]:fill(1.5)", 0, identity, 625]
        row("luo_suda", f"luo-suda {name}", name, 1, 32, args, steps=10_000)
    for name in ["without_memory", "load", "store"]:
        row("luo_suda", f"luo-suda {name}", name, 1, 32, [out(1, 32), "u64[32]", identity, 625], steps=10_000)
    words = 1 << 26
    for computations in [1, 4, 16, 64, 256]:
        for warps in [1, 2, 4, 8, 16, 32, 64]:
            block, each = (32 * warps, 1) if warps <= 32 else (16 * warps, 2)
            grid = SMS * each
            turns = 8192 // warps  # the same work by fewer warps takes more rounds
            args = [out(grid, block), f"u32[{words}]", words - 1, grid * block, 1, turns]
            what = f"luo-suda cpd {computations} computations {warps} warps"
            row("luo_suda", what, f"cpd_{computations}", grid, block, args, steps=turns)


def main():
    hong_kim()
    thesis()
    luo_suda()
    teg()
    x_model()
    chips()
    heading = ["gpu", "class", "kernel", "input", "grid", "block", "shared", "args", "measured_us", "steps"]
    with open(HERE / "launches.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heading)
        writer.writerows(ROWS)
    print(f"{len(ROWS)} launches")


main()
