"""Files of the form T1: a kernel and the space of its parameters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, UnsupportedError, UsageError
from ..expressions import evaluate
from ..values import Buffer, word
from .files import load, plain

if TYPE_CHECKING:
    from . import Space

_AXES = "xyz"
_TYPES = {
    "bool": "u8",
    "int8": "s8",
    "uint8": "u8",
    "int16": "s16",
    "uint16": "u16",
    "int32": "s32",
    "uint32": "u32",
    "int64": "s64",
    "uint64": "u64",
    "half": "f16",
    "float": "f32",
    "double": "f64",
}
_LANES = ("2", "4", "8", "16")
_READ = {"int": int, "uint": int, "float": float, "bool": bool, "string": str}


def read(path: Any) -> Space:
    """The space of a file."""
    try:
        return _of(load(path), os.path.dirname(os.fspath(path)))
    except KeyError as error:
        raise InputError(f"{path} is no file of the form T1: it has no {error}") from error


def _of(document: dict[str, Any], folder: str) -> Space:
    from . import Space

    kernel, space = document["KernelSpecification"], document["ConfigurationSpace"]
    if kernel["Language"] != "CUDA":
        raise UnsupportedError(f"the kernel is written in {kernel['Language']}, not in CUDA")
    params = {}
    for of in space["TuningParameters"]:
        values = evaluate(of["Values"])
        values = list(values) if isinstance(values, (list, tuple, range)) else [values]
        params[of["Name"]] = [_READ[of["Type"]](value) for value in values]
    sizes = kernel.get("ProblemSize")
    names: dict[str, Any] = {"ProblemSize": sizes} | {name: values for name, values in params.items()}
    arguments, symbols = [], {}
    for number, of in enumerate(kernel.get("Arguments", [])):
        value = _argument(of, number, names, folder)
        if of["MemoryType"] == "Symbol" or of.get("MemType") == "Constant":
            symbols[of["Name"]] = value
        elif of["MemoryType"] != "Local":
            arguments.append(value)
    local = kernel["LocalSize"]
    return Space(
        kernel["KernelName"],
        _source(kernel["KernelFile"], folder),
        sizes if sizes is not None else [kernel["GlobalSize"].get(axis.upper(), "1") for axis in _AXES],
        arguments,
        params,
        [of["Expression"] for of in space.get("Conditions", [])],
        grid_div_x=kernel.get("GridDivX") or None,
        grid_div_y=kernel.get("GridDivY") or None,
        grid_div_z=kernel.get("GridDivZ") or None,
        blocks=sizes is None and kernel.get("GlobalSizeType", "CUDA") == "CUDA",
        block_size=[str(local.get(axis.upper(), "1")) for axis in _AXES],
        smem=kernel.get("SharedMemory"),
        symbols=symbols,
        compiler_options=list(kernel.get("CompilerOptions", [])),
    )


def _source(file: str, folder: str) -> str:
    places = [file, os.path.join(folder, file), os.path.join(folder, os.pardir, file)]
    found = next((place for place in places if os.path.isfile(place)), None)
    if found is None:
        raise InputError(f"there is no {file}, neither here nor beside the file of the space")
    return found


def _argument(of: dict[str, Any], number: int, names: Mapping[str, Any], folder: str) -> Any:
    kind, lanes = of["Type"], 1
    for suffix in _LANES:
        if kind not in _TYPES and kind.endswith(suffix) and kind.removesuffix(suffix) in _TYPES:
            kind, lanes = kind.removesuffix(suffix), int(suffix)
    if kind not in _TYPES:
        raise UnsupportedError(f"arguments of type {of['Type']} are not supported")
    value = of.get("FillValue", 0)
    if of["MemoryType"] == "Scalar":
        return float(value) if kind in ("half", "float", "double") else int(value)
    size = of.get("Size", 1)
    count = lanes * (int(evaluate(size, names)) if isinstance(size, str) else int(size))
    fill = of.get("FillType", "Constant")
    word = _TYPES[kind]
    if fill == "Constant":
        return Buffer(word, count, f"fill({value})" if value else "zeros")
    if fill == "Random":
        seed = of.get("RandomSeed", number)
        is_float = word.startswith("f")
        return Buffer(word, count, f"uniform(-1,1,{seed})" if is_float else f"uniform(0,{int(value) or 1},{seed})")
    if fill == "BinaryRaw":
        path = of["DataSource"]
        return Buffer(word, count, f"file({path if os.path.isabs(path) else os.path.join(folder, path)})")
    raise UnsupportedError(f"arguments that are filled by {fill} are not supported")


def document(space: Space, device: str | None) -> dict[str, Any]:
    """The document of a space."""
    if callable(space.restrictions):
        raise UsageError("restrictions that are a function cannot be written", help="give them as expressions")
    if not isinstance(space.source, (str, os.PathLike)) or "\n" in os.fspath(space.source):
        raise UsageError("a file of the form T1 names the file of the source", help="write the source to a file")
    size = space.problem_size if isinstance(space.problem_size, (list, tuple)) else [space.problem_size]
    divisors = (space.grid_div_x, space.grid_div_y, space.grid_div_z)
    kernel: dict[str, Any] = {
        "Language": "CUDA",
        "KernelName": space.kernel_name,
        "KernelFile": os.fspath(space.source),
        "GlobalSizeType": "CUDA",
        "GlobalSize": {axis.upper(): str(of) for axis, of in zip(_AXES, size)},
        "LocalSize": dict(zip("XYZ", space.block_size or [f"block_size_{axis}" for axis in _AXES[:1]])),
        "Arguments": [_written(of, number) for number, of in enumerate(space.arguments)],
    }
    if space.compiler_options:
        kernel["CompilerOptions"] = list(space.compiler_options)
    if not space.blocks:
        kernel["ProblemSize"] = list(size)
    if device:
        kernel["Device"] = {"Name": device}
    for axis, of in zip("XYZ", divisors):
        if of is not None:
            kernel[f"GridDiv{axis}"] = list(of)
    kinds = {bool: "bool", int: "int", float: "float", str: "string"}
    params = [
        {"Name": name, "Type": kinds[type(plain(values[0]))], "Values": repr([plain(value) for value in values])}
        for name, values in space.tune_params.items()
    ]
    names = list(space.tune_params)
    conditions = [
        {"Expression": text, "Parameters": [name for name in names if name in text]} for text in space.restrictions
    ]
    return {
        "General": {"FormatVersion": 1, "TimeUnit": "Milliseconds", "OutputFormat": "JSON"},
        "ConfigurationSpace": {"TuningParameters": params, "Conditions": conditions},
        "KernelSpecification": kernel,
        "Search": {"Name": "brute_force"},
    }


def _written(of: Any, number: int) -> dict[str, Any]:
    types = {word: name for name, word in reversed(_TYPES.items())}
    if isinstance(of, (int, float, np.generic)):
        kind = np.asarray(of).dtype.name
        kind = {"float64": "float" if isinstance(of, float) else "double", "float32": "float"}.get(kind, kind)
        kind = "int32" if isinstance(of, int) and -(2**31) <= of < 2**31 else kind
        return {"Name": f"argument_{number}", "Type": kind, "MemoryType": "Scalar", "FillValue": plain(of)}
    kind, count = word(of.dtype), int(of.count if isinstance(of, Buffer) else of.size)
    values = {"Name": f"argument_{number}", "Type": types[kind], "MemoryType": "Vector", "Size": count}
    if isinstance(of, Buffer) and of.content.startswith("fill("):
        return values | {"FillType": "Constant", "FillValue": float(of.content[5:-1])}
    if isinstance(of, Buffer) and of.content == "zeros" or isinstance(of, np.ndarray) and not of.any():
        return values | {"FillType": "Constant", "FillValue": 0}
    return values | {"FillType": "Random", "RandomSeed": number}
