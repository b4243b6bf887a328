"""Kernels of numba-cuda, compiled for a GPU that is not there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import verbs
from .errors import UsageError
from .kernel import Kernel
from .progress import Watch
from .result import Result, Results
from .targets import by_target
from .values import as_array

__all__ = ["kernel", "predict"]

# The oldest target that numba's compiler makes code for.
LEAST = 75
# Which of the parameters of an array is its address, behind owners and sizes.
_ADDRESS = 4


def kernel(
    fn: Any,
    *args: Any,
    grid: Any,
    block: Any,
    gpus: str | Sequence[str] | None = None,
    shared: int = 0,
    signature: Any = None,
    **options: Any,
) -> Kernel:
    """Compiles a function for GPUs of one target.

    ``fn`` is what ``numba.cuda.jit`` made, or a plain function; ``args`` are those of the launch: contiguous NumPy
    arrays and numbers. The types follow from them, as where numba launches, unless ``signature`` says them. An array
    becomes what numba makes of it: its owners, sizes, address, extents and strides. ``options`` go to numba's compiler
    (``fastmath=True``). Every verb takes the kernel, and ``warplens.annotate`` lists the lines of the Python source.
    """
    groups = by_target(gpus, LEAST)
    if len(groups) > 1:
        raise UsageError("the GPUs run code of several targets", help="warplens.numba.predict serves them all")
    (group,) = groups.items()
    return _kernel(fn, args, grid, block, group, shared, signature, options)


def predict(
    fn: Any,
    *args: Any,
    grid: Any,
    block: Any,
    gpus: str | Sequence[str] | None = None,
    shared: int = 0,
    signature: Any = None,
    model: str | None = None,
    progress: bool | Watch | None = None,
    flags: Mapping[str, Any] | None = None,
    **options: Any,
) -> Result | Results:
    """Predicts the time of a launch, compiled for each GPU that is named; parameters as of :func:`kernel` and
    :func:`warplens.predict`. GPUs of several targets give a list, one document for each target."""
    made = [
        _kernel(fn, args, grid, block, group, shared, signature, options) for group in by_target(gpus, LEAST).items()
    ]
    results = [verbs.predict(of, model=model, progress=progress, **(flags or {})) for of in made]
    return results[0] if len(results) == 1 else Results(results)


def _kernel(
    fn: Any,
    args: Sequence[Any],
    grid: Any,
    block: Any,
    group: tuple[int, list[str]],
    shared: int,
    signature: Any,
    options: Mapping[str, Any],
) -> Kernel:
    try:
        import numba
        from numba import cuda
    except ImportError as error:
        raise UsageError("numba-cuda is not installed", help="pip install 'warplens[numba]'") from error
    target, gpus = group
    plain = getattr(fn, "py_func", fn)
    values: list[Any] = []
    flat: list[Any] = []
    positions: dict[int, int] = {}
    for number, argument in enumerate(args):
        if isinstance(argument, (bool, int, float, np.generic)):
            values.append(argument)
            flat.append(argument)
            continue
        array = as_array(f"argument {number}", argument)
        values.append(array)
        positions[number] = len(flat) + _ADDRESS
        flat += [None, None, array.size, array.itemsize, array, *array.shape, *array.strides]
    types = signature or tuple(numba.typeof(value) for value in values)
    try:
        ptx, _ = cuda.compile_ptx(plain, types, cc=divmod(target, 10), lineinfo=True, **options)
    except Exception as error:
        # Whatever the compiler raises is about the function and the types.
        raise UsageError(f"numba does not compile {plain.__name__}: {_first_of(error)}") from error
    name = re.search(r"\.entry\s+([\w$]+)\s*\(", ptx)
    if name is None:
        raise UsageError(f"{plain.__name__} is no kernel: numba made no entry of it")
    return Kernel(
        ptx,
        name=name[1],
        grid=grid,
        block=block,
        shared=shared,
        args=flat,
        gpus=gpus,
        positions=positions,
        about={"target": f"sm_{target}"},
    )


def _first_of(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:3])
