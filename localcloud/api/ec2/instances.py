"""The life of instances, from pending to terminated, with a host behind each instance that runs.

moto's instances run at once and are terminated at once. Here they pass through EC2's states in EC2's order. An instance
is terminated only when nothing of its host is left, so that its address can be given to another instance.
"""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance, InstanceState, StateReason

from localcloud.api.ec2.states import (
    PENDING,
    RUNNING,
    SHUTTING_DOWN,
    STOPPED,
    STOPPING,
    TERMINATED,
    enter,
    state_of,
)
from localcloud.api.ec2.tracked_instance import TrackedInstance
from localcloud.api.faults.injected import ENDED_BY_REBOOT, HOST_KINDS, Fault, Injected
from localcloud.api.faults.limits import Faults
from localcloud.link.report import HostReport, HostState
from localcloud.link.spec import SpotNotice
from localcloud.settings import Settings

INTERNAL_ERROR = "Server.InternalError"
USER_INITIATED = "Client.UserInitiatedShutdown"

# moto's own methods, before `localcloud.api.patches` replaces them: they free volumes, interfaces and profiles.
_moto_terminate = Instance.terminate
_moto_stop = Instance.stop

log = logging.getLogger("localcloud.instances")


class Instances:
    """All instances of the region. Every method is called with the API's lock held."""

    def __init__(self, settings: Settings, ec2: EC2Backend, faults: Faults, injected: Injected) -> None:
        self.settings = settings
        self.ec2 = ec2
        self.faults = faults
        self.injected = injected
        self._tracked: dict[str, TrackedInstance] = {}

    def __iter__(self) -> Iterator[TrackedInstance]:
        return iter(list(self._tracked.values()))

    def get(self, instance_id: str) -> TrackedInstance | None:
        """Returns an instance, or None if there is no such instance."""
        return self._tracked.get(instance_id)

    # What calls of the API do to instances

    def adopt(self, instance: Instance) -> None:
        """Tracks a new instance. moto has made it running; it goes back to pending."""
        failure = self.faults.boot_failures.get(instance.instance_type)
        self._tracked[instance.id] = TrackedInstance(instance, self._end_of_boot_s(), failure)
        enter(instance, PENDING)
        log.info("%s (%s): pending at %s", instance.id, instance.instance_type, instance.private_ip)

    def terminate(self, instance: Instance, reason: str | None = None, code: str = USER_INITIATED) -> InstanceState:
        """Begins a termination, and returns the state before. Terminating twice is harmless, as on EC2.

        Args:
            instance: what to terminate.
            reason: why, for DescribeInstances; None means that a user asked for it.
            code: EC2's code of the reason.
        """
        previous = copy.copy(instance._state)
        if previous.name not in (SHUTTING_DOWN, TERMINATED):
            enter(instance, SHUTTING_DOWN)
            now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
            instance._reason = f"{'User initiated' if reason is None else reason} ({now})"
            instance.state_reason = StateReason(f"{code}: {reason or 'User initiated shutdown'}", code)
            log.info("%s: shutting down: %s", instance.id, instance.state_reason.message)
        return previous

    def stop(self, instance: Instance) -> InstanceState:
        """Begins to stop an instance, and returns the state before."""
        previous = copy.copy(instance._state)
        if previous.name in (PENDING, RUNNING):
            enter(instance, STOPPING)
        return previous

    def start(self, instance: Instance) -> InstanceState:
        """Starts a stopped instance, and returns the state before."""
        previous = copy.copy(instance._state)
        if previous.name == STOPPED:
            enter(instance, PENDING)
            instance._reason, instance.state_reason = "", StateReason()
            tracked = self._tracked[instance.id]
            tracked.boot += 1
            tracked.due_s = self._end_of_boot_s()
        return previous

    def reboot(self, instance: Instance) -> None:
        """Restarts the host of a running instance. Its home and its address stay."""
        if state_of(instance) == RUNNING:
            self._tracked[instance.id].boot += 1

    def interrupt(self, tracked: TrackedInstance, in_s: float) -> SpotNotice:
        """Announces a spot interruption in the metadata. The instance is terminated after `in_s` seconds."""
        when = datetime.now(timezone.utc) + timedelta(seconds=in_s)
        tracked.notice = SpotNotice("terminate", when.strftime("%Y-%m-%dT%H:%M:%SZ"))
        tracked.interrupted_at_s = time.monotonic() + in_s
        log.info("%s: a spot interruption is announced for %s", tracked.id, tracked.notice.time)
        return tracked.notice

    def recommend_rebalance(self, tracked: TrackedInstance) -> str:
        """Recommends in the metadata to replace a spot instance, and returns the time of the recommendation."""
        tracked.rebalance_at = tracked.rebalance_at or datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        log.info("%s: a replacement is recommended", tracked.id)
        return tracked.rebalance_at

    # What time and hosts do to instances

    def heard(self, report: HostReport) -> None:
        """Takes a report of the hosts' process."""
        tracked = self._tracked.get(report.instance_id)
        if tracked is None:
            return
        tracked.report = report
        if report.state == HostState.GONE:
            tracked.hosted = False
        elif report.state == HostState.FAILED:
            self.terminate(tracked.instance, report.detail, INTERNAL_ERROR)

    def tick(self) -> None:
        """Changes the state of every instance whose time has come."""
        now_s = time.monotonic()
        visible_s = self.settings.terminated_visible_s
        for tracked in self:
            self._advance(tracked, now_s)
            if tracked.terminated_at_s is not None and now_s >= tracked.terminated_at_s + visible_s:
                self._forget(tracked)
        self.injected.clear(self._is_over)

    def _is_over(self, fault: Fault) -> bool:
        """Returns whether a fault has ended with its instance, or with a reboot of its instance."""
        tracked = self._tracked.get(fault.target)
        if fault.kind not in HOST_KINDS:
            return False
        if tracked is None or tracked.state not in (PENDING, RUNNING):
            return True
        return fault.kind in ENDED_BY_REBOOT and fault.boot != tracked.boot

    def _end_of_boot_s(self) -> float:
        return time.monotonic() + self.settings.boot_delay_s

    def _advance(self, tracked: TrackedInstance, now_s: float) -> None:
        instance, state, interrupted_at_s = tracked.instance, tracked.state, tracked.interrupted_at_s
        if state == PENDING and now_s >= tracked.due_s:
            if tracked.failure == "terminated":
                self.terminate(instance, "Internal error on launch", INTERNAL_ERROR)
            else:
                enter(instance, RUNNING)
        elif state in (PENDING, RUNNING) and interrupted_at_s is not None and now_s >= interrupted_at_s:
            self.terminate(instance, "Spot instance termination", "Server.SpotInstanceTermination")
        elif state == SHUTTING_DOWN and not tracked.hosted:
            _release(tracked, now_s)
        elif state == STOPPING and not tracked.hosted:
            _moto_stop(instance)

    def _forget(self, tracked: TrackedInstance) -> None:
        """Leaves nothing of a terminated instance in the API, as EC2 does after an hour."""
        del self._tracked[tracked.id]
        self.ec2.tags.pop(tracked.id, None)
        for reservation_id, reservation in list(self.ec2.reservations.items()):
            reservation.instances = [instance for instance in reservation.instances if instance.id != tracked.id]
            if not reservation.instances:
                del self.ec2.reservations[reservation_id]


def _release(tracked: TrackedInstance, now_s: float) -> None:
    """Ends a termination: frees what the instance held, and keeps the reason, which moto would replace."""
    instance = tracked.instance
    reason, state_reason = instance._reason, instance.state_reason
    _moto_terminate(instance)
    instance.nics = {}
    instance._private_ips = set()
    instance._reason, instance.state_reason = reason, state_reason
    tracked.terminated_at_s = now_s
    log.info("%s: terminated", instance.id)
