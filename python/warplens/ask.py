"""The way to the command: words in, an answer out."""

from __future__ import annotations

import contextlib
import json
import operator
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from . import _native
from .errors import GateBreached, NoAnswer, UsageError, of_failure
from .kernel import Kernel, Source, written
from .progress import Watch, watching
from .result import Result
from .values import Given

_native.know_python_sites([path for path in sys.path if path])

R = TypeVar("R", bound=Result)

_NO_ANSWER = 1
_GATE = 3


class Call:
    """The words of one command, and the folder in which lies what it needs as files."""

    def __init__(self, folder: str, *verb: str) -> None:
        self.folder = folder
        self.words = list(verb)
        self.given = Given(folder)

    def flag(self, name: str, value: Any) -> Call:
        """Adds a flag: nothing for None and False, the flag alone for True, one for each element of a list."""
        flag = f"--{name.rstrip('_').replace('_', '-')}"
        if value is None or value is False:
            return self
        if value is True:
            self.words.append(flag)
        elif isinstance(value, Mapping):
            self.words.extend(f"{flag}={key}={of}" for key, of in value.items())
        elif isinstance(value, (list, tuple)):
            self.words.extend(f"{flag}={of}" for of in value)
        else:
            self.words.append(f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
        return self

    def flags(self, flags: Mapping[str, Any]) -> Call:
        for name, value in flags.items():
            self.flag(name, value)
        return self

    def gpus(self, gpus: str | Sequence[str] | None, name: str = "gpu") -> Call:
        """Adds GPUs, in one flag."""
        return self.flag(name, gpus if gpus is None or isinstance(gpus, str) else ",".join(map(str, gpus)))

    def source(self, source: Source, lines: Mapping[str, str] | None = None) -> Call:
        self.words.append(written(source, self.folder, lines))
        return self

    def launch(
        self,
        source: Source,
        *,
        kernel: str | None = None,
        grid: Any = None,
        block: Any = None,
        cluster: Any = None,
        shared: int | None = None,
        registers: int | None = None,
        args: Any = None,
        symbols: Mapping[str, Any] | None = None,
        launch: Any = None,
    ) -> Call:
        """The source and how it is launched."""
        if isinstance(source, Kernel):
            kernel, grid, block = kernel or source.name, default(grid, source.grid), default(block, source.block)
            cluster, shared = default(cluster, source.cluster), default(shared, source.shared)
            registers = default(registers, source.registers)
            args = source.args if args is None else args
            self.flag("nvcc_flag", list(source.options))
        self.input(source)
        self.flag("kernel", kernel)
        self.flag("grid", extents("grid", grid)).flag("block", extents("block", block))
        self.flag("cluster", extents("cluster", cluster))
        self.flag("shared", shared).flag("registers", registers)
        self.given = Given.of(args if args is not None else [], self.folder)
        self.words.extend(f"--arg={text}" for text in self.given.texts)
        return self.flag("symbol", symbols).flag("launch", launch)

    def input(self, source: Source) -> Call:
        if isinstance(source, Kernel):
            return self.source(source.source, source.lines)
        return self.source(source)

    def said(self, text: str) -> str:
        """A text of the command, in which files of the folder are called by their names."""
        return text.replace(f"{self.folder}{os.sep}", "")

    def ask(self, progress: bool | Watch | None = None) -> _native.Answer:
        """Asks, and raises where the command could not do what was asked."""
        watch = watching(progress)
        try:
            answer = _native.answer(self.words, watch)
        finally:
            close = getattr(watch, "close", None)
            if close:
                close()
        if answer.failure is not None:
            raise of_failure(answer.failure, self.said)
        return answer

    def document(self, progress: bool | Watch | None = None) -> Result:
        """Asks for a document."""
        return self.made(Result, progress)

    def made(self, make: type[R], progress: bool | Watch | None = None) -> R:
        """Asks for a document of a kind of its own."""
        self.flag("format", "json")
        answer = self.ask(progress)
        text = self.said(answer.output.decode())
        result = make(json.loads(text), text=text, messages=self.said(answer.messages), tables=answer.tables)
        said = result.messages.strip()
        if answer.exit_code == _NO_ANSWER:
            raise NoAnswer(said or "no model could answer", result)
        if answer.exit_code == _GATE:
            raise GateBreached(said or "a gate is breached", result)
        return result


def default(value: Any, other: Any) -> Any:
    return other if value is None else value


def extents(name: str, value: Any) -> str | None:
    """Extents per axis as the command takes them."""
    if value is None or isinstance(value, str):
        return value
    try:
        axes = list(value)
    except TypeError:
        axes = [value]
    try:
        return ",".join(str(operator.index(axis)) for axis in axes)
    except TypeError:
        raise UsageError(f"{name} is {value!r}", help=f"{name} is a whole number, or up to three of them") from None


@contextlib.contextmanager
def call(*verb: str) -> Iterator[Call]:
    """The words of a command; what it needs as files is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="warplens-") as folder:
        yield Call(folder, *verb)
