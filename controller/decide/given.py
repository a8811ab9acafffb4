"""What a decision is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.decide.settings import DecideSettings
from controller.domain import History, Limits, Observation, Price, Progress


@dataclass(frozen=True)
class DecisionInput:
    """Everything that one decision is made from. Nothing else is read: no clock, no file, no network."""

    observations: tuple[Observation, ...]
    """Oldest first; the last one is the present. At least one."""
    prices: Mapping[str, Price]
    """By flavor."""
    limits: Limits
    progress: Progress | None = None
    """None while it is unknown how far the training is."""
    history: History = field(default_factory=History)
    settings: DecideSettings = field(default_factory=DecideSettings)
