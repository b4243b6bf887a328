#!/usr/bin/env python3
"""Programs of HeCBench under `warplens exec`: which pass their own checks, and how far predicted times are off.

    hecbench.py build REPOSITORY FOLDER [NAME...]   compiles programs of a clone with nvcc, `-cudart shared`
    hecbench.py check FOLDER [NAME...]              runs them with small arguments (checks.csv) to their own verdict
    hecbench.py times FOLDER [NAME...]              runs them with the measured arguments and `--sample`
    hecbench.py clock FOLDER                        prints the times that programs measure with `--clock virtual`, beside the report
    hecbench.py table FOLDER                        prints the tables of README.md from what the runs left

What `../programs.py` says of `WARPLENS`, `NVCC`, `ARCH`, `SECONDS`, `CODE` and `CONTROL` holds here.
"""

import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import programs  # noqa: E402
from programs import ARCH, NVCC, results, rows, run  # noqa: E402

GPU = "rtx3080@1440"
# Programs that time each of their kernels with `std::chrono`, with arguments for which a kernel takes longer than asking for it,
# and their kernels in the order in which they print times.
CLOCKS = {
    "entropy": ("256 256 100", "entropy entropy_opt"),
    "relu": ("1000000 100", "ReluGrad_impl1 ReluGrad_impl2 Relu_impl1 Relu_impl2"),
    "popcount": ("1000000 100", "pc1 pc2 pc3 pc4 pc5 pc6"),
    "complex": ("100000 100", "complex_float ref_complex_float complex_double ref_complex_double"),
}
UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}


# Errors in per cent from which on rows are listed.
LEAST = 25
# Measured kernels that are other code, or have other work, than those of the same name and shape here: why.
OTHERS = {
    ("assert", "perfKernel"): "was measured as an empty kernel: its loop of assertions was not compiled",
    ("adv", "advCubatureHex3D"): "was measured in single precision",
    ("md", "md"): "was measured in double precision",
    ("is", "create_seq_gpu_kernel"): "was measured with a larger class of the benchmark",
}


def measured():
    by_program = {}
    for row in rows(HERE / "measured-rtx3080.csv"):
        by_program.setdefault(row["program"], []).append(row)
    return by_program


def build(repository, folder, names):
    """Each program with the folders beside it that its files name."""
    for name in names or measured():
        source = folder / f"{name}-cuda"
        program = source / "main"
        if program.exists():
            continue
        wanted = [f"src/{name}-cuda"]
        while wanted:
            archive = subprocess.run(["git", "-C", repository, "archive", "HEAD", wanted.pop()], capture_output=True)
            if archive.returncode:
                continue
            subprocess.run(["tar", "x", "--strip-components=1", "-C", folder], input=archive.stdout, check=True)
            if source.exists():
                text = "".join(p.read_text(errors="replace") for p in source.iterdir() if p.is_file() and p.stat().st_size < 1 << 20)
                others = {other for other in re.findall(r"\.\./([\w.+-]+)", text) if not (folder / other).exists()}
                wanted += [f"src/{other}" for other in others if f"src/{other}" not in wanted]
        if not source.exists():
            print("not there", name, flush=True)
            continue
        # The measured ones divide and take powers in more operations than `-use_fast_math` makes of them.
        makefile = source / "Makefile"
        makefile.write_text(re.sub(r"--?use_fast_math\b", "", makefile.read_text()))
        with open(source / "build.log", "w") as log:
            make = ["make", f"ARCH={ARCH}", f"CC={NVCC} -cudart shared"]
            subprocess.run(make, cwd=source, stdout=log, stderr=log, timeout=600)
        print("built" if program.exists() else "not built", name, flush=True)


def check(folder, names):
    wanted = [row for row in rows(HERE / "checks.csv") if not names or row["program"] in names]
    programs.check(folder, GPU, [(row["program"], folder / f"{row['program']}-cuda", row["arguments"]) for row in wanted])


def times(folder, names):
    for name, of in measured().items():
        if (not names or name in names) and (folder / f"{name}-cuda/main").exists():
            source, flags = folder / f"{name}-cuda", ["--sample=100M"]
            code, _, seconds = run(folder, "times", GPU, name, source, of[0]["arguments"], flags)
            print(f"{name:26} {code:4} {seconds:6.1f} s", flush=True)


def clock(folder):
    """The times that programs print, each an average over launches between two readings of `std::chrono`, beside the report."""
    print("| program | arguments | kernel | printed, us | report, us | difference, % |\n|---|---|---|---:|---:|---:|")
    for name, (arguments, kernels) in CLOCKS.items():
        code, output, _ = run(folder, "clock", GPU, name, folder / f"{name}-cuda", arguments, ["--clock", "virtual"])
        printed = [float(time) * UNITS[unit] for time, unit in re.findall(r"time\b.*?([\d.]+) \((s|ms|us)\)", output)]
        report = json.loads((results(folder, "clock") / f"{name}.json").read_text())
        found = {base(kernel["kernel"]): kernel["times"][0]["time_us"] / kernel["calls"] for kernel in report["kernels"]}
        if code or sorted(found) != sorted(kernels.split()) or len(found) != len(printed):
            sys.exit(f"{name}: exit code {code}, {len(printed)} times, kernels {', '.join(found)}")
        for kernel, time in zip(kernels.split(), printed):
            difference = 100 * (time / found[kernel] - 1)
            print(f"| {name} | {arguments} | {kernel} | {time:.3f} | {found[kernel]:.3f} | {difference:+.2f} |", flush=True)


def base(kernel):
    """The name of a kernel without its arguments and where it was declared."""
    return kernel.split("(")[0].split("<")[0].split(" ")[-1].split("::")[-1]


def compared(folder):
    """Measured kernels with the predicted time of the first launch of the one with their name and shape, and how many of them have
    several instances of a template."""
    pairs, ambiguous = [], 0
    for name, of in measured().items():
        report = results(folder, "times") / f"{name}.json"
        if not report.exists():
            continue
        kernels = json.loads(report.read_text())["kernels"]
        for row in of:
            if (name, row["kernel"]) in OTHERS:
                continue
            shape = [[int(extent) for extent in row[key].split("x")] for key in ("grid", "block")]
            like = [k for k in kernels if base(k["kernel"]) == base(row["kernel"]) and [k["grid"], k["block"]] == shape]
            like = [k for k in like if k["times"][0]["first_us"]]
            if len(like) > 1 and (float(row["fp64_ops"]) or float(row["fp32_ops"])):
                is_double = float(row["fp64_ops"]) > float(row["fp32_ops"])
                like = [k for k in like if ("double" in k["kernel"]) == is_double] or like
            # What was measured are a program's first launches.
            if like:
                ambiguous += len(like) > 1
                time = min(like, key=lambda k: k["launched_before"])["times"][0]
                pairs.append((name, row["kernel"], time["first_us"], float(row["time_us"]), time["bound_by"]))
    return pairs, ambiguous


def summary(pairs):
    errors = [abs(predicted / time - 1) for _, _, predicted, time, _ in pairs]
    mean, median = statistics.mean(errors) * 100, statistics.median(errors) * 100
    return f"| {len(pairs)} | {len({name for name, *_ in pairs})} | {mean:.1f} | {median:.1f} |"


def table(folder):
    print("\n".join(programs.lists(programs.verdicts(results(folder, "checks")))) + "\n")
    pairs, ambiguous = compared(folder)
    text = ["| measured time | kernels | programs | mean error, % | median, % |", "|---|---:|---:|---:|---:|"]
    for least, most, words in [(0, 10, "below 10 us"), (10, 50, "10 to 50 us"), (50, 1e3, "50 us to 1 ms"), (1e3, 1e99, "above 1 ms")]:
        part = [pair for pair in pairs if least <= pair[3] < most]
        if part:
            text.append(f"| {words} {summary(part)}")
    text += [f"| all {summary(pairs)}", "", f"{ambiguous} of them are one of several instances: by their operations, or else the first.", ""]
    text += [f"Left out: `{kernel}` of `{name}` {why}." for (name, kernel), why in OTHERS.items()] + [""]
    text += [f"Rows that are {LEAST} % off or more:", ""]
    text += ["| program | kernel | predicted, us | measured, us | error, % | bound by |", "|---|---|---:|---:|---:|---|"]
    for name, kernel, predicted, time, bound in sorted(pairs, key=lambda pair: -abs(pair[2] / pair[3] - 1)):
        if abs(predicted / time - 1) * 100 < LEAST:
            break
        text.append(f"| {name} | {kernel} | {predicted:.1f} | {time:.1f} | {100 * (predicted / time - 1):+.1f} | {bound} |")
    print("\n".join(text))


def main():
    verb, *rest = sys.argv[1:] or [""]
    if verb == "build" and len(rest) >= 2:
        build(rest[0], Path(rest[1]).resolve(), rest[2:])
    elif verb in ("check", "times") and rest:
        (check if verb == "check" else times)(Path(rest[0]).resolve(), rest[1:])
    elif verb == "clock" and rest:
        clock(Path(rest[0]).resolve())
    elif verb == "table" and rest:
        table(Path(rest[0]).resolve())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
