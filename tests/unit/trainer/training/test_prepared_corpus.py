"""A training reads a prepared corpus: the same steps wherever it lies, resumed bit by bit across shards."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.raw_text import preparation
from tests.support.small_training import small
from trainer.elastic.world import World
from trainer.messages.lines import Silent
from trainer.node.fact_writer import FactWriter
from trainer.node.metadata import Instance
from trainer.node.requests import Requests
from trainer.preparing.prepare import prepare_corpus
from trainer.settings.section import SettingsError
from trainer.settings.training import Settings
from trainer.training.ending import finish
from trainer.training.errors import TrainingFailedError
from trainer.training.loop import Training
from trainer.training.prepare import prepare


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    settings = preparation(tmp_path_factory.mktemp("corpus"))
    prepare_corpus(settings, 1)
    return settings.output


def training(settings: Settings, resume: bool = False) -> Training:
    facts = FactWriter(Path(settings.facts.path), Instance("i-1", "test"))
    return Training(prepare(settings), facts, Requests(), Silent(), None, resume)


def settings_of(folder: Path, corpus: str, steps: int, **sections: Any) -> Settings:
    sections = {"batch": {"tokens": 512, "max_tokens": 100}, "checkpoint": {"every_steps": 1}} | sections
    return small(folder, corpus={"kind": "prepared", "directory": corpus}, stop={"steps": steps}, **sections)


def test_bpe_dropout_of_a_vocabulary_without_merges_is_refused(tmp_path: Path) -> None:
    """SentencePiece takes the same number for something else there: 0.01 would nearly make pieces at random."""
    settings = preparation(tmp_path, vocabulary={"size": 400, "kind": "unigram"})
    prepare_corpus(settings, 1)
    with pytest.raises(TrainingFailedError, match="this vocabulary has none: set it to 0"):
        prepare(settings_of(tmp_path, settings.output, 1, vocabulary={"dropout": 0.01}))
    assert prepare(settings_of(tmp_path, settings.output, 1)).batches.batches_per_epoch > 0


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_training_stopped_in_any_shard_and_resumed_elsewhere_ends_bitwise_equal(
    dropout: float, tmp_path: Path, corpus: str
) -> None:
    sections = {"vocabulary": {"dropout": dropout}}
    whole = training(settings_of(tmp_path / "whole", corpus, 30, **sections))
    whole.run(World({}))
    assert whole.prepared.batches.batches_per_epoch < 30
    for step in (7, 19):
        part = training(settings_of(tmp_path / "parts", corpus, step, **sections), resume=True)
        part.run(World({}))
        part.prepared.checkpoints.finish()
    moved = shutil.copytree(corpus, tmp_path / "moved", dirs_exist_ok=True)
    last = training(settings_of(tmp_path / "parts", str(moved), 30, **sections), resume=True)
    last.run(World({}))
    assert last.state.progress.restarts == 2
    expected, found = whole.state.snapshot().arrays, last.state.snapshot().arrays
    for name in expected:
        np.testing.assert_array_equal(expected[name], found[name], err_msg=name)


def test_a_training_on_a_prepared_corpus_is_scored_on_its_test_split(tmp_path: Path, corpus: str) -> None:
    translate = {"beam_size": 1, "max_length": 8, "test_sentences": 7}
    one = training(settings_of(tmp_path, corpus, 2, translate=translate))
    one.run(World({}))
    scores = finish(one, World({}))
    assert len(one.prepared.test) == 7
    assert [example["source"] for example in scores["examples"]] == [source for source, _ in one.prepared.test[:5]]


def test_a_prepared_corpus_needs_its_place() -> None:
    with pytest.raises(SettingsError, match="a prepared corpus needs directory"):
        small(Path(), corpus={"kind": "prepared"})
