"""The joint subword vocabulary: what it keeps, how it is cached, what happens to a damaged one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from trainer.data import corpus, vocabulary
from trainer.data.vocabulary import Vocabulary, VocabularyError
from trainer.settings.data import CorpusSettings, VocabularySettings
from trainer.settings.section import SettingsError, section_from

SIZE = VocabularySettings(size=420)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    made = corpus.load(CorpusSettings(pairs=2_000, held_out=10))
    return [text for pair in made.train for text in pair]


@pytest.fixture(scope="module")
def learned(texts: list[str]) -> Vocabulary:
    return Vocabulary.learn(texts, SIZE.size)


def cut(ids: NDArray[np.int32], pieces: NDArray[np.int32]) -> list[list[int]]:
    return [part.tolist() for part in np.split(ids, np.cumsum(pieces)[:-1])] if len(pieces) else []


def sampled(vocabulary: Vocabulary, sentences: list[str], dropout: float, seed: int) -> list[list[int]]:
    return cut(*vocabulary.sample(sentences, len(sentences), dropout, [seed]))


def test_every_training_sentence_comes_back_as_it_was(learned: Vocabulary, texts: list[str]) -> None:
    assert [learned.decode(learned.encode(text)) for text in texts] == texts


def test_text_never_seen_comes_back_too(learned: Vocabulary) -> None:
    strange = "ﬁve ½ 漢字 ² A\u0301 😀"
    assert learned.decode(learned.encode(strange)) == strange
    assert learned.unk_id not in learned.encode(strange)


def test_merges_are_left_out_as_the_seed_says(learned: Vocabulary, texts: list[str]) -> None:
    some = texts[: vocabulary.AT_ONCE + 50]
    drawn = sampled(learned, some, 0.1, 7)
    sampled(learned, some, 0.5, 8)
    assert sampled(learned, some, 0.1, 7) == drawn
    assert sampled(learned, some, 0.1, 8) != drawn
    assert [learned.decode(ids) for ids in drawn] == some
    assert sampled(learned, some, 0.0, 7) == [learned.encode(text) for text in some]
    assert sampled(learned, [], 0.1, 7) == []


def test_sentences_encoded_together_have_the_pieces_that_each_has_alone(learned: Vocabulary, texts: list[str]) -> None:
    ids, pieces = learned.encode_all([*texts[:50], ""])
    assert cut(ids, pieces) == [learned.encode(text) for text in [*texts[:50], ""]]


def test_each_part_of_a_long_text_has_random_numbers_of_its_own(learned: Vocabulary, texts: list[str]) -> None:
    some = texts[: vocabulary.AT_ONCE]
    drawn = sampled(learned, some * 2, 0.1, 7)
    assert drawn[: len(some)] != drawn[len(some) :]


def test_the_more_merges_are_left_out_the_more_pieces_there_are(learned: Vocabulary, texts: list[str]) -> None:
    counts = [sum(map(len, sampled(learned, texts[:200], dropout, 1))) for dropout in (0.0, 0.05, 0.2, 0.8)]
    assert counts == sorted(set(counts))


@pytest.mark.parametrize("dropout", [-0.1, 1.0])
def test_a_dropout_that_is_no_share_is_refused(dropout: float) -> None:
    with pytest.raises(SettingsError, match=r"dropout: must be (0 or more|below 1), not"):
        section_from(VocabularySettings, {"dropout": dropout})


def test_special_ids_are_the_first_four_and_leave_no_trace(learned: Vocabulary) -> None:
    assert (learned.pad_id, learned.unk_id, learned.bos_id, learned.eos_id) == (0, 1, 2, 3)
    ids = learned.encode("seven")
    assert min(ids) > 3
    assert learned.decode([learned.bos_id, *ids, learned.eos_id, learned.pad_id]) == "seven"


def test_digits_are_spelled(learned: Vocabulary) -> None:
    assert len(learned.encode("1978")) >= 4


def test_the_size_is_the_one_asked_for(learned: Vocabulary) -> None:
    assert len(learned) == 420


def test_learning_again_gives_the_same_vocabulary(learned: Vocabulary, texts: list[str]) -> None:
    assert Vocabulary.learn(texts, SIZE.size).digest == learned.digest


def test_a_saved_vocabulary_loads_with_the_same_digest(learned: Vocabulary, tmp_path: Path) -> None:
    learned.save(tmp_path)
    assert Vocabulary.load(tmp_path).digest == learned.digest


def test_it_is_learned_once_for_the_same_text_and_size(
    texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Vocabulary.learn_or_load(texts, SIZE, tmp_path)
    monkeypatch.setattr(Vocabulary, "learn", lambda *_: pytest.fail("learned again"))
    assert Vocabulary.learn_or_load(iter(texts), SIZE, tmp_path).digest == first.digest
    assert Vocabulary.learn_or_load(texts, SIZE.model_copy(update={"dropout": 0.1}), tmp_path).digest == first.digest


def test_other_text_or_size_is_learned_anew(texts: list[str], tmp_path: Path) -> None:
    first = Vocabulary.learn_or_load(texts, SIZE, tmp_path)
    assert Vocabulary.learn_or_load(texts, VocabularySettings(size=400), tmp_path).digest != first.digest
    assert Vocabulary.learn_or_load(texts[::2], SIZE, tmp_path).digest != first.digest
    assert len(list(tmp_path.iterdir())) == 3


def test_ranks_on_one_machine_may_learn_at_once(texts: list[str], tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: Vocabulary.learn_or_load(texts, SIZE, tmp_path).digest, range(4)))
    assert len(set(found)) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / vocabulary.FILE_NAME).write_bytes(b"not a model")
    with pytest.raises(VocabularyError, match=r"vocabulary is damaged"):
        Vocabulary.load(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="no vocabulary at"):
        Vocabulary.load(tmp_path)


def test_a_size_too_small_for_the_text_is_an_error(texts: list[str]) -> None:
    with pytest.raises(VocabularyError, match="a vocabulary of 10 pieces cannot be learned"):
        Vocabulary.learn(texts, 10)


def test_an_error_of_the_text_is_raised_and_not_taken_for_its_end() -> None:
    def breaks() -> Iterator[str]:
        yield from ["one two three four five six seven eight nine ten"] * 50
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        Vocabulary.learn(breaks(), 300)
