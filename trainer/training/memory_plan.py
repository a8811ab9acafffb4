"""What a rank needs memory for, item by item, by the settings and the corpus alone.

Measured on Multi30k with 4,000 pieces, whole trainings of 7 steps with a checkpoint every other step: tiny with 4,096
tokens 1,698 MiB, base with 1,024 tokens 4,622 MiB. Planned: 1,621 and 5,286.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trainer.data.prepared.manifest import Manifest, ShardEntry
from trainer.data.shard import KEPT_SHARDS, within
from trainer.settings.model import Architecture
from trainer.settings.training import MOST_WAITING_BYTES, Settings

FLOAT_BYTES = 4
PROCESS_BYTES = 450 * 1024**2
"""What Python takes with MXNet, GluonNLP and Horovod, and without any model or corpus."""
STATE_COPIES = 3
"""A copy of the state has the parameters and Adam's two moments."""
AVERAGING_COPIES = 5
"""The mean is summed in float64, which is twice the parameters, and a checkpoint is a copy of the state."""
INDEX_BYTES = 32
"""What a pair of a shard takes beside its ids or its text: where both sides begin, and how long they are."""
SAMPLED_IDS = 3
"""BPE-dropout keeps ids of 4 bytes in place of 2, and half as many again."""
PYTHON_ID_BYTES = 40
"""What an id of the validation split takes in a list of Python."""
BYTES_PER_PAIR = 2000
"""What a generated pair takes while it is prepared on the way, learning included. Measured for 31,000: 1,880."""
BYTES_PER_BYTE = 30
"""The same for a byte of raw text. Measured for the 4 MB of Multi30k: 30."""
UNPACKED = 4
"""How many times as large a .gz file of text is when it is unpacked."""


@dataclass(frozen=True)
class Item:
    """One need of memory, in bytes."""

    name: str
    bytes: int


@dataclass(frozen=True)
class MemoryPlan:
    """All needs of a rank's process.

    Attributes:
        items: What it needs all the time.
        while_training: What it needs beside them while it trains, whatever its part of the batch is.
        at_the_end: What it needs when all steps are made, one after another. MXNet keeps what the steps took.
        per_token: Bytes for each token of its part of a global batch, padding included.
        global_tokens: The most tokens of a global batch.
        longest: The most ids of a sentence.
    """

    items: Sequence[Item]
    while_training: Sequence[Item]
    at_the_end: Sequence[Item]
    per_token: int
    global_tokens: int
    longest: int

    @property
    def fixed(self) -> int:
        """The bytes that training takes without any batch."""
        return sum(item.bytes for item in (*self.items, *self.while_training))

    @property
    def least_tokens(self) -> int:
        """The tokens of the smallest part of a global batch that a rank is given: a few sentences."""
        return min(self.global_tokens, 4 * self.longest)

    def total(self, tokens: float) -> int:
        """Returns the bytes at the peak, with a part of `tokens` of each global batch."""
        at_the_end = max((item.bytes for item in self.at_the_end), default=0)
        return self.fixed + round(self.per_token * tokens) + at_the_end

    @property
    def least(self) -> int:
        """The bytes without which the node cannot train at all."""
        return self.total(self.least_tokens)

    def largest_share(self, available: int) -> float | None:
        """Returns the largest share of a global batch for which `available` bytes suffice; None: all of it."""
        room = (available - self.total(0)) / (self.per_token * self.global_tokens)
        return None if room >= 1 else max(0.0, room)


def plan_of(
    settings: Settings, manifest: Manifest | None, batch_tokens: int | None = None, keeps_scores: bool = True
) -> MemoryPlan:
    """Returns what a rank needs.

    Args:
        settings: The training.
        manifest: The prepared corpus; None: it is not known yet. Then the vocabulary is taken to be as large, and the
            longest sentence as long, as the settings allow, and the corpus to be prepared on the way.
        batch_tokens: The most tokens of a global batch, where it is known to exceed the settings (BPE-dropout).
        keeps_scores: See `token_bytes`.
    """
    model, batch = settings.model.architecture(), settings.batch
    pieces = settings.vocabulary.size if manifest is None else manifest.vocabulary.pieces
    longest = batch.max_tokens if manifest is None else _longest(manifest, settings)
    is_separate = settings.vocabulary.separate if manifest is None else manifest.vocabulary.separate
    parameters = parameter_count(model, pieces, is_separate) * FLOAT_BYTES
    copy = STATE_COPIES * parameters
    averages = settings.checkpoint.average > 1 or settings.checkpoint.average_of == "best"
    items = [
        Item("process", PROCESS_BYTES),
        Item("corpus", _on_the_way_bytes(settings) if manifest is None else corpus_bytes(manifest, settings)),
        Item("parameters", parameters),
        Item("gradients", parameters * (2 if batch.accumulate > 1 else 1)),
        Item("optimizer", 2 * parameters),
        Item("commit", copy),
    ]
    while_training = [
        Item("the commit before it, until it is whole", copy),
        Item("checkpoint that is written", copy),
        Item("checkpoint that waits", min(copy, MOST_WAITING_BYTES)),
    ]
    at_the_end = [
        Item("mean of checkpoints, and one of them", AVERAGING_COPIES * parameters if averages else 0),
        Item("translating", _translating_bytes(settings, model, pieces, _longest_to_translate(manifest, settings))),
    ]
    passes = 2 if settings.model.r_drop else 1
    per_token = passes * token_bytes(model, pieces, longest, settings.model.precision, keeps_scores)
    return MemoryPlan(items, while_training, at_the_end, per_token, batch_tokens or batch.tokens, longest)


def parameter_count(model: Architecture, vocab_size: int, separate: bool = False) -> int:
    """Returns the numbers in a model.

    There are one shared embedding with the output's bias (and one more with `separate` vocabularies), 4 matrices in an
    attention, and 2 in a feed-forward layer.
    """
    units, hidden = model.units, model.hidden
    feed_forward = 2 * units * hidden + hidden + units
    encoder = 4 * units**2 + feed_forward + 4 * units
    decoder = 8 * units**2 + feed_forward + 6 * units
    norms = 4 * units if model.norm == "post" else 8 * units  # of the embeddings, and after the last layers
    embeddings = vocab_size * (units + 1) + (vocab_size * units if separate else 0)
    return embeddings + model.layers * encoder + model.layers_of_decoder * decoder + norms


def token_bytes(
    model: Architecture, vocab_size: int, longest: int, precision: str = "float32", keeps_scores: bool = True
) -> int:
    """Estimates what the backward pass keeps for a token of a batch.

    It keeps the activations of every layer (about 14 of `units`, 3 more with pre-norm, and 2 of `hidden`, in encoder
    and decoder, and attention's `heads` rows of `longest`) and rows of the vocabulary: scores, their softmax, the
    smoothed labels and their gradients are 5 rows. In bfloat16 there are 9 more, since oneDNN keeps float32 copies of
    its results (see `trainer.model.allocation`).

    Measured for tiny at 64 x 64 tokens and base at 32 x 32, in KiB a token: 65 and 480 with the fused kernels, 175 and
    900 without. Estimated: 123 and 740. In bfloat16 with 8,000 pieces, at 48 x 64 tokens: 305 and 732, and in tiles 84
    and 551. Estimated: 546 and 1,074, and in tiles 108 and 636.

    Args:
        model: The sizes of the model.
        vocab_size: Pieces of the vocabulary.
        longest: Ids of the longest sentence.
        precision: The precision of the matrix products.
        keeps_scores: Whether there are any rows of the vocabulary; see `trainer.model.build.keeps_scores`.
    """
    attentions = model.layers + 2 * model.layers_of_decoder
    attention = 3 * attentions * model.heads * longest
    of_units = 14 if model.norm == "post" else 17
    layers = (model.layers + model.layers_of_decoder) * (of_units * model.units + 2 * model.hidden) + attention
    rows = 0
    if keeps_scores:
        rows = 5 if precision == "float32" else 14
    return FLOAT_BYTES * (layers + rows * vocab_size)


def corpus_bytes(manifest: Manifest, settings: Settings) -> int:
    """Returns what reading takes: a few shards, however many there are, and the validation split."""
    dropout = settings.vocabulary.dropout > 0
    largest = max(_shard_bytes(shard, dropout) for shard in manifest.splits["train"])
    validation = sum(length * count for shard in manifest.splits["validation"] for length, count in shard.lengths)
    return KEPT_SHARDS * largest + 2 * PYTHON_ID_BYTES * validation


def _shard_bytes(shard: ShardEntry, dropout: bool) -> int:
    ids = shard.ids.bytes + INDEX_BYTES * shard.pairs
    return ids + shard.text.bytes + INDEX_BYTES * shard.pairs + SAMPLED_IDS * shard.ids.bytes if dropout else ids


def _longest(manifest: Manifest, settings: Settings) -> int:
    if settings.vocabulary.dropout > 0:
        return settings.batch.max_tokens
    kept = (within(shard.length_counts, settings.batch.max_tokens) for shard in manifest.splits["train"])
    return max((int(counts[-1, 0]) for counts in kept if len(counts)), default=settings.batch.max_tokens)


def _longest_to_translate(manifest: Manifest | None, settings: Settings) -> int:
    limit = settings.model.max_length
    if manifest is None:
        return limit
    return min(limit, max((length for shard in manifest.splits["test"] for length, _ in shard.lengths), default=limit))


def _translating_bytes(settings: Settings, model: Architecture, pieces: int, longest: int) -> int:
    """Estimates what beam search takes: keys and values of every layer, and scores of pieces.

    Keys and values of the translation grow with every piece and are made anew: four times their size, with the gaps
    that they leave. Measured for tiny and base with 64 sentences of Multi30k, 4 hypotheses and 60 pieces: 393 and
    1,600 MiB. Estimated: 307 and 1,762.
    """
    translate = settings.translate
    own = 4 * 2 * model.layers_of_decoder * model.units * min(translate.max_length, settings.model.max_length)
    of_source = 2 * model.layers_of_decoder * model.units * longest
    hypotheses = translate.batch_size * translate.beam_size
    return FLOAT_BYTES * hypotheses * (own + of_source + 4 * pieces)


def _on_the_way_bytes(settings: Settings) -> int:
    """Estimates what it takes to read a corpus that is not prepared, and to prepare it: text, ids and lists of them."""
    corpus = settings.corpus
    if corpus.kind == "generated":
        return BYTES_PER_PAIR * (corpus.pairs + 2 * corpus.held_out)
    files = [Path(name).expanduser() for name in (*corpus.train, *corpus.validation, *corpus.test)]
    return sum(
        BYTES_PER_BYTE * path.stat().st_size * (UNPACKED if path.suffix == ".gz" else 1)
        for path in files
        if path.is_file()
    )
