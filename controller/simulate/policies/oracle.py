"""Knows the true speeds, measures nothing, and still pays for switching: what simulations compare with."""

from __future__ import annotations

from dataclasses import replace

from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.outlook import Forecast, Outlook
from controller.decide.model.situation import Situation
from controller.decide.model.speeds import Speed
from controller.decide.policies.cheapest_fleet import CheapestFleet
from controller.decide.settings import DecideSettings
from controller.domain import Decision

DEADLINE_MARGIN = 0.01
"""What even the truth needs to spare: nodes differ, and some are slow to boot."""


class Oracle(CheapestFleet):
    """The same choice as `cheapest-fleet`, made with `DecideSettings.truth`. Not for use outside of simulations."""

    name = "oracle"

    def decide(self, situation: Situation) -> Decision:
        """Choose with the truth. Raises ValueError when the settings have none."""
        if situation.settings.truth is None:
            raise ValueError("the policy oracle is for simulations: it needs the truth in its settings")
        return super().decide(replace(situation, settings=_bold(situation.settings)))

    def waiting_reason(self, situation: Situation) -> str | None:
        """There is nothing to wait for."""
        return None if situation.current.size else "no worker runs"

    def model(self, situation: Situation) -> FleetModel | None:
        """The truth."""
        truth = situation.settings.truth
        assert truth is not None
        model = situation.model({flavor: Speed(speed, 0.0) for flavor, speed in truth.tokens_per_s.items()})
        if model is None:
            return None
        return replace(model, tokens_per_step=truth.tokens_per_step, communication_s=truth.communication_s)

    def silent(self, situation: Situation) -> list[str]:
        """All speeds are known."""
        return []

    def too_uncertain(self, outlook: Outlook, forecast: Forecast) -> str | None:
        """Nothing is uncertain."""
        return None

    def probe(self, outlook: Outlook, decision: Decision, base: Forecast) -> Decision | None:
        """Nothing needs measuring."""
        return None


def _bold(settings: DecideSettings) -> DecideSettings:
    """Settings without the margins that uncertainty asks for."""
    return replace(
        settings,
        saving_margin=0.0,
        switching_margin=0.0,
        mixed_margin=0.0,
        deadline_margin=DEADLINE_MARGIN,
        cooldown_s=0.0,
    )
