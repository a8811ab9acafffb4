"""The head's switch: it gives the workers back, uploads what there is, and ends the head."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from .bucket import Bucket, Claim
from .clients import AWS_ERRORS, client
from .groups import Groups
from .look import Look, Standing
from .memory import Signs
from .node import Node
from .upload import upload
from .verdict import Situation, Verdict, head_ends_itself, head_verdict
from .waits import HeadEnd

GIVE_BACK_S = 900.0
"""How long one attempt waits for the workers' end."""
POLL_S = 5.0


class HeadDuty:
    """What the head's warden looks for and does."""

    def __init__(
        self,
        node: Node,
        bucket: Bucket,
        groups: Groups,
        tell: Callable[[str], None],
        ec2: Any = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._node, self._bucket, self._groups, self._tell, self._sleep = node, bucket, groups, tell, sleep
        self._given = ec2
        self._claimed: int | None = None
        self._is_stopped = False

    @cached_property
    def _ec2(self) -> Any:
        """The client, made when it is first needed: a warden that only watches does without its 15 MB."""
        return client("ec2", self._node.settings.region) if self._given is None else self._given

    def signs(self) -> Signs:
        """Returns what the launcher tells."""
        return Signs(step=self._node.step(), head_answers=True)

    def verdict(self, now: Situation) -> Verdict:
        """Returns whether the cluster is given back."""
        return head_verdict(now)

    def act(self, look: Look, now: Situation, verdict: Verdict) -> bool:
        """Gives the cluster back. Every call may be repeated. Returns whether all of it is done.

        The lease is claimed first, so that a controller that has just taken it keeps its fleet.
        """
        if not self._may(look, now, verdict):
            return False
        if not self._is_stopped:
            self._node.stop("launcher")
            self._is_stopped = True
        if not self._give_back():
            return False
        self._upload(now)
        if self._was_fired_before(now) and not head_ends_itself(now):
            self._tell("the head stays for a while, for a person who looks at it")
            return False
        return self._end_head(now.waits.head)

    def _may(self, look: Look, now: Situation, verdict: Verdict) -> bool:
        """Claims the lease, where there is one that no switch has claimed. Returns whether the head may go on."""
        if look.standing is not Standing.FOUND or now.lease is None or now.lease.fired_by is not None:
            return True
        claim, said = self._bucket.claim(look, "head", verdict.why.value if verdict.why else "")
        if claim is Claim.LOST:
            self._tell(f"somebody has written the lease just now, so nothing is given back: {said}")
            return False
        if claim is Claim.FAILED:
            self._tell(f"the lease could not be marked, and the cluster is given back all the same: {said}")
        self._claimed = now.lease.generation
        return True

    def _was_fired_before(self, now: Situation) -> bool:
        """Returns whether a switch had fired already when this warden started."""
        return now.lease is not None and now.lease.fired_by is not None and now.lease.generation != self._claimed

    def _give_back(self) -> bool:
        """Empties the cluster's groups. Returns whether they are empty."""
        cluster, waited_s = self._node.settings.cluster, 0.0
        while True:
            try:
                filled = [group for group in self._groups.all(cluster) if not group.is_empty]
            except AWS_ERRORS as error:
                self._tell(f"AWS did not tell the groups of {cluster}: {error}")
                return False
            if not filled:
                self._tell(f"no group of {cluster} runs anything")
                return True
            if waited_s >= GIVE_BACK_S:
                self._tell(f"{', '.join(group.name for group in filled)} still run instances")
                return False
            for group in filled:
                if group.desired or group.protected:
                    self._groups.give_back(group)
            self._sleep(POLL_S)
            waited_s += POLL_S

    def _upload(self, now: Situation) -> None:
        run = (now.lease.run if now.lease is not None else None) or self._node.run()
        if run is not None:
            upload(self._bucket, run, self._node.settings.root, self._tell)

    def _end_head(self, end: HeadEnd) -> bool:
        """Does with the head what the settings say. Returns whether AWS took it."""
        own = self._node.settings.instance_id
        if end is HeadEnd.KEEP:
            self._tell("the head stays, as the settings say, and goes on costing money")
            return True
        call = self._ec2.stop_instances if end is HeadEnd.STOP else self._ec2.terminate_instances
        self._tell(f"the head ends itself now ({end.value})")
        try:
            call(InstanceIds=[own])
        except AWS_ERRORS as error:
            self._tell(f"AWS did not {end.value} {own}: {error}")
            self._node.shut_down()
            return False
        return True
