#!/usr/bin/env python3
"""Makes the PTX of the kernels in sgemm/, textbook/ and calibration/ with the compilers of the time of the measurements.

Needs no GPU and no CUDA installation, but two libraries of the package index of Python:

    pip install --target OLD nvidia-cuda-nvrtc-cu11==11.8.*    the last one that knows the K40
    pip install --target NEW 'nvidia-cuda-nvrtc-cu12==12.3.*'
    validation/regenerate.py OLD NEW NVCC

NVCC is nvcc 13.0, for which sgemm/public.py says where it is to be had: the measurements on the RTX A6000 are of code by
nvcc, which joins loads that NVRTC leaves single.

Nothing runs it but people who have changed a kernel; the PTX is committed.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

from nvrtc_library import Nvrtc, plain

HERE = pathlib.Path(__file__).resolve().parent
# The calibration takes kernels of both folders.
INCLUDED = [f"-I{HERE / folder}" for folder in ("calibration", "microbenchmarks")]


def main():
    *libraries, nvcc = sys.argv[1:]
    old, new = (Nvrtc(pathlib.Path(folder, "nvidia/cuda_nvrtc/lib")) for folder in libraries)
    kernels = [
        # The tutorial shows the lines of these.
        (new, "sgemm/sgemm.cu", "sm_86", ["--std=c++14", "--generate-line-info"]),
        (old, "textbook/textbook.cu", "sm_35", ["--std=c++14"]),
        (old, "calibration/kernels.cu", "sm_35", ["--std=c++17", *INCLUDED]),
    ]
    for compiler, source, target, options in kernels:
        write(source, f"{target}.ptx", compiler.ptx(HERE / source, target, *options))
    with tempfile.NamedTemporaryFile(suffix=".ptx") as out:
        source = HERE / "sgemm/sgemm.cu"
        subprocess.run([nvcc, "-std=c++14", "-arch=sm_86", "-lineinfo", "-ptx", source, "-o", out.name], check=True)
        write("sgemm/sgemm.cu", "sm_86_nvcc.ptx", pathlib.Path(out.name).read_text())


def write(source, name, ptx):
    """PTX beside its source, which it names without the folder in which the compiler ran."""
    (HERE / source).with_name(name).write_text(re.sub(r'(\.file\s+\d+ ")[^"]*/', r"\1", plain(ptx)))


main()
