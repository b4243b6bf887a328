#!/usr/bin/env python3
"""Makes the PTX of the micro-benchmarks with nvcc 13.0, which is found by NVCC or on the path.

    NVCC=/usr/local/cuda/bin/nvcc validation/microbenchmarks/regenerate.py

Nothing runs it but people who have changed a kernel; the PTX is committed.
"""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from nvrtc_library import plain  # noqa: E402


def main():
    compiler = os.environ.get("NVCC", "nvcc")
    for source in sorted(HERE.glob("*.cu")):
        target = HERE / "sm_90" / f"{source.stem}.ptx"
        target.parent.mkdir(exist_ok=True)
        command = [compiler, "-std=c++17", "-arch=compute_90", "--ptx", "-o", target, source]
        subprocess.run(command, check=True)
        target.write_text(plain(target.read_text()))


main()
