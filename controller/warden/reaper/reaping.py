"""The reaper: it ends what has outlived its lease."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..bucket import Bucket, Claim
from ..clients import AWS_ERRORS
from ..look import Look, Standing
from ..verdict import Verdict, reaper_verdict
from ..waits import HeadEnd
from .found import FoundCluster, Region, Thing

OpenBucket = Callable[[str, str, str], Any]
"""Returns the bucket of a cluster, by the names of the cluster, the bucket and the region."""


@dataclass(frozen=True)
class Judged:
    """A cluster, and what the reaper makes of it.

    Attributes:
        cluster: What is there of it.
        look: The look at its lease.
        verdict: Whether it has outlived its lease.
        ends: The names of what is ended, or would be.
        failed: What could not be done or read, in words for a person.
    """

    cluster: FoundCluster
    look: Look
    verdict: Verdict
    ends: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """Why it is ended, or left alone."""
        if self.look.standing is Standing.UNREAD:
            return f"left alone: {self.look.problem}"
        lease = self.look.lease
        if lease is None:
            return "left alone: it has no lease, so nobody can tell whether it is used"
        if not self.verdict.fires:
            return f"left alone: {_standing(self.look)}"
        return str(self.verdict) if self.ends else f"nothing of it runs any more; {self.verdict}"


class Reaper:
    """Judges and ends clusters of one region."""

    def __init__(self, region: Region, tell: Callable[[str], None], open_bucket: OpenBucket = Bucket) -> None:
        self._region, self._tell, self._open = region, tell, open_bucket

    def judge(self, cluster: FoundCluster) -> Judged:
        """Returns what is to become of a cluster. Raises nothing."""
        look, newest_age_s = self._look(cluster)
        still_s = _still_s(cluster, look, newest_age_s)
        verdict = reaper_verdict(look.standing, look.lease, look.age_s, newest_age_s, still_s)
        ends = tuple(thing.name for thing in _ended(cluster, look)) if verdict.fires else ()
        failed = (look.problem,) if look.standing is Standing.UNREAD else ()
        return Judged(cluster, look, verdict, ends, failed)

    def end(self, judged: Judged) -> Judged:
        """Ends what has outlived its lease. Every call may be repeated. Returns what was done, and what failed."""
        if not judged.ends:
            return judged
        refused = self._claim(judged)
        if refused is not None:
            return replace(judged, ends=(), verdict=replace(judged.verdict, fires=False), failed=(refused,))
        failed = [
            f"{group.name} was not emptied"
            for group in judged.cluster.groups
            if not group.is_empty and not self._region.groups.give_back(group)
        ]
        members = {one for group in judged.cluster.groups for one in group.instances}
        for thing in _ended(judged.cluster, judged.look):
            if thing.kind != "group" and thing.name not in members:
                failed += self._end_instance(thing, judged.look)
        return replace(judged, failed=tuple(failed))

    def _look(self, cluster: FoundCluster) -> tuple[Look, float | None]:
        """Returns the look at the lease, and how old the newest object of its training is."""
        if len(cluster.buckets) > 1:
            problem = f"{len(cluster.buckets)} buckets carry its tag: {', '.join(cluster.buckets)}"
            return Look(Standing.UNREAD, problem=problem), None
        if not cluster.buckets:
            return Look(Standing.MISSING), None
        bucket = self._open(cluster.name, cluster.buckets[0], cluster.region)
        look = bucket.look()
        if look.lease is None or look.lease.run is None or _has_run_out(look):
            return look, None
        try:
            return look, bucket.newest_age_s(look.lease.run)
        except (*AWS_ERRORS, KeyError, ValueError) as error:
            return Look(Standing.UNREAD, problem=f"the run's objects cannot be listed: {error}"), None

    def _claim(self, judged: Judged) -> str | None:
        """Marks the lease. Returns why nothing may be ended; None where it may."""
        lease, cluster = judged.look.lease, judged.cluster
        if lease is None or lease.fired_by == "reaper":
            return None
        bucket = self._open(cluster.name, cluster.buckets[0], cluster.region)
        claim, said = bucket.claim(judged.look, "reaper", judged.verdict.why.value if judged.verdict.why else "")
        if claim is Claim.LOST:
            return f"somebody has written the lease just now, so nothing was ended: {said}"
        if claim is Claim.FAILED:
            self._tell(f"the lease of {cluster.name} could not be marked: {said}")
        return None

    def _end_instance(self, thing: Thing, look: Look) -> list[str]:
        """Ends an instance that no group ends. Returns what failed."""
        stops = thing.kind == "head" and look.lease is not None and look.lease.waits.head is HeadEnd.STOP
        call = self._region.ec2.stop_instances if stops else self._region.ec2.terminate_instances
        try:
            call(InstanceIds=[thing.name])
        except AWS_ERRORS as error:
            return [f"{thing.name} was not ended: {error}"]
        self._tell(f"{thing.name} was told to {'stop' if stops else 'terminate'}")
        return []


def _has_run_out(look: Look) -> bool:
    """Returns whether the lease was not given back, and nobody renews it."""
    return look.lease is not None and not look.lease.released and look.age_s > look.lease.lasts_s


def _still_s(cluster: FoundCluster, look: Look, newest_age_s: float | None) -> float | None:
    """Returns for how long workers run without a step and without an object of the training.

    Returns:
        The seconds; None where no worker runs, or where the age of the lease says enough.
    """
    workers = [thing.age_s for thing in cluster.things if thing.kind == "worker" and thing.runs]
    up_s = max((age_s for age_s in workers if age_s is not None), default=None)
    if up_s is None or look.lease is None or _has_run_out(look):
        return None
    return max(0.0, min(age_s for age_s in (up_s, look.step_age_s, newest_age_s) if age_s is not None))


def _ended(cluster: FoundCluster, look: Look) -> list[Thing]:
    """Returns what a cluster that has outlived its lease still spends on and what can be ended without Terraform."""
    keeps_head = look.lease is not None and look.lease.waits.head is HeadEnd.KEEP
    full = {group.name for group in cluster.groups if not group.is_empty}
    return [
        thing
        for thing in cluster.things
        if (thing.kind == "group" and thing.name in full) or (thing.runs and not (thing.kind == "head" and keeps_head))
    ]


def _standing(look: Look) -> str:
    """Returns why a cluster is not ended: its lease is valid, or has not run out for long enough."""
    lease = look.lease
    assert lease is not None
    if lease.fired_by is not None:
        return f"the switch of {lease.fired_by} has fired {look.age_s:.0f} s ago"
    if lease.released:
        return f"the lease was given back {look.age_s:.0f} s ago"
    if look.age_s <= lease.lasts_s:
        return f"its lease is valid for {lease.lasts_s - look.age_s:.0f} s more, held by {lease.holder}"
    return f"its lease has run out {look.age_s - lease.lasts_s:.0f} s ago"
