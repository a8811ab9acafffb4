"""Two policies that know the true speeds, measure nothing, and still pay for switching.

What a policy costs over `oracle` has two parts. What `waiting-oracle` costs over `oracle` is the cost of waiting and of
caution, and of what else policies are not told. The rest is the cost of not knowing the speeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecast import Forecast
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.situation import Situation
from controller.decide.model.speeds import Speed
from controller.decide.policies.cheapest_fleet import CheapestFleet
from controller.decide.policies.stability import waiting_reason
from controller.decide.settings import DecideSettings
from controller.domain import Decision
from controller.domain.reasons import Reason
from controller.domain.reasons.deciding import NoWorkerRuns
from controller.domain.reasons.limits import Constrained

CONFIDENCE = 0.8
"""Even the truth needs a little to spare: nodes differ, and some are slow to boot."""


class TrueSpeeds:
    """Believes `DecideSettings.truth`: nothing is uncertain, and nothing needs measuring."""

    def waiting(self, situation: Situation) -> Reason | None:
        """Returns nothing to wait for but a worker."""
        return None if situation.current.size else NoWorkerRuns()

    def silent(self, situation: Situation) -> Sequence[str]:
        """Returns no flavor: all speeds are known."""
        return ()

    def model(self, situation: Situation) -> FleetModel | None:
        """Returns the model with the true speeds and the true communication."""
        truth = situation.settings.truth
        assert truth is not None
        model = situation.model({flavor: Speed(speed, 0.0) for flavor, speed in truth.tokens_per_s.items()})
        if model is None:
            return None
        return replace(model, tokens_per_step=truth.tokens_per_step, communication_s=truth.communication_s)

    def too_uncertain(self, forecaster: Forecaster, then: Forecast) -> Constrained | None:
        """Returns None: nothing is uncertain."""
        return None

    def probe(self, forecaster: Forecaster, decision: Decision, base: Forecast) -> Decision | None:
        """Returns None: nothing needs measuring."""
        return None


class TrueSpeedsOfNodes(TrueSpeeds):
    """Believes the speeds of `DecideSettings.truth`, but moves only once the nodes that run have reported.

    What a step will have is not known beforehand: its tokens are those that were seen.
    """

    def waiting(self, situation: Situation) -> Reason | None:
        """Returns which flavors that run have too few facts yet, as `cheapest-fleet` does."""
        return waiting_reason(situation)

    def model(self, situation: Situation) -> FleetModel | None:
        """Returns the model with the true speeds, the true communication, and the tokens that a step was seen to have.

        None while these are unknown.
        """
        model, tokens = super().model(situation), situation.tokens_per_step
        return None if model is None or tokens is None else replace(model, tokens_per_step=tokens)


class Oracle:
    """Makes the same choice as `cheapest-fleet`, with the true speeds. It is of use in simulations only."""

    name = "oracle"
    _policy = CheapestFleet(name, TrueSpeeds())

    def decide(self, situation: Situation) -> Decision:
        """Chooses with the truth.

        Raises:
            ValueError: The settings have no truth.
        """
        return self._policy.decide(replace(situation, settings=_without_margins(_truthful(situation.settings))))


class WaitingOracle:
    """Knows the true speeds and is otherwise like `cheapest-fleet`: it waits for its nodes, and keeps all margins."""

    name = "waiting-oracle"
    _policy = CheapestFleet(name, TrueSpeedsOfNodes())

    def decide(self, situation: Situation) -> Decision:
        """Chooses with the truth.

        Raises:
            ValueError: The settings have no truth.
        """
        return self._policy.decide(replace(situation, settings=_truthful(situation.settings)))


def _truthful(settings: DecideSettings) -> DecideSettings:
    """Returns the settings, which have a truth. Raises ValueError where they have none."""
    if settings.truth is None:
        raise ValueError(f"the policy {settings.policy} is for simulations: it needs the truth in its settings")
    return settings


def _without_margins(settings: DecideSettings) -> DecideSettings:
    """Returns the settings without the margins that uncertainty asks for."""
    return replace(
        settings,
        saving_margin=0.0,
        switching_margin=0.0,
        mixed_margin=0.0,
        confidence=CONFIDENCE,
        cooldown_s=0.0,
    )
