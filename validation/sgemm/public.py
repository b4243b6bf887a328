#!/usr/bin/env python3
"""Makes tables for `warplens validate` of the very kernels that were measured on the RTX A6000.

The kernels in sgemm.cu are our own; the times in ../measured/sgemm-a6000.csv are those of the public source
siboehm/SGEMM_CUDA, which is not copied here. This compiles a clone of it outside the repository:

    git clone https://github.com/siboehm/SGEMM_CUDA CLONE
    validation/sgemm/public.py CLONE OUT [NVCC]
    warplens validate OUT/generated.csv OUT/machine.csv

OUT/generated.csv names the PTX, OUT/machine.csv the machine code. ../sgemm.md has what came out. NVCC is the
compiler, `nvcc` where it is not given; of the package index of Python one has it, which needs neither a GPU nor a CUDA
installation, but a C++ compiler:

    pip install 'nvidia-cuda-nvcc==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-nvvm==13.0.*' \\
        'nvidia-cuda-runtime==13.0.*' nvidia-cuda-cccl

NVRTC of CUDA 11 and 12 does not make the code that was measured: of steps 8 and 10 it leaves loads single that nvcc
joins.
"""

import csv
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

# The function of each step, with the sizes of tiles that the public runner chooses for the A6000.
STEPS = {
    "step1": "sgemm_naive",
    "step2": "sgemm_global_mem_coalesce<32>",
    "step3": "sgemm_shared_mem_block<32>",
    "step4": "sgemm1DBlocktiling<64, 64, 8, 8>",
    "step5": "sgemm2DBlocktiling<128, 128, 8, 8, 8>",
    "step6": "sgemmVectorize<128, 128, 8, 8, 8>",
    "step7": "sgemmResolveBankConflicts<128, 128, 8, 8, 8>",
    "step8": "sgemmResolveBankExtraCol<128, 128, 8, 8, 8>",
    "step9": "sgemmAutotuned<128, 128, 16, 8, 8>",
    "step10": "sgemmWarptiling<128, 128, 16, 64, 64, 4, 8, 4, 128>",
    "step11": "sgemmDoubleBuffering<128, 256, 16, 128, 32, 1, 8, 8, 256>",
}

# Columns of the table of our own kernels that the tables here take over.
OWN = HERE.parent / "measured/sgemm-a6000.csv"


def main():
    clone, out, *nvcc = sys.argv[1:]
    out = pathlib.Path(out)
    # The source names a header of a library that its kernels do not need.
    (out / "stand_in").mkdir(parents=True, exist_ok=True)
    (out / "stand_in/cublas_v2.h").touch()
    source = out / "public.cu"
    source.write_text(text_of(pathlib.Path(clone)))
    compiler = [*(nvcc or ["nvcc"]), "-std=c++17", "-O3", "-arch=sm_86", "-I", out / "stand_in", source]
    for kind in ("ptx", "cubin"):
        subprocess.run([*compiler, f"-{kind}", "-o", out / f"public.{kind}"], check=True)
    names = re.findall(r"\.entry (\w+)", (out / "public.ptx").read_text())
    write(out / "generated.csv", "public.ptx", names)
    write(out / "machine.csv", "public.cubin", names)


def text_of(clone):
    """Includes of all steps, and each instantiated as it was launched."""
    parts = []
    for number in range(1, 12):
        path = next((clone / "src/kernels").glob(f"{number}_*.cuh"))
        parts.append(f'#include "{path.resolve()}"')
    for step, function in STEPS.items():
        operand = "const float *" if step in ("step2", "step3", "step4", "step5") else "float *"
        if "<" in function:
            shape = f"int, int, int, float, {operand}, {operand}, float, float *"
            parts.append(f"template __global__ void {function}({shape});")
    return "\n".join(parts) + "\n"


def write(path, code, names):
    """The rows of our own kernels with the public ones in their place."""
    with OWN.open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        function = STEPS[row["kernel"]].partition("<")[0]
        row["kernel"] = next(name for name in names if re.match(rf"_Z\d+{function}(I|i)", name))
        row["input"] = code
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


main()
