"""The model card and the settings among the results: true, readable by others, and the same training again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.small_training import CORPUS, small
from trainer.elastic.world import World
from trainer.messages.lines import Silent
from trainer.record.model_card import model_card
from trainer.settings.file import read
from trainer.settings.section import section_from
from trainer.settings.training import Settings
from trainer.training.ending import finish
from trainer.training.results import settings_text
from trainer.worker.rank import Rank

CARD = {"name": "Dates | and numbers", "license": "cc-by-4.0", "data": "made by a program, <free> of rights"}


def results_of(directory: Path, **sections: Any) -> Path:
    training = Rank.of(small(directory, stop={"steps": 2, "validate_every_steps": 2}, **sections)).prepare(
        Silent(), resume=False
    )
    assert training is not None
    world = World({})
    training.run(world)
    finish(training, world)
    return directory / "storage" / "results"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return results_of(tmp_path_factory.mktemp("card"), card=CARD, optimizer={"schedule": "constant"})


def test_the_card_has_what_settings_scores_and_corpus_say(results: Path) -> None:
    card, scores = (results / "model-card.md").read_text(), json.loads((results / "scores.json").read_text())
    facts = yaml.safe_load(card.split("---")[1])
    assert facts == {
        "language": ["en", "pt"],
        "tags": ["translation"],
        "license": "cc-by-4.0",
        "metrics": ["bleu", "chrf"],
    }
    assert "# Dates \\| and numbers" in card
    assert "| source | made by a program, &lt;free> of rights |" in card
    assert f"| train, sentence pairs | {CORPUS['pairs']} |" in card
    signature = scores["chrf_signature"].replace("|", "\\|")
    assert f"| chrF | {scores['chrf']:.2f} ({signature}) |" in card
    assert f"| BLEU | {scores['bleu']:.2f} (nrefs:1" in card
    assert f"| last validation, perplexity | {scores['validation']['last']['perplexity']} |" in card
    assert "| learning rate | 0.002, 400 steps of warm-up, constant |" in card
    assert "| parameters | those of step 2 |" in card


def test_every_file_that_the_card_names_is_there_and_the_number_of_parameters_is_right(results: Path) -> None:
    import mxnet as mx

    card = (results / "model-card.md").read_text()
    section = card.split("## Files")[1].split("## Use")[0]
    named = {line.split(" | ")[0].removeprefix("| ") for line in section.splitlines()[4:] if line}
    assert named == {path.name for path in results.iterdir()} - {"model-card.md"}
    count = sum(array.size for array in mx.nd.load(str(results / "model.params")).values())
    assert f"| parameters | {count:,} |" in card


def test_every_row_of_a_table_has_its_cells(results: Path) -> None:
    for section in (results / "model-card.md").read_text().split("## ")[1:]:
        rows = [line.replace("\\|", "") for line in section.splitlines() if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1, section


def test_the_settings_are_the_same_training_again(results: Path) -> None:
    again = read(results / "training.yml", ["storage=elsewhere"])
    written = yaml.safe_load((results / "training.yml").read_text())
    assert not {"cache", "facts", "tensorboard"} & set(written)
    assert again.card.name == CARD["name"]
    assert (again.stop.steps, again.optimizer.schedule, again.model.units) == (2, "constant", 16)


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"vocabulary": {"taken": "a/vocabulary"}},
        {"optimizer": {"schedule": "cosine", "final_learning_rate": 1e-5, "decay_steps": 900}},
        {"corpus": {"kind": "files", "train": ["a", "b"], "validation": ["c", "d"], "test": ["e", "f"]}},
    ],
)
def test_any_settings_come_back_equal(sections: dict[str, Any]) -> None:
    settings = section_from(Settings, {"stop": {"steps": 5}, **sections})
    assert section_from(Settings, yaml.safe_load(settings_text(settings))) == settings


def test_a_card_says_nothing_about_a_licence_that_nobody_gave(tmp_path: Path) -> None:
    card = (results_of(tmp_path) / "model-card.md").read_text()
    assert "icen" not in card
    assert "# Translation from en to pt" in card


def test_a_sentence_cannot_break_the_card(tmp_path: Path) -> None:
    training = Rank.of(small(tmp_path)).prepare(Silent(), resume=False)
    assert training is not None
    scores = {
        **dict.fromkeys(("stopped", "init_from", "validation")),
        **{"model_of_steps": [3, 1], "steps": 3, "tokens": 5, "bleu": 1.0, "chrf": 2.0, "exact_match": 0.5},
        **{"signature": "s", "chrf_signature": "c"},
        "examples": [{"source": "a | b\n\n# c", "translation": "<script>", "reference": "`x`"}],
    }
    card = model_card(training.prepared.settings, training.prepared.manifest, 7, scores)
    assert "| a \\| b  # c | &lt;script> | \\`x\\` |" in card
    assert "| parameters | the mean of those of steps 1, 3 |" in card
