#!/usr/bin/env python3
"""Programs of HeCBench under `warplens exec`: which pass their own checks, and how far predicted times are off.

    hecbench.py build REPOSITORY FOLDER [NAME...]   compiles programs of a clone with nvcc, `-cudart shared`
    hecbench.py check FOLDER [NAME...]              runs them with small arguments (checks.csv) to their own verdict
    hecbench.py times FOLDER [NAME...]              runs them with the measured arguments and `--sample`
    hecbench.py table FOLDER                        prints the tables of README.md from what the runs left

`WARPLENS` names the program (default: warplens), `NVCC` the compiler, `ARCH` the target (default: sm_80), `SECONDS` the most time of
a run, `CODE` what is executed (default: generated; `machine` leaves its files in folders of its own). `CONTROL=1` leaves
all launches out, so that programs whose checks are worth something fail.
"""

import csv
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
WARPLENS = os.environ.get("WARPLENS", "warplens")
NVCC = os.environ.get("NVCC", "nvcc")
SECONDS = os.environ.get("SECONDS", "120")
ARCH = os.environ.get("ARCH", "sm_80")
CODE = os.environ.get("CODE", "generated")
CONTROL = ["--leave-out-launches"] if os.environ.get("CONTROL") else []
GPU = "rtx3080@1440"
GOOD = re.compile(r"\bpass(ed)?\b|\bsuccess|\bcorrect\b|\bverified\b|errors?\s*:\s*0\b|\bOK\b", re.I)
NONE = re.compile(r"failures: 0\b.*|number of errors\s*[:=]\s*0\b", re.I)
BAD = re.compile(r"\bfail|mismatch|incorrect|not equal|\bwrong\b|is different|error at|cuda error", re.I)


def rows(name):
    with open(HERE / name, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def measured():
    programs = {}
    for row in rows("measured-rtx3080.csv"):
        programs.setdefault(row["program"], []).append(row)
    return programs


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
        # The measured ones divide and take powers in more operations than `-use_fast_math` makes of them.
        makefile = source / "Makefile"
        makefile.write_text(makefile.read_text().replace("-use_fast_math", ""))
        with open(source / "build.log", "w") as log:
            make = ["make", f"ARCH={ARCH}", f"CC={NVCC} -cudart shared"]
            subprocess.run(make, cwd=source, stdout=log, stderr=log, timeout=600)
        print("built" if program.exists() else "not built", name, flush=True)


def results(folder, kind):
    """Where runs of a kind leave their files."""
    kind += "-control" if CONTROL else ""
    return folder / (kind if CODE == "generated" else f"{kind}-{CODE}")


def run(folder, name, arguments, flags, kind):
    """Runs a program; returns its exit code, its output and the report."""
    source, out = folder / f"{name}-cuda", results(folder, kind)
    out.mkdir(exist_ok=True)
    report, output = out / f"{name}.json", out / f"{name}.txt"
    command = ["timeout", "-k", "10", SECONDS, WARPLENS, "exec", "--gpu", GPU, "--code", CODE, "--force", *flags]
    command += ["--format", "json", "-o", str(report), "--", "./main", *shlex.split(arguments)]
    start = time.time()
    with open(output, "w") as file:
        code = subprocess.run(command, cwd=source, stdin=subprocess.DEVNULL, stdout=file, stderr=file).returncode
    return code, output.read_text(errors="replace"), time.time() - start


def check(folder, names):
    verdicts = []
    for row in rows("checks.csv"):
        name = row["program"]
        if names and name not in names:
            continue
        code, output, seconds = run(folder, name, row["arguments"], CONTROL, "checks")
        output = NONE.sub("passed", output)
        good, bad = GOOD.search(output), BAD.search(output)
        verdict = "stopped" if code == 124 else "failed" if code or bad else "passed" if good else "no verdict"
        verdicts.append((name, row["arguments"], verdict, code))
        print(f"{name:26} {verdict:10} {seconds:6.1f} s", flush=True)
    with open(results(folder, "checks").with_suffix(".tsv"), "a") as file:
        file.writelines("\t".join(map(str, verdict)) + "\n" for verdict in verdicts)


def times(folder, names):
    for name, of in measured().items():
        if (not names or name in names) and (folder / f"{name}-cuda/main").exists():
            code, _, seconds = run(folder, name, of[0]["arguments"], ["--sample=100M"], "times")
            print(f"{name:26} {code:4} {seconds:6.1f} s", flush=True)


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


def verdicts(folder):
    """The last verdict of each program, by verdict."""
    last = {}
    for line in results(folder, "checks").with_suffix(".tsv").read_text().splitlines():
        name, _, verdict, _ = line.split("\t")
        last[name] = verdict
    words = {
        "passed": "pass their own check",
        "no verdict": "end well and check nothing",
        "failed": "say that they failed, or end with an error",
        "stopped": "took longer than the limit",
    }
    for verdict, meaning in words.items():
        names = sorted(name for name, of in last.items() if of == verdict)
        print(f"- {len(names)} {meaning}: {', '.join(names)}.")
    print()


def table(folder):
    verdicts(folder)
    pairs, ambiguous = compared(folder)
    text = ["| measured time | kernels | programs | mean error, % | median, % |", "|---|---:|---:|---:|---:|"]
    for least, most, words in [(0, 10, "below 10 us"), (10, 50, "10 to 50 us"), (50, 1e3, "50 us to 1 ms"), (1e3, 1e99, "above 1 ms")]:
        part = [pair for pair in pairs if least <= pair[3] < most]
        if part:
            text.append(f"| {words} {summary(part)}")
    text += [f"| all {summary(pairs)}", "", f"{ambiguous} of them are one of several instances: by their operations, or else the first.", ""]
    text += ["| program | kernel | predicted, us | measured, us | error, % | bound by |", "|---|---|---:|---:|---:|---|"]
    for name, kernel, predicted, time, bound in sorted(pairs, key=lambda pair: -abs(pair[2] / pair[3] - 1)):
        text.append(f"| {name} | {kernel} | {predicted:.1f} | {time:.1f} | {100 * (predicted / time - 1):+.1f} | {bound} |")
    print("\n".join(text))


def main():
    verb, *rest = sys.argv[1:] or [""]
    if verb == "build" and len(rest) >= 2:
        build(rest[0], Path(rest[1]).resolve(), rest[2:])
    elif verb in ("check", "times") and rest:
        (check if verb == "check" else times)(Path(rest[0]).resolve(), rest[1:])
    elif verb == "table" and rest:
        table(Path(rest[0]).resolve())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
