"""`centavo status`: the fleet, the training and the costs at a glance."""

from __future__ import annotations

import argparse
import json
from typing import Any

from controller.commands.context import Context
from controller.commands.shared.chosen_run import Chosen, add_remote_option, choose
from controller.commands.shared.command import Command
from controller.domain import Fleet, Observation
from controller.domain.reasons.flavors import MemoryTooSmall
from controller.domain.times import iso
from controller.observe.progress import read_progress
from controller.owning.remote import Remote
from controller.owning.taking import Seen
from controller.record.journal import Journal, Stage
from controller.record.live.observation_line import describe
from controller.record.paid import paid_until
from controller.words.numbers import UNKNOWN
from controller.words.reasons import reason_in_words

ONLY_IF_SET = ("deadline_at", "budget_usd", "too_small", "waiting", "fired")
"""Fields that people are shown only if they have a value."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the form of the output, and where the run is looked for."""
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_remote_option(parser)


def status(context: Context, options: argparse.Namespace) -> int:
    """Prints the fleet, the training and the costs."""
    chosen = choose(context, None, remote=options.remote)
    document = _here(context, chosen.journal) if chosen.remote is None else _elsewhere(context, chosen, chosen.remote)
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        _print(document)
    return 0


def _here(context: Context, journal: Journal) -> dict[str, Any]:
    """Returns how this checkout's run stands: the nodes are looked at while it goes on."""
    is_up, is_over = context.terraform().outputs() is not None, journal.stage() is Stage.ENDED
    document = _run(context, journal, is_up, context.clock.now())
    if is_up and not is_over:
        document |= _seen(context, journal, context.cluster(journal).observer.look(), document["spent_usd"])
    return document


def _elsewhere(context: Context, chosen: Chosen, remote: Remote) -> dict[str, Any]:
    """Returns how the run stands that the cluster's bucket has. No node is asked, and no Terraform."""
    journal, seen, copy = chosen.journal, chosen.journal.recent(1), chosen.copy
    document = _run(context, journal, True, None)
    if seen and journal.stage() is not Stage.ENDED:
        document |= _seen(context, journal, seen[-1], document["spent_usd"])
    copied_s_ago = None if copy is None or copy.age_s is None else round(copy.age_s)
    return {**document, "copied_s_ago": copied_s_ago, **_lease(remote.lease())}


def _lease(seen: Seen | None) -> dict[str, Any]:
    """Returns who owns the cluster, in words."""
    if seen is None or seen.lease is None:
        return {"owner": None, "lease": seen.problem if seen else "nobody has had the cluster's lease", "fired": None}
    lease, age_s = seen.lease, round(seen.kept.age_s)
    if lease.released:
        state = f"given back {age_s} s ago"
    elif lease.is_free(seen.kept.age_s):
        state = f"run out: renewed {age_s} s ago, and lasts {lease.lasts_s:.0f} s"
    else:
        state = f"valid: renewed {age_s} s ago, and lasts {lease.lasts_s:.0f} s"
    fired = lease.fired
    return {
        "owner": f"{lease.holder} since {iso(lease.taken_at)}",
        "lease": state,
        "fired": None if fired is None else f"by the {fired.by} at {iso(fired.at)}: {fired.why}",
    }


def _run(context: Context, journal: Journal, is_up: bool, until: float | None) -> dict[str, Any]:
    """Returns what the journal says of the run. What it costs is counted until a time, or the last look."""
    info = journal.info()
    return {
        "environment": context.environment.name,
        "is_up": is_up,
        "run": info.run,
        "policy": info.policy,
        "stage": journal.stage().value,
        "status": journal.status(),
        "started_at": iso(info.started_at),
        "deadline_at": None if info.constraints.deadline_at is None else iso(info.constraints.deadline_at),
        "budget_usd": info.constraints.budget_usd,
        "spent_usd": round(journal.spent_usd(paid_until(journal, until or journal.last_observed_at() or 0.0)), 6),
        "too_small": _too_small(journal),
        "waiting": None if (waits := journal.waiting()) is None else reason_in_words(waits),
        "moves": [f"{move.source} -> {move.target}: {move.phase.value}" for move in journal.moves()],
    }


def _too_small(journal: Journal) -> list[str]:
    """Returns the flavors that the last decision found too small for the training, each with the reason."""
    decision = journal.last_decision()
    notes = [(f.flavor, note) for f in (decision.flavors if decision else ()) for note in f.notes]
    return [f"{flavor}: {reason_in_words(note)}" for flavor, note in notes if isinstance(note, MemoryTooSmall)]


def _seen(context: Context, journal: Journal, observation: Observation, spent_usd: float) -> dict[str, Any]:
    """Returns what a look at the nodes says."""
    progress = read_progress(observation, journal.info().started_at)
    return {
        "fleet": dict(observation.fleet),
        "usd_per_hour": observation.fleet.usd_per_hour(context.usd_per_hour),
        "step": progress.step if progress else None,
        "total_steps": progress.total_steps if progress else None,
        "summary": describe(observation, progress, spent_usd),
    }


def _print(document: dict[str, Any]) -> None:
    for name, value in document.items():
        if value not in (None, []) or name not in ONLY_IF_SET:
            print(f"{name.replace('_', ' '):>22}  {_in_words(value)}")


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return str(Fleet(value))
    if isinstance(value, list):
        return "; ".join(str(part) for part in value) or "none"
    return UNKNOWN if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


COMMAND = Command("status", "the fleet, the training and the costs at a glance", status, add_options)
