"""Reading one shard of a data set through Petastorm's reader."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from petastorm import make_reader

from trainer.data.petastorm.schema import NUMBER, SOURCE, SOURCE_IDS, TARGET, TARGET_IDS
from trainer.data.prepared.manifest import PreparedCorpusError
from trainer.data.prepared.shard_arrays import ShardArrays, text_arrays

# Petastorm 0.13.1 uses parts of pyarrow that pyarrow 10 warns about at every call.
warnings.filterwarnings("ignore", category=FutureWarning, module=r"petastorm\.")


def shard_of(folder: Path, shard: str) -> ShardArrays:
    """Returns a shard, its ids and its text. See `pieces_of`."""
    return ShardArrays(*pieces_of(folder, shard), *text_of(folder, shard))


def pieces_of(folder: Path, shard: str) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Returns the ids of a shard.

    Args:
        folder: The folder of the pairs in Parquet.
        shard: The shard, such as train-00000.

    Returns:
        The ids of all sentences, shape (ids,), and how many source and target have, shape (pairs, 2).

    Raises:
        PreparedCorpusError: The shard cannot be read.
    """
    sentences = [ids for pair in _pairs(folder, shard, SOURCE_IDS, TARGET_IDS) for ids in pair]
    pieces = np.fromiter(map(len, sentences), dtype=np.uint32, count=len(sentences)).reshape(-1, 2)
    return np.concatenate([np.empty(0, dtype=np.int32), *sentences]), pieces


def text_of(folder: Path, shard: str) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Returns the text of a shard as `text_arrays` does. Raises PreparedCorpusError. See `pieces_of`."""
    return text_arrays((str(source), str(target)) for source, target in _pairs(folder, shard, SOURCE, TARGET))


def _pairs(folder: Path, shard: str, source: Any, target: Any) -> list[tuple[Any, Any]]:
    """Returns two fields of all pairs of a shard, in the order of their numbers."""
    try:
        reader = make_reader(
            f"file://{folder.absolute()}",
            schema_fields=[NUMBER, source, target],
            reader_pool_type="dummy",
            shuffle_row_groups=False,
            filters=[("shard", "=", shard)],
        )
        try:
            rows = [(row.number, getattr(row, source.name), getattr(row, target.name)) for row in reader]
        finally:
            reader.stop()
            reader.join()
    except Exception as error:  # Petastorm and pyarrow do not say which errors they raise
        raise PreparedCorpusError(
            f"Petastorm cannot read the shard {shard} of {folder}: {type(error).__name__}: {error}. Prepare the "
            "corpus again"
        ) from error
    return [(one, other) for _, one, other in sorted(rows, key=lambda row: int(row[0]))]
