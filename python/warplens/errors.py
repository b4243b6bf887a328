"""What is raised, by who has to act."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._native import Failure
    from .result import Result

__all__ = ["Error", "Finding", "GateBreached", "InputError", "NoAnswer", "UnsupportedError", "UsageError"]


@dataclass(frozen=True)
class Finding:
    """A finding in a text. ``line`` and ``column`` count from 1, the column in bytes."""

    severity: str
    code: str
    message: str
    file: str
    line: int
    column: int
    text: str
    help: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class Error(Exception):
    """What warplens could not do.

    ``message`` is one sentence; ``details`` are lines of what was seen, ``help`` is the way out, and ``findings`` are the
    places in a text. ``file``, ``line`` and ``column`` are those of the first finding, and None where there is none.
    Details and help are notes of the exception, so that a traceback shows them.
    """

    def __init__(
        self,
        message: str,
        *,
        details: tuple[str, ...] = (),
        help: str | None = None,
        findings: tuple[Finding, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details)
        self.help = help
        self.findings = tuple(findings)
        for finding in self.findings[:_SHOWN]:
            self.add_note(f"{finding}\n    {finding.text.strip()}" if finding.text else str(finding))
        if len(self.findings) > _SHOWN:
            self.add_note(f"... and {len(self.findings) - _SHOWN} more")
        for detail in self.details:
            self.add_note(detail)
        if help:
            self.add_note(f"help: {help}")

    @property
    def file(self) -> str | None:
        return self.findings[0].file if self.findings else None

    @property
    def line(self) -> int | None:
        return self.findings[0].line if self.findings else None

    @property
    def column(self) -> int | None:
        return self.findings[0].column if self.findings else None


_SHOWN = 5


class UsageError(Error, ValueError):
    """The request is at fault: an unknown model or GPU, a bad value, a missing argument, an impossible grid."""


class InputError(Error):
    """The input is at fault: a missing file, a parse error, an unknown kernel, an illegal access, a deadlock."""


class UnsupportedError(Error, NotImplementedError):
    """The kernel uses what is not supported; found before it runs."""


class _WithResult(Error):
    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


class NoAnswer(_WithResult):
    """No model could answer. ``result`` is the document, which says what each model lacks."""


class GateBreached(_WithResult):
    """A gate (``fail_on``) is breached. ``result`` is the document."""


_BY_KIND = {"usage": UsageError, "input": InputError, "unsupported": UnsupportedError}


def of_failure(failure: Failure, said) -> Error:
    """The exception of a failure; ``said`` turns paths of our own into what the user knows."""
    findings = tuple(
        Finding(of.severity, of.code, said(of.message), said(of.file), of.line, of.column, of.text, of.help)
        for of in failure.findings
    )
    message, details = said(failure.message), tuple(map(said, failure.details))
    findings = findings or tuple(filter(None, map(_of_compiler, "\n".join(details).splitlines())))
    help = said(failure.help) if failure.help else None
    return _BY_KIND[failure.kind](message, details=details, help=help, findings=findings)


# A place as compilers of CUDA C++ write it.
_PLACE = re.compile(r"^\s*(.+?)\((\d+)\): (?:catastrophic )?(error)[^:]*: (.*)$")


def _of_compiler(line: str) -> Finding | None:
    """What a compiler has found, in a line of its output."""
    found = _PLACE.match(line)
    return found and Finding(found[3], "", found[4], found[1], int(found[2]), 1, "")
