"""The notebook of the tutorial, run as Jupyter runs it."""

import pathlib

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "docs/tutorial.ipynb"
INTERRUPTED = """
import signal, threading, warplens
threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
text = '''.version 7.0
.target sm_80
.address_size 64
.visible .entry endless() {
L: bra L;
}
'''
try:
    warplens.run(text, grid=1, block=32, budget=10**15, launch_budget=10**15)
except KeyboardInterrupt:
    print("interrupted", len(warplens.gpu_list().gpus) > 0)
"""


def run(notebook):
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": NOTEBOOK.parent}})
    client.execute()
    return notebook


def test_every_cell_runs():
    notebook = run(nbformat.read(NOTEBOOK, as_version=4))
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert {"image/svg+xml", "text/html"} <= kinds


def test_a_cell_can_be_interrupted():
    notebook = run(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(INTERRUPTED)]))
    assert "interrupted True" in notebook.cells[0].outputs[0]["text"]
