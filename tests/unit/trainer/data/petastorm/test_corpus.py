"""A training reads a data set of Petastorm as it reads the prepared corpus with the same pairs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.small_training import small
from trainer.data.petastorm import extra
from trainer.data.petastorm.corpus import open_petastorm
from trainer.data.petastorm.extra import ExtraMissingError
from trainer.data.prepared.manifest import PreparedCorpusError
from trainer.data.prepared.prepared_corpus import PreparedCorpus, open_corpus
from trainer.elastic.world import World
from trainer.messages.lines import Silent
from trainer.node.fact_writer import FactWriter
from trainer.node.metadata import Instance
from trainer.node.requests import Requests
from trainer.settings.preparation import PreparationSettings
from trainer.settings.section import SettingsError
from trainer.training.loop import Training
from trainer.training.prepare import prepare


@pytest.fixture
def kept(tmp_path: Path, on_spark: PreparationSettings) -> Path:
    """A copy of a data set."""
    return Path(shutil.copytree(Path(on_spark.output).with_name("kept"), tmp_path / "kept"))


def trained(folder: Path, corpus: dict[str, Any], steps: int, resume: bool = False) -> Training:
    sections: dict[str, Any] = {"batch": {"tokens": 512, "max_tokens": 100}, "checkpoint": {"every_steps": 1}}
    settings = small(folder, corpus=corpus, stop={"steps": steps}, vocabulary={"dropout": 0.1}, **sections)
    facts = FactWriter(Path(settings.facts.path), Instance("i-1", "test"))
    training = Training(prepare(settings), facts, Requests(), Silent(), None, resume)
    training.run(World({}))
    training.prepared.checkpoints.finish()
    return training


def contents(corpus: PreparedCorpus, split: str) -> list[Any]:
    shards = corpus.shards(split, corpus.vocabulary(), with_text=True).all()
    return [(sample, shard.texts[index]) for shard in shards if shard.texts is not None
            for index, sample in enumerate(shard.samples)]  # fmt: skip


@pytest.mark.slow
@pytest.mark.needs_tool("spark")
def test_every_shard_has_the_same_ids_and_the_same_text(
    tmp_path: Path, kept: Path, on_spark: PreparationSettings
) -> None:
    read, expected = open_petastorm(kept, tmp_path / "cache"), open_corpus(on_spark.output, tmp_path)
    assert read.manifest == expected.manifest
    for split in ("train", "validation", "test"):
        assert contents(read, split) == contents(expected, split)


@pytest.mark.slow
@pytest.mark.needs_tool("spark")
def test_a_training_is_bitwise_that_on_the_prepared_corpus_and_continues_one_on_it(
    tmp_path: Path, kept: Path, on_spark: PreparationSettings
) -> None:
    prepared = {"kind": "prepared", "directory": on_spark.output}
    whole = trained(tmp_path / "whole", prepared, 20)
    trained(tmp_path / "parts", prepared, 9)
    last = trained(tmp_path / "parts", {"kind": "petastorm", "directory": str(kept)}, 20, resume=True)
    assert last.state.progress.restarts == 1
    expected, found = whole.state.snapshot().arrays, last.state.snapshot().arrays
    for name in expected:
        np.testing.assert_array_equal(expected[name], found[name], err_msg=name)


@pytest.mark.slow
@pytest.mark.needs_tool("spark")
@pytest.mark.parametrize("damage", ["torn", "missing", "another's"])
def test_a_shard_that_is_not_the_one_of_the_manifest_is_refused(damage: str, tmp_path: Path, kept: Path) -> None:
    (file,) = (kept / "pairs" / "shard=train-00001").glob("*.parquet")
    if damage == "torn":
        file.write_bytes(file.read_bytes()[:-200])
    elif damage == "missing":
        shutil.rmtree(file.parent)
    else:
        (other,) = (kept / "pairs" / "shard=train-00002").glob("*.parquet")
        shutil.copy(other, file)
    corpus = open_petastorm(kept, tmp_path / "cache")
    shards = corpus.shards("train", corpus.vocabulary(), with_text=True)
    shards.open(0)
    with pytest.raises(PreparedCorpusError, match=r"train.00001.*prepare the corpus again|Prepare the corpus again"):
        shards.open(1)
    assert not [path for path in (tmp_path / "cache").rglob("*00001*") if path.suffix in (".ids", ".text")]


@pytest.mark.slow
@pytest.mark.needs_tool("spark")
def test_a_data_set_without_its_manifest_is_not_whole(tmp_path: Path, kept: Path) -> None:
    (kept / "petastorm.json").unlink()
    with pytest.raises(PreparedCorpusError, match=r"petastorm.json is missing.*--engine spark --petastorm .*kept"):
        open_petastorm(kept, tmp_path)


def test_a_node_without_petastorm_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "PACKAGES", ("centavo_no_such_package",))
    with pytest.raises(ExtraMissingError, match=r"corpus.kind: petastorm needs .* make setup SPARK=1"):
        prepare(small(tmp_path, corpus={"kind": "petastorm", "directory": str(tmp_path)}))


@pytest.mark.parametrize("directory", [None, "s3://bucket/corpus"])
def test_a_data_set_needs_a_folder(directory: str | None) -> None:
    with pytest.raises(SettingsError, match="a data set of Petastorm needs directory: a folder that every node sees"):
        small(Path(), corpus={"kind": "petastorm", "directory": directory})
