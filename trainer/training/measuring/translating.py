"""Translating the sentences of a split by all ranks together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trainer.data.split import deal
from trainer.elastic.exchange import gather_objects
from trainer.elastic.world import World
from trainer.inference.translate import translated_batches
from trainer.settings.training import TranslateSettings
from trainer.training.prepare import Prepared


def translate_together(
    prepared: Prepared,
    world: World,
    shares: Sequence[float],
    sentences: Sequence[str],
    settings: TranslateSettings,
    meet: Callable[[], None],
) -> list[str]:
    """Returns the translations of `sentences`, in their order, on every rank. Collective.

    Args:
        prepared: The model and the vocabulary.
        world: The ranks. Each translates a part in proportion to its share.
        shares: The share of each rank, by which all ranks work out who translates what.
        sentences: The same on every rank.
        settings: How to translate.
        meet: What all ranks do together after each of their batches. A rank that is lost shows there, and not only
            after everything is translated.
    """
    parts = deal([len(sentence) for sentence in sentences], shares)
    rounds = max(-(-len(part) // settings.batch_size) for part in parts)
    mine = parts[world.rank]
    batches = translated_batches(prepared.model, prepared.vocabulary, [sentences[index] for index in mine], settings)
    found: dict[int, str] = {}
    for _ in range(rounds):
        found |= {mine[number]: text for number, text in next(batches, {}).items()}
        meet()
    by_index = {index: text for part in gather_objects(found, "translations") for index, text in part.items()}
    return [by_index.get(index, "") for index in range(len(sentences))]
