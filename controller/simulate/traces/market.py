"""The live controller's decisions in a spot market that plays a trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from controller.decide.deadlines.situation import Job
from controller.domain import Fleet
from controller.simulate.run import Outcome, simulate
from controller.simulate.scenario import Scenario, SimulatedFlavor
from controller.simulate.told import settings_for
from controller.simulate.traces.trace import Flags
from controller.simulate.troubles import Outage, Troubles

ON_DEMAND = "on-demand"
TOKENS_PER_S, TOKENS_PER_STEP = 100.0, 1000.0
CONFIGURE_SHARE = 0.5
"""The part of a change-over in which a node is configured. The rest is its boot."""
LOOK_S = 120.0


def played_live(job: Job, available: Flags) -> Outcome:
    """Plays a job on one node as the live controller decides, and returns what came of it.

    As in a real run, new nodes are there before the old ones go, so that a change-over costs no time where EC2 has
    not taken the node back. Speeds are known from an earlier run and are what they were, so that nothing has to be to
    spare (a confidence of one half).

    Args:
        job: The job.
        available: What the pools have, (steps, pools).
    """
    scenario = scenario_of(job, available)
    settings = replace(
        settings_for(scenario, "cheapest-fleet"),
        look_s=LOOK_S,
        attempt_s=job.change_over_s + LOOK_S,
        cooldown_s=0.0,
        probe_share=0.0,
        confidence=0.5,
    )
    known = {flavor.name: flavor.tokens_per_s for flavor in scenario.flavors}
    return simulate(scenario, "cheapest-fleet", settings, known)


def scenario_of(job: Job, available: Flags) -> Scenario:
    """Returns the training of a job: one node, on demand or from a pool. It begins in a pool that has capacity."""
    pools = tuple(
        SimulatedFlavor(pool_name(pool), usd, TOKENS_PER_S, spot=True, max_nodes=1)
        for pool, usd in enumerate(job.spot_usd_per_hour)
    )
    first = next((pool.name for pool, is_up in zip(pools, available[0], strict=True) if is_up), ON_DEMAND)
    configure_s = job.change_over_s * CONFIGURE_SHARE
    return Scenario(
        name="spot trace",
        seed=1,
        flavors=(SimulatedFlavor(ON_DEMAND, job.on_demand_usd_per_hour, TOKENS_PER_S, max_nodes=1), *pools),
        initial=Fleet({first: 1}),
        total_steps=round(job.work_s * TOKENS_PER_S / TOKENS_PER_STEP),
        tokens_per_step=TOKENS_PER_STEP,
        head_usd_per_hour=job.idle_usd_per_hour,
        max_nodes=1,
        deadline_s=job.time_s,
        step_cv=0.02,
        heavy_tail_share=0.0,
        node_cv=0.0,
        bad_node_share=0.0,
        boot_s=job.change_over_s - configure_s,
        boot_sigma=0.0,
        boot_timeout_s=2 * job.change_over_s,
        configure_s=configure_s,
        pause_s=0.0,
        drain_s=0.0,
        no_capacity_after_s=LOOK_S,
        troubles=Troubles(outages=tuple(_outages(job, available))),
        interval_s=LOOK_S,
        longest_interval_s=LOOK_S,
    )


def pool_name(pool: int) -> str:
    """Returns the flavor that stands for a pool."""
    return f"spot-{pool}"


def _outages(job: Job, available: Flags) -> Iterator[Outage]:
    """Yields the times without capacity, in each pool."""
    for pool in range(available.shape[1]):
        for is_up, steps in groupby(range(len(available)), lambda step, pool=pool: bool(available[step, pool])):  # type: ignore[misc]
            if not is_up:
                gone = [*steps]
                yield Outage(gone[0] * job.step_s, pool_name(pool), 1.0, len(gone) * job.step_s)
