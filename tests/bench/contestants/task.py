"""The batches that both contestants train on: the target is the source in another alphabet, which can be learned."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

FIRST_WORD = 4
BEGIN = 2
LEARNING_RATE = 5e-4
BETAS = (0.9, 0.98)
EPSILON = 1e-9
SMOOTHING = 0.1
SEED = 1


def job() -> dict[str, Any]:
    """Returns the job on the command line."""
    asked: dict[str, Any] = json.loads(sys.argv[1])
    return asked


def batch(asked: dict[str, Any], step: int, rank: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Returns source ids (sentences, length) and target ids (sentences, length + 1) of one step of one rank."""
    rng = np.random.RandomState([SEED, step, rank])
    words = asked["vocabulary"] - FIRST_WORD
    # The squared uniform makes some words frequent, as in a language.
    chosen = (rng.random_sample((asked["sentences"], asked["length"])) ** 2 * words).astype(np.int32)
    begin = np.full((asked["sentences"], 1), BEGIN, dtype=np.int32)
    target = np.concatenate([begin, FIRST_WORD + (chosen * 7 + 3) % words], axis=1)
    return FIRST_WORD + chosen, target.astype(np.int32)


def report(asked: dict[str, Any], seconds: float, cpu_s: float, loss: float) -> None:
    """Prints the result of all processes together. Rank 0 calls it; `cpu_s` is its own processor time.

    Processor time per token says more than tokens per second where others use the machine too.
    """
    own = asked["sentences"] * asked["length"] * asked["steps"]
    result = {"tokens_per_s": own * asked["processes"] / seconds, "cpu_s_per_1000_tokens": 1000 * cpu_s / own}
    print(json.dumps({**result, "loss": loss}), flush=True)
