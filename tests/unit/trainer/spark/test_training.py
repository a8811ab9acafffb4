"""`horovod.spark.run` starts the ranks of a training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.raw_text import preparation
from tests.support.small_training import small
from trainer.cli import main
from trainer.settings.preparation import PreparationSettings

pytestmark = [pytest.mark.slow, pytest.mark.needs_tool("spark"), pytest.mark.usefixtures("commands_on_spark")]


def run(folder: Path, *options: str, **sections: Any) -> int:
    """Runs the command with the settings of a small training."""
    (folder / "training.yml").write_text(small(folder, **sections).model_dump_json())
    return main(["spark-train", "--config", str(folder / "training.yml"), *options])


def test_a_corpus_is_prepared_and_trained_on_by_two_ranks_on_one_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "corpus.yml").write_text(preparation(tmp_path).model_dump_json())
    kept = str(tmp_path / "kept")
    options = ["--prepare", str(tmp_path / "corpus.yml"), "--petastorm", kept, "--results", str(tmp_path / "results")]
    corpus = {"kind": "petastorm", "directory": kept}
    assert run(tmp_path, *options, corpus=corpus, batch={"tokens": 512, "max_tokens": 100}) == 0
    assert "2 ranks have finished" in capsys.readouterr().out
    scores = json.loads((tmp_path / "results" / "scores.json").read_text())
    assert (scores["steps"], scores["replicas_identical"]) == (12, True)
    fact = json.loads((tmp_path / "facts.d" / "iteration.fact").read_text())
    assert fact["world_size"] == 2


def test_a_rank_that_cannot_begin_ends_the_training_with_its_reason(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    corpus = {"kind": "prepared", "directory": str(tmp_path / "nowhere")}
    assert run(tmp_path, "--ranks", "1", corpus=corpus) == 2
    told = capfd.readouterr().err
    assert "error: the training on Spark has failed: Horovod detected" in told
    assert "nowhere is no prepared corpus: manifest.json is missing" in told


def test_more_ranks_than_tasks_at_a_time_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--ranks", "3") == 2
    told = capsys.readouterr().err
    assert "3 ranks cannot train: the master local[2] runs from 1 to 2 tasks at a time" in told


def test_a_training_is_resumed_by_another_number_of_ranks(tmp_path: Path, on_spark: PreparationSettings) -> None:
    sections = {"corpus": {"kind": "prepared", "directory": on_spark.output}}
    sections |= {"batch": {"tokens": 512, "max_tokens": 100}}
    assert run(tmp_path, "--ranks", "2", stop={"steps": 5}, **sections) == 0
    assert run(tmp_path, "--ranks", "1", "--resume", stop={"steps": 9}, **sections) == 0
    assert json.loads((tmp_path / "storage" / "results" / "scores.json").read_text())["restarts"] == 1
