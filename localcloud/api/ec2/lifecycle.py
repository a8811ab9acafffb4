"""The life of instances: pending, running, shutting-down, terminated, with a host behind each one that runs.

moto's instances are running at once and terminated at once. Here they pass through EC2's states at EC2's order, and an
instance is terminated only when nothing of its host is left, so that its address can be handed out again.
"""

from __future__ import annotations

import base64
import binascii
import copy
import gzip
import ipaddress
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance, InstanceState, StateReason
from moto.iam.models import iam_backends

from localcloud.link.spec import FAILED, GONE, HostReport, HostSpec, SpotNotice
from localcloud.settings import LOOPBACK, FailureAtBoot, Settings

PENDING, RUNNING, SHUTTING_DOWN, TERMINATED, STOPPING, STOPPED = (
    "pending", "running", "shutting-down", "terminated", "stopping", "stopped",
)  # fmt: skip
STATE_CODES = {PENDING: 0, RUNNING: 16, SHUTTING_DOWN: 32, TERMINATED: 48, STOPPING: 64, STOPPED: 80}
ALIVE = (PENDING, RUNNING, STOPPING, STOPPED)

release_resources = Instance.terminate  # moto's own: volumes, interfaces, profile
release_stopped = Instance.stop

log = logging.getLogger("localcloud.machines")


@dataclass
class Machine:
    """An instance and what moto does not know about it. Times are of the monotonic clock."""

    instance: Instance
    due: float
    failure: FailureAtBoot | None = None
    boot: int = 1
    hosted: bool = False
    report: HostReport | None = None
    notice: SpotNotice | None = None
    interrupted_at: float | None = None
    terminated_at: float | None = None

    @property
    def state(self) -> str:
        """The instance's EC2 state."""
        return str(self.instance._state.name)


class Machines:
    """All instances. Every method is called with the API's lock held."""

    def __init__(self, settings: Settings, ec2: EC2Backend) -> None:
        self.settings = settings
        self.ec2 = ec2
        self.capacity: dict[str, int] = dict(settings.capacity)
        self.vcpu_quotas: dict[str, int] = dict(settings.vcpu_quotas)
        self.fail_boot: dict[str, FailureAtBoot] = dict(settings.fail_boot)
        self._machines: dict[str, Machine] = {}

    def __iter__(self) -> Iterator[Machine]:
        return iter(list(self._machines.values()))

    def get(self, instance_id: str) -> Machine | None:
        """The machine of an instance, None when there is no such instance."""
        return self._machines.get(instance_id)

    # What the API does to instances

    def adopt(self, instance: Instance) -> None:
        """Take a new instance, which moto has made running, back to pending."""
        flavor = instance.instance_type
        due = time.monotonic() + self.settings.boot_delay_s
        self._machines[instance.id] = Machine(instance, due, self.fail_boot.get(flavor))
        _enter(instance, PENDING)
        log.info("%s (%s): pending at %s", instance.id, flavor, instance.private_ip)

    def room(self, flavor: str) -> int | None:
        """How many more instances of a flavor can be had; None is as many as one likes."""
        limit = self.capacity.get(flavor)
        if limit is None:
            return None
        taken = sum(m.instance.instance_type == flavor and m.state in (PENDING, RUNNING, SHUTTING_DOWN) for m in self)
        return max(0, limit - taken)

    def terminate(self, instance: Instance, reason: str | None = None, code: str | None = None) -> InstanceState:
        """Begin a termination; returns the state before. Terminating twice is harmless, as on EC2."""
        previous = copy.copy(instance._state)
        if previous.name not in (SHUTTING_DOWN, TERMINATED):
            _enter(instance, SHUTTING_DOWN)
            now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
            code = code or "Client.UserInitiatedShutdown"
            instance._reason = f"{'User initiated' if reason is None else reason} ({now})"
            instance.state_reason = StateReason(f"{code}: {reason or 'User initiated shutdown'}", code)
            log.info("%s: shutting down: %s", instance.id, instance.state_reason.message)
        return previous

    def stop(self, instance: Instance) -> InstanceState:
        """Begin to stop; returns the state before."""
        previous = copy.copy(instance._state)
        if previous.name in (PENDING, RUNNING):
            _enter(instance, STOPPING)
        return previous

    def start(self, instance: Instance) -> InstanceState:
        """Start a stopped instance; returns the state before."""
        previous = copy.copy(instance._state)
        if previous.name == STOPPED:
            _enter(instance, PENDING)
            instance._reason, instance.state_reason = "", StateReason()
            self._restart(self._machines[instance.id])
        return previous

    def reboot(self, instance: Instance) -> None:
        """Restart the host of a running instance; its home and address stay."""
        if instance._state.name == RUNNING:
            self._machines[instance.id].boot += 1

    def _restart(self, machine: Machine) -> None:
        machine.boot += 1
        machine.due = time.monotonic() + self.settings.boot_delay_s

    def interrupt(self, machine: Machine, in_s: float) -> SpotNotice:
        """Announce a spot interruption in the metadata; the instance is terminated after `in_s` seconds."""
        when = datetime.now(timezone.utc) + timedelta(seconds=in_s)
        machine.notice = SpotNotice("terminate", when.strftime("%Y-%m-%dT%H:%M:%SZ"))
        machine.interrupted_at = time.monotonic() + in_s
        log.info("%s: interruption announced for %s", machine.instance.id, machine.notice.time)
        return machine.notice

    # What time and hosts do to instances

    def heard(self, report: HostReport) -> None:
        """Take a report of the hosts' side."""
        machine = self._machines.get(report.instance_id)
        if machine is None:
            return
        machine.report = report
        if report.state == GONE:
            machine.hosted = False
        elif report.state == FAILED:
            self.terminate(machine.instance, report.detail, "Server.InternalError")

    def tick(self) -> None:
        """Let time pass: whatever is due changes its state."""
        now = time.monotonic()
        for machine in list(self._machines.values()):
            self._advance(machine, now)
            if machine.terminated_at is not None and now >= machine.terminated_at + self.settings.terminated_visible_s:
                self._forget(machine)

    def _advance(self, machine: Machine, now: float) -> None:
        instance, state = machine.instance, machine.state
        if state == PENDING and now >= machine.due:
            if machine.failure == "terminated":
                self.terminate(instance, "Internal error on launch", "Server.InternalError")
            else:
                _enter(instance, RUNNING)
        elif state in (PENDING, RUNNING) and machine.interrupted_at is not None and now >= machine.interrupted_at:
            self.terminate(instance, "Spot instance termination", "Server.SpotInstanceTermination")
        elif state == SHUTTING_DOWN and not machine.hosted:
            self._release(machine, now)
        elif state == STOPPING and not machine.hosted:
            release_stopped(instance)

    def _release(self, machine: Machine, now: float) -> None:
        instance = machine.instance
        reason, state_reason = instance._reason, instance.state_reason
        release_resources(instance)
        instance.nics = {}
        instance._private_ips = set()
        instance._reason, instance.state_reason = reason, state_reason
        machine.terminated_at = now
        log.info("%s: terminated", instance.id)

    def _forget(self, machine: Machine) -> None:
        """Leave nothing of a terminated instance in the API, as EC2 does after an hour."""
        instance_id = machine.instance.id
        del self._machines[instance_id]
        self.ec2.tags.pop(instance_id, None)
        for reservation_id, reservation in list(self.ec2.reservations.items()):
            reservation.instances = [instance for instance in reservation.instances if instance.id != instance_id]
            if not reservation.instances:
                del self.ec2.reservations[reservation_id]

    def wanted_hosts(self) -> list[HostSpec]:
        """The hosts that shall run now; remembers that they do."""
        specs = []
        for machine in self._machines.values():
            address = machine.instance.private_ip
            if machine.state == RUNNING and address and ipaddress.IPv4Address(address) in LOOPBACK:
                machine.hosted = True
                specs.append(self._spec(machine, address))
        return specs

    def _spec(self, machine: Machine, address: str) -> HostSpec:
        instance: Any = machine.instance
        key = self.ec2.key_pairs.get(instance.key_name) if instance.key_name else None
        return HostSpec(
            instance_id=instance.id,
            flavor=instance.instance_type,
            address=address,
            availability_zone=str(instance._placement.zone),
            region=self.settings.region,
            account=str(self.ec2.account_id),
            image_id=instance.image_id,
            hostname=instance.private_dns_name,
            public_address=instance.public_ip,
            key_name=instance.key_name,
            public_key=key.public_key if key else None,
            user_data=decode_user_data(instance.user_data),
            tags={tag["key"]: tag["value"] for tag in instance.get_tags()},
            role=self._role(instance),
            tokens_required=instance.metadata_options.http_tokens == "required",
            tags_in_metadata=instance.metadata_options.instance_metadata_tags == "enabled",
            spot=instance.lifecycle == "spot",
            spot_notice=machine.notice,
            speed=self.settings.speed_of(instance.instance_type),
            unreachable=machine.failure == "unreachable",
            boot=machine.boot,
        )

    def _role(self, instance: Any) -> str | None:
        if not instance.iam_instance_profile:
            return None
        arn = instance.iam_instance_profile["Arn"]
        for profile in iam_backends[self.ec2.account_id]["aws"].instance_profiles.values():
            if profile.arn == arn and profile.roles:
                return str(profile.roles[0].name)
        return None


def decode_user_data(encoded: str | bytes | None) -> str | None:
    """User data as text: the API carries it in base64, possibly compressed."""
    if not encoded:
        return None
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return encoded if isinstance(encoded, str) else encoded.decode(errors="replace")
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    return data.decode(errors="replace")


def _enter(instance: Instance, state: str) -> None:
    instance._state = InstanceState(state, STATE_CODES[state])
