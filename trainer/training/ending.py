"""After the last step: prove that the replicas are equal, translate the test split, score it, keep the results."""

from __future__ import annotations

import json
import logging
import tempfile
from pathlib import Path
from typing import Any

from trainer.checkpoint.storage import Storage
from trainer.elastic.world import World, WorldLostError, broadcast_object, gather_objects, translating_failures
from trainer.inference.score import score
from trainer.inference.translate import translate
from trainer.settings.settings import Settings
from trainer.training.state import average
from trainer.training.training import Training

log = logging.getLogger(__name__)

RESULTS = "results/"


def finish(training: Training, world: World, settings: Settings) -> dict[str, Any]:
    """The scores, on every rank; rank 0 has put them and the model into the storage. A lost rank costs a new try."""
    while True:
        try:
            with translating_failures():
                scores = _finish(training, world, settings)
            _say_goodbye()
            return scores
        except WorldLostError as error:
            log.warning("a rank is lost (%s); finishing without it", error)
            training.run_again(world)


def _finish(training: Training, world: World, settings: Settings) -> dict[str, Any]:
    training.check_parameters(world)
    trained = gather_objects(training.state.digest(), "digests")
    digests = trained
    if settings.checkpoint.average > 1:
        _take_average(training, world, settings.checkpoint.average)
        digests = gather_objects(training.state.digest(), "digests of the average")
    scores = _scores(training, world, settings, digests) | {"replicas_identical": len(set(trained)) == 1}
    if world.rank == 0:
        training.checkpoints.finish()
        keep_results(training, training.storage, scores)
    broadcast_object(True, 0, "results kept")
    return scores


def _say_goodbye() -> None:
    """Wait until every rank has learned that the results are kept: the first to leave breaks the others' connections.

    Those that have come here know it, so that a connection which breaks now is no loss.
    """
    try:
        with translating_failures():
            gather_objects(True, "goodbye")
    except WorldLostError:
        log.debug("another rank has left already")


def _take_average(training: Training, world: World, count: int) -> None:
    """Let the mean of the last checkpoints be the model."""
    if world.rank == 0:
        training.checkpoints.finish()
        training.checkpoints.save(training.state.snapshot())
        newest = training.checkpoints.newest(count, regular_only=True)
        if len(newest) < count:
            log.warning("the model is the mean of %d checkpoints: there are no %d yet", len(newest), count)
        training.state.take_parameters(average(newest))
    training.state.share_parameters(0)


def _scores(training: Training, world: World, settings: Settings, digests: list[str]) -> dict[str, Any]:
    progress = training.state.progress
    test = training.corpus.test[: settings.translate.test_sentences]
    mine = test[world.rank :: world.size]
    options = settings.translate
    translated = translate(training.model, training.vocabulary, [source for source, _ in mine], options)
    by_rank = gather_objects(translated, "translations")
    hypotheses = [by_rank[index % world.size][index // world.size] for index in range(len(test))]
    result = score(hypotheses, [target for _, target in test], options.tokenize, options.lowercase)
    return {
        "steps": progress.step,
        "tokens": progress.tokens,
        "final_loss": progress.loss,
        "bleu": result.bleu,
        "exact_match": result.exact_match,
        "signature": result.signature,
        "steps_lost": progress.steps_lost,
        "restarts": progress.restarts,
        "stopped": progress.stopped,
        "changes": progress.changes,
        "parameters_sha256": {str(rank): digest for rank, digest in enumerate(digests)},
        "examples": [
            {"source": source, "reference": target, "translation": hypothesis}
            for (source, target), hypothesis in zip(test[:5], hypotheses, strict=False)
        ],
    }


def keep_results(training: Training, storage: Storage, scores: dict[str, Any]) -> None:
    """Put model, vocabulary, log and scores into the storage; the scores last, so that they mean all is there."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        training.model.save(directory, {"steps": scores["steps"], "bleu": scores["bleu"]})
        training.vocabulary.save(directory)
        training.scalars.write_all(directory, training.state.progress.log)
        for path in sorted(directory.iterdir()):
            storage.put(RESULTS + path.name, path.read_bytes())
    lines = "".join(json.dumps(line) + "\n" for line in training.state.progress.log)
    storage.put(RESULTS + "train.log", lines.encode())
    storage.put(RESULTS + "scores.json", (json.dumps(scores, indent=1, ensure_ascii=False) + "\n").encode())


def fetch_results(storage: Storage, directory: Path) -> list[str]:
    """Copy the results of a storage into `directory`. Returns the names of the files, none when there are none."""
    directory.mkdir(parents=True, exist_ok=True)
    fetched = []
    for name in storage.names(RESULTS):
        data = storage.get(name)
        if data is not None:
            fetched.append(name[len(RESULTS) :])
            (directory / fetched[-1]).write_bytes(data)
    return fetched
