"""The compilers that the package index of Python has, each as a function from a kernel and a target to PTX."""

import ctypes
import importlib.metadata
import pathlib
import site
import subprocess
import sys
import tempfile

from case import HERE

REQUIREMENTS = HERE / "requirements.txt"


def package(path):
    """A path below the packages of NVIDIA."""
    for folder in [*site.getsitepackages(), site.getusersitepackages()]:
        found = pathlib.Path(folder, "nvidia", path)
        if found.exists():
            return found
    sys.exit(f"nvidia/{path} is missing: pip install -r {REQUIREMENTS}")


def plain(ptx):
    """PTX without comments and empty lines, which also say where the compiler ran."""
    lines = (line for line in ptx.splitlines() if line.strip() and not line.strip().startswith("//"))
    return "".join(f"{line}\n" for line in lines)


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


class Nvrtc:
    library = None

    @classmethod
    def ptx(cls, source, target):
        if cls.library is None:
            folder = package("cuda_nvrtc/lib")
            cls.library = ctypes.CDLL(str(next(folder.glob("libnvrtc.so.*"))))
        library, program = cls.library, ctypes.c_void_p()
        assert (
            library.nvrtcCreateProgram(ctypes.byref(program), source.read_bytes(), source.name.encode(), 0, None, None)
            == 0
        )
        folders = ("cuda_runtime", "cuda_nvcc", "cuda_cccl")
        includes = [f"--include-path={package(f'{folder}/include')}" for folder in folders]
        words = [f"--gpu-architecture={target.replace('sm_', 'compute_')}", "--std=c++17", *includes]
        words = [word.encode() for word in words]
        failed = library.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
        if failed:
            raise RuntimeError(cls.text(program, "ProgramLog"))
        return cls.text(program, "PTX")

    @classmethod
    def text(cls, program, name):
        size = ctypes.c_size_t()
        getattr(cls.library, f"nvrtcGet{name}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(cls.library, f"nvrtcGet{name}")(program, buffer)
        return buffer.value.decode()


def nvrtc(kernel, target):
    return Nvrtc.ptx(HERE / "nvrtc" / kernel.source, target)


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
