"""A file of arrays that can be mapped into memory: the form of a shard.

The first line is `centavo arrays 1`. The second line is JSON and says which arrays follow: their names, their types as
NumPy writes them (`<u2`), and their shapes. It is filled up with blanks. Every array begins at a multiple of 64 bytes.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"centavo arrays 1\n"
ALIGNMENT = 64
MOST_HEADER_BYTES = 1 << 16


class ArrayFileError(ValueError):
    """A file is no file of arrays, or it is torn. The message names it."""


def encoded_arrays(arrays: Mapping[str, NDArray[Any]]) -> Iterator[bytes | memoryview]:
    """Yields the parts of a file that has these arrays. Equal arrays make equal files, on every machine."""
    little = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    described = [{"name": name, "dtype": array.dtype.str, "shape": list(array.shape)} for name, array in little.items()]
    header = MAGIC + json.dumps({"arrays": described}, separators=(",", ":")).encode()
    yield header + b" " * (-(len(header) + 1) % ALIGNMENT) + b"\n"
    for array in little.values():
        if array.size:
            yield array.reshape(-1).view(np.uint8).data
        yield bytes(-array.nbytes % ALIGNMENT)


def mapped_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Maps the arrays of a file. They can be read only, and take memory only where they are read.

    The mapping holds the file open until the last of the arrays is gone. A process may open few files (1,024 on most
    systems). The arrays are none of `numpy.memmap`, which runs code in Python for every slice.

    Raises:
        ArrayFileError: The file is of another form, or too short.
    """
    try:
        with path.open("rb") as file:
            is_ours = file.readline(len(MAGIC)) == MAGIC
            header = json.loads(file.readline(MOST_HEADER_BYTES)) if is_ours else {"arrays": []}
            offset = file.tell()
            if not is_ours:
                raise ArrayFileError(f"{path} is no shard of this version of Centavo: prepare the corpus again")
            whole = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint8)
    except (OSError, ValueError) as error:
        if isinstance(error, ArrayFileError):
            raise
        raise ArrayFileError(f"{path} cannot be mapped: {error}") from error
    arrays = {}
    for one in header["arrays"]:
        dtype, shape = np.dtype(one["dtype"]), tuple(one["shape"])
        size = dtype.itemsize * math.prod(shape)
        if offset + size > len(whole):
            raise ArrayFileError(f"{path} is torn: it ends in the array {one['name']}")
        arrays[one["name"]] = whole[offset : offset + size].view(dtype).reshape(shape)
        offset += size + -size % ALIGNMENT
    return arrays
