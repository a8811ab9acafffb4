"""The run report, `report.json`: what was measured, what was moved and why, what it cost and saved.

`usd_per_million_tokens` of a fleet is measured: its workers' price an hour, times the median time of a step, over the
target tokens of that step. It leaves the head out, which is the same whatever the fleet; `spent_usd` has it in.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from controller.domain import SECONDS_PER_HOUR, FlavorEstimate, Fleet, Move, MovePhase, Observation, TrainingState
from controller.observe.changes import membership_changes
from controller.observe.facts import parse_time
from controller.record.alternatives import alternatives
from controller.record.journal import Journal

FILE_NAME = "report.json"
SCORES = Path("results") / "scores.json"
MICRO = 1e6
JOIN_SLACK_S = 2.0
"""A change may be noted this long after its move, for clocks differ."""


def write_report(journal: Journal, usd_per_hour: Mapping[str, float], now: float) -> dict[str, Any]:
    """Makes the report of a run from its journal and results, and writes it into the run's folder."""
    report = make_report(journal, usd_per_hour, now)
    path = journal.directory / FILE_NAME
    part = path.with_suffix(".json.new")
    part.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    os.replace(part, path)
    return report


def make_report(journal: Journal, usd_per_hour: Mapping[str, float], now: float) -> dict[str, Any]:
    """The report as plain data. What is not known is null."""
    info, observations = journal.info(), journal.observations()
    scores = read_scores(journal.directory)
    final = _final_fleet(info.initial, journal.moves())
    estimates = _last_estimates(journal)
    return {
        "run": info.run, "environment": info.environment, "policy": info.policy, "status": journal.status(),
        "status_reason": journal.status_reason(), "started_at": iso(info.started_at),
        "ended_at": None if journal.ended_at() is None else iso(journal.ended_at() or 0.0),
        "fleet": {"initial": info.initial.present, "final": final.present},
        "flavors": {flavor: _flavor(estimate, usd_per_hour) for flavor, estimate in sorted(estimates.items())},
        "moves": [_move(move, _changes(scores, observations)) for move in journal.moves()],
        "training": _training(scores, observations),
        "cost": _cost(journal, info.initial, final, observations, usd_per_hour, now),
        "alternatives": alternatives(
            tuple(summary for _, summary in journal.summaries()), info.initial, usd_per_hour,
            {flavor: e.tokens_per_s for flavor, e in estimates.items() if e.tokens_per_s}, journal.ended_at()),
    }


def read_scores(run_directory: Path) -> dict[str, Any]:
    """What the trainer found at its end; empty where there are no results."""
    try:
        scores = json.loads((run_directory / SCORES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return scores if isinstance(scores, dict) else {}


def iso(at: float) -> str:
    """A time as ISO 8601 in UTC."""
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def usd_per_million_tokens(
    fleet: Fleet, observations: Iterable[Observation], usd_per_hour: Mapping[str, float],
) -> float | None:
    """The measured cost per token of a fleet: the median over the observations in which exactly it trained."""
    costs = [cost for observation in observations
             if observation.fleet == fleet and (cost := _cost_per_token(observation, usd_per_hour)) is not None]
    return median(costs) * MICRO if costs else None


def _cost_per_token(observation: Observation, usd_per_hour: Mapping[str, float]) -> float | None:
    """US dollars per target token as observed; None unless every node of the fleet trains in one world."""
    facts = [fact for fact in observation.facts if fact.state is TrainingState.TRAINING]
    if len(facts) != observation.fleet.size or {fact.world_size for fact in facts} != {observation.fleet.size}:
        return None
    times = [fact.iteration_time_s for fact in facts if fact.iteration_time_s is not None and fact.window > 0]
    tokens = [fact.tokens for fact in facts if fact.tokens is not None]
    if len(times) != len(facts) or len(tokens) != len(facts) or not sum(tokens):
        return None
    price = observation.fleet.usd_per_hour(usd_per_hour)
    return price * median(times) / SECONDS_PER_HOUR / sum(tokens)


def _final_fleet(initial: Fleet, moves: Iterable[Move]) -> Fleet:
    """The fleet that the training ended on: that of the last move which was done."""
    done = [move.target for move in moves if move.phase is MovePhase.DONE]
    return done[-1] if done else initial


def _last_estimates(journal: Journal) -> dict[str, FlavorEstimate]:
    """Of each flavor the last estimate in which its speed was measured, else the last one."""
    last: dict[str, FlavorEstimate] = {}
    for decision in journal.decisions():
        for estimate in decision.flavors:
            before = last.get(estimate.flavor)
            if before is None or before.tokens_per_s is None or estimate.tokens_per_s is not None:
                last[estimate.flavor] = estimate
    return last


def _flavor(estimate: FlavorEstimate, usd_per_hour: Mapping[str, float]) -> dict[str, Any]:
    return {
        "usd_per_hour": estimate.usd_per_hour or usd_per_hour.get(estimate.flavor),
        "compute_time_s": estimate.compute_time_s, "tokens_per_s": estimate.tokens_per_s,
        "tokens_per_s_low": estimate.tokens_per_s_low, "tokens_per_s_high": estimate.tokens_per_s_high,
        "usd_per_million_tokens": estimate.usd_per_million_tokens, "observations": estimate.observations,
    }


def _changes(scores: Mapping[str, Any], observations: tuple[Observation, ...]) -> list[tuple[float, float, int]]:
    """Every join and leave as (time, pause in s, steps lost): the trainer's own list, else what the facts told."""
    listed = scores.get("changes")
    if isinstance(listed, list):
        return [(parse_time(c["at"]), float(c["pause_s"]), int(c["steps_lost"])) for c in listed]
    return [(c.at, c.pause_s, c.steps_lost) for c in membership_changes(observations, 0.0)]


def _move(move: Move, changes: list[tuple[float, float, int]]) -> dict[str, Any]:
    until = move.ended_at + JOIN_SLACK_S if move.ended_at is not None else float("inf")
    own = [change for change in changes if move.at <= change[0] <= until]
    return {
        "at": iso(move.at), "from": move.source.present, "to": move.target.present, "reason": move.reason,
        "outcome": move.phase.value, "outcome_reason": move.outcome_reason,
        "took_s": None if move.ended_at is None else round(move.ended_at - move.at, 1),
        "pause_s": round(sum(pause_s for _, pause_s, _ in own), 3) if own else move.pause_s,
        "steps_lost": sum(lost for _, _, lost in own) if own else move.steps_lost,
    }


def _training(scores: Mapping[str, Any], observations: tuple[Observation, ...]) -> dict[str, Any]:
    """The trainer's own scores; before there are any, what the last facts say."""
    keys = ("steps", "tokens", "final_loss", "bleu", "exact_match", "steps_lost", "restarts", "replicas_identical",
            "signature")
    training: dict[str, Any] = {key: scores.get(key) for key in keys}
    facts = [fact for observation in observations for fact in observation.facts]
    if not scores and facts:
        furthest = max(facts, key=lambda fact: fact.step)
        training |= {"steps": furthest.step, "tokens": furthest.total_tokens, "final_loss": furthest.loss}
    return training


def _cost(journal: Journal, initial: Fleet, final: Fleet, observations: tuple[Observation, ...],
          usd_per_hour: Mapping[str, float], now: float) -> dict[str, Any]:
    before = usd_per_million_tokens(initial, observations, usd_per_hour)
    after = usd_per_million_tokens(final, observations, usd_per_hour)
    saved = None if not before or after is None else 100 * (1 - after / before)
    return {
        "spent_usd": round(journal.spent_usd(journal.ended_at() or now), 6),
        "usd_per_million_tokens": {"initial": before, "final": after},
        "saved_percent": None if saved is None else round(saved, 1),
    }
