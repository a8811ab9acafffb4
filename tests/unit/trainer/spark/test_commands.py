"""The commands on Spark, where its packages are missing or where options do not go together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.raw_text import preparation
from trainer.cli import main
from trainer.data.petastorm import extra

COMMANDS = {
    "prepare --engine spark": ["prepare", "--engine", "spark", "--config", "corpus.yml"],
    "spark-train": ["spark-train", "--config", "training.yml"],
    "spark-translate": ["spark-translate", "--model", "m", "--input", "i", "--output", "o"],
    "spark-score": ["spark-score", "--input", "i"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_tells_how_to_install_what_it_needs(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extra, "PACKAGES", ("numpy", "centavo_no_such_package"))
    assert main(COMMANDS[name]) == 2
    told = capsys.readouterr().err
    assert f"{name} needs packages that are not installed (centavo_no_such_package)" in told
    assert told.strip().endswith("make setup SPARK=1")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--engine", "spark", "--processes", "2"], "--processes belongs to the built-in engine"),
        (["--master", "local[2]"], "--master and --petastorm belong to --engine spark"),
        (["--petastorm", "kept"], "--master and --petastorm belong to --engine spark"),
    ],
)
def test_options_of_the_other_engine_are_refused(
    options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = preparation(tmp_path)
    (tmp_path / "corpus.yml").write_text(settings.model_dump_json())
    assert main(["prepare", "--config", str(tmp_path / "corpus.yml"), *options]) == 2
    assert told in capsys.readouterr().err
    assert not Path(settings.output).exists()


@pytest.mark.needs_tool("spark")
def test_a_folder_for_petastorm_needs_a_corpus_to_prepare(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spark-train", "--config", "training.yml", "--petastorm", "kept"]) == 2
    assert "--petastorm belongs to --prepare" in capsys.readouterr().err
