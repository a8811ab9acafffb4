"""The log that travels with the state: what a copy costs does not depend on its length, and no copy harms another."""

from __future__ import annotations

import io
import json
import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from trainer.checkpoint.checkpoint import Checkpoint, decode, encode
from trainer.checkpoint.log_lines import LogLines
from trainer.checkpoint.origin import Origin
from trainer.record.progress import Progress

ORIGIN = Origin("settings", "vocabulary", "corpus")


def blob_of(one: Checkpoint) -> io.BytesIO:
    return io.BytesIO(b"".join(encode(one, ORIGIN)))


def lines(*steps: int) -> list[dict[str, Any]]:
    return [{"step": step, "loss": 1 / step} for step in steps]


def test_it_reads_like_a_list() -> None:
    log = LogLines(lines(1, 5, 10))
    assert (list(log), len(log)) == (lines(1, 5, 10), 3)
    assert (log[0], log[-1], log[1:], log[-1:]) == (*lines(1, 10), lines(5, 10), lines(10))
    with pytest.raises(IndexError):
        log[3]
    assert LogLines()[-1:] == []


def test_lines_that_come_later_are_in_no_copy() -> None:
    log = LogLines(lines(1))
    copied = log.copy()
    log.append(lines(5)[0])
    assert (list(copied), list(log)) == (lines(1), lines(1, 5))
    assert copied.text() == json.dumps(lines(1)[0]) + "\n"


def test_after_going_back_the_lines_that_were_undone_stay_in_the_other_copy() -> None:
    log = LogLines(lines(1))
    committed = log.copy()
    log.append(lines(5)[0])
    being_written, again = log.copy(), committed.copy()
    again.append({"step": 5, "loss": 7.0})
    again.append(lines(10)[0])
    assert list(being_written) == lines(1, 5)
    assert list(again) == [*lines(1), {"step": 5, "loss": 7.0}, *lines(10)]
    assert list(committed) == lines(1)


def test_it_travels_to_other_ranks_and_through_checkpoints() -> None:
    progress = Progress(step=10, log=LogLines(lines(1, 5)), changes=[{"to_size": 2}])
    hidden = progress.log.copy()
    hidden.append({"step": 9})
    for values in (
        pickle.loads(pickle.dumps(progress.as_dict())),
        decode(blob_of(Checkpoint(10, {"w": np.zeros(2)}, progress.as_dict())), ORIGIN).progress,
    ):
        found = Progress.from_dict(values)
        assert (list(found.log), found.log.text()) == (lines(1, 5), progress.log.text())
        assert (found.step, found.changes) == (10, [{"to_size": 2}])


def test_a_progress_whose_log_is_a_plain_list_is_read() -> None:
    assert list(Progress.from_dict({"step": 5, "log": lines(1, 5)}).log) == lines(1, 5)


def test_an_empty_log_goes_through_a_checkpoint() -> None:
    found = decode(blob_of(Checkpoint(0, {}, Progress().as_dict())), ORIGIN)
    assert (list(found.progress["log"]), found.arrays) == ([], {})


class Untouched(dict[str, Any]):
    """A line that counts how often it is turned into JSON or copied."""

    reads = 0

    def items(self) -> Any:
        Untouched.reads += 1
        return super().items()

    def __deepcopy__(self, memo: object) -> Untouched:
        Untouched.reads += 1
        return self


def allocated(action: Callable[[], object]) -> int:
    """Returns the bytes that `action` has allocated at its peak."""
    tracemalloc.start()
    try:
        kept = action()
        peak = tracemalloc.get_traced_memory()[1]
        del kept
    finally:
        tracemalloc.stop()
    return peak


def test_what_a_commit_costs_does_not_grow_with_the_log() -> None:
    short, long = (Progress(log=LogLines(lines(*range(1, count)))) for count in (10, 20_000))

    def commit_and_restore(progress: Progress) -> Progress:
        return Progress.from_dict(progress.as_dict())

    commit_and_restore(short)
    assert allocated(lambda: commit_and_restore(long)) <= allocated(lambda: commit_and_restore(short)) + 256


def test_each_line_is_turned_into_json_once_for_all_checkpoints() -> None:
    progress = Progress()
    Untouched.reads = 0
    for step in range(1, 101):
        progress.log.append(Untouched(step=step))
        committed = Checkpoint(step, {}, progress.as_dict())
        if step % 10 == 0:
            blob_of(committed)
            progress.log.text()
    assert Untouched.reads == 100
