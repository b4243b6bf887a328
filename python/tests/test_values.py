"""Arguments, results, tables and displays."""

import subprocess
import sys

import numpy as np
import pytest
from conftest import EXAMPLES

import warplens as wl

ADD = EXAMPLES / "vector_add/ptx/sm_80.ptx"


def added(a, b, n=1024):
    return wl.run(ADD, grid=4, block=256, args=[a, b, wl.Buffer("f32", n), n])


def test_arrays_come_back():
    a, b = np.arange(1024, dtype=np.float32), np.full(1024, 0.5, np.float32)
    ran = added(a, b)
    assert np.array_equal(ran.arrays[2], a + b)
    assert np.array_equal(ran.arrays[0], a)
    assert ran.arrays[0].shape == a.shape and ran.arrays[0] is not a


def test_arrays_that_share_memory_share_it_there():
    whole = np.arange(2048, dtype=np.float32)
    ran = wl.run(ADD, grid=4, block=256, args=[whole, whole[1024:], whole[:1024], 1024])
    assert np.array_equal(ran.arrays[2], np.arange(1024) + np.arange(1024, 2048))
    assert np.array_equal(ran.arrays[0][:1024], ran.arrays[2])
    assert np.array_equal(whole, np.arange(2048)), "what was given is as it was"
    with pytest.raises(wl.UsageError, match="shares a part of its memory"):
        wl.run(ADD, grid=4, block=256, args=[whole[:1024], whole[512:1536], whole[:1024], 1024])


def test_arguments_by_name_and_in_two_axes():
    a = np.ones((32, 32), np.float32)
    args = {"param_3": 1024, "param_0": a, "param_1": a.copy(), "param_2": np.zeros_like(a)}
    ran = wl.run(ADD, grid=4, block=256, args=args)
    assert ran.arrays[3].shape == (32, 32) and (ran.arrays[3] == 2).all()


def test_documents_have_attributes_and_items():
    result = wl.predict(ADD, grid=4, block=256, args=["f32[1024]", "f32[1024]", "f32[1024]", 1024], gpus="h200,c1060")
    assert result.predictions[1].gpu == result["predictions"][1]["gpu"] == "c1060"
    assert "predictions" in result and "predictions" in dir(result)
    with pytest.raises(AttributeError, match="no key `time`"):
        result.time
    assert "h200" in repr(result) and "bound by" in repr(result)


def test_pictures_and_pages():
    asked = {"grid": 4, "block": 256, "args": ["f32[1024]", "f32[1024]", "f32[1024]", 1024]}
    picture = wl.plot("roofline", ADD, **asked)
    assert picture._repr_mimebundle_()["image/svg+xml"].startswith("<svg")
    page = wl.report(ADD, **asked)
    assert page.html.lstrip().startswith("<!") and "<iframe" in page._repr_html_()


@pytest.fixture(scope="module")
def result():
    args = ["f32[1<<20]", "f32[1<<20]", "f32[1<<20]", "1<<20"]
    return wl.predict(ADD, grid=4096, block=256, args=args, gpus="h200,a100-80", model="all")


def test_displays_escape_what_they_show(result):
    for document in (result, wl.gpu_list()):
        html = document._repr_html_()
        assert "<table" in html and "h200" in html
    assert "color:" not in result._repr_html_().replace("background-color:", "")
    asked = {"grid": 4, "block": 256, "args": ["f32[1024]", "f32[1024]", "f32[1024]", 1024]}
    assert "ld.global" in wl.annotate(ADD, by="input", **asked)._repr_html_()
    assert "<li>" in wl.explain(ADD, **asked)._repr_html_()


def test_a_table_is_columns(result):
    table = result.table()
    assert {"gpu", "model", "time_us"} <= set(table.columns)
    assert len(table.rows()) == len(table) and table.rows()[0]["gpu"] == "h200"


def test_pandas(result):
    pandas = pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert list(frame.columns) == result.table().columns and len(frame) == len(result.table())
    assert pandas.api.types.is_float_dtype(frame["time_us"])
    if hasattr(pandas.DataFrame, "from_arrow"):
        other = pandas.DataFrame.from_arrow(result.table())
        assert other["time_us"].dropna().tolist() == frame["time_us"].dropna().tolist()


def test_pyarrow(result):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(result)
    assert table.column_names == result.table().columns
    assert table["time_us"].to_pylist() == result.table().to_dict()["time_us"]
    assert table.schema.field("gpu").type == pyarrow.string()
    counts = pyarrow.table(wl.profile(ADD, grid=1, block=32, args=["f32[32]"] * 3 + ["32"], lines=True))
    assert counts.num_rows > 0


def test_polars(result):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(result)
    assert frame.columns == result.table().columns
    fastest = frame.drop_nulls("time_us").sort("time_us").row(0, named=True)
    assert fastest["time_us"] == min(time for time in result.table().to_dict()["time_us"] if time is not None)


def test_progress_is_heard():
    heard = []
    launch = EXAMPLES / "matmul_tiled/launch-512.toml"
    source = EXAMPLES / "matmul_tiled/ptx/sm_80.ptx"
    wl.run(source, launch=launch, progress=lambda *now: heard.append(now))
    assert heard and all(what == "blocks" and 0 <= done <= total for what, done, total in heard)


def test_nothing_is_printed(capfd, result):
    wl.predict(ADD, grid=4, block=256, args=["f32[1024]", "f32[1024]", "f32[1024]", 1024])
    with pytest.raises(wl.UsageError):
        wl.predict(ADD, grid=4, block=256, args=[])
    assert capfd.readouterr() == ("", "")


def test_threads_ask_at_once():
    from concurrent.futures import ThreadPoolExecutor

    def ask(n):
        return wl.run(ADD, grid=1, block=32, args=[np.full(32, n, np.float32)] * 2 + [wl.Buffer("f32", 32), 32])

    with ThreadPoolExecutor(4) as pool:
        for n, ran in enumerate(pool.map(ask, range(12))):
            assert (ran.arrays[2] == 2 * n).all()


def test_adapters_are_imported_when_they_are_needed():
    code = (
        "import sys, warplens; print(*(name for name in ('torch', 'triton', 'numba', 'pandas') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
