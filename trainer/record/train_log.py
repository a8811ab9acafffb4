"""The training's log: the lines of train.log, which travel with the training's progress."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import Any

from trainer.node.fact import timestamp
from trainer.record.log_copies import LogCopies
from trainer.record.progress import Progress
from trainer.record.step_totals import StepTotals
from trainer.record.tensorboard import EventFile
from trainer.record.validation import Validation, name_of

log = logging.getLogger(__name__)

EVERY_STEPS = 5
"""A line of train.log is written every so many steps, and a line of the program's own log ten times as seldom."""


@dataclass
class LogWindow:
    """What the steps since the last line of train.log come to."""

    began: float = field(default_factory=time.perf_counter)
    tokens: int = 0
    ids: int = 0
    padding: float = 0.0
    data_wait_s: float = 0.0

    def add(self, totals: StepTotals) -> None:
        """Takes one more step."""
        self.tokens += totals.tokens
        self.ids += totals.ids
        self.padding += totals.padding
        self.data_wait_s += totals.data_wait_s

    def line(self, step: int, loss: float, world_size: int) -> dict[str, Any]:
        """Returns the line that ends the window at `step`: loss in nats per target token, speed in target tokens."""
        seconds = max(time.perf_counter() - self.began, 1e-9)
        return {
            "step": step,
            "loss": round(loss, 5),
            "tokens_per_s": round(self.tokens / seconds, 1),
            "padding_share": round(self.padding / self.ids, 4),
            "data_wait_share": round(self.data_wait_s / seconds, 4),
            "world_size": world_size,
            "t": timestamp(time.time()),
        }


class TrainLog:
    """Adds lines to the log of a training's progress.

    Rank 0 writes them to TensorBoard, logs some of them, and has them copied to the storage.
    """

    def __init__(self, events: EventFile, copies: LogCopies) -> None:
        self._events, self._copies = events, copies
        self._window = LogWindow()

    def begin(self) -> None:
        """Forgets the steps since the last line: a world begins."""
        self._window = LogWindow()

    def add_step(self, progress: Progress, totals: StepTotals, rank: int, world_size: int) -> None:
        """Takes the step that `progress` has counted already."""
        self._window.add(totals)
        if progress.step % EVERY_STEPS and progress.step != 1:
            return
        line = self._window.line(progress.step, totals.loss, world_size)
        self.begin()
        self._keep(progress, line, rank)
        if rank == 0 and progress.step % (10 * EVERY_STEPS) == 0:
            log.info(
                "step %d loss %.4f, %.0f tokens/s on %d ranks, padding %.1f%%, waiting for data %.1f%%",
                *(line[name] for name in ("step", "loss", "tokens_per_s", "world_size")),
                *(100 * line[name] for name in ("padding_share", "data_wait_share")),
            )

    def add_skipped_step(self, progress: Progress, totals: StepTotals, fault: str, rank: int) -> None:
        """Takes a step that `progress` has counted already, and whose update was skipped because of `fault`."""
        self._window.add(totals)
        line = {"step": progress.step, "skipped_updates": progress.skipped_updates, "t": timestamp(time.time())}
        self._keep(progress, line, rank)
        if rank == 0:
            log.warning(
                "step %d: %s; its update is skipped (%d skipped in a row, %d in all)",
                *(progress.step, fault, progress.skipped_in_a_row, progress.skipped_updates),
            )

    def add_validation(self, progress: Progress, found: Validation, rank: int) -> None:
        """Takes what the validation after the last step has measured. `progress` has judged it already."""
        line = {"step": progress.step, **found.line(), "t": timestamp(time.time())}
        self._keep(progress, line, rank)
        if rank == 0:
            scores = "" if found.bleu is None else f", BLEU {found.bleu:.2f}, chrF {found.chrf:.2f}"
            best = "none" if progress.best_validation is None else f"{progress.best_validation:.4f}"
            log.info(
                "step %d validation loss %.4f, perplexity %.3f%s, best %s %s",
                *(progress.step, found.loss, found.perplexity, scores, name_of(progress.measure), best),
            )

    def _keep(self, progress: Progress, line: dict[str, Any], rank: int) -> None:
        progress.log.append(line)
        if rank == 0:
            self._events.write(progress.log)
            self._copies.offer(progress.log)
        else:
            self._copies.drop()
