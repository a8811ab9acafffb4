"""The controller in a small world: every part real but the four edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from controller.cluster import LiveCluster
from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.decide import DecisionInput, decide
from controller.domain import Decision, Fleet, Price
from controller.domain.reasons import Reason
from controller.loop import Optimizer
from controller.loop.decide_settings import decide_settings
from controller.record.journal import Journal
from controller.record.journal.runs import start_run, unfinished_run
from controller.record.live.reporter import PlainReporter, Reporter
from tests.unit.controller.supplying import NoBuilder, WorldStore
from tests.unit.controller.world import World, WorldAnsible, WorldAws, WorldClock, WorldTerraform

PRICES = {"t2.medium": 0.0464, "c5.large": 0.085, "c5.xlarge": 0.17, "t3.small": 0.0208}
SPEEDS = {"t2.medium": 300.0, "c5.large": 900.0, "c5.xlarge": 1000.0}
SETTINGS: dict[str, Any] = {
    "cluster": "test",
    "aws": {"region": "us-east-1"},
    "ssh": {"user": "u", "identity_file": "key"},
    "fleet": {"initial": {"t2.medium": 1, "c5.large": 1, "c5.xlarge": 1}},
    "limits": {"min_nodes": 3, "max_nodes": 3},
    "controller": {
        "interval_s": 5,
        "poll_s": 2,
        "minimum_window": 10,
        "fact_max_age_s": 30,
        "unavailable_s": 100,
        "health": {"silent_s": 40},
        "timeouts": {"boot_s": 30, "configure_s": 30, "join_s": 20, "drain_s": 20},
        "decide": {
            "minimum_steps": 10,
            "saving_margin": 0.0,
            "switching_margin": 0.0,
            "end_guard_share": 0.0,
            "switching": {"boot_s": 1, "configure_s": 1, "pause_s": 1, "drain_s": 1},
        },
    },
    "nodes": {"network_interface": "lo", "root": "~/c", "python": "python3", "fact_path": "~/f"},
    "training": {"config": "training.yml"},
}


class Controller:
    """One controller process in a world: made anew, it knows only what the journal and the files say."""

    def __init__(
        self,
        world: World,
        root: Path,
        decider: Callable[..., Decision] | None = None,
        settings: Mapping[str, Any] = SETTINGS,
        reporter: Reporter | None = None,
        asked: Callable[[], Reason | None] = lambda: None,
        nat_bytes_of: Callable[[Sequence[str]], float] = lambda gateway_ids: 0.0,
    ) -> None:
        self.world, self.root = world, root
        self.environment = Environment("test", root, parse_settings(settings, root / "centavo.yml"))
        self.environment.directory.mkdir(parents=True, exist_ok=True)
        (root / "training.yml").write_text("model: { preset: tiny }\nbatch: { tokens: 600 }\n")
        self.clock = WorldClock(world)
        self.prices = {flavor: Price(flavor, usd) for flavor, usd in PRICES.items()}
        self.journal: Journal = unfinished_run(root / "runs", "test") or start_run(
            root / "runs",
            environment="test",
            policy="cheapest-fleet",
            initial=self.environment.initial_fleet,
            now=world.now,
        )
        self.terraform = WorldTerraform(world, self.environment.capacity_file)
        self.ansible = WorldAnsible(world)
        self.cluster = LiveCluster(
            self.environment,
            lambda outputs: self.prices,
            self.journal,
            self.clock,
            terraform=self.terraform,
            ansible=self.ansible,
            aws=WorldAws(world),
            store=WorldStore(),
            builder=NoBuilder(),
            nat_bytes_of=nat_bytes_of,
        )
        self.decide = decider or self._decider()
        self.optimizer = Optimizer(
            self.environment,
            self.cluster,
            self.journal,
            self.clock,
            reporter or PlainReporter(),
            lambda given: self.decide(given),
            self.bring_up,
            asked=asked,
        )

    def bring_up(self) -> None:
        fleet: Fleet = self.cluster.capacity.read()
        if fleet.size == 0:
            self.cluster.capacity.write(self.environment.initial_fleet)
        plan = self.terraform.plan(self.root / "apply.tfplan")
        if plan.has_changes:
            self.terraform.apply(plan.file)
        self.cluster.made.forget()

    def _decider(self) -> Callable[..., Decision]:
        settings = partial(decide_settings, self.environment, "cheapest-fleet", {}, 0.0)

        def decider(given: DecisionInput) -> Decision:
            usable = {flavor: price for flavor, price in given.prices.items() if flavor in SPEEDS}
            return decide(replace(given, prices=usable, settings=settings()))

        return decider


def new_world(**options: Any) -> World:
    """Three flavors, of which c5.large costs the least per token."""
    head_usd_per_hour = PRICES["t3.small"]
    return World(flavors=tuple(SPEEDS), speeds=SPEEDS, prices=PRICES, head_usd_per_hour=head_usd_per_hour, **options)
