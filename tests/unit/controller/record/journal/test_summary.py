"""An observation in a few numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from controller.domain import Fact, Fleet, MembershipChange, Observation, TrainingState, UnknownNode
from controller.domain.reasons.nodes import NotAsked
from controller.record.journal.summary import KEPT_NODES, from_plain, summarise, to_plain
from tests.unit.controller.record.synthetic import SyntheticRun

NOW = 1_800_000_000.0


def fact(number: int, **changes: object) -> Fact:
    usual = Fact(f"i-{number}", "c5.large", number, 2, TrainingState.TRAINING, 100 + number, 0.5, 0.3 + number / 100,
                 8.0, 600.0, 50, NOW, total_steps=1000, total_tokens=120_000, loss=3.5)  # fmt: skip
    return replace(usual, **changes)  # type: ignore[arg-type]


def seen(*facts: Fact, nodes: int = 2, unknown: tuple[UnknownNode, ...] = ()) -> Observation:
    return Observation(NOW, Fleet({"c5.large": nodes}), facts, unknown)


def test_a_fleet_that_trains_as_a_whole_has_a_cost_per_token() -> None:
    summary = summarise(seen(fact(0), fact(1)), usd_per_hour=0.19)
    assert (summary.ranks, summary.world_size, summary.is_whole) == (2, 2, True)
    assert (summary.step, summary.total_steps, summary.loss) == (101, 1000, 3.5)
    assert summary.tokens_per_s == 1200 / 0.5
    assert summary.usd_per_million_tokens(0.17) == pytest.approx(0.17 / 3600 / 2400 * 1e6)
    assert summary.slowest_compute_s == 0.31


@pytest.mark.parametrize(
    ("observation", "why"),
    [
        (seen(fact(0), nodes=2), "a node does not report"),
        (seen(fact(0), fact(1, world_size=3)), "the ranks are in two worlds"),
        (seen(fact(0), fact(1, window=0)), "a rank has measured nothing yet"),
        (seen(fact(0), fact(1, tokens=None)), "a rank does not tell its tokens"),
        (seen(), "nobody reports"),
    ],
)
def test_the_cost_per_token_is_unknown_where(observation: Observation, why: str) -> None:
    assert summarise(observation, 0.19).usd_per_million_tokens(0.17) is None, why


def test_what_ranks_say_that_do_not_train_counts_for_progress_only() -> None:
    finished = fact(0, state=TrainingState.FINISHED, step=1000, loss=1.5)
    summary = summarise(seen(finished, unknown=(UnknownNode("i-9", "c5.large", NotAsked()),)), 0.19)
    assert (summary.ranks, summary.unknown, summary.step, summary.loss) == (0, 1, 1000, 1.5)
    assert summary.flavors == {}


def test_many_nodes_are_stood_for_by_a_few_with_the_same_extremes() -> None:
    facts = [fact(number, world_size=500) for number in range(500)]
    times = summarise(seen(*facts, nodes=500), 42.0).flavors["c5.large"]
    assert times.nodes == 500
    assert len(times.compute_time_s) == len(times.tokens) == KEPT_NODES
    assert (times.compute_time_s[0], times.compute_time_s[-1]) == (0.3, 5.29)
    assert times.weight * KEPT_NODES == 500


def test_the_progress_is_that_of_the_median_rank() -> None:
    ranks = [fact(0, step=5, total_tokens=None), fact(1, step=7, total_tokens=900), fact(2, step=10**9)]
    summary = summarise(seen(*ranks), 0.19)
    assert (summary.step, summary.total_tokens) == (7, 900)


@pytest.mark.parametrize("first", [None, 0])
def test_of_ranks_at_the_same_step_the_median_of_their_tokens_counts(first: int | None) -> None:
    ranks = [fact(0, step=5, total_tokens=900), fact(1, step=5, total_tokens=first), fact(2, step=5, total_tokens=300)]
    assert summarise(seen(*ranks), 0.19).total_tokens == 300


def test_the_loss_is_that_of_a_rank_that_trains_and_tells_one() -> None:
    ranks = [fact(0, loss=2.5), fact(1, loss=None), fact(2, step=103, state=TrainingState.FINISHED, loss=9.0)]
    assert summarise(seen(*ranks), 0.19).loss == 2.5


def test_one_step_is_enough_to_be_measured() -> None:
    assert summarise(seen(fact(0, window=1), fact(1, window=1)), 0.19).is_whole


def test_joins_and_leaves_are_told_once_in_the_order_of_their_times() -> None:
    late, early = MembershipChange(NOW - 5, 1, 2, 0.7, 0), MembershipChange(NOW - 50, 2, 1, 0.5, 3)
    summary = summarise(seen(fact(0, last_change=late), fact(1, last_change=early), fact(2, last_change=late)), 0.19)
    assert summary.changes == ((NOW - 50, 2, 1, 0.5, 3), (NOW - 5, 1, 2, 0.7, 0))


def test_nodes_are_in_the_order_of_their_speed_and_rounded() -> None:
    slow = fact(0, compute_time_s=0.30000049, tokens=100.004)
    fast = fact(1, compute_time_s=0.40000051, tokens=900.006)
    times = summarise(seen(slow, fast), 0.19).flavors["c5.large"]
    assert times.compute_time_s == (0.400001, 0.3)
    assert times.tokens == (900.01, 100.0)


def test_every_node_stands_for_itself_up_to_the_most_that_are_kept() -> None:
    for count in (1, KEPT_NODES - 1, KEPT_NODES):
        facts = [fact(number, world_size=count) for number in range(count)]
        times = summarise(seen(*facts, nodes=count), 1.0).flavors["c5.large"]
        assert times.compute_time_s == tuple(round(0.3 + number / 100, 6) for number in range(count))


def test_it_comes_back_from_json_the_same() -> None:
    change = MembershipChange(NOW - 5, 3, 2, 0.7, 0)
    for observation in (seen(fact(0, last_change=change), fact(1, last_change=change)), seen()):
        summary = summarise(observation, 0.19)
        plain = json.loads(json.dumps(to_plain(summary)))
        assert from_plain(NOW, observation.fleet, 0.19, plain) == summary


def test_the_journal_keeps_one_for_each_observation(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    run.boot()
    run.train(3)
    observations = run.journal.observations()
    kept = list(run.journal.summaries())
    assert [summary.at for _, summary in kept] == [observation.at for observation in observations]
    assert [summary for _, summary in run.journal.summaries(after=kept[1][0])] == [summary for _, summary in kept[2:]]
