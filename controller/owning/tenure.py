"""The time in which a command owns a cluster: its lease, what renews it, and what copies the run's state meanwhile."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from controller.domain import Progress
from controller.domain.errors import AwsError, JournalError, SupersededError
from controller.domain.times import iso
from controller.edges.bucket.objects import Objects
from controller.edges.clock import elapsed_s
from controller.owning import keys
from controller.owning.copies import Copies
from controller.owning.fenced import FencedWriter
from controller.owning.heartbeat import Heartbeat
from controller.owning.held import HeldLease
from controller.owning.runs_index import RunEntry, RunsSource
from controller.owning.sources import Source
from controller.record.journal import Journal, Stage


class Tenure(Protocol):
    """What an `Ownership` has beside the checkout's lock."""

    @property
    def generation(self) -> int:
        """The generation of the lease; 0 where there is none."""

    def check(self) -> None: ...

    def check_surely(self) -> None: ...

    def work_on(self, journal: Journal, sources: Sequence[Source]) -> None: ...

    def saw(self, progress: Progress | None, at: float) -> None: ...

    def forsake(self) -> None: ...

    def end(self) -> None: ...


class NoTenure:
    """That of a command for which there is no bucket yet, and so no lease: nothing can be lost."""

    generation = 0

    def check(self) -> None:
        """Finds nothing lost."""

    def check_surely(self) -> None:
        """Finds nothing lost."""

    def work_on(self, journal: Journal, sources: Sequence[Source]) -> None:
        """Copies nothing."""

    def saw(self, progress: Progress | None, at: float) -> None:
        """Tells nobody."""

    def forsake(self) -> None:
        """Has nothing to leave."""

    def end(self) -> None:
        """Has nothing to give back."""


class LeaseTenure:
    """That of a command that holds the cluster's lease.

    Args:
        objects: Those of the cluster's bucket.
        held: The lease.
        longest_pass_s: A command that has looked at nothing for so long hangs.
        tell: Takes what people should know, from any thread.
    """

    def __init__(self, objects: Objects, held: HeldLease, longest_pass_s: float, tell: Callable[[str], None]) -> None:
        self._objects, self._held, self._tell = objects, held, tell
        self._longest_pass_s, self._alive_at = longest_pass_s, elapsed_s()
        self._heartbeat = Heartbeat(held, self._is_alive, tell)
        self._journal: Journal | None = None
        self._copies: Copies | None = None
        self._entry = RunEntry("", "", "running")
        self._heartbeat.start()

    @property
    def generation(self) -> int:
        """The generation of the lease."""
        return self._held.lease.generation

    def check(self) -> None:
        """Raises SupersededError where another holder is known to have taken the lease."""
        self._alive_at = elapsed_s()
        self._held.check()

    def check_surely(self) -> None:
        """Raises SupersededError, or LeaseUncertainError where the lease may have run out and can't be renewed."""
        self._alive_at = elapsed_s()
        self._held.check_surely()

    def work_on(self, journal: Journal, sources: Sequence[Source]) -> None:
        """Names the run in the lease, and copies its state to the bucket from now on.

        Raises:
            JournalError: Another checkout has controlled the run since this one did.
            AwsError: Whether one has can't be known.
        """
        if self._journal is journal:
            return
        lease = self._held.lease
        self._refuse_old(journal)
        journal.set_lease_generation(lease.generation)
        self._journal = journal
        self._held.tell(run_holder=lease.holder)
        self._note()
        writer = FencedWriter(self._objects, lease.cluster, lease.generation)
        if self._copies is not None:
            self._copies.stop()
        self._copies = Copies((*sources, RunsSource(self._objects, lambda: self._entry)), writer, self._tell)
        self._copies.start()
        self._heartbeat.wake()

    def saw(self, progress: Progress | None, at: float) -> None:
        """Takes up what a pass has seen, at a time in seconds since the epoch."""
        self._alive_at = elapsed_s()
        before = self._held.lease
        self._note()
        if progress is not None and progress.step != before.step:
            self._held.tell(step=progress.step, step_at=at)
        lease = self._held.lease
        if (lease.stage, lease.waits_since) != (before.stage, before.waits_since):
            self._heartbeat.wake()
        if self._copies is not None:
            self._copies.wake()

    def forsake(self) -> None:
        """Writes nothing into the bucket any more, which is about to be removed."""
        self._heartbeat.stop()
        self._held.forsake()
        if self._copies is not None:
            self._copies.stop()
            self._copies = None

    def end(self) -> None:
        """Copies what has changed last, and gives the lease back. What fails is told: the lease then runs out."""
        with suppress(sqlite3.Error):
            self._note()
        try:
            if self._copies is not None:
                self._copies.stop() if self._held.is_lost else self._copies.finish()
        finally:
            self._heartbeat.stop()
            self._release()

    def _release(self) -> None:
        try:
            self._held.release()
        except SupersededError:
            return  # whoever has it now was told of, or will be
        except AwsError as error:
            self._tell(f"the cluster's lease could not be given back, and runs out by itself: {error.what}")

    def _refuse_old(self, journal: Journal) -> None:
        """Raises JournalError where the bucket's copy of the run was written under a later lease than the journal."""
        run = journal.info().run
        copy = self._objects.head(keys.of_run(run, keys.JOURNAL_NAME))
        if copy is not None and copy.generation > journal.lease_generation():
            raise JournalError(
                f"Another checkout has controlled the run {run} since this one did, and the journal here does not have "
                "what happened.",
                f"`centavo --env {self._held.lease.environment} take-over` brings it here.",
            )

    def _note(self) -> None:
        """Takes up what the journal says of the run."""
        if self._journal is None:
            return
        info, ended_at = self._journal.info(), self._journal.ended_at()
        is_new = info.run != self._held.lease.run
        progress = {"step": None, "step_at": None} if is_new else {}
        stage, short = self._journal.stage(), self._journal.shortage()
        waits = stage is Stage.TRAINING and short is not None and short.is_stopped
        waits_since = short.waiting_since if short is not None and waits else None
        self._held.tell(run=info.run, stage=stage.value, ended_at=ended_at, waits_since=waits_since, **progress)
        self._entry = RunEntry(info.run, iso(info.started_at), self._journal.status())

    def _is_alive(self) -> bool:
        return elapsed_s() - self._alive_at < self._longest_pass_s
