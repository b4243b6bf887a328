"""Tables with typed columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import display

if TYPE_CHECKING:
    from . import _native

__all__ = ["Table"]


class Table:
    """Rows under headings. The names of the columns hold units (``time_us``); missing cells are null.

    Whatever reads the C stream interface of Arrow takes it: ``pyarrow.table(table)``, ``polars.DataFrame(table)``,
    ``pandas.DataFrame.from_arrow(table)``.
    """

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def title(self) -> str:
        """What the table is about."""
        return self._native.title

    @property
    def columns(self) -> list[str]:
        """Names of the columns, with units."""
        return self._native.columns

    @property
    def headings(self) -> list[str]:
        """Headings of the columns, for people."""
        return self._native.headings

    def __len__(self) -> int:
        return len(self._native)

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns by name, as lists."""
        return self._native.to_dict()

    def rows(self) -> list[dict[str, Any]]:
        """The rows, as dicts by the names of the columns."""
        columns = self.to_dict()
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.to_dict())

    def to_polars(self) -> Any:
        """The table as a polars DataFrame."""
        import polars

        return polars.DataFrame(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return display.of_table(self)

    def __repr__(self) -> str:
        return f"<warplens.Table of {len(self)} rows: {', '.join(self.columns)}>"
