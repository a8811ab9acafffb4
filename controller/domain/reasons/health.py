"""Reasons for which a training, its head, or one of its nodes counts as ill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from controller.domain.reasons.base import Reason

# The whole training


@dataclass(frozen=True)
class NoNewStep(Reason):
    """The training has made no new step for too long."""

    code: ClassVar[str] = "no-new-step"
    step: int | None
    """The last step that was seen; None where no step was ever seen."""
    for_s: float
    limit_s: float


@dataclass(frozen=True)
class LauncherDied(Reason):
    """The launcher has ended without saying how the training ended, and nothing starts it again."""

    code: ClassVar[str] = "launcher-died"
    for_s: float


@dataclass(frozen=True)
class LauncherNotStarted(Reason):
    """The launcher was not started, though the training should be going on."""

    code: ClassVar[str] = "launcher-not-started"
    for_s: float


@dataclass(frozen=True)
class HeadSilent(Reason):
    """The head has not answered for too long."""

    code: ClassVar[str] = "head-silent"
    for_s: float
    limit_s: float


@dataclass(frozen=True)
class HeadGone(Reason):
    """EC2 says that the head does not run."""

    code: ClassVar[str] = "head-gone"
    state: str
    """EC2's word: `stopped`, `terminated`, ..."""


# One node


@dataclass(frozen=True)
class RankHangs(Reason):
    """A node answers, and its rank has made no step for too long while others have."""

    code: ClassVar[str] = "rank-hangs"
    node: str
    """The instance id."""
    flavor: str
    for_s: float
    limit_s: float


@dataclass(frozen=True)
class NeverBecameRank(Reason):
    """A node is in the hosts file, answers, and has not become a rank for too long."""

    code: ClassVar[str] = "never-became-rank"
    node: str
    """The instance id."""
    flavor: str
    for_s: float
    limit_s: float


@dataclass(frozen=True)
class WorkerDied(Reason):
    """The worker of a node in the hosts file has failed, and nothing starts it again."""

    code: ClassVar[str] = "worker-died"
    node: str
    """The instance id."""
    flavor: str
    for_s: float


@dataclass(frozen=True)
class NodeSilent(Reason):
    """A node runs and has not answered for too long."""

    code: ClassVar[str] = "node-silent"
    node: str
    """The instance id."""
    flavor: str
    for_s: float
    limit_s: float
