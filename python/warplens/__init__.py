"""Predicts how long a CUDA kernel takes on an NVIDIA GPU, and what bounds it, without a GPU.

The functions are the verbs of the command ``warplens``, and their documents are the command's, key by key::

    import numpy as np
    import warplens

    a = np.random.rand(512, 512).astype(np.float32)
    result = warplens.predict(
        "matmul.ptx", grid=(32, 32), block=(16, 16), args=[a, a, np.zeros_like(a), 512], gpus=["h200", "a100-80"]
    )
    result.predictions[0].time_us

Adapters for compilers are modules of their own, imported when they are needed: :mod:`warplens.triton`,
:mod:`warplens.numba`, :mod:`warplens.cuda`, :mod:`warplens.kernel_tuner`.
"""

from ._native import __version__
from .errors import (
    Error,
    Finding,
    GateBreached,
    InputError,
    NoAnswer,
    UnsupportedError,
    UsageError,
)
from .kernel import Kernel
from .result import Page, Picture, Ran, Record, Result, Results
from .sweep import sweep
from .tables import Table
from .values import Buffer
from .verbs import (
    annotate,
    calibrate,
    calibration_plan,
    command,
    compare,
    config_show,
    exec,
    explain,
    glossary,
    gpu_diff,
    gpu_list,
    gpu_show,
    measure,
    metrics,
    model,
    plot,
    predict,
    profile,
    report,
    run,
    scale,
    schema,
    tune,
    validate,
    whatif,
    which,
)

__all__ = [
    "Buffer",
    "Error",
    "Finding",
    "GateBreached",
    "InputError",
    "Kernel",
    "NoAnswer",
    "Page",
    "Picture",
    "Ran",
    "Record",
    "Result",
    "Results",
    "Table",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "annotate",
    "calibrate",
    "calibration_plan",
    "command",
    "compare",
    "config_show",
    "exec",
    "explain",
    "glossary",
    "gpu_diff",
    "gpu_list",
    "gpu_show",
    "measure",
    "metrics",
    "model",
    "plot",
    "predict",
    "profile",
    "report",
    "run",
    "scale",
    "schema",
    "sweep",
    "tune",
    "validate",
    "whatif",
    "which",
]
