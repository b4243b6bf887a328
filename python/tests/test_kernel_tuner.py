"""Spaces of Kernel Tuner: read, ranked and written, and opened again by Kernel Tuner itself."""

import itertools
import json
import pathlib

import numpy as np
import pytest

import warplens as wl
from warplens import kernel_tuner
from warplens.expressions import evaluate

HERE = pathlib.Path(__file__).parent
SPACE = HERE / "space/product.json"


def test_a_space_is_read():
    space = kernel_tuner.Space.from_t1(SPACE)
    configurations = space.configurations()
    by_hand = [
        values
        for values in itertools.product([8, 16, 32, 64, 128], [1, 2, 4, 8, 16, 32], [1, 2, 4], [1, 2, 4], [8, 16])
        if 64 <= values[0] * values[1] <= 512
        and values[0] * values[2] <= 256
        and values[1] * values[3] <= 64
        and 4 * values[4] * (values[0] * values[2] + values[1] * values[3]) <= 48 * 1024
    ]
    assert len(configurations) == 2 * len(by_hand) >= 500
    first = {"block_size_x": 32, "block_size_y": 8, "WORK_X": 2, "WORK_Y": 4, "TILE": 8, "UNROLL": 1}
    assert space.block(first) == [32, 8, 1] and space.grid(first) == [4, 8, 1]
    assert "-DWORK_Y=4" in space.macros(first) and "-Dgrid_size_x=4" in space.macros(first)


def test_a_space_is_written_and_read_again(tmp_path):
    space = kernel_tuner.Space.from_t1(SPACE)
    (tmp_path / "again.json").write_text(json.dumps(space.to_t1("h200")))
    again = kernel_tuner.Space.from_t1(tmp_path / "again.json")
    assert again.configurations() == space.configurations()
    assert [again.grid(of) for of in again.configurations()] == [space.grid(of) for of in space.configurations()]


def test_expressions_run_no_code():
    for text in ("__import__('os')", "().__class__", "open('x')", "[].append(1)", "9**9**9", "'a' * 9", "x"):
        with pytest.raises(wl.InputError):
            evaluate(text)
    assert evaluate("list(range(1, 4))") == [1, 2, 3]
    assert evaluate("a % 2 == 0 || b in [1, 2]", {"a": 3, "b": 2})


def test_files_that_are_none(tmp_path):
    (tmp_path / "none.json").write_text("{")
    with pytest.raises(wl.InputError, match="no JSON"):
        kernel_tuner.Space.from_t1(tmp_path / "none.json")
    (tmp_path / "none.json").write_text("{}")
    with pytest.raises(wl.InputError, match="no file of the form T1"):
        kernel_tuner.Space.from_t1(tmp_path / "none.json")
    with pytest.raises(wl.InputError, match="no cache"):
        kernel_tuner.read_cache(tmp_path / "none.json")
    with pytest.raises(wl.InputError, match="T4"):
        kernel_tuner.read_t4(tmp_path / "none.json")
    with pytest.raises(wl.InputError, match="cannot read"):
        kernel_tuner.rank(tmp_path / "nothing.json")


# PTX, for which no compiler is needed.
ADD = HERE.parents[1] / "examples/vector_add/ptx/sm_80.ptx"


@pytest.fixture
def ranking():
    """Of blocks and of what the kernel does not know; the last of them is impossible."""
    args = [wl.Buffer("f32", 1 << 16)] * 3 + [1 << 16]
    params = {"block_size_x": [32, 128, 512, 2048], "unused": [1, 2]}
    space = kernel_tuner.Space("vector_add", ADD, 1 << 16, args, params)
    return kernel_tuner.rank(space, gpu="h200")


def test_what_cannot_be_launched_is_no_failure(ranking):
    assert len(ranking.entries) == 8 and len(ranking.ranked()) == 6
    assert ranking.best["block_size_x"] < 2048
    assert {of.invalidity for of in ranking.entries if of.configuration["block_size_x"] == 2048} == {"runtime"}


def test_rankings_are_read_again(ranking, tmp_path):
    ranking.write_t4(tmp_path / "t4.json")
    ranking.write_cache(tmp_path / "cache.json")
    for timed in (kernel_tuner.read_t4(tmp_path / "t4.json"), kernel_tuner.read_cache(tmp_path / "cache.json")):
        assert len(timed.configurations) == 8 and timed.times_ms.count(None) == 2
        assert timed.best() == ranking.best
    text = (tmp_path / "cache.json").read_text()
    (tmp_path / "open.json").write_text(text[: text.rindex("}}")] + "},")
    assert kernel_tuner.read_cache(tmp_path / "open.json").best() == ranking.best


def test_kernel_tuner_takes_them(ranking, tmp_path):
    tuner = pytest.importorskip("kernel_tuner")
    from jsonschema import validate
    from kernel_tuner.file_utils import input_file_schema, output_file_schema

    validate(ranking.to_t4(), output_file_schema("results")[1])
    validate(json.loads(SPACE.read_text()), input_file_schema()[1])
    validate(kernel_tuner.Space.from_t1(SPACE).to_t1("h200"), input_file_schema()[1])
    ranking.write_cache(tmp_path / "cache.json")
    results, _ = tuner.tune_kernel(
        "vector_add",
        "__global__ void vector_add() {}",
        1 << 16,
        [np.zeros(1, np.float32)],
        dict(ranking.space.tune_params),
        lang="CUDA",
        simulation_mode=True,
        cache=str(tmp_path / "cache.json"),
        quiet=True,
    )
    best = min((of for of in results if isinstance(of["time"], float)), key=lambda of: of["time"])
    assert {name: best[name] for name in ranking.best} == ranking.best
