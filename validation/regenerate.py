#!/usr/bin/env python3
"""Makes the PTX of the kernels in sgemm/ and textbook/ with the compilers of the time of the measurements.

Needs no GPU and no CUDA installation, but two libraries of the package index of Python:

    pip install --target OLD nvidia-cuda-nvrtc-cu11==11.8.*    the last one that knows the K40
    pip install --target NEW 'nvidia-cuda-nvrtc-cu12==12.3.*'
    validation/regenerate.py OLD NEW

Nothing runs it but people who have changed a kernel; the PTX is committed.
"""

import ctypes
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Nvrtc:
    """The compiler in a folder of packages."""

    def __init__(self, folder):
        libraries = pathlib.Path(folder, "nvidia/cuda_nvrtc/lib").glob("libnvrtc.so.*")
        self.library = ctypes.CDLL(str(next(libraries)))

    def text(self, program, name):
        """What the functions `nvrtcGet...Size` and `nvrtcGet...` give."""
        size = ctypes.c_size_t()
        getattr(self.library, f"nvrtcGet{name}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(self.library, f"nvrtcGet{name}")(program, buffer)
        return buffer.value.decode()

    def ptx(self, source, target):
        """PTX without comments and empty lines."""
        program = ctypes.c_void_p()
        text, name = source.read_text().encode(), source.name.encode()
        assert self.library.nvrtcCreateProgram(ctypes.byref(program), text, name, 0, None, None) == 0
        options = [f"--gpu-architecture=compute_{target}".encode(), b"--std=c++14"]
        array = (ctypes.c_char_p * len(options))(*options)
        if self.library.nvrtcCompileProgram(program, len(options), array):
            sys.exit(self.text(program, "ProgramLog"))
        lines = self.text(program, "PTX").splitlines()
        kept = (line for line in lines if line.strip() and not line.strip().startswith("//"))
        return "".join(f"{line}\n" for line in kept)


def main():
    old, new = map(Nvrtc, sys.argv[1:])
    for compiler, name, target in [(new, "sgemm", 86), (old, "textbook", 35)]:
        ptx = compiler.ptx(HERE / name / f"{name}.cu", target)
        (HERE / name / f"sm_{target}.ptx").write_text(ptx)


main()
