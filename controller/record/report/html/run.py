"""All that the page shows of a run, read from its folder once: the report, the journal, the trainer's log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.domain import Fleet, Move
from controller.domain.times import parse_time
from controller.record.journal import Journal
from controller.record.journal.summary import Summary
from controller.record.run_setup import read_setup

TRAIN_LOG = Path("results") / "train.log"


@dataclass(frozen=True)
class LossPoint:
    """The training loss of one line of the trainer's log, or of one observation."""

    at: float
    step: int
    loss: float


@dataclass(frozen=True, eq=False)
class Run:
    """A run as the page needs it. Times are seconds since the epoch.

    A run equals only itself, so that what is computed from it can be cached.
    """

    report: Mapping[str, Any]
    directory: Path
    started_at: float
    initial: Fleet
    summaries: tuple[Summary, ...]
    decisions: tuple[dict[str, Any], ...]
    """The decisions as plain data, as the journal has them."""
    moves: tuple[Move, ...]
    events: tuple[dict[str, Any], ...]
    losses: tuple[LossPoint, ...]
    setup: Mapping[str, Any]

    @property
    def flavors(self) -> list[str]:
        """Every flavor of the run, in one order for all plots: those of the first fleet, then the others by name."""
        later = {flavor for summary in self.summaries for flavor in summary.fleet.present} | set(self.report["flavors"])
        return [*self.initial.present, *sorted(later - set(self.initial.present))]


def read_run(journal: Journal, report: Mapping[str, Any]) -> Run:
    """Reads a run. `report` is its report.json, from which every number on the page comes."""
    info = journal.info()
    summaries = tuple(summary for _, summary in journal.summaries())
    return Run(
        report=report,
        directory=journal.directory,
        started_at=info.started_at,
        initial=info.initial,
        summaries=summaries,
        decisions=tuple(journal.plain_decisions()),
        moves=journal.moves(),
        events=tuple(journal.events()),
        losses=_losses(journal.directory, summaries),
        setup=read_setup(journal.directory),
    )


def _losses(directory: Path, summaries: tuple[Summary, ...]) -> tuple[LossPoint, ...]:
    """Returns the losses of the trainer's own log. If none can be read there, returns those of the observations.

    The log has lines without a training loss too: those of validations and of skipped updates.
    """
    try:
        lines = (directory / TRAIN_LOG).read_text(encoding="utf-8").splitlines()
        logged = [json.loads(line) for line in lines if line.strip()]
        with_loss = [line for line in logged if "loss" in line]
        losses = tuple(LossPoint(parse_time(line["t"]), int(line["step"]), float(line["loss"])) for line in with_loss)
    except (OSError, ValueError, KeyError, TypeError):
        losses = ()
    return losses or tuple(LossPoint(s.at, s.step, s.loss) for s in summaries if s.step and s.loss is not None)
