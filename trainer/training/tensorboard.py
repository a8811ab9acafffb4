"""Training scalars as TensorBoard event files (https://github.com/tensorflow/tensorboard), written only when asked for.

The training's log travels with its state. So whichever rank comes to be rank 0 first writes what was logged before it,
and each event file tells the whole training, wherever it began.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

TAGS = {
    "loss": "training/loss",
    "validation_loss": "validation/loss",
    "tokens_per_s": "training/tokens_per_second",
    "world_size": "training/world_size",
}


class Scalars:
    """Writes the lines of the training's log (as in train.log) to `directory`; None: nothing is written."""

    def __init__(self, directory: str | None) -> None:
        self._directory = None if directory is None else Path(directory).expanduser()
        self._writer: Any = None
        self._written: list[Mapping[str, Any]] = []

    def write(self, log: Sequence[Mapping[str, Any]]) -> None:
        """Writes the lines that were not written yet. After a step back the log goes on from an earlier line."""
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

    def write_all(self, directory: Path, log: Sequence[Mapping[str, Any]]) -> None:
        """An event file of the whole training in another directory, which goes with the results."""
        if self._directory is None:
            return
        writer = _open(directory)
        for line in log:
            _add(writer, line)
        writer.close()


def _open(directory: Path) -> Any:
    """tensorboardX's own file writer: its SummaryWriter has a queue and a thread between, and may flush too early."""
    # protobuf takes a while to import, which a training that writes no events need not wait for
    from tensorboardX.event_file_writer import EventsWriter  # noqa: PLC0415

    directory.mkdir(parents=True, exist_ok=True)
    return EventsWriter(str(directory / "events"))


def _add(writer: Any, line: Mapping[str, Any]) -> None:
    from tensorboardX.proto.event_pb2 import Event  # noqa: PLC0415
    from tensorboardX.proto.summary_pb2 import Summary  # noqa: PLC0415

    at = datetime.fromisoformat(str(line["t"]).replace("Z", "+00:00")).timestamp()
    values = [Summary.Value(tag=tag, simple_value=line[name]) for name, tag in TAGS.items() if name in line]
    writer.write_event(Event(wall_time=at, step=line["step"], summary=Summary(value=values)))
