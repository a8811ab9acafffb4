"""Which probes are worthwhile and what is expected of them, beside all fleets tried one by one.

A node of `a` makes 100 tokens a second for $1 an hour, a node of `b` 200 for $4. A step has 1,000 tokens. The other
flavors were never measured: a hint says how fast they may be.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from controller.decide.exploration.outlook import Ahead
from controller.decide.exploration.probes import (
    HOPE_SHARE,
    HOPE_Z,
    MAX_JUDGED,
    MAX_PROBES_PER_MOVE,
    OTHER_QUANTILES,
    Exploration,
)
from controller.decide.model.fleet_model import FleetModel
from controller.decide.model.forecaster import Forecaster
from controller.decide.model.hardware.prior import HINT_LOG_SE
from controller.decide.model.situation import Situation
from controller.decide.model.speeds import Speed
from controller.decide.settings import DecideSettings, SpeedSpread, SwitchingAssumptions
from controller.domain import NO_NODES, Flavor, Fleet, History, Limits, Progress
from controller.domain.objective import Objective

SPEEDS = {"a": Speed(100.0, 0.01, steps=500), "b": Speed(200.0, 0.01, steps=500)}
USD_PER_HOUR = {"a": 1.0, "b": 4.0}
TWO_A = Fleet({"a": 2})
TIMES = SwitchingAssumptions(boot_s=40.0, configure_s=60.0, pause_s=10.0, drain_s=36.0)


def exploring(
    new: Mapping[str, tuple[float, float]],
    current: Fleet = TWO_A,
    limits: Limits | None = None,
    speeds: Mapping[str, Speed] | None = None,
    steps: int = 20_000,
    **settings: Any,
) -> Exploration:
    """Explores on top of the present fleet, with two nodes at most unless `limits` say otherwise.

    Args:
        new: Price and hinted tokens per second of the flavors that were never measured.
        speeds: What was measured.
    """
    hints = {flavor: tokens_per_s for flavor, (_, tokens_per_s) in new.items()}
    values = {"switching": TIMES, "probe_share": 1.0, "saving_margin": 0.0, "hints_tokens_per_s": hints}
    prices = {**USD_PER_HOUR, **{flavor: usd for flavor, (usd, _) in new.items()}}
    situation = Situation(
        now=1000.0,
        current=current,
        observations=(),
        usd_per_hour=prices,
        price_faults={},
        limits=limits or Limits(1, 2),
        progress=Progress(1000, 1000 + steps, 1_000_000, 0.0, 1000.0),
        history=History(),
        settings=DecideSettings(**{**values, **settings}),
        flavors=tuple(sorted(prices)),
    )
    situation.__dict__["speeds"] = dict(SPEEDS if speeds is None else speeds)
    tokens_per_s = {flavor: speed.tokens_per_s for flavor, speed in situation.speeds.items()}
    model = FleetModel(tokens_per_s, prices, 1000.0, lambda size: 0.25 * (size - 1))
    forecaster = Forecaster.of(situation, model, situation.bounds)
    return Exploration(forecaster, forecaster.stay)


def best(one: Exploration, tokens_per_s: Mapping[str, float], objective: Objective) -> tuple[float, Fleet]:
    """Returns the least dollars, or seconds, of the rest of the work on any allowed fleet of one node or two."""
    model, steps = one.forecaster.model.with_speeds(tokens_per_s), one.forecaster.remaining_steps
    known, most_usd = [*model.tokens_per_s], one.forecaster.bounds.max_usd_per_hour or math.inf
    pairs = [Fleet.counted(nodes) for size in (1, 2) for nodes in itertools.combinations_with_replacement(known, size)]
    fleets = [fleet for fleet in pairs if model.fleet_usd_per_hour(fleet) <= most_usd]
    measure = model.usd_per_step if objective is Objective.COST else model.step_time_s
    chosen = min(fleets, key=measure)
    return steps * measure(chosen), chosen


def least(one: Exploration, tokens_per_s: Mapping[str, float], objective: Objective) -> float:
    return best(one, tokens_per_s, objective)[0]


def expected_gain(one: Exploration, flavor: str, hint: float, objective: Objective) -> float:
    """Returns the gain over the quantiles of the speed; seconds count as the present fleet's dollars.

    It begins when the probe has grown, has made its steps, and the flavor has been grown, which is to be paid for.
    """
    usd_each = 1.0 if objective is Objective.COST else 2 * USD_PER_HOUR["a"] / 3600
    stay, settings = one.forecaster.stay, one.forecaster.situation.settings
    lost_s = settings.probe_steps * one.forecaster.model.step_time_s(stay.target) + 2 * TIMES.grow_s
    gain = 0.0
    for z, share in ((HOPE_Z, HOPE_SHARE), *OTHER_QUANTILES):
        then, fleet = best(one, {flavor: hint * math.exp(z * HINT_LOG_SE)}, objective)
        usd = (least(one, {}, objective) - then) * usd_each * (1 - lost_s / stay.remaining_s)
        if usd > 0:
            gain += share * max(0.0, usd - one.forecaster.switching_usd(stay.target, fleet))
    return gain


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("hint", [170.0, 300.0, 1000.0])
def test_a_probe_is_expected_to_gain_what_the_quantiles_of_its_speed_gain(objective: Objective, hint: float) -> None:
    one = exploring({"n": (1.25, hint)}, objective=objective)
    target, probes = one.worthwhile()
    expected = expected_gain(one, "n", hint, objective)
    (probe,) = probes
    assert target == Fleet({"a": 1, "n": 1})
    assert probe.gain_usd == pytest.approx(expected, rel=2e-3)
    assert probe.cost_usd == pytest.approx(one.cost.planned_usd(target, {"n": hint}))
    assert probe.guess == Speed(hint, HINT_LOG_SE, is_measured=False)


def test_a_gain_is_that_of_the_best_mixed_fleet_within_the_dollars_an_hour() -> None:
    """Two `b` are too expensive, so that `a` and `b` are the fastest fleet, and after the probe `b` and `n`."""
    one = exploring(
        {"n": (2.0, 150.0)}, limits=Limits(1, 2, max_usd_per_hour=7.0), steps=100_000, objective=Objective.TIME
    )
    (probe,) = one.worthwhile()[1]
    assert probe.gain_usd == pytest.approx(expected_gain(one, "n", 150.0, Objective.TIME), rel=2e-3)


def test_a_gain_is_searched_among_few_sizes_where_fleets_may_be_large() -> None:
    one = exploring({"n": (1.0, 300.0)}, limits=Limits(1, 5000))
    sizes = set[int]()

    def communication_s(size: int) -> float:
        sizes.add(size)
        return 0.25 * (size - 1)

    model = replace(one.forecaster.model, communication_s=communication_s)
    assert len(Exploration(replace(one.forecaster, model=model), one.base).worthwhile()[1]) == 1
    assert len(sizes) < 250


def test_a_flavor_that_gains_nothing_is_not_measured_even_where_that_costs_nothing() -> None:
    nothing = SwitchingAssumptions(boot_s=0.0, configure_s=0.0, pause_s=0.0, drain_s=0.0)
    for hint, count in ((1.0, 0), (300.0, 1)):
        one = exploring({"n": (1.0, hint)}, switching=nothing, cooldown_s=0.0, probe_steps=0)
        assert one.cost.planned_usd(Fleet({"a": 1, "n": 1}), {"n": hint}) == 0.0
        assert len(one.worthwhile()[1]) == count


def test_slower_quantiles_that_gain_nothing_add_nothing() -> None:
    """Of the five speeds of `n`, only the best two beat `a`, by less than a dollar each."""
    one = exploring({"n": (1.25, 100.0)}, steps=15_000)
    (probe,) = one.worthwhile()[1]
    gains = [expected_gain(one, "n", 100.0, Objective.COST)]
    assert 0 < gains[0] < 1
    assert probe.gain_usd == pytest.approx(gains[0], rel=2e-3)


SPEEDS_OF_MANY = {"u": 600.0, "v": 800.0, "w": 900.0, "x": 500.0, "y": 700.0, "z": 1100.0}
MANY = {flavor: (1.0, tokens_per_s) for flavor, tokens_per_s in SPEEDS_OF_MANY.items()}
ROOMY = Limits(1, 8)


def test_the_most_gain_for_the_money_comes_first_and_only_so_many_at_once() -> None:
    target, probes = exploring(MANY, limits=ROOMY).worthwhile()
    assert len(MANY) > MAX_PROBES_PER_MOVE == 5
    assert [probe.flavor for probe in probes] == ["z", "w", "v", "y", "u"]
    assert target == Fleet({"a": 2, "u": 1, "v": 1, "w": 1, "y": 1, "z": 1})


def test_what_was_measured_surely_in_this_run_or_runs_already_is_not_measured_again() -> None:
    sure, known = Speed(500.0, 0.03, steps=100, nodes=2), Speed(500.0, 0.3)
    new = {"n": (1.0, 10.0)}
    for speed, probed in ((sure, []), (known, ["n"])):
        one = exploring(new, speeds={**SPEEDS, "n": speed}, limits=ROOMY)
        assert [probe.flavor for probe in one.worthwhile()[1]] == probed
    from_earlier = {"a": Speed(100.0, 1.0), "b": SPEEDS["b"]}
    assert exploring({}, speeds=from_earlier, limits=ROOMY).worthwhile() == (TWO_A, [])


def test_in_a_full_fleet_the_flavor_with_the_most_expensive_tokens_gives_way() -> None:
    """`a` pays 1.2 cents per 100 tokens, `b` 0.4 cents. `b` has the later name, more speed and the higher price."""
    speeds = {"a": Speed(100.0, 0.01, steps=500), "b": Speed(4000.0, 0.01, steps=500)}
    target, probes = exploring({"n": (1.0, 9000.0)}, Fleet({"a": 1, "b": 1}), speeds=speeds).worthwhile()
    assert target == Fleet({"b": 1, "n": 1}) and [probe.flavor for probe in probes] == ["n"]


@pytest.mark.parametrize(
    ("limits", "target"),
    [
        (Limits(1, 8, max_usd_per_hour=8.0), {"a": 2, "n": 1}),
        (Limits(1, 8, max_usd_per_hour=3.5), None),
        (Limits(1, 2, max_usd_per_hour=8.0), {"a": 1, "n": 1}),
        (Limits(1, 2, max_surge=1), {"a": 1, "n": 1}),
        (Limits(1, 2, max_surge=0), None),
        (Limits(1, 3, max_surge=0), {"a": 2, "n": 1}),
        (Limits(1, 8, max_usd_per_hour=4.0), {"a": 2, "n": 1}),
    ],
)
def test_a_probe_keeps_the_limits_on_nodes_dollars_and_what_runs_during_a_move(
    limits: Limits, target: dict[str, int] | None
) -> None:
    """A node of `n` costs $2 an hour, and two `a` cost as much."""
    found, probes = exploring({"n": (2.0, 2000.0)}, limits=limits).worthwhile()
    assert (found, len(probes)) == ((TWO_A, 0) if target is None else (Fleet(target), 1))


def test_a_gain_must_exceed_the_usual_margin_of_what_remains() -> None:
    """The best that `n` can bring is about two thirds of what remains."""
    for margin, count in ((0.5, 1), (0.9, 0)):
        assert len(exploring({"n": (1.0, 200.0)}, saving_margin=margin, steps=40_000).worthwhile()[1]) == count


def test_the_probe_budget_must_cover_a_probe_that_does_no_work() -> None:
    """At the upper end of its interval, the probe costs its switch alone. Without work it costs all its time, too."""
    free = exploring({"n": (1.0, 150.0)}, limits=ROOMY, probe_steps=100)
    target, (probe,) = free.worthwhile()
    rest_usd = least(free, {}, Objective.COST)
    idle_usd, good_usd = (free.cost.planned_usd(target, {"n": speed}) for speed in (1e-6, probe.guess.high))
    good_share = good_usd / least(free, {"n": probe.guess.high}, Objective.COST)
    assert good_share < 0.9 * idle_usd / rest_usd
    for share, count in ((1.1 * idle_usd / rest_usd, 1), (0.95 * idle_usd / rest_usd, 0)):
        one = exploring({"n": (1.0, 150.0)}, limits=ROOMY, probe_steps=100, probe_share=share)
        assert len(one.worthwhile()[1]) == count


def test_the_probe_budget_must_cover_a_probe_that_makes_the_rest_cheap() -> None:
    """`n` may make the rest thirty times as cheap, so that the switch to the probe is a larger share of it."""
    free = exploring({"n": (1.0, 3000.0)}, limits=ROOMY, steps=100_000)
    target, (probe,) = free.worthwhile()
    idle_usd, good_usd = (free.cost.planned_usd(target, {"n": speed}) for speed in (1e-6, probe.guess.high))
    idle_share = idle_usd / least(free, {}, Objective.COST)
    good_share = good_usd / least(free, {"n": probe.guess.high}, Objective.COST)
    assert good_share > 1.2 * idle_share
    for share, count in ((1.02 * good_share, 1), (0.98 * good_share, 0)):
        one = exploring({"n": (1.0, 3000.0)}, limits=ROOMY, steps=100_000, probe_share=share)
        assert len(one.worthwhile()[1]) == count


@pytest.mark.parametrize(
    ("usd_per_hour", "spread", "is_probed"),
    [
        (6.0, SpeedSpread(), True),
        (12.0, SpeedSpread(), False),
        (6.0, SpeedSpread(flavors=6.0), False),
        (3.0, SpeedSpread(flavors=1e6), False),
    ],
)
def test_what_would_have_to_be_far_faster_than_expected_is_measured_while_little_is_known(
    usd_per_hour: float, spread: SpeedSpread, is_probed: bool
) -> None:
    """One flavor was measured, and much work is left, so that measuring costs next to nothing. By its vCPUs `n` is as
    fast as `a`, for six times the price: it has to be six times as fast as expected.
    """
    one = exploring(
        {"n": (usd_per_hour, 0.0)},
        limits=Limits(1, 8, max_nodes_per_flavor={"b": 0}),
        speeds={"a": SPEEDS["a"]},
        steps=10_000_000,
        flavors={name: Flavor(name, vcpus=2) for name in "abn"},
        hints_tokens_per_s={},
        spread=spread,
    )
    assert [probe.flavor for probe in one.worthwhile()[1]] == ["n"] * is_probed


def test_those_that_could_win_the_most_are_judged_however_dear_their_probe_is() -> None:
    """Nine flavors with a cheap node could make a token a little cheaper. `z` could make it far cheaper by large nodes.

    A node of `z` costs so much that its probe brings the least for the money at best.
    """
    small = {f"n{number}": (0.1, 14.0) for number in range(MAX_JUDGED)}
    one = exploring({**small, "z": (40.0, 9000.0)}, limits=ROOMY, steps=200_000)
    assert "z" in [probe.flavor for probe in one._promising()]


def test_the_probe_budget_may_be_spent_to_the_last_cent() -> None:
    free = exploring({"n": (1.0, 150.0)}, limits=ROOMY)
    target, _ = free.worthwhile()
    idle_usd, rest_usd = free.cost.planned_usd(target, {"n": 1e-6}), free.outlook.known.usd
    share = idle_usd / rest_usd
    assert share * rest_usd == idle_usd
    for enough, count in ((share, 1), (math.nextafter(share, 0.0), 0)):
        assert len(exploring({"n": (1.0, 150.0)}, limits=ROOMY, probe_share=enough).worthwhile()[1]) == count


def test_without_any_allowed_fleet_what_lies_ahead_is_worth_nothing_finite() -> None:
    one = exploring({}, limits=Limits(1, 2, max_usd_per_hour=0.5))
    assert one.outlook.known == Ahead(NO_NODES, math.inf, math.inf)


@pytest.mark.parametrize("steps", [20_000, 100])
def test_a_flavor_that_would_make_a_fleet_allowed_is_measured_however_little_work_is_left(steps: int) -> None:
    """`a` and `b` are excluded, so that no fleet is known that may run. 100 steps are over when a probe is measured."""
    one = exploring({"n": (1.0, 10.0)}, limits=Limits(1, 3, excluded={"a": "tested", "b": "tested"}), steps=steps)
    assert one.outlook.known.worth == math.inf
    target, probes = one.worthwhile()
    assert (target, [probe.flavor for probe in probes]) == (Fleet({"a": 2, "n": 1}), ["n"])
