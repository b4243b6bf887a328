"""What is written for code reviews is SARIF by the schema of the standard."""

import json
import os
import pathlib

import pytest
from conftest import ROOT

import warplens as wl

SCHEMA = os.environ.get("SARIF_SCHEMA")

KERNELS = [
    ("examples/matmul_tiled/ptx/sm_80.ptx", "examples/matmul_tiled/launch.toml"),
    ("examples/sepia/ptx/sm_80.ptx", "examples/sepia/launch-800.toml"),
    ("examples/vector_add/ptx/sm_80.ptx", "examples/vector_add/launch.toml"),
]


@pytest.fixture
def validator():
    if SCHEMA is None:
        pytest.skip("SARIF_SCHEMA names no schema")
    schema = json.loads(pathlib.Path(SCHEMA).read_text())
    return pytest.importorskip("jsonschema").validators.validator_for(schema)(schema)


def written(path, validator):
    log = json.loads(path.read_text())
    assert [error.message for error in validator.iter_errors(log)] == []
    return log["runs"][0]["results"]


@pytest.mark.parametrize(("source", "launch"), KERNELS)
def test_a_log_is_valid(source, launch, validator, tmp_path):
    path = tmp_path / "log.sarif"
    wl.predict(ROOT / source, launch=ROOT / launch, gpus=["h200", "k40"], write=path)
    assert written(path, validator), "something is said of a line"


def test_a_log_with_a_breached_gate_is_valid(validator, tmp_path):
    path = tmp_path / "log.sarif"
    source, launch = KERNELS[0]
    with pytest.raises(wl.GateBreached):
        wl.predict(ROOT / source, launch=ROOT / launch, gpus=["h200"], write=path, fail_on="time_us>0.001")
    results = written(path, validator)
    assert results[0]["ruleId"] == "gate"


def test_a_wrong_log_is_not(validator):
    driver = {"name": "warplens"}
    run = {"tool": {"driver": driver}, "results": [{"message": {"text": "slow"}}]}
    log = {"version": "2.1.0", "runs": [run]}
    assert validator.is_valid(log)
    run["results"][0].pop("message")
    assert not validator.is_valid(log)
