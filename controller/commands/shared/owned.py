"""Owning an environment while a command changes it: the checkout's lock first, then the cluster's lease."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from controller.config.environment import Environment
from controller.domain import Progress
from controller.domain.errors import AwsError, JournalError
from controller.domain.lease import ENDED, PLACE, Claim, Lease, LeaseHolder, Place
from controller.domain.reasons import Reason
from controller.edges.bucket.find import find_bucket
from controller.edges.bucket.objects import BucketObjects
from controller.edges.clock import Clock
from controller.edges.files import write_whole
from controller.edges.process_identity import this_process
from controller.owning.asked import AskedReader
from controller.owning.ownership import Ownership, ended
from controller.owning.sources import sources_of
from controller.record.environment_lock import locked
from controller.record.journal import Journal

TRIES, BETWEEN_TRIES_S = 4, 3.0
FIRST_TRIES = 120
"""For a bucket that was made just now. IAM may refuse the use of its key for five minutes: so long KMS may take until
the key's alias counts (AWS KMS Developer Guide, "Use aliases to control access to KMS keys")."""
"""A command that begins asks for the lease so often, in this rhythm, while AWS does not answer."""


class Owner:
    """What one command owns of its environment: nothing, until it is `alone`.

    Args:
        environment: The environment.
        clock: The time of day, and waiting.
        note: Tells people something, and keeps it in the run's journal.
        tell: Tells people something while the run may be somebody else's.
    """

    def __init__(
        self,
        environment: Environment,
        clock: Clock,
        note: Callable[[str], None],
        tell: Callable[[str], None],
    ) -> None:
        self._environment, self._clock, self._note, self._tell = environment, clock, note, tell
        self._ownership: Ownership | None = None
        self._before: Lease | None = None
        self._asked: AskedReader | None = None

    @contextmanager
    def alone(self, command: str) -> Iterator[Ownership]:
        """Keeps other commands that change things out of the environment while inside, on every machine.

        Raises:
            LockedError: Another command is inside, here or elsewhere.
            AwsError: Whether one is elsewhere can't be known.
        """
        with self.alone_here(command) as ownership:
            self._own_patiently(lambda: bucket_of(self._environment), TRIES)
            yield ownership

    @contextmanager
    def alone_here(self, command: str) -> Iterator[Ownership]:
        """Keeps other commands of this checkout out while inside. The cluster's lease is not taken yet.

        Raises:
            LockedError: Another command is inside.
        """
        environment, settings = self._environment, self._environment.settings
        with locked(environment.state_directory, environment.name, command, self._clock.now(), self._note) as lock:
            claim = Claim(
                settings.cluster, environment.name, holder_of(environment, command), settings.controller.switch.settings
            )
            ownership = Ownership(lock, claim, settings.controller.longest_pass_s, self._clock.now)
            with ended(ownership, self._tell):
                self._ownership = ownership
                yield ownership

    def own(self, bucket: BucketObjects | None, *, by_force: bool = False) -> Lease | None:
        """Takes the cluster's lease, if there is a bucket and this command changes things.

        Args:
            bucket: The cluster's; None where there is none yet.
            by_force: Takes it from a living holder, too.

        Returns:
            The lease as its last holder left it; None where there was none.
        """
        before = None if self._ownership is None else self._ownership.own(bucket, by_force=by_force)
        self._before = before or self._before
        if bucket is not None and self._asked is None:
            self._asked = AskedReader(bucket)
        if before is not None and before.fired is not None:
            self._note(f"while nobody owned the cluster, the {before.fired.by} gave it back ({before.fired.why})")
        return before

    def found(self, bucket: str, journal: Journal) -> None:
        """Takes the lease of a cluster whose bucket was made just now, unless this command has it already."""
        made = BucketObjects(self._environment.settings.aws.region, bucket)
        self._own_patiently(lambda: made, FIRST_TRIES)
        self._work_on(journal)

    def check_new_run(self) -> None:
        """Checks that a new run may begin.

        Raises:
            JournalError: The cluster has a run that goes on, and that another checkout knows.
        """
        before, own = self._before, self._ownership
        if before is None or own is None or before.run is None or before.stage == ENDED or own.had_run(before):
            return
        raise JournalError(
            f"The cluster {before.cluster} has a run that goes on, {before.run}, and this checkout does not have it. "
            f"{before.run_holder or before.holder} controlled it last.",
            f"`centavo --env {before.environment} take-over` brings it here, and `centavo --env {before.environment} "
            "destroy` ends it.",
        )

    def take_over(self, journal: Journal) -> None:
        """Makes this command the only writer of a run. A command that changes nothing takes over nothing.

        Raises:
            JournalError: Another checkout has controlled the run since this one did, or has begun another one.
        """
        if self._ownership is not None:
            self._refuse_beside_another(journal.info().run, self._ownership)
            journal.tell = self._note
            journal.take_over(self._ownership)
            self._work_on(journal)

    def was_handed_over(self, run: str) -> Lease | None:
        """Returns the lease as the head's controller left it, if a run of this checkout went on there."""
        before = self._before
        last = None if before is None or before.run != run else before.run_holder
        if last is None or last.place is not Place.HEAD:
            return None
        return None if last.checkout == checkout_id(self._environment.state_directory) else before

    @property
    def generation(self) -> int:
        """The generation of the lease; 0 where this command has none."""
        return 0 if self._ownership is None else self._ownership.generation

    def give_back(self) -> None:
        """Gives the lease back before this command ends. The checkout's lock stays."""
        if self._ownership is not None:
            self._ownership.give_back()

    def asked(self, run: str) -> Reason | None:
        """Returns why a person wants the training of a run to end now, as the bucket says; None where nobody does."""
        return None if self._asked is None else self._asked.look(run)

    def check(self) -> None:
        """Raises SupersededError or LeaseUncertainError where this command may not change anything any more."""
        if self._ownership is not None:
            self._ownership.check_surely()

    def saw(self, progress: Progress | None, at: float) -> None:
        """Passes on what a pass has seen, and tells what was found in the background meanwhile."""
        if self._ownership is not None:
            self._ownership.saw(progress, at)
            for message in self._ownership.news():
                self._note(message)

    def forsake(self) -> None:
        """Writes nothing into the bucket any more, which is about to be removed."""
        if self._ownership is not None:
            self._ownership.forsake()

    def _refuse_beside_another(self, run: str, own: Ownership) -> None:
        """Raises JournalError where another checkout has begun another run. On the head that may have ended, too."""
        before = self._before
        if before is None or before.run in (None, run) or own.had_run(before):
            return
        if before.stage != ENDED or place_of_this() is Place.HEAD:
            raise JournalError(
                f"The run {run} is not the cluster's any more: {before.run_holder or before.holder} has begun "
                f"{before.run} since.",
                f"`centavo --env {before.environment} take-over` brings that run here.",
            )

    def _own_patiently(self, bucket: Callable[[], BucketObjects | None], most_tries: int) -> None:
        """Takes the lease, if there is a bucket. A bucket that can't be asked is asked some times."""
        for tries in range(1, most_tries + 1):
            try:
                self.own(bucket())
                return
            except AwsError as error:
                if tries == most_tries:
                    raise
                if tries == 1:
                    self._tell(f"whether the cluster is free is not known, and asked again: {error.what}")
                self._clock.sleep(BETWEEN_TRIES_S)

    def _work_on(self, journal: Journal) -> None:
        if self._ownership is not None:
            self._ownership.work_on(journal, sources_of(self._environment, journal.info().run, journal.directory))


def bucket_of(environment: Environment) -> BucketObjects | None:
    """Returns the cluster's bucket; None where there is none yet.

    Raises:
        AwsError: AWS can't be asked.
        ConfigError: Two clusters have the same name.
    """
    name = find_bucket(environment.settings.aws.region, environment.settings.cluster)
    return None if name is None else BucketObjects(environment.settings.aws.region, name)


def holder_of(environment: Environment, command: str) -> LeaseHolder:
    """Returns this process as the holder of a lease, with an id that is made anew."""
    own = this_process()
    return LeaseHolder(
        id=uuid.uuid4().hex,
        host=own.host,
        user=own.user,
        pid=own.pid,
        command=command,
        place=place_of_this(),
        checkout=checkout_id(environment.state_directory),
    )


def place_of_this() -> Place:
    """Returns where this process runs."""
    return Place(os.environ.get(PLACE, Place.MACHINE.value))


def checkout_id(state_directory: Path) -> str:
    """Returns the id of a checkout's environment, which is made when it is first asked for.

    The folder's place is kept beside the id. A copy of a checkout has the file of the original, and makes an id of its
    own: its lock is another one, so that both may work at once.

    Raises:
        DiskError: The file can't be written.
    """
    file = state_directory / "checkout"
    with suppress(OSError, ValueError):
        known, place = file.read_text(encoding="ascii").splitlines()
        if known and place == _place(state_directory):
            return known
    made = uuid.uuid4().hex
    write_whole(file, made + "\n")  # makes the folder, which has no place before
    write_whole(file, f"{made}\n{_place(state_directory)}\n")
    return made


def _place(folder: Path) -> str:
    """Returns a folder's inode and path, in one line of ASCII."""
    return f"{folder.stat().st_ino} {str(folder.resolve())!a}"
