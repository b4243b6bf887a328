"""What the tests share."""

import pathlib
import signal

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    """Paths in documents are those that the command writes where it is called from the root of the repository."""
    monkeypatch.chdir(ROOT)


@pytest.fixture(autouse=True)
def interrupts_are_heard():
    """Whoever starts the tests in the background may have interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def matmul():
    return EXAMPLES / "matmul_tiled/ptx/sm_80.ptx"
