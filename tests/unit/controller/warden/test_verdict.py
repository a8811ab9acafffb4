"""Every switch fires after its wait, and not before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.warden.lease import Lease
from controller.warden.look import Standing
from controller.warden.verdict import (
    Situation,
    Verdict,
    Why,
    head_ends_itself,
    head_verdict,
    reaper_verdict,
    worker_verdict,
)
from controller.warden.waits import Waits

LEASE = Lease("unit", run="run-1", generation=1, lasts_s=900, stage="training")
FOUND = Situation(Standing.FOUND, LEASE)
RELEASED = replace(LEASE, released=True)


def situation(lease: Lease | None = LEASE, standing: Standing = Standing.FOUND, **seconds: float) -> Situation:
    return Situation(standing, lease, **seconds)


@pytest.mark.parametrize(
    ("why", "limit_s", "at"),
    [
        (Why.NO_CONTROLLER, 900, lambda s: situation(age_s=s, read_s=s)),
        (Why.NO_STEP, 7200, lambda s: situation(still_s=s)),
        (Why.ENDED, 1800, lambda s: situation(replace(LEASE, stage="ended"), ended_s=s)),
        (Why.ENDED, 1800, lambda s: situation(replace(RELEASED, stage="ended"), ended_s=s)),
        (Why.RELEASED, 1800, lambda s: situation(RELEASED, released_s=s, still_s=s, idle_s=s)),
        (Why.NO_LEASE, 900, lambda s: situation(None, Standing.MISSING, still_s=s, up_s=s)),
        (Why.UNREAD, 3600, lambda s: situation(standing=Standing.UNREAD, unread_s=s, still_s=s, age_s=s)),
        (Why.UNREAD, 3600, lambda s: situation(None, Standing.UNREAD, unread_s=s, still_s=s)),
    ],
)
def test_the_head_fires_after_the_wait_and_not_before(why: Why, limit_s: float, at: object) -> None:
    assert callable(at)
    assert not head_verdict(at(limit_s)).fires
    assert head_verdict(at(limit_s + 1)) == Verdict(True, why, limit_s + 1, limit_s)


def test_the_waits_are_those_of_the_lease() -> None:
    short = replace(LEASE, waits=Waits(stalled_s=10, worker_s=20), lasts_s=5)
    assert head_verdict(situation(short, still_s=11)).why is Why.NO_STEP
    assert head_verdict(situation(short, age_s=6, read_s=6)).why is Why.NO_CONTROLLER
    assert worker_verdict(situation(short, alone_s=21)).fires
    assert not worker_verdict(situation(short, alone_s=20)).fires


def test_a_training_without_a_controller_goes_on_while_it_makes_steps() -> None:
    """`centavo train` gives its lease back, and the training runs alone."""
    assert not head_verdict(situation(RELEASED, age_s=86400, released_s=86400, idle_s=86400, still_s=30)).fires
    assert not head_verdict(situation(None, Standing.MISSING, up_s=86400, still_s=30)).fires
    assert not head_verdict(situation(standing=Standing.UNREAD, unread_s=86400, still_s=30)).fires


def test_an_old_lease_ends_nothing_before_it_was_watched_for_as_long() -> None:
    assert not head_verdict(situation(age_s=86400, read_s=900)).fires
    assert not head_verdict(situation(age_s=900, read_s=86400)).fires


def test_a_new_owner_is_not_ended_for_the_age_of_the_lease_that_was_given_back() -> None:
    assert not head_verdict(situation(replace(RELEASED, stage="ended"), age_s=86400)).fires
    assert not head_verdict(situation(RELEASED, age_s=86400, still_s=7000, idle_s=7000)).fires


def test_a_launcher_that_works_is_waited_for_as_long_as_for_a_step() -> None:
    assert not head_verdict(situation(RELEASED, released_s=86400, still_s=7200)).fires
    assert head_verdict(situation(RELEASED, released_s=86400, still_s=7201)).why is Why.NO_STEP


def test_a_bucket_that_cannot_be_read_is_no_lease_that_has_run_out() -> None:
    assert not head_verdict(situation(standing=Standing.UNREAD, age_s=3000, unread_s=3000)).fires


def test_a_lease_that_a_switch_has_claimed_is_acted_on_at_once_but_a_head_that_was_started_again_has_some_time() -> (
    None
):
    fired = situation(replace(LEASE, fired_by="head"), up_s=1)
    assert head_verdict(fired).fires
    assert not head_ends_itself(fired)
    assert head_ends_itself(replace(fired, up_s=1801))


def test_a_worker_ends_itself_only_when_neither_lease_nor_head_was_found_for_long() -> None:
    assert not worker_verdict(situation(alone_s=3600)).fires
    assert worker_verdict(situation(alone_s=3601)).fires


@pytest.mark.parametrize(
    ("lease", "age_s", "newest_age_s", "fires"),
    [
        (LEASE, 900 + 7200, None, False),
        (LEASE, 900 + 7201, None, True),
        (LEASE, 900 + 7201, 5.0, True),
        (RELEASED, 1800 + 7200, None, False),
        (RELEASED, 1800 + 7201, None, True),
        (RELEASED, 86400, 60.0, False),
        (RELEASED, 86400, 7201.0, True),
        (replace(RELEASED, stage="ended"), 1800 + 7201, 60.0, True),
        (replace(LEASE, fired_by="head"), 7200, None, False),
        (replace(LEASE, fired_by="head"), 7201, None, True),
        (replace(LEASE, fired_by="reaper"), 1, None, True),
    ],
)
def test_the_reaper_ends_what_has_outlived_its_lease(
    lease: Lease, age_s: float, newest_age_s: float | None, fires: bool
) -> None:
    assert reaper_verdict(Standing.FOUND, lease, age_s, newest_age_s).fires is fires


def test_the_reaper_leaves_alone_what_it_cannot_judge() -> None:
    assert not reaper_verdict(Standing.MISSING, None, 1e9, None).fires
    assert not reaper_verdict(Standing.UNREAD, None, 1e9, None).fires


def test_a_verdict_says_what_it_counts() -> None:
    assert (
        str(head_verdict(situation(age_s=901, read_s=901)))
        == "no controller has renewed the lease for 901 s (limit 900 s)"
    )
    assert str(head_verdict(FOUND)).endswith("for 0 s (limit 900 s)")
