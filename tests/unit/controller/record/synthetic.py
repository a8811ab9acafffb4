"""Journals of runs that never were, written through the journal's own interface: for report, views and bench."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from controller.domain import (
    Decision,
    Fact,
    FlavorEstimate,
    Fleet,
    FleetEstimate,
    MembershipChange,
    Move,
    MovePhase,
    Observation,
    TrainingState,
    UnknownNode,
    Verdict,
)
from controller.domain.health import Remedy, RemedyKind
from controller.domain.reasons import Said
from controller.domain.reasons.ending import BudgetReached
from controller.domain.reasons.health import LauncherDied, RankHangs
from controller.domain.reasons.nodes import NotAsked
from controller.record.journal import Journal, Stage
from controller.record.journal.runs import start_run
from tests.support.prices import LIST_PRICES as PRICES

SPEEDS = {
    "t2.medium": 900.0,
    "t2.large": 1350.0,
    "t2.xlarge": 1800.0,
    "c5.large": 3200.0,
    "c5.xlarge": 3900.0,
    "c5.2xlarge": 4700.0,
}
HEAD_USD_PER_HOUR = 0.0208
BEGAN = 1_800_000_000.0
WAIT_S = 0.09
"""What a step takes beyond computing."""


@dataclass
class SyntheticRun:
    """Writes a run pass by pass. Batches are in proportion to speed, as the trainer's are."""

    runs: Path
    initial: Fleet = field(default_factory=lambda: Fleet(dict.fromkeys(PRICES, 1)))
    tokens_per_step: float = 4096.0
    total_steps: int = 3000
    interval_s: float = 8.0
    seed: int = 1

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.now, self.step, self.fleet = BEGAN, 0.0, self.initial
        self.change: MembershipChange | None = None
        self.journal: Journal = start_run(
            self.runs, environment="test", policy="cheapest-fleet", initial=self.initial, now=self.now
        )

    def boot(self) -> None:
        """Minutes before the first step."""
        self.note("bringing the fleet up")
        unknown = tuple(UnknownNode(name, flavor, NotAsked()) for name, flavor in self._nodes())
        self.now += 20
        self.journal.add_observation(Observation(self.now, self.fleet, (), unknown), self._usd_per_hour())
        self.now += 45
        self.note("the nodes are prepared (30 changes); starting the training")
        self.journal.set_stage(Stage.TRAINING)

    def train(
        self, passes: int, verdict: Verdict = Verdict.STAY, reason: str = "the fleet is the cheapest there is"
    ) -> None:
        """Passes that observe and decide."""
        for _ in range(passes):
            observation = self.observe()
            self.journal.add_decision(self.decision(observation, verdict, self.fleet, reason))

    def observe(self) -> Observation:
        """One look at a training that goes on."""
        observation = self.unwritten()
        self.journal.add_observation(observation, self._usd_per_hour())
        return observation

    def unwritten(self) -> Observation:
        """One look that the journal has not kept yet."""
        self.now += self.interval_s
        self.step = min(self.total_steps, self.step + self.interval_s / self.step_s(self.fleet))
        return Observation(self.now, self.fleet, tuple(self._facts()))

    def decide(self, target: Fleet, reason: str, verdict: Verdict = Verdict.MOVE) -> None:
        """A decision in favour of a fleet, or against it."""
        self.journal.add_decision(self.decision(self.observe(), verdict, target, reason))

    def move(
        self,
        target: Fleet,
        reason: str = "c5.large costs 0.0073 $/M tokens, 34 % less than now",
        failure: str | None = None,
        until: MovePhase = MovePhase.DONE,
    ) -> Move:
        """A move with all its steps; `failure` rolls it back, `until` leaves it under way."""
        self.decide(target, reason)
        source = self.fleet
        move = Move(self.journal.next_move_id(), self.now, source, target, Said(reason))
        self.journal.save_move(move)
        move = self._phase(move, MovePhase.GROWING, f"capacity {source} -> {source.union(target)}", 14)
        if until is MovePhase.GROWING:
            return move
        if failure is not None:
            return self._ended(move, MovePhase.ROLLED_BACK, failure)
        self.fleet = source.union(target)
        move = self._phase(move, MovePhase.JOINING, "the new nodes are warm and join", 9)
        self._membership(source.size, self.fleet.size, 1.6)
        self.observe()
        move = self._phase(move, MovePhase.SHRINKING, f"nodes leave: {source} -> {target}", 4)
        self._membership(self.fleet.size, target.size, 0.7)
        self.fleet = target
        self.observe()
        return self._ended(replace(move, pause_s=2.3, steps_lost=0), MovePhase.DONE, None)

    def end(self, status: str = "finished", reason: str | None = None, scores: bool = True) -> Journal:
        """The end of the training, with its results."""
        self.journal.end(status, None if reason is None else Said(reason), self.now)
        self.note(f"the training has {status}")
        if scores:
            self._keep_results()
        self.journal.set_stage(Stage.ENDED)
        return self.journal

    def note(self, message: str) -> None:
        self.journal.add_event(self.now, "note", message)

    def step_s(self, fleet: Fleet) -> float:
        """Seconds of a step of a fleet."""
        speed = sum(count * SPEEDS[flavor] for flavor, count in fleet.present.items())
        return self.tokens_per_step / speed + WAIT_S

    def loss(self) -> float:
        return 2.0 + 6.5 * float(2.718 ** (-self.step / 700)) + self.random.gauss(0, 0.05)

    def decision(self, observation: Observation, verdict: Verdict, target: Fleet, reason: str) -> Decision:
        """With evidence: all flavors, and the fleets of each single one."""
        size = self.initial.size
        fleets = [observation.fleet, target, *(Fleet({flavor: size}) for flavor in PRICES)]
        scaling = tuple(self._estimate(Fleet({"c5.large": n})) for n in (1, 2, 3, 4, 6, 8, 12, 16, 24))
        return Decision(
            observation.at,
            "cheapest-fleet",
            verdict,
            observation.fleet,
            target,
            Said(reason),
            tuple(self._flavor(flavor) for flavor in PRICES),
            tuple(self._estimate(f) for f in fleets),
            saving_usd=self.random.uniform(0, 0.01),
            switching_usd=0.0004,
            scaling=scaling,
        )

    def _flavor(self, flavor: str) -> FlavorEstimate:
        speed = SPEEDS[flavor] * self.random.gauss(1, 0.02)
        return FlavorEstimate(
            flavor,
            PRICES[flavor],
            speed,
            speed * 0.97,
            speed * 1.03,
            self.tokens_per_step / 6 / speed,
            PRICES[flavor] / 3600 / speed * 1e6,
            observations=int(self.step),
        )

    def _estimate(self, fleet: Fleet) -> FleetEstimate:
        step_s = self.step_s(fleet) * self.random.gauss(1, 0.01)
        usd = fleet.usd_per_hour(PRICES) + HEAD_USD_PER_HOUR
        left = (self.total_steps - self.step) * step_s
        return FleetEstimate(
            fleet,
            step_s,
            self.tokens_per_step / step_s,
            usd,
            usd / 3600 * step_s / self.tokens_per_step * 1e6,
            left,
            left * usd / 3600,
        )

    def _facts(self) -> list[Fact]:
        speed = sum(count * SPEEDS[flavor] for flavor, count in self.fleet.present.items())
        loss, step_s = self.loss(), self.step_s(self.fleet) * self.random.gauss(1, 0.02)
        facts = []
        for rank, (name, flavor) in enumerate(self._nodes()):
            share = SPEEDS[flavor] / speed
            facts.append(
                Fact(
                    name,
                    flavor,
                    rank,
                    self.fleet.size,
                    TrainingState.TRAINING,
                    int(self.step),
                    step_s,
                    self.tokens_per_step / speed * self.random.gauss(1, 0.06),
                    64.0,
                    self.tokens_per_step * share,
                    50,
                    self.now,
                    812_646_400,
                    None,
                    self.total_steps,
                    int(self.step * self.tokens_per_step),
                    loss,
                    share,
                    last_change=self.change,
                )
            )
        return facts

    def _nodes(self) -> list[tuple[str, str]]:
        return [(f"i-{flavor}-{i:04}", flavor) for flavor, count in self.fleet.present.items() for i in range(count)]

    def _membership(self, before: int, after: int, pause_s: float) -> None:
        self.change = MembershipChange(self.now, before, after, pause_s, 0)

    def _phase(self, move: Move, phase: MovePhase, note: str, seconds: float) -> Move:
        move = replace(move, phase=phase)
        self.journal.save_move(move)
        self.journal.add_event(self.now, phase.value, note, move.move_id)
        self.now += seconds
        return move

    def _ended(self, move: Move, phase: MovePhase, reason: str | None) -> Move:
        move = replace(move, phase=phase, outcome_reason=None if reason is None else Said(reason), ended_at=self.now)
        self.journal.save_move(move)
        self.journal.add_event(self.now, phase.value, reason or f"the fleet is {move.target}", move.move_id)
        return move

    def _usd_per_hour(self) -> float:
        return self.fleet.usd_per_hour(PRICES) + HEAD_USD_PER_HOUR

    def _keep_results(self) -> None:
        results = self.journal.directory / "results"
        results.mkdir()
        scores: dict[str, Any] = {
            "steps": int(self.step),
            "tokens": int(self.step * self.tokens_per_step),
            "final_loss": 1.92,
            "bleu": 31.4,
            "exact_match": 0.5,
            "signature": "s",
            "steps_lost": 0,
            "restarts": 0,
            "replicas_identical": True,
        }
        (results / "scores.json").write_text(json.dumps(scores))


def moved_run(runs: Path) -> Journal:
    """A run like the README's: six flavors, one move rolled back, one done, finished."""
    run = SyntheticRun(runs)
    run.boot()
    run.train(12, Verdict.STAY, "too little is measured yet")
    run.move(Fleet({"c5.large": 6}), failure="EC2 could not launch c5.large: insufficient capacity")
    run.train(10, Verdict.REFUSE, "c5.large is unavailable until 09:31")
    run.move(Fleet({"c5.large": 6}))
    run.train(90)
    return run.end()


def moveless_run(runs: Path) -> Journal:
    """A run that stayed on its first fleet."""
    run = SyntheticRun(runs, initial=Fleet({"c5.large": 3}))
    run.boot()
    run.train(60)
    return run.end()


def failed_run(runs: Path) -> Journal:
    """A training that died."""
    run = SyntheticRun(runs)
    run.boot()
    run.train(5)
    return run.end("failed", "the loss became nan at step 41: lower optimizer.learning_rate", scores=False)


def stopped_run(runs: Path) -> Journal:
    """A training that hung once, and was stopped because its budget was used up."""
    run = SyntheticRun(runs)
    run.boot()
    run.train(20)
    hangs = RankHangs("i-c5.large-0000", "c5.large", 610.0, 600.0)
    run.journal.add_remedy(Remedy(RemedyKind.DROP_RANK, run.now, hangs, "i-c5.large-0000"))
    run.journal.add_remedy(Remedy(RemedyKind.RESTART_LAUNCHER, run.now, LauncherDied(70.0)))
    run.train(5)
    run.journal.end("budget_reached", BudgetReached(0.05, 0.0489, 0.0021), run.now)
    run.journal.set_stage(Stage.ENDED)
    return run.journal


def interrupted_run(runs: Path) -> Journal:
    """A fleet that was destroyed before its first step."""
    run = SyntheticRun(runs)
    run.boot()
    return run.end("interrupted", "the environment was destroyed", scores=False)


def running_run(runs: Path) -> Journal:
    """A run in the middle of a move."""
    run = SyntheticRun(runs)
    run.boot()
    run.train(20)
    run.move(Fleet({"c5.large": 6}), until=MovePhase.GROWING)
    return run.journal
