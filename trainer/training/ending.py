"""What ranks do together after the last step: compare the replicas, translate the test split, keep the results."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from trainer.checkpoint.checkpoint import Checkpoint
from trainer.elastic.errors import WorldLostError
from trainer.elastic.exchange import broadcast_object, gather_objects, sum_vector
from trainer.elastic.failures import translating_failures
from trainer.elastic.world import World
from trainer.inference.chrf import character_score
from trainer.inference.score import score
from trainer.record.progress import Progress
from trainer.settings.training import CheckpointSettings
from trainer.training.divergence import check_parameters
from trainer.training.loop import Training
from trainer.training.measuring.translating import translate_together
from trainer.training.replicas import compare
from trainer.training.results import keep_results
from trainer.training.state import average

log = logging.getLogger(__name__)

EXAMPLES = 5


def finish(training: Training, world: World) -> dict[str, Any]:
    """Scores the trained model and keeps the results. Collective.

    A rank that is lost meanwhile costs a new try without it.

    Returns:
        The scores. When this returns, rank 0 has put them and the model into the storage.

    Raises:
        TrainingFailedError: The parameters are not finite numbers, or ranks are lost again and again.
    """
    while True:
        try:
            with translating_failures():
                scores = _finish(training, world)
            _wait_for_all()
            return scores
        except WorldLostError as error:
            log.warning("a rank is lost (%s); finishing without it", error)
            training.run_again(world, error)


def _finish(training: Training, world: World) -> dict[str, Any]:
    compare(training.prepared, training.state, world)
    check_parameters(training.prepared, world, training.state.progress.step)
    trained = gather_objects(training.state.digest(), "digests")
    digests = trained
    kept = training.prepared.settings.checkpoint
    steps = [training.state.progress.step]
    if kept.average > 1 or kept.average_of == "best":
        steps = _take_average(training, world, kept)
        digests = gather_objects(training.state.digest(), "digests of the average")
    scores = _scores(training, world, digests)
    scores |= {"replicas_identical": len(set(trained)) == 1, "model_of_steps": steps}
    if world.rank == 0:
        training.prepared.checkpoints.finish()
        keep_results(training, scores)
    broadcast_object(True, 0, "results kept")
    return scores


def _wait_for_all() -> None:
    """Waits until every rank has learned that the results are kept: a rank that leaves breaks the others' connections.

    A rank that has come here knows that they are kept, so that a connection which breaks now is no loss.
    """
    try:
        with translating_failures():
            gather_objects(True, "goodbye")
    except WorldLostError:
        log.debug("another rank has left already")


def _take_average(training: Training, world: World, settings: CheckpointSettings) -> list[int]:
    """Lets the mean of the last or the best checkpoints be the model, on all ranks. Collective.

    Returns:
        The steps of these checkpoints.
    """
    steps = [training.state.progress.step]
    if world.rank == 0:
        steps, parameters = average(_to_average(training, settings))
        if not steps:
            log.warning("no validation has left a best checkpoint: the model is what the last step has made")
        elif len(steps) < settings.average:
            log.warning("the model is the mean of %d checkpoints: there are no %d yet", len(steps), settings.average)
        if steps:
            training.state.take_parameters(parameters)
    training.state.share_parameters(0)
    averaged: list[int] = broadcast_object(steps, 0, "averaged steps") or [training.state.progress.step]
    return averaged


def _to_average(training: Training, settings: CheckpointSettings) -> Iterator[Checkpoint]:
    checkpoints, state = training.prepared.checkpoints, training.state
    checkpoints.finish()
    if settings.average_of == "best":
        return checkpoints.best([step for step, _ in state.progress.best[: settings.average]])
    checkpoints.save(state.snapshot())
    return checkpoints.newest(settings.average, regular_only=True)


def _scores(training: Training, world: World, digests: list[str]) -> dict[str, Any]:
    """Returns the content of scores.json. Collective: each rank translates a part of the test split."""
    progress, settings = training.state.progress, training.prepared.settings.translate
    test = training.prepared.test
    sources = [source for source, _ in test]
    hypotheses = translate_together(training.prepared, world, training.shares, sources, settings, _meet)
    references = [target for _, target in test]
    result = score(hypotheses, references, settings.tokenize, settings.lowercase)
    by_characters = character_score(hypotheses, references, settings.lowercase)
    return {
        "steps": progress.step,
        "tokens": progress.tokens,
        "final_loss": progress.loss,
        "bleu": result.bleu,
        "chrf": by_characters.chrf,
        "exact_match": result.exact_match,
        "signature": result.signature,
        "chrf_signature": by_characters.signature,
        "validation": _validation(progress),
        "steps_lost": progress.steps_lost,
        "skipped_updates": progress.skipped_updates,
        "replicas_corrected": progress.replicas_corrected,
        "restarts": progress.restarts,
        "stopped": progress.stopped,
        "init_from": progress.init_from,
        "changes": progress.changes,
        "parameters_sha256": {str(rank): digest for rank, digest in enumerate(digests)},
        "examples": [
            {"source": source, "reference": target, "translation": hypothesis}
            for (source, target), hypothesis in zip(test[:EXAMPLES], hypotheses, strict=False)
        ],
    }


def _meet() -> None:
    """Lets a rank that is lost while the test split is translated show at once. Collective."""
    sum_vector(np.zeros(1), "meeting")


def _validation(progress: Progress) -> dict[str, Any] | None:
    """Returns what the last validation has measured, and the best value so far; None: there was none."""
    last = next((line for line in reversed(progress.log) if "validation_loss" in line), None)
    if last is None:
        return None
    finite = {name: value for name, value in last.items() if name != "t" and math.isfinite(value)}
    measures = {name.removeprefix("validation_"): value for name, value in finite.items()}
    best = [{"step": step, "value": value} for step, value in progress.best]
    return {
        "measure": progress.measure,
        "best": progress.best_validation,
        "best_checkpoints": best,
        "last": measures,
    }
