"""What suites of public programs share: a program under `warplens exec`, its own verdict, and lists of verdicts.

`WARPLENS` names the program (default: warplens), `NVCC` the compiler, `ARCH` the target (default: sm_80), `SECONDS` the most time of
a run, `CODE` what is executed (default: generated; `machine` leaves its files in folders of its own). `CONTROL=1` leaves
all launches out, so that programs whose checks are worth something fail.
"""

import csv
import os
import re
import shlex
import subprocess
import time

WARPLENS = os.environ.get("WARPLENS", "warplens")
NVCC = os.environ.get("NVCC", "nvcc")
SECONDS = os.environ.get("SECONDS", "120")
ARCH = os.environ.get("ARCH", "sm_80")
CODE = os.environ.get("CODE", "generated")
CONTROL = ["--leave-out-launches"] if os.environ.get("CONTROL") else []
GOOD = re.compile(r"\bpass(ed)?\b|\bsuccess|\bcorrect\b|\bverified\b|errors?\s*:\s*0\b|\bOK\b", re.I)
NONE = re.compile(r"failures: 0\b.*|\b0 failures\b|number of errors\s*[:=]\s*0\b|failed as expected, CUDA error|assertion failures", re.I)
BAD = re.compile(r"\bfail|mismatch|incorrect|not equal|\bwrong\b|is different|error at|cuda error", re.I)
WORDS = {
    "passed": "pass their own check",
    "no verdict": "end well and check nothing",
    "failed": "say that they failed, or end with an error",
    "waived": "say that the GPU lacks what they need",
    "stopped": "took longer than the limit",
}


def rows(path):
    """Rows of a table, whose first lines may be comments."""
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def results(folder, kind):
    """Where runs of a kind leave their files."""
    kind += "-control" if CONTROL else ""
    return folder / (kind if CODE == "generated" else f"{kind}-{CODE}")


def run(folder, kind, gpu, name, source, arguments, flags):
    """Runs `main` of a folder; returns its exit code, its output with the time, and leaves the report."""
    out = results(folder, kind)
    out.mkdir(exist_ok=True)
    report, output = out / f"{name}.json", out / f"{name}.txt"
    command = ["timeout", "-k", "10", SECONDS, WARPLENS, "exec", "--gpu", gpu, "--code", CODE, "--force", *flags]
    command += ["--format", "json", "-o", str(report), "--", "./main", *shlex.split(arguments)]
    start = time.time()
    with open(output, "w") as file:
        code = subprocess.run(command, cwd=source, stdin=subprocess.DEVNULL, stdout=file, stderr=file).returncode
    return code, output.read_text(errors="replace"), time.time() - start


def verdict(code, output, waived=None):
    """What a program says of itself; `waived` is the exit code with which those of a suite say that they cannot run."""
    own = "\n".join(line for line in output.splitlines() if not line.startswith("warplens: "))
    output = NONE.sub("passed", own)
    good, bad = GOOD.search(output), BAD.search(output)
    if code == 124:
        return "stopped"
    if code == waived:
        return "waived"
    return "failed" if code or bad else "passed" if good else "no verdict"


def check(folder, gpu, programs, waived=None):
    """Runs programs (name, folder, arguments) to their own verdict, and keeps the verdicts."""
    verdicts = []
    for name, source, arguments in programs:
        code, output, seconds = run(folder, "checks", gpu, name, source, arguments, CONTROL)
        said = verdict(code, output, waived)
        verdicts.append((name, arguments, said, code))
        print(f"{name:30} {said:10} {seconds:6.1f} s", flush=True)
    with open(results(folder, "checks").with_suffix(".tsv"), "a") as file:
        file.writelines("\t".join(map(str, verdict)) + "\n" for verdict in verdicts)


def verdicts(of):
    """The last verdict of each program, by the folder of the runs."""
    last = {}
    for line in of.with_suffix(".tsv").read_text().splitlines():
        name, _, said, _ = line.split("\t")
        last[name] = said
    return last


def lists(last):
    """Programs by their verdicts, as lines of a page."""
    by = {said: sorted(name for name, of in last.items() if of == said) for said in WORDS}
    return [f"- {len(names)} {WORDS[said]}: {', '.join(names)}." for said, names in by.items() if names]
