"""Translating a column of a DataFrame, and scoring it, as without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.raw_text import PAIRS
from trainer.cli import main
from trainer.data.vocabulary import Vocabulary
from trainer.inference.score import score
from trainer.inference.trained import load_trained
from trainer.inference.translate import translate
from trainer.model.build import build
from trainer.settings.model import ModelSettings
from trainer.settings.section import section_from
from trainer.settings.training import TranslateSettings

pytestmark = [pytest.mark.slow, pytest.mark.needs_tool("spark")]

SETTINGS = TranslateSettings(beam_size=2, max_length=12)
SENTENCES = [source for source, _ in PAIRS[:40]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with initial parameters."""
    folder = tmp_path_factory.mktemp("model")
    vocabulary = Vocabulary.learn((side for pair in PAIRS for side in pair), 400)
    shape = {"preset": "tiny", "layers": 1, "units": 16, "hidden": 16, "heads": 2}
    build(section_from(ModelSettings, shape), len(vocabulary)).save(folder, {"steps": 0, "bleu": 0.0})
    vocabulary.save(folder)
    return folder


def test_a_column_is_translated_as_without_spark(spark: Any, model: Path) -> None:
    from trainer.spark.translating import translate_dataframe

    rows = [(number, sentence) for number, sentence in enumerate([*SENTENCES, "", None])]
    frame = spark.createDataFrame(rows, "number int, source string").repartition(2)
    translated = translate_dataframe(frame, model, SETTINGS)
    assert translated.columns == ["number", "source", "translation"]
    found = [row.translation for row in sorted(translated.collect(), key=lambda row: row.number)]
    assert found == [*translate(*load_trained(model), SENTENCES, SETTINGS), "", ""]
    assert len(set(found)) > 5


def test_the_score_of_a_column_is_that_of_all_its_sentences(spark: Any) -> None:
    from trainer.spark.translating import score_dataframe

    references = [target for _, target in PAIRS[:60]]
    hypotheses = [text if number % 3 else f"{text} und {number}" for number, text in enumerate(references)]
    rows = list(zip(hypotheses, references, strict=True))
    frame = spark.createDataFrame(rows, "found string, wanted string").repartition(5)
    for tokenize, lowercase in (("13a", False), ("char", True)):
        expected = score(hypotheses, references, tokenize, lowercase)
        found = score_dataframe(frame, "found", "wanted", tokenize, lowercase)
        assert found == expected and 0 < found.bleu < 100


def test_columns_that_are_not_there_or_are_in_the_way_are_told(spark: Any, model: Path, tmp_path: Path) -> None:
    from trainer.spark.session import SparkError
    from trainer.spark.translating import score_dataframe, translate_dataframe

    frame = spark.createDataFrame([], "source string, translation string")
    with pytest.raises(SparkError, match="there is no column text; there are source, translation"):
        translate_dataframe(frame, model, SETTINGS, "text")
    with pytest.raises(SparkError, match="there is a column translation already"):
        translate_dataframe(frame, model, SETTINGS)
    with pytest.raises(SparkError, match="there is no translation to score"):
        score_dataframe(frame, "translation", "source")
    with pytest.raises(ValueError, match="cannot read"):
        translate_dataframe(frame, tmp_path, SETTINGS, into="other")


@pytest.mark.usefixtures("commands_on_spark")
def test_the_commands_translate_and_score_parquet(
    spark: Any, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read, written = tmp_path / "in.parquet", tmp_path / "out"
    spark.createDataFrame(PAIRS[:20], "en string, target string").write.parquet(str(read))
    options = ["--model", str(model), "--column", "en", "--beam-size", "1", "--input", str(read)]
    assert main(["spark-translate", *options, "--output", str(written)]) == 0
    rows = spark.read.parquet(str(written)).collect()
    expected = translate(*load_trained(model), [row.en for row in rows], TranslateSettings(beam_size=1))
    assert [row.translation for row in rows] == expected
    assert main(["spark-score", "--input", str(written)]) == 0
    told = capsys.readouterr().out.strip()
    assert told == score(expected, [row.target for row in rows]).told
    assert main(["spark-translate", *options, "--output", str(written)]) == 2
    assert "already exists" in capsys.readouterr().err
