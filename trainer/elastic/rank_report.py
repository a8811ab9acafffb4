"""What each rank says about itself when a world begins, and whose state all ranks take over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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
        checksum: The checksum of that state; None where it has none.
        lost_steps: Steps that it has undone since the last world.
        last_size: The size of the last world that it was part of.
        speed_tokens_per_s: Its measured speed in target tokens.
        largest_share: The largest share of the global batch that its memory has room for; None: all of it.
        training_digest: What all ranks of one training have in common.
    """

    has_state: bool
    step: int
    checksum: str | None
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


def source_of(reports: Sequence[RankReport]) -> int:
    """Returns the rank whose state all take over; 0 where no rank has any state.

    It is one of the most advanced ranks: of these the first one whose state most of them have.
    """
    furthest = max((report.step for report in reports if report.has_state), default=None)
    if furthest is None:
        return 0
    return min(majority({rank: report.checksum for rank, report in _at(furthest, reports).items()}))


def majority(checksums: Mapping[int, str | None]) -> list[int]:
    """Returns the ranks whose checksum is the most frequent one. Where several are, all their ranks are returned."""
    counts = Counter(checksums.values())
    return [rank for rank, checksum in checksums.items() if counts[checksum] == max(counts.values())]


def deviating(reports: Sequence[RankReport], source: int) -> list[int]:
    """Returns the ranks that are as advanced as rank `source`, and have another state."""
    furthest = _at(reports[source].step, reports) if reports[source].has_state else {}
    return [rank for rank, report in furthest.items() if report.checksum != reports[source].checksum]


def _at(step: int, reports: Sequence[RankReport]) -> dict[int, RankReport]:
    return {rank: report for rank, report in enumerate(reports) if report.has_state and report.step == step}
