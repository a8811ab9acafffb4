"""The time limits of health follow from those of a move, and centavo.yml may set each of them."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from controller.config.settings import ControllerSettings


def test_nothing_that_a_move_waits_for_counts_as_a_fault() -> None:
    settings = ControllerSettings.model_validate({"timeouts": {"boot_s": 700, "join_s": 400}})
    limits = settings.health_limits
    assert (limits.stall_s, limits.rank_s, limits.remedy_s) == (1200, 800, 400)
    assert (limits.boot_s, limits.head_s) == (700, 700)


def test_each_limit_may_be_set() -> None:
    given = {"stall_s": 1, "finish_s": 2, "rank_s": 3, "silent_s": 4, "head_s": 5, "service_s": 6, "remedy_s": 7}
    limits = ControllerSettings.model_validate({"health": {**given, "tries": 8}}).health_limits
    assert {name: getattr(limits, name) for name in given} == given and limits.tries == 8


@pytest.mark.parametrize("given", [{"stall_s": 0}, {"tries": 0}, {"stal_s": 60}])
def test_what_is_no_limit_is_refused(given: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        ControllerSettings.model_validate({"health": given})


@pytest.mark.parametrize(("interval_s", "gap_s"), [(5, 60), (60, 240)])
def test_of_the_time_between_two_looks_a_few_intervals_count(interval_s: float, gap_s: float) -> None:
    assert ControllerSettings(interval_s=interval_s).health_limits.gap_s == gap_s


def test_a_training_stops_before_its_budget_by_a_look_and_the_ending() -> None:
    assert ControllerSettings(interval_s=5, ending_s=20).stop_ahead_s == 25
