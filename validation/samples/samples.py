#!/usr/bin/env python3
"""NVIDIA's CUDA samples under `warplens exec`: which pass their own checks.

    samples.py build SAMPLES FOLDER [NAME...]  compiles programs of a clone with nvcc
    samples.py check FOLDER [NAME...]          runs them with the arguments of programs.csv to their own verdict
    CONTROL=1 samples.py check FOLDER          the same where no launch is executed
    samples.py table FOLDER                    prints the list of README.md from what the two left

Programs are linked with `-cudart shared`, or, as programs.csv says, with the library of `LIBRARY` (default:
libwarplens_cudart13.a). `GPU` is the one that they see (default: a100-80).
What `../programs.py` says of `WARPLENS`, `NVCC`, `ARCH`, `SECONDS`, `CODE` and `CONTROL` holds here.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import programs  # noqa: E402
from programs import ARCH, NVCC, rows  # noqa: E402

GPU = os.environ.get("GPU", "a100-80")
LIBRARY = os.environ.get("LIBRARY", "libwarplens_cudart13.a")
# Exit code of samples that the GPU cannot run.
WAIVED = 2
SOURCES = (".cu", ".cpp", ".c")


def wanted(names):
    return [row for row in rows(HERE / "programs.csv") if not names or row["program"] in names]


def copy(repository, paths, to):
    """Writes files of a clone's last commit; those whose content the clone lacks are left out."""
    listed = subprocess.run(["git", "-C", repository, "ls-tree", "-r", "HEAD", *paths], capture_output=True, text=True, check=True)
    for line in listed.stdout.splitlines():
        (_, kind, content), path = line.split("\t")[0].split(), line.split("\t")[1]
        file = to / path
        if kind != "blob" or file.exists():
            continue
        shown = subprocess.run(["git", "-C", repository, "cat-file", "blob", content], capture_output=True)
        if shown.returncode == 0:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(shown.stdout)


def kernels(source):
    """Files of kernels that a sample loads when it runs, with the files that they are compiled to."""
    made = source / "CMakeLists.txt"
    text = made.read_text() if made.exists() else ""
    outputs = re.findall(r"/([\w.]+\.(?:fatbin|ptx))\"", text)
    inputs = re.findall(r"CUDA_KERNEL_SOURCE\S* \"\$\{CMAKE_CURRENT_SOURCE_DIR\}/([\w.]+)\"", text)
    return list(zip(inputs, outputs))


def compile_one(source, row, include):
    """Compiles all files of a folder that are no kernels to be loaded, or those that the table names."""
    loaded = kernels(source)
    with open(source / "build.log", "w") as log:
        nvcc = [*NVCC.split(), f"-arch={ARCH}", "-std=c++17", "-O2", *(f"-I{path}" for path in include)]
        for kernel, made in loaded:
            kind = "-ptx" if made.endswith(".ptx") else "-fatbin"
            subprocess.run([*nvcc, kind, "-o", made, kernel], cwd=source, stdout=log, stderr=log)
        files = row["files"].split() or sorted(
            str(path.relative_to(source))
            for place in (source, source / "src")
            if place.is_dir()
            for path in place.iterdir()
            if path.suffix in SOURCES and path.name not in {kernel for kernel, _ in loaded}
        )
        link = ["-cudart", "none", LIBRARY] if row["link"] == "static" else ["-cudart", "shared"]
        command = [*nvcc, *row["flags"].split(), "-o", "main", *files, *link, "-lpthread", "-ldl"]
        return subprocess.run(command, cwd=source, stdout=log, stderr=log).returncode == 0


def build(samples, folder, names):
    for row in wanted(names):
        source = folder / row["folder"]
        if not (source / "main").exists():
            copy(samples, [row["folder"], "Common"], folder)
            compile_one(source, row, [folder / "Common", source / "inc"])
        print("built" if (source / "main").exists() else "not built", row["program"], flush=True)


def check(folder, names):
    of = [row for row in wanted(names) if (folder / row["folder"] / "main").exists()]
    programs.check(folder, GPU, [(row["program"], folder / row["folder"], row["arguments"]) for row in of], WAIVED)


def table(folder):
    """Samples often check without a word when all is well: what counts is their exit code, and that it is another where no
    launch is executed."""
    last = programs.verdicts(programs.results(folder, "checks"))
    control = programs.verdicts(programs.results(folder, "checks-control"))
    for name, said in last.items():
        if said in ("passed", "no verdict"):
            last[name] = "passed" if control.get(name) == "failed" else "no verdict"
    print("\n".join(programs.lists(last)))


def main():
    verb, *rest = sys.argv[1:] or [""]
    if verb == "build" and len(rest) >= 2:
        build(rest[0], Path(rest[1]).resolve(), rest[2:])
    elif verb == "check" and rest:
        check(Path(rest[0]).resolve(), rest[1:])
    elif verb == "table" and rest:
        table(Path(rest[0]).resolve())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
