"""What each rank says about itself when a world begins, and whose state all ranks take over."""

from __future__ import annotations

from dataclasses import dataclass

from trainer.elastic.exchange import gather_objects

FOREIGN = (
    "its training.yml, corpus or version of Centavo differs from that of the other nodes; every rank works out for "
    "itself which sentences are its own, so all need the same: prepare this node again, or start the training anew"
)
"""What is told about a rank or a node that is of another training than the others."""


@dataclass(frozen=True)
class RankReport:
    """What one rank says about itself.

    Attributes:
        has_state: Whether it has the common state of the training.
        step: The step of that state.
        lost_steps: Steps that it has undone since the last world.
        last_size: The size of the last world that it was part of.
        speed_tokens_per_s: Its measured speed in target tokens.
        largest_share: The largest share of the global batch that its memory has room for; None: all of it.
        training_digest: What all ranks of one training have in common.
    """

    has_state: bool
    step: int
    lost_steps: int
    last_size: int | None
    speed_tokens_per_s: float | None
    largest_share: float | None
    training_digest: str


class ForeignRankError(RuntimeError):
    """Some ranks cannot train together. The message says which, and why."""


def exchange_reports(report: RankReport) -> tuple[list[RankReport], int]:
    """Gathers the reports of all ranks. Collective.

    Returns:
        The reports by rank, and the rank whose state all take over.

    Raises:
        ForeignRankError: Some ranks are of another training. It is raised on every rank.
    """
    reports: list[RankReport] = gather_objects(report, "report")
    source = source_of(reports)
    digest = reports[source].training_digest
    if foreign := [rank for rank, other in enumerate(reports) if other.training_digest != digest]:
        ranks = ", ".join(map(str, foreign))
        raise ForeignRankError(f"rank {ranks} cannot train with rank {source}: {FOREIGN}")
    return reports, source


def source_of(reports: list[RankReport]) -> int:
    """Returns the rank whose state all take over: the first of the most advanced; 0 where no rank has any state."""
    holders = [rank for rank, report in enumerate(reports) if report.has_state]
    return max(holders, key=lambda rank: (reports[rank].step, -rank), default=0)
