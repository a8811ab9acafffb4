"""A warden's memory: since when each thing has been so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.warden.lease import Lease
from controller.warden.look import Look, Standing
from controller.warden.memory import Memory, Signs
from controller.warden.verdict import Why, head_verdict

LEASE = Lease("unit", run="run-1", generation=1, lasts_s=900, stage="training")
FOUND, MISSING, UNREAD = Look(Standing.FOUND, LEASE, age_s=5), Look(Standing.MISSING), Look(Standing.UNREAD)
BEGUN = Memory.begun(1000)


def test_a_warden_that_has_just_started_waits_from_then_on() -> None:
    now = BEGUN.situation(1010)
    assert (now.up_s, now.still_s, now.alone_s, now.unread_s, now.ended_s) == (10, 10, 10, 10, 0)


def test_the_lease_goes_on_aging_while_the_bucket_is_silent() -> None:
    now = BEGUN.after(FOUND, Signs(), 1010).after(UNREAD, Signs(), 1100).situation(1100)
    assert (now.standing, now.age_s, now.unread_s, now.lease) == (Standing.UNREAD, 95, 90, LEASE)


def test_a_new_step_another_stage_and_another_run_are_signs_of_life() -> None:
    memory = BEGUN.after(FOUND, Signs(step=5), 1010)
    assert memory.after(FOUND, Signs(step=5), 1100).situation(1100).still_s == 90
    assert memory.after(FOUND, Signs(step=6), 1100).situation(1100).still_s == 0
    for other in (replace(LEASE, stage="ending"), replace(LEASE, run="run-2")):
        assert memory.after(Look(Standing.FOUND, other), Signs(step=5), 1100).situation(1100).still_s == 0


def test_another_holder_alone_is_no_sign_of_life_but_one_that_comes_after_a_switch_has_fired() -> None:
    another = Look(Standing.FOUND, replace(LEASE, generation=2))
    memory = BEGUN.after(FOUND, Signs(step=5), 1010)
    assert memory.after(another, Signs(step=5), 1100).situation(1100).still_s == 90
    fired = BEGUN.after(Look(Standing.FOUND, replace(LEASE, fired_by="head")), Signs(step=5), 1010)
    assert fired.after(another, Signs(step=5), 9000).situation(9000).still_s == 0


def test_a_renewed_lease_alone_is_no_step() -> None:
    memory = BEGUN.after(FOUND, Signs(step=5), 1010)
    renewed = Look(Standing.FOUND, LEASE, age_s=0)
    assert memory.after(renewed, Signs(step=5), 5000).situation(5000).still_s == 3990


@pytest.mark.parametrize("stale", [None, 5])
def test_the_step_of_the_lease_counts_where_the_launcher_tells_none_or_an_old_one(stale: int | None) -> None:
    memory = BEGUN.after(FOUND, Signs(step=stale), 1010)
    told = Look(Standing.FOUND, replace(LEASE, step=99), age_s=0)
    memory = memory.after(told, Signs(step=stale), 5000)
    assert memory.situation(5000).still_s == 0
    for look in (MISSING, told):
        memory = memory.after(look, Signs(step=stale), 5060)
    assert memory.situation(5060).still_s == 60, "the same step again is none"


def test_the_end_of_the_training_counts_from_when_it_was_first_seen() -> None:
    ended = Look(Standing.FOUND, replace(LEASE, stage="ended"))
    memory = BEGUN.after(ended, Signs(), 1010).after(ended, Signs(), 1050)
    assert memory.situation(1060).ended_s == 50
    assert memory.after(FOUND, Signs(), 1070).situation(1080).ended_s == 0


def test_the_end_of_another_holders_training_does_not_count_against_a_new_one() -> None:
    ended = replace(LEASE, stage="ended", released=True)
    memory = BEGUN.after(Look(Standing.FOUND, ended), Signs(), 1010)
    assert memory.situation(2000).ended_s == 990
    held = Look(Standing.FOUND, replace(ended, generation=2, released=False))
    assert memory.after(held, Signs(), 2000).situation(2000).ended_s == 0
    released = Look(Standing.FOUND, replace(ended, generation=2))
    assert memory.after(released, Signs(), 2000).situation(2000).ended_s == 990, "a controller that only crashes"


def test_a_lease_that_was_given_back_counts_from_when_that_was_first_seen() -> None:
    released = Look(Standing.FOUND, replace(LEASE, released=True), age_s=4000)
    memory = BEGUN.after(released, Signs(), 1010).after(released, Signs(), 1050)
    assert memory.situation(1060).released_s == 50
    assert memory.after(FOUND, Signs(), 1070).situation(1070).released_s == 0


def test_a_row_of_looks_ends_with_a_long_gap_only() -> None:
    memory = BEGUN
    for at in (1200, 1425, 1430):
        memory = memory.after(FOUND, Signs(), at)
    assert memory.situation(1430).read_s == 430
    memory = memory.after(UNREAD, Signs(), 1600)
    assert memory.after(FOUND, Signs(), 1656).situation(1656).read_s == 0
    brief = Look(Standing.FOUND, replace(LEASE, lasts_s=1))
    assert BEGUN.after(brief, Signs(), 1015).situation(1015).read_s == 15, "the pause counts where the lease is short"


def test_a_launcher_works_while_what_it_tells_changes() -> None:
    memory = BEGUN.after(FOUND, Signs(work="training at 1"), 1010).after(FOUND, Signs(work="training at 1"), 1070)
    assert memory.situation(1070).idle_s == 60
    assert memory.after(FOUND, Signs(work="training at 2"), 1130).situation(1130).idle_s == 0
    assert memory.after(FOUND, Signs(), 1130).situation(1130).idle_s == 120


def test_a_worker_is_not_alone_while_it_finds_the_lease_or_the_head() -> None:
    assert BEGUN.after(FOUND, Signs(), 1500).situation(1500).alone_s == 0
    assert BEGUN.after(UNREAD, Signs(head_answers=True), 1500).situation(1500).alone_s == 0
    assert BEGUN.after(MISSING, Signs(), 1500).situation(1500).alone_s == 500


def test_a_lease_that_has_run_out_or_was_given_back_or_fired_keeps_no_worker() -> None:
    for lease, age_s in ((LEASE, 901), (replace(LEASE, released=True), 1), (replace(LEASE, fired_by="head"), 1)):
        look = Look(Standing.FOUND, lease, age_s=age_s)
        assert BEGUN.after(look, Signs(), 1500).situation(1500).alone_s == 500


def test_an_old_lease_keeps_no_worker_while_the_bucket_is_silent() -> None:
    memory = BEGUN.after(FOUND, Signs(), 1010).after(UNREAD, Signs(), 1100)
    assert memory.situation(1100).alone_s == 90


WAITING = replace(LEASE, lacks_capacity=True)


def test_a_run_that_waits_for_capacity_under_a_controller_that_lives_does_not_stall() -> None:
    memory = BEGUN
    for at in range(1010, 20000, 600):
        memory = memory.after(Look(Standing.FOUND, WAITING, age_s=5), Signs(step=5), at)
        assert not head_verdict(memory.situation(at)).fires
    began = at
    for at in range(began, began + 7201, 300):
        memory = memory.after(FOUND, Signs(step=5), at)
    assert memory.situation(began + 7200).still_s == 7200, "the stall counts from the end of the wait"
    assert head_verdict(memory.after(FOUND, Signs(step=5), began + 7201).situation(began + 7201)).why is Why.NO_STEP


@pytest.mark.parametrize(
    "look",
    [
        Look(Standing.FOUND, WAITING, age_s=901),
        Look(Standing.FOUND, replace(WAITING, released=True), age_s=5),
        Look(Standing.FOUND, replace(WAITING, fired_by="person"), age_s=5),
        UNREAD,
    ],
    ids=["run out", "given back", "fired", "unread"],
)
def test_a_wait_without_a_controller_is_no_sign_of_life(look: Look) -> None:
    memory = BEGUN.after(Look(Standing.FOUND, WAITING, age_s=5), Signs(step=5), 1010)
    assert memory.after(look, Signs(step=5), 2000).situation(2000).still_s == 990
