"""A run with a deadline on spot nodes: it waits while on-demand still keeps the deadline, and no longer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controller.domain import Decision, MovePhase
from controller.domain.reasons.spot import NodesTakenBack, OnDemandForDeadline, WaitsForSpot
from controller.edges.terraform import Outputs
from controller.loop.decide_settings import make_decider
from controller.loop.spot import deadline
from controller.record.live.reporter import PlainReporter
from tests.unit.controller.harness import SETTINGS, Controller, new_world
from tests.unit.controller.world import KilledError, World
from tests.unit.controller.world.terraform import WorldTerraform

START = 1_800_000_000.0
SPOT, ON_DEMAND = "c5.large", "c5.xlarge"
STEPS = 4000
ON_DEMAND_S = STEPS * 600 / 3000
"""What all the work takes on three nodes on demand. On spot it takes 889 s."""


class Run:
    """A run with a deadline. Spot capacity ends, and comes back, at times after the start."""

    def __init__(self, root: Path, deadline_s: float, gone: tuple[tuple[float, float], ...] = (), **sections: Any):
        controller = SETTINGS["controller"]
        decide = {**controller["decide"], "hints_tokens_per_s": {ON_DEMAND: 1000.0}, "confidence": 0.8}
        self.settings = {
            **SETTINGS,
            "fleet": {"initial": {SPOT: 3}},
            "controller": {**controller, "decide": decide},
            "limits": {**SETTINGS["limits"], "deadline_at": START + deadline_s, "exclude": ["t2.medium"]},
            **sections,
        }
        self.world: World = new_world(total_steps=STEPS, on_spot=(SPOT,))
        self.notes: list[str] = []
        self.decisions: list[Decision] = []
        self.paid_usd: dict[float, float] = {}
        self.controller = Controller(self.world, root, None, self.settings, reporter=self._reporter())
        self.controller.decide = make_decider(self.controller.environment, self.controller.cluster, "cheapest-fleet")
        self.world.at_each_tick.append(self._market(gone))
        self.world.at_each_tick.append(lambda tick: self._watch(START + 3 * deadline_s))

    def _market(self, gone: tuple[tuple[float, float], ...]) -> Callable[[float], None]:
        was_gone = [False]

        def look(tick: float) -> None:
            passed_s = self.world.now - START
            is_gone = any(begin <= passed_s < end for begin, end in gone)
            if is_gone:
                self.world.capacity_limits[SPOT] = 0
            else:
                self.world.capacity_limits.pop(SPOT, None)
            if is_gone and not was_gone[0]:
                for node in [node for node in self.world.nodes if node.flavor == SPOT]:
                    self.world.interrupt(node)
            was_gone[0] = is_gone

        return look

    def _watch(self, latest: float) -> None:
        assert self.world.now < latest, self.notes[-12:]
        self.paid_usd[self.world.now] = self.world.usd_per_hour()

    def _reporter(self) -> PlainReporter:
        notes, decisions = self.notes, self.decisions

        class Reporter(PlainReporter):
            def note(self, at: float, message: str) -> None:
                notes.append(message)

            def decided(self, decision: Decision) -> None:
                decisions.append(decision)

        return Reporter()

    def to_the_end(self) -> float:
        """Runs to the end, and returns when that was, in seconds after the start."""
        report = self.controller.optimizer.run()
        assert not self.world.violations
        assert report["status"] == "finished"
        return self.world.now - START

    def reasons(self, kind: type[Any]) -> list[Decision]:
        return [decision for decision in self.decisions if isinstance(decision.reason, kind)]


def test_it_waits_for_spot_and_begins_on_demand_in_time(tmp_path: Path) -> None:
    run = Run(tmp_path, 3000.0, gone=((100.0, 1e6),))
    assert run.to_the_end() < 3000.0
    waited = run.reasons(WaitsForSpot)
    on_demand = next(move for move in run.controller.journal.moves() if move.target.count(ON_DEMAND))
    assert isinstance(on_demand.reason, NodesTakenBack) and isinstance(on_demand.reason.because, OnDemandForDeadline)
    assert waited and waited[0].at < on_demand.at < START + 3000.0 - ON_DEMAND_S * 0.9


@pytest.fixture(scope="module")
def waited(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that has ended, and waited for spot for ten minutes meanwhile."""
    run = Run(tmp_path_factory.mktemp("waited"), 3000.0, gone=((100.0, 700.0),))
    run.to_the_end()
    return run


def test_while_it_waits_only_the_head_is_paid_and_no_step_is_lost(waited: Run) -> None:
    head_only = [at for at, usd in waited.paid_usd.items() if usd == waited.world.head_usd_per_hour]
    assert len(head_only) > 200
    assert sum(steps for _, _, steps in waited.world.incidents) <= 1
    assert not waited.world.fleet().get(ON_DEMAND)
    assert all(not asked.get(ON_DEMAND) for asked in waited.world.capacities)


def test_it_says_until_when_it_waits(waited: Run) -> None:
    assert [note for note in waited.notes if "from 2027-01-15T08:" in note and "on, nodes are bought on demand" in note]


def test_it_leaves_spot_before_the_deadline_could_be_lost_with_it(tmp_path: Path) -> None:
    run = Run(tmp_path, 1000.0)
    assert run.to_the_end() < 1000.0
    closing, move = run.reasons(OnDemandForDeadline)[0], run.controller.journal.moves()[0]
    assert not closing.reason.could_wait  # type: ignore[attr-defined]
    assert move.target.count(ON_DEMAND) == 3 and move.phase is MovePhase.DONE
    assert move.reason == closing.reason


def test_without_a_deadline_nothing_is_bought_on_demand(tmp_path: Path) -> None:
    run = Run(tmp_path, 3000.0, gone=((100.0, 700.0),), limits=SETTINGS["limits"])
    run.to_the_end()
    assert not run.reasons(WaitsForSpot) and all(not asked.get(ON_DEMAND) for asked in run.world.capacities)


@pytest.mark.parametrize("deadline_s", [1100.0, 1600.0, 2600.0])
@pytest.mark.parametrize("gone_at", [60.0, 260.0])
def test_the_deadline_is_kept_however_spot_comes_and_goes(tmp_path: Path, deadline_s: float, gone_at: float) -> None:
    gone = tuple((gone_at * at, gone_at * at + 200.0) for at in range(1, 12, 2))
    assert Run(tmp_path, deadline_s, gone).to_the_end() < deadline_s


def test_a_controller_that_is_killed_while_it_waits_keeps_the_deadline(tmp_path: Path) -> None:
    run = Run(tmp_path, 2600.0, gone=((100.0, 1e6),))
    is_due = [True]

    def kill(tick: float) -> None:
        if is_due and run.world.now > START + 600.0:
            is_due.pop()
            raise KilledError("between two passes")

    run.world.at_each_tick.append(kill)
    with pytest.raises(KilledError):
        run.controller.optimizer.run()
    again = Controller(run.world, tmp_path, None, run.settings)
    again.decide = make_decider(again.environment, again.cluster, "cheapest-fleet")
    assert again.optimizer.run()["status"] == "finished"
    assert run.world.now < START + 2600.0 and not run.world.violations


def test_it_reckons_with_traffic_between_zones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zones: list[int] = []
    outputs = WorldTerraform.outputs

    def in_two_zones(terraform: WorldTerraform) -> Outputs | None:
        found = outputs(terraform)
        return None if found is None else replace(found, zones=2)

    monkeypatch.setattr(WorldTerraform, "outputs", in_two_zones)
    monkeypatch.setattr(deadline, "advice", lambda situation: zones.append(situation.settings.zones))
    Run(tmp_path, 3000.0, gone=((100.0, 700.0),)).to_the_end()
    assert zones and {*zones} == {2}
