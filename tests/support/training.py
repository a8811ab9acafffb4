"""A made-up training whose flavors have known speeds: for tests of deciding, and for the bench of its time."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from controller.decide import DecideSettings, DecisionInput, Objective, decide
from controller.domain import (
    Decision,
    Fact,
    Flavor,
    Fleet,
    History,
    Limits,
    Move,
    MovePhase,
    Observation,
    Price,
    Progress,
    TrainingState,
)
from controller.simulate.policies import SIMULATED_POLICIES
from tests.support.prices import LIST_PRICES

SEED_SPEEDS = {
    "t2.medium": 800.0,
    "t2.large": 1200.0,
    "t2.xlarge": 1600.0,
    "c5.large": 2000.0,
    "c5.xlarge": 2500.0,
    "c5.2xlarge": 3000.0,
}
CONSTRAINTS = ("none", "deadline", "budget", "both")
LARGE_FLAVORS, LARGE_NODES = 50, 1000


@dataclass
class Training:
    """A training with balanced batches of 6,000 tokens and a fixed wait for the network."""

    speeds: Mapping[str, float] = field(default_factory=lambda: dict(SEED_SPEEDS))
    prices: Mapping[str, float] = field(default_factory=lambda: dict(LIST_PRICES))
    fleet: Fleet = field(default_factory=lambda: Fleet(dict.fromkeys(SEED_SPEEDS, 1)))
    communication_s: Callable[[int], float] = lambda size: 0.0
    tokens_per_step: float = 6000.0
    total_steps: int = 200_000
    now: float = 1000.0
    step: int = 1000
    window: int = 50
    observations: tuple[Observation, ...] = ()
    moves: tuple[Move, ...] = ()
    spent_usd: float = 0.0

    def observe(self, **changes: object) -> Observation:
        """The present facts; `changes` are fields that every fact gets."""
        speed = sum(count * self.speeds[flavor] for flavor, count in self.fleet.present.items())
        compute_s = self.tokens_per_step / speed if speed else 1.0
        facts = []
        for flavor, count in self.fleet.present.items():
            for number in range(count):
                values: dict[str, object] = {
                    "instance_id": f"i-{flavor}-{number}",
                    "flavor": flavor,
                    "rank": len(facts),
                    "world_size": self.fleet.size,
                    "state": TrainingState.TRAINING,
                    "step": self.step,
                    "iteration_time_s": compute_s + self.communication_s(self.fleet.size),
                    "compute_time_s": compute_s,
                    "samples": 64.0,
                    "tokens": self.speeds[flavor] * compute_s,
                    "window": self.window,
                    "updated_at": self.now,
                }
                facts.append(Fact(**{**values, **changes}))  # type: ignore[arg-type]
        return Observation(self.now, self.fleet, tuple(facts))

    @property
    def progress(self) -> Progress:
        return Progress(self.step, self.total_steps, int(self.step * self.tokens_per_step), 0.0, self.now)

    @property
    def history(self) -> History:
        return History(self.moves, self.spent_usd)

    def wait(self, steps: int = 2000, seconds: float = 1000.0) -> None:
        """Let the training go on, and remember what was seen."""
        self.observations = (*self.observations, self.observe())
        self.now, self.step = self.now + seconds, self.step + steps

    def decide(
        self,
        limits: Limits | None = None,
        settings: DecideSettings | None = None,
        observation: Observation | None = None,
        prices: Mapping[str, Price] | None = None,
        history: History | None = None,
        earlier: tuple[Observation, ...] | None = None,
    ) -> Decision:
        """Decides in the present situation, by any policy that is simulated.

        Args:
            limits: Exactly six nodes unless given.
            history: This training's own moves and spending unless given.
            earlier: The observations before the present one; all that this training has seen unless given.
        """
        present = observation or self.observe()
        given = DecisionInput(
            (*(self.observations if earlier is None else earlier), present),
            prices if prices is not None else self.listed_prices,
            limits or Limits(min_nodes=6, max_nodes=6),
            self.progress,
            history or self.history,
            settings or DecideSettings(),
        )
        return decide(given, SIMULATED_POLICIES)

    @property
    def listed_prices(self) -> dict[str, Price]:
        """The prices as the controller is told them."""
        return {flavor: Price(flavor, usd) for flavor, usd in self.prices.items()}

    def make(self, decision: Decision) -> None:
        """Carry a move out at once."""
        self.wait()
        number = len(self.moves) + 1
        done = Move(
            number,
            self.now,
            self.fleet,
            decision.target,
            decision.reason,
            MovePhase.DONE,
            ended_at=self.now,
            is_probe=decision.is_probe,
        )
        self.moves, self.fleet = (*self.moves, done), decision.target
        self.now, self.step = self.now + 1000.0, self.step + 2000


@dataclass(frozen=True)
class LargeCase:
    """Fifty flavors, of which `measured` run with a thousand nodes in all, with a deadline, a budget, or both.

    `constraint` is one of `CONSTRAINTS`. Deadlines and budgets are drawn around what staying takes, so that some
    can't be kept.
    """

    objective: Objective
    constraint: str
    measured: int

    def prepare(self) -> tuple[Training, Limits, DecideSettings]:
        """The same training, limits and settings each time."""
        rng = random.Random(f"{self.objective} {self.constraint} {self.measured}")
        training = self._training(rng)
        flavors = {name: Flavor(name, vcpus=max(2, int(20 * usd))) for name, usd in training.prices.items()}
        settings = DecideSettings(objective=self.objective, flavors=flavors)
        quotas = {name: rng.choice([20, 40, 1000]) for name in training.prices}
        limits = Limits(1, LARGE_NODES, max_nodes_per_flavor=quotas)
        stay = training.decide(limits, settings).fleets[0]
        share = rng.uniform(0.7, 1.5)
        if self.constraint in ("deadline", "both"):
            limits = replace(limits, deadline_at=training.now + share * stay.remaining_s)
        if self.constraint in ("budget", "both"):
            limits = replace(limits, budget_usd=share * stay.remaining_usd)
        return training, limits, settings

    def _training(self, rng: random.Random) -> Training:
        prices = {f"{'abcdefghij'[number % 10]}5.x{number}": rng.uniform(0.05, 3.0) for number in range(LARGE_FLAVORS)}
        spread = rng.choice([0.0, 0.05, 0.5])
        return Training(
            speeds={name: 30_000 * usd * math.exp(rng.gauss(0, spread)) for name, usd in prices.items()},
            prices=prices,
            fleet=Fleet(dict.fromkeys(rng.sample(sorted(prices), self.measured), LARGE_NODES // self.measured)),
            tokens_per_step=4e6,
            communication_s=lambda size: 0.05 + 0.02 * math.log2(size),
        )
