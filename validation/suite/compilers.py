"""The compilers that the package index of Python has, each as a function from a kernel and a target to PTX."""

import functools
import importlib.metadata
import pathlib
import site
import subprocess
import sys
import tempfile

from case import HERE

sys.path.append(str(HERE.parent))
from nvrtc_library import Nvrtc, plain  # noqa: E402

REQUIREMENTS = HERE / "requirements.txt"


def package(path):
    """A path below the packages of NVIDIA."""
    for folder in [*site.getsitepackages(), site.getusersitepackages()]:
        found = pathlib.Path(folder, "nvidia", path)
        if found.exists():
            return found
    sys.exit(f"nvidia/{path} is missing: pip install -r {REQUIREMENTS}")


def nvcc(kernel, target):
    root = package("cu13")
    source = HERE / "cuda" / kernel.source
    arch = target.replace("sm_", "compute_")
    command = [
        root / "bin/nvcc",
        "-ptx",
        f"-arch={arch}",
        "-std=c++17",
        "-diag-suppress",
        "20054",
        "-I",
        root / "include/cccl",
    ]
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "kernel.ptx")
        done = subprocess.run([*command, "-o", output, source], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return output.read_text()


@functools.cache
def library():
    return Nvrtc(package("cuda_nvrtc/lib"))


def nvrtc(kernel, target):
    folders = ("cuda_runtime", "cuda_nvcc", "cuda_cccl")
    includes = [f"--include-path={package(f'{folder}/include')}" for folder in folders]
    return library().ptx(HERE / "nvrtc" / kernel.source, target, "--std=c++17", *includes)


def triton(kernel, target):
    import kernels_triton

    return kernels_triton.compiled(kernel.source, target).asm["ptx"]


def numba(kernel, target):
    import kernels_numba

    return kernels_numba.compiled(kernel.source, target)


COMPILERS = {"nvcc": nvcc, "nvrtc": nvrtc, "triton": triton, "numba": numba}

VERSIONS = {"nvcc": "nvidia-cuda-nvcc", "nvrtc": "nvidia-cuda-nvrtc-cu12", "triton": "triton", "numba": "numba-cuda"}


def version(compiler):
    return f"{compiler} {importlib.metadata.version(VERSIONS[compiler])}"
