"""Commands that change things work alone in an environment; those that only look work at any time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.cli import COMMANDS
from controller.commands.shared.command import Command
from controller.domain.errors import LockedError, SupersededError
from controller.edges.process_identity import this_process
from controller.record.environment_lock import EnvironmentLock, locked, take_lock
from controller.record.journal import Journal
from tests.contract.test_schemas import check
from tests.unit.controller.commands.command_line import Captured, added, centavo
from tests.unit.controller.harness import Controller, new_world
from tests.unit.controller.record import synthetic
from tests.unit.controller.world import World

NOW = 1_800_000_000.0
LOOKS = {"instances", "desired", "facts", "sleep"}
"""Calls that change nothing."""
ALONE = ["apply", "configure", "train", "optimize", "destroy"]


@pytest.fixture
def busy(root: Path) -> Iterator[EnvironmentLock]:
    """An environment in which another command works."""
    with locked(root / ".centavo" / "test", "test", "centavo optimize", NOW) as lock:
        yield lock


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("command", ALONE)
def test_a_second_command_that_changes_things_is_refused_before_it_makes_anything(
    root: Path, capsys: Captured, command: str
) -> None:
    assert centavo(root, command) == LockedError.exit_code
    told = capsys.readouterr().err
    own = this_process()
    assert f"`centavo optimize` of {own.user}@{own.host} (process {own.pid}) works in the environment test" in told
    assert "since 2027-01-15T08:00:00Z" in told and "Wait until it ends" in told
    assert not (root / "runs").exists()


@pytest.mark.usefixtures("busy")
def test_the_refusal_is_a_line_of_json_where_the_log_is(root: Path, capsys: Captured) -> None:
    assert centavo(root, "optimize", "--log-format", "json") == LockedError.exit_code
    line = json.loads(capsys.readouterr().err)
    check(line, "log line")
    own = this_process()
    assert (line["event"], line["reason_code"], line["exit_code"]) == ("error", "held-by-another", 16)
    assert line["reason_facts"] == {
        "environment": "test", "user": own.user, "host": own.host, "pid": own.pid, "command": "centavo optimize",
        "since": NOW,
    }  # fmt: skip


@pytest.mark.usefixtures("busy", "up")
@pytest.mark.parametrize("command", [["status"], ["facts"], ["explain"], ["report"], ["watch", "--once"]])
def test_commands_that_only_look_need_no_lock(root: Path, busy: EnvironmentLock, command: list[str]) -> None:
    added(root, synthetic.running_run, "one")
    assert centavo(root, *command) == 0
    busy.check()


def test_exactly_the_commands_that_change_things_work_alone() -> None:
    commands = [command for command in COMMANDS if isinstance(command, Command)]
    assert sorted(c.name for c in commands if c.changes_things) == sorted(ALONE)


def test_two_controllers_of_one_run_do_not_work_at_once(root: Path) -> None:
    """The reproduction of two controllers: the second begins at every call of the first, and is refused each time."""
    world = new_world(total_steps=800)
    refused = []

    def begin_a_second() -> None:
        with pytest.raises(LockedError) as error:
            take_lock(root / ".centavo" / "test", "test", "centavo optimize", world.now)
        refused.append(error.value)

    after_each_call(world, begin_a_second, every=40)
    assert run(world, root)["status"] == "finished"
    assert len(refused) >= 3 and world.outcome == "finished" and world.fleet() == {}


@pytest.mark.parametrize("name", ["apply", "site.yml", "hosts.yml", "protection", "facts"])
def test_a_controller_that_was_paused_and_superseded_does_nothing_more(root: Path, name: str) -> None:
    """The first is paused in a call. Its lock file is removed, and a second one carries the run to its end."""
    world = new_world(total_steps=800)
    calls_of_the_first: list[int] = []

    def take_over() -> None:
        if world.calls.count(name) == 2 and not calls_of_the_first:
            (root / ".centavo" / "test" / "controller.lock").unlink()
            world.call = original  # type: ignore[method-assign]
            assert run(world, root)["status"] == "finished"
            calls_of_the_first.append(len(world.calls))

    original = world.call
    after_each_call(world, take_over)
    with pytest.raises(SupersededError):
        run(world, root)
    assert calls_of_the_first and set(world.calls[calls_of_the_first[0] :]) <= LOOKS
    assert world.outcome == "finished" and world.fleet() == {}


@pytest.mark.parametrize("call", range(20, 120, 8))
def test_a_disk_that_is_full_for_a_while_ends_no_controller_and_tears_nothing(
    root: Path, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal has no room from one call to the next twenty on, wherever the run is."""
    world = new_world(total_steps=1500)
    transaction = Journal._transaction

    def maybe_full(journal: Journal) -> object:
        if call <= len(world.calls) < call + 20:
            raise sqlite3.OperationalError("database or disk is full")
        return transaction(journal)

    monkeypatch.setattr(Journal, "_transaction", maybe_full)
    controller = Controller(world, root)
    assert controller.optimizer.run()["status"] == "finished"
    assert world.fleet() == {} and len(world.calls) > call + 20
    assert controller.journal.move_under_way() is None


def run(world: World, root: Path) -> dict[str, object]:
    """One controller's life: it takes the lock, takes the run over, and runs the main job."""
    with locked(root / ".centavo" / "test", "test", "centavo optimize", world.now) as lock:
        controller = Controller(world, root)
        controller.journal.take_over(lock)
        return controller.optimizer.run()


def after_each_call(world: World, happens: object, every: int = 1) -> None:
    """Has something happen after every call, or every hundredth, of a controller to the world."""
    original = world.call

    def call(name: str, effect: object, seconds: float = 0.0) -> object:
        result = original(name, effect, seconds)
        if len(world.calls) % every == 0:
            happens()  # type: ignore[operator]
        return result

    world.call = call  # type: ignore[method-assign]
