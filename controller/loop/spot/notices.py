"""What the nodes of a run have learned of the spot service."""

from __future__ import annotations

from collections.abc import Mapping

from controller.domain import Fleet, NoticeKind, Observation
from controller.domain.observed.spot import Noticed, SpotSettings
from controller.loop.job import Job


class Notices:
    """The notices of one run, kept in its journal."""

    def __init__(self, job: Job, settings: SpotSettings) -> None:
        self._job, self._settings = job, settings

    def noticed(self) -> Mapping[str, NoticeKind]:
        """Returns the living nodes (instance ids) that EC2 takes back, or may soon."""
        known = {one.instance_id: one.kind for one in self._job.journal.noticed()}
        living = {worker.instance_id for worker in self._job.cluster.last_workers()}
        return {node: kind for node, kind in known.items() if node in living and self._counts(kind)}

    def interrupted(self) -> frozenset[str]:
        """Returns the living nodes (instance ids) that EC2 takes back at a time that it has named."""
        return frozenset(node for node, kind in self.noticed().items() if kind is NoticeKind.INTERRUPTION)

    def lasting(self) -> Fleet:
        """Returns the nodes that EC2 does not take back."""
        noticed = self.noticed()
        return Fleet.counted(w.flavor for w in self._job.cluster.last_workers() if w.instance_id not in noticed)

    def take(self, observation: Observation) -> None:
        """Keeps and tells what the nodes have learned of the spot service."""
        kept = {one.instance_id: one.kind for one in self._job.journal.noticed()}
        workers = {worker.instance_id: worker for worker in self._job.cluster.last_workers()}
        for fact in observation.facts:
            worker, notice = workers.get(fact.instance_id), fact.notice
            if worker is None or notice is None or kept.get(fact.instance_id) in (notice.kind, NoticeKind.INTERRUPTION):
                continue
            now = self._job.clock.now()
            noticed = Noticed(worker.instance_id, worker.flavor, notice.kind, now, notice.ends_at, worker.zone)
            self._job.journal.add_noticed(noticed)
            self._job.note(_told(noticed, observation.at))

    def _counts(self, kind: NoticeKind) -> bool:
        return kind is NoticeKind.INTERRUPTION or self._settings.rebalance


def _told(noticed: Noticed, now: float) -> str:
    """Returns a notice for people."""
    node = f"{noticed.instance_id} ({noticed.flavor})"
    if noticed.kind is NoticeKind.REBALANCE:
        return f"EC2 recommends to replace {node}: it may be taken back soon"
    left = "" if noticed.ends_at is None else f" in {max(0.0, noticed.ends_at - now):.0f} s"
    return f"EC2 takes {node} back{left}"
