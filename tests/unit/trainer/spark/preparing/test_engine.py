"""Spark prepares a corpus to the same bytes as the built-in engine."""

from __future__ import annotations

import gzip
import hashlib
import random
from pathlib import Path
from typing import Any

import pytest

from tests.support.raw_text import PAIRS, preparation, write_pairs
from trainer.cli import main
from trainer.data.corpus.generated import distinct_pairs
from trainer.preparing.errors import PreparationError
from trainer.preparing.prepare import prepare_corpus
from trainer.settings.preparation import PreparationSettings

pytestmark = [pytest.mark.slow, pytest.mark.needs_tool("spark")]


def files_of(folder: str) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def elsewhere(settings: PreparationSettings, name: str) -> PreparationSettings:
    """The same preparation with another output."""
    folder = Path(settings.output).parent
    return settings.model_copy(update={"output": str(folder / name), "work": str(folder / f"work-{name}")})


def prepare(spark: Any, settings: PreparationSettings, kept: Path | None = None) -> Any:
    from trainer.spark.preparing.engine import prepare_on_spark

    return prepare_on_spark(spark, settings, kept)


def dirty_pairs() -> list[tuple[str, str]]:
    """Text of several chunks, with every kind of pair that is left out, and with signs that programs get wrong."""
    many, rng = distinct_pairs(17_000, "en", "pt", seed=9), random.Random(1)
    again = [*(rng.choice(many) for _ in range(500)), *((one.upper(), other) for one, other in many[:100])]
    strange = [("é 😀 e\u0301 \U0001d11e", "ü 🎉 \ufffe"), ("a\u2028b c d", "a\u0085b c d"), ("NULL", "None")]
    bad = [("x", "x"), ("", ""), ("", "vazio"), ("no", "não " * 40), ("word " * 300, "palavra " * 300), *PAIRS[400:410]]
    mixed = [*many, *again, *strange * 2, *bad * 3]
    rng.shuffle(mixed)
    return mixed


def test_a_dirty_corpus_of_many_chunks_is_prepared_to_the_same_bytes(tmp_path: Path, spark: Any) -> None:
    pairs = dirty_pairs()
    texts = [
        write_pairs(tmp_path / "raw", "large", pairs, ".gz"),
        {**write_pairs(tmp_path / "raw", "tagged", pairs[:9_000]), "tag": "<t>"},
    ]
    vocabulary = {"size": 500, "sample": 9_000}
    here = preparation(tmp_path, train=texts, shard_pairs=5_000, vocabulary=vocabulary, filters={})
    there = elsewhere(here, "spark")
    expected, found = prepare_corpus(here, 1), prepare(spark, there)
    assert found == expected
    assert files_of(there.output) == files_of(here.output)
    dropped = found.prepared["filters"]["dropped"]
    assert set(dropped) == {"empty", "identical", "too long", "length ratio", "held out", "duplicate", "near duplicate"}
    assert not [path for path in Path(there.work).iterdir() if path.is_dir()]


def test_settings_that_change_what_is_kept_give_the_same_bytes_too(tmp_path: Path, spark: Any) -> None:
    """No duplicates are looked for, pairs are held out, marks without width stay, and the vocabulary is another one."""
    pairs = [*PAIRS[:300], *PAIRS[:50], ("a\u200bb c", "d\x07e\0 f")]
    here = preparation(
        tmp_path,
        train=[write_pairs(tmp_path / "raw", "some", pairs)],
        validation=[],
        test=[],
        held_out=20,
        vocabulary={"size": 400, "kind": "unigram"},
        normalise={"control": False, "unicode": "NFKC"},
        filters={"duplicates": False, "near_duplicates": False, "held_out": False},
    )
    there = elsewhere(here, "spark")
    assert prepare(spark, there) == prepare_corpus(here, 1)
    assert files_of(there.output) == files_of(here.output)


def test_text_that_petastorm_would_change_is_refused(tmp_path: Path, spark: Any) -> None:
    raw = write_pairs(tmp_path / "raw", "nul", [*PAIRS[:300], ("ends with", "nada\0")])
    settings = preparation(tmp_path, train=[raw], normalise={"control": False})
    with pytest.raises(PreparationError, match=r"a target sentence ends with .* NUL, .*'nada\\x00'.*normalise.control"):
        prepare(spark, settings)


@pytest.mark.parametrize("stage", ["find_duplicates", "write_pairs", "gather_shards", "manifest_of"])
def test_what_broke_off_is_continued_to_the_same_bytes(
    stage: str, tmp_path: Path, spark: Any, on_spark: PreparationSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trainer.spark.preparing import cleaning, engine

    settings, kept = preparation(tmp_path), tmp_path / "kept"
    with monkeypatch.context() as patched:
        patched.setattr(engine, stage, lambda *_: (_ for _ in ()).throw(OSError("No space left on device")))
        with pytest.raises(OSError, match="No space left"):
            prepare(spark, settings, kept)
    assert not Path(settings.output, "manifest.json").exists()
    assert not (kept / "petastorm.json").exists()

    def never(*_: Any) -> Any:
        raise AssertionError("it was done already")

    monkeypatch.setattr(cleaning, "_rows", never)
    if stage in ("gather_shards", "manifest_of"):
        monkeypatch.setattr(engine, "write_pairs", never)
    prepare(spark, settings, kept)
    assert files_of(settings.output).keys() == files_of(on_spark.output).keys()
    shards = {name: digest for name, digest in files_of(settings.output).items() if name != "manifest.json"}
    assert shards.items() <= files_of(on_spark.output).items()
    assert (kept / "petastorm.json").read_bytes() == Path(settings.output, "manifest.json").read_bytes()


@pytest.mark.parametrize("damage", ["not UTF-8", "torn", "not parallel", "no line"])
def test_text_that_cannot_be_used_is_told_as_by_the_built_in_engine(damage: str, tmp_path: Path, spark: Any) -> None:
    empty = [write_pairs(tmp_path / "raw", "empty", [])]
    texts = {"train": empty, "validation": empty, "test": empty} if damage == "no line" else {}
    settings = preparation(tmp_path, **texts)
    source = tmp_path / "raw" / "train.source.gz"
    content = source.read_bytes()
    lines = gzip.decompress(content).splitlines(keepends=True)
    if damage == "not UTF-8":
        lines[2] = b"\xff\xfe\n"
    source.write_bytes(gzip.compress(b"".join(lines[:-1] if damage == "not parallel" else lines)))
    if damage == "torn":
        source.write_bytes(content[: len(content) // 2])
    with pytest.raises(PreparationError) as expected:
        prepare_corpus(settings, 1)
    with pytest.raises(PreparationError) as found:
        prepare(spark, elsewhere(settings, "spark"))
    assert str(found.value) == str(expected.value)
    assert not Path(settings.output).with_name("spark").exists()


def test_an_error_while_the_sample_is_read_ends_the_preparation(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SentencePiece takes an error of its text for the end of it, and would learn from less."""
    from trainer.spark.preparing import engine

    def breaks(*_: Any) -> Any:
        yield from (side for pair in PAIRS for side in pair)
        raise OSError("the executor is gone")

    monkeypatch.setattr(engine, "sentences_of", breaks)
    with pytest.raises(OSError, match="the executor is gone"):
        prepare(spark, preparation(tmp_path))


def test_a_corpus_that_is_there_without_a_data_set_is_told(
    tmp_path: Path, spark: Any, on_spark: PreparationSettings
) -> None:
    assert prepare(spark, on_spark, Path(on_spark.output).with_name("kept")).pairs("train") == 400
    with pytest.raises(PreparationError, match=r"was prepared before, without a data set of Petastorm in .*other"):
        prepare(spark, on_spark, tmp_path / "other")


def test_the_data_set_of_another_corpus_is_not_overwritten(
    tmp_path: Path, spark: Any, on_spark: PreparationSettings
) -> None:
    kept = Path(on_spark.output).with_name("kept")
    before = files_of(str(kept))
    with pytest.raises(PreparationError, match="has a corpus already that was prepared with other settings"):
        prepare(spark, preparation(tmp_path, seed=2), kept)
    assert files_of(str(kept)) == before


@pytest.mark.usefixtures("commands_on_spark")
def test_the_command_prepares_on_spark_and_tells_what_was_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = preparation(tmp_path)
    (tmp_path / "corpus.yml").write_text(settings.model_dump_json())
    options = ["--engine", "spark", "--master", "local[2]", "--petastorm", str(tmp_path / "kept")]
    assert main(["prepare", "--config", str(tmp_path / "corpus.yml"), *options]) == 0
    assert "The corpus has 400 for train (shards: 3)" in capsys.readouterr().out
    expected = elsewhere(settings, "here")
    prepare_corpus(expected, 1)
    assert files_of(settings.output) == files_of(expected.output)
