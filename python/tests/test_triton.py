"""Kernels of Triton, compiled and predicted without a GPU."""

import numpy as np
import pytest

import warplens as wl

triton = pytest.importorskip("triton")
cases = pytest.importorskip("triton_cases")
wt = pytest.importorskip("warplens.triton")


@pytest.mark.parametrize("name", cases.CASES)
def test_kernels_are_predicted(name):
    fn, args, grid, constants = cases.CASES[name]()
    result = wt.predict(fn, *args, grid=grid, gpus=["h200", "h100-sxm"], **constants)
    assert [entry.gpu for entry in result.predictions] == ["h200", "h100-sxm"]
    assert all(entry.time_us > 0 and entry.model == "teg" for entry in result.predictions)


def test_gpus_of_several_targets_have_code_of_their_own():
    fn, args, grid, constants = cases.softmax(64, 1024)
    results = wt.predict(fn, *args, grid=grid, gpus=["h200", "a100-80", "rtx5090"], **constants)
    assert len(results) == 3 and [entry.gpu for entry in results.predictions] == ["h200", "a100-80", "rtx5090"]
    with pytest.raises(wl.UsageError, match="several targets"):
        wt.kernel(fn, *args, grid=grid, gpus=["h200", "a100-80"], **constants)


def test_launches_come_from_what_the_compiler_says():
    fn, args, grid, constants = cases.product(256)
    kernel = wt.kernel(fn, *args, grid=grid, gpus="h200", **constants)
    assert kernel.grid == (16, 1, 1) and kernel.block == 128
    # Three stages of two tiles of 64 x 32 halves.
    assert kernel.shared >= 3 * 2 * 64 * 32 * 2
    assert 16 <= kernel.registers <= 255
    # Behind its arguments the kernel has two scratch pointers.
    assert len(kernel.args) == len(args) + 2 and kernel.args[-1] is None


def test_they_compute_what_they_should():
    fn, (x, out, width), grid, constants = cases.softmax(64, 1024)
    left = wl.run(wt.kernel(fn, x, out, width, grid=grid, **constants)).arrays[1]
    power = np.exp(x - x.max(axis=1, keepdims=True))
    assert np.allclose(left, power / power.sum(axis=1, keepdims=True), atol=1e-6)


def test_numbers_equal_to_one_are_constants():
    fn, args, grid, constants = cases.softmax(8, 1024)
    kernel = wt.kernel(fn, args[0], args[1], 1, grid=grid, **constants)
    assert len(kernel.args) == len(args) - 1 + 2


def test_listings_are_of_the_triton_source():
    fn, args, grid, constants = cases.softmax(64, 1024)
    (text,) = wl.annotate(wt.kernel(fn, *args, grid=grid, **constants)).annotations[0].texts
    assert text.name.endswith("kernels_triton.py")
    assert any("tl.exp" in line.text for line in text.lines)


def test_shapes_are_enough():
    fn, (x, out, width), grid, constants = cases.softmax(64, 1024)
    made = wl.Buffer("f32", x.size, "uniform(-1,1)"), wl.Buffer(np.float32, x.size)
    assert wt.predict(fn, *made, width, grid=grid, **constants).predictions[0].time_us > 0


def configurations():
    """Forty-eight tiles of a product."""
    return [
        triton.Config({"TILE_M": m, "TILE_N": n, "TILE_K": k, "STAGES": stages}, num_warps=warps)
        for m in (32, 64, 128)
        for n in (32, 64)
        for k in (32, 64)
        for stages in (2, 3)
        for warps in (4, 8)
    ]


def test_pruning_keeps_the_best_of_the_whole_ranking():
    fn, args, grid, constants = cases.product(512)
    others = {name: constants[name] for name in ("GROUP", "TURNED", "PRECISION")}
    configs = configurations()
    assert len(configs) >= 40
    pruner = wt.prune(lambda: tuned.fn, gpu="h200", keep=8, grid=grid)
    tuned = triton.autotune(configs, key=["m", "n", "k"], prune_configs_by={"early_config_prune": pruner})(fn)
    # As the autotuner does where it is launched.
    tuned.nargs = dict(zip(tuned.arg_names, args))
    kept = tuned.prune_configs(others)
    assert len(kept) == 8
    whole = wt.rank(tuned, None, *args, grid=grid, gpu="h200", **others)
    assert len(whole.configs) + len(whole.refused) == len(configs)
    assert kept[0] is whole.best and set(map(str, kept)) == set(map(str, whole.configs[:8]))
    print(f"\n{pruner.last}")


def test_mistakes():
    fn, args, grid, constants = cases.softmax(8, 1024)
    with pytest.raises(wl.UsageError, match="no value for width"):
        wt.predict(fn, *args[:2], grid=grid, **constants)
    with pytest.raises(wl.UsageError, match="does not compile"):
        wt.predict(fn, *args, grid=grid, **constants | {"WIDE": 1000})
    with pytest.raises(wl.UsageError, match="no kernel of Triton"):
        wt.predict(len, grid=grid)
    with pytest.raises(wl.UsageError, match="complex64"):
        wt.predict(fn, np.zeros(4, np.complex64), *args[1:], grid=grid, **constants)
    with pytest.raises(wl.UsageError, match="none before sm_75"):
        wt.predict(fn, *args, grid=grid, gpus="c1060", **constants)
