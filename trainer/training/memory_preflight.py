"""Whether a node has the memory that a training needs: estimated before the training begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.node.memory import available_bytes, resident_bytes
from trainer.settings.data import BatchSettings
from trainer.settings.model import Architecture, ModelSettings
from trainer.settings.training import Settings
from trainer.training.errors import NodeTooSmallError

if TYPE_CHECKING:
    from trainer.data.batch_stream import BatchStream

FLOAT_BYTES = 4
PROCESS_BYTES = 450 * 1024**2
"""What Python takes with MXNet, GluonNLP, Horovod and a corpus, and without any model."""


@dataclass(frozen=True)
class Estimate:
    """A need of memory in bytes: `fixed`, and `per_token` for each token of this rank's batch, padding included."""

    fixed: int
    per_token: int

    def total(self, tokens: float) -> int:
        """Returns the bytes for a batch of `tokens`."""
        return round(self.fixed + self.per_token * tokens)


def parameter_count(model: Architecture, vocab_size: int) -> int:
    """Returns the numbers in a model.

    There are one shared embedding with the output's bias, 4 matrices in an attention, and 2 in a feed-forward layer.
    """
    units, hidden = model.units, model.hidden
    feed_forward = 2 * units * hidden + hidden + units
    encoder = 4 * units**2 + feed_forward + 4 * units
    decoder = 8 * units**2 + feed_forward + 6 * units
    return vocab_size * (units + 1) + model.layers * (encoder + decoder) + 4 * units


def estimate(
    model: Architecture, vocab_size: int, longest: int, precision: str = "float32", accumulates: bool = False
) -> Estimate:
    """Estimates the memory that training takes.

    Fixed are the parameters, the gradients (twice where they are added up over several batches), Adam's two moments and
    the commit's copy of three of them. For the backward pass, a token keeps the activations of every layer (about 14 of
    `units` and 2 of `hidden`, in encoder and decoder, and attention's `heads` rows of `longest`) and rows of the
    vocabulary: scores, their softmax, the smoothed labels and their gradients are 5 rows. In bfloat16 there are 9 more,
    since oneDNN keeps float32 copies of its results (see `trainer.model.allocation`).

    Measured for tiny at 64 x 64 tokens and base at 32 x 32, in KiB a token: 65 and 480 with the fused kernels, 175 and
    900 without. Estimated: 123 and 740.

    Args:
        model: The sizes of the model.
        vocab_size: Pieces of the vocabulary.
        longest: Ids of the longest sentence.
        precision: The precision of the matrix products.
        accumulates: Whether an update takes several batches.
    """
    copies = 8 if accumulates else 7
    fixed = PROCESS_BYTES + parameter_count(model, vocab_size) * FLOAT_BYTES * copies
    attention = 3 * 3 * model.heads * longest
    layer = 2 * (14 * model.units + 2 * model.hidden) + attention
    rows = 5 if precision == "float32" else 14
    return Estimate(fixed, FLOAT_BYTES * (model.layers * layer + rows * vocab_size))


def least_bytes(settings: Settings) -> int:
    """Estimates the memory below which a node can't train at all, by the settings alone.

    It is what `largest_share_that_fits` asks for where the vocabulary is full and the longest sentence as long as the
    settings allow. The real corpus may need a little less.
    """
    model, batch = settings.model, settings.batch
    requirement = estimate(
        model.architecture(), settings.vocabulary.size, batch.max_tokens, model.precision, batch.accumulate > 1
    )
    return requirement.total(_least_tokens(batch.tokens, batch.max_tokens))


def _least_tokens(tokens: int, longest: int) -> int:
    """Returns the tokens of the smallest part of a global batch that a rank is given: a few sentences."""
    return min(tokens, 4 * longest)


def shortage(needed: int, available: int) -> str | None:
    """Returns why a node is too small, with both numbers, or None where it is not."""
    if needed <= available:
        return None
    return (
        f"out of memory: the training needs about {_mib(needed)} MiB here and the node has {_mib(available)} MiB: "
        "take a larger flavor, or a smaller model or vocabulary"
    )


def largest_share(requirement: Estimate, available: int, global_tokens: int) -> float | None:
    """Returns the largest share of a global batch of `global_tokens` that fits, or None where all of it fits."""
    room = (available - requirement.fixed) / (requirement.per_token * global_tokens)
    return None if room >= 1 else max(0.0, room)


def largest_share_that_fits(
    model: ModelSettings, batch: BatchSettings, vocab_size: int, batches: BatchStream
) -> float | None:
    """Returns the largest share of the global batch that this node's memory has room for; None: all of it.

    Raises:
        NodeTooSmallError: There is no room for one sentence.
    """
    longest, tokens = batches.longest, batches.batch_tokens
    requirement = estimate(model.architecture(), vocab_size, longest, model.precision, batch.accumulate > 1)
    available = available_bytes(resident_bytes())
    reason = shortage(requirement.total(_least_tokens(tokens, longest)), available)
    if reason is not None:
        raise NodeTooSmallError(reason)
    return largest_share(requirement, available, tokens)


def _mib(amount: int) -> str:
    return f"{amount / 1024**2:,.0f}"
