"""A prepared corpus is read only as its manifest promises it, from a folder or through a node's cache."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np
import pytest

from tests.support.raw_text import PAIRS
from trainer.data.batch_stream import BatchStream
from trainer.data.bpe_dropout import BpeDropout
from trainer.data.prepared import corpus_files
from trainer.data.prepared.array_file import ArrayFileError, encoded_arrays, mapped_arrays
from trainer.data.prepared.corpus_files import FetchedFiles
from trainer.data.prepared.manifest import Manifest, PreparedCorpusError
from trainer.data.prepared.prepared_corpus import PreparedCorpus, open_corpus
from trainer.data.prepared.shard_arrays import MappedText, text_arrays
from trainer.data.vocabulary import Vocabulary
from trainer.preparing.corpus_writer import write_manifest, write_shard, write_vocabulary
from trainer.preparing.encoding import encoded_pairs
from trainer.preparing.on_the_way import prepare_on_the_way
from trainer.settings.data import BatchSettings, CorpusSettings, VocabularySettings
from trainer.storage.directory import DirectoryStorage
from trainer.storage.storage import StorageError


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.learn([text for pair in PAIRS for text in pair], 400)


@pytest.fixture
def corpus(tmp_path: Path, vocabulary: Vocabulary) -> PreparedCorpus:
    storage = DirectoryStorage(tmp_path / "corpus")
    parts = {"train": [PAIRS[:100], PAIRS[100:300]], "validation": [PAIRS[300:310]], "test": [PAIRS[310:320]]}
    splits = {
        split: tuple(
            write_shard(storage, split, number, encoded_pairs(pairs, vocabulary), len(vocabulary))
            for number, pairs in enumerate(shards)
        )
        for split, shards in parts.items()
    }
    write_manifest(storage, Manifest("en", "pt", write_vocabulary(storage, vocabulary), splits, {}))
    return open_corpus(storage.location, tmp_path / "cache")


def test_what_was_written_is_read_back(corpus: PreparedCorpus, vocabulary: Vocabulary) -> None:
    assert corpus.vocabulary().digest == vocabulary.digest
    second = corpus.shards("train", vocabulary, with_text=True).open(1)
    assert second.texts is not None
    assert [second.texts[index] for index in range(200)] == PAIRS[100:300]
    assert second.samples[7] == (
        [*vocabulary.encode(PAIRS[107][0]), vocabulary.eos_id],
        [vocabulary.bos_id, *vocabulary.encode(PAIRS[107][1]), vocabulary.eos_id],
    )
    assert corpus.shards("train", vocabulary, with_text=False).open(1).texts is None


def test_the_manifest_s_lengths_are_those_of_the_samples(corpus: PreparedCorpus, vocabulary: Vocabulary) -> None:
    shards = corpus.shards("train", vocabulary, with_text=False)
    for counts, shard in zip(shards.length_counts, shards.all(), strict=True):
        longest = shard.samples.lengths.max(axis=1)
        assert [[length, int((longest == length).sum())] for length in sorted(set(longest.tolist()))] == counts.tolist()


def test_pairs_that_are_too_long_are_not_in_the_shard_and_the_text_goes_with_the_ids(
    corpus: PreparedCorpus, vocabulary: Vocabulary
) -> None:
    whole = corpus.shards("train", vocabulary, with_text=True).open(1)
    short = whole.within(20)
    assert 0 < len(short.samples) < len(whole.samples)
    assert short.texts is not None and len(short.texts) == len(short.samples)
    for index, (source, target) in enumerate(short.samples):
        assert max(len(source), len(target)) <= 20
        assert short.texts[index] == (vocabulary.decode(source), vocabulary.decode(target))


def test_every_sample_is_read_once_an_epoch_over_all_shards(corpus: PreparedCorpus, vocabulary: Vocabulary) -> None:
    batch = BatchSettings(tokens=256, max_tokens=200)
    for dropout in (None, BpeDropout(vocabulary, 0.2, 3, 200)):
        shards = corpus.shards("train", vocabulary, with_text=True)
        stream = BatchStream(shards, batch, 3, vocabulary.pad_id, dropout)
        for epoch in range(2):
            cursors = range(epoch * stream.batches_per_epoch, (epoch + 1) * stream.batches_per_epoch)
            seen = [sample for cursor in cursors for sample in stream.samples_at(cursor)]
            assert sorted(tuple(map(vocabulary.decode, pair)) for pair in seen) == sorted(PAIRS[:300])


def test_the_batches_of_a_corpus_in_one_shard_are_those_that_centavo_always_made(tmp_path: Path) -> None:
    made = prepare_on_the_way(CorpusSettings(pairs=700, held_out=10), VocabularySettings(size=420), tmp_path)
    vocabulary, found = made.vocabulary(), []
    for dropout in (0.0, 0.1):
        bpe_dropout = BpeDropout(vocabulary, dropout, 3, 40) if dropout else None
        shards = made.shards("train", vocabulary, with_text=dropout > 0)
        stream = BatchStream(shards, BatchSettings(tokens=512, max_tokens=40), 3, vocabulary.pad_id, bpe_dropout)
        digest = hashlib.sha256()
        for cursor in range(2 * stream.batches_per_epoch):
            digest.update(repr(stream.samples_at(cursor)).encode())
        found.append(digest.hexdigest()[:24])
    assert found == ["f3edb4ef521ca07d78dd3243", "b5be88a76b280c1e7b464557"]


def test_a_newcomer_opens_the_shard_at_its_cursor_alone(
    corpus: PreparedCorpus, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []
    shards = corpus.shards("train", vocabulary, with_text=False)
    real = shards.open
    monkeypatch.setattr(shards, "open", lambda number: opened.append(number) or real(number))
    stream = BatchStream(shards, BatchSettings(tokens=256), 3, vocabulary.pad_id)
    last = 5 * stream.batches_per_epoch - 1
    stream.samples_at(last)
    assert len(opened) == 1


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-70] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (damage, r"train/00000-\w+\.ids has another SHA-256 than the manifest says"),
        (lambda path: path.write_bytes(path.read_bytes()[:-64]), r"has [\d,]+ bytes, and the manifest says"),
        (lambda path: path.unlink(), "is missing, and the manifest names it"),
    ],
)
def test_a_shard_with_other_content_is_refused(
    spoil: Callable[[Path], Any], expected: str, corpus: PreparedCorpus, vocabulary: Vocabulary
) -> None:
    spoil(Path(corpus.location, corpus.manifest.splits["train"][0].ids.name))
    with pytest.raises(PreparedCorpusError, match=f"{expected}.*: copy the corpus again, or prepare it again"):
        corpus.shards("train", vocabulary, with_text=False).open(0)


def test_a_vocabulary_of_another_corpus_is_refused(corpus: PreparedCorpus) -> None:
    other = Vocabulary.learn([text for pair in PAIRS for text in pair], 401)
    Path(corpus.location, "vocabulary").write_bytes(other.model)
    with pytest.raises(PreparedCorpusError, match=r"corpus/vocabulary has .* the manifest says"):
        corpus.vocabulary()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"{", "is no manifest of a prepared corpus, or it is torn"),
        (b'{"schema": 1}', "is no manifest of a prepared corpus, or it is torn"),
        (b'{"schema": 2}', "is of format 2, and this Centavo reads 1: prepare the corpus again"),
        (b"[]", "is no manifest"),
        (
            b'{"schema": 1, "vocabulary": {"file": {"name": "v", "bytes": 1, "sha256": ""}, "pieces": "x"}}',
            "no manifest",
        ),
    ],
)
def test_a_manifest_that_cannot_be_read_is_told(content: bytes, expected: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(PreparedCorpusError, match=expected):
        open_corpus(str(tmp_path), tmp_path)


@pytest.mark.parametrize("name", ["../elsewhere", "/etc/passwd", "train/../../elsewhere", ""])
def test_a_manifest_that_names_a_file_outside_of_the_corpus_is_refused(
    name: str, corpus: PreparedCorpus, tmp_path: Path
) -> None:
    path = Path(corpus.location, "manifest.json")
    document = json.loads(path.read_text())
    document["splits"]["test"][0]["text"]["name"] = name
    path.write_text(json.dumps(document))
    with pytest.raises(PreparedCorpusError, match="which does not lie in it"):
        open_corpus(corpus.location, tmp_path)


def test_a_manifest_whose_shards_were_changed_is_refused(corpus: PreparedCorpus, tmp_path: Path) -> None:
    path = Path(corpus.location, "manifest.json")
    document = json.loads(path.read_text())
    document["splits"]["train"].pop()
    path.write_text(json.dumps(document))
    with pytest.raises(PreparedCorpusError, match=r"manifest\.json was changed: its digest is that of other shards"):
        open_corpus(corpus.location, tmp_path)


class Counted(DirectoryStorage):
    """A storage that counts what is fetched, and may break off in the middle."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.fetched: list[str] = []
        self.is_broken = False

    def open(self, name: str) -> BinaryIO | None:
        self.fetched.append(name)
        stream = super().open(name)
        assert stream is not None
        if self.is_broken:
            stream.read(100)
            real, stream = stream, Broken()
            real.close()
        return stream


class Broken:
    """A stream that breaks."""

    def read(self, _: int) -> bytes:
        raise StorageError("the connection is lost")

    def __enter__(self) -> Broken:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def remote(corpus: PreparedCorpus) -> Counted:
    return Counted(Path(corpus.location))


def through(remote: Counted, corpus: PreparedCorpus, folder: Path) -> PreparedCorpus:
    return PreparedCorpus("s3://bucket/corpus", corpus.manifest, FetchedFiles(remote, folder))


def test_a_node_fetches_what_it_needs_once(
    remote: Counted, corpus: PreparedCorpus, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    for _ in range(2):
        node = through(remote, corpus, tmp_path / "cache")
        node.shards("train", vocabulary, with_text=False).open(1)
    assert remote.fetched == [corpus.manifest.splits["train"][1].ids.name]


def test_what_is_spoiled_in_the_cache_is_fetched_again(
    remote: Counted, corpus: PreparedCorpus, vocabulary: Vocabulary, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    node, name = through(remote, corpus, tmp_path / "cache"), corpus.manifest.splits["train"][0].ids.name
    node.shards("train", vocabulary, with_text=False).open(0)
    damage(tmp_path / "cache" / name)
    shard = node.shards("train", vocabulary, with_text=False).open(0)
    assert len(shard.samples) == 100
    assert remote.fetched == [name, name]
    assert "has another SHA-256 than the manifest says: it is fetched again" in caplog.text


def test_a_fetch_that_breaks_off_leaves_nothing_that_is_taken_for_whole(
    remote: Counted, corpus: PreparedCorpus, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    node, remote.is_broken = through(remote, corpus, tmp_path / "cache"), True
    with pytest.raises(StorageError, match="connection is lost"):
        node.shards("train", vocabulary, with_text=False).open(0)
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.suffix != ".lock"] == []
    remote.is_broken = False
    assert len(node.shards("train", vocabulary, with_text=False).open(0).samples) == 100


def test_a_shard_that_is_wrong_at_its_source_is_refused(
    remote: Counted, corpus: PreparedCorpus, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    damage(Path(corpus.location, corpus.manifest.splits["train"][0].ids.name))
    node = through(remote, corpus, tmp_path / "cache")
    with pytest.raises(PreparedCorpusError, match=r"train/00000-\w+\.ids has another SHA-256.*: prepare the corpus"):
        node.shards("train", vocabulary, with_text=False).open(0)


def test_ranks_of_a_node_fetch_a_shard_once(
    remote: Counted, corpus: PreparedCorpus, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    def rank() -> None:
        through(remote, corpus, tmp_path / "cache").shards("train", vocabulary, with_text=True).open(0)

    ranks = [threading.Thread(target=rank) for _ in range(4)]
    for one in ranks:
        one.start()
    for one in ranks:
        one.join(timeout=30)
    entry = corpus.manifest.splits["train"][0]
    assert sorted(remote.fetched) == sorted([entry.ids.name, entry.text.name])


def test_where_the_disk_has_little_room_the_oldest_shards_go(
    remote: Counted, corpus: PreparedCorpus, vocabulary: Vocabulary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, entries = tmp_path / "cache", corpus.manifest.splits["train"]
    node = through(remote, corpus, folder)
    mapped = node.shards("train", vocabulary, with_text=False).open(0)
    first = folder / entries[0].ids.name
    usage = SimpleNamespace(free=corpus_files.RESERVE_BYTES)
    monkeypatch.setattr(corpus_files.shutil, "disk_usage", lambda _: usage)
    node.files.path_of(entries[0].text)
    assert first.exists(), "it was used just now"
    os.utime(first, (0, 0))
    node.files.path_of(entries[1].text)
    assert not first.exists()
    assert len(mapped.samples[99][0]) > 1, "it is mapped"
    assert (folder / entries[0].text.name).exists()


def test_a_shard_that_another_rank_has_just_removed_is_no_error(
    remote: Counted, corpus: PreparedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(free=0)
    monkeypatch.setattr(corpus_files.shutil, "disk_usage", lambda _: usage)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "gone.ids").symlink_to(tmp_path / "nowhere")
    entry = corpus.manifest.splits["train"][0].ids
    assert through(remote, corpus, tmp_path / "cache").files.path_of(entry).stat().st_size == entry.bytes


def test_a_full_disk_is_told(
    remote: Counted, corpus: PreparedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, node = corpus.manifest.splits["train"][0].ids, through(remote, corpus, tmp_path / "cache")

    class Full:
        def write(self, _: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    real = Path.open
    monkeypatch.setattr(Path, "open", lambda path, mode="r", *rest: Full() if mode == "wb" else real(path, mode, *rest))
    with pytest.raises(StorageError, match=r"cannot be copied to .*cache.*No space left"):
        node.files.path_of(entry)
    monkeypatch.undo()
    assert not (tmp_path / "cache" / entry.name).exists()


def test_a_small_corpus_is_prepared_on_the_way_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, size = CorpusSettings(pairs=300, held_out=20), VocabularySettings(size=400)
    first = prepare_on_the_way(settings, size, tmp_path)
    monkeypatch.setattr("trainer.preparing.on_the_way.encoded_pairs", lambda *_: pytest.fail("prepared again"))
    assert prepare_on_the_way(settings, size, tmp_path).manifest == first.manifest
    assert json.loads(Path(first.location, "manifest.json").read_text())["digest"] == first.manifest.digest


SLICES = [slice(None), slice(2, 5), slice(4, 2), slice(6, 99), slice(None, None, 3), slice(-2, None)]


@pytest.mark.parametrize("some", SLICES)
def test_a_slice_of_mapped_text_is_what_its_pairs_are_one_by_one(some: slice) -> None:
    pairs = [("", "a"), ("\u00e9t\u00e9", "\u590f"), ("b c", ""), ("", ""), ("d" * 300, "e\nf"), ("g", "\U0001f600")]
    text = MappedText(*text_arrays(pairs))
    assert text[some] == pairs[some]
    assert [text[index] for index in range(len(text))] == pairs


def test_mapped_arrays_can_be_read_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"".join(encoded_arrays({"a": np.arange(3)})))
    with pytest.raises(ValueError, match="read-only"):
        mapped_arrays(tmp_path / "file")["a"][0] = 1


def test_a_file_of_another_form_is_told_from_a_torn_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"something else")
    with pytest.raises(ArrayFileError, match="is no shard of this version"):
        mapped_arrays(path)
    content = b"".join(encoded_arrays({"a": np.arange(100), "b": np.zeros((0, 2), dtype=np.uint8)}))
    path.write_bytes(content)
    assert mapped_arrays(path)["a"].tolist() == list(range(100))
    assert mapped_arrays(path)["b"].shape == (0, 2)
    path.write_bytes(content[:300])
    with pytest.raises(ArrayFileError, match="is torn: it ends in the array a"):
        mapped_arrays(path)
