"""Reading what a training has left to translate with."""

from __future__ import annotations

import json
from pathlib import Path

from trainer.data.vocabulary import Vocabulary
from trainer.model.build import load
from trainer.model.transformer import METADATA_FILE, TranslationModel


def load_trained(directory: Path) -> tuple[TranslationModel, Vocabulary]:
    """Returns the model and the vocabulary of a folder with model.params, model.json and vocabulary.

    Raises:
        ValueError: One of them cannot be read, or they are not of the same training.
    """
    model, vocabulary = load(directory), Vocabulary.load(directory)
    made_with = json.loads((directory / METADATA_FILE).read_text()).get("vocabulary_sha256")
    if made_with not in (None, vocabulary.digest):  # an older Centavo has not written it
        raise ValueError(f"{directory}: the vocabulary is not the one that the model was trained with")
    if (len(vocabulary), vocabulary.separate_sizes) != (model.vocab_size, model.separate):
        raise ValueError(
            f"{directory}: the vocabulary has {len(vocabulary)} pieces and the model {model.vocab_size}: "
            "they are not of the same training"
        )
    return model, vocabulary
