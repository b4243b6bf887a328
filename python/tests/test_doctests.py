"""The examples in docstrings."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["verbs", "values", "result", "expressions", "kernel_tuner"])
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"warplens.{name}")
    failed, tried = doctest.testmod(module)
    assert tried > 0 and failed == 0
