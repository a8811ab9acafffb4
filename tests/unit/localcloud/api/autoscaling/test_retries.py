"""Pauses after failures."""

from __future__ import annotations

from localcloud.api.autoscaling.retries import Retries


def test_a_pause_holds_for_one_process_of_one_group() -> None:
    retries = Retries(retry_s=60)
    retries.pause("a", "Launch")
    assert not retries.may_try("a", "Launch")
    assert retries.may_try("a", "Terminate")
    assert retries.may_try("b", "Launch")


def test_a_pause_can_be_ended_and_ends_by_itself() -> None:
    retries = Retries(retry_s=60)
    retries.pause("a", "Launch")
    retries.pause("b", "Launch")
    retries.end_pauses_of("a")
    assert retries.may_try("a", "Launch")
    assert not retries.may_try("b", "Launch")
    short = Retries(retry_s=0)
    short.pause("a", "Launch")
    assert short.may_try("a", "Launch")
