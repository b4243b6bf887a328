"""CUDA C++ as Python holds it; needs NVRTC or nvcc."""

import importlib.util

import numpy as np
import pytest

import warplens as wl
import warplens.cuda

SOURCE = r"""
extern "C" __global__ void twice(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = FACTOR * x[i];
}
"""
X = np.arange(1000, dtype=np.float32)


@pytest.fixture(autouse=True, scope="module")
def compiler():
    found = importlib.util.find_spec("nvidia") and any(
        any(__import__("pathlib").Path(folder).glob("*/lib/libnvrtc.so*"))
        for folder in importlib.util.find_spec("nvidia").submodule_search_locations
    )
    if not found:
        pytest.skip("nvidia-cuda-nvrtc is not installed")


class RawKernel:
    """What CuPy's class of this name has."""

    code, name, options = SOURCE, "twice", ("-DFACTOR=3",)


def test_a_text_is_a_source():
    result = wl.predict(SOURCE, grid=4, block=256, args=[X, 1000], nvcc_flag="-DFACTOR=2", gpus="h200,a100-80")
    assert all(entry.time_us > 0 for entry in result.predictions)


def test_kernels_of_cupy():
    kernel = warplens.cuda.kernel(RawKernel(), grid=4, block=256, args=[X, 1000])
    assert np.array_equal(wl.run(kernel).arrays[0], 3 * X)


def test_lines_are_those_of_the_text():
    (text,) = wl.annotate(SOURCE, grid=4, block=256, args=[X, 1000], nvcc_flag="-DFACTOR=2").annotations[0].texts
    assert text.name == "source.cu" and any("FACTOR * x[i]" in line.text for line in text.lines)


def test_mistakes_have_a_place():
    with pytest.raises(wl.InputError) as raised:
        wl.predict(SOURCE, grid=4, block=256, args=[X, 1000])
    assert (raised.value.file, raised.value.line) == ("source.cu", 4)
    assert "FACTOR" in raised.value.findings[0].message
