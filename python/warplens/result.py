"""What comes back: documents with the names of the command's JSON, tables and pictures."""

from __future__ import annotations

import html
from collections.abc import Iterator, KeysView, Sequence
from typing import TYPE_CHECKING, Any

from . import display
from .tables import Table

if TYPE_CHECKING:
    import numpy as np

    from . import _native

__all__ = ["Page", "Picture", "Ran", "Record", "Result", "Results"]


class Record:
    """An object of a document: its keys are attributes, and items.

    >>> record = Record({"time_us": 2.5, "terms": [{"name": "issue"}]})
    >>> record.time_us, record["terms"][0].name
    (2.5, 'issue')
    """

    def __init__(self, json: dict[str, Any]) -> None:
        #: The object as plain dicts and lists.
        self.json = json

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return _wrapped(self.json[name])
        except KeyError:
            known = ", ".join(self.json)
            raise AttributeError(f"the document has no key `{name}` here; there are {known}") from None

    def __getitem__(self, key: str) -> Any:
        return _wrapped(self.json[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self.json)

    def __len__(self) -> int:
        return len(self.json)

    def __contains__(self, key: object) -> bool:
        return key in self.json

    def keys(self) -> KeysView[str]:
        """The names of the keys."""
        return self.json.keys()

    def items(self) -> list[tuple[str, Any]]:
        """Keys with their values."""
        return [(key, self[key]) for key in self.json]

    def get(self, key: str, other: Any = None) -> Any:
        """The value of a key, or another one where it is missing."""
        return self[key] if key in self.json else other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.json == other.json

    __hash__ = None  # type: ignore[assignment]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(key for key in self.json if key.isidentifier())]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {', '.join(f'{key}={_short(value)}' for key, value in self.json.items())}>"


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_wrapped(of) for of in value]
    return value


def _short(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return f"{type(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


class Result(Record):
    """A document of the command, with its tables.

    ``json`` is the document as ``--format json`` has it, ``text`` the same as text, ``messages`` what the command said
    beside. Units stand in the names (``time_us``, ``shared_bytes``); shares are fractions of 1. Libraries that read the
    C stream interface of Arrow take a result as its first table: ``polars.DataFrame(result)``,
    ``pyarrow.table(result)``.
    """

    def __init__(
        self, json: dict[str, Any], *, text: str = "", messages: str = "", tables: Sequence[_native.Table] = ()
    ) -> None:
        super().__init__(json)
        self.text = text
        self.messages = messages
        #: All tables of the result.
        self.tables = [Table(table) for table in tables]

    def table(self, number: int = 0) -> Table:
        """A table of the result, with every digit and the units in the names of its columns."""
        if not self.tables:
            raise IndexError("this result has no table")
        return self.tables[number]

    def to_pandas(self, number: int = 0) -> Any:
        """A table as a pandas DataFrame."""
        return self.table(number).to_pandas()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return display.of_document(self.json, self.tables)

    def __repr__(self) -> str:
        return display.in_words(self.json, self.tables)


class Results(list[Result]):
    """Documents of one question that was asked about different code: one for each target."""

    @property
    def predictions(self) -> list[Record]:
        """The predictions of all."""
        return [entry for result in self for entry in result.predictions]

    def to_pandas(self, number: int = 0) -> Any:
        """The tables below each other, as a pandas DataFrame."""
        import pandas

        return pandas.concat([result.to_pandas(number) for result in self], ignore_index=True)

    def _repr_html_(self) -> str:
        return "".join(result._repr_html_() for result in self)

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))


class Ran(Result):
    """What kernels computed. ``arrays`` holds the arrays that were given as arguments, as the kernels left them, by the
    positions of the arguments; the given ones are as they were."""

    arrays: dict[int, np.ndarray]


class Executed(Result):
    """What a program launched."""

    #: What the program wrote to standard output.
    output: str
    #: The exit code of the program.
    exit_code: int


class Page:
    """A page of HTML that loads nothing."""

    def __init__(self, text: str) -> None:
        self.html = text

    def save(self, path: Any) -> None:
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        return f'<iframe style="width:100%;height:40em;border:0" srcdoc="{html.escape(self.html)}"></iframe>'


class Picture:
    """A picture. ``svg`` follows a light or a dark theme; ``tables`` hold its points."""

    def __init__(self, svg: str, tables: Sequence[_native.Table]) -> None:
        self.svg = svg
        self.tables = [Table(table) for table in tables]

    def table(self, number: int = 0) -> Table:
        """The points of the picture."""
        return self.tables[number]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table().__arrow_c_stream__(requested_schema)

    def save(self, path: Any) -> None:
        """Writes the picture to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/html": self.svg, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<warplens.Picture of {len(self.tables[0]) if self.tables else 0} points>"
