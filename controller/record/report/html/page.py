"""The page `report.html`: one file with everything in it, made from report.json and the journal."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from controller.domain import Fleet, Move, MovePhase
from controller.edges.files import write_whole
from controller.record.journal import Journal
from controller.record.report.alternatives import FIRST
from controller.record.report.html.packed_decisions import FLAVOR_COLUMNS, FLEET_COLUMNS, pack
from controller.record.report.html.plots.compute import PER_TOKENS
from controller.record.report.html.plots.every import every_plot
from controller.record.report.html.run import Run, read_run
from controller.record.report.html.series import compute_spreads, step_times
from controller.words.fleets import brief, short
from controller.words.numbers import UNKNOWN, cell, duration, number, percentage, usd
from controller.words.reasons.health import REMEDIES
from controller.words.times import moment, utc_clock

FILE_NAME = "report.html"
MOST_STEPS = 30
"""So many steps of a move are listed. A move that was tried again and again has more."""
MOST_EVENTS = 300


def write_page(journal: Journal, report: Mapping[str, Any]) -> Path:
    """Writes the page into the run's folder, and returns its path. `report` is what report.json holds."""
    path = journal.directory / FILE_NAME
    write_whole(path, make_page(read_run(journal, report)))
    return path


def make_page(run: Run) -> str:
    """Returns the whole page."""
    return render(
        "report.html.j2",
        run=run,
        report=run.report,
        plots=every_plot(run),
        answer=answer(run.report),
        alternatives=alternatives_rows(run.report),
        moves=[
            (move, reported, steps_of(run, move)) for move, reported in zip(run.moves, run.report["moves"], strict=True)
        ],
        notes=[event for event in run.events if event["move_id"] is None][-MOST_EVENTS:],
        packed=pack(run.decisions, run.started_at),
        flavor_columns=FLAVOR_COLUMNS,
        fleet_columns=FLEET_COLUMNS,
        spreads=compute_spreads(run),
        per_tokens=compute_spreads(run, PER_TOKENS),
        steps=step_times(run),
        decided=_count(run),
        title=f"Run {run.report['run']}",
    )


def render(template: str, **values: Any) -> str:
    """Returns a template of this package filled in, with the page's style and script."""
    environment = Environment(
        loader=PackageLoader("controller.record.report.html"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "number": number,
        "cell": cell,
        "usd": partial(usd, unknown=UNKNOWN),
        "fleet": fleet_text,
        "few_words": few_words,
        "moment": moment,
        "clock": utc_clock,
        "duration": partial(duration, unknown=UNKNOWN),
        "percent": percentage,
        "remedy": REMEDIES.__getitem__,
    }
    return environment.get_template(template).render(
        style=Markup(_resource("page.css")), script=Markup(_resource("page.js")), **values
    )


def answer(report: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the page's first sentences say.

    That is whether the fleet was changed, the first fleet's cost, and the cheapest and most expensive single flavor.
    What is not known is None.
    """
    fleets = report["alternatives"]["fleets"]
    first = next((fleet for fleet in fleets if fleet["name"] == FIRST), None)
    single = sorted((fleet for fleet in fleets if fleet["name"] != FIRST), key=lambda fleet: float(fleet["usd"]))
    return {
        "has_moved": any(move["outcome"] == MovePhase.DONE.value for move in report["moves"]),
        "first": first,
        "less": None if first is None else first["usd"] - report["alternatives"]["training_usd"],
        "cheapest": single[0] if single else None,
        "most_expensive": single[-1] if len(single) > 1 else None,
    }


def alternatives_rows(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns this run and the fleets beside it, cheapest first, each with its share of the highest cost."""
    found = report["alternatives"]
    if not found["fleets"]:
        return []
    own = {
        "name": "this run",
        "usd": found["training_usd"],
        "training_s": found["training_s"],
        "source": "measured",
        "usd_per_million_tokens": found["usd_per_million_tokens"],
    }
    rows = sorted([own, *found["fleets"]], key=lambda row: float(row["usd"]))
    most = max(float(row["usd"]) for row in rows) or 1.0
    return [{**row, "share": 100 * float(row["usd"]) / most, "is_own": row is own} for row in rows]


def steps_of(run: Run, move: Move) -> list[dict[str, Any]]:
    """Returns the steps of a move, as the journal has them."""
    return [event for event in run.events if event["move_id"] == move.move_id][:MOST_STEPS]


def fleet_text(nodes: Mapping[str, int]) -> str:
    """Returns a fleet in words, in which no line ends between a number and its flavor."""
    return brief(Fleet(nodes)).replace(" x ", "\N{NO-BREAK SPACE}x\N{NO-BREAK SPACE}")


def few_words(nodes: Mapping[str, int]) -> str:
    """Returns a fleet in so few words that a tile has room for it."""
    return short(Fleet(nodes))


def _count(run: Run) -> dict[str, int]:
    counts = {"move": 0, "stay": 0, "refuse": 0}
    for decision in run.decisions:
        counts[decision["verdict"]] += 1
    return counts


def _resource(name: str) -> str:
    return files("controller.record.report.html").joinpath(f"templates/{name}").read_text(encoding="utf-8")
