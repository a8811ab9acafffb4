"""The model card: what a model is, what it was trained on and how good it is, for whoever uses it.

A card has the sections that Mitchell et al. 2019 (https://arxiv.org/abs/1810.03993) ask for, as far as a training knows
them. The block at its top is that of Hugging Face's model cards (https://huggingface.co/docs/hub/model-cards).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from trainer.data.prepared.manifest import SPLITS, Manifest
from trainer.settings.training import Settings

FILE_NAME = "model-card.md"
Rows = Iterable[tuple[str, object]]
_SIGNS = str.maketrans({"|": "\\|", "<": "&lt;", "\n": " ", "\r": " ", "`": "\\`"})


def model_card(settings: Settings, corpus: Manifest, parameters: int, scores: Mapping[str, Any]) -> str:
    """Returns the card as Markdown.

    Args:
        settings: The training.
        corpus: What it was trained on.
        parameters: How many numbers the model has.
        scores: The content of scores.json.
    """
    name = settings.card.name or f"Translation from {corpus.source} to {corpus.target}"
    parts = [
        _front_matter(settings, corpus),
        f"# {_plain(name)}\n",
        f"A Transformer that translates from {corpus.source} to {corpus.target}, trained with Centavo.\n",
        _section("Files", (*_FILES, *(_SEPARATE if corpus.vocabulary.separate else ()))),
        _use(),
        _section("Model", _model(settings, corpus, parameters)),
        _section("Data", _data(settings, corpus)),
        _section("Training", _training(settings, scores)),
        _section("Evaluation", _evaluation(settings, corpus, scores)),
        _examples(scores),
    ]
    return "\n".join(part for part in parts if part)


_FILES = (
    ("model.params", "the parameters, as MXNet saves them"),
    ("model.json", "the sizes of the model"),
    ("vocabulary", "the vocabulary: a SentencePiece model, or two in one file"),
    ("training.yml", "the settings of the training"),
    ("scores.json", "all scores"),
    ("train.log", "loss and validations, a line of JSON each"),
)

_SEPARATE = (
    ("vocabulary.source", "the SentencePiece model of the source"),
    ("vocabulary.target", "the SentencePiece model of the target"),
)


def _use() -> str:
    return (
        "## Use\n\n```console\n$ python -m trainer translate --model FOLDER < source.txt > translation.txt\n```\n\n"
        "The model translates single sentences of the kind that it was trained on. Nobody has looked at how it treats "
        "other text, or at what is wrong or one-sided in its data.\n"
    )


def _front_matter(settings: Settings, corpus: Manifest) -> str:
    facts: dict[str, Any] = {"language": [corpus.source, corpus.target], "tags": ["translation"]}
    if settings.card.license is not None:
        facts["license"] = settings.card.license
    facts["metrics"] = ["bleu", "chrf"]
    return f"---\n{yaml.safe_dump(facts, sort_keys=False, allow_unicode=True)}---\n"


def _model(settings: Settings, corpus: Manifest, parameters: int) -> Rows:
    sizes = settings.model.architecture()
    yield "parameters", f"{parameters:,}"
    yield "layers", f"{sizes.layers} of the encoder, {sizes.layers_of_decoder} of the decoder, {sizes.norm}-norm"
    yield "units", f"{sizes.units}, {sizes.hidden} in feed-forward layers, {sizes.heads} heads"
    of_each = "at most, for each language" if corpus.vocabulary.separate else "of both languages"
    yield "vocabulary", f"{corpus.vocabulary.pieces:,} pieces {of_each}"
    yield "longest sentence", f"{settings.model.max_length} pieces"
    if settings.card.license is not None:
        yield "licence", settings.card.license


def _data(settings: Settings, corpus: Manifest) -> Rows:
    yield "corpus", settings.corpus.kind
    if settings.card.data is not None:
        yield "source", settings.card.data
    for split in SPLITS:
        yield f"{split}, sentence pairs", f"{corpus.pairs(split):,}"
    yield "digest", corpus.digest


def _training(settings: Settings, scores: Mapping[str, Any]) -> Rows:
    optimizer, steps = settings.optimizer, scores["model_of_steps"]
    if scores["init_from"] is not None:
        yield "begun with", scores["init_from"]
    yield "steps", f"{scores['steps']:,}, of {settings.batch.tokens * settings.batch.accumulate:,} tokens at most"
    yield "target tokens", f"{scores['tokens']:,}"
    yield (
        "learning rate",
        f"{optimizer.learning_rate:g}, {optimizer.warmup_steps} steps of warm-up, {optimizer.schedule}",
    )
    yield "dropout", f"{settings.model.architecture().dropout:g}"
    yield "label smoothing", f"{settings.model.label_smoothing:g}"
    if settings.model.r_drop:
        yield "R-Drop", f"{settings.model.r_drop:g}"
    yield "ended early", scores["stopped"] or "no"
    which = ", ".join(map(str, sorted(steps)))
    yield "parameters", f"those of step {which}" if len(steps) == 1 else f"the mean of those of steps {which}"


def _evaluation(settings: Settings, corpus: Manifest, scores: Mapping[str, Any]) -> Rows:
    most, beam = settings.translate.test_sentences, settings.translate.beam_size
    sentences = corpus.pairs("test") if most is None else min(most, corpus.pairs("test"))
    yield "test split", f"{sentences:,} sentences, beam {beam}"
    yield "BLEU", f"{scores['bleu']:.2f} ({scores['signature']})"
    yield "chrF", f"{scores['chrf']:.2f} ({scores['chrf_signature']})"
    yield "exact match", f"{scores['exact_match']:.2%}"
    validation = scores["validation"]
    for measure, value in ({} if validation is None else validation["last"]).items():
        yield f"last validation, {measure.replace('_', ' ')}", value


def _examples(scores: Mapping[str, Any]) -> str:
    lines = ["## Examples\n", "| sentence | translation | reference |", "|---|---|---|"]
    for one in scores["examples"]:
        lines.append("| " + " | ".join(_plain(one[key]) for key in ("source", "translation", "reference")) + " |")
    return "\n".join(lines) + "\n"


def _section(title: str, rows: Rows) -> str:
    lines = [f"| {name} | {_plain(str(value))} |" for name, value in rows]
    return "\n".join([f"## {title}\n", "| | |", "|---|---|", *lines]) + "\n"


def _plain(text: str) -> str:
    """Returns text such that Markdown shows it as it is, in one cell of a table."""
    return text.translate(_SIGNS)
