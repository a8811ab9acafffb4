"""Reading two columns of text of a Parquet file, by the package pyarrow where it is there."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from importlib import import_module
from typing import Any, BinaryIO

from trainer.preparing.errors import PreparationError


def rows_of(
    name: str, file: BinaryIO, columns: tuple[str, str], most: int
) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Yields the rows of two columns, in lists of `most` rows; the last list may be shorter.

    A missing value is an empty sentence. A line break in a value becomes a blank.

    Args:
        name: The file's name, for messages.
        file: Its content. Parquet is read from its end: what is no file on the disk is copied there first.
        columns: The names of the columns of source and target.
        most: How many rows a list has.

    Raises:
        PreparationError: pyarrow is missing, the file is no Parquet file, or it has no such columns of text.
    """
    try:
        pyarrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError as error:
        raise PreparationError(
            f"{name} is Parquet, which needs the package pyarrow: make setup TEXT=1, or pip install pyarrow"
        ) from error
    with tempfile.TemporaryFile() as copy:
        while block := file.read(1 << 20):
            copy.write(block)
        try:
            table = parquet.ParquetFile(copy)
            missing = set(columns) - set(table.schema_arrow.names)
            if missing:
                there = ", ".join(table.schema_arrow.names)
                raise PreparationError(f"{name} has no column {' and '.join(sorted(missing))}; it has {there}")
            rows = (
                pair
                for batch in table.iter_batches(batch_size=most, columns=list(columns))
                for pair in zip(*(_values(name, column, batch.column(column)) for column in columns), strict=True)
            )
            while chunk := list(itertools.islice(rows, most)):
                yield [source for source, _ in chunk], [target for _, target in chunk]
        except (pyarrow.ArrowException, OSError) as error:
            raise PreparationError(f"{name} cannot be read as Parquet: {error}") from error


def _values(name: str, title: str, column: Any) -> list[bytes]:
    values = column.to_pylist()
    if strange := [value for value in values if value is not None and not isinstance(value, str)]:
        raise PreparationError(f"{name}: the column {title} is no text: it has {strange[0]!r}")
    return [(value or "").replace("\n", " ").encode() for value in values]
