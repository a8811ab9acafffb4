"""TensorBoard event files: what the log holds, whole, and only when asked for."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from tensorboardX.proto.event_pb2 import Event

from trainer.record.tensorboard import EventFile
from trainer.record.validation import Validation


def lines(*steps: int) -> list[dict[str, Any]]:
    return [{"step": step, "loss": 5.0 - step / 100, "tokens_per_s": 900.0, "world_size": 6,
             "t": "2026-11-21T06:00:00.250Z"} for step in steps]  # fmt: skip


def read(directory: Path) -> list[Event]:
    """Returns the events of the one file in a directory: records of length, checksum, event, checksum (TFRecord)."""
    (file,) = directory.glob("events.out.tfevents.*")
    data, events = file.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        events.append(Event.FromString(data[12 : 12 + length]))
        data = data[16 + length :]
    return events


def points(directory: Path, tag: str) -> list[tuple[int, float]]:
    return [(event.step, round(value.simple_value, 4)) for event in read(directory)
            for value in event.summary.value if value.tag == tag]  # fmt: skip


def test_nothing_is_written_unless_asked_for(tmp_path: Path) -> None:
    scalars = EventFile(None)
    scalars.write(lines(10))
    scalars.write_all(tmp_path, lines(10))
    assert list(tmp_path.iterdir()) == []


def test_each_line_of_the_log_is_written_once_with_its_time(tmp_path: Path) -> None:
    scalars = EventFile(str(tmp_path))
    scalars.write(lines(1, 10))
    scalars.write(lines(1, 10, 20))
    assert points(tmp_path, "training/loss") == [(1, 4.99), (10, 4.9), (20, 4.8)]
    assert points(tmp_path, "training/world_size") == [(1, 6.0), (10, 6.0), (20, 6.0)]
    assert {event.wall_time for event in read(tmp_path) if event.summary.value} == {1795240800.25}


def test_a_validation_is_a_point_of_its_own(tmp_path: Path) -> None:
    measures = Validation(4.75, 4.5, 21.5, 40.25).line()
    validation = {"step": 10, **measures, "t": "2026-11-21T06:00:01.000Z"}
    EventFile(str(tmp_path)).write([*lines(10), validation, *lines(20)])
    assert points(tmp_path, "validation/loss") == [(10, 4.75)]
    assert points(tmp_path, "validation/unsmoothed_loss") == [(10, 4.5)]
    assert points(tmp_path, "validation/perplexity") == [(10, 90.0171)]
    assert points(tmp_path, "validation/bleu") == [(10, 21.5)]
    assert points(tmp_path, "validation/chrf") == [(10, 40.25)]
    assert [step for step, _ in points(tmp_path, "training/loss")] == [10, 20]


def test_after_a_step_back_the_log_is_followed_from_there(tmp_path: Path) -> None:
    scalars = EventFile(str(tmp_path))
    scalars.write(lines(10, 20, 30))
    scalars.write(lines(10, 20))
    scalars.write(lines(10, 20, 31))
    assert [step for step, _ in points(tmp_path, "training/loss")] == [10, 20, 30, 31]


def test_a_new_rank_0_writes_what_was_before_it(tmp_path: Path) -> None:
    EventFile(str(tmp_path)).write(lines(1, 10, 20, 30))
    assert [step for step, _ in points(tmp_path, "training/loss")] == [1, 10, 20, 30]


def test_the_results_get_the_whole_training(tmp_path: Path) -> None:
    scalars = EventFile(str(tmp_path / "node"))
    scalars.write_all(tmp_path / "results", lines(1, 10))
    assert points(tmp_path / "results", "training/tokens_per_second") == [(1, 900.0), (10, 900.0)]


def test_after_a_step_back_lines_that_came_out_otherwise_are_written_too(tmp_path: Path) -> None:
    scalars = EventFile(str(tmp_path))
    scalars.write(lines(5, 10))
    again = lines(5, 10)
    again[1]["world_size"] = 2
    scalars.write(again)
    assert points(tmp_path, "training/world_size") == [(5, 6.0), (10, 6.0), (10, 2.0)]
