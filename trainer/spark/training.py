"""A training whose ranks are started by `horovod.spark.run`, on the session that has perhaps prepared the corpus.

The world is static: a rank that is lost ends the training, and `resume` continues it from its last checkpoint.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import horovod.spark
from pyspark.sql import SparkSession

from trainer.messages.lines import Silent
from trainer.settings.training import Settings
from trainer.spark.session import SparkError, is_local
from trainer.storage.opening import open_storage
from trainer.training.results import fetch_results
from trainer.worker.rank import EXIT_FAILED, Outcome, Rank

log = logging.getLogger(__name__)

LOOPBACK_INTERFACE = "lo"
START_TIMEOUT_S = 600


def train_on_spark(
    spark: SparkSession,
    settings: Settings,
    ranks: int | None = None,
    resume: bool = False,
    interface: str | None = None,
) -> list[Outcome]:
    """Trains with one rank in each of so many tasks of Spark.

    Args:
        spark: The session.
        settings: The training. Every task must see its storage and its corpus.
        ranks: How many ranks train; None: as many as Spark runs tasks at a time.
        resume: Continues from the newest usable checkpoint of the storage.
        interface: The network interface by which the ranks reach each other; None: Horovod looks for one. On one
            machine it is the loopback.

    Returns:
        How the part of each rank ended: all have finished, or all were told to stop.

    Raises:
        SparkError: A rank has failed, or Spark has no room for so many.
    """
    nics = interface or (LOOPBACK_INTERFACE if is_local(spark.sparkContext.master) else None)
    try:
        outcomes = horovod.spark.run(
            _rank,
            args=(settings.model_dump_json(), resume),
            num_proc=_number_of_ranks(spark, ranks),
            start_timeout=START_TIMEOUT_S,
            use_gloo=True,
            nics={nics} if nics else None,
            stdout=sys.stdout,  # what ranks write comes here, wherever they run
            stderr=sys.stderr,
            verbose=0,
        )
    except Exception as error:  # Horovod raises Exception itself
        raise SparkError(
            f"the training on Spark has failed: {' '.join(str(error).split())}. A rank that fails logs its reason "
            f"above, and writes it into its iteration fact ({settings.facts.path} on its node)"
        ) from error
    return [Outcome(outcome) for outcome in outcomes]


def _number_of_ranks(spark: SparkSession, wanted: int | None) -> int:
    """Returns how many ranks train. Raises SparkError where Spark cannot run so many tasks at a time."""
    master, at_once = spark.sparkContext.master, spark.sparkContext.defaultParallelism
    if wanted is None:
        return int(at_once)
    if wanted < 1 or (is_local(master) and wanted > at_once):
        raise SparkError(
            f"{wanted} ranks cannot train: the master {master} runs from 1 to {at_once} tasks at a time. For more, use "
            "--master local[N]"
        )
    return wanted


def _rank(settings: str, resume: bool) -> str:
    """Trains as one rank, in a process that Horovod has started. Returns how it ended."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%H:%M:%S"
    )
    rank = Rank.of(Settings.model_validate_json(settings))
    training = rank.prepare(Silent(), resume=resume)
    if training is None:
        sys.exit(EXIT_FAILED)  # the reason is logged, and in the fact
    rank.requests.stop_on_signals()
    outcome = rank.train(training, Silent())
    if outcome in (Outcome.FAILED, Outcome.CUT_OFF):
        sys.exit(EXIT_FAILED)
    return outcome.value


def copy_results(settings: Settings, results: Path) -> None:
    """Copies the results of a finished training into a folder. Raises StorageError."""
    fetch_results(open_storage(settings.storage), results)
