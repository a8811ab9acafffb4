"""An update that is not finite is skipped, counted and told, and too many in a row end the training."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.small_training import small
from trainer.elastic.world import World
from trainer.messages.lines import Silent
from trainer.node.fact import State
from trainer.optim.learning_rate import learning_rate
from trainer.record.progress import Progress
from trainer.settings.training import Settings
from trainer.training import step
from trainer.training.ending import finish
from trainer.training.errors import TrainingFailedError
from trainer.training.loop import Training
from trainer.worker.rank import Rank

Begin = Callable[..., Training]


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Begin:
    """Returns a training in whose steps of these numbers a gradient overflows on its way between the ranks."""

    def make(bad_steps: Iterable[int] = (), value: float = np.inf, **sections: Any) -> Training:
        number, sum_gradients, bad = 0, step.sum_gradients, set(bad_steps)

        def sum_and_overflow(buckets: list[Any], *others: Any) -> None:
            nonlocal number
            number += 1
            sum_gradients(buckets, *others)
            if number in bad:
                buckets[-1][3:4] = value

        monkeypatch.setattr(step, "sum_gradients", sum_and_overflow)
        return started(small(tmp_path, **sections))

    return make


def started(settings: Settings) -> Training:
    made = Rank.of(settings).prepare(Silent(), resume=False)
    assert made is not None
    return made


def state_after(one: Training) -> dict[int, dict[str, Any]]:
    """Trains to the end. Returns parameters and optimizer after each step."""
    states: dict[int, dict[str, Any]] = {}
    update = one._facts.update

    def remember(figures: Any) -> bool:
        states[figures.step] = one.state.snapshot().arrays
        return update(figures)

    one._facts.update = remember  # type: ignore[method-assign]
    one.run(World({}))
    return states


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_parameters_and_optimizer_stay_as_they_are(begin: Begin, value: float) -> None:
    states = state_after(begin([3, 6], value, stop={"steps": 7}))
    for skipped in (3, 6):
        for name, array in states[skipped - 1].items():
            np.testing.assert_array_equal(states[skipped][name], array, err_msg=name)
    assert any((states[4][name] != array).any() for name, array in states[3].items())
    assert all(np.isfinite(array).all() for array in states[7].values())


def test_the_step_counts_and_its_batch_is_not_read_again_while_the_learning_rate_waits(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = begin(stop={"steps": 7})
    whole.run(World({}))
    rates: list[int] = []

    def record(update: int, peak: float, warmup_steps: int) -> float:
        rates.append(update)
        return learning_rate(update, peak, warmup_steps)

    monkeypatch.setattr(step, "learning_rate", record)
    one = begin([3], stop={"steps": 7})
    one.run(World({}))
    expected, found = whole.state.progress, one.state.progress
    assert (found.step, found.cursor, found.tokens) == (expected.step, expected.cursor, expected.tokens)
    assert (found.skipped_updates, found.skipped_in_a_row) == (1, 0)
    assert rates == [1, 2, 3, 4, 5, 6]
    assert int(one.state.snapshot().arrays["adam.updates"]) == 6


def test_a_skipped_update_is_told_in_the_logs_the_fact_s_loss_and_the_scores(
    begin: Begin, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = begin([1, 5, 6], np.nan, stop={"steps": 6})
    world = World({})
    with caplog.at_level(logging.WARNING):
        one.run(world)
        scores = finish(one, world)
    assert "step 6: the norm of the gradients became nan; its update is skipped (2 skipped in a row, 3 in all)" in (
        caplog.text
    )
    assert (scores["skipped_updates"], scores["steps"]) == (3, 6)
    assert np.isfinite(scores["final_loss"])
    lines = [json.loads(line) for line in (tmp_path / "storage" / "results" / "train.log").read_text().splitlines()]
    assert [(line["step"], line.get("skipped_updates")) for line in lines] == [(1, 1), (5, 2), (6, 3)]
    one._facts.announce(State.FINISHED)
    fact = json.loads((tmp_path / "facts.d" / "iteration.fact").read_text(), parse_constant=pytest.fail)
    assert np.isfinite(fact["loss"])


def test_too_many_in_a_row_end_the_training_with_the_reason_and_the_last_good_checkpoint(begin: Begin) -> None:
    optimizer = {"max_skipped_in_a_row": 3, "learning_rate": 0.001}
    one = begin([2, 3, 6, 7, 8, 9], stop={"steps": 12}, checkpoint={"every_steps": 1}, optimizer=optimizer)
    expected = (
        r"the norm of the gradients became inf at step 8, and no update could be made since step 5 \(3 skipped\): "
        r"lower optimizer.learning_rate \(0.001\) or set clip_norm, and continue .*step-000000004"
    )
    with pytest.raises(TrainingFailedError, match=expected):
        one.run(World({}))
    assert one.state.progress.skipped_updates == 5


def test_a_loss_that_is_not_finite_for_one_batch_is_skipped(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    one = begin(stop={"steps": 5})
    forward, count = one._step._forward_and_backward, 0

    def spoil(parts: Any) -> float:
        nonlocal count
        count += 1
        return forward(parts) if count != 2 else float("nan")

    monkeypatch.setattr(one._step, "_forward_and_backward", spoil)
    one.run(World({}))
    assert (one.state.progress.step, one.state.progress.skipped_updates) == (5, 1)


def test_broken_parameters_end_the_training_at_once(begin: Begin) -> None:
    one = begin(stop={"steps": 5})
    update = one._facts.update

    def break_after_step_2(figures: Any) -> bool:
        if figures.step == 2:
            next(iter(one.prepared.parameters.values())).data()[0] = np.nan
        return update(figures)

    one._facts.update = break_after_step_2  # type: ignore[method-assign]
    with pytest.raises(TrainingFailedError, match="the loss became nan at step 3: "):
        one.run(World({}))


def test_with_float16_the_advice_is_to_leave_it(begin: Begin) -> None:
    sections = {"optimizer": {"max_skipped_in_a_row": 1}, "horovod": {"compression": "fp16"}}
    with pytest.raises(TrainingFailedError, match=r"or set horovod\.compression to none"):
        begin([1], **sections).run(World({}))


def test_a_resumed_training_begins_the_row_anew() -> None:
    progress = Progress(step=9, skipped_updates=4, skipped_in_a_row=4)
    progress.resume(was_stopped=True, patience=None)
    assert (progress.skipped_updates, progress.skipped_in_a_row) == (4, 0)


def test_without_a_fault_no_update_is_skipped(begin: Begin) -> None:
    one = begin(optimizer={"clip_norm": 0.1})
    one.run(World({}))
    assert one.state.progress.skipped_updates == 0
