"""Every verb's document from Python equals the command's, key by key."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest
from conftest import ROOT

import warplens as wl

PTX = "examples/matmul_tiled/ptx/sm_80.ptx"
LAUNCH = "examples/matmul_tiled/launch.toml"
GPUS = ["h200", "a100-80"]
COMMAND = os.environ.get("WARPLENS_COMMAND") or shutil.which("warplens")


def ran(*words):
    """The command, when it has ended."""
    if COMMAND is None:
        pytest.skip("WARPLENS_COMMAND names no command")
    return subprocess.run([COMMAND, *map(str, words)], cwd=ROOT, capture_output=True)


def command(*words):
    """What the command writes to standard output."""
    done = ran(*words)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def refusal(*words):
    """What it writes to standard error where it cannot answer."""
    done = ran(*words)
    assert (done.returncode, done.stdout) == (1, b"")
    return done.stderr.decode()


def timeless(document):
    """A document without how long the emulation took here."""
    if isinstance(document, dict):
        return {key: timeless(of) for key, of in document.items() if key != "seconds"}
    return [timeless(of) for of in document] if isinstance(document, list) else document


LAUNCHED = [PTX, "--launch", LAUNCH]
ASKED = [*LAUNCHED, "--gpu", ",".join(GPUS)]
CASES = {
    "predict": (ASKED, lambda: wl.predict(PTX, launch=LAUNCH, gpus=GPUS)),
    "predict-all": ([*ASKED, "--model", "all"], lambda: wl.predict(PTX, launch=LAUNCH, gpus=GPUS, model="all")),
    "explain": (ASKED, lambda: wl.explain(PTX, launch=LAUNCH, gpus=GPUS)),
    "annotate": (ASKED, lambda: wl.annotate(PTX, launch=LAUNCH, gpus=GPUS)),
    "annotate-listing": (
        ["examples/teg/fadd_chain.gt200", "--grid", 10, "--block", 32, "--gpu", "gtx280"],
        lambda: wl.annotate("examples/teg/fadd_chain.gt200", grid=10, block=32, gpus="gtx280"),
    ),
    "scale": (ASKED, lambda: wl.scale(PTX, launch=LAUNCH, gpus=GPUS)),
    "whatif": (
        [*ASKED, "--set", "dram.bandwidth=2x", "--without", "bank-conflicts"],
        lambda: wl.whatif(PTX, launch=LAUNCH, gpus=GPUS, set={"dram.bandwidth": "2x"}, without="bank-conflicts"),
    ),
    "whatif-each": ([*ASKED, "--each"], lambda: wl.whatif(PTX, launch=LAUNCH, gpus=GPUS, each=True)),
    "profile": (LAUNCHED, lambda: wl.profile(PTX, launch=LAUNCH)),
    "profile-none": ([*LAUNCHED, "--record", "none"], lambda: wl.profile(PTX, launch=LAUNCH, record="none")),
    "run": ([*LAUNCHED, "--print", "2:8"], lambda: wl.run(PTX, launch=LAUNCH, print_="2:8")),
    "compare": (
        ["naive=examples/matmul_naive/ptx/sm_80.ptx", f"tiled={PTX}", "--launch", LAUNCH.replace("tiled", "naive")]
        + ["--launch", LAUNCH],
        lambda: wl.compare(
            ("naive", "examples/matmul_naive/ptx/sm_80.ptx"),
            ("tiled", PTX),
            launches=[LAUNCH.replace("tiled", "naive"), LAUNCH],
        ),
    ),
    "tune": (
        ["examples/vector_add/ptx/sm_80.ptx", "--launch", "examples/vector_add/launch.toml", "--block", "64,128,256"]
        + ["--grid", "ceil(n/block.x)", "--let", "n=1<<20"],
        lambda: wl.tune(
            "examples/vector_add/ptx/sm_80.ptx",
            launch="examples/vector_add/launch.toml",
            block="64,128,256",
            grid="ceil(n/block.x)",
            let={"n": "1<<20"},
        ),
    ),
    "validate": (
        ["--model", "roofline", "--gpu", "v100-pcie", TABLE := "python/tests/measured.csv"],
        lambda: wl.validate(TABLE, model="roofline", gpus="v100-pcie"),
    ),
    "calibrate": (
        ["--gpu", "c1060", "--from", TIMES := "validation/papers/thesis-c1060.csv"],
        lambda: wl.calibrate(gpu="c1060", from_=TIMES),
    ),
    "model": (
        ["hong-kim", "--input", MODEL := "examples/models/hong-kim-figure-12.toml"],
        lambda: wl.model("hong-kim", MODEL),
    ),
    "sweep": (["python/tests/study.toml"], lambda: wl.sweep("python/tests/study.toml")),
    "which": (
        [*LAUNCHED, "--prices", "python/tests/prices.toml"],
        lambda: wl.which(PTX, launch=LAUNCH, prices={"h200": 3.5, "k40": 0.25}, currency="EUR"),
    ),
    "glossary": (["occupancy"], lambda: wl.glossary("occupancy")),
    "metrics": (["time_duration"], lambda: wl.metrics("time_duration")),
    "config show": ([], wl.config_show),
    "gpu list": ([], wl.gpu_list),
    "gpu show": (["h200"], lambda: wl.gpu_show("h200")),
    "gpu diff": (["h200", "a100-80"], lambda: wl.gpu_diff("h200", "a100-80")),
}


@pytest.mark.parametrize("case", CASES)
def test_documents_are_the_same(case):
    words, ask = CASES[case]
    verb = case.split("-")[0].split()
    expected = command(*verb, *words, "--format", "json")
    found = ask()
    assert timeless(found.json) == timeless(json.loads(expected))
    assert list(found.json) == list(json.loads(expected)), "keys keep their order"


PICTURES = {
    "roofline": {},
    "occupancy": {},
    "cpi": {},
    "timeline": {},
    "stalls": {},
    "dependencies": {},
    "scale": {},
    "x-graph": {},
    "f-family": {"vary": "x-model.R=0.5x,1x,2x"},
}


@pytest.mark.parametrize("kind", PICTURES)
def test_pictures_are_the_same(kind):
    flags = PICTURES[kind]
    words = ["plot", kind, *LAUNCHED, "--gpu", "h200", *(f"--{name}={value}" for name, value in flags.items())]
    picture = wl.plot(kind, PTX, launch=LAUNCH, gpus="h200", **flags)
    assert picture.svg == command(*words, "--format", "svg").decode()
    document = wl.plot(kind, PTX, launch=LAUNCH, gpus="h200", format="json", **flags).json
    assert document == json.loads(command(*words, "--format", "json"))
    assert len(picture.table()) > 0


def test_pictures_of_gpus_and_of_tables_are_the_same():
    document = wl.plot("architecture", gpus=GPUS, format="json").json
    assert document == json.loads(command("plot", "architecture", "--gpu", ",".join(GPUS), "--format", "json"))
    document = wl.plot("accuracy", "python/tests/measured.csv", model="roofline", format="json").json
    words = ["plot", "accuracy", "python/tests/measured.csv", "--model", "roofline", "--format", "json"]
    assert document == json.loads(command(*words))


def test_pages_and_plans_are_the_same():
    # The page shows its command, and the time that the emulation took.
    own = re.compile(r"<pre[^>]*>warplens report [^<]*</pre>|\"seconds\":[0-9.e-]+")
    page = command("report", *LAUNCHED, "--gpu", "h200").decode()
    found = wl.report(PTX, launch=LAUNCH, gpus="h200").html
    assert len(own.findall(page)) == len(own.findall(found)) > 1
    assert own.sub("", found) == own.sub("", page)
    assert wl.calibration_plan("h200") == command("calibrate", "--gpu", "h200", "--plan").decode()
    assert wl.command("predict", *LAUNCHED) == command("predict", *LAUNCHED).decode()
    assert wl.schema("predict") == json.loads(command("dev", "schema", "predict"))


def test_what_cannot_be_calibrated_or_measured_is_told_in_the_same_words(tmp_path):
    none = tmp_path / "none.csv"
    for words, ask in [
        (["calibrate", "--gpu", "k40", "--from", none, "--format", "json"], lambda: wl.calibrate(gpu="k40", from_=none)),
        (["measure", none], lambda: wl.measure(none)),
    ]:
        said = pytest.raises(wl.InputError, ask).value.message
        assert said in refusal(*words)
        assert "none.csv" in said


def test_what_needs_hardware_says_so_in_the_same_way(tmp_path):
    table = tmp_path / "launches.csv"
    table.write_text(pathlib.Path("python/tests/measured.csv").read_text())
    if COMMAND is None:
        pytest.skip("WARPLENS_COMMAND names no command")
    done = subprocess.run([COMMAND, "measure", table], capture_output=True, text=True)
    if done.returncode == 0:
        pytest.skip("there is a GPU")
    error = pytest.raises(wl.Error, wl.measure, table).value
    assert error.message in done.stderr


def test_arrays_are_what_files_are(tmp_path):
    a = np.random.default_rng(0).uniform(-1, 1, (64, 64)).astype(np.float32)
    np.save(tmp_path / "a.npy", a)
    words = ["--grid", "4,4", "--block", "16,16", "--arg", f"f32[]:file({tmp_path}/a.npy)", "--arg", "&0"]
    words += ["--arg", "f32[4096]", "--arg", "64"]
    args = [a, a, np.zeros_like(a), 64]
    expected = json.loads(command("predict", PTX, *words, "--format", "json"))
    assert timeless(wl.predict(PTX, grid=(4, 4), block=(16, 16), args=args).json) == timeless(expected)
    run = wl.run(PTX, grid=(4, 4), block=(16, 16), args=args, print_="2:4096")
    expected = json.loads(command("run", PTX, *words, "--print", "2:4096", "--format", "json"))
    assert timeless(run.json) == timeless(expected)
    assert np.array_equal(np.array(run.buffers["2"]["values"], np.float32), run.arrays[2].reshape(-1))
    assert np.allclose(run.arrays[2], a @ a, atol=1e-4)


def test_a_text_is_what_its_file_is():
    text = pathlib.Path(PTX).read_text()
    found = wl.predict(text, launch=LAUNCH, gpus=GPUS)
    assert timeless(found.json) == timeless(wl.predict(PTX, launch=LAUNCH, gpus=GPUS).json)


def test_a_profile_is_a_source():
    profile = wl.profile(PTX, launch=LAUNCH, record="h200")
    again = wl.predict(profile.text.encode())
    assert again.predictions[0].time_us == wl.predict(PTX, launch=LAUNCH).predictions[0].time_us
