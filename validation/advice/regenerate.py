#!/usr/bin/env python3
"""Makes the PTX of the pairs with NVRTC, with the lines of the sources.

Needs no GPU and no CUDA installation, but a library of the package index of Python:

    pip install --target NVRTC 'nvidia-cuda-nvrtc-cu12==12.9.*'
    validation/advice/regenerate.py NVRTC

Nothing runs it but people who have changed a kernel; the PTX is committed.
"""

import ctypes
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main():
    library = next(pathlib.Path(sys.argv[1], "nvidia/cuda_nvrtc/lib").glob("libnvrtc.so.*"))
    nvrtc = ctypes.CDLL(str(library))

    def text(program, name):
        """What the functions `nvrtcGet...Size` and `nvrtcGet...` give."""
        size = ctypes.c_size_t()
        getattr(nvrtc, f"nvrtcGet{name}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{name}")(program, buffer)
        return buffer.value.decode()

    for source in sorted(HERE.glob("*.cu")):
        program = ctypes.c_void_p()
        name = source.name.encode()
        assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.read_bytes(), name, 0, None, None) == 0
        options = [b"--gpu-architecture=compute_80", b"--std=c++17", b"-lineinfo"]
        if nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
            sys.exit(text(program, "ProgramLog"))
        # The file is called by its name: where it lies is nobody's business.
        lines = text(program, "PTX").replace(f"{pathlib.Path.cwd()}/", "").splitlines()
        kept = (line for line in lines if line.strip() and not line.strip().startswith("//"))
        source.with_suffix(".ptx").write_text("".join(f"{line}\n" for line in kept))


main()
