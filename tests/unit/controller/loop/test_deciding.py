"""What a decision is made from: each observation once, and what is known from earlier passes and runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller.decide import DecisionInput
from controller.domain import Decision, EarlierSpeed, Fleet, Observation, Verdict
from controller.domain.reasons import Said
from controller.loop import decide_on
from tests.unit.controller.harness import Controller

START = 1_800_000_000.0
FLEET = Fleet({"c5.large": 1})


def given_for(one: Controller, observation: Observation) -> DecisionInput:
    """Decides on an observation, and returns what was given."""
    seen: list[DecisionInput] = []

    def decide(given: DecisionInput) -> Decision:
        seen.append(given)
        return Decision(START, "p", Verdict.STAY, FLEET, FLEET, Said("nothing to do"))

    decide_on(observation, one.journal, one.prices, one.environment.limits(), decide)
    return seen[0]


def test_the_present_observation_comes_last_and_once_whether_or_not_the_journal_has_it(
    controller: Callable[..., Any],
) -> None:
    one = controller()
    earlier, now = Observation(START + 5, FLEET), Observation(START + 10, FLEET)
    one.journal.add_observation(earlier, 0.1)
    assert given_for(one, now).observations == (earlier, now)
    one.journal.add_observation(now, 0.1)
    assert given_for(one, now).observations == (earlier, now)


def test_a_speed_of_an_earlier_run_is_given_only_for_flavors_that_do_not_run(controller: Callable[..., Any]) -> None:
    one = controller()
    one.journal.set_recalled("circumstances", {"c5.large": EarlierSpeed(900.0), "t2.medium": EarlierSpeed(300.0, 0.2)})
    history = given_for(one, Observation(START, FLEET)).history
    assert history.earlier_speeds == {"t2.medium": EarlierSpeed(300.0, 0.2)}
