#!/usr/bin/env python3
"""Test suites of clients of the driver API under `warplens exec`: which tests pass, by module.

    clients.py numba FOLDER [PART...]               tests of numba-cuda as it is installed: modules of cudadrv, cudapy and others
    clients.py tinygrad REPOSITORY FOLDER [FILE...] backend tests of a clone of tinygrad, on its CUDA backend
    clients.py table FOLDER                         prints the tables of what the runs left: modules, and tests that fail

A module is a run of its own, so that one that dies takes no other with it; one that left its file is not run again.
`WARPLENS` names the program (default: warplens), `PYTHON` the Python that has the client, and pytest for tinygrad, `GPU` the
one that is seen (default: a100-80), `LIMIT` the most seconds of a module (default: 600).
"""

import os
import pkgutil
import re
import subprocess
import sys
import time
from pathlib import Path

WARPLENS = os.environ.get("WARPLENS", "warplens")
PYTHON = os.environ.get("PYTHON", sys.executable)
GPU = os.environ.get("GPU", "a100-80")
LIMIT = os.environ.get("LIMIT", "600")
PARTS = ("cudadrv", "cudapy", "core", "doc_examples", "nocuda", "nrt")
# Headings of tests that fail, as unittest and pytest write them.
FAILED = re.compile(r"^(?:(?:FAIL|ERROR): (\w+) \(.*|_{3,} (?:ERROR \w+ \w+ of )?([\w.\[\]-]+) _{3,})$", re.M)
COUNT = {"unittest": r"{}=(\d+)", "pytest": r"(\d+) {}"}


def run(name, test, folder, place, environment):
    """Runs tests of a module and keeps what they say in a file of its name."""
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / f"{name}.txt"
    if output.exists():
        return
    report = folder / f"{name}.report"
    command = ["timeout", "-k", "10", LIMIT, WARPLENS, "exec", "--gpu", GPU, "-o", str(report), "--force", "--", PYTHON, "-m", *test]
    start = time.time()
    with open(output, "w") as file:
        subprocess.run(command, cwd=place, env={**os.environ, **environment}, stdout=file, stderr=file)
    passed, failed, skipped, _ = outcome(output)
    print(f"{name:48} {passed:4} passed {failed:4} failed {skipped:4} skipped {time.time() - start:6.0f} s", flush=True)


def outcome(output):
    """How many tests passed, failed and were skipped, and those that failed with the last line of what is said of them."""
    text = output.read_text(errors="replace")
    ran = re.search(r"^Ran (\d+) tests? in .*\n\n(\w+.*)$", text, re.M)
    summary = ran[2] if ran else next(iter(re.findall(r"^=* ?(\d+ (?:passed|failed|skipped|error).* in [\d.]+s.*)$", text, re.M)[-1:]), None)
    if summary is None:
        return 0, 1, 0, [("the module", "it took too long, or died")]
    kind = "unittest" if ran else "pytest"

    def number(*words):
        return sum(int(found) for word in words for found in re.findall(rf"(?<!expected )\b{COUNT[kind].format(word)}", summary))

    every = list(reasons(text))
    # Tests that pytest would skip raise an exception elsewhere.
    said = [(name, reason) for name, reason in every if "Skipped:" not in reason]
    skipped = number("skipped") + (len(every) - len(said) if ran else 0)
    if not ran:
        return number("passed", "xfailed"), number("failed", "errors?"), skipped, said
    # A test with parts may fail several times.
    failed = len({name for name, _ in said})
    return int(ran[1]) - failed - skipped, failed, skipped, said


def reasons(text):
    found = list(FAILED.finditer(text))
    for heading, end in zip(found, [*(next_one.start() for next_one in found[1:]), len(text)]):
        said = re.findall(r"^(?:E\s+)?([\w.]*(?:Error|Exception|Failed|Timeout|Skipped)\b.*)$", text[heading.end() : end], re.M)
        yield heading[1] or heading[2], said[-1][:160] if said else ""


def numba(folder, wanted):
    import importlib

    for part in wanted or PARTS:
        base, _, one = part.partition(".")
        package = f"numba.cuda.tests.{base}"
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
            if module.name.startswith("test_") and one in ("", module.name):
                run(f"{base}.{module.name}", ["unittest", "-v", f"{package}.{module.name}"], folder, folder.parent, {})


def tinygrad(repository, folder, files):
    backend = sorted(path.relative_to(repository) for path in (repository / "test/backend").glob("test_*.py"))
    for file in [Path(file) for file in files] or [Path("test/test_tiny.py"), *backend]:
        run(f"tinygrad.{file.stem}", ["pytest", "-q", str(file)], folder, repository, {"DEV": "CUDA", "PYTHONPATH": "."})


def table(folder):
    print("| Module | Passed | Failed | Skipped by itself |\n|---|---:|---:|---:|")
    totals, bad = [0, 0, 0], []
    for output in sorted(folder.glob("*.txt")):
        *counts, said = outcome(output)
        totals = [total + count for total, count in zip(totals, counts)]
        bad += [(output.stem, *reason) for reason in dict(said).items()]
        print(f"| {output.stem} | {' | '.join(map(str, counts))} |")
    print(f"| all | {' | '.join(map(str, totals))} |\n")
    for module, test, reason in bad:
        print(f"- {module}, `{test}`: {re.sub(r'0x[0-9a-f]+', '0x..', reason)}")


def main():
    verb, *rest = sys.argv[1:] or [""]
    if verb == "numba" and rest:
        numba(Path(rest[0]).resolve(), rest[1:])
    elif verb == "tinygrad" and len(rest) >= 2:
        tinygrad(Path(rest[0]).resolve(), Path(rest[1]).resolve(), rest[2:])
    elif verb == "table" and rest:
        table(Path(rest[0]).resolve())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
