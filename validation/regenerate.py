#!/usr/bin/env python3
"""Makes the PTX of the kernels in sgemm/, textbook/ and calibration/ with the compilers of the time of the measurements.

Needs no GPU and no CUDA installation, but two libraries of the package index of Python:

    pip install --target OLD nvidia-cuda-nvrtc-cu11==11.8.*    the last one that knows the K40
    pip install --target NEW 'nvidia-cuda-nvrtc-cu12==12.3.*'
    validation/regenerate.py OLD NEW

Nothing runs it but people who have changed a kernel; the PTX is committed.
"""

import pathlib
import re
import sys

from nvrtc_library import Nvrtc, plain

HERE = pathlib.Path(__file__).resolve().parent


def main():
    old, new = (Nvrtc(pathlib.Path(folder, "nvidia/cuda_nvrtc/lib")) for folder in sys.argv[1:])
    kernels = [
        # The tutorial shows the lines of these.
        (new, "sgemm/sgemm.cu", "sm_86", ["--generate-line-info"]),
        (old, "textbook/textbook.cu", "sm_35", []),
        (old, "calibration/physical.cu", "sm_35", []),
    ]
    for compiler, source, target, options in kernels:
        ptx = plain(compiler.ptx(HERE / source, target, "--std=c++14", *options))
        # The compiler takes the folder in which it runs for that of the source.
        ptx = re.sub(r'(\.file\s+\d+ ")[^"]*/', r"\1", ptx)
        (HERE / source).with_name(f"{target}.ptx").write_text(ptx)


main()
