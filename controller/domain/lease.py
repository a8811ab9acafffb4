"""The lease of a cluster: who owns it, until when, and what happens when nobody does any more.

Whoever holds the lease is the only one that changes the cluster, from whatever machine. A lease has an end, which its
holder puts off by renewing it. Each change of the holder raises its generation, the fencing token of all that is kept
in the cluster's bucket.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

FIRST_GENERATION = 1
ENDED = "ended"
"""The stage of a run that is over."""
PLACE = "CENTAVO_PLACE"
"""The environment variable that says where a controller runs: `head`, or `machine` (the default)."""


class Place(str, Enum):
    """Where a holder runs."""

    MACHINE = "machine"
    """A person's machine, or a pipeline's."""
    HEAD = "head"
    """The cluster's own head."""


class HeadEnding(str, Enum):
    """What the head does with itself after it has given everything else back."""

    STOP = "stop"
    TERMINATE = "terminate"
    KEEP = "keep"


@dataclass(frozen=True)
class SwitchSettings:
    """The dead man's switch: after how many seconds without an owner, or without progress, who gives back what.

    Attributes:
        lease_s: A lease lasts so long after it was last renewed.
        ended_s: So long after the training's end the head gives everything back.
        stalled_s: So long after the last step the head gives everything back.
        worker_s: A worker that finds neither a valid lease nor the head for so long ends itself.
        reaper_s: What has outlived its lease by so long is ended from outside.
        head: What the head does with itself then.
    """

    lease_s: float
    ended_s: float
    stalled_s: float
    worker_s: float
    reaper_s: float
    head: HeadEnding


@dataclass(frozen=True)
class LeaseHolder:
    """The process that holds a lease.

    Attributes:
        id: An id of its own, which no other process ever has.
        checkout: The id of the checkout that it works in. Two commands in one checkout never work at once.
    """

    id: str
    host: str
    user: str
    pid: int
    command: str
    place: Place
    checkout: str

    def shares_checkout_with(self, other: LeaseHolder) -> bool:
        """Returns whether both work in one checkout."""
        return (self.checkout, self.host) == (other.checkout, other.host)

    def __str__(self) -> str:
        return f"`{self.command}` of {self.user}@{self.host} (process {self.pid})"


@dataclass(frozen=True)
class Fired:
    """The dead man's switch has given the cluster back.

    Attributes:
        by: `head`, `worker`, `reaper` or `person`.
        why: The code of the reason.
        at: When, in seconds since the epoch.
    """

    by: str
    why: str
    at: float


@dataclass(frozen=True)
class Lease:
    """The lease as it is written. Times are in seconds since the epoch, by the holder's clock, and tell people only.

    Attributes:
        run: The run that is under way, or was last; None before the first.
        generation: How often the lease has changed its holder.
        lasts_s: For how long the lease is valid after it was written, by S3's clock.
        released: Whether its holder has given it back. What runs then runs without a controller, on purpose.
        stage: Where the run is: `starting`, `training`, `ending` or `ended`.
        ended_at: When the training ended.
        step: The last step that the holder saw, and `step_at` when it saw a new one for the last time.
        waits_since: Since when the run waits for capacity, with no node left that could train; None where it does not.
        run_holder: The last holder that worked on the run. A command that was refused holds the lease, and never did.
    """

    cluster: str
    environment: str
    run: str | None
    generation: int
    holder: LeaseHolder
    taken_at: float
    lasts_s: float
    released: bool
    stage: str
    ended_at: float | None
    step: int | None
    step_at: float | None
    switch: SwitchSettings
    fired: Fired | None = None
    waits_since: float | None = None
    run_holder: LeaseHolder | None = None

    def is_free(self, age_s: float) -> bool:
        """Returns whether anybody may take the lease.

        Args:
            age_s: How long ago it was written, by S3's clock.
        """
        return self.released or age_s > self.lasts_s

    def is_of(self, holder: LeaseHolder) -> bool:
        """Returns whether this holder has it."""
        return self.holder.id == holder.id

    def was_of_the_checkout(self, holder: LeaseHolder) -> bool:
        """Returns whether its holder worked in the checkout in which another one, who has its lock, works now."""
        return self.holder.shares_checkout_with(holder)

    def has_run_of_the_checkout(self, holder: LeaseHolder) -> bool:
        """Returns whether the run was last worked on in the checkout of a holder."""
        return self.run_holder is not None and self.run_holder.shares_checkout_with(holder)

    def given_back(self) -> Lease:
        """Returns the lease as its holder leaves it."""
        return replace(self, released=True)


@dataclass(frozen=True)
class Claim:
    """Somebody who wants a cluster's lease, and the terms of it."""

    cluster: str
    environment: str
    holder: LeaseHolder
    switch: SwitchSettings

    def first(self, now: float, generation: int = FIRST_GENERATION) -> Lease:
        """Returns the lease of a cluster that has had none."""
        return Lease(
            cluster=self.cluster,
            environment=self.environment,
            run=None,
            generation=generation,
            holder=self.holder,
            taken_at=now,
            lasts_s=self.switch.lease_s,
            released=False,
            stage="starting",
            ended_at=None,
            step=None,
            step_at=None,
            switch=self.switch,
        )

    def after(self, before: Lease, now: float) -> Lease:
        """Returns the lease that follows another one: what it says of the run holds until somebody looks again."""
        return replace(
            before,
            environment=self.environment,
            generation=before.generation + 1,
            holder=self.holder,
            taken_at=now,
            lasts_s=self.switch.lease_s,
            released=False,
            switch=self.switch,
            fired=None,
            waits_since=None,
        )
