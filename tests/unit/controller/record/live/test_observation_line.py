"""Which observations people are told of: those that differ in what a person cares about, and progress now and then."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from controller.domain import Fact, Fleet, Observation, Progress, TrainingState, UnknownNode
from controller.domain.reasons import Said
from controller.record.live.observation_line import PROGRESS_EVERY_S, ObservationNews, describe
from controller.record.live.reporter import PlainReporter, Reporter
from controller.record.live.run_log import LogFormat, LogReporter

NOW = 1_800_000_000.0
FACT = Fact(
    "i-1", "c5.large", 0, 1, TrainingState.TRAINING, 10, 0.5, 0.4, 8.0, 100.0, 10, NOW, total_steps=1000, loss=2.5
)
SEEN = Observation(NOW, Fleet({"c5.large": 1}), (FACT,))


def progress(step: int, at: float = NOW) -> Progress:
    return Progress(step, 1000, 100 * step, NOW, at)


def later(seconds: float, observation: Observation = SEEN) -> Observation:
    return replace(observation, at=NOW + seconds)


@pytest.fixture
def news() -> ObservationNews:
    """What a person knows who was told of step 10."""
    known = ObservationNews()
    assert known.is_new(SEEN, progress(10))
    return known


def test_a_few_steps_more_are_no_news(news: ObservationNews) -> None:
    assert [news.is_new(later(5 * n), progress(10 + n)) for n in range(1, 6)] == [False] * 5


def test_progress_is_told_now_and_then(news: ObservationNews) -> None:
    told = [5 * n for n in range(1, 14) if news.is_new(later(5 * n), progress(10 + n))]
    assert told == [PROGRESS_EVERY_S, 2 * PROGRESS_EVERY_S]


def test_a_training_that_stands_still_is_told_once(news: ObservationNews) -> None:
    assert not any(news.is_new(later(5 * n), progress(10)) for n in range(1, 100))


def test_every_tenth_of_the_training_is_told_at_once(news: ObservationNews) -> None:
    assert not news.is_new(later(1), progress(99))
    assert news.is_new(later(2), progress(100))
    assert not news.is_new(later(3), progress(199))
    assert news.is_new(later(4), progress(200))


@pytest.mark.parametrize(
    "changed",
    [
        replace(SEEN, fleet=Fleet({"c5.large": 2})),
        replace(SEEN, unknown=(UnknownNode("i-2", "c5.large", Said("missing")),)),
        replace(SEEN, facts=()),
        replace(SEEN, facts=(replace(FACT, state=TrainingState.DRAINING),)),
    ],
)
def test_a_change_of_fleet_nodes_or_ranks_is_told_at_once(news: ObservationNews, changed: Observation) -> None:
    assert news.is_new(later(1, changed), progress(11))
    assert not news.is_new(later(2, changed), progress(12))
    assert news.is_new(later(3), progress(13)), "and so is the way back"


def test_an_observation_is_a_line() -> None:
    seen = replace(SEEN, unknown=(UnknownNode("i-2", "c5.large", Said("missing")),))
    line = "1 x c5.large, step 10 of 1000, loss 2.50, 0.50 s a step, 1 ranks train, 1 unknown, $0.5000 spent"
    assert describe(seen, progress(10), 0.5) == line


def lines_of(make: str) -> int:
    """How many lines a reporter writes of ten observations that say the same."""
    stream = io.StringIO()
    reporters: dict[str, Reporter] = {
        "plain": PlainReporter(stream),
        "text": LogReporter("r", LogFormat.TEXT, stream),
        "json": LogReporter("r", LogFormat.JSON, stream),
    }
    for n in range(10):
        reporters[make].observed(later(n), progress(10), 0.5)
    return len(stream.getvalue().splitlines())


def test_people_are_told_once_and_programs_every_time() -> None:
    assert (lines_of("plain"), lines_of("text"), lines_of("json")) == (1, 1, 10)
