"""The best checkpoints by a measure are kept, through stops and losses, and the final model is made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
import pytest

from tests.support.small_training import small
from trainer.elastic.world import World
from trainer.messages.lines import Silent
from trainer.record.progress import Progress
from trainer.record.validation import Validation
from trainer.training import schedule, step
from trainer.training.ending import finish
from trainer.training.errors import TrainingStopped
from trainer.training.loop import Training
from trainer.worker.rank import Outcome, Rank

LOST = "Horovod has been shut down. This was caused by an exception on one of the ranks."
BLEU = {2: 10.0, 4: 30.0, 6: 20.0, 8: 5.0, 10: 25.0, 12: 1.0}
"""The BLEU that the validation after a step finds."""
SECTIONS = {
    "stop": {"steps": 12, "validate_every_steps": 2},
    "validation": {"decode": "greedy", "measure": "bleu"},
    "checkpoint": {"every_steps": 3, "keep": 1, "keep_best": 3, "average": 2, "average_of": "best"},
}


class ElasticWorld(World):
    """A world of one rank that begins anew as often as it is asked to."""

    def __init__(self) -> None:
        super().__init__({})

    def reset(self) -> None:
        """Has nothing to do: there is no other rank."""


@pytest.fixture(autouse=True)
def scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the validations find `BLEU`."""

    def validate_if_due(self: schedule.Schedule, *arguments: Any) -> None:
        def found(*_: Any) -> Validation:
            return Validation(1.0, 1.0, BLEU[self._state.progress.step], 1.0)

        monkeypatch.setattr(schedule, "validate", found)
        really(self, *arguments)

    really = schedule.Schedule.validate_if_due
    monkeypatch.setattr(schedule.Schedule, "validate_if_due", validate_if_due)


def prepared(directory: Path, resume: bool = False, **sections: Any) -> tuple[Rank, Training]:
    rank = Rank.of(small(directory, **{**SECTIONS, **sections}))
    training = rank.prepare(Silent(), resume=resume)
    assert training is not None
    return rank, training


def kept(directory: Path) -> list[str]:
    return sorted(path.name for path in (directory / "storage" / "checkpoints").iterdir())


def trained(directory: Path, resume: bool = False, **sections: Any) -> tuple[Training, dict[str, Any]]:
    _, one = prepared(directory, resume, **sections)
    world = World({})
    one.run(world)
    return one, finish(one, world)


def test_the_model_is_the_mean_of_the_best_checkpoints(tmp_path: Path) -> None:
    one, found = trained(tmp_path)
    best = ["step-000000004-best", "step-000000006-best", "step-000000010-best"]
    assert kept(tmp_path) == [*best, "step-000000012"]
    assert found["model_of_steps"] == [4, 10]
    assert [entry["step"] for entry in found["validation"]["best_checkpoints"]] == [4, 10, 6]
    four, ten = one.prepared.checkpoints.best((4, 10))
    for name, parameter in one.prepared.parameters.items():
        mean = (four.arrays[f"parameter.{name}"] + ten.arrays[f"parameter.{name}"]) / 2
        np.testing.assert_allclose(parameter.data().asnumpy(), mean, rtol=1e-6, atol=1e-7)


def test_with_an_average_of_one_the_model_is_the_best_checkpoint(tmp_path: Path) -> None:
    checkpoint = {**SECTIONS["checkpoint"], "average": 1}
    one, found = trained(tmp_path, checkpoint=checkpoint)
    assert found["model_of_steps"] == [4]
    (four,) = one.prepared.checkpoints.best((4,))
    for name, parameter in one.prepared.parameters.items():
        np.testing.assert_array_equal(parameter.data().asnumpy(), four.arrays[f"parameter.{name}"])


def test_keeping_the_best_changes_neither_the_training_nor_the_mean_of_the_last(tmp_path: Path) -> None:
    last = {"every_steps": 3, "keep": 3, "average": 3}
    without, expected = trained(tmp_path / "without", checkpoint=last)
    with_best, found = trained(tmp_path / "with", checkpoint={**last, "keep_best": 2})
    assert found["model_of_steps"] == expected["model_of_steps"] == [12, 9, 6]
    assert with_best.state.digest() == without.state.digest()


@pytest.mark.parametrize("stopped_at", [5, 6, 9])
def test_a_training_that_is_stopped_and_resumed_ends_with_the_same_best_ones(tmp_path: Path, stopped_at: int) -> None:
    whole, expected = trained(tmp_path / "whole")
    rank, one = prepared(tmp_path / "torn")
    take = step.TrainingStep.take

    def take_and_stop(self: Any, world: World, steps_made: int, asked: Any) -> Any:
        if steps_made + 2 == stopped_at:
            rank.requests.stop("enough")
        return take(self, world, steps_made, asked)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(TrainingStopped):
        patch.setattr(step.TrainingStep, "take", take_and_stop)
        one.run(World({}))
    again, found = trained(tmp_path / "torn", resume=True)
    assert again.state.progress.restarts == 1
    assert again.state.progress.best == whole.state.progress.best
    assert (found["model_of_steps"], again.state.digest()) == (expected["model_of_steps"], whole.state.digest())


def test_after_a_rank_was_lost_the_best_ones_are_still_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loses a rank in step 11, when the checkpoint of step 10 has replaced that of step 2 already."""
    whole, _ = trained(tmp_path / "whole")
    sum_vector, left, number = step.sum_vector, [mx.base.MXNetError(LOST)], {"step": 0}
    take = step.TrainingStep.take

    def take_and_tell(self: Any, world: World, steps_made: int, asked: Any) -> Any:
        number["step"] = steps_made + 1
        return take(self, world, steps_made, asked)

    def fail_once(values: Any, name: str) -> Any:
        if number["step"] == 11 and left:
            raise left.pop()
        return sum_vector(values, name)

    monkeypatch.setattr(step.TrainingStep, "take", take_and_tell)
    monkeypatch.setattr(step, "sum_vector", fail_once)
    world = ElasticWorld()
    monkeypatch.setattr("trainer.worker.rank.World", lambda: world)
    elastic = {"commit_every_steps": 1000}
    rank, one = prepared(tmp_path / "torn", elastic=elastic)
    assert rank.train(one, Silent()) is Outcome.FINISHED
    assert one.state.progress.steps_lost == 0, "a checkpoint of the best is a commit, too"
    assert kept(tmp_path / "torn") == kept(tmp_path / "whole")
    assert one.state.digest() == whole.state.digest()


def test_where_no_validation_was_made_the_model_is_the_last_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one, found = trained(tmp_path, stop={"steps": 1, "validate_every_steps": 2})
    assert found["model_of_steps"] == [1]
    assert "no validation has left a best checkpoint" in caplog.text
    assert set(found["parameters_sha256"].values()) == {one.state.digest()}


def test_a_validation_that_is_no_number_is_not_the_best() -> None:
    progress = Progress()
    for number, loss in enumerate([float("nan"), 3.0, float("nan"), 2.0]):
        progress.step = number
        progress.judge(Validation(loss, loss), None, keep_best=3)
    assert progress.best == [(3, 2.0), (1, 3.0)]
    assert progress.best_validation == 2.0


def test_of_equal_ones_the_earlier_stays_and_removed_ones_are_forgotten() -> None:
    progress = Progress()
    for number in (1, 2, 3):
        progress.step = number
        assert progress.judge(Validation(2.0, 2.0), None, keep_best=2) is (number < 3)
    assert progress.best == [(1, 2.0), (2, 2.0)]
    again = Progress.from_dict(json.loads(json.dumps({"step": 3, "best": progress.best})))
    again.forget_best_from(2)
    assert again.best == [(1, 2.0)]
