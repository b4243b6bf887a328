"""Kernels as verbs take them: a file, a text, or what an adapter has compiled."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .errors import InputError, UsageError

__all__ = ["Kernel", "Source"]

#: A path, a text of PTX or CUDA C++, bytes of a cubin or a profile, or a :class:`Kernel`.
Source = Any

_PTX = re.compile(r"^\s*\.version\s", re.MULTILINE)
_FILE = re.compile(r'^(\s*\.file\s+\d+\s+)"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Kernel:
    """A kernel with the launch that belongs to it; every verb takes it in place of a source.

    What a verb is told beside goes over what stands here. ``args`` are those of the compiled kernel, hidden ones
    included. ``lines`` holds files that the line table of the source names and that lie nowhere, by their paths: cells
    of a notebook.
    """

    source: Source
    name: str | None = None
    grid: int | Sequence[int] | None = None
    block: int | Sequence[int] | None = None
    cluster: int | Sequence[int] | None = None
    shared: int | None = None
    registers: int | None = None
    args: Sequence[Any] | Mapping[str, Any] = ()
    gpus: str | Sequence[str] | None = None
    #: By the position of an argument that the user gave: its position in ``args``, where that is another one.
    positions: Mapping[int, int] | None = None
    #: Flags of the compiler, where the source is CUDA C++.
    options: Sequence[str] = ()
    lines: Mapping[str, str] = field(default_factory=dict)
    #: What the adapter says of it beside: the target, the configuration.
    about: Mapping[str, Any] = field(default_factory=dict)

    def with_launch(self, **changes: Any) -> Kernel:
        """The same kernel, launched in another way."""
        return replace(self, **changes)

    def __repr__(self) -> str:
        words = [f"{key}={value!r}" for key, value in self.about.items()]
        launch = f"grid={self.grid}, block={self.block}, shared={self.shared}"
        return f"<warplens.Kernel {self.name} {launch}{', ' if words else ''}{', '.join(words)}>"


def written(source: Source, folder: str, lines: Mapping[str, str] | None = None) -> str:
    """The path of a source; a text and bytes are written into the folder."""
    if isinstance(source, os.PathLike):
        return os.fspath(source)
    if isinstance(source, (bytes, bytearray)):
        path = os.path.join(folder, "source.bin")
        with open(path, "wb") as file:
            file.write(source)
        return path
    if not isinstance(source, str):
        kind = type(source).__name__
        raise UsageError(f"the source is a {kind}", help="give a path, a text of PTX or CUDA C++, bytes, or a Kernel")
    if "\n" not in source:
        if not os.path.exists(source) and source != "-" and "{" in source:
            raise UsageError("the source is a line that is no path", help="a text of PTX or CUDA C++ has several lines")
        if source == "-":
            raise UsageError("standard input belongs to the interpreter", help="give the text itself")
        return source
    is_ptx = _PTX.search(source) is not None
    path = os.path.join(folder, "source.ptx" if is_ptx else "source.cu")
    if is_ptx:
        source = with_lines(source, folder, lines or {})
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    return path


def with_lines(ptx: str, folder: str, lines: Mapping[str, str]) -> str:
    """PTX whose line table names files that exist: those that lie nowhere are written into the folder."""

    def placed(match: re.Match[str]) -> str:
        path = match[2]
        text = lines.get(path)
        if text is None and not os.path.exists(path):
            text = "".join(linecache.getlines(path))
        if not text:
            return match[0]
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", os.path.basename(path)) or "source"
        own = os.path.join(folder, name)
        with open(own, "w", encoding="utf-8") as file:
            file.write(text)
        return f'{match[1]}"{own}"'

    return _FILE.sub(placed, ptx)


def text_of(source: Source) -> str:
    """The text of a source."""
    if isinstance(source, Kernel):
        return text_of(source.source)
    if isinstance(source, (bytes, bytearray)):
        return bytes(source).decode("utf-8", "replace")
    if isinstance(source, str) and "\n" in source:
        return source
    try:
        with open(source, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"cannot read {source}: {error.strerror}") from error
