"""The parameters that a training begins with where `init_from` names another one, as for fine-tuning."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import mxnet as mx
from numpy.typing import NDArray

from trainer.checkpoint.checkpoint import CheckpointError, decode
from trainer.checkpoint.checkpoints import PREFIX
from trainer.checkpoint.origin import Origin
from trainer.data.vocabulary import FILE_NAME
from trainer.model.transformer import FORMAT, METADATA_FILE, PARAMETERS_FILE
from trainer.storage.opening import open_storage
from trainer.storage.storage import RESULTS, Storage

log = logging.getLogger(__name__)

Arrays = dict[str, NDArray[Any]]
Shapes = Mapping[str, tuple[int, ...]]
ADVICE = "name the storage or the results of a training, or one of its checkpoints"


def initial_parameters(location: str, origin: Origin, shapes: Shapes) -> Arrays:
    """Returns the parameters of another training.

    Args:
        location: The results of a training, or its storage (then its results count, and the newest checkpoint where
            there are none), or one checkpoint.
        origin: The training that begins with them: its vocabulary must be theirs.
        shapes: The shapes of its parameters, by the names that they have in a checkpoint.

    Raises:
        CheckpointError: There are none, they cannot be read, or they are of another vocabulary or another shape.
        StorageError: The storage does not answer.
    """
    arrays, where = _found(location.rstrip("/"), origin)
    _check_shapes(arrays, shapes)
    log.info("the training begins with the parameters of %s", where)
    return arrays


def _found(location: str, origin: Origin) -> tuple[Arrays, str]:
    """Returns the parameters, and where exactly they are."""
    parent, _, last = location.rpartition("/")
    if f"checkpoints/{last}".startswith(PREFIX):
        return _of_checkpoint(open_storage(parent or "/"), last, origin), location
    storage = open_storage(location)
    for prefix in ("", RESULTS):
        if (blob := storage.get(prefix + PARAMETERS_FILE)) is not None:
            return _of_results(storage, prefix, blob, origin), f"{location}/{prefix}{PARAMETERS_FILE}"
    for arrays, name in _of_checkpoints(storage, origin):
        return arrays, f"{location}/{name}"
    raise CheckpointError(f"it has neither {PARAMETERS_FILE} nor a checkpoint that can be used: {ADVICE}")


def _of_checkpoints(storage: Storage, origin: Origin) -> Iterator[tuple[Arrays, str]]:
    """Yields the parameters of the newest checkpoint, and those of older ones where it is torn."""
    for name in reversed(storage.names(PREFIX)):
        try:
            yield _of_checkpoint(storage, name, origin), name
        except CheckpointError as error:
            log.warning("checkpoint %s/%s is refused: %s", storage.location, name, error)


def _of_checkpoint(storage: Storage, name: str, origin: Origin) -> Arrays:
    blob = storage.open(name)
    if blob is None:
        raise CheckpointError("there is no such checkpoint")
    with blob:
        arrays = decode(blob, origin, is_continued=False).arrays
    return {name: array for name, array in arrays.items() if name.startswith("parameter.")}


def _of_results(storage: Storage, prefix: str, parameters: bytes, origin: Origin) -> Arrays:
    vocabulary, description = storage.get(prefix + FILE_NAME), storage.get(prefix + METADATA_FILE)
    if vocabulary is None or description is None:
        raise CheckpointError(f"{FILE_NAME} or {METADATA_FILE} is missing beside {PARAMETERS_FILE}")
    if hashlib.sha256(vocabulary).hexdigest() != origin.vocabulary:
        raise CheckpointError(
            "it was made with another vocabulary: take that one over with vocabulary.taken, here or in corpus.yml"
        )
    try:
        found = json.loads(description).get("format", 1)
        arrays = mx.nd.load_frombuffer(parameters)
    except (ValueError, mx.MXNetError) as error:
        raise CheckpointError(f"it is damaged: {str(error).strip().splitlines()[-1]}") from error
    if found != FORMAT:
        raise CheckpointError(f"its parameters are of format {found}, and this Centavo has {FORMAT}")
    return {f"parameter.{name}": array.asnumpy() for name, array in arrays.items()}


def _check_shapes(arrays: Arrays, expected: Shapes) -> None:
    if differing := sorted(set(expected) ^ set(arrays)):
        raise CheckpointError(
            f"it is of another model: only one of both has {differing[0]} (and {len(differing) - 1} more); set model "
            "as it was"
        )
    for name, shape in expected.items():
        if arrays[name].shape != shape:
            raise CheckpointError(
                f"it is of another model: {name} is {arrays[name].shape}, and here {shape}; set model as it was"
            )
