"""A vocabulary for each language: what is encoded by which, and that both travel in one file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from tests.support.raw_text import PAIRS
from trainer.data.vocabulary import SEPARATE, Vocabulary, VocabularyError
from trainer.settings.data import VocabularySettings

SOURCES, TARGETS = ([pair[side] for pair in PAIRS] for side in (0, 1))
TEXTS = [text for pair in PAIRS for text in pair]


@pytest.fixture(scope="module")
def both() -> Vocabulary:
    return Vocabulary.learn_separately(TEXTS, 380)


@pytest.fixture(scope="module")
def each() -> tuple[Vocabulary, Vocabulary]:
    return Vocabulary.learn(SOURCES, 380), Vocabulary.learn(TARGETS, 380)


def cut(ids: np.ndarray, pieces: np.ndarray) -> list[list[int]]:
    return [part.tolist() for part in np.split(ids, np.cumsum(pieces)[:-1])]


def test_each_is_learned_from_its_own_language(both: Vocabulary, each: tuple[Vocabulary, Vocabulary]) -> None:
    assert both.models == [one.model for one in each]
    assert both.separate_sizes == (len(each[0]), len(each[1]))
    assert len(both) == max(map(len, each))
    assert each[0].separate_sizes is None


def test_sentences_by_turns_are_encoded_by_turns(both: Vocabulary, each: tuple[Vocabulary, Vocabulary]) -> None:
    expected = [each[place % 2].encode(text) for place, text in enumerate(TEXTS[:9])]
    assert cut(*both.encode_all(TEXTS[:9])) == expected
    assert both.encode(SOURCES[0]) == expected[0] != each[1].encode(SOURCES[0])
    assert both.decode(expected[1]) == TARGETS[0]


def test_bpe_dropout_cuts_each_language_by_its_own_merges(
    both: Vocabulary, each: tuple[Vocabulary, Vocabulary]
) -> None:
    texts = [text for pair in PAIRS[:200] for text in pair]
    whole = cut(*both.sample(texts, len(texts), 0.0, [1]))
    assert whole == cut(*both.encode_all(texts))
    drawn = cut(*both.sample(texts, len(texts), 0.2, [1]))
    assert drawn == cut(*both.sample(texts, len(texts), 0.2, [1])) != whole
    assert [each[place % 2].decode(ids) for place, ids in enumerate(drawn)] == texts


def test_both_are_saved_in_one_file_and_come_back(both: Vocabulary, tmp_path: Path) -> None:
    both.save(tmp_path)
    again = Vocabulary.load(tmp_path)
    assert (again.digest, again.separate_sizes) == (both.digest, both.separate_sizes)
    assert again.encode_all(TEXTS[:8])[0].tolist() == both.encode_all(TEXTS[:8])[0].tolist()


def test_they_are_kept_apart_from_a_vocabulary_of_both_languages(tmp_path: Path) -> None:
    separate, joint = (
        Vocabulary.learn_or_load(TEXTS, VocabularySettings(size=380, separate=one), tmp_path) for one in (True, False)
    )
    assert separate.separate_sizes is not None and joint.separate_sizes is None
    again = Vocabulary.learn_or_load(TEXTS, VocabularySettings(size=380, separate=True), tmp_path)
    assert again.digest == separate.digest != joint.digest


@pytest.mark.parametrize("part", [b"", b"\x05\x00\x00\x00\x00\x00\x00\x00torn"])
def test_a_torn_file_is_refused(part: bytes) -> None:
    with pytest.raises(VocabularyError):
        Vocabulary(SEPARATE + part)


def test_two_whose_special_pieces_differ_are_refused(each: tuple[Vocabulary, Vocabulary], tmp_path: Path) -> None:
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(TARGETS), model_prefix=str(tmp_path / "other"), vocab_size=200, minloglevel=2
    )
    with pytest.raises(VocabularyError, match="the same ids in both"):
        Vocabulary.joined(each[0], Vocabulary.read(tmp_path / "other.model"))
