"""What every stage of a run works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from controller.act.reconcile.patience import MoveLimits
from controller.cluster import LiveCluster
from controller.config.environment import Environment
from controller.config.settings import ControllerSettings
from controller.domain import Market, Move
from controller.domain.errors import (
    AnsibleError,
    AwsError,
    CapacityFileError,
    ConfigError,
    DiskError,
    GuardError,
    LeaseUncertainError,
    NodesError,
    TerraformError,
)
from controller.domain.reasons import Reason
from controller.edges.clock import Clock
from controller.record.journal import Journal
from controller.record.live.reporter import Reporter

PASSING_TROUBLES = (
    AwsError,
    AnsibleError,
    NodesError,
    TerraformError,
    CapacityFileError,
    ConfigError,
    DiskError,
    GuardError,
    LeaseUncertainError,
)
"""The errors that end one attempt and not the run: the training goes on, and the next attempt may do better."""


@dataclass(frozen=True)
class Job:
    """One run of the main job: its environment, its cluster, its journal, and who is told."""

    environment: Environment
    cluster: LiveCluster
    journal: Journal
    clock: Clock
    reporter: Reporter
    asked: Callable[[], Reason | None] = lambda: None
    """Returns why a person wants the training to end now; None where nobody does."""
    unkept: list[Callable[[], None]] = field(default_factory=list)
    """What could not be written to the journal yet, in its order."""

    @property
    def settings(self) -> ControllerSettings:
        """The controller's settings."""
        return self.environment.settings.controller

    def market(self, flavor: str) -> Market:
        """Returns how a flavor is bought. One that Terraform declares no longer counts as bought on demand."""
        declared = self.cluster.made.outputs.flavors.get(flavor)
        return Market.ON_DEMAND if declared is None else Market(declared.market)

    def keep(self, write: Callable[[], None]) -> None:
        """Writes to the journal what a later controller would find out by itself, too.

        Where the disk is full or fails, the run goes on without it, and the next call tries it again.
        """
        self.unkept.append(write)
        try:
            self.keep_all()
        except DiskError as error:
            self.note(f"the journal could not be written: {error.what}")

    def keep_all(self) -> None:
        """Writes what could not be written before, in its order. Raises DiskError where that still fails."""
        while self.unkept:
            self.unkept[0]()
            del self.unkept[0]

    def end(self, status: str, reason: Reason | None) -> None:
        """Keeps how the training ended."""
        at = self.clock.now()
        self.keep(lambda: self.journal.end(status, reason, at))

    def note(self, message: str) -> None:
        """Tells people something, and keeps it in the journal."""
        now = self.clock.now()
        self.journal.add_event(now, "note", message)
        self.reporter.note(now, message)

    def note_move(self, move: Move, message: str) -> None:
        """Tells people of a move's step, and keeps it in the journal."""
        now = self.clock.now()
        self.journal.add_event(now, move.phase.value, message, move.move_id)
        self.reporter.moved(now, move, message)


def move_limits(settings: ControllerSettings) -> MoveLimits:
    """Returns the time limits of moves."""
    timeouts = settings.timeouts
    return MoveLimits(timeouts.boot_s, timeouts.configure_s, timeouts.join_s, timeouts.drain_s, settings.poll_s)
