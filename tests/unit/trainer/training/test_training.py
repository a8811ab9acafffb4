"""One rank's training: it resumes bit by bit, stops when told, and refuses to go on with a broken loss."""

from __future__ import annotations

import json
import logging
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.small_training import CORPUS, small
from trainer.checkpoint.checkpoints import Checkpoints
from trainer.data.batch import collate
from trainer.data.batch_stream import Cut
from trainer.elastic.errors import RemovedFromJobError
from trainer.elastic.world import World
from trainer.messages.lines import Silent
from trainer.node.fact import RankFigures, State
from trainer.node.fact_writer import FactWriter
from trainer.node.memory import resident_bytes
from trainer.node.metadata import Instance
from trainer.node.requests import Requests
from trainer.settings.training import Settings
from trainer.training import schedule
from trainer.training.ending import finish
from trainer.training.errors import NodeTooSmallError, TrainingFailedError, TrainingStopped
from trainer.training.loop import Training
from trainer.training.measuring.validation import validation_losses
from trainer.training.prepare import prepare
from trainer.training.results import fetch_results
from trainer.training.step import TrainingStep
from trainer.worker.rank import Outcome, Rank


class StoppingFacts(FactWriter):
    """Facts whose reader asks the training to stop after a step."""

    def __init__(self, settings: Settings, requests: Requests, step: int | None) -> None:
        super().__init__(Path(settings.facts.path), Instance("i-1", "test"))
        self._requests, self._step = requests, step

    def update(self, figures: RankFigures) -> bool:
        if figures.step + 1 == self._step:
            self._requests.stop("interrupted by a test")
        return super().update(figures)


def training(settings: Settings, stop_after: int | None = None, resume: bool = False) -> Training:
    requests = Requests()
    facts = StoppingFacts(settings, requests, stop_after)
    return Training(prepare(settings), facts, requests, Silent(), None, resume)


def parameters_of(one: Training) -> dict[str, Any]:
    return one.state.snapshot().arrays


def run_until(settings: Settings, step: int, resume: bool = False) -> None:
    """Trains, and asks the training to stop while it makes `step`."""
    one = training(settings, step, resume)
    with pytest.raises(TrainingStopped):
        one.run(World({}))
    assert one.state.progress.step == step


def trained(settings: Settings) -> Training:
    """Trains to the last step, and waits until the checkpoints are written."""
    one = training(settings)
    one.run(World({}))
    one.prepared.checkpoints.finish()
    return one


def finished(settings: Settings, resume: bool = False) -> tuple[Training, dict[str, Any]]:
    """Trains to the end. Returns the training and its scores."""
    one = training(settings, resume=resume)
    world = World({})
    one.run(world)
    return one, finish(one, world)


def validated_at(one: Training) -> list[int]:
    return [line["step"] for line in one.state.progress.log if "validation_loss" in line]


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_an_interrupted_and_resumed_run_ends_bitwise_equal_to_an_uninterrupted_one(
    tmp_path: Path, dropout: float
) -> None:
    sections = {"vocabulary": {"size": 400, "dropout": dropout}, "corpus": {**CORPUS, "pairs": 100}}
    whole = training(small(tmp_path / "whole", **sections))
    whole.run(World({}))
    assert whole.prepared.batches.batches_per_epoch < 9
    assert (whole.prepared.batches.batch_tokens > 256) == (dropout > 0)

    torn = small(tmp_path / "torn", **sections)
    run_until(torn, 10)
    second = training(torn, resume=True)
    second.warm_up()
    second.run(World({}))
    assert second.state.progress.restarts == 1
    expected, found = parameters_of(whole), parameters_of(second)
    assert expected.keys() == found.keys()
    for name in expected:
        np.testing.assert_array_equal(expected[name], found[name], err_msg=name)
    assert second.state.progress.tokens == whole.state.progress.tokens


@pytest.mark.parametrize("stopped_at", [8, 11])
def test_a_stop_changes_neither_validations_nor_the_average_of_checkpoints(
    tmp_path: Path, stopped_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checkpoints, "save_in_background", Checkpoints.save)  # none is left out on a busy machine
    sections = {"stop": {"steps": 13, "validate_every_steps": 4}, "checkpoint": {"every_steps": 4, "average": 3}}
    whole, expected = finished(small(tmp_path / "whole", **sections))
    torn = small(tmp_path / "torn", **sections)
    run_until(torn, stopped_at)
    resumed, found = finished(torn, resume=True)
    assert validated_at(resumed) == validated_at(whole) == [4, 8, 12]
    assert found["parameters_sha256"] == expected["parameters_sha256"]
    assert (found["restarts"], found["steps_lost"]) == (1, 0)


@pytest.mark.parametrize(("asked", "expected"), [(0, [8, 4]), (1, [8, 4, 1]), (2, [8, 4, 1])])
def test_a_checkpoint_is_made_when_ranks_ask_for_one_and_one_for_all_that_ask_at_the_same_time(
    tmp_path: Path, asked: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checkpoints, "save_in_background", Checkpoints.save)  # none is left out on a busy machine
    one = training(small(tmp_path, stop={"steps": 9}))
    take, left = one._requests.take_keep, [True] * asked
    monkeypatch.setattr(one._requests, "take_keep", lambda: left.pop() if left else take())
    one.run(World({}))
    assert [kept.step for kept in one.prepared.checkpoints.newest(9)] == expected


def test_after_an_end_without_a_checkpoint_nobody_says_how_many_steps_were_lost(tmp_path: Path) -> None:
    settings = small(tmp_path, stop={"steps": 6})
    trained(settings)  # and ends, two steps after its checkpoint, without a word
    _, scores = finished(settings, resume=True)
    assert (scores["restarts"], scores["steps_lost"]) == (1, None)


def test_a_training_begun_anew_takes_nothing_of_the_one_before_it(tmp_path: Path) -> None:
    average = {"every_steps": 4, "average": 3}
    clean, _ = finished(small(tmp_path / "clean", stop={"steps": 6}, checkpoint=average))
    old = {"every_steps": 1}
    trained(small(tmp_path / "used", stop={"steps": 9}, checkpoint=old, optimizer={"learning_rate": 0.01}))
    anew, _ = finished(small(tmp_path / "used", stop={"steps": 6}, checkpoint=average))
    assert [kept.step for kept in anew.prepared.checkpoints.newest(9)] == [6, 4]
    assert anew.state.digest() == clean.state.digest()


def test_text_in_another_order_is_another_corpus(tmp_path: Path) -> None:
    lines = [f"a house {n} of {n % 7}" for n in range(300)]
    parts = {name: [str(tmp_path / f"{name}.{side}") for side in ("en", "de")] for name in ("train", "test")}
    sections = {"corpus": {"kind": "files", "target": "de", **parts, "validation": parts["test"]}}

    def write(name: str, text: list[str]) -> None:
        for path in parts[name]:
            Path(path).write_text("\n".join(text) + "\n")

    write("test", lines[:5])
    write("train", lines)
    run_until(small(tmp_path, **sections), 5)
    write("train", lines[::-1])
    with pytest.raises(TrainingFailedError, match="none of the checkpoints"):
        training(small(tmp_path, **sections), resume=True).run(World({}))


def test_an_early_stop_holds_as_patience_now_says(tmp_path: Path) -> None:
    stop = {"steps": 12, "validate_every_steps": 2, "patience": 1}
    sections = {"optimizer": {"learning_rate": 1e-12}, "checkpoint": {"every_steps": 2}}
    first = trained(small(tmp_path, stop=stop, **sections))
    assert first.state.progress.step < 12
    again = training(small(tmp_path, stop=stop, **sections), resume=True)
    again.run(World({}))
    assert again.state.progress.step == first.state.progress.step
    patient = training(small(tmp_path, stop={**stop, "patience": 99}, **sections), resume=True)
    patient.run(World({}))
    assert (patient.state.progress.step, patient.state.progress.stopped) == (12, None)


class LeavingWorld(World):
    """A world without a place for this rank from `step` on."""

    def __init__(self, facts: FactWriter, step: int, left: threading.Event) -> None:
        super().__init__({})
        self._facts, self._step, self._left = facts, step, left

    @property
    def is_change_pending(self) -> bool:
        return self._facts.figures.step + 1 >= self._step

    def reset(self) -> None:
        self._left.set()
        raise RemovedFromJobError


def test_a_rank_that_leaves_has_written_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rank = Rank.of(small(tmp_path, checkpoint={"every_steps": 4}))
    one = rank.prepare(Silent(), resume=False)
    assert one is not None
    has_left, is_waited_for = threading.Event(), threading.Event()
    put, finish_checkpoints = one.prepared.storage.put, one.prepared.checkpoints.finish

    def put_when_waited_for(name: str, data: bytes) -> None:
        assert is_waited_for.wait(30), "the rank has left, and has not waited for its checkpoint"
        put(name, data)

    def finish_and_tell() -> None:
        if has_left.is_set():
            is_waited_for.set()
        finish_checkpoints()

    monkeypatch.setattr(one.prepared.storage, "put", put_when_waited_for)
    monkeypatch.setattr(one.prepared.checkpoints, "finish", finish_and_tell)
    monkeypatch.setattr("trainer.worker.rank.World", lambda: LeavingWorld(rank.facts, 5, has_left))
    assert rank.train(one, Silent()) is Outcome.LEFT
    assert rank.facts.state is State.DRAINING
    assert [kept.step for kept in one.prepared.checkpoints.newest(9)] == [4]


def test_a_last_update_that_breaks_the_parameters_is_not_kept_as_a_model(tmp_path: Path) -> None:
    settings = small(tmp_path, stop={"steps": 4}, checkpoint={"every_steps": 2})
    one = training(settings)
    world = World({})
    one.run(world)
    next(iter(one.prepared.parameters.values())).data()[0] = np.inf
    with pytest.raises(TrainingFailedError, match=r"not finite numbers after step 4: .*step-000000002"):
        finish(one, world)
    assert fetch_results(one.prepared.storage, tmp_path / "results") == []


def test_replicas_are_compared_before_they_are_made_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gather(value: Any, what: str) -> list[Any]:
        return [value, "another rank's"] if what == "digests" else [value]

    monkeypatch.setattr("trainer.training.ending.gather_objects", gather)
    settings = small(tmp_path, checkpoint={"every_steps": 4, "average": 2})
    one, scores = finished(settings)
    assert (scores["replicas_identical"], scores["parameters_sha256"]) == (False, {"0": one.state.digest()})


def test_an_average_of_fewer_checkpoints_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    finished(small(tmp_path, stop={"steps": 5}, checkpoint={"every_steps": 4, "keep": 6, "average": 6}))
    assert "the mean of 2 checkpoints: there are no 6 yet" in caplog.text


def test_validation_pairs_that_are_too_long_are_told_and_without_any_there_is_no_validation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    batch, stop = {"tokens": 256, "max_tokens": 16}, {"steps": 4, "validate_every_steps": 2}
    training(small(tmp_path, batch=batch))
    told = re.search(r"(\d+) of 12 validation pairs are longer than 16 tokens and are left out", caplog.text)
    assert told and 0 < int(told[1]) < 12
    with pytest.raises(TrainingFailedError, match=r"no validation pair is within batch.max_tokens \(5\)"):
        training(small(tmp_path, corpus={**CORPUS, "held_out": 2}, batch={**batch, "max_tokens": 5}, stop=stop))


def test_without_resume_a_training_begins_at_the_beginning(tmp_path: Path) -> None:
    settings = small(tmp_path, stop={"steps": 4})
    training(settings).run(World({}))
    again = training(settings, resume=False)
    again.run(World({}))
    assert again.state.progress.restarts == 0
    assert again.state.progress.log[0]["step"] == 1


def test_a_loss_that_is_no_number_stops_it_and_the_last_good_checkpoint_can_be_gone_on_from(tmp_path: Path) -> None:
    every = {"every_steps": 1}
    trained(small(tmp_path, stop={"steps": 3}, checkpoint={"every_steps": 3}))
    wild = small(tmp_path, optimizer={"learning_rate": 1e30, "warmup_steps": 0}, checkpoint=every)
    expected = r"the loss became (nan|inf) at step 5: .*learning_rate.*step-000000003"
    with pytest.raises(TrainingFailedError, match=expected):
        training(wild, resume=True).run(World({}))  # step 4 leaves a checkpoint, of parameters that are beyond use
    tame = training(small(tmp_path, stop={"steps": 5}, optimizer={"learning_rate": 1e-4}), resume=True)
    tame.run(World({}))
    assert (tame.state.progress.restarts, tame.state.progress.step) == (1, 5)
    assert np.isfinite(tame.state.progress.loss or np.nan)


def test_checkpoints_of_another_training_are_neither_gone_on_from_nor_replaced(tmp_path: Path) -> None:
    trained(small(tmp_path, stop={"steps": 8}))
    with pytest.raises(TrainingFailedError, match=r"none of the checkpoints in .* can be used"):
        training(small(tmp_path, seed=2), resume=True).run(World({}))
    kept = sorted(path.name for path in (tmp_path / "storage" / "checkpoints").iterdir())
    assert kept == ["step-000000004", "step-000000008"]


def test_a_loss_that_is_no_number_before_any_checkpoint_says_to_start_again(tmp_path: Path) -> None:
    wild = small(tmp_path, optimizer={"learning_rate": 1e30, "warmup_steps": 0}, checkpoint={"every_steps": 1})
    with pytest.raises(TrainingFailedError, match=r"at step 2: .* and start again"):
        training(wild).run(World({}))


def test_validation_without_progress_is_logged_and_stops_it_early(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stop = {"steps": 500, "validate_every_steps": 2, "patience": 2}
    one = training(small(tmp_path, stop=stop, optimizer={"learning_rate": 1e-12}))
    with caplog.at_level(logging.INFO):
        one.run(World({}))
    assert one.state.progress.step < 500
    assert "no better validation loss" in (one.state.progress.stopped or "")
    losses = {line["step"]: line["validation_loss"] for line in one.state.progress.log if "validation_loss" in line}
    assert list(losses) == list(range(2, one.state.progress.step + 1, 2))
    assert losses[one.state.progress.step] == pytest.approx(
        validation_losses(one.prepared, World({}), [1.0])[0], abs=1e-4
    )
    assert f"step 2 validation loss {losses[2]:.4f}, perplexity " in caplog.text
    assert f", best loss {losses[2]:.4f}" in caplog.text


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_sentences_as_long_as_the_model_takes_are_trained_on_validated_and_translated(
    tmp_path: Path, norm: str
) -> None:
    """Arrays are padded to lengths of a multiple of 8, which 22 is not."""
    sizes = {"preset": "tiny", "layers": 1, "units": 16, "hidden": 16, "heads": 2, "max_length": 22, "norm": norm}
    batch, stop = {"tokens": 256, "max_tokens": 22}, {"steps": 2, "validate_every_steps": 1}
    settings = small(tmp_path, model=sizes, batch=batch, stop=stop)
    one, scores = finished(settings)
    one.warm_up(1)
    assert max(len(source) for source, _ in one.prepared.validation) > 16
    assert validated_at(one) == [1, 2]
    assert scores["steps"] == 2


def test_it_ends_after_the_given_tokens_or_epochs(tmp_path: Path) -> None:
    by_tokens = training(small(tmp_path / "1", stop={"tokens": 500}))
    by_tokens.run(World({}))
    assert 500 <= by_tokens.state.progress.tokens < 500 + 256
    by_epochs = training(small(tmp_path / "2", stop={"epochs": 1}))
    by_epochs.run(World({}))
    assert by_epochs.state.progress.step == by_epochs.prepared.batches.batches_per_epoch


def test_the_results_are_kept_and_can_be_fetched(tmp_path: Path) -> None:
    settings = small(tmp_path, checkpoint={"every_steps": 4, "average": 2})
    one = training(settings)
    world = World({})
    one.run(world)
    finish(one, world)
    names = fetch_results(one.prepared.storage, tmp_path / "results")
    assert names == [
        "model-card.md",
        "model.json",
        "model.params",
        "scores.json",
        "train.log",
        "training.yml",
        "vocabulary",
    ]
    scores = json.loads((tmp_path / "results" / "scores.json").read_text())
    assert (scores["steps"], scores["steps_lost"], scores["replicas_identical"]) == (12, 0, True)
    assert scores["parameters_sha256"] == {"0": one.state.digest()}
    lines = [json.loads(line) for line in (tmp_path / "results" / "train.log").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 5, 10]
    first = one.prepared.batches.parts_at(0, Cut())[0]
    assert first is not None
    assert lines[0]["padding_share"] == pytest.approx(first.padding_share, abs=1e-4)
    assert all(0 <= line["data_wait_share"] < 1 for line in lines)


def test_a_node_that_is_too_small_says_so_and_takes_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CENTAVO_EMULATED_MEMORY_BYTES", "1000000")
    settings = small(tmp_path)
    with pytest.raises(NodeTooSmallError, match=r"needs about \d+ MiB here and the node has 1 MiB"):
        training(settings)
    with caplog.at_level(logging.ERROR):
        assert Rank.of(settings).prepare(Silent()) is None
    fact = json.loads((tmp_path / "facts.d" / "iteration.fact").read_text())
    assert fact["state"] == "failed"
    assert fact["reason"] in caplog.text


@pytest.mark.parametrize(("room", "expected"), [(0.9, [5, 10]), (10, [])])
def test_memory_is_given_back_while_it_is_scarce(
    room: float, expected: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = training(small(tmp_path))
    given = []
    monkeypatch.setattr(schedule, "give_back", lambda: given.append(one.state.progress.step))
    monkeypatch.setenv("CENTAVO_EMULATED_MEMORY_BYTES", str(round(room * resident_bytes())))
    one.run(World({}))
    assert given == expected


def test_a_rank_with_an_emulated_speed_is_no_faster_than_on_the_emulated_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The core trains the tokens of the pass in half a second, and the rank has half of it."""
    prepared = training(small(tmp_path)).prepared
    part = collate(prepared.batches.samples_at(0), prepared.vocabulary.pad_id)
    monkeypatch.setenv("CENTAVO_EMULATED_CORE_TOKENS_PER_S", str(2 * part.target_tokens))
    assert TrainingStep(prepared, speed=0.5).compute([part]).compute_time_s >= 1.0


def test_accumulated_gradients_are_those_of_one_large_batch(tmp_path: Path) -> None:
    model = {"preset": "tiny", "layers": 1, "units": 16, "hidden": 16, "heads": 2, "dropout": 0.0}
    batch = {"tokens": 256, "max_tokens": 120, "accumulate": 2}
    one = training(small(tmp_path / "1", model=model, batch=batch, stop={"steps": 1}))
    one.run(World({}))
    assert (one.state.progress.step, one.state.progress.cursor) == (1, 2)

    other = training(small(tmp_path / "2", model=model))
    batches = other.prepared.batches
    large = collate([*batches.samples_at(0), *batches.samples_at(1)], other.prepared.vocabulary.pad_id)
    TrainingStep(other.prepared, speed=None).compute([large])
    assert one.state.progress.tokens == large.target_tokens
    for name, parameter in one.prepared.parameters.items():
        found, expected = parameter.grad(), other.prepared.parameters[name].grad()
        scale = float(expected.abs().max().asscalar())
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), atol=1e-4 * scale)
