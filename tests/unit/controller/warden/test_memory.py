"""A warden's memory: since when each thing has been so."""

from __future__ import annotations

from dataclasses import replace

from controller.warden.lease import Lease
from controller.warden.look import Look, Standing
from controller.warden.memory import Memory, Signs

LEASE = Lease("unit", run="run-1", generation=1, lasts_s=900, stage="training")
FOUND, MISSING, UNREAD = Look(Standing.FOUND, LEASE, age_s=5), Look(Standing.MISSING), Look(Standing.UNREAD)
BEGUN = Memory.begun(1000)


def test_a_warden_that_has_just_started_waits_from_then_on() -> None:
    now = BEGUN.situation(1010)
    assert (now.up_s, now.still_s, now.alone_s, now.unread_s, now.ended_s) == (10, 10, 10, 10, 0)


def test_the_lease_goes_on_aging_while_the_bucket_is_silent() -> None:
    now = BEGUN.after(FOUND, Signs(), 1010).after(UNREAD, Signs(), 1100).situation(1100)
    assert (now.standing, now.age_s, now.unread_s, now.lease) == (Standing.UNREAD, 95, 90, LEASE)


def test_a_new_step_another_stage_and_another_holder_are_signs_of_life() -> None:
    memory = BEGUN.after(FOUND, Signs(step=5), 1010)
    assert memory.after(FOUND, Signs(step=5), 1100).situation(1100).still_s == 90
    assert memory.after(FOUND, Signs(step=6), 1100).situation(1100).still_s == 0
    for other in (replace(LEASE, generation=2), replace(LEASE, stage="ending"), replace(LEASE, run="run-2")):
        assert memory.after(Look(Standing.FOUND, other), Signs(step=5), 1100).situation(1100).still_s == 0


def test_a_renewed_lease_alone_is_no_step() -> None:
    memory = BEGUN.after(FOUND, Signs(step=5), 1010)
    renewed = Look(Standing.FOUND, replace(LEASE, step=99), age_s=0)
    assert memory.after(renewed, Signs(step=5), 5000).situation(5000).still_s == 3990


def test_the_step_of_the_lease_counts_where_the_launcher_tells_none() -> None:
    memory = BEGUN.after(FOUND, Signs(), 1010)
    told = Look(Standing.FOUND, replace(LEASE, step=99), age_s=0)
    assert memory.after(told, Signs(), 5000).situation(5000).still_s == 0


def test_the_end_of_the_training_counts_from_when_it_was_first_seen() -> None:
    ended = Look(Standing.FOUND, replace(LEASE, stage="ended"))
    memory = BEGUN.after(ended, Signs(), 1010).after(ended, Signs(), 1050)
    assert memory.situation(1060).ended_s == 50
    assert memory.after(FOUND, Signs(), 1070).situation(1080).ended_s == 0


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
