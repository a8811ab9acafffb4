"""Taking a lease: of all that try one wins, and a lease that is held is left alone."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, Lock

import pytest

from controller.domain.errors import AwsError, LockedError
from controller.domain.lease import Fired, Lease
from controller.domain.reasons.writing import LeaseHeld, LeaseUnreadable
from controller.owning.held import HeldLease
from controller.owning.keys import LEASE
from controller.owning.lease_document import from_document, to_document
from controller.owning.taking import Taken, see, take
from tests.unit.controller.owning.bucket_in_memory import NOW, BucketInMemory, claim


@pytest.fixture
def bucket() -> BucketInMemory:
    return BucketInMemory()


def taken(bucket: BucketInMemory, name: str, **options: object) -> Taken:
    return take(bucket, claim(name), NOW, elapsed=bucket.elapsed, **options)  # type: ignore[arg-type]


def kept(bucket: BucketInMemory) -> Lease:
    return from_document(bucket.kept[LEASE][0])


def test_the_first_taker_makes_the_lease(bucket: BucketInMemory) -> None:
    first = taken(bucket, "one")
    assert (first.lease.generation, first.lease.holder.id, first.before) == (1, "one", None)
    assert (first.lease.lasts_s, first.lease.released, first.lease.run) == (100.0, False, None)
    assert kept(bucket) == first.lease and bucket.kept[LEASE][3] == 1
    assert first.asked_at == bucket.now


def test_a_held_lease_is_refused_and_the_error_says_by_whom_since_when_and_what_to_do(bucket: BucketInMemory) -> None:
    taken(bucket, "one")
    bucket.now += 100
    with pytest.raises(LockedError) as error:
        taken(bucket, "two")
    assert "`centavo optimize` of ada@laptop (process 7) owns the cluster centavo-test since" in error.value.what
    assert "2027-01-15T08:00:00Z; its lease was renewed 100 s ago and lasts 100 s" in error.value.what
    assert "take-over` waits" in error.value.next_step and "`--now`" in error.value.next_step
    assert isinstance(error.value.reason, LeaseHeld)
    assert kept(bucket).holder.id == "one"


def test_a_lease_that_has_run_out_by_the_clock_of_s3_is_free(bucket: BucketInMemory) -> None:
    """The reader's own clock is years off, which counts for nothing."""
    first = taken(bucket, "one")
    bucket.now += 100.5
    second = take(bucket, claim("two"), NOW - 1e8, elapsed=lambda: 5.0)
    assert (second.lease.generation, second.before) == (2, first.lease)
    assert second.asked_at == 5.0


def test_a_lease_that_was_given_back_is_free_at_once(bucket: BucketInMemory) -> None:
    first = taken(bucket, "one")
    bucket.put(LEASE, to_document(first.lease.given_back()))
    assert taken(bucket, "two").lease.generation == 2
    assert not kept(bucket).released


def test_what_the_last_holder_knew_of_the_run_stays_and_what_the_switch_did_is_passed_on(
    bucket: BucketInMemory,
) -> None:
    first = taken(bucket, "one").lease
    fired = Fired("head", "no-controller", NOW)
    known = replace(first, run="r", stage="training", step=7, step_at=NOW, fired=fired, released=True)
    bucket.put(LEASE, to_document(known))
    second = taken(bucket, "two")
    assert (second.lease.run, second.lease.stage, second.lease.step) == ("r", "training", 7)
    assert second.lease.fired is None and second.before == known


def test_a_dead_controller_is_followed_at_once_in_its_own_checkout_only(bucket: BucketInMemory) -> None:
    take(bucket, claim("one", "here", "laptop"), NOW)
    for other in (claim("two", "elsewhere", "laptop"), claim("two", "here", "a copy on another machine")):
        with pytest.raises(LockedError):
            take(bucket, other, NOW)
    assert take(bucket, claim("two", "here", "laptop"), NOW).lease.generation == 2


def test_by_force_a_living_holder_is_followed_too(bucket: BucketInMemory) -> None:
    taken(bucket, "one")
    assert taken(bucket, "two", by_force=True).lease.generation == 2
    assert kept(bucket).holder.id == "two"


@pytest.mark.parametrize("content", [b"", b'{"version": 1, "hol', b"[]", b'{"version": 2}', b"null", b"\xff"])
def test_what_is_no_lease_is_refused_and_replaced_by_force_only(bucket: BucketInMemory, content: bytes) -> None:
    bucket.put(LEASE, content, generation=41)
    with pytest.raises(LockedError) as error:
        taken(bucket, "one")
    assert isinstance(error.value.reason, LeaseUnreadable) and "take-over --now" in error.value.next_step
    assert bucket.kept[LEASE][0] == content
    by_force = taken(bucket, "one", by_force=True)
    assert by_force.lease.generation == 42 and by_force.is_by_force, "its holder may live"


def test_a_lease_without_any_generation_gets_one_that_was_never_given(bucket: BucketInMemory) -> None:
    bucket.put(LEASE, b"torn")
    assert taken(bucket, "one", by_force=True).lease.generation > NOW


def test_a_taker_whose_answer_was_lost_finds_that_it_has_the_lease(bucket: BucketInMemory) -> None:
    bucket.loses_answers = 1
    first = taken(bucket, "one")
    assert first.lease == kept(bucket) and first.etag == bucket.kept[LEASE][1]
    assert bucket.writes == [LEASE]


def test_a_taker_whose_answer_was_lost_knows_whom_it_follows(bucket: BucketInMemory) -> None:
    """It would begin a new run beside the one of its predecessor otherwise."""
    first = taken(bucket, "one").lease
    bucket.loses_answers = 1
    second = taken(bucket, "two", by_force=True)
    assert second.before == first and second.is_by_force and second.lease == kept(bucket)


def test_who_was_faster_is_told(bucket: BucketInMemory) -> None:
    def somebody_else(key: str) -> None:
        bucket.before_write = lambda key: None
        taken(bucket, "fast")

    bucket.before_write = somebody_else
    with pytest.raises(LockedError) as error:
        taken(bucket, "slow")
    assert isinstance(error.value.reason, LeaseHeld) and kept(bucket).holder.id == "fast"


def test_a_holder_that_wakes_and_renews_just_after_somebody_has_looked_keeps_its_lease(bucket: BucketInMemory) -> None:
    slow = HeldLease(bucket, taken(bucket, "slow"), bucket.elapsed)
    bucket.now += 101

    def wake(key: str) -> None:
        bucket.before_write = lambda key: None
        slow.renew()

    bucket.before_write = wake
    with pytest.raises(LockedError):
        taken(bucket, "next")
    slow.check_surely()
    assert kept(bucket).holder.id == "slow"


def test_a_taker_that_others_are_always_faster_than_gives_up(bucket: BucketInMemory) -> None:
    bucket.before_write = lambda key: bucket.put(key, to_document(replace(claim("x").first(NOW), released=True)))
    with pytest.raises(LockedError, match="others were faster"):
        taken(bucket, "slow")


def test_a_bucket_that_cannot_be_reached_is_an_error(bucket: BucketInMemory) -> None:
    bucket.is_reachable = False
    with pytest.raises(AwsError):
        taken(bucket, "one")


def test_fields_of_later_versions_are_left_out(bucket: BucketInMemory) -> None:
    first = taken(bucket, "one").lease
    bucket.put(LEASE, json.dumps({**json.loads(to_document(first)), "later": 1}).encode())
    seen = see(bucket)
    assert seen is not None and seen.lease == first


@pytest.mark.parametrize("is_there", [False, True])
def test_eight_racing_takers_give_one_winner(bucket: BucketInMemory, is_there: bool) -> None:
    """All of them have looked before the first one writes."""
    if is_there:
        bucket.put(LEASE, to_document(replace(claim("before").first(NOW), released=True)))
    have_looked, writing = Barrier(8), Lock()
    write, firsts = bucket.write, set[str]()

    def one_at_a_time(key: str, content: bytes, *, follows: str | None, generation: int) -> str:
        taker = from_document(content).holder.id
        if taker not in firsts:
            firsts.add(taker)
            have_looked.wait()
        with writing:
            return write(key, content, follows=follows, generation=generation)

    bucket.write = one_at_a_time  # type: ignore[method-assign]

    def try_it(number: int) -> int | None:
        try:
            return take(bucket, claim(f"taker {number}"), NOW).lease.generation
        except LockedError:
            return None

    with ThreadPoolExecutor(8) as threads:
        won = [generation for generation in threads.map(try_it, range(8)) if generation is not None]
    assert won == [2 if is_there else 1]


def test_a_lease_of_a_controller_that_tells_of_no_waits_can_be_read(bucket: BucketInMemory) -> None:
    older = json.loads(to_document(taken(bucket, "one").lease))
    del older["waits_since"]
    assert from_document(json.dumps(older).encode()).waits_since is None
