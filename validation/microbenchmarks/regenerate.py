#!/usr/bin/env python3
"""Makes the PTX of the micro-benchmarks with nvcc 13.0, which is found by NVCC or on the path.

    NVCC=/usr/local/cuda/bin/nvcc validation/microbenchmarks/regenerate.py [TARGET...]

A target is `sm_90`, which is committed, or any other from `sm_75`.

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
    for target in sys.argv[1:] or ["sm_90"]:
        for source in sorted(HERE.glob("*.cu")):
            ptx = HERE / target / f"{source.stem}.ptx"
            ptx.parent.mkdir(exist_ok=True)
            architecture = target.replace("sm_", "compute_")
            command = [compiler, "-std=c++17", f"-arch={architecture}", "--ptx", "-o", ptx, source]
            subprocess.run(command, check=True)
            ptx.write_text(plain(ptx.read_text()))


main()
