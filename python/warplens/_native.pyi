"""The command as a library."""

from collections.abc import Callable, Sequence
from typing import Any, final

__version__: str

def answer(words: Sequence[str], watch: Callable[[str, int, int], object] | None = None) -> Answer:
    """Does what the words ask for; they are those of the command line behind the name of the program.

    The interpreter's lock is released meanwhile. Some twenty times a second ``watch`` hears what is counted, how much of
    it is done, and how much there is (0 where that is not known). What it raises, and what a signal raises, ends the work
    and goes on to the caller.
    """

def know_python_sites(sites: Sequence[str]) -> None:
    """Says in which folders this Python looks for packages; compilers are looked for there."""

@final
class Answer:
    """What a command has said, and how it ended."""

    @property
    def output(self) -> bytes:
        """What the command writes to standard output."""
    @property
    def messages(self) -> str:
        """What it writes to standard error."""
    @property
    def exit_code(self) -> int:
        """The exit code that a shell would get."""
    @property
    def tables(self) -> list[Table]:
        """The tables of the result."""
    @property
    def failure(self) -> Failure | None:
        """Why there is no result."""

@final
class Failure:
    """Why a command could not do what was asked."""

    @property
    def kind(self) -> str:
        """Who has to act: ``usage``, ``input`` or ``unsupported``."""
    @property
    def message(self) -> str: ...
    @property
    def details(self) -> list[str]: ...
    @property
    def help(self) -> str | None: ...
    @property
    def findings(self) -> list[Finding]: ...

@final
class Finding:
    """A finding in a text, with its place: line and column count from 1, the column in bytes."""

    @property
    def severity(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def help(self) -> str | None: ...

@final
class Table:
    """Rows under headings, with typed columns."""

    @property
    def title(self) -> str: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def headings(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def to_dict(self) -> dict[str, list[Any]]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
