"""Losses to the spot market that are handed from run to run: recalled when a training begins, kept when it ends."""

from __future__ import annotations

from controller.domain import Market
from controller.loop.job import Job
from controller.record import known_losses as losses


def recall_losses(job: Job) -> None:
    """Keeps in the journal, once in a run, what earlier runs have lost."""
    if job.journal.earlier_losses() is not None:
        return
    known = {}
    try:
        known = losses.recall(job.environment.losses_file)
    except losses.LossesError as error:
        job.note(f"what earlier runs have lost is not known: {error}; the file will be written anew")
    job.journal.set_earlier_losses(known)
    told = ", ".join(f"{flavor} {lost.lost} in {lost.node_hours:,.0f} h" for flavor, lost in sorted(known.items()))
    if any(lost.lost for lost in known.values()):
        job.note(f"nodes that EC2 took back in earlier runs: {told}")


def keep_losses(job: Job) -> None:
    """Keeps for later runs what a run that ends has lost, and how long its spot nodes ran."""
    declared = job.cluster.made.outputs.flavors
    on_spot = {flavor for flavor, output in declared.items() if output.market == Market.SPOT.value}
    if on_spot:
        known = job.journal.all_losses()
        losses.keep(job.environment.losses_file, {flavor: lost for flavor, lost in known.items() if flavor in on_spot})
