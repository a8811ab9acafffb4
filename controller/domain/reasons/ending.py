"""Reasons for which a run ended without a finished training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from controller.domain.reasons.base import Reason


@dataclass(frozen=True)
class LauncherFailed(Reason):
    """The launcher on the head gave the training up."""

    code: ClassVar[str] = "launcher-failed"
    said: str | None
    """The launcher's own reason."""


@dataclass(frozen=True)
class EnvironmentDestroyed(Reason):
    """A person destroyed the environment while the training went on."""

    code: ClassVar[str] = "environment-destroyed"
