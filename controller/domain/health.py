"""What ails a training that makes no progress, what may help, and how long each state may last."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from controller.domain.reasons.base import Reason


class RemedyKind(str, Enum):
    """What the controller can do for a training that makes no progress. The mildest comes first."""

    DROP_RANK = "drop_rank"
    """Take a node out of the hosts file, so that the others train on without it."""
    RESTART_LAUNCHER = "restart_launcher"
    """Stop the launcher and start it again: the training goes on from its last checkpoint."""
    REPLACE_NODE = "replace_node"
    """End an instance, so that its group launches another one."""
    REBOOT_HEAD = "reboot_head"
    """Ask EC2 to reboot the head. Its services come up by themselves."""
    END_TRAINING = "end_training"
    """End the run as failed, with everything given back."""


@dataclass(frozen=True)
class Remedy:
    """A remedy that was tried.

    Attributes:
        kind: What was done.
        at: When it was done (seconds since the epoch).
        reason: What it was done for.
        node: The instance that it was done to; None where it concerns the head or the whole training.
    """

    kind: RemedyKind
    at: float
    reason: Reason
    node: str | None = None


@dataclass(frozen=True)
class Ailment:
    """Something that keeps the training, or one node of it, from making progress.

    Attributes:
        reason: What is wrong.
        remedy: What is to be done now; None while an earlier remedy is given its time, or nothing fits.
        node: The instance that is concerned; None where it is the head or the whole training.
    """

    reason: Reason
    remedy: RemedyKind | None
    node: str | None = None

    def tried(self, at: float) -> Remedy:
        """Returns the remedy as tried at this time (seconds since the epoch).

        Raises:
            ValueError: The ailment has no remedy at the moment.
        """
        if self.remedy is None:
            raise ValueError("there is no remedy to try")
        return Remedy(self.remedy, at, self.reason, self.node)


@dataclass(frozen=True)
class HealthLimits:
    """How long each state may last before it counts as a fault, in seconds.

    Attributes:
        stall_s: No rank makes a new step. The first step, joins and validations must be shorter.
        finish_s: The same after the last step, while the results are scored.
        rank_s: A member makes no step while others do, or never becomes a rank.
        silent_s: A node does not answer.
        boot_s: A node that has never answered may take this much longer.
        head_s: The head does not answer.
        service_s: The launcher, or the worker of a member, is dead or was never started.
        remedy_s: How long a remedy is given before the next one.
        tries: How often the launcher is restarted, or the head rebooted, before the training is ended.
        gap_s: The most that counts of the time between two looks.
    """

    stall_s: float = 900.0
    finish_s: float = 3600.0
    rank_s: float = 600.0
    silent_s: float = 300.0
    boot_s: float = 600.0
    head_s: float = 600.0
    service_s: float = 60.0
    remedy_s: float = 300.0
    tries: int = 2
    gap_s: float = 240.0
