"""BPE-dropout: each epoch reads the same sentences in other pieces, and all ranks read the same ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.shards_in_memory import ShardsInMemory, shard_of_pairs
from trainer.data import corpus
from trainer.data.batch_stream import BatchStream, Cut
from trainer.data.bpe_dropout import BpeDropout
from trainer.data.samples import Samples
from trainer.data.shard import Shard
from trainer.data.vocabulary import Vocabulary
from trainer.settings.data import BatchSettings, CorpusSettings

BATCH = BatchSettings(tokens=512, max_tokens=80)


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    return corpus.load(CorpusSettings(pairs=300, held_out=10)).train


@pytest.fixture(scope="module")
def vocabulary(pairs: list[tuple[str, str]]) -> Vocabulary:
    return Vocabulary.learn([text for pair in pairs for text in pair], 420)


@pytest.fixture(scope="module")
def whole(vocabulary: Vocabulary, pairs: list[tuple[str, str]]) -> Shard:
    return shard_of_pairs(vocabulary, pairs).within(BATCH.max_tokens)


def stream(vocabulary: Vocabulary, whole: Shard, dropout: float = 0.1) -> BatchStream:
    return BatchStream(
        ShardsInMemory(whole), BATCH, 3, vocabulary.pad_id, BpeDropout(vocabulary, dropout, 3, BATCH.max_tokens)
    )


def test_an_epoch_reads_every_sentence_once_whatever_its_pieces(vocabulary: Vocabulary, whole: Shard) -> None:
    one = stream(vocabulary, whole)
    for epoch in range(2):
        cursors = range(epoch * one.batches_per_epoch, (epoch + 1) * one.batches_per_epoch)
        samples = [sample for cursor in cursors for sample in one.samples_at(cursor)]
        texts = [(vocabulary.decode(source), vocabulary.decode(target)) for source, target in samples]
        assert sorted(texts) == sorted(whole.texts)
        assert sum(len(target) for _, target in samples) > 1.05 * sum(target for _, target in whole.samples.lengths)


def test_pieces_depend_on_the_seed_and_the_epoch_alone(vocabulary: Vocabulary, whole: Shard) -> None:
    bpe_dropout = BpeDropout(vocabulary, 0.1, 3, BATCH.max_tokens)
    fifth = bpe_dropout.epoch(whole, 5)
    bpe_dropout.epoch(whole, 6)
    assert BpeDropout(vocabulary, 0.1, 3, BATCH.max_tokens).epoch(whole, 5)[:] == fifth[:]
    assert bpe_dropout.epoch(whole, 6)[:] != fifth[:]
    assert BpeDropout(vocabulary, 0.1, 4, BATCH.max_tokens).epoch(whole, 5)[:] != fifth[:]
    assert bpe_dropout.epoch(replace(whole, number=1), 5)[:] != fifth[:]


def test_ranks_together_read_what_one_would(vocabulary: Vocabulary, whole: Shard) -> None:
    def rows(cut: Cut, step: int) -> list[tuple[list[int], list[int]]]:
        one = stream(vocabulary, whole)
        return [
            (source[: int(source_len)].tolist(), target[: int(target_len)].tolist())
            for part in one.parts_at(step, cut)
            if part is not None
            for source, source_len, target, target_len in zip(
                part.src, part.src_len, part.tgt, part.tgt_len, strict=True
            )
        ]

    for step in (0, stream(vocabulary, whole).batches_per_epoch + 1):
        assert rows(Cut(0, (0.3, 0.7)), step) + rows(Cut(1, (0.3, 0.7)), step) == rows(Cut(), step)


def test_a_sentence_that_would_become_too_long_keeps_its_pieces(vocabulary: Vocabulary, whole: Shard) -> None:
    limit = max(max(lengths) for lengths in whole.samples.lengths)
    sampled = BpeDropout(vocabulary, 0.9, 3, limit).epoch(whole, 0)
    assert max(max(lengths) for lengths in sampled.lengths) <= limit
    kept = [new == old for new, old in zip(sampled, whole.samples, strict=True)]
    assert any(kept) and not all(kept)


def test_an_epoch_s_boundary_is_crossed_again_without_reading_anew(
    vocabulary: Vocabulary, whole: Shard, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_epochs: list[int] = []
    epoch_of = BpeDropout.epoch

    def epoch(self: BpeDropout, shard: Shard, number: int) -> Samples:
        read_epochs.append(number)
        return epoch_of(self, shard, number)

    one = stream(vocabulary, whole)
    cursors = (one.batches_per_epoch - 1, one.batches_per_epoch)
    expected = [stream(vocabulary, whole).samples_at(cursor) for cursor in cursors]
    monkeypatch.setattr(BpeDropout, "epoch", epoch)
    for _ in range(2):
        assert [one.samples_at(cursor) for cursor in cursors] == expected
    assert read_epochs == [0, 1]


def test_what_bounds_a_batch_grows_with_the_sentences(vocabulary: Vocabulary, whole: Shard) -> None:
    plain, dropped = BatchStream(ShardsInMemory(whole), BATCH, 3, vocabulary.pad_id), stream(vocabulary, whole, 0.3)
    assert dropped.batches_per_epoch == plain.batches_per_epoch
    assert plain.batch_tokens == BATCH.tokens < dropped.batch_tokens
    assert plain.longest < dropped.longest <= BATCH.max_tokens
