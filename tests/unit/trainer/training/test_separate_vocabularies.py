"""A training with a vocabulary for each language: from the text to translations, bit by bit again when resumed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece

from tests.support.raw_text import PAIRS, preparation
from tests.support.small_training import CORPUS, small
from trainer import cli
from trainer.checkpoint.checkpoint import CheckpointError
from trainer.checkpoint.initial import initial_parameters
from trainer.data.prepared.prepared_corpus import open_corpus
from trainer.elastic.world import World
from trainer.messages.lines import Silent
from trainer.preparing.prepare import prepare_corpus
from trainer.settings.section import SettingsError, section_from
from trainer.settings.training import Settings
from trainer.training.ending import finish
from trainer.training.errors import TrainingStopped
from trainer.training.loop import Training
from trainer.training.memory_plan import parameter_count, plan_of
from trainer.training.prepare import prepare
from trainer.worker.rank import Rank

SEPARATE = {"size": 380, "separate": True}
SECTIONS: dict[str, Any] = {
    "vocabulary": {**SEPARATE, "dropout": 0.1},
    "stop": {"steps": 6, "validate_every_steps": 3},
    "validation": {"decode": "greedy"},
    "checkpoint": {"every_steps": 2},
}


def prepared(directory: Path, resume: bool = False, **sections: Any) -> tuple[Rank, Training]:
    rank = Rank.of(small(directory, **{**SECTIONS, **sections}))
    training = rank.prepare(Silent(), resume=resume)
    assert training is not None
    return rank, training


def trained(directory: Path, resume: bool = False, **sections: Any) -> Training:
    _, training = prepared(directory, resume, **sections)
    world = World({})
    training.run(world)
    finish(training, world)
    return training


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Training]:
    directory = tmp_path_factory.mktemp("separate")
    return directory, trained(directory)


def test_source_and_target_have_an_embedding_each_and_the_target_s_is_the_output_s(
    whole: tuple[Path, Training],
) -> None:
    ready = whole[1].prepared
    sizes = ready.vocabulary.separate_sizes
    assert sizes is not None
    shapes = [parameter.shape for parameter in ready.parameters.values()]
    assert sorted(shape for shape in shapes if shape[0] in sizes) == sorted(
        [(sizes[0], 16), (sizes[1], 16), (sizes[1],)]
    )
    counted = parameter_count(ready.settings.model.architecture(), len(ready.vocabulary), separate=True)
    assert counted == pytest.approx(sum(np.prod(shape) for shape in shapes), rel=0.01)
    plans = [plan_of(small(Path("x"), vocabulary={"size": 380, "separate": one}), None) for one in (True, False)]
    assert plans[0].least > plans[1].least


def test_it_is_resumed_bit_by_bit(whole: tuple[Path, Training], tmp_path: Path) -> None:
    rank, torn = prepared(tmp_path)
    update = rank.facts.update

    def update_and_stop(figures: Any) -> bool:
        if figures.step == 3:
            rank.requests.stop("enough")
        return update(figures)

    rank.facts.update = update_and_stop  # type: ignore[method-assign]
    with pytest.raises(TrainingStopped):
        torn.run(World({}))
    assert torn.state.progress.step < 6
    assert trained(tmp_path, resume=True).state.digest() == whole[1].state.digest()


def test_the_results_translate_and_other_programs_find_both_models(
    whole: tuple[Path, Training], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = whole[0] / "storage" / "results"
    for side, model in zip(("source", "target"), whole[1].prepared.vocabulary.models, strict=True):
        read = sentencepiece.SentencePieceProcessor(model_file=str(results / f"vocabulary.{side}"))
        assert read.serialized_model_proto() == model
        assert f"vocabulary.{side}" in (results / "model-card.md").read_text()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    assert cli.main(["translate", "--model", str(results), "--beam-size", "2"]) == 0
    assert capsys.readouterr().out.count("\n") == 2
    assert json.loads((results / "model.json").read_text())["separate"] == list(
        whole[1].prepared.vocabulary.separate_sizes or ()
    )


def test_it_cannot_be_begun_with_by_a_training_of_one_vocabulary(whole: tuple[Path, Training], tmp_path: Path) -> None:
    joint = prepare(small(tmp_path, vocabulary={"size": 380}))
    with pytest.raises(CheckpointError, match="another vocabulary"):
        initial_parameters(str(whole[0] / "storage"), joint.checkpoints.origin, {})


def test_a_prepared_corpus_may_have_them(tmp_path: Path) -> None:
    prepare_corpus(preparation(tmp_path, vocabulary=SEPARATE), 1)
    corpus = open_corpus(str(tmp_path / "corpus"), tmp_path / "cache")
    vocabulary = corpus.vocabulary()
    assert corpus.manifest.vocabulary.separate and vocabulary.separate_sizes is not None
    shard = corpus.shards("validation", vocabulary, with_text=True).open(0)
    assert shard.texts is not None
    source, target = shard.samples[0]
    assert source == [*vocabulary.encode(shard.texts[0][0]), vocabulary.eos_id]
    assert vocabulary.decode(target) == shard.texts[0][1]
    assert set(shard.texts[0]) <= {text for pair in PAIRS for text in pair}
    sections = {"corpus": {"kind": "prepared", "directory": str(tmp_path / "corpus")}, "vocabulary": {}}
    assert trained(tmp_path, **sections).state.progress.step == 6


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"vocabulary": {"separate": True, "taken": "v"}}, "leave out separate, or taken"),
        (
            {"vocabulary": {"separate": True}, "corpus": {"kind": "prepared", "directory": "d"}},
            "vocabulary.separate: a prepared corpus has its vocabulary already",
        ),
    ],
)
def test_settings_that_say_it_twice_are_refused(sections: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        section_from(Settings, {"stop": {"steps": 1}, "corpus": CORPUS, **sections})
