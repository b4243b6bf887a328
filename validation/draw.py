#!/usr/bin/env python3
"""Draws rows of published tables and says which of them may be looked at while something is chosen.

    validation/draw.py FOLDER

FOLDER holds the tables as they were published (measured/README.md names their origins). Written are the tables of
measured/ that have a column `set`. Nothing runs it but people who add a table: who draws again spends the held-out rows.

The rule: of each table, rows are drawn by SEED alone; the first half of those that are drawn is for training, the other
half held out. Rows to which a machine file was fitted already are for training, whatever was drawn.
"""

import csv
import pathlib
import random
import sys

SEED = 20261122
HERE = pathlib.Path(__file__).resolve().parent / "measured"


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write(name, columns, rows):
    with open(HERE / name, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def draw(rows, count=None, is_fitted=lambda row: False):
    """Some of the rows in their old order, each with its set."""
    drawn = random.Random(SEED).sample(range(len(rows)), count or len(rows))
    drawn.sort(key=lambda at: not is_fitted(rows[at]))
    half = len(drawn) // 2
    sets = {at: "training" if place < half else "held-out" for place, at in enumerate(drawn)}
    return [{**rows[at], "set": sets[at]} for at in sorted(sets)]


def number(text):
    value = float(text)
    return int(value) if value == int(value) else value


CONVOLUTION = {
    "BLOCK_SIZE_X": "block_x",
    "BLOCK_SIZE_Y": "block_y",
    "TILE_SIZE_X": "tile_x",
    "TILE_SIZE_Y": "tile_y",
    "PADDING": "padding",
    "READ_ONLY": "read_only",
    "regs": "registers",
    "smem_static_B": "shared_bytes",
    "local_B": "local_bytes",
    "time_us": "time_us",
    "smsp__inst_executed.sum": "instructions",
    "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum": "thread_fp32",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "global_loads",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "shared_load_wavefronts",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "shared_store_wavefronts",
    "lts__t_sectors_op_read.sum": "l2_read_sectors",
    "lts__t_sectors_op_write.sum": "l2_write_sectors",
    "dram__sectors_read.sum": "dram_read_sectors",
    "dram__sectors_write.sum": "dram_write_sectors",
    "smsp__issue_active.avg.pct_of_peak_sustained_active": "issue_percent",
    "smsp__cycles_active.avg.pct_of_peak_sustained_elapsed": "active_percent",
}


def convolution(folder):
    rows = draw(read(folder / "ktt_convolution_rtx2080ti.csv"), 120)
    renamed = [{new: number(row[old]) for old, new in CONVOLUTION.items()} | {"set": row["set"]} for row in rows]
    write("convolution-rtx2080ti.csv", [*CONVOLUTION.values(), "set"], renamed)


LAUNCH = ["kernel", "gpu", "measured_us", "input", "grid", "block", "registers", "args", "class", "set", "instead_of"]

FIRST_LINE = 2


def sgemm(folder):
    """Each step is a change of the one before."""
    rows = []
    n = 4096
    matrix = f"f32[{n * n}]"
    for place, row in enumerate(draw(read(folder / "sgemm_ladder_a6000.csv"))):
        rows.append({
            "kernel": f"step{row['kernel']}",
            "gpu": "a6000",
            "measured_us": row["time_us"],
            "input": "../sgemm/sm_86.ptx",
            "grid": row["grid"].replace("x", ","),
            "block": row["block"].replace("x", ","),
            "args": ";".join(map(str, [n, n, n, "0.5", matrix, matrix, "3.0", matrix])),
            "class": "steps of a matrix product",
            "set": row["set"],
            "instead_of": FIRST_LINE + place - 1 if place else "",
        })
    write("sgemm-a6000.csv", LAUNCH, rows)


# What a kernel does better than others that do the same work in as many threads.
BETTER = {
    "sum_coalesced": ["sum_uncoalesced"],
    "product_shared": ["product_global", "product_global_uncoalesced", "product_shared_uncoalesced"],
}


def textbook(folder):
    """A better kernel is a change of another where both were launched alike.

    The registers that were recorded are those of another compiler's code. Ours is of the PTX of a later one, for which
    they may be too few, and as many threads are resident with its own.
    """
    rows = []
    for row in draw(read(folder / "textbook_kernels_k40.csv"), 60):
        n, block = int(row["size"]), row["block"].removesuffix("x1")
        threads = int(block.split("x")[0])
        square, vector = f"f32[{n * n}]", f"f32[{n}]"
        of_square = [square, square, square, n]
        kernel, arguments = {
            "matMul_gpu": ("product_global", [*of_square, threads]),
            "matMul_gpu_uncoalesced": ("product_global_uncoalesced", [*of_square, threads]),
            "matMul_gpu_sharedmem": (f"product_shared{threads}", of_square),
            "matMul_gpu_sharedmem_uncoalesced": (f"product_shared_uncoalesced{threads}", of_square),
            "matrix_sum_coalesced": ("sum_coalesced", of_square),
            "matrix_sum_normal": ("sum_uncoalesced", of_square),
            "dotProd": (f"dot{threads}", [vector, vector, f"f32[{-(-n // threads)}]", n]),
            "vectorAdd": ("add", [vector, vector, vector, n]),
            # The numbers were -1 but for two of them: zeros go the same way, and take no memory.
            "subSeqMax": ("greatest_sum", [f"s32[{n}]", f"s32[{32 * 128 * 5}]", n // 32 // 128, n // 32]),
        }[row["app"]]
        rows.append({
            "kernel": kernel,
            "gpu": "k40@745",
            "measured_us": number(row["time_us"]),
            "input": "../textbook/sm_35.ptx",
            "grid": row["grid"].removesuffix("x1").replace("x", ","),
            "block": block.replace("x", ","),
            "args": ";".join(map(str, arguments)),
            "class": "textbook kernels",
            "set": row["set"],
        })
    for row in rows:
        worse = BETTER.get(row["kernel"].rstrip("0123456789"), [])
        alike = (
            line
            for line, other in enumerate(rows, FIRST_LINE)
            if (other["grid"], other["block"]) == (row["grid"], row["block"])
            and other["kernel"].rstrip("0123456789") in worse
        )
        row["instead_of"] = next(alike, "")
    write("textbook-k40.csv", LAUNCH, rows)


def with_sets(name, is_fitted):
    """A table that lies here already."""
    rows = read(HERE / name)
    write(name, [*(column for column in rows[0] if column != "set"), "set"], draw(rows, is_fitted=is_fitted))


def main():
    folder = pathlib.Path(sys.argv[1])
    convolution(folder)
    sgemm(folder)
    textbook(folder)
    with_sets("coulomb-rtx2080ti.csv", lambda row: False)
    # The triad at most warps is the achieved bandwidth of the machine files; the turnaround of CTAs comes from `read`.
    with_sets(
        "stream-occupancy.csv",
        lambda row: row["kernel"] == "triad" and row["resident_warps"] == "64"
        or row["kernel"] == "read" and row["gpu"] == "v100",
    )


main()
