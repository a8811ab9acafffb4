"""Translation: a model that has learned its sentences gives them back, whatever the batches."""

from __future__ import annotations

import io
import re
from pathlib import Path

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon

from trainer import cli
from trainer.data.batch import collate
from trainer.data.samples import encode_pairs
from trainer.data.vocabulary import Vocabulary
from trainer.inference.step_decoder import StepDecoder
from trainer.inference.trained import load_trained
from trainer.inference.translate import translate
from trainer.model import build as model
from trainer.model import pre_norm
from trainer.model.transformer import TranslationModel
from trainer.settings.model import ModelSettings
from trainer.settings.training import TranslateSettings

WORDS = {"one": "um", "two": "dois", "three": "três", "four": "quatro", "five": "cinco"}


class Words:
    """A vocabulary of whole words."""

    pad_id, unk_id, bos_id, eos_id = range(4)
    words = ("", "?", "", "", *WORDS, *WORDS.values())

    def encode(self, sentence: str) -> list[int]:
        return [self.words.index(word) if word in self.words else self.unk_id for word in sentence.split()]

    def decode(self, ids: list[int]) -> str:
        return " ".join(self.words[index] for index in ids)


def sentences() -> list[tuple[str, str]]:
    rng = np.random.RandomState(0)
    chosen = [[list(WORDS)[index] for index in rng.randint(0, 5, rng.randint(1, 6))] for _ in range(64)]
    return [(" ".join(words), " ".join(WORDS[word] for word in words)) for words in chosen]


@pytest.fixture(scope="module")
def trained() -> TranslationModel:
    made = model.build(
        ModelSettings(layers=1, units=32, hidden=64, heads=2, dropout=0.0, max_length=12), len(Words.words)
    )
    batch = collate(list(encode_pairs(Words(), sentences())), Words.pad_id)
    arrays = [mx.nd.array(array, dtype=array.dtype) for array in (batch.src, batch.src_len, batch.tgt, batch.tgt_len)]
    trainer = gluon.Trainer(made.parameters(), "adam", {"learning_rate": 5e-3})
    for _ in range(150):
        with autograd.record():
            loss, tokens = made.loss(*arrays)
        loss.backward()
        trainer.step(tokens)
    return made


def test_what_was_learned_is_translated(trained: TranslationModel) -> None:
    sources, references = zip(*sentences(), strict=True)
    assert translate(trained, Words(), sources, TranslateSettings()) == list(references)


@pytest.mark.parametrize("batch_size", [1, 7, 64])
@pytest.mark.parametrize("beam_size", [1, 5])
def test_the_order_is_kept_whatever_the_batches(trained: TranslationModel, batch_size: int, beam_size: int) -> None:
    pairs = sentences()[20:]
    settings = TranslateSettings(batch_size=batch_size, beam_size=beam_size)
    found = translate(trained, Words(), [source for source, _ in pairs], settings)
    assert found == [target for _, target in pairs]


def test_the_length_penalty_prefers_longer_translations() -> None:
    """Returns translations by a model that has learned nothing, and whose seed makes it say several words."""
    made = model.build(ModelSettings(layers=1, units=32, hidden=64, heads=2, max_length=12, seed=4), len(Words.words))

    def words(alpha: float, k: float) -> int:
        sources = [source for source, _ in sentences()]
        translations = translate(made, Words(), sources, TranslateSettings(alpha=alpha, k=k))
        return sum(len(translation.split()) for translation in translations)

    assert words(0.0, 5.0) < words(0.6, 5.0) < words(1.0, 5.0)
    assert words(0.6, 1e9) == words(0.0, 5.0), "nothing is left of a penalty with a very large k"
    assert words(0.6, 5.0) < words(0.6, 0.0)


def test_no_sentences_give_no_translations(trained: TranslationModel) -> None:
    assert translate(trained, Words(), [], TranslateSettings()) == []


def test_nothing_is_translated_as_nothing(trained: TranslationModel) -> None:
    assert translate(trained, Words(), ["", "one two", ""], TranslateSettings()) == ["", "um dois", ""]


def test_translations_end_at_max_length(trained: TranslationModel) -> None:
    cut = translate(trained, Words(), ["five four three two one"], TranslateSettings(max_length=2))
    assert len(cut[0].split()) <= 2


def test_sentences_that_are_too_long_are_cut(trained: TranslationModel) -> None:
    assert len(translate(trained, Words(), ["one " * 40], TranslateSettings())) == 1


@pytest.mark.parametrize(("norm", "layers"), [("post", 2), ("post", 1), ("pre", 2), ("pre", 1)])
def test_step_by_step_scores_equal_those_of_gluonnlp(norm: str, layers: int) -> None:
    sizes = {"layers": 2, "decoder_layers": layers, "units": 24, "hidden": 40, "heads": 3}
    made = model.build(ModelSettings(**sizes, norm=norm, max_length=20), 40)
    for parameter in made.parameters().values():
        parameter.set_data(parameter.data() + 0.1 * mx.nd.random.normal(shape=parameter.shape))
    rng = np.random.RandomState(0)
    src, src_len = mx.nd.array(rng.randint(4, 40, (4, 9)), dtype="int32"), mx.nd.array([9, 1, 4, 7])
    decoder = StepDecoder(made.network, 3, norm)
    states = decoder.begin(src, src_len)
    tgt, lengths = mx.nd.array(rng.randint(4, 40, (4, 6)), dtype="int32"), mx.nd.full((4,), 6)
    if norm == "post":
        expected = made.network(src, tgt, src_len, lengths)[0]  # (sentences, length, vocabulary)
    else:
        expected = pre_norm.scores(made.network, src, tgt, src_len, lengths)
    for place in range(6):
        scores, states = decoder(tgt[:, place], states)
        wanted = mx.nd.log_softmax(expected[:, place]).asnumpy()
        assert scores.asnumpy() == pytest.approx(wanted, abs=1e-5)


def test_a_vocabulary_of_another_training_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model.build(ModelSettings(layers=1, units=8, hidden=8, heads=1), 40).save(tmp_path)
    texts = [" ".join(str(number) for number in range(start, start + 9)) for start in range(200)]
    Vocabulary.learn(texts, 280).save(tmp_path)
    assert cli.main(["translate", "--model", str(tmp_path)]) == cli.EXIT_USAGE
    told = capsys.readouterr().err
    assert re.search(r"the vocabulary has 2\d\d pieces and the model 40: they are not of the same", told)


def test_a_vocabulary_of_another_corpus_is_refused_though_it_is_as_large(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, other = (Vocabulary.learn([f"{word} {word}"] * 9, 270) for word in ("abc", "xyz"))
    assert len(own) == len(other)
    made = model.build(ModelSettings(layers=1, units=8, hidden=8, heads=1), len(own))
    made.save(tmp_path, {"vocabulary_sha256": own.digest})
    own.save(tmp_path)
    assert load_trained(tmp_path)[1].digest == own.digest
    other.save(tmp_path)
    assert cli.main(["translate", "--model", str(tmp_path)]) == cli.EXIT_USAGE
    assert "the vocabulary is not the one that the model was trained with" in capsys.readouterr().err


def test_lines_are_translated_whatever_ends_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [" ".join(WORDS), *WORDS.values()] * 9
    vocabulary = Vocabulary.learn(texts, 290)
    vocabulary.save(tmp_path)
    model.build(ModelSettings(layers=1, units=8, hidden=8, heads=1), len(vocabulary)).save(tmp_path)

    def answer(text: str) -> str:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert cli.main(["translate", "--model", str(tmp_path), "--beam-size", "2"]) == 0
        return capsys.readouterr().out

    plain = answer("one two\n\nthree\n")
    assert len(plain.split("\n")) == 4 and plain.split("\n")[1] == ""
    assert answer("\ufeffone two\r\n \r\nthree") == plain


@pytest.mark.parametrize("option", [["--beam-size", "0"], ["--alpha", "-1"], ["--k", "-1"]])
def test_a_search_that_cannot_be_is_refused_before_the_model_is_read(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["translate", "--model", str(tmp_path / "none"), *option]) == cli.EXIT_USAGE
    assert re.search(r"error: .*must be [01] or more", capsys.readouterr().err)
