"""Validations: what they measure, what they are judged by, and how all ranks take part in them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import mxnet as mx
import pytest

from tests.support.small_training import CORPUS, small
from trainer.elastic.world import World
from trainer.inference.chrf import character_score
from trainer.inference.score import score
from trainer.inference.translate import translate
from trainer.messages.lines import Silent
from trainer.record.validation import Validation
from trainer.training import loop
from trainer.training.ending import finish
from trainer.training.errors import TrainingFailedError, TrainingStopped
from trainer.training.loop import Training
from trainer.training.measuring import translating
from trainer.training.measuring.translating import translate_together
from trainer.training.measuring.validation import validation_losses
from trainer.worker.rank import Outcome, Rank

STOP = {"steps": 4, "validate_every_steps": 2}
GREEDY = {"decode": "greedy"}
LOST = "Horovod has been shut down. This was caused by an exception on one of the ranks."


class RankOf(World):
    """A world of several ranks, as one of them sees it. Nothing is exchanged."""

    def __init__(self, rank: int, size: int) -> None:
        super().__init__({})
        self._place = rank, size

    @property
    def rank(self) -> int:
        return self._place[0]

    @property
    def size(self) -> int:
        return self._place[1]


class ElasticWorld(World):
    """A world of one rank that begins anew as often as it is asked to."""

    is_change_pending = False

    def __init__(self) -> None:
        super().__init__({})
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1
        self.is_change_pending = False


def prepared(directory: Path, resume: bool = False, **sections: Any) -> tuple[Rank, Training]:
    rank = Rank.of(small(directory, **sections))
    training = rank.prepare(Silent(), resume=resume)
    assert training is not None
    return rank, training


def validations(training: Training) -> list[dict[str, Any]]:
    return [dict(line) for line in training.state.progress.log if "validation_loss" in line]


def test_losses_perplexity_and_scores_of_translations_are_logged_and_in_the_scores(tmp_path: Path) -> None:
    validation = {"decode": "beam", "sentences": 5}
    _, one = prepared(tmp_path, stop=STOP, validation=validation, translate={"beam_size": 2, "max_length": 6})
    world = World({})
    one.run(world)
    last = validations(one)[-1]
    assert [line["step"] for line in validations(one)] == [2, 4]
    smoothed, sharp = validation_losses(one.prepared, world, [1.0])
    assert last["validation_loss"] == pytest.approx(smoothed, abs=1e-4)
    assert last["validation_unsmoothed_loss"] == pytest.approx(sharp, abs=1e-4)
    assert last["validation_perplexity"] == pytest.approx(math.exp(sharp), rel=1e-3)
    pairs = one.prepared.validation_pairs
    assert len(pairs) == 5
    settings = one.prepared.settings.translate
    hypotheses = translate(one.prepared.model, one.prepared.vocabulary, [source for source, _ in pairs], settings)
    references = [target for _, target in pairs]
    assert last["validation_bleu"] == pytest.approx(score(hypotheses, references).bleu, abs=1e-3)
    assert last["validation_chrf"] == pytest.approx(character_score(hypotheses, references).chrf, abs=1e-3)
    finish(one, world)
    scores = json.loads((tmp_path / "storage" / "results" / "scores.json").read_text())
    assert scores["validation"]["last"]["chrf"] == last["validation_chrf"]
    assert scores["validation"]["last"]["step"] == 4


def test_greedy_decoding_has_one_hypothesis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beams = []

    def together(*arguments: Any) -> list[str]:
        beams.append(arguments[4].beam_size)
        return translate_together(*arguments)

    monkeypatch.setattr("trainer.training.measuring.validation.translate_together", together)
    translation = {"beam_size": 3, "max_length": 4}
    _, one = prepared(tmp_path, stop={**STOP, "steps": 2}, validation=GREEDY, translate=translation)
    one.run(World({}))
    assert beams == [1]


def test_without_decode_the_text_of_the_validation_split_is_not_read(tmp_path: Path) -> None:
    _, one = prepared(tmp_path, stop={**STOP, "steps": 2})
    one.run(World({}))
    assert one.prepared.validation_pairs == []
    assert "validation_bleu" not in validations(one)[0]


def test_the_ranks_translate_each_sentence_once_and_a_slow_rank_fewer_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, one = prepared(tmp_path, translate={"beam_size": 1, "max_length": 4, "batch_size": 2})
    sentences = [source for source, _ in one.prepared.test]
    settings, shares = one.prepared.settings.translate, [0.7, 0.2, 0.1]
    parts: list[dict[int, str]] = []
    meetings: list[int] = []
    monkeypatch.setattr(translating, "gather_objects", lambda value, _: parts.append(value) or list(parts))
    for rank in range(3):
        meetings.append(0)

        def meet() -> None:
            meetings[-1] += 1

        found = translate_together(one.prepared, RankOf(rank, 3), shares, sentences, settings, meet)
    assert found == translate(one.prepared.model, one.prepared.vocabulary, sentences, settings)
    assert sorted(index for part in parts for index in part) == list(range(len(sentences)))
    assert len(parts[0]) > len(parts[1]) > 0
    assert len(set(meetings)) == 1, "a rank that meets the others less often than they do lets them wait for ever"


@pytest.mark.parametrize(
    ("measure", "values", "ends_with"),
    [
        ("bleu", [10.0, 9.0, 9.5], "no better validation BLEU than 10.0000 in 2 validations"),
        ("chrf", [10.0, 11.0, 12.0], None),
        ("perplexity", [10.0, 11.0, 12.0], "no better validation perplexity than 10.0000 in 2 validations"),
    ],
)
def test_the_measure_decides_when_patience_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measure: str, values: list[float], ends_with: str | None
) -> None:
    found = iter([Validation(1.0, math.log(value), value, value) for value in values])
    monkeypatch.setattr("trainer.training.schedule.validate", lambda *_: next(found))
    stop = {"steps": 6, "validate_every_steps": 2, "patience": 2}
    _, one = prepared(tmp_path, stop=stop, validation={**GREEDY, "measure": measure})
    one.run(World({}))
    assert one.state.progress.stopped == ends_with


def test_a_new_measure_begins_with_nothing_to_be_better_than(tmp_path: Path) -> None:
    sections = {"checkpoint": {"every_steps": 2}, "optimizer": {"learning_rate": 1e-12}}
    stop = {"validate_every_steps": 2, "patience": 2}
    _, first = prepared(tmp_path, stop={"steps": 4, **stop}, **sections)
    first.run(World({}))
    first.prepared.checkpoints.finish()
    assert first.state.progress.poor_validations == 1
    _, again = prepared(tmp_path, True, stop={"steps": 6, **stop}, validation={"measure": "perplexity"}, **sections)
    again.run(World({}))
    assert again.state.progress.step == 6
    assert again.state.progress.best_validation == pytest.approx(
        validations(again)[-1]["validation_perplexity"], rel=1e-3
    )


def test_a_validation_that_is_no_number_leaves_scores_that_are_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = Validation(float("nan"), float("inf"))
    monkeypatch.setattr("trainer.training.schedule.validate", lambda *_: nothing)
    _, one = prepared(tmp_path, stop={**STOP, "patience": 2}, checkpoint={"every_steps": 2, "keep_best": 2})
    world = World({})
    one.run(world)
    assert one.state.progress.stopped == "no better validation loss than any number in 2 validations"
    finish(one, world)
    written = (tmp_path / "storage" / "results" / "scores.json").read_text()
    scores = json.loads(written, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert scores["validation"]["best"] is None
    assert scores["validation"]["last"].keys() == {"step", "perplexity"}


def test_a_rank_that_is_lost_in_a_validation_costs_a_new_world_and_no_validation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [mx.base.MXNetError(LOST)]

    def meet(values: Any, name: str) -> Any:
        if name == "meeting" and left:
            raise left.pop()
        return values

    world = ElasticWorld()
    monkeypatch.setattr(loop, "sum_vector", meet)
    monkeypatch.setattr("trainer.worker.rank.World", lambda: world)
    rank, one = prepared(tmp_path, stop=STOP, validation=GREEDY)
    assert rank.train(one, Silent()) is Outcome.FINISHED
    assert (world.resets, [line["step"] for line in validations(one)]) == (1, [2, 4])


def test_hosts_that_come_need_not_wait_for_the_end_of_a_validation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, meetings = ElasticWorld(), []

    def meet(values: Any, name: str) -> Any:
        meetings.append(one.state.progress.step)
        return values

    def validate(*arguments: Any) -> Validation:
        if not meetings:
            world.is_change_pending = True
        arguments[3]()
        return Validation(1.0, 1.0, 1.0, 1.0)

    monkeypatch.setattr(loop, "sum_vector", meet)
    monkeypatch.setattr("trainer.training.schedule.validate", validate)
    monkeypatch.setattr("trainer.worker.rank.World", lambda: world)
    rank, one = prepared(tmp_path, stop=STOP, validation=GREEDY)
    assert rank.train(one, Silent()) is Outcome.FINISHED
    assert (world.resets, meetings) == (1, [2, 2, 4])
    assert one.state.progress.steps_lost == 0


def test_a_stop_ends_a_validation_and_it_is_made_when_the_training_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rank, one = prepared(tmp_path, stop=STOP, validation=GREEDY)
    monkeypatch.setattr(loop, "sum_vector", lambda values, name: [rank.requests.stop("enough"), [True, False]][1])
    with pytest.raises(TrainingStopped, match="enough"):
        one.run(World({}))
    assert (one.state.progress.step, validations(one)) == (2, [])
    monkeypatch.undo()
    _, again = prepared(tmp_path, True, stop=STOP, validation=GREEDY)
    again.run(World({}))
    assert [line["step"] for line in validations(again)] == [2, 4]


def test_a_corpus_without_validation_text_cannot_be_decoded(tmp_path: Path) -> None:
    with pytest.raises(TrainingFailedError, match="no pair for validation: set it to none"):
        from trainer.training.prepare import _validation_pairs

        class Empty:
            def shards(self, *_: Any, **__: Any) -> Any:
                return type("Shards", (), {"all": staticmethod(list)})

        settings = small(tmp_path, stop=STOP, validation=GREEDY, corpus=CORPUS)
        _validation_pairs(settings, Empty(), None)  # type: ignore[arg-type]
