"""The journal: what was kept comes back the same, and a foreign file is refused."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.decide import DecisionInput
from controller.decide.model.situation import READ_OBSERVATIONS, assess
from controller.domain import (
    Decision,
    Fact,
    FlavorEstimate,
    Fleet,
    FleetEstimate,
    Limits,
    MembershipChange,
    Move,
    MovePhase,
    Observation,
    TrainingState,
    UnknownNode,
    Verdict,
)
from controller.domain.errors import JournalError
from controller.domain.reasons import Said
from controller.domain.reasons.moving import NoCapacity
from controller.domain.reasons.nodes import FactMissing
from controller.record.journal import Journal, Stage, observations
from controller.record.journal.observations import FORGOTTEN_AT_ONCE
from controller.record.journal.reasons import reason_from_plain
from controller.record.journal.runs import latest_run, start_run, unfinished_run
from controller.record.journal.schema import FILE_NAME
from controller.record.live.watcher import Watcher
from controller.record.report.html.packed_decisions import pack
from controller.record.report.html.page import make_page
from controller.record.report.html.run import read_run
from controller.record.report.report import make_report
from tests.unit.controller.record import synthetic
from tests.unit.controller.record.synthetic import SyntheticRun

NOW = 1_800_000_000.0
FLEET = Fleet({"c5.large": 2, "t2.medium": 0})
FACT = Fact(
    "i-1",
    "c5.large",
    0,
    2,
    TrainingState.TRAINING,
    10,
    0.5,
    0.4,
    8.0,
    100.0,
    10,
    NOW,
    1 << 20,
    None,
    100,
    2000,
    2.5,
    0.5,
    0.2,
    MembershipChange(NOW - 5, 1, 2, 1.5, 0),
)
OBSERVATION = Observation(NOW, FLEET, (FACT,), (UnknownNode("i-2", "c5.large", FactMissing()),))
MOVE = Move(1, NOW, FLEET, Fleet({"t2.medium": 2}), Said("cheaper"))


def long_run(runs: Path) -> Journal:
    """A run that returns to its first fleet, and is much longer than what is kept whole."""
    run = SyntheticRun(runs)
    run.boot()
    run.train(80)
    run.move(Fleet({"c5.large": 6}))
    run.train(60)
    run.move(run.initial)
    run.train(70)
    return run.end()


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return start_run(tmp_path, environment="test", policy="p", initial=FLEET, now=NOW)


def again(journal: Journal) -> Journal:
    """The journal as the next process opens it."""
    journal.close()
    return Journal(journal.directory)


def test_an_observation_comes_back_whole(journal: Journal) -> None:
    journal.add_observation(OBSERVATION, 0.1)
    assert again(journal).observations() == (OBSERVATION,)


def test_only_the_observations_since_a_time_come_back_when_asked(journal: Journal) -> None:
    for second in range(5):
        journal.add_observation(replace(OBSERVATION, at=NOW + second), 0.1)
    assert [o.at - NOW for o in journal.observations(since=NOW + 1)] == [1, 2, 3, 4]


def test_of_each_fleet_the_last_observations_come_back_and_each_is_read_once(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = Fleet({"c5.large": 1}), Fleet({"c5.large": 2})
    for second, fleet in enumerate([small, small, small, large, small, large]):
        journal.add_observation(replace(OBSERVATION, at=NOW + second, fleet=fleet), 0.1)
    assert [o.at - NOW for o in journal.recent(2)] == [2, 3, 4, 5]
    monkeypatch.setattr(Journal, "_observation", lambda self, number: pytest.fail("read again"))
    assert [o.at - NOW for o in journal.recent(2)] == [2, 3, 4, 5]


@settings(deadline=None, max_examples=30)  # each example is a file
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=60), st.integers(1, 4))
def test_deciding_on_the_recent_observations_sees_all_that_it_would_of_all(
    tmp_path_factory: pytest.TempPathFactory, fleets: list[tuple[int, int]], kept: int
) -> None:
    journal = start_run(tmp_path_factory.mktemp("run"), environment="test", policy="p", initial=FLEET, now=NOW)
    for second, (large, medium) in enumerate(fleets):
        fleet = Fleet({"c5.large": large, "t2.medium": medium})
        journal.add_observation(Observation(NOW + second, fleet), 0.1)
    whole, recent = journal.observations(), journal.recent(kept)
    journal.close()
    assert set(seen_of(recent, kept)) == set(seen_of(whole, kept))


def seen_of(observations: tuple[Observation, ...], kept: int) -> tuple[Observation, ...]:
    """What deciding keeps of observations, when it keeps so many of each flavor and fleet size."""
    if not observations:
        return ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("controller.decide.model.situation.KEPT_OBSERVATIONS", kept)
        return assess(DecisionInput(observations, {}, Limits())).observations


def test_whole_observations_are_kept_while_a_fleet_was_seen_seldom_and_the_last_ones_after_that(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observations, "KEPT_OF_EACH_FLEET", 30)
    small, large = Fleet({"c5.large": 1}), Fleet({"c5.large": 2})
    for second in range(100):
        journal.add_observation(replace(OBSERVATION, at=NOW + second, fleet=small if second < 10 else large), 0.1)
    assert [o.at - NOW for o in journal.observations()] == [*range(10), *range(70, 100)]
    assert [number for number, _ in journal.summaries()] == list(range(1, 101))


def test_what_is_kept_whole_is_what_deciding_reads() -> None:
    assert observations.KEPT_OF_EACH_FLEET == READ_OBSERVATIONS


def test_a_move_finds_all_that_was_seen_since_it_began_and_later_it_is_forgotten_step_by_step(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observations, "KEPT_OF_EACH_FLEET", 30)
    journal.save_move(replace(MOVE, at=NOW + 5, phase=MovePhase.JOINING))
    for second in range(100):
        journal.add_observation(replace(OBSERVATION, at=NOW + second), 0.1)
    assert [o.at - NOW for o in journal.observations(since=NOW + 5)] == list(range(5, 100))
    journal.save_move(replace(MOVE, at=NOW + 5, phase=MovePhase.DONE))
    kept = [len(journal.observations())]
    while kept[-1] > 30:
        journal.add_observation(replace(OBSERVATION, at=NOW + 100 + len(kept)), 0.1)
        kept.append(len(journal.observations()))
        assert 0 < kept[-2] - kept[-1] < FORGOTTEN_AT_ONCE


def test_fleets_that_never_come_again_take_a_bounded_room(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observations, "MOST_BYTES", 20_000)
    for second in range(300):
        journal.add_observation(replace(OBSERVATION, at=NOW + second, fleet=Fleet({"c5.large": second + 1})), 0.1)
    kept = journal.observations()
    assert 20 < len(kept) < 100 and kept[-1].at == NOW + 299
    assert len(list(journal.summaries())) == 300


def test_of_a_very_long_message_the_beginning_is_kept(journal: Journal) -> None:
    journal.add_event(NOW, "note", "x" * 4000)
    journal.add_event(NOW, "note", "y" * 104_000)
    short, long = [event["message"] for event in journal.events()]
    assert short == "x" * 4000
    assert long == "y" * 4000 + " ... (100,000 more characters)"


def test_a_clock_that_steps_back_loses_no_summary(journal: Journal) -> None:
    for second in [*range(40), *range(-3600, -3560)]:
        journal.add_observation(replace(OBSERVATION, at=NOW + second), 0.1)
    assert [number for number, _ in journal.summaries()] == list(range(1, 81))


@pytest.mark.parametrize("make", [synthetic.running_run, long_run])
def test_what_is_shown_of_a_run_is_the_same_as_if_all_of_it_were_kept(
    make: Callable[[Path], Journal], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observations, "KEPT_OF_EACH_FLEET", 30)
    bounded = make(tmp_path / "bounded")
    monkeypatch.setattr(observations, "FORGOTTEN_AT_ONCE", 0)
    whole = make(tmp_path / "whole")
    if make is long_run:
        assert len(bounded.observations()) < len(whole.observations()) / 2
    assert shown(bounded) == shown(whole)


def shown(journal: Journal) -> list[Any]:
    """What a person or the deciding sees of a run: report, page, view, decisions, money, and the last observations."""
    now = synthetic.BEGAN + 9000
    report = make_report(journal, synthetic.PRICES, now)
    watcher = Watcher(journal, synthetic.PRICES)
    watcher.look(now)
    return [
        report,
        make_page(read_run(journal, report)),
        watcher.view.__dict__,
        list(journal.decisions_after(0)),
        [journal.spent_usd(), journal.spent_usd(now), journal.spent_usd(synthetic.BEGAN + 100)],
        journal.recent(observations.KEPT_OF_EACH_FLEET),
        list(journal.summaries()),
        journal.events(),
    ]


def test_a_decision_comes_back_whole(journal: Journal) -> None:
    decision = Decision(
        NOW,
        "p",
        Verdict.MOVE,
        FLEET,
        Fleet({"t2.medium": 2}),
        Said("cheaper"),
        (FlavorEstimate("c5.large", 0.1, 100.0, 90.0, 110.0, 0.4, 0.3, 50),),
        (FleetEstimate(FLEET, 0.5, 200.0, 0.2, 0.3, 60.0, 0.1),),
        0.2,
        0.1,
    )
    journal.add_decision(decision)
    assert again(journal).last_decision() == decision


@pytest.mark.parametrize("phase", list(MovePhase))
def test_a_move_comes_back_whole_in_every_phase(journal: Journal, phase: MovePhase) -> None:
    move = replace(
        MOVE,
        phase=phase,
        grown=("i-3",),
        drain=("i-1", "i-2"),
        outcome_reason=Said("why"),
        ended_at=NOW + 9,
        pause_s=1.5,
        steps_lost=0,
    )
    journal.save_move(MOVE)
    journal.save_move(move)
    reopened = again(journal)
    assert reopened.moves() == (move,)
    assert reopened.move_under_way() == (None if phase.is_final else move)


def test_money_is_integrated_over_time_and_not_over_observations(journal: Journal) -> None:
    for second, usd_per_hour in ((0, 1.0), (1800, 2.0), (1801, 2.0), (3600, 0.5)):
        journal.add_observation(replace(OBSERVATION, at=NOW + second), usd_per_hour)
    assert journal.spent_usd() == pytest.approx(0.5 + 1.0)
    assert journal.spent_usd(until=NOW + 7200) == pytest.approx(2.0)


def test_nothing_is_spent_before_anything_was_seen(journal: Journal) -> None:
    assert journal.spent_usd(until=NOW + 3600) == 0.0


def test_an_unavailable_flavor_is_forgotten_in_time(journal: Journal) -> None:
    journal.set_unavailable("c5.large", NOW + 10, NoCapacity({"c5.large": "none left"}))
    assert journal.unavailable(NOW) == {"c5.large": (NOW + 10, NoCapacity({"c5.large": "none left"}))}
    assert journal.unavailable(NOW + 10) == {}


def test_the_unfinished_run_of_an_environment_is_found_again_and_an_ended_one_is_not(tmp_path: Path) -> None:
    own = start_run(tmp_path, environment="test", policy="p", initial=FLEET, now=NOW)
    start_run(tmp_path, environment="other", policy="p", initial=FLEET, now=NOW + 1)
    found = unfinished_run(tmp_path, "test")
    assert found is not None
    assert found.info() == own.info()
    found.set_stage(Stage.ENDED)
    assert unfinished_run(tmp_path, "test") is None
    latest = latest_run(tmp_path)
    assert latest is not None
    assert latest.info().environment == "other"


def test_two_runs_in_the_same_second_have_folders_of_their_own(tmp_path: Path) -> None:
    runs = [start_run(tmp_path, environment="test", policy="p", initial=FLEET, now=NOW) for _ in range(3)]
    assert [run.info().run for run in runs] == ["20270115T080000Z", "20270115T080000Z-2", "20270115T080000Z-3"]
    assert (tmp_path / "latest").resolve() == runs[-1].directory


def test_a_file_that_is_no_journal_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").write_bytes(b"this is no database, but it is long enough to look like one" * 20)
    with pytest.raises(JournalError, match="can't be read") as error:
        Journal(tmp_path)
    assert "Move that run's folder away" in error.value.next_step


def test_a_journal_of_another_version_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "journal.sqlite") as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(JournalError, match="has schema 99"):
        Journal(tmp_path)


def test_a_process_killed_while_a_run_begins_leaves_no_torn_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = partial(start_run, tmp_path, environment="test", policy="p", initial=Fleet({"c5.large": 1}), now=NOW)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("controller.record.journal.schema.os.replace", killed)
        begin()
    assert unfinished_run(tmp_path, "test") is None
    assert latest_run(tmp_path) is None
    assert begin().info().initial == Fleet({"c5.large": 1})
    assert unfinished_run(tmp_path, "test") is not None


def made_by_an_older_centavo(journal: Journal) -> Journal:
    """The journal with reasons as plain text, as they were kept before reasons had codes."""
    decision = {
        "at": NOW, "policy": "p", "verdict": "refuse", "current": {"c5.large": 2}, "target": {"c5.large": 2},
        "reason": "no capacity", "flavors": [], "fleets": [],
        "saving_usd": None, "switching_usd": None, "is_probe": False,
    }  # fmt: skip
    journal.close()
    with sqlite3.connect(journal.directory / FILE_NAME) as database:
        database.execute(
            "INSERT INTO decisions (at, policy, verdict, reason, decision) VALUES (?, 'p', 'refuse', ?, ?)",
            (NOW, "no capacity", json.dumps(decision)),
        )
        database.execute(
            "INSERT INTO moves (move_id, at, source, target, reason, phase, grown, drain, outcome_reason)"
            " VALUES (1, ?, ?, ?, 'cheaper', 'rolled_back', '[]', '[]', 'no capacity')",
            (NOW, '{"c5.large":2}', '{"t2.medium":2}'),
        )
    return Journal(journal.directory)


@pytest.mark.parametrize("raw", [{"code": "cooling-down"}, {"code": "of-another-version"}])
def test_a_reason_of_another_version_is_kept_as_words(raw: dict[str, str]) -> None:
    assert reason_from_plain(raw) == Said(raw["code"])
    assert reason_from_plain({**raw, "share": 0.5}) == Said(f"{raw['code']}: share 0.5")


def test_a_run_that_an_older_centavo_began_is_read_on(journal: Journal) -> None:
    older = made_by_an_older_centavo(journal)
    [decision], [move] = list(older.decisions()), older.moves()
    assert (decision.reason, decision.fleets, decision.bad_nodes) == (Said("no capacity"), (), ())
    assert (move.reason, move.outcome_reason) == (Said("cheaper"), Said("no capacity"))
    report = make_report(older, {}, NOW)
    assert (report["moves"][0]["reason"], report["moves"][0]["reason_code"]) == ("cheaper", "said")
    assert len(pack(older.plain_decisions(), NOW)) > 0
