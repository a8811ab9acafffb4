"""A corpus is prepared: the same bytes whoever does it, continued where it broke off, and never half."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import resource
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import trainer.data.prepared
import trainer.preparing.prepare as preparing
from tests.support.raw_text import PAIRS, preparation, write_pairs, write_side
from trainer.cli import main
from trainer.data.prepared.manifest import PreparedCorpusError, ShardEntry
from trainer.data.prepared.prepared_corpus import PreparedCorpus, open_corpus
from trainer.data.vocabulary import Vocabulary
from trainer.preparing import gathering
from trainer.preparing.errors import PreparationError
from trainer.preparing.prepare import prepare_corpus
from trainer.preparing.report import told
from trainer.settings.preparation import PreparationSettings
from trainer.settings.section import SettingsError
from trainer.storage.directory import DirectoryStorage
from trainer.storage.storage import StorageError

SCHEMA = json.loads(Path(trainer.data.prepared.__path__[0], "manifest.schema.json").read_text())


def prepared(settings: PreparationSettings, processes: int = 1) -> PreparedCorpus:
    prepare_corpus(settings, processes)
    return open_corpus(settings.output, Path(settings.work))


def pairs_of(corpus: PreparedCorpus, split: str) -> list[tuple[str, str]]:
    shards = corpus.shards(split, corpus.vocabulary(), with_text=True).all()
    return [shard.texts[index] for shard in shards if shard.texts is not None for index in range(len(shard.texts))]


def files_of(folder: str) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def dropped(settings: PreparationSettings) -> dict[str, int]:
    counts: dict[str, int] = prepare_corpus(settings, 1).prepared["filters"]["dropped"]
    return counts


def test_a_corpus_has_every_pair_once_as_text_and_as_ids(tmp_path: Path) -> None:
    corpus = prepared(preparation(tmp_path))
    assert sorted(pairs_of(corpus, "train")) == sorted(PAIRS[:400])
    assert pairs_of(corpus, "validation") == PAIRS[400:430]
    assert pairs_of(corpus, "test") == PAIRS[430:]
    vocabulary = corpus.vocabulary()
    shards = corpus.shards("train", vocabulary, with_text=True).all()
    assert len(shards) == 3
    for shard in shards:
        assert shard.texts is not None
        for index, (source, target) in enumerate(shard.samples):
            assert (vocabulary.decode(source), vocabulary.decode(target)) == shard.texts[index]


def test_a_shard_is_a_sample_of_the_whole_corpus_in_its_order(tmp_path: Path) -> None:
    corpus = prepared(preparation(tmp_path))
    for shard in corpus.shards("train", corpus.vocabulary(), with_text=True).all():
        assert shard.texts is not None
        places = [PAIRS.index(shard.texts[index]) for index in range(len(shard.texts))]
        assert places == sorted(places)
        assert places[0] < 40 and places[-1] > 360


def test_the_manifest_is_what_its_schema_describes(tmp_path: Path) -> None:
    bad = write_pairs(tmp_path / "raw", "bad", [PAIRS[0], ("x", "x")])
    settings = preparation(tmp_path)
    prepared(settings.model_copy(update={"train": (*settings.train, *preparation(tmp_path, train=[bad]).train)}))
    written = json.loads((tmp_path / "corpus" / "manifest.json").read_text())
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(written, SCHEMA)
    assert set(written) == set(SCHEMA["properties"])
    assert written["prepared"]["filters"]["dropped"] == {"identical": 1, "duplicate": 1}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_the_bytes_are_the_same_for_any_number_of_processes(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainer.preparing.sources.chunks.CHUNK_LINES", 64)
    one = preparation(tmp_path, vocabulary={"size": 400, "kind": kind})
    many = one.model_copy(update={"output": str(tmp_path / "other"), "work": str(tmp_path / "elsewhere")})
    prepare_corpus(one, 1)
    prepare_corpus(many, 3)
    assert files_of(one.output) == files_of(many.output)


BROKEN_AT = ["clean", "learned", "encode", "gather", "write_vocabulary", "write_manifest"]


@pytest.mark.parametrize("stage", BROKEN_AT)
def test_what_broke_off_is_no_corpus_and_is_continued_to_the_same_bytes(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainer.preparing.sources.chunks.CHUNK_LINES", 64)
    monkeypatch.setattr("trainer.preparing.gathering.TOGETHER", 1)
    settings = preparation(tmp_path)
    whole = settings.model_copy(update={"output": str(tmp_path / "whole"), "work": str(tmp_path / "elsewhere")})
    prepare_corpus(whole, 1)
    real = getattr(preparing, stage)
    calls: list[Any] = []

    def breaks(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2 or stage not in ("clean", "encode", "gather"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments)

    monkeypatch.setattr(preparing, stage, breaks)
    with pytest.raises(OSError, match="No space left"):
        prepare_corpus(settings, 1)
    with pytest.raises(PreparedCorpusError, match=r"is no prepared corpus: manifest.json is missing"):
        open_corpus(settings.output, tmp_path)
    monkeypatch.setattr(preparing, stage, real)
    prepare_corpus(settings, 1)
    assert files_of(settings.output) == files_of(whole.output)
    assert not [path for path in (tmp_path / "work").iterdir() if path.is_dir()]


def test_shards_that_an_earlier_try_has_written_are_not_written_again_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = preparation(tmp_path)
    written: list[tuple[str, int]] = []
    write = gathering.write_shard

    def breaks(storage: Any, split: str, number: int, *arguments: Any) -> ShardEntry:
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append((split, number))
        return write(storage, split, number, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(gathering, "write_shard", breaks)
        with pytest.raises(OSError, match="No space left"):
            prepare_corpus(settings, 1)
    assert written == [("train", 0), ("train", 1)]
    monkeypatch.setattr(gathering, "write_shard", lambda *rest: written.append(rest[1:3]) or write(*rest))
    assert len(pairs_of(prepared(settings), "train")) == 400
    assert written == [("train", 0), ("train", 1), ("train", 2), ("validation", 0), ("test", 0)]


def test_a_chunk_is_opened_once_for_all_shards_that_are_gathered_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainer.preparing.sources.chunks.CHUNK_LINES", 64)
    opened: list[tuple[str, range]] = []
    parts_of = gathering.parts_of
    monkeypatch.setattr(
        gathering, "parts_of", lambda path, places: opened.append((path.name, places)) or parts_of(path, places)
    )
    settings = preparation(tmp_path)
    prepare_corpus(settings, 1)
    chunks = [f"{number:06d}" for number in range(9)]
    assert opened == [(name, range(5)) for name in chunks]
    opened.clear()
    monkeypatch.setattr(gathering, "TOGETHER", 3 * settings.shard_pairs)
    prepare_corpus(settings.model_copy(update={"output": str(tmp_path / "few")}), 1)
    assert opened == [(name, places) for places in (range(3), range(3, 5)) for name in chunks]
    assert files_of(settings.output) == files_of(str(tmp_path / "few"))


def test_a_corpus_may_have_more_chunks_than_a_process_may_open_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainer.preparing.sources.chunks.CHUNK_LINES", 4)
    settings = preparation(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + 30, hard))
    try:
        corpus = prepared(settings)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert corpus.manifest.pairs("train") == 400


def test_what_was_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = preparation(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(preparing, "write_manifest", lambda *_: (_ for _ in ()).throw(OSError("gone")))
        with pytest.raises(OSError, match="gone"):
            prepare_corpus(settings, 1)

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("it was done already")

    monkeypatch.setattr("trainer.preparing.cleaning.chunk._filtered", never)
    monkeypatch.setattr("trainer.preparing.encoding.encoded_pairs", never)
    monkeypatch.setattr("trainer.preparing.gathering.write_shard", never)
    monkeypatch.setattr(Vocabulary, "learn", never)
    prepare_corpus(settings, 1)


def test_a_corpus_that_is_there_is_taken_and_another_one_is_not_replaced(tmp_path: Path) -> None:
    settings = preparation(tmp_path)
    first = prepare_corpus(settings, 1)
    before = files_of(settings.output)
    assert prepare_corpus(settings, 1) == first
    with pytest.raises(PreparationError, match=r"has a corpus already that was prepared with other settings"):
        prepare_corpus(settings.model_copy(update={"seed": 2}), 1)
    assert files_of(settings.output) == before


def test_duplicates_and_held_out_pairs_are_the_same_however_few_pairs_are_looked_at_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainer.preparing.sources.chunks.CHUNK_LINES", 64)
    louder = [(source.upper(), target) for source, target in PAIRS[100:200]]
    train = [write_pairs(tmp_path / "raw", "twice", [*PAIRS[:400], *PAIRS[50:90], *louder])]
    settings = preparation(tmp_path, train=train, validation=[], test=[], held_out=20, filters={})
    few = settings.model_copy(update={"output": str(tmp_path / "few")})
    whole = prepare_corpus(settings, 1)
    for module in ("duplicates", "destinations", "gathering"):
        monkeypatch.setattr(f"trainer.preparing.{module}.TOGETHER", 50)
    assert prepare_corpus(few, 1) == whole
    assert whole.prepared["filters"]["dropped"].keys() == {"duplicate", "near duplicate"}
    assert sum(whole.prepared["filters"]["dropped"].values()) == 140


def test_a_file_that_has_changed_is_read_anew(tmp_path: Path) -> None:
    settings = preparation(tmp_path)
    prepared(settings)
    write_pairs(tmp_path / "raw", "train", PAIRS[:399], ".gz")
    other = settings.model_copy(update={"output": str(tmp_path / "other")})
    assert prepare_corpus(other, 1).pairs("train") == 399


def test_pairs_are_held_out_of_the_training_text(tmp_path: Path) -> None:
    corpus = prepared(preparation(tmp_path, validation=[], test=[], held_out=20))
    splits = {split: pairs_of(corpus, split) for split in ("train", "validation", "test")}
    assert {split: len(pairs) for split, pairs in splits.items()} == {"train": 360, "validation": 20, "test": 20}
    assert sorted(itertools.chain(*splits.values())) == sorted(PAIRS[:400])


def test_a_pair_of_the_test_is_not_trained_on(tmp_path: Path) -> None:
    train = write_pairs(tmp_path / "raw", "leaky", [*PAIRS[:100], PAIRS[440]])
    corpus = prepared(preparation(tmp_path, train=[train]))
    assert PAIRS[440] not in pairs_of(corpus, "train")
    assert corpus.manifest.prepared["filters"]["dropped"] == {"held out": 1}


def test_of_duplicates_the_first_stays_and_the_others_are_shown_with_file_and_line(tmp_path: Path) -> None:
    repeated = [*PAIRS[:90], PAIRS[3], (PAIRS[4][0].upper() + "!", PAIRS[4][1])]
    settings = preparation(tmp_path, train=[write_pairs(tmp_path / "raw", "twice", repeated)], filters={})
    manifest = prepare_corpus(settings, 1)
    report = manifest.prepared["filters"]
    assert report["dropped"] == {"duplicate": 1, "near duplicate": 1}
    assert [one["place"].rpartition(":")[2] for one in report["samples"]] == ["91", "92"]
    assert f"twice.source:91: {PAIRS[3][0]!r}" in told(manifest)
    pairs = pairs_of(open_corpus(settings.output, tmp_path), "train")
    assert sorted(pairs) == sorted(PAIRS[:90])


def test_a_tag_stands_before_every_source_sentence_and_is_one_piece(tmp_path: Path) -> None:
    tagged = {**write_pairs(tmp_path / "raw", "news", PAIRS[:100]), "tag": "<news>"}
    corpus = prepared(preparation(tmp_path, train=[tagged]))
    vocabulary = corpus.vocabulary()
    assert all(source.startswith("<news> ") and "<news>" not in target for source, target in pairs_of(corpus, "train"))
    (tag,) = set(vocabulary.encode("<news>")) - set(vocabulary.encode("")) - set(vocabulary.encode(" a")[:1])
    assert vocabulary.decode([tag]) == "<news>"
    for shard in corpus.shards("train", vocabulary, with_text=False).all():
        assert all(source.count(tag) == 1 for source, _ in shard.samples)


def test_a_vocabulary_is_taken_over_and_one_without_the_tags_is_refused(tmp_path: Path) -> None:
    model = Vocabulary.learn([text for pair in PAIRS for text in pair], 380)
    (tmp_path / "model").write_bytes(model.model)
    taken = {"taken": str(tmp_path / "model")}
    assert prepared(preparation(tmp_path, vocabulary=taken)).vocabulary().digest == model.digest
    tagged = {**write_pairs(tmp_path / "raw", "news", PAIRS[:100]), "tag": "<news>"}
    with pytest.raises(PreparationError, match=r"model has no piece <news>: learn a vocabulary"):
        prepare_corpus(preparation(tmp_path, vocabulary=taken, train=[tagged], output=str(tmp_path / "b")), 1)
    (tmp_path / "model").write_bytes(b"torn")
    with pytest.raises(PreparationError, match=r"model: not a SentencePiece model"):
        prepare_corpus(preparation(tmp_path, vocabulary=taken, output=str(tmp_path / "c")), 1)


def test_the_vocabulary_is_learned_from_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainer.preparing.sources.chunks.CHUNK_LINES", 64)
    seen: list[str] = []
    learn = Vocabulary.learn

    def noted(texts: Any, *arguments: Any) -> Vocabulary:
        seen.extend(texts)
        return learn(iter([text for pair in PAIRS for text in pair]), *arguments)

    monkeypatch.setattr(Vocabulary, "learn", noted)
    prepare_corpus(preparation(tmp_path, vocabulary={"size": 400, "sample": 100}), 1)
    assert seen == [text for pair in PAIRS[:400:8] for text in pair]


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def latin1(path: Path) -> None:
    path.write_bytes(b"bom dia\ncora\xe7\xe3o\n")


BAD: list[tuple[str, Callable[[Path], Any], str]] = [
    ("train.source.gz", torn, r"train\.source\.gz is torn or damaged: it cannot be read after line \d+"),
    ("train.target.gz", lambda path: write_side(path, ["um"]), r"target\.gz ends before line 2, which .*source\.gz"),
    (
        "validation.target",
        lambda path: write_side(path, [""] * 30),
        r"validation\.source:1: one side of the pair",
    ),
    ("test.target", lambda path: path.unlink(), r"test\.target: there is no such file"),
]


@pytest.mark.parametrize(("name", "spoil", "expected"), BAD)
def test_bad_input_is_told_with_file_and_line_and_leaves_no_corpus(
    name: str, spoil: Callable[[Path], Any], expected: str, tmp_path: Path
) -> None:
    settings = preparation(tmp_path)
    spoil(tmp_path / "raw" / name)
    with pytest.raises(PreparationError, match=expected):
        prepare_corpus(settings, 1)
    assert not (tmp_path / "corpus" / "manifest.json").exists()


def test_an_empty_side_is_left_out_and_shown_or_refused_as_the_settings_say(tmp_path: Path) -> None:
    raw = write_pairs(tmp_path / "raw", "holes", [*PAIRS[:90], ("a house", " "), *PAIRS[90:100]])
    report = prepare_corpus(preparation(tmp_path, train=[raw]), 1).prepared["filters"]
    assert report["dropped"] == {"empty": 1}
    assert report["samples"][0]["place"].endswith("holes.source:91")
    strict = preparation(tmp_path, train=[raw], filters={"empty": "refuse"}, output=str(tmp_path / "other"))
    with pytest.raises(PreparationError, match=r"holes\.source:91: one side of the pair is empty: 'a house' and ''"):
        prepare_corpus(strict, 1)


def test_text_that_is_not_utf8_is_told_with_file_and_line(tmp_path: Path) -> None:
    raw = write_pairs(tmp_path / "raw", "latin", [("a", "b"), ("c", "d")])
    latin1(tmp_path / "raw" / "latin.target")
    with pytest.raises(PreparationError, match=r"latin\.target, line 2: not UTF-8 text .* iconv"):
        prepare_corpus(preparation(tmp_path, train=[raw]), 1)


def test_a_storage_that_stops_in_the_middle_leaves_no_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = preparation(tmp_path)
    written: list[str] = []
    write = DirectoryStorage.write

    def stops(self: DirectoryStorage, name: str, parts: Any) -> None:
        written.append(name)
        if len(written) == 3:
            raise StorageError("the connection is lost")
        write(self, name, parts)

    with monkeypatch.context() as patched:
        patched.setattr(DirectoryStorage, "write", stops)
        with pytest.raises(StorageError, match="connection is lost"):
            prepare_corpus(settings, 1)
    assert not (tmp_path / "corpus" / "manifest.json").exists()
    assert prepared(settings).manifest.pairs("train") == 400


def test_an_output_that_lost_a_shard_gets_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = preparation(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(preparing, "write_manifest", lambda *_: (_ for _ in ()).throw(OSError("gone")))
        with pytest.raises(OSError, match="gone"):
            prepare_corpus(settings, 1)
    next((tmp_path / "corpus" / "train").glob("00001-*.ids")).unlink()
    assert len(pairs_of(prepared(settings), "train")) == 400


def test_a_split_without_a_pair_is_refused(tmp_path: Path) -> None:
    raw = write_pairs(tmp_path / "raw", "same", [("a", "a")])
    with pytest.raises(PreparationError, match="no pair is left for the split train"):
        prepare_corpus(preparation(tmp_path, train=[raw]), 1)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"train": []}, "train: name at least one text"),
        ({"held_out": 5}, "validation: name a text for it, or set held_out"),
        (
            {"validation": [], "test": [], "held_out": 5, "filters": {"duplicates": False, "near_duplicates": False}},
            "copies of the pairs that are taken out for validation and test stay in it",
        ),
        ({"train": [{"source": "a"}]}, "each text needs either source and target, or tsv, or parquet"),
        ({"train": [{"tsv": "a", "columns": ["en", "de"]}]}, "columns of a tsv are numbers from 1"),
        ({"train": [{"tsv": "a", "tag": "news"}]}, "a tag is written as <word>, not 'news'"),
        ({"train": [{"tvs": "a"}]}, r"train.tvs: unknown key; did you mean tsv\?"),
        ({"filters": {"max_ratio": 1}}, "filters.max_ratio: must be above 1, not 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(keys: dict[str, Any], expected: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=expected):
        preparation(tmp_path, **keys)


def test_the_command_prepares_and_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "corpus.yml").write_text(preparation(tmp_path).model_dump_json())
    assert main(["prepare", "--config", str(tmp_path / "corpus.yml"), "--processes", "1"]) == 0
    said = capsys.readouterr().out
    assert "460 pairs were read" in said
    assert "400 for train (shards: 3), 30 for validation (shards: 1), 30 for test (shards: 1)" in said
    assert main(["prepare", "--config", str(tmp_path / "corpus.yml"), "--set", "seed=9", "--processes", "1"]) == 2
    assert "prepared with other settings" in capsys.readouterr().err


def test_a_changed_manifest_is_another_corpus(tmp_path: Path) -> None:
    manifest = prepare_corpus(preparation(tmp_path), 1)
    shards = manifest.splits["train"]
    other = replace(manifest, splits={**manifest.splits, "train": shards[::-1]})
    assert other.digest != manifest.digest


def test_files_without_any_line_are_told(tmp_path: Path) -> None:
    empty = write_pairs(tmp_path / "raw", "empty", [])
    with pytest.raises(PreparationError, match="no pair is left for the split train: name more text"):
        prepare_corpus(preparation(tmp_path, train=[empty], validation=[empty], test=[empty]), 1)
