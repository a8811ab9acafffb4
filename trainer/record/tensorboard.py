"""The training's log as TensorBoard event files (https://github.com/tensorflow/tensorboard).

The log travels with the training's state. So a rank that becomes rank 0 first writes what was logged before, and each
event file tells of the whole training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

TAGS = {
    "loss": "training/loss",
    "validation_loss": "validation/loss",
    "validation_unsmoothed_loss": "validation/unsmoothed_loss",
    "validation_perplexity": "validation/perplexity",
    "validation_bleu": "validation/bleu",
    "validation_chrf": "validation/chrf",
    "tokens_per_s": "training/tokens_per_second",
    "world_size": "training/world_size",
    "skipped_updates": "training/skipped_updates",
}


class EventFile:
    """Writes the lines of the training's log to an event file in `directory`; None: writes nothing."""

    def __init__(self, directory: str | None) -> None:
        self._directory = None if directory is None else Path(directory).expanduser()
        self._writer: Any = None
        self._written: list[Mapping[str, Any]] = []

    def write(self, log: Sequence[Mapping[str, Any]]) -> None:
        """Writes the lines that were not written yet. Lines may be gone, where the training went back."""
        if self._directory is None:
            return
        if self._writer is None:
            self._writer = _open(self._directory)
        del self._written[len(log) :]
        while self._written and self._written[-1] != log[len(self._written) - 1]:
            self._written.pop()
        for line in log[len(self._written) :]:
            _add(self._writer, line)
            self._written.append(line)
        self._writer.flush()

    @property
    def file(self) -> Path | None:
        """The file that this rank writes; None while there is none."""
        return None if self._writer is None else Path(self._writer._file_name)

    def write_all(self, directory: Path, log: Sequence[Mapping[str, Any]]) -> None:
        """Writes an event file of the whole training into another directory, which goes with the results."""
        if self._directory is None:
            return
        writer = _open(directory)
        for line in log:
            _add(writer, line)
        writer.close()


def _open(directory: Path) -> Any:
    """Returns tensorboardX's writer of files. Its SummaryWriter has a queue and a thread, and may flush too early."""
    # protobuf takes a while to import: a training that writes no events does not wait for it
    from tensorboardX.event_file_writer import EventsWriter  # noqa: PLC0415

    directory.mkdir(parents=True, exist_ok=True)
    return EventsWriter(str(directory / "events"))


def _add(writer: Any, line: Mapping[str, Any]) -> None:
    from tensorboardX.proto.event_pb2 import Event  # noqa: PLC0415
    from tensorboardX.proto.summary_pb2 import Summary  # noqa: PLC0415

    at = datetime.fromisoformat(str(line["t"]).replace("Z", "+00:00")).timestamp()
    values = [Summary.Value(tag=tag, simple_value=line[name]) for name, tag in TAGS.items() if name in line]
    writer.write_event(Event(wall_time=at, step=line["step"], summary=Summary(value=values)))
