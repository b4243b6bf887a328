"""Studies: in this process, and by workers of Ray of which one is killed."""

import os
import pathlib
import signal
import threading
import time

import pytest
import warplens as wl

STUDY = "python/tests/study.toml"


def test_a_study_goes_on_from_its_journal(tmp_path):
    journal, rows = tmp_path / "journal", tmp_path / "rows.parquet"
    whole = wl.sweep(STUDY, write=rows)
    assert len(whole.rows) == 16 and {row.gpu for row in whole.rows} == {"h200", "k40"}
    assert wl.sweep(STUDY, journal=journal).json == whole.json
    again = wl.sweep(STUDY, journal=journal)
    assert again.json == whole.json and "8 of 8 configurations are in the journal" in again.messages
    polars = pytest.importorskip("polars")
    table = polars.read_parquet(rows)
    assert table.height == 16 and table["time_us"].min() > 0


def test_what_is_for_workers_is_said():
    with pytest.raises(wl.UsageError, match="are for workers"):
        wl.sweep(STUDY, shards=3)
    with pytest.raises(wl.InputError, match="no-such-study.toml"):
        wl.sweep("no-such-study.toml")


def test_workers_of_ray_share_a_study_and_one_may_be_killed(tmp_path):
    ray = pytest.importorskip("ray")
    journal, alone, shared = tmp_path / "journal", tmp_path / "alone.parquet", tmp_path / "shared.parquet"
    study = tmp_path / "study.toml"
    text = pathlib.Path(STUDY).read_text().replace('"analyzer"', '"teg"').replace("16384*2", "32768:2048")
    kernel = "../../examples/reduction_shuffle/ptx/sm_80.ptx"
    assert kernel in text
    study.write_text(text.replace(kernel, "sum.ptx"))
    (tmp_path / "sum.ptx").write_bytes(pathlib.Path("python/tests", kernel).read_bytes())
    wl.sweep(study, write=alone)
    ray.init(num_cpus=3, log_to_driver=False, include_dashboard=False)
    killed = []
    stop = threading.Event()

    def kill_one():
        while not stop.is_set() and not killed:
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    is_worker = process.joinpath("cmdline").read_bytes().startswith(b"ray::_shard")
                except OSError:
                    continue
                if is_worker and not killed:
                    os.kill(int(process.name), signal.SIGKILL)
                    killed.append(process.name)
            time.sleep(0.005)

    killer = threading.Thread(target=kill_one)
    killer.start()
    try:
        wl.sweep(study, ray=True, shards=9, journal=journal, write=shared)
    finally:
        stop.set()
        killer.join()
        ray.shutdown()
    assert len(killed) == 1
    assert shared.read_bytes() == alone.read_bytes()
