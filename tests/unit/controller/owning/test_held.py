"""A lease that is held: renewed in time, lost to another holder, and not trusted after its end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.domain.errors import AwsError, LeaseUncertainError, SupersededError
from controller.domain.lease import Fired, Lease
from controller.owning.heartbeat import HANGS, Heartbeat
from controller.owning.held import HeldLease
from controller.owning.keys import LEASE
from controller.owning.lease_document import from_document, to_document
from controller.owning.taking import take
from tests.unit.controller.owning.bucket_in_memory import NOW, BucketInMemory, claim, wait_until

SURE_S = 90.0
"""Of a lease of 100 s."""


@pytest.fixture
def bucket() -> BucketInMemory:
    return BucketInMemory()


@pytest.fixture
def held(bucket: BucketInMemory) -> HeldLease:
    return hold(bucket, "one")


def hold(bucket: BucketInMemory, name: str, by_force: bool = False) -> HeldLease:
    taken = take(bucket, claim(name), NOW, by_force=by_force, elapsed=bucket.elapsed)
    return HeldLease(bucket, taken, bucket.elapsed)


def kept(bucket: BucketInMemory) -> Lease:
    return from_document(bucket.kept[LEASE][0])


def test_a_renewal_puts_the_end_off_and_writes_what_is_known_of_the_run(
    bucket: BucketInMemory, held: HeldLease
) -> None:
    bucket.now += 50
    held.tell(run="r", stage="training", step=3, step_at=NOW)
    assert kept(bucket).run is None
    held.renew()
    assert kept(bucket) == held.lease and held.lease.run == "r"
    assert held.sure_for_s == SURE_S
    bucket.now += 99
    with pytest.raises(Exception, match="owns the cluster"):
        hold(bucket, "two")


def test_each_renewal_is_a_version_of_its_own_although_nothing_has_changed(
    bucket: BucketInMemory, held: HeldLease
) -> None:
    versions = {bucket.kept[LEASE][1]}
    for _ in range(2):
        held.renew()
        versions.add(bucket.kept[LEASE][1])
    assert len(versions) == 3


def test_the_lease_is_sure_from_when_its_renewal_was_sent_not_from_when_it_was_answered(
    bucket: BucketInMemory, held: HeldLease
) -> None:
    bucket.before_write = lambda key: setattr(bucket, "now", bucket.now + 30)
    held.renew()
    assert held.sure_for_s == SURE_S - 30


def test_while_the_lease_is_sure_an_unreachable_bucket_stops_nothing(bucket: BucketInMemory, held: HeldLease) -> None:
    bucket.is_reachable = False
    bucket.now += SURE_S - 0.1
    held.check_surely()
    with pytest.raises(AwsError):
        held.renew()
    held.check_surely()


def test_a_lease_that_may_have_run_out_is_renewed_before_anything_is_changed(
    bucket: BucketInMemory, held: HeldLease
) -> None:
    bucket.now += SURE_S
    held.check_surely()
    assert held.sure_for_s == SURE_S


def test_nothing_is_changed_while_the_lease_may_have_run_out_and_what_runs_goes_on(
    bucket: BucketInMemory, held: HeldLease
) -> None:
    bucket.is_reachable = False
    bucket.now += SURE_S
    with pytest.raises(LeaseUncertainError) as error:
        held.check_surely()
    assert "could not be renewed in time" in error.value.what and "can't be reached" in error.value.what
    held.check()  # what only notes something goes on
    bucket.is_reachable = True
    held.check_surely()


def test_a_controller_that_slept_too_long_finds_its_successor(bucket: BucketInMemory, held: HeldLease) -> None:
    bucket.now += 101
    hold(bucket, "two")
    held.check()  # it can't know yet
    with pytest.raises(SupersededError, match="taken over by `centavo optimize`") as error:
        held.check_surely()
    assert error.value.exit_code == 17 and held.is_lost
    for refused in (held.check, held.check_surely, held.renew, held.release):
        with pytest.raises(SupersededError):
            refused()
    assert kept(bucket).holder.id == "two"


def test_a_holder_from_whom_the_lease_is_taken_by_force_finds_it_at_its_next_renewal(
    bucket: BucketInMemory, held: HeldLease
) -> None:
    hold(bucket, "two", by_force=True)
    with pytest.raises(SupersededError):
        held.renew()
    assert kept(bucket).holder.id == "two" and not kept(bucket).released


@pytest.mark.parametrize("content", [None, b"torn"])
def test_a_lease_that_is_gone_or_torn_is_lost(bucket: BucketInMemory, held: HeldLease, content: bytes | None) -> None:
    del bucket.kept[LEASE]
    if content is not None:
        bucket.put(LEASE, content)
    with pytest.raises(SupersededError, match="somebody else"):
        held.renew()


def test_a_renewal_whose_answer_was_lost_is_no_loss_of_the_lease(bucket: BucketInMemory, held: HeldLease) -> None:
    bucket.loses_answers = 1
    bucket.now += 50
    held.renew()
    assert held.sure_for_s == SURE_S and kept(bucket).holder.id == "one"


def test_answers_that_are_always_lost_are_an_error_of_the_bucket(bucket: BucketInMemory, held: HeldLease) -> None:
    bucket.loses_answers = 99
    with pytest.raises(AwsError, match="faster than it can be renewed"):
        held.renew()
    assert not held.is_lost


def test_a_holder_on_whom_the_switch_has_fired_does_nothing_more_and_what_the_switch_wrote_stays(
    bucket: BucketInMemory, held: HeldLease
) -> None:
    """The switch gives the fleet back. A controller that goes on would make it again."""
    fired = Fired("head", "no-controller", NOW)
    written = to_document(replace(kept(bucket), fired=fired))
    bucket.put(LEASE, written)
    held.tell(step=9)
    with pytest.raises(SupersededError, match="switch of the head has given the cluster centavo-test back") as error:
        held.renew()
    assert "optimize` takes the cluster anew" in error.value.next_step and error.value.reason is not None
    assert held.is_lost and bucket.kept[LEASE][0] == written
    with pytest.raises(SupersededError):
        held.check()
    assert hold(bucket, "one").lease.fired is None


def test_a_holder_of_the_same_id_in_an_earlier_generation_is_another_one(
    bucket: BucketInMemory, held: HeldLease
) -> None:
    bucket.put(LEASE, to_document(replace(kept(bucket), generation=2)))
    with pytest.raises(SupersededError):
        held.renew()


def test_a_lease_that_was_given_back_is_not_written_again(bucket: BucketInMemory, held: HeldLease) -> None:
    held.tell(stage="ended")
    held.release()
    assert (kept(bucket).released, kept(bucket).stage) == (True, "ended")
    held.renew()
    held.release()
    assert kept(bucket).released and bucket.writes == [LEASE] * 2


def test_a_lease_that_is_forsaken_is_not_written_any_more(bucket: BucketInMemory, held: HeldLease) -> None:
    held.forsake()
    held.renew()
    held.release()
    assert bucket.writes == [LEASE]


# the heartbeat


def test_a_beat_renews_and_tells_of_troubles_once(bucket: BucketInMemory, held: HeldLease) -> None:
    told: list[str] = []
    heartbeat = Heartbeat(held, lambda: True, told.append)
    bucket.now += 50
    assert heartbeat.beat() and held.sure_for_s == SURE_S and told == []
    bucket.is_reachable = False
    assert not heartbeat.beat() and not heartbeat.beat()
    assert len(told) == 1 and "can't be renewed" in told[0]
    bucket.is_reachable = True
    assert heartbeat.beat() and heartbeat.beat()
    assert told[1:] == ["the cluster's lease is renewed again"]
    hold(bucket, "two", by_force=True)
    assert heartbeat.beat() and heartbeat.beat()
    assert len(told) == 3 and "was taken over by" in told[2]


def test_a_controller_that_hangs_does_not_own_for_ever(bucket: BucketInMemory, held: HeldLease) -> None:
    told: list[str] = []
    alive = [False]
    heartbeat = Heartbeat(held, lambda: alive[0], told.append)
    bucket.now += 50
    heartbeat.beat()
    assert held.sure_for_s == SURE_S - 50 and told == [HANGS]
    alive[0] = True
    heartbeat.beat()
    assert held.sure_for_s == SURE_S


def test_the_thread_renews_in_time_wakes_and_stops(bucket: BucketInMemory) -> None:
    taken = take(bucket, replace(claim("one"), switch=replace(claim("one").switch, lease_s=0.2)), NOW)
    held = HeldLease(bucket, taken)
    heartbeat = Heartbeat(held, lambda: True, lambda message: None)
    heartbeat.start()
    wait_until(lambda: len(bucket.writes) >= 4)
    heartbeat.stop()
    written = len(bucket.writes)
    heartbeat.wake()
    assert len(bucket.writes) == written


def test_a_change_is_written_at_once(bucket: BucketInMemory, held: HeldLease) -> None:
    heartbeat = Heartbeat(held, lambda: True, lambda message: None)
    heartbeat.start()
    held.tell(stage="ending")
    heartbeat.wake()
    wait_until(lambda: kept(bucket).stage == "ending")
    heartbeat.stop()
