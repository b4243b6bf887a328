"""What users of Python get wrong, and what they are told."""

import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from conftest import EXAMPLES

import warplens as wl

ADD = EXAMPLES / "vector_add/ptx/sm_80.ptx"
ENDLESS = """.version 7.0
.target sm_80
.address_size 64
.visible .entry endless() {
L: bra L;
}
"""


def arrays(n=1024):
    return [np.ones(n, np.float32), np.ones(n, np.float32), np.zeros(n, np.float32)]


def refused(kind, source=ADD, **words):
    """What is raised; a launch that would be fine but for these words."""
    words = {"grid": 4, "block": 256, "args": [*arrays(), 1024]} | words
    with pytest.raises(kind) as raised:
        wl.predict(source, **words)
    assert type(raised.value) is kind
    return raised.value


def test_a_type_that_the_device_does_not_know():
    error = refused(wl.UsageError, args=[np.ones(1024, np.complex64), *arrays()[1:], 1024])
    assert error.message == "argument 0 is of type complex64"
    assert "float32" in error.help
    error = refused(wl.UsageError, args=[np.array([object()] * 3), *arrays()[1:], 1024])
    assert error.message == "argument 0 is a ndarray"
    error = refused(wl.UsageError, args=[[1.0, 2.0], *arrays()[1:], 1024])
    assert error.message == "argument 0 is a list"


def test_a_number_that_the_parameter_cannot_hold():
    error = refused(wl.UsageError, args=[*arrays(), 2.5])
    assert error.message == "--arg 3 (`2.5`): 2.5 is not an integer, as .u32 needs"


def test_an_argument_that_is_missing():
    error = refused(wl.UsageError, args=arrays())
    assert "param_3" in error.message


def test_a_tensor_on_a_gpu_that_is_not_there():
    class Device:
        type = "cuda"

    class Tensor:
        device = Device()
        __cuda_array_interface__ = {"shape": (1024,), "typestr": "<f4", "data": (1 << 40, False), "version": 3}

    error = refused(wl.UsageError, args=[Tensor(), *arrays()[1:], 1024])
    assert error.message == "argument 0 lies on a GPU, and there is none here"
    assert "cpu()" in error.help


def test_a_kernel_that_is_not_there():
    error = refused(wl.InputError, kernel="vector_sub")
    assert "vector_sub" in error.message


def test_an_array_that_is_not_contiguous():
    error = refused(wl.UsageError, args=[np.ones((1024, 2), np.float32)[:, 0], *arrays()[1:], 1024])
    assert error.message == "argument 0 is not contiguous: its strides are (8,) bytes"
    assert "ascontiguousarray" in error.help


def test_a_grid_that_cannot_be():
    assert "grid" in refused(wl.UsageError, grid=0).message
    assert "grid" in refused(wl.UsageError, grid=(1, 2, 3, 4)).message
    assert refused(wl.UsageError, grid=4.5).message == "grid is 4.5"
    assert "block" in refused(wl.UsageError, block=2048).message
    assert "grid" in refused(wl.UsageError, grid=np.array([4.0, 1.0])).message


def test_extents_may_be_arrays():
    words = {"block": np.array([256, 1]), "args": [*arrays(), 1024], "gpus": "h200"}
    for grid in (np.array([4]), np.array(4), np.int64(4)):
        assert wl.predict(ADD, grid=grid, **words).launch.grid == [4, 1, 1]


def test_a_gpu_that_nobody_knows():
    error = refused(wl.UsageError, gpus=["h2000"])
    assert "h2000" in error.message


def test_a_file_that_is_not_there():
    error = refused(wl.InputError, source="nothing/here.ptx")
    assert error.message == "nothing/here.ptx: no such file"


def test_text_that_is_wrong_has_a_place():
    text = ADD.read_text().replace("ld.param.u64", "ld.param.u64 +", 1)
    line = next(number for number, of in enumerate(text.splitlines(), 1) if "u64 +" in of)
    error = refused(wl.InputError, source=text)
    assert (error.file, error.line) == ("source.ptx", line)
    assert error.column > 1 and "u64 +" in error.findings[0].text
    assert any(f"source.ptx:{line}:" in note for note in error.__notes__)


def test_an_access_beyond_a_buffer_names_the_line():
    error = refused(wl.InputError, args=[*arrays(512), 1024])
    assert "out-of-bounds global load of 4 bytes" in error.message and "larger buffer" in error.help
    assert error.findings[0].text.strip().startswith("ld.global")


def test_an_unknown_flag_and_a_bad_value():
    assert "--colour" in refused(wl.UsageError, colour=True).message
    assert "'--model'" in refused(wl.UsageError, models="teg").help
    assert "magic" in refused(wl.UsageError, model="magic").message


def test_a_gate_has_its_result():
    error = refused(wl.GateBreached, fail_on="time_us>0.001")
    assert error.result.predictions[0].time_us > 0.001
    assert "time_us>0.001" in error.message


def test_no_answer_has_its_result():
    error = refused(wl.NoAnswer, gpus="b200", model="teg", strict=True)
    assert error.result.predictions[0].time_us is None
    assert error.result.predictions[0].refused.reason


def test_what_is_no_source():
    assert refused(wl.UsageError, source=42).message == "the source is a int"
    assert "standard input" in refused(wl.UsageError, source="-").message


# Seconds: a fraction of one on a machine that does nothing else.
SOON = 5


def test_an_interrupt_ends_an_emulation_soon():
    """As a cell of a notebook that is interrupted: the main thread gets a signal, and goes on."""
    threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        wl.run(ENDLESS, grid=1, block=32, budget=10**15, launch_budget=10**15)
    assert time.monotonic() - start < 0.5 + SOON
    # Whoever asks next gets an answer.
    assert wl.predict(ADD, grid=4, block=256, args=[*arrays(), 1024]).predictions[0].time_us > 0


def test_an_interrupt_ends_a_simulation_soon():
    threading.Timer(1.0, signal.raise_signal, [signal.SIGINT]).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        wl.predict(
            EXAMPLES / "matmul_tiled/ptx/sm_80.ptx", launch=EXAMPLES / "matmul_tiled/launch-2000.toml", gpus="all"
        )
    assert time.monotonic() - start < 1.0 + SOON


def test_others_work_while_a_kernel_runs():
    """The interpreter's lock is released."""
    done = threading.Event()

    def stop(what, n_done, n_all):
        if done.is_set():
            raise StopIteration

    def count():
        for _ in range(20):
            time.sleep(0.01)
        done.set()

    threading.Thread(target=count).start()
    with pytest.raises(StopIteration):
        wl.run(ENDLESS, grid=1, block=32, budget=10**15, launch_budget=10**15, progress=stop)
    assert done.is_set()


def test_files_are_gone_afterwards(tmp_path):
    code = f"""
        import glob, os, tempfile
        tempfile.tempdir = {str(tmp_path)!r}
        import numpy as np, warplens as wl
        wl.run({str(ADD)!r}, grid=4, block=256, args=[*(np.ones(1024, np.float32) for _ in range(3)), 1024])
        try:
            wl.run({str(ADD)!r}, grid=4, block=256, args=[np.ones(1024, np.float32)])
        except wl.UsageError:
            pass
        assert os.listdir({str(tmp_path)!r}) == [], os.listdir({str(tmp_path)!r})
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
    assert list(pathlib.Path(tmp_path).iterdir()) == []
