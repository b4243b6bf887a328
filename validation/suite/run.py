#!/usr/bin/env python3
"""Kernels that compilers made, executed by warplens, held against computations in NumPy.

    pip install -r validation/suite/requirements.txt
    validation/suite/run.py --warplens target/release/warplens [--kernel PATTERN] [--compiler NAME] [--target sm_XX]

It ends with 1 where a kernel is refused or leaves something wrong. `--small` takes the sizes of the tests,
`--predict` also predicts the time of each on a GPU of its target, and `--commit` writes the cases that the tests run.
"""

import argparse
import fnmatch
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import case
import committed
import compilers
import cases_kernels
import cases_numba
import cases_nvcc
import cases_nvrtc
import cases_triton

del cases_nvcc, cases_nvrtc, cases_triton, cases_numba, cases_kernels  # They have put their kernels into the list.


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warplens", type=pathlib.Path, default="target/release/warplens")
    parser.add_argument("--kernel", default="*")
    parser.add_argument("--compiler", default="*")
    parser.add_argument("--source", default="*", help="those of ../kernels/ have `*/kernels/*` and `*/examples/*`")
    parser.add_argument("--target", default="*")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--predict", action="store_true")
    parser.add_argument("--seconds", type=float, default=300, help="what a kernel may take")
    parser.add_argument(
        "--folder", type=pathlib.Path, help="where PTX and launch files are kept; a temporary one without it"
    )
    parser.add_argument("--commit", action="store_true")
    return parser.parse_args()


# The GPU that a time is predicted for.
GPUS = {
    "sm_60": "p100",
    "sm_70": "v100-sxm2",
    "sm_75": "t4",
    "sm_80": "a100-80",
    "sm_90": "h100-sxm",
    "sm_90a": "h100-sxm",
}


class Suite:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.ptx = {}

    def program(self, kernel, target):
        """The file with the kernel's PTX; sources with several kernels are compiled once."""
        key = (kernel.compiler, kernel.source, target)
        if key not in self.ptx:
            text = compilers.COMPILERS[kernel.compiler](kernel, target)
            source = "-".join(pathlib.Path(kernel.source).parts[-2:])
            path = self.folder / "ptx" / f"{kernel.compiler}-{source}-{target}.ptx"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            self.ptx[key] = path
        return self.ptx[key]

    def command(self, verb, program, launch, *words):
        return [self.options.warplens.resolve(), verb, program, "--launch", launch, "-q", *words]

    def run(self, kernel, target):
        """What became of a kernel: right, wrong, refused, or failed, with a word on why."""
        try:
            program = self.program(kernel, target)
        except RuntimeError as error:
            return "not compiled", str(error), 0, 0
        folder = self.folder / f"{kernel.compiler}-{kernel.name}-{target}"
        made = kernel.case(not self.options.small, target)
        keys = made.write(folder)
        outputs = [folder / f"out-{i}.npy" for i in range(len(keys))]
        for output in outputs:
            output.unlink(missing_ok=True)
        saves = [word for key, path in zip(keys, outputs) for word in ("--save", f"{key}={path}")]
        command = self.command(
            "run", program, folder / "launch.toml", "--force", "--format", "json", *saves, *made.flags
        )
        start = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self.options.seconds)
        except subprocess.TimeoutExpired:
            return "too slow", f"more than {self.options.seconds:.0f} s", 0, self.options.seconds
        seconds = time.monotonic() - start
        if done.returncode:
            kind = {4: "refused"}.get(done.returncode, "failed")
            return kind, first_line(done.stderr), 0, seconds
        document = json.loads(done.stdout)
        faults = []
        for expectation, key, path in zip(made.expectations, keys, outputs):
            fault = expectation.fault(np.load(path))
            if fault:
                faults.append(f"{key}: {fault}")
        printed = document.get("printed", "")
        if printed != made.stdout:
            faults.append(f"printed {printed[:200]!r} instead of {made.stdout[:200]!r}")
        instructions = document["emulation"]["thread_instructions"]
        return ("wrong" if faults else "right"), "; ".join(faults), instructions, seconds

    def predict(self, kernel, target):
        """The seconds that a prediction takes, or why there is none."""
        folder = self.folder / f"{kernel.compiler}-{kernel.name}-{target}"
        program = self.program(kernel, target)
        start = time.monotonic()
        command = self.command("predict", program, folder / "launch.toml", "--gpu", GPUS[target], "--format", "csv")
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self.options.seconds)
        except subprocess.TimeoutExpired:
            return f"more than {self.options.seconds:.0f} s"
        seconds = time.monotonic() - start
        return f"{seconds:.1f} s" if done.returncode == 0 else f"exit {done.returncode}: {first_line(done.stderr)}"


def first_line(text):
    lines = text.strip().splitlines() or [""]
    return " ".join(lines[:3])[:300]


def chosen(options):
    for kernel in case.KERNELS:
        pairs = ((kernel.name, options.kernel), (kernel.compiler, options.compiler), (kernel.source, options.source))
        if all(fnmatch.fnmatch(text, pattern) for text, pattern in pairs):
            for target in kernel.targets:
                if fnmatch.fnmatch(target, options.target):
                    yield kernel, target


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        suite = Suite(options, options.folder or pathlib.Path(temporary))
        if options.commit:
            return committed.write(suite)
        counts, worst = {}, 0
        head = ["compiler", "target", "feature", "kernel", "result", "thread instructions", "seconds"]
        row = "{:<8} {:<7} {:<22} {:<22} {:<9} {:>19} {:>8}".format
        print(row(*head))
        for kernel, target in chosen(options):
            result, why, instructions, seconds = suite.run(kernel, target)
            counts[result] = counts.get(result, 0) + 1
            line = row(
                kernel.compiler, target, kernel.feature, kernel.name, result, f"{instructions:,}", f"{seconds:.2f}"
            )
            if options.predict and result == "right":
                line += f"  predicted: {suite.predict(kernel, target)}"
            print(line + (f"  {why}" if why else ""), flush=True)
            worst |= result != "right"
        kernels = {(kernel.compiler, kernel.name) for kernel, _ in chosen(options)}
        print(f"{len(kernels)} kernels, " + ", ".join(f"{count} {result}" for result, count in sorted(counts.items())))
        return worst


if __name__ == "__main__":
    sys.exit(main())
