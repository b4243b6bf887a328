"""The compiler NVRTC, out of a package of the Python index: it needs no GPU and no CUDA installation."""

import ctypes
import pathlib


class Nvrtc:
    """The compiler in a folder with its library."""

    def __init__(self, folder):
        self.library = ctypes.CDLL(str(next(pathlib.Path(folder).glob("libnvrtc.so.*"))))

    def ptx(self, source, target, *options):
        """PTX of a file for a target such as `sm_86`."""
        program = ctypes.c_void_p()
        text, name = source.read_bytes(), source.name.encode()
        assert self.library.nvrtcCreateProgram(ctypes.byref(program), text, name, 0, None, None) == 0
        words = [f"--gpu-architecture={target.replace('sm_', 'compute_')}", *options]
        array = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
        if self.library.nvrtcCompileProgram(program, len(words), array):
            raise RuntimeError(self.text(program, "ProgramLog"))
        return self.text(program, "PTX")

    def text(self, program, name):
        """What the functions `nvrtcGet...Size` and `nvrtcGet...` give."""
        size = ctypes.c_size_t()
        getattr(self.library, f"nvrtcGet{name}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(self.library, f"nvrtcGet{name}")(program, buffer)
        return buffer.value.decode()


def plain(ptx):
    """PTX without comments and empty lines, which also say where the compiler ran."""
    lines = (line for line in ptx.splitlines() if line.strip() and not line.strip().startswith("//"))
    return "".join(f"{line}\n" for line in lines)
