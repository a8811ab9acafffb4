"""A simulation of one policy in one scenario: the controller's loop around the real decision function."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from controller.decide import DecideSettings, DecisionInput, decide
from controller.decide.model.fleet_model import FleetModel
from controller.domain import SECONDS_PER_HOUR, Decision, EarlierSpeed, Fleet, History, Move, MovePhase, Verdict
from controller.simulate.disturbances import Disturbances
from controller.simulate.moves import Moves
from controller.simulate.passes import Passes
from controller.simulate.policies import SIMULATED_POLICIES
from controller.simulate.scenario import Scenario
from controller.simulate.told import ORACLE, limits_for, settings_for, truth_of
from controller.simulate.view import View
from controller.simulate.world import Moment, World

MAX_DAYS = 120


@dataclass(frozen=True)
class Outcome:
    """The outcome of one policy in one scenario."""

    scenario: str
    policy: str
    finished: bool
    cost_usd: float
    time_s: float
    deadline_met: bool | None
    budget_met: bool | None
    probe_usd: float
    """The cost of probing: idle nodes, pauses, and steps that cost more than without the probes."""
    moves: int
    rolled_back: int
    flip_flops: int
    moments: tuple[Moment, ...]
    decisions: tuple[Decision, ...]


def simulate(
    scenario: Scenario,
    policy: str,
    settings: DecideSettings | None = None,
    known_tokens_per_s: Mapping[str, float] | None = None,
) -> Outcome:
    """Runs a scenario under a policy to the end of its training, or for `MAX_DAYS` at most.

    Args:
        scenario: The scenario.
        policy: The name of the policy.
        settings: The settings of deciding; None: what the scenario tells the policy.
        known_tokens_per_s: By flavor the speeds that earlier runs have measured.
    """
    settings = settings or settings_for(scenario, policy)
    earlier = {flavor: EarlierSpeed(speed) for flavor, speed in (known_tokens_per_s or {}).items()}
    world, limits = World(scenario), limits_for(scenario)
    Disturbances(world).begin()
    moves, view = Moves(world), View(world)
    observations, decisions = [], []
    plain: dict[int, Fleet] = {}
    passes = Passes(world, moves, settings.cooldown_s)
    while not world.is_finished and world.now < MAX_DAYS * 24 * SECONDS_PER_HOUR:
        world.has_changed = False
        observations.append(view.look_after(passes.interval_s))
        passes.looked()
        if moves.is_under_way:
            continue
        if settings.truth is not None:
            settings = replace(settings, truth=truth_of(world))
        prices = view.prices(is_told=policy == ORACLE)
        history = _history(world, moves, earlier)
        given = DecisionInput(tuple(observations), prices, limits, view.progress(), history, settings)
        decision = decide(given, SIMULATED_POLICIES)
        decisions.append(decision)
        if decision.verdict is Verdict.MOVE:
            if decision.is_probe:
                unprobed = replace(given, settings=replace(settings, probe_share=0.0))
                plain[len(moves.history)] = _without_probes(decision, decide(unprobed, SIMULATED_POLICIES))
            moves.begin(decision.target, decision.reason, decision.is_probe, decision.bad_nodes)
            passes.moved()
    probe_usd = _probe_usd(scenario, world, moves.history, plain, decisions)
    return _outcome(scenario, policy, world, moves.history, tuple(decisions), probe_usd, settings.cooldown_s)


def _history(world: World, moves: Moves, earlier: Mapping[str, EarlierSpeed]) -> History:
    """Returns what a controller remembers of its run, and the speeds by earlier ones."""
    return History(
        tuple(moves.history),
        world.spent_usd,
        dict(moves.unavailable),
        earlier_speeds=earlier,
        durations=dict(moves.durations),
        noticed=tuple(world.taken_back),
    )


def _without_probes(decision: Decision, plain: Decision) -> Fleet:
    """Returns the fleet that would run instead of a probe: the present one for a policy that only probes."""
    return decision.current if plain.is_probe else plain.target


def _outcome(
    scenario: Scenario,
    policy: str,
    world: World,
    moves: Sequence[Move],
    decisions: tuple[Decision, ...],
    probe_usd: float,
    cooldown_s: float,
) -> Outcome:
    """Returns the figures of a run that has ended."""
    deadline, budget = scenario.deadline_s, scenario.budget_usd
    return Outcome(
        scenario=scenario.name,
        policy=policy,
        finished=world.is_finished,
        cost_usd=world.spent_usd if world.is_finished else math.inf,
        time_s=world.now if world.is_finished else math.inf,
        deadline_met=None if deadline is None else world.is_finished and world.now <= deadline,
        budget_met=None if budget is None else world.is_finished and world.spent_usd <= budget,
        probe_usd=probe_usd,
        moves=sum(move.phase is MovePhase.DONE for move in moves),
        rolled_back=sum(move.phase is MovePhase.ROLLED_BACK for move in moves),
        flip_flops=flip_flops(moves, cooldown_s),
        moments=tuple(world.moments),
        decisions=decisions,
    )


def flip_flops(moves: Sequence[Move], cooldown_s: float) -> int:
    """Returns how many moves undo the one before within the cool-down after it."""
    done = [move for move in moves if move.phase is MovePhase.DONE]
    return sum(
        later.target == earlier.source and later.at < earlier.changed_at + cooldown_s
        for earlier, later in pairwise(done)
    )


def _probe_usd(
    scenario: Scenario,
    world: World,
    moves: Sequence[Move],
    plain: Mapping[int, Fleet],
    decisions: Sequence[Decision],
) -> float:
    """Returns what the probes cost beyond the `plain` fleets that would have run instead, by the real speeds.

    A probe lasts until the next move has ended, or until its fleet is found to be the best as it is.
    """
    model = FleetModel(
        {flavor.name: flavor.sustained_tokens_per_s for flavor in scenario.flavors},
        world.usd_per_hour,
        scenario.tokens_per_step,
        scenario.communication.seconds,
        scenario.head_usd_per_hour,
    )
    total = 0.0
    for index, without in plain.items():
        move = moves[index]
        ended_at = world.now if move.ended_at is None else move.ended_at
        total += move.target.beyond(without).usd_per_hour(world.usd_per_hour) * (ended_at - move.at) / SECONDS_PER_HOUR
        if move.phase is not MovePhase.DONE:
            continue
        pauses = 2 if without == move.source else 1
        total += pauses * scenario.pause_s * model.fleet_usd_per_hour(move.target) / SECONDS_PER_HOUR
        following = moves[index + 1] if index + 1 < len(moves) else None
        settled = (d.at for d in decisions if d.at > ended_at and d.verdict is Verdict.STAY and d.fleets)
        until = min(next(settled, world.now), following.changed_at if following else world.now)
        steps = (until - ended_at) / model.step_time_s(move.target)
        extra_usd = model.usd_per_token(move.target) - model.usd_per_token(without)
        total += max(0.0, extra_usd * steps * scenario.tokens_per_step)
    return total
