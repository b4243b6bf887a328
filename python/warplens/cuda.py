"""Kernels in CUDA C++, as Python holds them: texts, and CuPy's ``RawKernel`` and ``RawModule``.

A verb takes a text of CUDA C++ as it is; NVRTC or nvcc is found among the packages of this Python
(``pip install nvidia-cuda-nvrtc``), by ``CUDA_HOME``, or on the ``PATH``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import UsageError
from .kernel import Kernel

__all__ = ["kernel"]


def kernel(
    source: Any,
    name: str | None = None,
    *,
    grid: Any = None,
    block: Any = None,
    shared: int | None = None,
    args: Sequence[Any] = (),
    options: Sequence[str] = (),
) -> Kernel:
    """A kernel of a text, or of what CuPy holds of one (``RawKernel``, ``RawModule``), with the options of its
    compiler."""
    text = getattr(source, "code", source)
    if not isinstance(text, str):
        raise UsageError(f"the source is a {type(source).__name__}", help="give a text, or a RawKernel of CuPy")
    name = name or getattr(source, "name", None)
    options = [*(getattr(source, "options", None) or ()), *options]
    if "\n" not in text:
        text += "\n"
    return Kernel(text, name=name, grid=grid, block=block, shared=shared, args=args, options=options)
