"""Translation by beam search with GNMT's length penalty (Wu et al. 2016, https://arxiv.org/abs/1609.08144, eq. 14)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import mxnet as mx
from gluonnlp.model import BeamSearchSampler, BeamSearchScorer

from trainer.data.batch import collate
from trainer.data.samples import Encoder, Sample
from trainer.inference.step_decoder import StepDecoder
from trainer.model.transformer import TranslationModel
from trainer.settings.training import TranslateSettings


class Pieces(Encoder, Protocol):
    """The part of a vocabulary that translation needs."""

    pad_id: int

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the sentence of piece ids."""
        ...


def translate(
    model: TranslationModel,
    vocabulary: Pieces,
    sentences: Sequence[str],
    settings: TranslateSettings,
) -> list[str]:
    """Returns the best translation of each sentence, in the same order; "" for a sentence without words.

    Hypotheses are compared by their log-probability divided by the length penalty. A sentence that is longer than the
    model can take is cut at the model's `max_length`. Sentences of similar length are translated together.
    """
    translations = [""] * len(sentences)
    for batch in translated_batches(model, vocabulary, sentences, settings):
        for index, translation in batch.items():
            translations[index] = translation
    return translations


def translated_batches(
    model: TranslationModel, vocabulary: Pieces, sentences: Sequence[str], settings: TranslateSettings
) -> Iterator[dict[int, str]]:
    """Yields the translations of up to `settings.batch_size` sentences at a time, by the index of the sentence.

    Sentences without words are left out.
    """
    longest = model.settings.max_length
    encoded = [[*vocabulary.encode(sentence)[: longest - 1], vocabulary.eos_id] for sentence in sentences]
    has_words = [index for index, ids in enumerate(encoded) if len(ids) > 1]
    order = sorted(has_words, key=lambda index: len(encoded[index]))
    sizes = model.settings.architecture()
    decoder = StepDecoder(model.network, sizes.heads, sizes.norm)
    sampler = BeamSearchSampler(
        beam_size=settings.beam_size,
        decoder=decoder,
        eos_id=vocabulary.eos_id,
        scorer=BeamSearchScorer(alpha=settings.alpha, K=settings.k),
        max_length=min(settings.max_length, longest - 1),
    )
    device = next(iter(model.parameters().values())).list_ctx()[0]
    for start in range(0, len(order), settings.batch_size):
        chosen = order[start : start + settings.batch_size]
        samples: list[Sample] = [(encoded[index], [vocabulary.bos_id, vocabulary.eos_id]) for index in chosen]
        found = _search(decoder, sampler, samples, vocabulary, device)
        yield {index: vocabulary.decode(ids) for index, ids in zip(chosen, found, strict=True)}


def _search(
    decoder: StepDecoder, sampler: Any, samples: Sequence[Sample], vocabulary: Pieces, device: Any
) -> list[list[int]]:
    """Returns the ids of the best hypothesis of each sample, without begin and end of sentence."""
    batch = collate(samples, vocabulary.pad_id)
    states = decoder.begin(mx.nd.array(batch.src, ctx=device, dtype="int32"), mx.nd.array(batch.src_len, ctx=device))
    begin = mx.nd.full((len(samples),), vocabulary.bos_id, ctx=device, dtype="int32")
    found, _, valid_lengths = sampler(begin, states)
    # found: (sentences, beam, length), valid_lengths: (sentences, beam); the best hypothesis comes first
    rows, ends = found[:, 0, :].asnumpy().astype(int), valid_lengths[:, 0].asnumpy().astype(int)
    return [row[1 : end - 1].tolist() for row, end in zip(rows, ends, strict=True)]
