"""Speeds and communication, from noisy facts."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

import pytest

from controller.decide import DecideSettings
from controller.decide.model.communication import Communication, fit_communication
from controller.decide.model.speeds import Speed, measure_speeds
from controller.decide.samples.windows import samples_of
from controller.domain import EarlierSpeed, Fact, Flavor, Fleet, Observation, TrainingState
from controller.domain.reasons.flavors import BadNodesLeftOut, CreditsSpent, JudgedByBaseline

SETTINGS = DecideSettings()


def measured(
    looks: Sequence[Observation], earlier: Mapping[str, EarlierSpeed], settings: DecideSettings
) -> dict[str, Speed]:
    """Returns the speeds by what was seen."""
    return measure_speeds(samples_of(looks, settings), earlier, settings)


def fact(node: str, step: int, tokens_per_s: float, at: float, window: int = 50, wait_s: float = 0.1, size: int = 4):
    """A fact of a node that computes 1,000 tokens a step."""
    compute_s = 1000.0 / tokens_per_s
    return Fact(
        node, "c5.large", 0, size, TrainingState.TRAINING, step, compute_s + wait_s, compute_s, 8.0, 1000.0, window, at
    )


def observations(seed: int, count: int, cv: float = 0.10, tail: float = 0.0, nodes: int = 4) -> list[Observation]:
    """Windows of a flavor of 2,000 tokens/s whose steps vary, now and then by a factor of up to three."""
    rng = random.Random(seed)
    factors = [math.exp(rng.gauss(0, 0.03)) for _ in range(nodes)]
    found = []
    for number in range(count):
        facts = []
        for node, factor in enumerate(factors):
            noise = rng.gauss(0, 1.2533 * cv / math.sqrt(50)) - (rng.uniform(0, 1.1) if rng.random() < tail else 0.0)
            facts.append(fact(f"i-{node}", 50 * number + 100, 2000 * factor * math.exp(noise), 60.0 * number))
        found.append(Observation(60.0 * number, Fleet({"c5.large": nodes}), tuple(facts)))
    return found


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    hits = 0
    for seed in range(200):
        speed = measured(observations(seed, 8), {}, SETTINGS)["c5.large"]
        hits += speed.low <= 2000.0 <= speed.high
    assert hits / 200 >= 0.93


def test_a_heavy_tail_hardly_moves_the_speed():
    for seed in range(20):
        speed = measured(observations(seed, 10, tail=0.1), {}, SETTINGS)["c5.large"]
        assert speed.tokens_per_s == pytest.approx(2000.0, rel=0.08)


def test_the_interval_narrows_with_data_and_with_nodes():
    few = measured(observations(1, 2, nodes=1), {}, SETTINGS)["c5.large"]
    long = measured(observations(1, 20, nodes=1), {}, SETTINGS)["c5.large"]
    many = measured(observations(1, 20, nodes=8), {}, SETTINGS)["c5.large"]
    assert few.log_se > long.log_se > many.log_se


def test_speed_does_not_depend_on_the_size_of_the_batch():
    small = fact("i-0", 100, 2000.0, 0.0)
    large = Fact(**{**small.__dict__, "step": 200, "tokens": 5000.0, "compute_time_s": 2.5, "instance_id": "i-1"})
    speed = measured([Observation(0.0, Fleet({"c5.large": 2}), (small, large))], {}, SETTINGS)["c5.large"]
    assert speed.tokens_per_s == pytest.approx(2000.0)


def test_a_window_that_is_read_twice_counts_once():
    same = fact("i-0", 100, 2000.0, 0.0)
    seen = [Observation(float(at), Fleet({"c5.large": 1}), (same,)) for at in range(10)]
    assert measured(seen, {}, SETTINGS)["c5.large"].steps == 50


def test_a_slow_node_among_many_is_a_bad_node():
    facts = tuple(fact(f"i-{node}", 100, 1000.0 if node == 2 else 2000.0, 0.0) for node in range(5))
    speed = measured([Observation(0.0, Fleet({"c5.large": 5}), facts)], {}, SETTINGS)["c5.large"]
    assert speed.bad_nodes == {"i-2": pytest.approx(0.5)}
    assert speed.tokens_per_s == pytest.approx(2000.0)
    assert speed.notes == (BadNodesLeftOut(("i-2",)),)


def test_when_credits_are_spent_the_new_speed_counts_and_not_the_old():
    levels = [2000.0] * 10 + [600.0] * 6
    seen = [
        Observation(60.0 * n, Fleet({"c5.large": 1}), (fact("i-0", 50 * n, level, 60.0 * n),))
        for n, level in enumerate(levels)
    ]
    assert measured(seen, {}, SETTINGS)["c5.large"].tokens_per_s == pytest.approx(600.0)


def test_a_burstable_flavor_is_judged_by_what_it_sustains_before_and_after_its_credits_are_spent():
    settings = DecideSettings(flavors={"c5.large": Flavor("c5.large", burstable=True, baseline_share=0.3)})
    for levels in ([2000.0] * 8, [2000.0] * 10 + [600.0] * 6):
        seen = [
            Observation(60.0 * n, Fleet({"c5.large": 1}), (fact("i-0", 50 * n, level, 60.0 * n),))
            for n, level in enumerate(levels)
        ]
        speed = measured(seen, {}, settings)["c5.large"]
        assert speed.tokens_per_s == pytest.approx(600.0)
        assert speed.notes in ((JudgedByBaseline(0.3),), (CreditsSpent(),))


def test_a_speed_from_an_earlier_run_serves_until_the_flavor_is_measured():
    known = measured([], {"c5.large": EarlierSpeed(1900.0), "t2.large": EarlierSpeed(math.nan)}, SETTINGS)
    assert set(known) == {"c5.large"}
    assert known["c5.large"].tokens_per_s == 1900.0
    assert measured(observations(1, 4), {"c5.large": EarlierSpeed(1900.0)}, SETTINGS)["c5.large"].steps > 0


def sizes(truth, found):
    """Observations of a training at several world sizes."""
    return [
        Observation(
            float(size),
            Fleet({"c5.large": size}),
            tuple(fact(f"i-{n}", 100, 2000.0, float(size), wait_s=truth(size), size=size) for n in range(size)),
        )
        for size in found
    ]


def test_communication_is_found_again_between_the_sizes_that_were_measured():
    def truth(size):
        return 0.05 + 0.02 * math.log2(size) + 0.001 * (size - 1)

    fitted = fit_communication(sizes(truth, (2, 4, 8, 16, 32)), SETTINGS)
    for size in (3, 6, 12, 24):
        assert fitted.seconds(size) == pytest.approx(truth(size), rel=0.05)
    assert fitted.seconds(1) == 0.0


def test_one_measured_size_is_met_and_communication_never_falls_with_more_nodes():
    fitted = fit_communication(sizes(lambda size: 0.2, (6,)), SETTINGS)
    assert fitted.seconds(6) == pytest.approx(0.2, rel=0.01)
    times = [fitted.seconds(size) for size in range(1, 50)]
    assert times == sorted(times)
    assert all(coefficient >= 0 for coefficient in fitted.coefficients)


def test_a_slow_rank_is_not_taken_for_a_slow_network():
    facts = (fact("i-0", 100, 2000.0, 0.0, size=2), fact("i-1", 100, 500.0, 0.0, size=2))
    facts = tuple(Fact(**{**one.__dict__, "iteration_time_s": 2.1}) for one in facts)
    fitted = fit_communication([Observation(0.0, Fleet({"c5.large": 2}), facts)], SETTINGS)
    assert fitted.seconds(2) == pytest.approx(0.1, rel=0.01)


def test_nothing_measured_means_no_communication():
    assert fit_communication([], SETTINGS) == Communication()
