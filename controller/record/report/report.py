"""The run report, `report.json`: what was measured, what was moved and why, what it cost and saved.

`report.schema.json` describes the fields. `usd_per_million_tokens` of a fleet is measured: its workers' price an hour,
times the median time of a step, over the target tokens of that step. It leaves the head out, which costs the same
beside every fleet; `spent_usd` includes the head.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from controller.domain import FlavorEstimate, Fleet, MembershipChange, Move, MovePhase
from controller.domain.errors import DiskError
from controller.domain.health import Remedy
from controller.domain.reasons.flavors import MemoryTooSmall
from controller.domain.times import iso, parse_time
from controller.edges.files import write_whole
from controller.observe.changes import distinct_changes
from controller.record.journal import Journal
from controller.record.journal.codec import flavor_from_plain
from controller.record.journal.reasons import described_reason
from controller.record.journal.summary import Summary
from controller.record.paid import paid_until
from controller.record.report.alternatives import alternatives
from controller.record.report.bill import bill
from controller.words.reasons import reason_in_words

FILE_NAME = "report.json"
SCORES = Path("results") / "scores.json"
JOIN_SLACK_S = 2.0
"""A change of members may be dated so long after its move, because clocks differ."""


def write_report(journal: Journal, usd_per_hour: Mapping[str, float], now: float) -> dict[str, Any]:
    """Makes the report of a run, writes it into the run's folder, and returns it.

    Where the disk has no room a person is told: the report can be made again from the journal at any time.
    """
    report = make_report(journal, usd_per_hour, now)
    try:
        write_whole(journal.directory / FILE_NAME, json.dumps(report, indent=2) + "\n")
    except DiskError as error:
        journal.tell(f"the report was not kept: {error.what} `centavo report` makes it again.")
    return report


def make_report(journal: Journal, usd_per_hour: Mapping[str, float], now: float) -> dict[str, Any]:
    """Returns the report as plain data. What is not known is null."""
    info, summaries = journal.info(), tuple(summary for _, summary in journal.summaries())
    scores = read_scores(journal.directory)
    final = _final_fleet(info.initial, journal.moves())
    estimates, changes = _last_estimates(journal), _changes(scores, summaries)
    training = _training(scores, summaries)
    return {
        "run": info.run,
        "environment": info.environment,
        "policy": info.policy,
        "limits": {"deadline_at": _time(info.constraints.deadline_at), "budget_usd": info.constraints.budget_usd},
        "status": journal.status(),
        **described_reason(journal.status_reason(), "status_reason", "status"),
        "started_at": iso(info.started_at),
        "ended_at": _time(journal.ended_at()),
        "fleet": {"initial": info.initial.present, "final": final.present},
        "flavors": {flavor: _flavor(estimate, usd_per_hour) for flavor, estimate in sorted(estimates.items())},
        "moves": [_move(move, changes) for move in journal.moves()],
        "remedies": [_remedy(remedy) for remedy in journal.remedies()],
        "spot": _spot(journal),
        "training": training,
        "cost": _cost(journal, info.initial, final, summaries, usd_per_hour, now),
        "alternatives": alternatives(
            summaries,
            info.initial,
            usd_per_hour,
            {flavor: e.tokens_per_s for flavor, e in estimates.items() if e.tokens_per_s},
            journal.ended_at(),
            training["tokens"],
        ),
    }


def _time(at: float | None) -> str | None:
    return None if at is None else iso(at)


def read_scores(run_directory: Path) -> dict[str, Any]:
    """Returns the scores that the trainer wrote at its end; empty if there are no results."""
    try:
        scores = json.loads((run_directory / SCORES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return scores if isinstance(scores, dict) else {}


def usd_per_million_tokens(
    fleet: Fleet, summaries: Iterable[Summary], usd_per_hour: Mapping[str, float]
) -> float | None:
    """Returns the measured cost of a fleet: the median over the observations in which exactly this fleet trained."""
    if any(flavor not in usd_per_hour for flavor in fleet.present):
        return None
    price = fleet.usd_per_hour(usd_per_hour)
    costs = [
        cost
        for summary in summaries
        if summary.fleet == fleet and (cost := summary.usd_per_million_tokens(price)) is not None
    ]
    return median(costs) if costs else None


def _final_fleet(initial: Fleet, moves: Iterable[Move]) -> Fleet:
    """Returns the fleet that the training ended on: the target of the last move that was done."""
    done = [move.target for move in moves if move.phase is MovePhase.DONE]
    return done[-1] if done else initial


def _last_estimates(journal: Journal) -> dict[str, FlavorEstimate]:
    """Returns of each flavor the last estimate in which its speed was measured, else the last estimate."""
    last: dict[str, FlavorEstimate] = {}
    for decision in journal.plain_decisions():
        for estimate in map(flavor_from_plain, decision["flavors"]):
            before = last.get(estimate.flavor)
            if before is None or before.tokens_per_s is None or estimate.tokens_per_s is not None:
                last[estimate.flavor] = estimate
    return last


def _flavor(estimate: FlavorEstimate, usd_per_hour: Mapping[str, float]) -> dict[str, Any]:
    return {
        "usd_per_hour": estimate.usd_per_hour or usd_per_hour.get(estimate.flavor),
        "compute_time_s": estimate.compute_time_s,
        "tokens_per_s": estimate.tokens_per_s,
        "tokens_per_s_low": estimate.tokens_per_s_low,
        "tokens_per_s_high": estimate.tokens_per_s_high,
        "usd_per_million_tokens": estimate.usd_per_million_tokens,
        "observations": estimate.observations,
        "too_small": next((reason_in_words(note) for note in estimate.notes if isinstance(note, MemoryTooSmall)), None),
    }


def _changes(scores: Mapping[str, Any], summaries: tuple[Summary, ...]) -> list[tuple[float, float, int]]:
    """Returns every join and leave as (time, pause in s, steps lost): of the trainer's list, else of the facts."""
    listed = scores.get("changes")
    if isinstance(listed, list):
        return [(parse_time(c["at"]), float(c["pause_s"]), int(c["steps_lost"])) for c in listed]
    told = {MembershipChange(*change) for summary in summaries for change in summary.changes}
    return [(c.at, c.pause_s, c.steps_lost) for c in distinct_changes(told)]


def _move(move: Move, changes: list[tuple[float, float, int]]) -> dict[str, Any]:
    until = move.ended_at + JOIN_SLACK_S if move.ended_at is not None else float("inf")
    own = [change for change in changes if move.at <= change[0] <= until]
    return {
        "at": iso(move.at),
        "from": move.source.present,
        "to": move.target.present,
        "left_out": move.left_out.present,
        **described_reason(move.reason),
        "outcome": move.phase.value,
        **described_reason(move.outcome_reason, "outcome_reason", "outcome"),
        "took_s": None if move.ended_at is None else round(move.ended_at - move.at, 1),
        "pause_s": round(sum(pause_s for _, pause_s, _ in own), 3) if own else move.pause_s,
        "steps_lost": sum(lost for _, _, lost in own) if own else move.steps_lost,
    }


def _remedy(remedy: Remedy) -> dict[str, Any]:
    return {
        "at": iso(remedy.at),
        "remedy": remedy.kind.value,
        "node": remedy.node,
        **described_reason(remedy.reason),
    }


def _spot(journal: Journal) -> dict[str, Any]:
    """Returns what the spot market did to the run."""
    return {
        "notices": [
            {
                "at": iso(one.at),
                "node": one.instance_id,
                "flavor": one.flavor,
                "zone": one.zone,
                "kind": one.kind.value,
                "ends_at": _time(one.ends_at),
            }
            for one in journal.noticed()
        ],
        "waited_s": journal.waited_s(),
        **described_reason(journal.waiting(), "waiting", "waiting"),
    }


def _training(scores: Mapping[str, Any], summaries: tuple[Summary, ...]) -> dict[str, Any]:
    """Returns the trainer's scores; before there are any, what the last facts say."""
    keys = (
        "steps",
        "tokens",
        "final_loss",
        "bleu",
        "exact_match",
        "steps_lost",
        "restarts",
        "replicas_identical",
        "signature",
    )
    training: dict[str, Any] = {key: scores.get(key) for key in keys}
    furthest = max(summaries, key=lambda summary: summary.step or 0, default=None)
    if not scores and furthest is not None and furthest.step is not None:
        training |= {"steps": furthest.step, "tokens": furthest.total_tokens, "final_loss": furthest.loss}
    return training


def _cost(
    journal: Journal,
    initial: Fleet,
    final: Fleet,
    summaries: tuple[Summary, ...],
    usd_per_hour: Mapping[str, float],
    now: float,
) -> dict[str, Any]:
    before = usd_per_million_tokens(initial, summaries, usd_per_hour)
    after = usd_per_million_tokens(final, summaries, usd_per_hour)
    saved = None if not before or after is None else 100 * (1 - after / before)
    until = paid_until(journal, now)
    lines = bill(summaries, journal.unseen_usd(), until)
    return {
        "spent_usd": round(journal.spent_usd(until), 6),
        "bill": {line: round(usd, 6) for line, usd in lines.items()},
        "usd_per_million_tokens": {"initial": before, "final": after},
        "saved_percent": None if saved is None else round(saved, 1),
    }
