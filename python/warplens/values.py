"""Arguments of kernels, as Python has them and as the command takes them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import UsageError

__all__ = ["Argument", "Buffer"]

#: A number, an array, a buffer, None for the null pointer, or the text of a value as the command takes it.
Argument = Any

# By NumPy's name of a type: the word of the command.
TYPES = {
    "bool": "u8",
    "uint8": "u8",
    "int8": "s8",
    "uint16": "u16",
    "int16": "s16",
    "uint32": "u32",
    "int32": "s32",
    "uint64": "u64",
    "int64": "s64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    # Codes of eight bits are bytes to the command.
    "float8_e4m3fn": "u8",
    "float8_e5m2": "u8",
}
_WORDS = set(TYPES.values())


@dataclass(frozen=True)
class Buffer:
    """Device memory that is made on the spot, without an array on this side.

    ``dtype`` is a NumPy type or one of the command's words (``f32``, ``s32``, ``bf16``, ...), ``count`` the number of
    elements, ``content`` what they are: ``zeros``, ``iota``, ``fill(V)``, ``uniform(LO,HI,SEED)`` or ``values(V,...)``.

    >>> str(Buffer(np.float32, 1024, "uniform(-1,1,7)"))
    'f32[1024]:uniform(-1,1,7)'
    """

    dtype: Any
    count: int
    content: str = "zeros"

    def __str__(self) -> str:
        return f"{word(self.dtype)}[{int(self.count)}]:{self.content}"


def word(dtype: Any) -> str:
    """The command's word of a type."""
    if isinstance(dtype, str) and dtype in _WORDS:
        return dtype
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in TYPES:
        raise UsageError(f"{name} is no type of a buffer", help=f"types are {', '.join(sorted(set(TYPES)))}")
    return TYPES[name]


class Given:
    """The arguments of one call: their texts, and the arrays behind them, which lie in files of ``folder`` meanwhile."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.texts: list[str] = []
        # Of positions that an array brought: the array, and how far behind the start of another position's it begins.
        self.arrays: dict[int, np.ndarray] = {}
        self.aliases: dict[int, tuple[int, int]] = {}

    @classmethod
    def of(cls, args: Sequence[Argument] | Mapping[str, Argument], folder: str) -> Given:
        given = cls(folder)
        if isinstance(args, Mapping):
            for position, (name, argument) in enumerate(args.items()):
                given.texts.append(f"{name}={given.text(position, f'argument {name}', argument)}")
            if given.aliases:
                raise UsageError("arguments by name share memory", help="give the arguments by position: args=[...]")
            return given
        if isinstance(args, (str, bytes)) or not isinstance(args, Sequence):
            raise UsageError("args is a list of arguments, or a dict of them by name")
        for position, argument in enumerate(args):
            given.texts.append(given.text(position, f"argument {position}", argument))
        return given

    def text(self, position: int, name: str, argument: Argument) -> str:
        """What the command takes for an argument."""
        if argument is None:
            return "none"
        if isinstance(argument, (str, Buffer)):
            return str(argument)
        if isinstance(argument, (bool, np.bool_)):
            return str(int(argument))
        if isinstance(argument, (int, np.integer)):
            return str(int(argument))
        if isinstance(argument, (float, np.floating)):
            return repr(float(argument))
        array = as_array(name, argument)
        if array.ndim == 0:
            return self.text(position, name, array[()])
        return self.of_array(position, name, array)

    def of_array(self, position: int, name: str, array: np.ndarray) -> str:
        kind = word(array.dtype)
        self.arrays[position] = array
        shared = self.shared_with(position, name, array)
        if shared:
            self.aliases[position] = shared
            first, offset = shared
            return f"&{first}+{offset}" if offset else f"&{first}"
        if not array.any():
            return f"{kind}[{array.size}]"
        # Plain bytes: NumPy's files have no word for some of the types.
        path = os.path.join(self.folder, f"argument-{position}.bin")
        array.tofile(path)
        return f"{kind}[{array.size}]:file({path})"

    def shared_with(self, position: int, name: str, array: np.ndarray) -> tuple[int, int] | None:
        """The earlier argument in whose memory an array lies, and how far behind its start."""
        start, end = extent(array)
        for other, before in self.arrays.items():
            if other == position or other in self.aliases:
                continue
            first, last = extent(before)
            if first <= start and end <= last:
                return other, start - first
            if start < last and first < end:
                raise UsageError(
                    f"{name} shares a part of its memory with argument {other}",
                    help="give the array that holds both first, or copies",
                )
        return None


def extent(array: np.ndarray) -> tuple[int, int]:
    """Where the memory of a contiguous array begins and ends."""
    start = array.__array_interface__["data"][0]
    return start, start + array.nbytes


def as_array(name: str, argument: Argument) -> np.ndarray:
    """The array behind an argument, if it is one that can be handed over as it is."""
    device = getattr(getattr(argument, "device", None), "type", "cpu")
    if device not in ("cpu", "meta") or (hasattr(argument, "__cuda_array_interface__") and device != "cpu"):
        raise on_gpu(name)
    if not isinstance(argument, np.ndarray) and _has_cuda_memory(argument):
        raise on_gpu(name)
    if isinstance(argument, (list, tuple, dict, set)):
        kind = type(argument).__name__
        raise UsageError(f"{name} is a {kind}", help="numpy.array(..., dtype=...) says what its elements are")
    try:
        array = np.asarray(argument)
    except Exception as error:
        raise UsageError(f"{name} is no array: {error}") from error
    if array.dtype == object:
        raise UsageError(
            f"{name} is a {type(argument).__name__}",
            help="an argument is a number, a NumPy array, warplens.Buffer, None, or the text of a value",
        )
    if array.dtype.byteorder == ">" or not array.dtype.isnative:
        raise UsageError(f"{name} has the bytes of its elements in another order", help="array.astype(...) turns them")
    if array.ndim and array.dtype.name not in TYPES:
        raise UsageError(f"{name} is of type {array.dtype.name}", help=f"types are {', '.join(sorted(TYPES))}")
    if not array.flags.c_contiguous:
        raise UsageError(
            f"{name} is not contiguous: its strides are {array.strides} bytes",
            help="numpy.ascontiguousarray(...) makes a copy that is",
        )
    return array


def _has_cuda_memory(argument: Argument) -> bool:
    try:
        return hasattr(argument, "__cuda_array_interface__")
    except Exception:
        # PyTorch raises here for tensors of a kind that the interface does not serve, which lie elsewhere.
        return False


def on_gpu(name: str) -> UsageError:
    return UsageError(
        f"{name} lies on a GPU, and there is none here",
        help="hand over an array of the host: tensor.cpu(), or warplens.Buffer where only the size matters",
    )
