"""The head's switch: it gives the workers back, uploads what there is, and ends the head."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from .admitting.workers import LettingIn
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
SERVICES = ("controller", "launcher")
"""What is stopped on the head, in this order. A head whose controller is elsewhere has no service `controller`."""


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
        self._letting_in = LettingIn(node, bucket, groups, tell, ec2)
        self._claimed: int | None = None
        self._stopped_for: int | None = None

    @cached_property
    def _ec2(self) -> Any:
        """The client, made when it is first needed: a warden that only watches does without its 15 MB."""
        return client("ec2", self._node.settings.region) if self._given is None else self._given

    def signs(self) -> Signs:
        """Returns what the launcher tells."""
        step, work = self._node.launcher()
        return Signs(step=step, work=work, head_answers=True)

    def verdict(self, now: Situation) -> Verdict:
        """Returns whether the cluster is given back."""
        verdict = head_verdict(now)
        if not verdict.fires:
            self._stopped_for = None
        return verdict

    def watch(self, look: Look, now: Situation) -> None:
        """Lets in the workers that have come while no controller lives."""
        self._letting_in.watch(look, now)

    def act(self, look: Look, now: Situation, verdict: Verdict) -> bool:
        """Gives the cluster back. Every call may be repeated. Returns whether all of it is done.

        The lease is claimed first, so that a controller that has just taken it keeps its fleet. It is read again before
        each further step: giving back takes minutes, and somebody may take the lease meanwhile.
        """
        return (
            self._may(look, now, verdict)
            and self._stop_services(look, now)
            and self._give_back(look, now)
            and self._leave(look, now)
        )

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

    def _is_still_free(self, look: Look, now: Situation) -> bool:
        """Returns whether nobody has taken the cluster since the look that the switch fires on.

        A bucket that does not answer says nothing about it, and the switch goes on.
        """
        newest = self._bucket.look()
        if newest.lease is None or newest.etag == look.etag:
            return True
        is_same = now.lease is not None and newest.lease.generation == now.lease.generation
        if is_same and newest.lease.fired_by is not None:
            return True
        self._tell(f"{newest.lease.holder} has written the lease meanwhile, so nothing more is ended")
        return False

    def _stop_services(self, look: Look, now: Situation) -> bool:
        """Stops what runs on the head, once for each holder of the lease. Returns whether the head may go on.

        The controller is first: it would start the launcher again.
        """
        generation = -1 if now.lease is None else now.lease.generation
        if self._stopped_for != generation:
            for service in SERVICES:
                if not self._is_still_free(look, now):
                    return False
                self._node.stop(service)
            self._stopped_for = generation
        return True

    def _give_back(self, look: Look, now: Situation) -> bool:
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
            if not self._is_still_free(look, now):
                return False
            for group in filled:
                if group.desired or group.protected:
                    self._groups.give_back(group)
            self._sleep(POLL_S)
            waited_s += POLL_S

    def _leave(self, look: Look, now: Situation) -> bool:
        """Uploads what there is and ends the head. Returns whether that is done."""
        if not self._is_still_free(look, now):
            return False
        is_uploaded = self._upload(now)
        if self._was_fired_before(now) and not head_ends_itself(now):
            self._tell("the head stays for a while, for a person who looks at it")
            return False
        if not self._is_still_free(look, now):
            return False
        end = now.waits.head
        if end is HeadEnd.TERMINATE and not is_uploaded:
            self._tell("the head stops and is not terminated: its disk holds what the bucket has not taken")
            end = HeadEnd.STOP
        return self._end_head(end)

    def _upload(self, now: Situation) -> bool:
        """Uploads logs and results. Returns whether the bucket has taken all of them."""
        run = (now.lease.run if now.lease is not None else None) or self._node.run()
        return run is None or upload(self._bucket, run, self._node.settings.root, self._tell)

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
