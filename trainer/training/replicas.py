"""Comparing the replicas of a training, and putting those right that differ.

All ranks compute the same updates of the same state. A rank whose memory or processor is faulty departs from that
without any error: then each rank trains another model.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from trainer.elastic.exchange import gather_objects
from trainer.elastic.rank_report import majority
from trainer.elastic.world import World
from trainer.training.measuring.validation import probe_loss
from trainer.training.prepare import Prepared
from trainer.training.state import TrainingState

log = logging.getLogger(__name__)


def compare_if_due(prepared: Prepared, state: TrainingState, world: World) -> bool:
    """Compares the replicas where it is time, or where the last update was skipped. Collective.

    An update that is skipped may come from one faulty replica.

    Returns:
        Whether a rank was put right.
    """
    every, progress = prepared.settings.elastic.check_replicas_every_steps, state.progress
    is_due = bool(every) and progress.step % every == 0
    return (is_due or progress.skipped_in_a_row > 0) and compare(prepared, state, world)


def compare(prepared: Prepared, state: TrainingState, world: World) -> bool:
    """Compares the replicas, and gives all ranks the state of the majority where they differ. Collective.

    Returns:
        Whether a rank was put right.
    """
    if world.size == 1:
        return False
    checksums = gather_objects(state.checksum(), "checksums")
    if len(set(checksums)) == 1:
        state.progress.replicas_equal_at = state.progress.step
        return False
    source = _source(prepared, state, world, checksums)
    state.take_over(source)
    different = [rank for rank, checksum in enumerate(checksums) if checksum != checksums[source]]
    note_correction(prepared, state, world, different, source)
    state.commit()
    return True


def note_correction(
    prepared: Prepared, state: TrainingState, world: World, different: Sequence[int], source: int
) -> None:
    """Counts and tells that the ranks `different` have taken over the state of rank `source`. All ranks are equal now.

    The checkpoints since the replicas were last known to be equal may be of a rank that differed: rank 0 removes them,
    and writes one of the present state.
    """
    progress = state.progress
    equal_at, progress.replicas_equal_at = progress.replicas_equal_at, progress.step
    if not different:
        return
    progress.replicas_corrected += len(different)
    if world.rank in (0, *different):
        log.warning(
            "the state of rank %s differs from that of rank %d after step %d (all were equal after step %d): all ranks "
            "continue with the state of rank %d",
            *(", ".join(map(str, different)), source, progress.step, equal_at, source),
        )
    progress.forget_best_from(equal_at + 1)
    if world.rank == 0:
        prepared.checkpoints.finish()
        prepared.checkpoints.discard_from(equal_at + 1)
        prepared.checkpoints.save_in_background(state.snapshot())


def _source(prepared: Prepared, state: TrainingState, world: World, checksums: Sequence[str]) -> int:
    """Returns the rank whose state all take over. Collective.

    It is the first rank of the majority. Where there is none, as between two ranks, it is the rank of these whose model
    has the lowest loss on the same sentences: a fault seldom makes a model better.
    """
    candidates = majority(dict(enumerate(checksums)))
    losses = gather_objects(probe_loss(prepared) if state.is_finite else float("inf"), "losses of replicas")
    if world.rank == 0 and len({checksums[rank] for rank in candidates}) > 1:
        log.warning("no state of the replicas has a majority: that with the lowest loss is taken, of %s", losses)
    return min(candidates, key=lambda rank: (not losses[rank] < float("inf"), losses[rank], rank))
