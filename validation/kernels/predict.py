#!/usr/bin/env python3
"""Predicts the cases on one GPU, and lists answers that break a law.

    validation/kernels/measure/build.sh sm_90
    validation/kernels/predict.py --warplens target/release/warplens --gpu h100-sxm --target sm_90

Laws: a kernel has a prediction; it takes no less than the speed of light; it takes longer at a larger size, and not
out of all proportion to its instructions; and of two kernels that do the same work the one with the better idea is
faster. The last need not hold on every GPU: what breaks it is a question, no error. It ends with 1 where a law is
broken.
"""

import argparse
import csv
import dataclasses
import fnmatch
import json
import pathlib
import subprocess
import sys
import time

import cases

# The second does the same work as the first with a better idea, at the middle and the large size.
FASTER = [
    ("product_by_columns", "matmul_naive"),
    ("matmul_naive", "matmul_tiled"),
    ("matmul_tiled", "product_register_tile"),
    ("product_register_tile", "product_vectors"),
    ("product_vectors", "product_two_buffers"),
    ("product_two_buffers", "product_wmma_shared"),
    ("product_wmma_direct", "product_wmma_shared"),
    ("product_wmma_shared", "product_mma_stages"),
    ("abt_conflict", "abt_conflict_free"),
    ("layout_aos", "layout_soa"),
    ("hopping_structures", "hopping_arrays"),
    ("transpose_direct", "transpose_padded"),
    ("transpose_conflicts", "transpose_padded"),
    ("scatter_words", "vector_add"),
]
# The share by which the better one may be slower: a tie is no answer that is wrong.
TIE = 0.02
# By what factor a time may grow beyond its instructions: what came from a cache comes from memory.
CACHES = 10


@dataclasses.dataclass
class Answer:
    seconds: float
    time_us: float = float("nan")
    light_us: float = float("nan")
    instructions: float = float("nan")
    limiter: str = ""
    error: str = ""


def answer(options, row):
    """The prediction of a row; its error says why there is none."""
    ptx = options.build / options.target / f"{row.theme}.ptx"
    command = [options.warplens, "predict", ptx, "-k", row.kernel, "--grid", row.grid, "--block", row.block]
    command += ["--shared", str(row.shared), *(word for arg in row.args for word in ("--arg", arg))]
    command += ["--gpu", options.gpu, "--model", f"{options.model},speed-of-light", "--format", "json", "-q"]
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds)
    except subprocess.TimeoutExpired:
        return Answer(options.seconds, error=f"more than {options.seconds:.0f} s")
    found = Answer(time.monotonic() - start)
    # Where a model refuses, the document says why.
    if not done.stdout:
        found.error = " ".join(done.stderr.split())[:300]
        return found
    for prediction in json.loads(done.stdout)["predictions"]:
        if prediction["time_us"] is None:
            found.error = f"{prediction['model']} refuses: {prediction['refused']['reason']}"
        elif prediction["model"] == "speed-of-light":
            found.light_us = prediction["time_us"]
        else:
            found.time_us, found.limiter = prediction["time_us"], prediction["limiter"]
            found.instructions = prediction["quantities"].get("warp_instructions", found.instructions)
    return found


def broken(answers):
    """Sentences on the laws that answers break; answers by kernel and size."""
    for (kernel, size), found in answers.items():
        if found.error:
            yield f"{kernel} {size}: no prediction: {found.error}"
        elif not found.light_us > 0:
            yield f"{kernel} {size}: no speed of light"
        elif found.time_us < found.light_us * (1 - 1e-9):
            yield f"{kernel} {size}: {found.time_us:.3f} us is below the speed of light, {found.light_us:.3f} us"
    for kernel in dict.fromkeys(kernel for kernel, _ in answers):
        sizes = [size for size in cases.SIZES if (kernel, size) in answers]
        for less, more in zip(sizes, sizes[1:]):
            a, b = answers[kernel, less], answers[kernel, more]
            growth, work = b.time_us / a.time_us, b.instructions / a.instructions
            if growth < 1 - TIE:
                yield f"{kernel}: {more} takes {b.time_us:.3f} us, less than {less} with {a.time_us:.3f} us"
            elif growth > CACHES * work:
                text = f"takes {growth:.1f} times as long as {less}, with {work:.1f} times the instructions"
                yield f"{kernel}: {more} {text}"
    for worse, better in FASTER:
        for size in cases.SIZES[1:]:
            if (worse, size) in answers and (better, size) in answers:
                a, b = answers[worse, size].time_us, answers[better, size].time_us
                if b > a * (1 + TIE):
                    yield f"{better} {size} takes {b:.3f} us, {worse} only {a:.3f} us"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warplens", type=pathlib.Path, default="target/release/warplens")
    parser.add_argument("--gpu", default="h100-sxm")
    parser.add_argument("--target", default="sm_90", help="which PTX is taken")
    parser.add_argument("--model", default="teg")
    parser.add_argument("--kernel", default="*")
    parser.add_argument("--sizes", default="small,middle")
    parser.add_argument("--seconds", type=float, default=300, help="what a prediction may take")
    parser.add_argument("--build", type=pathlib.Path, default=cases.HERE / "measure/build")
    parser.add_argument("--csv", type=pathlib.Path, help="where the answers go as a table")
    options = parser.parse_args()
    answers, began = {}, time.monotonic()
    row_of = "{:<24} {:<7} {:>12} {:>12} {:>14} {:>8}  {}".format
    print(row_of("kernel", "size", "time us", "light us", "warp instr.", "seconds", "bound by"))
    for row in cases.rows():
        chosen = fnmatch.fnmatch(row.kernel, options.kernel) and row.size in options.sizes.split(",")
        if not chosen or row.target > options.target:
            continue
        found = answers[row.kernel, row.size] = answer(options, row)
        numbers = f"{found.time_us:.3f}", f"{found.light_us:.3f}", f"{found.instructions:,.0f}", f"{found.seconds:.2f}"
        print(row_of(row.kernel, row.size, *numbers, found.error or found.limiter), flush=True)
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["kernel", "size", *(field.name for field in dataclasses.fields(Answer))])
            writer.writerows([*key, *dataclasses.astuple(found)] for key, found in answers.items())
    faults = list(broken(answers))
    print(f"\n{len(answers)} predictions in {time.monotonic() - began:.0f} s, {len(faults)} broken laws")
    print("".join(f"  {fault}\n" for fault in faults), end="")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
