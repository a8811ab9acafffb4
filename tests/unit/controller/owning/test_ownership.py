"""Owning an environment: journal writes and side effects are fenced by the lease, and its end gives the lease back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from controller.domain import Fleet, Progress
from controller.domain.errors import LeaseUncertainError, LockedError, SupersededError
from controller.domain.lease import Lease
from controller.domain.observed.spot import Shortage
from controller.owning import held, ownership, taking, tenure
from controller.owning.keys import LEASE
from controller.owning.lease_document import from_document
from controller.owning.ownership import Ownership, ended
from controller.owning.sources import FileSource
from controller.owning.taking import take
from controller.record.environment_lock import locked
from controller.record.journal import Journal, Stage
from tests.unit.controller.harness import Controller, new_world
from tests.unit.controller.owning.bucket_in_memory import NOW, BucketInMemory, claim, wait_until
from tests.unit.controller.record import synthetic


class Lock:
    """The lock of a checkout."""

    is_held = True

    def check(self) -> None:
        if not self.is_held:
            raise SupersededError("The lock is lost.")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> BucketInMemory:
    """A bucket, whose clock everybody goes by."""
    bucket = BucketInMemory()
    for module in (taking, held, tenure):
        monkeypatch.setattr(module, "elapsed_s", bucket.elapsed)
    monkeypatch.setattr(ownership, "take", lambda *given, **named: take(*given, **named, elapsed=bucket.elapsed))
    monkeypatch.setattr(ownership, "HeldLease", lambda objects, taken: held.HeldLease(objects, taken, bucket.elapsed))
    return bucket


@pytest.fixture
def lock() -> Lock:
    return Lock()


@pytest.fixture
def own(lock: Lock) -> Iterator[Ownership]:
    made = Ownership(lock, claim("one"), 1000.0, lambda: NOW)
    yield made
    made.forsake()


def kept(bucket: BucketInMemory) -> Lease:
    return from_document(bucket.kept[LEASE][0])


def test_before_there_is_a_bucket_only_the_lock_counts(own: Ownership, lock: Lock) -> None:
    assert own.own(None) is None
    own.check()
    own.check_surely()
    own.saw(None, NOW)
    own.end()
    lock.is_held = False
    for check in (own.check, own.check_surely):
        with pytest.raises(SupersededError, match="lock"):
            check()


def test_the_lease_is_taken_once_there_is_a_bucket_and_only_once(own: Ownership, bucket: BucketInMemory) -> None:
    assert own.own(None) is None
    own.own(bucket)
    own.own(bucket)
    assert bucket.writes == [LEASE] and kept(bucket).generation == 1


def test_a_lease_of_another_machine_refuses_the_command(own: Ownership, bucket: BucketInMemory) -> None:
    take(bucket, claim("other"), NOW)
    with pytest.raises(LockedError, match="owns the cluster"):
        own.own(bucket)
    own.check_surely()
    own.end()
    assert kept(bucket).holder.id == "other" and not kept(bucket).released


def test_a_superseded_controller_writes_no_journal_and_changes_nothing(
    own: Ownership, bucket: BucketInMemory, tmp_path: Path
) -> None:
    own.own(bucket)
    journal = synthetic.running_run(tmp_path)
    journal.take_over(own)
    journal.check_writer()
    take(bucket, claim("other"), NOW, by_force=True)
    bucket.now += 95
    with pytest.raises(SupersededError):
        journal.check_writer()
    for write in (lambda: journal.set_stage(Stage.ENDED), lambda: journal.add_event(NOW, "note", "x")):
        with pytest.raises(SupersededError):
            write()
    assert Journal(journal.directory).stage() is Stage.TRAINING


def test_a_superseded_controller_copies_nothing_at_its_end(
    own: Ownership, bucket: BucketInMemory, tmp_path: Path
) -> None:
    """Its successor has not written the copy yet, so that no later generation would stop it."""
    (tmp_path / "f").write_bytes(b"1")
    own.own(bucket)
    own.work_on(synthetic.running_run(tmp_path / "run"), [FileSource("k", tmp_path / "f")])
    wait_until(lambda: "k" in bucket.kept)
    take(bucket, claim("other"), NOW, by_force=True)
    bucket.now += 95
    with pytest.raises(SupersededError):
        own.check_surely()
    (tmp_path / "f").write_bytes(b"12")
    own.end()
    assert bucket.kept["k"][0] == b"1"


def test_while_the_bucket_is_away_the_journal_is_kept_and_nothing_is_changed(
    own: Ownership, bucket: BucketInMemory, tmp_path: Path
) -> None:
    own.own(bucket)
    journal = synthetic.running_run(tmp_path)
    journal.take_over(own)
    bucket.is_reachable = False
    bucket.now += 95
    journal.add_event(NOW, "note", "still here")
    assert journal.events()[-1]["message"] == "still here"
    with pytest.raises(LeaseUncertainError):
        journal.check_writer()
    bucket.is_reachable = True
    journal.check_writer()


def test_the_lease_says_how_far_the_run_is(own: Ownership, bucket: BucketInMemory, tmp_path: Path) -> None:
    own.own(bucket)
    journal = synthetic.running_run(tmp_path)
    own.work_on(journal, ())
    own.saw(Progress(step=12, total_steps=99, tokens=1, started_at=0.0, at=NOW), NOW)
    own.saw(Progress(step=12, total_steps=99, tokens=1, started_at=0.0, at=NOW + 9), NOW + 9)
    own.end()
    lease = kept(bucket)
    assert (lease.run, lease.stage, lease.step, lease.step_at) == (journal.info().run, "training", 12, NOW)
    assert lease.run_holder == claim("one").holder
    assert lease.released


def test_the_lease_says_at_once_that_the_run_waits_for_capacity_without_a_node(
    own: Ownership, bucket: BucketInMemory, tmp_path: Path
) -> None:
    own.own(bucket)
    journal = synthetic.running_run(tmp_path)
    journal.take_over(own)
    own.work_on(journal, ())
    short = Shortage(Fleet({"c5.large": 2}), NOW - 9, waiting_since=NOW)
    for shortage, since in ((short, None), (replace(short, is_stopped=True), NOW), (None, None)):
        journal.set_shortage(shortage)
        own.saw(None, NOW)
        wait_until(lambda since=since: kept(bucket).waits_since == since)
    journal.set_shortage(replace(short, is_stopped=True))
    own.saw(None, NOW)
    wait_until(lambda: kept(bucket).waits_since == NOW)
    journal.set_stage(Stage.ENDING)
    own.saw(None, NOW)
    wait_until(lambda: kept(bucket).waits_since is None)


def test_who_takes_the_lease_over_has_to_see_the_wait_himself() -> None:
    waiting = replace(claim("one").first(NOW), waits_since=NOW)
    assert claim("two").after(waiting, NOW).waits_since is None


def test_a_change_of_the_stage_reaches_the_bucket_at_once(
    own: Ownership, bucket: BucketInMemory, tmp_path: Path
) -> None:
    own.own(bucket)
    journal = synthetic.running_run(tmp_path)
    journal.take_over(own)
    own.work_on(journal, ())
    wait_until(lambda: kept(bucket).run == journal.info().run)
    journal.end("finished", None, NOW)
    journal.set_stage(Stage.ENDING)
    own.saw(None, NOW)
    wait_until(lambda: kept(bucket).stage == "ending")
    assert kept(bucket).ended_at == NOW


def test_another_run_begins_without_the_steps_of_the_last_one(
    own: Ownership, bucket: BucketInMemory, tmp_path: Path
) -> None:
    own.own(bucket)
    own.work_on(synthetic.running_run(tmp_path / "one"), ())
    own.saw(Progress(step=12, total_steps=99, tokens=1, started_at=0.0, at=NOW), NOW)
    journal = synthetic.moved_run(tmp_path / "two")
    journal._database.execute("UPDATE run SET value = 'next' WHERE key = 'run'")
    own.work_on(journal, ())
    own.end()
    assert (kept(bucket).run, kept(bucket).step, kept(bucket).step_at) == ("next", None, None)


def test_a_command_that_hangs_is_no_living_one(own: Ownership, bucket: BucketInMemory) -> None:
    own.own(bucket)
    assert isinstance(own._tenure, tenure.LeaseTenure)
    bucket.now += 999
    assert own._tenure._is_alive()
    bucket.now += 2
    assert not own._tenure._is_alive()
    own.check()
    assert own._tenure._is_alive()


def test_the_end_gives_back_and_tells_what_was_not_told_yet(own: Ownership, bucket: BucketInMemory) -> None:
    told: list[str] = []
    with pytest.raises(KeyError), ended(own, told.append):
        own.own(bucket)
        bucket.is_reachable = False
        raise KeyError
    assert len(told) == 1 and "could not be given back, and runs out by itself" in told[0]


def test_an_environment_that_is_destroyed_leaves_nothing_in_the_bucket(own: Ownership, bucket: BucketInMemory) -> None:
    own.own(bucket)
    own.forsake()
    bucket.kept.clear()
    own.saw(None, NOW)
    own.end()
    assert bucket.kept == {}


@pytest.mark.parametrize("away", [range(40, 60), range(60, 90)])
def test_a_run_goes_to_its_end_although_its_lease_is_uncertain_for_a_while(
    bucket: BucketInMemory, tmp_path: Path, away: range
) -> None:
    """The bucket can't be reached from one call to the world to another, and the lease runs out meanwhile."""
    world = new_world(total_steps=1500)
    original = world.call

    def call(name: str, effect: object, seconds: float = 0.0) -> object:
        bucket.is_reachable = len(world.calls) not in away
        bucket.now += 50 if not bucket.is_reachable else 0
        return original(name, effect, seconds)

    world.call = call  # type: ignore[method-assign, assignment]
    with locked(tmp_path / ".centavo" / "test", "test", "centavo optimize", world.now) as lock:
        own = Ownership(lock, claim("one"), 1e9, lambda: world.now)
        own.own(bucket)
        controller = Controller(world, tmp_path)
        controller.journal.take_over(own)
        assert controller.optimizer.run()["status"] == "finished"
        own.forsake()
    assert world.fleet() == {} and len(world.calls) > away.stop
