"""What follows from what is given: which flavors may be used, what is remembered, and what the end costs."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest

from controller.decide.given import DecisionInput
from controller.decide.limits.caps import UNBOUNDED
from controller.decide.model.communication import Communication
from controller.decide.model.estimates import flavor_estimates, node_usd_per_million_tokens
from controller.decide.model.situation import KEPT_OBSERVATIONS, Situation, assess
from controller.decide.model.speeds import Speed
from controller.decide.settings import DecideSettings
from controller.domain import (
    EarlierSpeed,
    Flavor,
    Fleet,
    History,
    Limits,
    Move,
    MovePhase,
    Observation,
    Price,
    Progress,
)
from controller.domain.batches import Batches
from controller.domain.reasons import Said
from controller.domain.reasons.flavors import KnownFromEarlierRun, NoPrice, NotMeasured
from tests.unit.controller.decide.model.test_communication import fact

NOW = 1000.0
PRICES = {"a": Price("a", 1.0), "b": Price("b", 4.0), "x": Price("x", -1.0)}


def look(at: float, **nodes: int) -> Observation:
    return Observation(at, Fleet(nodes), ())


def situation(
    *looks: Observation,
    limits: Limits | None = None,
    history: History | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Situation:
    """Two `a` run at the end, unless `looks` say otherwise."""
    seen = looks or (look(NOW, a=2),)
    return assess(
        DecisionInput(seen, PRICES, limits or Limits(), progress, history or History(), DecideSettings(**settings))
    )


def test_without_an_observation_nothing_can_be_decided() -> None:
    with pytest.raises(ValueError, match="at least one observation"):
        assess(DecisionInput((), PRICES, Limits()))


def test_the_last_observation_is_the_present() -> None:
    found = situation(look(NOW - 50.0, b=1), look(NOW, a=2))
    assert (found.now, found.current) == (NOW, Fleet({"a": 2}))
    assert (found.usd_per_hour, {*found.price_faults}) == ({"a": 1.0, "b": 4.0}, {"x"})


@pytest.mark.parametrize(
    ("flavors", "names"),
    [({}, ("a", "b", "new", "x")), ({"b": Flavor("b"), "c": Flavor("c")}, ("b", "c", "new"))],
)
def test_the_flavors_are_those_of_the_settings_or_with_a_price_and_those_that_run(
    flavors: dict[str, Flavor], names: tuple[str, ...]
) -> None:
    assert situation(look(NOW, new=1, none=0), flavors=flavors).flavors == names


def test_observations_are_kept_in_order_each_moment_once_and_only_those_with_a_time() -> None:
    again = look(5.0, b=1)
    found = situation(look(9.0, a=1), look(5.0, a=1), look(math.nan, a=1), again, look(NOW, a=2))
    assert found.observations == (again, look(9.0, a=1), look(NOW, a=2))


def test_of_each_flavor_and_size_the_last_observations_are_kept() -> None:
    one, two = ([look(start + n, **nodes) for n in range(40)] for start, nodes in ((0.0, {"a": 1}), (100.0, {"a": 2})))
    kept = situation(*one, *two).observations
    assert kept == (*one[-KEPT_OBSERVATIONS:], *two[-KEPT_OBSERVATIONS:])
    old, late = look(50.0, a=1, b=1), look(150.0, a=1, b=1)
    assert situation(old, *two).observations == (old, *two[-KEPT_OBSERVATIONS:]), "the only one of `b`"
    assert situation(*two, late).observations == (*two[-KEPT_OBSERVATIONS + 1 :], late), "it is one of `a` too"


def test_observations_that_bring_no_window_of_their_own_do_not_push_others_out() -> None:
    """A window of 50 steps takes ten passes here: 30 passes alone would be three windows."""

    def seen(number: int) -> Observation:
        return Observation(60.0 * number, Fleet({"c5.large": 1}), (fact(0, 1, step=5 * number, window=50),))

    found = situation(*[seen(number) for number in range(400)]).observations
    steps = [one.facts[0].step for one in found if one.facts]
    assert len(steps) == KEPT_OBSERVATIONS
    assert steps[-4:] == [1980, 1985, 1990, 1995], "the last ones are there, whatever they bring"
    assert all(later - earlier == 50 for earlier, later in pairwise(steps[:-4]))


def test_what_only_an_earlier_observation_of_a_window_has_is_kept() -> None:
    """Another fleet, or more nodes that report: it is no repetition."""
    at_four = tuple(fact(rank, 4) for rank in range(4))
    rows = [Observation(60.0 * n, Fleet({"c5.large": 4}), at_four[: 4 if n == 3 else 2]) for n in range(10)]
    rows[1] = Observation(60.0, Fleet({"c5.large": 3}), at_four[:2])
    kept = [one.at / 60 for one in situation(*rows).observations]
    assert kept == [0.0, 1.0, 3.0, 5.0, 6.0, 7.0, 8.0, 9.0]


@pytest.mark.parametrize(
    ("limits", "history", "caps"),
    [
        (Limits(), History(), {"a": UNBOUNDED, "b": UNBOUNDED}),
        (Limits(max_nodes_per_flavor={"a": 3, "b": 0}), History(), {"a": 3}),
        (Limits(excluded={"a": "slow"}), History(), {"b": UNBOUNDED}),
        (Limits(), History(unavailable={"a": NOW + 1, "b": NOW + 1}), {"a": 2}),
        (Limits(max_nodes_per_flavor={"a": 1}), History(unavailable={"a": NOW + 1}), {"a": 1, "b": UNBOUNDED}),
    ],
)
def test_the_caps_say_what_may_be_started_and_what_may_stay(
    limits: Limits, history: History, caps: dict[str, int]
) -> None:
    assert situation(limits=limits, history=history).bounds.caps == caps


def test_nodes_that_run_may_stay_where_more_of_their_flavor_could_not_be_had() -> None:
    """A failed move wanted one node of `a`, so that none would be allowed. Two run meanwhile."""
    failed = Move(1, NOW - 100, Fleet({}), Fleet({"a": 1}), Said("cheaper"), MovePhase.ROLLED_BACK, ended_at=NOW - 50)
    assert situation(history=History((failed,))).bounds.caps["a"] == 2


def test_a_flavor_whose_probe_told_nothing_is_not_started_again_for_now() -> None:
    moves = [(Fleet({"a": 2}), Fleet({"a": 2, "b": 1}), True), (Fleet({"a": 2, "b": 1}), Fleet({"a": 2}), False)]
    made = tuple(
        Move(number, NOW - 300 + 100 * number, *fleets, Said("x"), MovePhase.DONE, is_probe=probe, ended_at=NOW - 290)
        for number, (*fleets, probe) in enumerate(moves)
    )
    assert set(situation(history=History(made[:1])).bounds.caps) == {"a", "b"}
    assert set(situation(history=History(made)).bounds.caps) == {"a"}
    known = History(made, earlier_speeds={"b": EarlierSpeed(100.0)})
    assert set(situation(history=known).bounds.caps) == {"a", "b"}


@pytest.mark.parametrize(
    ("limits", "nodes", "most"),
    [
        (Limits(max_nodes=7), 2, 7),
        (Limits(), 2, UNBOUNDED),
        (Limits(min_nodes=3 * UNBOUNDED), 2, 3 * UNBOUNDED),
        (Limits(), UNBOUNDED, 2 * UNBOUNDED),
    ],
)
def test_without_a_limit_the_fleet_may_double_at_least(limits: Limits, nodes: int, most: int) -> None:
    bounds = situation(look(NOW, a=nodes), limits=limits).bounds
    assert (bounds.max_nodes, bounds.min_nodes) == (most, limits.min_nodes)


def test_limits_on_dollars_and_on_moves_are_handed_on() -> None:
    found = situation(limits=Limits(max_usd_per_hour=9.0, max_surge=3), head_usd_per_hour=0.5, ending_s=1800.0)
    assert found.bounds.max_usd_per_hour == 9.0
    surge = found.surge
    assert (surge.max_nodes, surge.max_usd_per_hour, surge.usd_per_hour) == (3, 9.0, found.usd_per_hour)
    assert surge.head_usd_per_hour == 0.5
    assert found.ending_usd == pytest.approx((0.5 + 2.0) / 2), "half an hour of two `a` and the head"


def test_the_remaining_steps_are_those_of_the_progress() -> None:
    assert situation().remaining_steps is None
    assert situation(progress=Progress(10, 100, 4000, 0.0, NOW)).remaining_steps == 90


SPEEDS = {"a": Speed(100.0, 0.1, steps=50, compute_time_s=2.0), "b": Speed(200.0, 0.2, is_measured=False)}


def with_speeds(one: Situation) -> Situation:
    one.__dict__["speeds"] = SPEEDS
    return one


def test_a_model_has_the_measured_speeds_or_those_it_is_given() -> None:
    progress = Progress(10, 100, 4000, 0.0, NOW)
    one = with_speeds(situation(progress=progress, head_usd_per_hour=0.5, batches=Batches.EQUAL))
    assert ([*one.measured], one.unmeasured(["x", "b", "a"])) == (["a"], ["b", "x"])
    measured, all_of_them = one.model(), one.model(SPEEDS)
    assert measured is not None and all_of_them is not None
    assert (measured.tokens_per_s, measured.log_se) == ({"a": 100.0}, {"a": 0.1})
    assert (all_of_them.tokens_per_s, all_of_them.log_se) == ({"a": 100.0, "b": 200.0}, {"a": 0.1, "b": 0.2})
    assert (measured.usd_per_hour, measured.tokens_per_step) == (one.usd_per_hour, 400.0)
    assert (measured.head_usd_per_hour, measured.batches) == (0.5, Batches.EQUAL)
    nothing = one.model({})
    assert nothing is not None and nothing.tokens_per_s == {}
    assert situation().model() is None, "the size of a batch is unknown"


@pytest.mark.parametrize(("counts", "seconds"), [(True, 0.1), (False, 0.0)])
def test_communication_counts_unless_the_settings_say_otherwise(counts: bool, seconds: float) -> None:
    seen = Observation(100.0, Fleet({"c5.large": 4}), tuple(fact(rank, 4) for rank in range(4)))
    one = situation(seen, count_communication=counts, progress=Progress(10, 100, 4000, 0.0, NOW))
    model = one.model()
    assert model is not None
    assert model.communication_s(4) == one.communication.seconds(4) == pytest.approx(seconds, rel=0.01)
    assert (one.communication == Communication()) is not counts


def test_what_is_known_of_each_flavor_is_told() -> None:
    """A node of `a` makes 0.36 million tokens an hour for $1."""
    found = {estimate.flavor: estimate for estimate in flavor_estimates(with_speeds(situation()))}
    assert [*found] == ["a", "b", "x"]
    a, b, x = found.values()
    assert (a.usd_per_hour, a.tokens_per_s, a.compute_time_s, a.observations, a.notes) == (1.0, 100.0, 2.0, 50, ())
    assert (a.tokens_per_s_low, a.tokens_per_s_high) == (SPEEDS["a"].low, SPEEDS["a"].high)
    assert a.usd_per_million_tokens == pytest.approx(1 / 0.36)
    assert (b.tokens_per_s, b.observations) == (200.0, 0)
    assert (x.usd_per_hour, x.tokens_per_s, x.tokens_per_s_low, x.tokens_per_s_high) == (None, None, None, None)
    assert (x.compute_time_s, x.usd_per_million_tokens, x.observations) == (None, None, 0)
    assert x.notes == (situation().barred["x"], NotMeasured())


@pytest.mark.parametrize("missing", ["speed", "price"])
def test_without_speed_or_price_the_dollars_per_token_are_unknown(missing: str) -> None:
    one = with_speeds(situation(look(NOW, new=1)))
    one.__dict__["speeds"] = {} if missing == "speed" else {"new": SPEEDS["a"]}
    assert node_usd_per_million_tokens(one, "a" if missing == "speed" else "new") is None


def test_a_flavor_that_is_barred_and_known_has_both_notes() -> None:
    one = situation(look(NOW, new=1), history=History(earlier_speeds={"new": EarlierSpeed(100.0)}))
    (new,) = [estimate for estimate in flavor_estimates(one) if estimate.flavor == "new"]
    assert new.notes == (NoPrice(), KnownFromEarlierRun())
