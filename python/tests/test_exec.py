"""A program that calls CUDA's driver, run from Python without a GPU; needs the libraries that come with the command."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT
from test_parity import COMMAND, timeless

import warplens as wl

LIBRARIES = pathlib.Path(os.environ.get("WARPLENS_LIBRARIES") or (COMMAND and pathlib.Path(COMMAND).parent) or "none")

PROGRAM = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *args):
    code = getattr(cuda, name)(*args)
    assert code == 0, (name, code)
device, context = ctypes.c_int(), ctypes.c_void_p()
module, function, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
call("cuInit", 0)
call("cuDeviceGet", ctypes.byref(device), 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
call("cuCtxSetCurrent", context)
text = open("examples/vector_add/ptx/sm_80.ptx", "rb").read() + b"\\0"
call("cuModuleLoadData", ctypes.byref(module), text)
call("cuModuleGetFunction", ctypes.byref(function), module, b"vector_add")
call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4096))
n = ctypes.c_int(1024)
arguments = (ctypes.c_void_p * 4)(*(ctypes.addressof(of) for of in (memory, memory, memory, n)))
call("cuLaunchKernel", function, 4, 1, 1, 256, 1, 1, 0, None, arguments, None)
call("cuCtxSynchronize")
print("computed")
raise SystemExit(7)
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    if not (LIBRARIES / "libwarplens_cudart13.so").exists():
        pytest.skip("the libraries of exec are not there")
    monkeypatch.setenv("WARPLENS_LIBRARIES", str(LIBRARIES))
    (tmp_path / "program.py").write_text(PROGRAM)
    return [sys.executable, str(tmp_path / "program.py")]


def test_the_report_is_the_commands(program, tmp_path):
    found = wl.exec(program, gpus="h200")
    assert (found.output, found.exit_code) == ("computed\n", 7)
    words = ["exec", "--gpu", "h200", "--format", "json", "-o", tmp_path / "report.json", "--", *program]
    subprocess.run([COMMAND, *map(str, words)], cwd=ROOT, check=False, capture_output=True)
    expected = json.loads((tmp_path / "report.json").read_text())
    assert timeless(found.json) == timeless(expected)


def test_a_program_without_cuda_has_no_report(program):
    with pytest.raises(wl.InputError, match="called no function of CUDA"):
        wl.exec([sys.executable, "-c", "pass"])
    with pytest.raises(wl.InputError, match="no program"):
        wl.exec(["there-is-none"])
