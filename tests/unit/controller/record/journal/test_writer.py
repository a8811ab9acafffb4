"""One writer of a journal: the controller that took the run over last. A full disk ends no controller."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from controller.config.constraints import NO_CONSTRAINTS
from controller.domain import Decision, Fleet, Move, NoticeKind, Observation, Verdict
from controller.domain.errors import DiskError, SupersededError
from controller.domain.move import MovePart
from controller.domain.observed.spot import Exposure, Noticed, Shortage
from controller.domain.reasons import Said
from controller.domain.reasons.moving import NoCapacity
from controller.domain.reasons.writing import NotWritten, RunTakenOver
from controller.record.environment_lock import locked
from controller.record.journal import Journal, Stage
from controller.record.journal.runs import start_run
from controller.record.journal.table import Losses
from tests.unit.controller.record.full_disk import full_disk

NOW = 1_800_000_000.0
FLEET = Fleet({"c5.large": 2})
LONG = "x" * 20_000
DECISION = Decision(NOW, "p", Verdict.STAY, FLEET, FLEET, Said("cheapest"), (), ())
MUST: dict[str, Callable[[Journal], object]] = {
    "stage": lambda journal: journal.set_stage(Stage.TRAINING),
    "end": lambda journal: journal.end("finished", None, NOW),
    "goal": lambda journal: journal.set_plain_goal({"target": FLEET}),
    "members": lambda journal: journal.set_members(frozenset({"i-1"})),
    "move": lambda journal: journal.save_move(Move(1, NOW, FLEET, FLEET, Said("cheaper"))),
    "policy": lambda journal: journal.set_policy("cheapest-fleet"),
    "first fleet": lambda journal: journal.set_initial(FLEET),
    "shortage": lambda journal: journal.set_shortage(Shortage(FLEET, NOW)),
    "waiting": lambda journal: journal.set_waiting(Said("no capacity")),
    "waited": lambda journal: journal.end_waiting(5.0),
    "earlier losses": lambda journal: journal.set_earlier_losses({"c5.large": Exposure(1, 2.0)}),
    "earlier durations": lambda journal: journal.set_earlier_durations({MovePart.BOOT: (5.0,)}),
    "lease generation": lambda journal: journal.set_lease_generation(3),
    "constraints": lambda journal: journal.keep_constraints(NO_CONSTRAINTS, NO_CONSTRAINTS),
}
MAY: dict[str, Callable[[Journal], object]] = {
    "observations": lambda journal: journal.add_observation(Observation(NOW, FLEET), 0.1),
    "decisions": lambda journal: journal.add_decision(DECISION),
    "events": lambda journal: journal.add_event(NOW, "note", LONG),
    "spot notices": lambda journal: journal.add_noticed(Noticed("i-1", "c5.large", NoticeKind.INTERRUPTION, NOW)),
    "durations": lambda journal: journal.add_duration(MovePart.BOOT, 5.0),
    "speeds": lambda journal: journal.set_recalled(LONG, {}),
    "waits of flavors": lambda journal: journal.set_unavailable("c5.large", NOW, NoCapacity({"c5.large": LONG})),
}


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def journal(tmp_path: Path, told: list[str]) -> Journal:
    made = start_run(tmp_path / "runs", environment="test", policy="p", initial=FLEET, now=NOW)
    made.tell = told.append
    return made


@pytest.mark.parametrize("write", [*MUST.values(), *MAY.values()], ids=[*MUST, *MAY])
def test_a_controller_whose_run_was_taken_over_can_write_nothing(
    journal: Journal, tmp_path: Path, write: Callable[[Journal], object]
) -> None:
    other = Journal(journal.directory)
    with locked(tmp_path, "test", "centavo optimize", NOW) as lock:
        assert journal.take_over(lock) == 1
        write(journal)
        assert other.take_over(lock) == 2
        before = list(other._database.iterdump())
        with pytest.raises(SupersededError) as refused:
            journal.check_writer()
        assert refused.value.reason == RunTakenOver(journal.directory.name, 1, 2)
        with pytest.raises(SupersededError):
            write(journal)
        assert list(other._database.iterdump()) == before
        other.check_writer()
        write(other)


@pytest.mark.parametrize("write", [*MUST.values(), *MAY.values()], ids=[*MUST, *MAY])
def test_a_controller_that_has_lost_its_lock_can_write_nothing(
    journal: Journal, tmp_path: Path, write: Callable[[Journal], object]
) -> None:
    with locked(tmp_path, "test", "centavo optimize", NOW) as lock:
        journal.take_over(lock)
        (tmp_path / "controller.lock").unlink()
        with pytest.raises(SupersededError, match="was removed or replaced"):
            write(journal)
        with pytest.raises(SupersededError):
            journal.take_over(lock)


def test_reading_needs_no_lock_and_goes_on_beside_a_writer(journal: Journal, tmp_path: Path) -> None:
    reader = Journal(journal.directory)
    with locked(tmp_path, "test", "centavo optimize", NOW) as lock:
        journal.take_over(lock)
        journal.set_stage(Stage.TRAINING)
    assert reader.stage() is Stage.TRAINING
    with pytest.raises(SupersededError):
        reader.add_event(NOW, "note", "a reader writes")


@pytest.mark.parametrize(
    "write",
    [
        lambda journal: journal.set_plain_goal({"target": FLEET, "words": LONG}),
        lambda journal: journal.set_members(frozenset(f"i-{number:017}" for number in range(1000))),
        lambda journal: journal.end("failed", Said(LONG), NOW),
        lambda journal: journal.set_recalled(LONG, {}),
    ],
    ids=["goal", "members", "end", "speeds"],
)
def test_on_a_full_disk_what_must_be_durable_is_refused_whole_and_can_be_tried_again(
    journal: Journal, write: Callable[[Journal], object]
) -> None:
    before = rows(journal)
    with full_disk(journal):
        with pytest.raises(DiskError, match="disk is full") as refused:
            write(journal)
        assert isinstance(refused.value.reason, NotWritten) and "Make room" in refused.value.next_step
        assert refused.value.reason.file == str(journal.directory)
        assert rows(journal) == before
    write(journal)
    assert rows(journal) != before


def test_on_a_full_disk_a_move_is_not_saved_and_the_last_one_stays(journal: Journal) -> None:
    large = Move(1, NOW, FLEET, FLEET, Said(LONG))
    with full_disk(journal), pytest.raises(DiskError):
        journal.save_move(large)
    assert journal.moves() == ()
    journal.save_move(large)
    assert journal.moves() == (large,)


@pytest.mark.parametrize("kind", ["observations", "decisions", "events", "waits of flavors"])
def test_on_a_full_disk_what_may_be_lost_is_lost_counted_and_told_once(
    journal: Journal, told: list[str], kind: str
) -> None:
    with full_disk(journal):
        for _ in range(400):
            MAY[kind](journal)
        assert len(told) == 1 and "disk is full" in told[0] and "is lost until there is room again" in told[0]
    MAY[kind](journal)
    assert len(told) == 2 and "can be written again; not kept were" in told[1] and told[1].endswith(kind)
    MAY[kind](journal)
    assert len(told) == 2


def test_an_error_that_is_no_passing_one_is_not_hidden(journal: Journal) -> None:
    journal._database.execute("DROP TABLE events")
    with pytest.raises(Exception, match="no such table"):
        journal.add_event(NOW, "note", "lost")


def test_a_write_that_fails_half_way_leaves_nothing(journal: Journal) -> None:
    journal._database.execute("DROP TABLE summaries")
    with pytest.raises(Exception, match="no such table"):
        journal.add_observation(Observation(NOW, FLEET), 0.1)
    assert journal.observations() == ()
    journal.set_stage(Stage.TRAINING)


def test_the_goal_comes_back_as_it_was_kept(journal: Journal) -> None:
    assert journal.plain_goal() is None
    journal.set_plain_goal({"target": FLEET, "may_go_back": True})
    assert Journal(journal.directory).plain_goal() == {"target": {"c5.large": 2}, "may_go_back": True}


def rows(journal: Journal) -> list[tuple[object, ...]]:
    """What the tables `run` and `moves` hold."""
    tables = [journal._database.execute(f"SELECT * FROM {table}").fetchall() for table in ("run", "moves")]
    return [tuple(row) for table in tables for row in table]


def test_what_was_lost_is_counted_by_kind() -> None:
    losses = Losses()
    assert losses.taken() == ""
    assert [losses.add(kind) for kind in ("events", "decisions", "events")] == [True, False, False]
    assert losses.taken() == "1 decisions, 2 events"
    assert (losses.taken(), losses.add("events")) == ("", True)


def test_an_observation_that_was_lost_is_not_taken_for_one_that_is_kept(journal: Journal) -> None:
    kept = Observation(NOW, FLEET)
    journal.add_observation(kept, 0.1)
    with full_disk(journal):
        for second in range(400):
            journal.add_observation(Observation(NOW + second, FLEET), 0.1)
        lost = Observation(NOW + 1000, FLEET)
        journal.add_observation(lost, 0.1)
    assert lost not in journal.recent(30)


def test_the_leases_generation_under_which_the_journal_is_written_comes_back(journal: Journal) -> None:
    assert journal.lease_generation() == 0
    for generation in (7, 8):
        journal.set_lease_generation(generation)
        assert Journal(journal.directory).lease_generation() == generation
